import MakoRecords
import MakoStorage

/// What is done to a table to bring it in line with its type.
public typealias MigrationChange = MakoRecords.MigrationStep

/// What opening a database with some types would do to its tables.
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
        public let change: MigrationChange
        /// How many objects it concerns: those with a value where a property is retired, removed or converted, and all for steps by hand. 0 for
        /// changes that concern no single object.
        public let objects: Int
        /// With how many of them it cannot be done. Opening the database throws then, and changes nothing.
        public let failures: Int
        /// What is wrong with the first of these.
        public let example: String?
        /// Whether values are gone for good afterwards.
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
        public let name: String
        /// How many objects it has.
        public let objects: Int
        /// The version of the entity's ``Migratable`` that it is at, and that it would be at.
        public let oldVersion: Int
        public let newVersion: Int
        /// In their order.
        public let steps: [Step]
        /// Why the table cannot be brought in line at all; nil: nothing speaks against it.
        public let refusal: MakoError?

        public var description: String {
            let versions = oldVersion == newVersion ? "" : ", version \(oldVersion) to \(newVersion)"
            var lines = ["\(name) (\(objects) objects\(versions))"]
            lines += steps.map { "    \($0)" }
            if let refusal { lines.append("    cannot be done: \(refusal)") }
            return lines.joined(separator: "\n")
        }
    }

    /// The tables that would be changed, or cannot be.
    public let tables: [Table]

    /// Whether nothing would be done.
    public var isEmpty: Bool { tables.isEmpty }

    /// Whether opening the database would succeed, as far as it can be known. Whether objects share values that are to be unique from now
    /// on is only found by building the index.
    public var canBeDone: Bool {
        tables.allSatisfy { table in table.refusal == nil && table.steps.allSatisfy { $0.failures == 0 } }
    }

    /// What would be gone for good, in words. What goes out of sight and can come back is not among it.
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
    /// What opening a file with these types would do to it, and what would be lost. The file is only read.
    ///
    /// ```swift
    /// let plan = try Database.migrationPlan(at: "people.mako", entities: [Person.self])
    /// if plan.canBeDone { print(plan) }
    /// ```
    ///
    /// The latest commit that is on the disk is looked at, also while this process or another one has the database open and writes to it: nobody
    /// waits. All objects are read that a step concerns, and the closures of ``Migratable`` types are called for them, as they will be again when the
    /// database is opened. To see the outcome itself, open it with ``DatabaseMode/sandbox``.
    ///
    /// - Parameters:
    ///   - path: the file. Where there is none, the plan is to make all tables.
    ///   - entities: the types; those they refer to come along.
    /// - Throws: `MakoError.storage` when the file cannot be read, `.damaged` when it holds nonsense.
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
            // What was met first is the error to know.
            do throws(StorageError) { try store.close() } catch {}
            throw error
        }
        try storage { () throws(StorageError) in try store.close() }
        return plan
    }

    /// What using these types would do to the tables of this database, as they are now. Nothing is changed.
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
