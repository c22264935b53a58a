import MakoRecords
import MakoStorage

/// An entity that migrates its stored objects by explicit steps.
///
/// Properties that are added, removed, converted to a similar type or renamed by `@Attribute(.originalName("old"))`
/// need no steps: opening the database migrates them. Other changes are written as steps:
///
/// ```swift
/// extension Person: Migratable {
///     static func migrate(_ m: inout Migration) throws {
///         if m.version < 1 {
///             m.rename("first", to: "name")
///             m.version = 1
///         }
///         if m.version < 2 {
///             m.transform("age") { (old: String?) in Int(old ?? "") }
///             m.version = 2
///         }
///     }
/// }
/// ```
///
/// The function only records steps. It is called, possibly several times, when the database is opened with the type, or
/// at the type's first use; its steps run before the automatic migration and in the same transaction. After an error or
/// a crash the file is unchanged. The file stores a version for each table. A new table needs no migration and gets the
/// latest version. A file with a newer version than the program's is refused.
///
/// A subclass migrates its own table by the steps of its superclass unless it overrides them.
public protocol Migratable: Entity {
    /// Records the steps of a table at `m.version`, and raises the version.
    static func migrate(_ m: inout Migration) throws
}

/// The steps from one version of an entity's table to the next; see ``Migratable``.
///
/// Steps run in order. Each uses the property names of its position: first those of the file, at the end those of the
/// type. Where `@Attribute(.column("stored"))` gives a stored name, it is that name.
public struct Migration {
    /// The table's version. Steps must raise it.
    public var version: Int
    /// The table's name; each subclass has another one.
    public let table: String
    private(set) var steps: [TableStep] = []
    private(set) var splitTargets: [EntityModel] = []

    init(version: Int, table: String) {
        self.version = version
        self.table = table
    }

    /// Renames a property.
    ///
    /// ```swift
    /// m.rename("first", to: "name")
    /// ```
    public mutating func rename(_ old: String, to new: String) { steps.append(.rename(old, to: new)) }

    /// Removes a property with its values. Without this step, the column of a property that left the type is retired
    /// and its values stay.
    ///
    /// ```swift
    /// m.remove("shoeSize")
    /// ```
    public mutating func remove(_ name: String) { steps.append(.remove(name)) }

    /// Adds a property with one value for all existing objects; new objects get the type's default.
    ///
    /// ```swift
    /// m.add("isMember", default: true)
    /// ```
    public mutating func add<Value: StorableValue>(_ name: String, default value: Value) {
        steps.append(.add(name, Value.columnType, value.stored))
    }

    /// Adds a property computed from the other properties.
    ///
    /// ```swift
    /// m.add("name") { row in try row.value("first", as: String.self) + " " + row.value("last", as: String.self) }
    /// ```
    ///
    /// - Parameter value: called for each object. If it throws, the error names the object and the migration is rolled
    ///   back.
    /// - Parameter name: the new property.
    public mutating func add<Value: StorableValue>(
        _ name: String, _ value: @escaping (MigrationRow) throws -> Value
    ) {
        steps.append(.compute(name, Value.columnType) { try value(MigrationRow($0)).stored })
    }

    /// Converts the values of a property, possibly to another type.
    ///
    /// ```swift
    /// m.transform("age") { (old: String?) in Int(old ?? "") }
    /// ```
    ///
    /// When the result is nil and the property is not optional, it gets its default.
    ///
    /// - Parameter value: called for each object. If it throws, or a stored value is not an `Old`, the error names the
    ///   object and the migration is rolled back.
    /// - Parameter name: the property, by its name at this step.
    public mutating func transform<Old: StorableValue, New: StorableValue>(
        _ name: String, _ value: @escaping (Old) throws -> New
    ) {
        steps.append(
            .transform(name, New.columnType) { stored in
                guard let old = Old(stored: stored) else { throw MigrationFault.wrongType(stored, "\(Old.self)") }
                return try value(old).stored
            })
    }

    /// Converts the values of a property, whatever their stored type.
    ///
    /// ```swift
    /// m.transform("size") { (old: StoredValue) in old.isNull ? .text("unknown") : .text("\(old)") }
    /// ```
    public mutating func transform(_ name: String, _ value: @escaping (StoredValue) throws -> StoredValue) {
        steps.append(.transform(name, nil, value))
    }

    /// Renames the entity's table, with its rows, and the references of other entities to it.
    ///
    /// ```swift
    /// m.renameTable(from: "People")
    /// ```
    ///
    /// Has no effect when the old table does not exist.
    public mutating func renameTable(from old: String) { steps.append(.renameTable(from: old)) }

    /// Moves the rows of another table into this one and removes that table.
    ///
    /// ```swift
    /// m.merge(from: "Dog") { row in ["name": try row["name"], "legs": 4] }
    /// ```
    ///
    /// Objects keep their row numbers where those are free; otherwise they get new ones, unless the number is a
    /// property of the type. Keys of other properties stay the same. References to the objects, in properties and in
    /// collections of any entity, are rewritten; a migration in which that is impossible is refused. Later steps apply
    /// to these objects too. Has no effect when the other table does not exist.
    ///
    /// - Parameter values: returns the properties of the new object, by their names at this step. Omitted properties
    ///   get their defaults. Without a closure both tables use the same property names.
    /// - Parameter table: the other table.
    public mutating func merge(
        from table: String, _ values: ((MigrationRow) throws -> [String: any ConditionValue])? = nil
    ) {
        let body = values.map { values in
            { (row: OldRow) throws in try values(MigrationRow(row)).mapValues(\.conditionValue) }
        }
        steps.append(.merge(from: table, body))
    }

    /// Creates objects of another entity from each object.
    ///
    /// ```swift
    /// m.split(into: Address.self, linking: "address") { row in [["street": try row["street"], "city": try row["city"]]] }
    /// m.remove("street")
    /// m.remove("city")
    /// ```
    ///
    /// - Parameters:
    ///   - linking: a property of this entity, new at this step, that refers to the first created object.
    ///   - rows: returns the properties of each new object, by their names in its type.
    ///   - type: the entity of the new objects.
    public mutating func split<Other: Entity>(
        into type: Other.Type, linking: String? = nil,
        _ rows: @escaping (MigrationRow) throws -> [[String: any ConditionValue]]
    ) {
        let own: any Entity.Type = type
        splitTargets.append(own.entityModel)
        steps.append(
            .split(into: own.entityModel.table, linking: linking) { row in
                try rows(MigrationRow(row)).map { $0.mapValues(\.conditionValue) }
            })
    }
}

/// A stored object before a step of a migration.
public struct MigrationRow {
    private let row: OldRow

    init(_ row: OldRow) { self.row = row }

    /// The names of its properties.
    public var properties: [String] { row.columns }

    /// The stored value of a property, by its name at this step.
    ///
    /// - Throws: an error when the property does not exist.
    public subscript(name: String) -> StoredValue {
        get throws { try row[name] }
    }

    /// Returns the value of a property as a Swift type.
    ///
    /// ```swift
    /// let age = try row.value("age", as: Int?.self)
    /// ```
    ///
    /// - Throws: an error when the property does not exist, or its value does not convert to the type.
    public func value<Value: StorableValue>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
        let stored = try row[name]
        if let value = Value(stored: stored) { return value }
        throw MigrationFault.wrongType(stored, "\(Value.self)")
    }
}

/// The progress of a migration; see ``DatabaseOptions/onMigration``.
public struct MigrationProgress: Sendable, Hashable {
    /// The table whose rows are rewritten.
    public let entity: String
    /// The number of rows rewritten so far.
    public let rowsDone: Int
    /// The total number of rows, including those from other tables.
    public let rowCount: Int

    init(_ rows: MigratedRows) {
        entity = rows.table
        rowsDone = rows.done
        rowCount = rows.total
    }
}

/// An error of a migration step.
enum MigrationFault: Error, CustomStringConvertible {
    case wrongType(StoredValue, String)

    var description: String {
        switch self {
        case .wrongType(let value, let type): "\(value) is no \(type)"
        }
    }
}

// MARK: - Internal

extension Migration {
    /// The limit on versions, which detects a `migrate` that never ends.
    private static let limit = 10_000

    /// The steps from a version on, up to the version at which `migrate` records no more.
    static func recorded(
        _ type: any Migratable.Type, from version: UInt64
    ) throws(MakoError) -> (steps: [TableStep], version: UInt64, targets: [EntityModel]) {
        let model = type.entityModel
        func refuse(_ reason: String) -> MakoError { .migration(entity: model.name, reason: reason) }
        guard var reached = Int(exactly: version) else { throw refuse("the version in the file is no version") }
        var steps: [TableStep] = []
        var targets: [EntityModel] = []
        for _ in 0..<limit {
            var migration = Migration(version: reached, table: model.table)
            do { try type.migrate(&migration) } catch {
                throw error as? MakoError ?? refuse("its migrate function threw \(error)")
            }
            if migration.version < reached {
                throw refuse("its migrate function goes back from version \(reached) to \(migration.version)")
            }
            if migration.version == reached {
                if migration.steps.isEmpty { return (steps, UInt64(reached), targets) }
                throw refuse(
                    "its migrate function has steps from version \(reached) on, but leaves the version as it is")
            }
            steps += migration.steps
            targets += migration.splitTargets
            reached = migration.version
        }
        throw refuse("its migrate function raises the version for ever")
    }
}

extension EntityModel {
    /// The migration of the table to the declared schema.
    func migration(dropsRetired: Bool) throws(MakoError) -> TableMigration {
        let schema = try schema()
        guard let type = type as? any Migratable.Type else { return TableMigration(schema, dropsRetired: dropsRetired) }
        let hasNumber = properties.contains { if case .rowNumber = $0.kind { true } else { false } }
        let name = name
        return TableMigration(schema, dropsRetired: dropsRetired, keepsIDs: hasNumber) {
            (version) throws(RecordError) in
            do throws(MakoError) {
                let recorded = try Migration.recorded(type, from: version)
                return (recorded.steps, recorded.version)
            } catch {
                if case .migration(_, let reason) = error { throw .migrationFailed(table: name, reason: reason) }
                throw .migrationFailed(table: name, reason: "\(error)")
            }
        }
    }
}

extension SchemaState {
    /// The models, and those whose objects their migrations create.
    func withSplitTargets(_ models: [EntityModel]) throws(MakoError) -> [EntityModel] {
        var all = models
        while true {
            var targets: [EntityModel] = []
            for model in all {
                guard let type = model.type as? any Migratable.Type else { continue }
                targets += try Migration.recorded(type, from: 0).targets
            }
            let further = missing(from: targets).filter { target in !all.contains { $0 === target } }
            if further.isEmpty { return all }
            all += further
        }
    }
}
