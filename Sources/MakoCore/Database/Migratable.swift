import MakoRecords
import MakoStorage

/// An entity whose stored objects are brought to its present form by steps of its own.
///
/// Properties that are added, removed, converted to a similar type or renamed by `@Attribute(.originalName("old"))` need nothing of this: that
/// is done at open by itself. What only you can know goes here:
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
/// The function says what is to be done and does nothing itself. It is called, maybe several times, when the database is opened with the type, or at
/// the type's first use; its steps are done before the rest of the migration and in the same transaction. After an error or a crash the
/// file is as it was. The version stands in the file, for each table. A new table has nothing to be migrated and is at the latest version. A
/// file that is ahead of what the program knows is refused.
///
/// A subclass that does not say otherwise migrates its own table by the steps of its superclass.
public protocol Migratable: Entity {
    /// Says what is to be done with a table that is at `m.version`, and raises the version.
    static func migrate(_ m: inout Migration) throws
}

/// The steps from one version of an entity's table to the next; see ``Migratable``.
///
/// Steps follow each other, and each goes by the names that properties have at its turn: those of the file first, and those of the type in the end.
/// These are the stored names, where `@Attribute(.column("stored"))` gives one.
public struct Migration {
    /// How far the table has come. Steps must raise it.
    public var version: Int
    /// The table's name: another one for each subclass.
    public let table: String
    private(set) var steps: [TableStep] = []
    private(set) var splitTargets: [EntityModel] = []

    init(version: Int, table: String) {
        self.version = version
        self.table = table
    }

    /// Gives a property another name.
    ///
    /// ```swift
    /// m.rename("first", to: "name")
    /// ```
    public mutating func rename(_ old: String, to new: String) { steps.append(.rename(old, to: new)) }

    /// Gives the values of a property up: they are gone from the file. Without this, a property that left its type is kept out of sight.
    ///
    /// ```swift
    /// m.remove("shoeSize")
    /// ```
    public mutating func remove(_ name: String) { steps.append(.remove(name)) }

    /// Adds a property with the same value in all objects that are there; new ones get the default of the type.
    ///
    /// ```swift
    /// m.add("isMember", default: true)
    /// ```
    public mutating func add<Value: StorableValue>(_ name: String, default value: Value) {
        steps.append(.add(name, Value.columnType, value.stored))
    }

    /// Adds a property whose values are made of the other properties.
    ///
    /// ```swift
    /// m.add("name") { row in try row.value("first", as: String.self) + " " + row.value("last", as: String.self) }
    /// ```
    ///
    /// - Parameter value: called for each object. An error that it throws names the object, and everything is taken back.
    public mutating func add<Value: StorableValue>(
        _ name: String, _ value: @escaping (MigrationRow) throws -> Value
    ) {
        steps.append(.compute(name, Value.columnType) { try value(MigrationRow($0)).stored })
    }

    /// Gives a property other values, and another type where they have one.
    ///
    /// ```swift
    /// m.transform("age") { (old: String?) in Int(old ?? "") }
    /// ```
    ///
    /// Where the result is nil and the property takes none, it gets the property's default.
    ///
    /// - Parameter value: called for each object. An error that it throws, or a stored value that is no `Old`, names the object, and everything is
    ///   taken back.
    public mutating func transform<Old: StorableValue, New: StorableValue>(
        _ name: String, _ value: @escaping (Old) throws -> New
    ) {
        steps.append(
            .transform(name, New.columnType) { stored in
                guard let old = Old(stored: stored) else { throw MigrationFault.wrongType(stored, "\(Old.self)") }
                return try value(old).stored
            })
    }

    /// Gives a property other values, whatever the type of those is that are stored.
    ///
    /// ```swift
    /// m.transform("size") { (old: StoredValue) in old.isNull ? .text("unknown") : .text("\(old)") }
    /// ```
    public mutating func transform(_ name: String, _ value: @escaping (StoredValue) throws -> StoredValue) {
        steps.append(.transform(name, nil, value))
    }

    /// Takes over the table that the entity had under another name, with its rows. References of other entities follow.
    ///
    /// ```swift
    /// m.renameTable(from: "People")
    /// ```
    ///
    /// Nothing happens where there is no such table.
    public mutating func renameTable(from old: String) { steps.append(.renameTable(from: old)) }

    /// Takes over the objects of another table, which goes.
    ///
    /// ```swift
    /// m.merge(from: "Dog") { row in ["name": try row["name"], "legs": 4] }
    /// ```
    ///
    /// Objects keep their numbers where those are free, else they get new ones, unless a property of the type is the number; keys made of other
    /// properties stay. References to the objects, by properties and in collections of all entities, follow; a migration in which they cannot is
    /// refused. Steps after this one are done with these objects as well. Nothing happens where there is no such table.
    ///
    /// - Parameter values: the properties of an object that is made of a row, by their names at this step. What is left out gets its default.
    ///   Without a closure the properties of both have the same names.
    public mutating func merge(
        from table: String, _ values: ((MigrationRow) throws -> [String: any ConditionValue])? = nil
    ) {
        let body = values.map { values in
            { (row: OldRow) throws in try values(MigrationRow(row)).mapValues(\.conditionValue) }
        }
        steps.append(.merge(from: table, body))
    }

    /// Makes objects of another entity of each object.
    ///
    /// ```swift
    /// m.split(into: Address.self, linking: "address") { row in [["street": try row["street"], "city": try row["city"]]] }
    /// m.remove("street")
    /// m.remove("city")
    /// ```
    ///
    /// - Parameters:
    ///   - linking: a property of this entity, new at this step, that refers to the first of the objects that were made.
    ///   - rows: the properties of each object to be made, by the names that they have in its type.
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

/// A stored object as it was before a step of a migration.
public struct MigrationRow {
    private let row: OldRow

    init(_ row: OldRow) { self.row = row }

    /// The names of its properties.
    public var properties: [String] { row.columns }

    /// The stored value of a property, by the name that it has at this step.
    ///
    /// - Throws: where there is no such property.
    public subscript(name: String) -> StoredValue {
        get throws { try row[name] }
    }

    /// The value of a property as a type of Swift.
    ///
    /// ```swift
    /// let age = try row.value("age", as: Int?.self)
    /// ```
    ///
    /// - Throws: where there is no such property, or its value is no value of the type.
    public func value<Value: StorableValue>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
        let stored = try row[name]
        if let value = Value(stored: stored) { return value }
        throw MigrationFault.wrongType(stored, "\(Value.self)")
    }
}

/// How far a migration has come; see ``DatabaseOptions/onMigration``.
public struct MigrationProgress: Sendable, Hashable {
    /// The table whose rows are written anew.
    public let entity: String
    public let rowsDone: Int
    /// Rows altogether, those that come from other tables among them.
    public let rowCount: Int

    init(_ rows: MigratedRows) {
        entity = rows.table
        rowsDone = rows.done
        rowCount = rows.total
    }
}

/// What a step meets that it cannot be done with.
enum MigrationFault: Error, CustomStringConvertible {
    case wrongType(StoredValue, String)

    var description: String {
        switch self {
        case .wrongType(let value, let type): "\(value) is no \(type)"
        }
    }
}

// MARK: - For the room itself

extension Migration {
    /// More versions than anybody will have.
    private static let limit = 10_000

    /// The steps from a version on, up to the one after which nothing more is asked for.
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
    /// The table's way to what the type declares.
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
    /// Models, and those whose objects their migrations make.
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
