import MakoRecords
import Synchronization

/// The shape of an entity as its type declares it.
public final class EntityModel: @unchecked Sendable {
    // Unchecked: everything is immutable; key paths do not say that they are.

    /// The type.
    public let type: any Entity.Type
    /// The table's name: the one that the first database gave it which the type was used with, until then the type's own. See
    /// ``DatabaseOptions/tableNaming``.
    public var table: String { settledTable.load()?.text ?? givenTable }
    /// The name of the declaration.
    let givenTable: String
    /// Whether the declaration itself names the table, so that another type may show it too.
    let declaresTable: Bool
    private let settledTable = AtomicLazyReference<TableName>()
    /// All properties in the order of their declaration.
    public let properties: [PropertyModel]
    /// The properties with a column; their order is the order of fields in a row. Among them are those that are absent.
    public let columns: [PropertyModel]
    let indexes: [IndexModel]
    let keyNames: [String]
    /// Whether watchers are told of its objects.
    let raisesEvents: Bool
    /// The database that its objects belong to, by the name it is registered under; nil: the one that is current.
    let databaseName: String?
    /// Whether a save fills in when an object was made and last stored.
    let hasStamps: Bool
    /// Whether it shows some columns of a table that belongs to another model. Nothing is stored or removed through it.
    let isPartial: Bool
    /// Whether its objects have observers, who are told of each change in memory.
    let isObservable: Bool
    /// The model of the superclass.
    let superclass: EntityModel?
    /// The columns whose first value stays, bit 0 being the first column.
    let writeOnceColumns: UInt64
    /// The columns that keep their value when nil is to be stored.
    let keepWhenNilColumns: UInt64
    let hasEncryptedColumns: Bool
    /// The positions without a column.
    let absentColumns: UInt64
    /// The columns whose objects the row owns.
    let ownedColumns: UInt64
    /// The columns whose objects are not committed along.
    let weakColumns: UInt64
    /// What the row's number is called in conditions.
    let rowNumberName: String
    let keyPaths: [AnyKeyPath: String]
    /// Whether conditions may name `id`; not where it is computed of something else than the key.
    private let identifiesByID: Bool
    /// The properties with several columns.
    let composites: CompositeColumns
    /// Position in the tables of bindings.
    let number: Int
    /// What ``leadsBack`` and ``refersBack`` are: 0 not looked for, else 1, with 2 for the one and 4 for the other.
    private let circles = Atomic<UInt8>(0)

    private static let count = Protected(0)

    /// - Parameters:
    ///   - declaresTable: whether the declaration names the table, though it be as the type is called.
    ///   - id: the key path of `id` where that is the key, so that conditions may name it; nil: it is a property of another meaning.
    ///   - keys: the names of the properties that are the key; none when the row's number is.
    ///   - raisesEvents: whether watchers are told of its objects.
    ///   - database: the name under which ``Database/register(_:as:)`` knows the database of its objects; nil: the current one.
    ///   - hasStamps: whether the type fills in stamps, see ``Entity/_$stamp(isNew:at:)-(_,_)``.
    ///   - isPartial: whether it shows some columns of a table that another model describes.
    ///   - isObservable: whether the type is an ``ObservableEntity``.
    ///   - superclass: the superclass's model, for a class whose superclass is an entity. The key is the same.
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
        self.type = type
        givenTable = table
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
        func columnBits(where isMarked: (PropertyModel) -> Bool) -> UInt64 {
            var bits: UInt64 = 0
            for (position, property) in columns.enumerated() where isMarked(property) { bits |= 1 << UInt64(position) }
            return bits
        }
        writeOnceColumns = columnBits { $0.options.contains(.writeOnce) }
        keepWhenNilColumns = columnBits { $0.options.contains(.keepWhenNil) || $0.options.contains(.loadOnRefresh) }
        hasEncryptedColumns = columns.contains(where: \.isEncrypted)
        absentColumns = columnBits { if case .absent = $0.kind { true } else { false } }
        ownedColumns = columnBits { $0.relation.contains(.owned) }
        weakColumns = columnBits { $0.relation.contains(.weak) }
        keyNames = keys
        var rowNumberName = "id"
        var keyPaths: [AnyKeyPath: String] = [:]
        // A stored `id` beside another key is a property like any other.
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
            rowNumberName = property.column
            if let key { keyPaths[key] = property.column }
        }
        if let key, let name = keys.first, keys.count == 1, let property = properties.first(where: { $0.name == name })
        {
            keyPaths[key] = property.column
        }
        self.rowNumberName = rowNumberName
        self.keyPaths = keyPaths
        composites = CompositeColumns(columns)
        number = EntityModel.count.with { count in
            count += 1
            return count - 1
        }
    }

    public static func index<T: Entity>(
        _ type: T.Type, _ keys: [PartialKeyPath<T>], isUnique: Bool, where condition: String? = nil
    ) -> IndexModel {
        IndexModel(
            parts: keys.map { .init(keyPath: $0, descending: false, noCase: false) }, isUnique: isUnique,
            condition: condition)
    }
    public static func index<T: Entity>(
        _ type: T.Type, _ keys: [IndexKey<T>], isUnique: Bool, where condition: String? = nil
    ) -> IndexModel {
        IndexModel(
            parts: keys.map { .init(keyPath: $0.keyPath, descending: $0.descending, noCase: $0.noCase) },
            isUnique: isUnique, condition: condition)
    }

    /// An index over the words of properties.
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

    /// The name of the type for messages.
    var name: String { "\(type)" }
    var hasColumnKey: Bool { !keyNames.isEmpty }

    /// Whether the declaration gives the table another name than the type's.
    var namesTable: Bool { givenTable != name }

    /// Gives the table its name for the life of the process, unless it has one.
    ///
    /// - Returns: the name that it has.
    func settleTable(_ name: String) -> String {
        settledTable.storeIfNil(TableName(name, givenTable)).text
    }

    /// What conditions on the type call its table, where that is called otherwise: the name of the declaration.
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
    /// The entities this one refers to, in both directions.
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

    /// Whether relationships of one of its objects, followed in both directions, may lead to an object of it again. Looked for once.
    var leadsBack: Bool { knownCircles & 2 != 0 }

    /// Whether references from one of its rows may lead to a row of it again. Looked for once.
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
                // Another type of the same table has objects of its own.
                if other === self { return true }
                waiting.append(other)
            }
        }
        return false
    }

    /// Whether the rows of both are those of one table: a key stands for the same row then.
    func hasTable(of other: EntityModel) -> Bool {
        self === other || table == other.table
    }

    /// Whether the class is another's subclass and its table has all columns of the other's.
    func extends(_ other: EntityModel) -> Bool {
        var next = superclass
        while let each = next, each !== other { next = each.superclass }
        // Those of the superclass come first.
        let inherited = other.columns.count < 64 ? 1 << UInt64(other.columns.count) - 1 : UInt64.max
        return next != nil && (absentColumns ^ other.absentColumns) & inherited == 0
    }

    /// Whether the class is another's subclass, whatever it leaves out of its table.
    private func isSubclass(of other: EntityModel) -> Bool {
        var next = superclass
        while let each = next, each !== other { next = each.superclass }
        return next != nil
    }

    /// What the row's number is called in Swift.
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

    /// The columns that identify an object together.
    var identityColumns: [String] {
        columns.filter { $0.options.contains { $0.kind == .identity } }.flatMap(\.fields).map(\.column)
    }

    /// The unique index over what identifies an object; nil: nothing but its key does.
    var identityIndex: String? {
        let columns = identityColumns
        return columns.isEmpty ? nil : columns.joined(separator: ",")
    }

    /// Whether an upsert of an object without a row of its own must look for one first.
    var mergesUpserts: Bool { writeOnceColumns | keepWhenNilColumns != 0 || identityIndex != nil }

    /// The type of a column that refers to this entity.
    func referenceType() throws(MakoError) -> ColumnType {
        guard let key = keyNames.first else { return .reference }
        try checkComposites()
        guard keyNames.count == 1, let property = columns.first(where: { $0.name == key }),
            case .column(let type, _, _, _) = property.kind
        else { throw .unsupported("a reference to \(name), whose key has several properties,") }
        return type
    }

    /// The rule for the objects of a model, or of a subclass of it, that refer to this entity through a column of theirs.
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

/// The key of an entity whose key has several properties.
public struct CompositeKey: Sendable, Hashable {
    public let values: [StoredValue]
    public init(_ values: [StoredValue]) { self.values = values }
}
