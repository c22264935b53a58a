import MakoRecords
import MakoStorage

/// A change of a table by a migration.
public typealias MigrationChange = MakoRecords.MigrationStep

/// The changes that opening a database with some types would make to its tables.
///
/// ```swift
/// let plan = try Database.migrationPlan(at: "people.mako", entities: [Person.self])
/// print(plan)
/// // Person (3 objects, version 0 to 2)
/// //     rename first to name
/// //     transform age: 3 objects, 1 of them cannot be (row 2: 'old' is no Int)
/// //     retire column shoeSize: 2 objects hold a value, which goes out of sight
/// if !plan.losses.isEmpty { print("this would be lost:", plan.losses) }
/// ```
public struct MigrationPlan: Sendable, Hashable, CustomStringConvertible {
    /// One change of a table.
    public struct Step: Sendable, Hashable, CustomStringConvertible {
        /// The change.
        public let change: MigrationChange
        /// The number of affected objects: those with a value when a property is retired, removed or converted, and all
        /// for explicit steps; 0 for changes that affect no single object.
        public let objects: Int
        /// The number of objects for which the change fails. Opening the database then throws and changes nothing.
        public let failures: Int
        /// The error of the first of them.
        public let example: String?
        /// Whether values are lost permanently.
        public let losesValues: Bool

        public var description: String {
            var text = "\(change)"
            switch change {
            case .retireColumn where objects > 0: text += ": \(objects) objects hold a value, which goes out of sight"
            case _ where losesValues: text += ": \(objects) objects lose a value"
            case _ where objects > 0: text += ": \(objects) objects"
            default: break
            }
            if failures > 0 { text += ", \(failures) of them cannot be" + (example.map { " (\($0))" } ?? "") }
            return text
        }
    }

    /// The changes of one table.
    public struct Table: Sendable, Hashable, CustomStringConvertible {
        /// The name of the table.
        public let name: String
        /// The number of its objects.
        public let objects: Int
        /// The stored version of the entity's ``Migratable``.
        public let oldVersion: Int
        /// The version after the migration.
        public let newVersion: Int
        /// The changes, in order.
        public let steps: [Step]
        /// Why the table cannot be migrated; nil: it can.
        public let refusal: MakoError?

        public var description: String {
            let versions = oldVersion == newVersion ? "" : ", version \(oldVersion) to \(newVersion)"
            var lines = ["\(name) (\(objects) objects\(versions))"]
            lines += steps.map { "    \($0)" }
            if let refusal { lines.append("    cannot be done: \(refusal)") }
            return lines.joined(separator: "\n")
        }
    }

    /// The tables that would change or cannot be migrated.
    public let tables: [Table]

    /// Whether there are no changes.
    public var isEmpty: Bool { tables.isEmpty }

    /// Whether opening the database would succeed, as far as it can be determined. Violations of new unique constraints
    /// are found only when the index is built.
    public var canBeDone: Bool {
        tables.allSatisfy { table in table.refusal == nil && table.steps.allSatisfy { $0.failures == 0 } }
    }

    /// The permanent losses, as text. Values of retired columns are not lost and not included.
    public var losses: [String] {
        tables.flatMap { table in
            table.steps.filter { $0.losesValues && $0.objects > 0 }.map { "\(table.name): \($0)" }
        }
    }

    public var description: String {
        tables.isEmpty ? "nothing to do" : tables.map(\.description).joined(separator: "\n")
    }

    init(_ surveys: [MigrationSurvey]) {
        tables = surveys.compactMap { survey in
            guard !survey.steps.isEmpty || survey.refusal != nil || survey.version != survey.storedVersion else {
                return nil
            }
            return Table(
                name: survey.table, objects: survey.rows, oldVersion: Int(clamping: survey.storedVersion),
                newVersion: Int(clamping: survey.version),
                steps: survey.steps.map {
                    Step(
                        change: $0.step, objects: $0.rows, failures: $0.failures, example: $0.example,
                        losesValues: $0.losesValues)
                }, refusal: survey.refusal.map { MakoError($0) })
        }
    }
}

extension Database {
    // async
    /// Returns the changes and losses that opening a file with these types would cause. The file is not changed.
    ///
    /// ```swift
    /// let plan = try Database.migrationPlan(at: "people.mako", entities: [Person.self])
    /// if plan.canBeDone { print(plan) }
    /// ```
    ///
    /// Reads the latest durable commit, also while this or another process writes to the file, and blocks neither.
    /// Reads all objects that a step affects and calls the closures of ``Migratable`` types, as opening the database
    /// will do again. To inspect the migrated data, open the file with ``DatabaseMode/sandbox``.
    ///
    /// - Parameters:
    ///   - path: the file. If it does not exist, the plan creates all tables.
    ///   - entities: the types, with those they refer to.
    ///   - options: the options that open the file.
    /// - Returns: the plan.
    /// - Throws: `MakoError.storage` when the file cannot be read, `.damaged` when its content is invalid.
    public static func migrationPlan(
        at path: String, entities: [any Entity.Type], options: DatabaseOptions = DatabaseOptions()
    ) throws(MakoError) -> MigrationPlan {
        var reading = options.storeOptions
        reading.readOnly = true
        let store: Store
        do throws(StorageError) { store = try Store(at: path, options: reading) } catch {
            guard case .notFound = error else { throw MakoError(error) }
            store = try storage { () throws(StorageError) in try Store.inMemory() }
        }
        let plan: MigrationPlan
        do throws(MakoError) {
            let view = try storage { () throws(StorageError) in try store.snapshot() }
            plan = try MigrationPlan(entities, view, path, options)
            view.close()
        } catch {
            // The first error is thrown, not that of closing.
            do throws(StorageError) { try store.close() } catch {}
            throw error
        }
        try storage { () throws(StorageError) in try store.close() }
        return plan
    }

    // async
    /// Returns the changes that using these types would make to the current tables of this database. Changes nothing.
    ///
    /// ```swift
    /// print(try db.migrationPlan(entities: [Person.self]))
    /// ```
    public func migrationPlan(entities: [any Entity.Type]) throws(MakoError) -> MigrationPlan {
        try viewing { (view, _) throws(MakoError) in try MigrationPlan(entities, view, path, options) }
    }
}

extension MigrationPlan {
    fileprivate init(
        _ entities: [any Entity.Type], _ view: Snapshot, _ path: String, _ options: DatabaseOptions
    ) throws(MakoError) {
        let catalogue = try records { () throws(RecordError) in try Catalogue.load(view: view) }
        let unbound = try SchemaState(catalogue: catalogue, models: [])
        let naming = try NamingAgreement(path, options.tableNaming, catalogue, view)
        let given = unbound.missing(from: entities.map { $0.entityModel })
        try naming.settle(given)
        let models = try unbound.withSplitTargets(given)
        try naming.settle(models)
        var tables = try unbound.migrations(of: models, dropsRetired: options.dropsRetired)
        let access = options.cipherAccess(planning: view)
        for place in tables.indices { tables[place].access = access }
        self.init(try records { () throws(RecordError) in try Catalogue.survey(tables, view: view) })
    }
}
