import MakoRecords
import MakoStorage
import Synchronization

/// The declaration of an entity: its table, properties and indexes.
public final class EntityModel: @unchecked Sendable {
    // Unchecked: all properties are immutable; key paths are immutable but not marked Sendable.

    /// The type.
    public let type: any Entity.Type
    /// The table's name: as the first database that used the type named it; before that the declared name. See
    /// ``DatabaseOptions/tableNaming``.
    public var table: String { settledTable.load()?.text ?? givenTable }
    /// The declared name.
    let givenTable: String
    /// Whether the declaration names the table, so that other types may share it.
    let declaresTable: Bool
    private let settledTable = LazyReference<TableName>()
    /// All properties, in the order of their declaration.
    public let properties: [PropertyModel]
    /// The properties with a column, in the order of the fields in a row, including absent ones.
    public let columns: [PropertyModel]
    let indexes: [IndexModel]
    let keyNames: [String]
    /// Whether watchers are notified of changes.
    let raisesEvents: Bool
    /// The registered name of the database of its objects; nil: the current database.
    let databaseName: String?
    /// Whether saves set timestamp properties.
    let hasStamps: Bool
    /// Whether it shows some columns of another model's table. Rows cannot be stored or removed through it.
    let isPartial: Bool
    /// Whether its objects notify observers of each change in memory.
    let isObservable: Bool
    /// The model of the superclass.
    let superclass: EntityModel?
    /// The columns marked `.writeOnce`.
    let writeOnceColumns: PropertySet
    /// The columns marked `.keepWhenNil`.
    let keepWhenNilColumns: PropertySet
    let hasEncryptedColumns: Bool
    /// The positions without a column.
    let absentColumns: PropertySet
    /// The columns whose objects the row owns.
    let ownedColumns: PropertySet
    /// The columns whose objects are not committed with the row.
    let weakColumns: PropertySet
    /// The name of the row number in conditions.
    let rowNumberName: String
    /// The row numbers that the key can be.
    let rowNumbers: ClosedRange<Int64>
    let keyPaths: [AnyKeyPath: String]
    /// Whether conditions may name `id`, which is false when `id` is computed from something other than the key.
    private let identifiesByID: Bool
    /// The properties with several columns.
    let composites: CompositeColumns
    /// Whether the class has a ``ToMany``.
    let hasMany: Bool
    /// The columns that its ``ToMany`` properties read; nil before the first use.
    let inverseColumns = LazyReference<InverseColumns>()
    /// The position in the array of bindings.
    let number: Int
    /// ``leadsBack`` and ``refersBack``: 0 not computed; otherwise 1, plus 2 and 4 respectively.
    private let circles = Atomic<UInt8>(0)

    private static let count = Guarded(0)

    /// Creates the model of a type.
    ///
    /// - Parameters:
    ///   - type: the type.
    ///   - table: the declared table name.
    ///   - id: the key path of `id` where it is the key, so that conditions may name it; nil: `id` has another meaning.
    ///   - properties: the properties in the order of their declaration.
    ///   - keys: the names of the key properties; empty: the row number is the key.
    ///   - indexes: the indexes.
    ///   - raisesEvents: whether watchers are notified of changes.
    ///   - database: the name under which ``Database/register(_:as:)`` registers the database of its objects; nil: the
    ///     current one.
    ///   - hasStamps: whether the type sets timestamps, see `@Entity(stamps:)`.
    ///   - isPartial: whether it shows some columns of another model's table.
    ///   - isObservable: whether the type is an ``ObservableEntity``.
    ///   - superclass: the superclass's model, for a class whose superclass is an entity. Its key is inherited.
    ///   - declaresTable: whether the declaration names the table, even with the name of the type.
    public init<T: Entity>(
        _ type: T.Type, table: String, id: PartialKeyPath<T>? = nil, properties: [PropertyModel], keys: [String] = [],
        indexes: [IndexModel] = [], raisesEvents: Bool = true, database: String? = nil, hasStamps: Bool = false,
        isPartial: Bool = false, isObservable: Bool = false, superclass: EntityModel? = nil, declaresTable: Bool = false
    ) {
        let keys = superclass?.keyNames ?? keys
        self.hasStamps = hasStamps || superclass?.hasStamps == true
        self.isPartial = isPartial
        self.isObservable = isObservable || superclass?.isObservable == true
        self.raisesEvents = raisesEvents
        databaseName = database ?? superclass?.databaseName
        self.superclass = superclass
        (self.type, givenTable) = (type, table)
        self.declaresTable = declaresTable || table != "\(type)"
        self.properties = properties
        self.indexes = indexes
        let columns = properties.filter { property in
            switch property.kind {
            case .column, .absent: true
            case .rowNumber, .many: false
            }
        }
        self.columns = columns
        hasMany = properties.contains { if case .many = $0.kind { true } else { false } }
        func columnSet(where isMarked: (PropertyModel) -> Bool) -> PropertySet {
            var set = PropertySet.none
            for (position, property) in columns.enumerated() where isMarked(property) { set.insert(position) }
            return set
        }
        writeOnceColumns = columnSet { $0.options.contains(.writeOnce) }
        keepWhenNilColumns = columnSet { $0.options.contains(.keepWhenNil) || $0.options.contains(.loadOnRefresh) }
        hasEncryptedColumns = columns.contains(where: \.isEncrypted)
        absentColumns = columnSet { if case .absent = $0.kind { true } else { false } }
        ownedColumns = columnSet { $0.relation.contains(.owned) }
        weakColumns = columnSet { $0.relation.contains(.weak) }
        keyNames = keys
        var rowNumber: PropertyModel?
        var keyPaths: [AnyKeyPath: String] = [:]
        // Beside another key, a stored `id` is an ordinary property.
        let named: AnyKeyPath? = id
        let isOwn = properties.contains { $0.keyPath == named }
        let key: AnyKeyPath? = isOwn || superclass?.identifiesByID == false ? nil : named
        identifiesByID = key != nil || isOwn
        if let key, keys.isEmpty { keyPaths[key] = "id" }
        for property in properties {
            switch property.kind {
            case .many, .absent: continue
            case .column, .rowNumber: break
            }
            keyPaths[property.keyPath] = property.column
            for (field, part) in zip(property.fields, property.parts) {
                for keyPath in [part.keyPath, part.alias] {
                    guard let path = keyPath.flatMap({ property.keyPath.appending(path: $0) }) else { continue }
                    keyPaths[path] = field.column
                }
            }
            guard case .rowNumber = property.kind else { continue }
            rowNumber = property
            if let key { keyPaths[key] = property.column }
        }
        if let key, let name = keys.first, keys.count == 1, let property = properties.first(where: { $0.name == name })
        {
            keyPaths[key] = property.column
        }
        (rowNumberName, rowNumbers) = (rowNumber?.column ?? "id", rowNumber?.rowNumbers ?? Int64.min...Int64.max)
        self.keyPaths = keyPaths
        composites = CompositeColumns(columns)
        number = EntityModel.count.withLock { count in
            count += 1
            return count - 1
        }
    }

    /// Returns an index on properties, in ascending order.
    public static func index<T: Entity>(
        _ type: T.Type, _ keys: [PartialKeyPath<T>], isUnique: Bool, where condition: String? = nil
    ) -> IndexModel {
        IndexModel(
            parts: keys.map { .init(keyPath: $0, descending: false, noCase: false) }, isUnique: isUnique,
            condition: condition)
    }
    /// Returns an index on properties, each with its order or without regard to case.
    public static func index<T: Entity>(
        _ type: T.Type, _ keys: [IndexKey<T>], isUnique: Bool, where condition: String? = nil
    ) -> IndexModel {
        IndexModel(
            parts: keys.map { .init(keyPath: $0.keyPath, descending: $0.descending, noCase: $0.noCase) },
            isUnique: isUnique, condition: condition)
    }

    /// Returns a full-text index on properties.
    public static func fullText<T: Entity>(
        _ type: T.Type, _ keys: [PartialKeyPath<T>], stemming: Stemming = .none
    ) -> IndexModel {
        var model = index(type, keys, isUnique: false)
        model.fullText = FullTextOptions(stemming: stemming)
        return model
    }

    /// The columns of the key.
    var keyColumns: [String] {
        let named = keyNames.compactMap { key in columns.first { $0.name == key }?.column }
        return named.isEmpty ? [rowNumberName] : named
    }

    /// The type's name, for messages.
    var name: String { "\(type)" }
    var hasColumnKey: Bool { !keyNames.isEmpty }

    /// Whether the declared table name differs from the type's.
    var namesTable: Bool { givenTable != name }

    /// Sets the table's name for the life of the process, unless it is set.
    ///
    /// - Returns: the name that is set.
    func settleTable(_ name: String) -> String {
        settledTable.loadOrMake { TableName(name, givenTable) }.text
    }

    /// The declared name, if the table has another one: conditions on the type may use both.
    var alias: String? { settledTable.load()?.alias }
}

private final class TableName: Sendable {
    let text: String
    let alias: String?

    init(_ text: String, _ given: String) {
        self.text = text
        alias = text == given ? nil : given
    }
}

extension EntityModel {
    /// The entities that this one refers to, and those of its to-many relationships.
    var related: [EntityModel] {
        properties.compactMap { property in
            switch property.kind {
            case .column(_, _, _, let target): (target ?? property.coding?.superclass)?.entityModel
            case .many(let target, _): target.entityModel
            case .rowNumber, .absent: nil
            }
        }
    }

    /// The entities that its rows refer to.
    private var targets: [EntityModel] {
        columns.compactMap { property in
            guard case .column(_, _, _, let target) = property.kind else { return nil }
            return (target ?? property.coding?.superclass)?.entityModel
        }
    }

    /// Whether relationships, in both directions, may lead from one of its objects to another object of it. Computed
    /// once.
    var leadsBack: Bool { knownCircles & 2 != 0 }

    /// Whether references may lead from one of its rows to another row of it. Computed once.
    var refersBack: Bool { knownCircles & 4 != 0 }

    private var knownCircles: UInt8 {
        let known = circles.load(ordering: .relaxed)
        if known != 0 { return known }
        let found: UInt8 = 1 | (isCircular(\.related) ? 2 : 0) | (isCircular(\.targets) ? 4 : 0)
        circles.store(found, ordering: .relaxed)
        return found
    }

    private func isCircular(_ next: (EntityModel) -> [EntityModel]) -> Bool {
        var waiting = [self]
        var seen: Set<Int> = []
        while let model = waiting.popLast() {
            if model.properties.contains(where: \.refersToAny) { return true }
            for other in next(model) where seen.insert(other.number).inserted {
                // Another type of the same table has its own objects.
                if other === self { return true }
                waiting.append(other)
            }
        }
        return false
    }

    /// Whether it has more properties than a word has bits.
    var isWide: Bool { columns.count > 64 }

    /// Whether both have the same table, in which a key identifies one row.
    func hasTable(of other: EntityModel) -> Bool {
        self === other || table == other.table
    }

    /// Whether the class is a subclass of another one and its table has all columns of the other's.
    func extends(_ other: EntityModel) -> Bool {
        var next = superclass
        while let each = next, each !== other { next = each.superclass }
        // The columns of the superclass come first.
        let differing = absentColumns.symmetricDifference(other.absentColumns)
        return next != nil && differing.isDisjoint(with: PropertySet(before: other.columns.count))
    }

    /// Whether the class is a subclass of another one, whichever columns its table omits.
    func isSubclass(of other: EntityModel) -> Bool {
        var next = superclass
        while let each = next, each !== other { next = each.superclass }
        return next != nil
    }

    /// The Swift name of the row number.
    var rowNumberProperty: String {
        for property in properties { if case .rowNumber = property.kind { return property.name } }
        return "id"
    }

    /// The model of the entity that a column refers to.
    func target(ofColumn name: String) -> EntityModel? {
        for property in columns where property.column == name {
            if case .column(_, _, _, let target) = property.kind { return target?.entityModel }
        }
        return nil
    }

    /// The columns of a property, or of one part of it.
    func columnNames(of keyPath: AnyKeyPath) throws(MakoError) -> [String] {
        let name = try columnName(of: keyPath)
        return composite(named: name)?.fields.map(\.column) ?? [name]
    }

    func columnName(of keyPath: AnyKeyPath) throws(MakoError) -> String {
        if let name = keyPaths[keyPath] { return name }
        throw .unknownProperty(entity: name, name: keyPath.text, nearest: nil)
    }

    /// The columns of the identity.
    var identityColumns: [String] {
        columns.filter { $0.options.contains { $0.kind == .identity } }.flatMap(\.fields).map(\.column)
    }

    /// The unique index on the identity; nil: there is no identity besides the key.
    var identityIndex: String? {
        let columns = identityColumns
        return columns.isEmpty ? nil : columns.joined(separator: ",")
    }

    /// Whether an upsert of an object without a row must first search for one.
    var mergesUpserts: Bool { !writeOnceColumns.isEmpty || !keepWhenNilColumns.isEmpty || identityIndex != nil }

    /// The type of a column that refers to this entity.
    func referenceType() throws(MakoError) -> ColumnType {
        guard let key = keyNames.first else { return .reference }
        try checkComposites()
        guard keyNames.count == 1, let property = columns.first(where: { $0.name == key }),
            case .column(let type, _, _, _) = property.kind
        else { throw .unsupported("a reference to \(name), whose key has several properties,") }
        return type
    }

    /// The delete rule for objects of a model, or of a subclass of it, that refer to this entity through a column.
    func deleteRule(from other: EntityModel, column: String) -> DeleteRule {
        for property in properties {
            guard case .many(let target, let rule) = property.kind, let inverse = property.inverse else { continue }
            let model = target.entityModel
            let isMeant = model.hasTable(of: other) || other.isSubclass(of: model)
            if isMeant, model.keyPaths[inverse] == column { return rule }
        }
        return .nullify
    }
}

/// The columns of other tables that refer to a class and that one of its ``ToMany`` reads.
final class InverseColumns: Sendable {
    private let columns: [(model: EntityModel, column: String)]

    init(of model: EntityModel) {
        columns = model.properties.compactMap { property in
            guard case .many(let target, _) = property.kind, let inverse = property.inverse else { return nil }
            return target.entityModel.keyPaths[inverse].map { (target.entityModel, $0) }
        }
    }

    func contains(_ column: String, of model: EntityModel) -> Bool {
        columns.contains { $0.column == column && ($0.model.hasTable(of: model) || model.isSubclass(of: $0.model)) }
    }
}

extension EntityModel {
    /// Whether one of the class's ``ToMany`` reads the rows that refer to its objects through a column.
    func hasMany(of model: EntityModel, column: String) -> Bool {
        if !hasMany { return false }
        return inverseColumns.loadOrMake { InverseColumns(of: self) }.contains(column, of: model)
    }
}

/// The key of an entity with several key properties.
public struct CompositeKey: Sendable, Hashable {
    /// The values, in the order of the key properties.
    public let values: [StoredValue]
    /// Creates a key from the values of the key properties, in their order.
    public init(_ values: [StoredValue]) { self.values = values }
}
