import Foundation
import MakoRecords
import Synchronization

/// What happens to the objects of a to-many relationship when their owner is removed.
public enum DeleteRule: Sendable, Hashable {
    /// Their reference becomes nil.
    case nullify
    /// They are removed as well.
    case cascade
    /// The removal is refused while there are any.
    case deny
}

/// Options of `@Attribute`.
public struct AttributeOption: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case primaryKey, unique, identity, indexed, column(String), originalName(String), writeOnce, keepWhenNil
        case serialized, loadOnRefresh, encrypted, spatial
        case fullText(Stemming)
    }
    let kind: Kind

    /// The property is the key, or a part of it.
    public static let primaryKey = AttributeOption(kind: .primaryKey)
    /// No two objects share a value; nil never conflicts.
    public static let unique = AttributeOption(kind: .unique)
    /// All properties marked so identify an object together: committing a new object that has the values of a stored one changes that
    /// one. Nil identifies nothing.
    public static let identity = AttributeOption(kind: .identity)
    /// An index finds objects by the property.
    public static let indexed = AttributeOption(kind: .indexed)
    /// The column's name, when it is to differ from the property's.
    public static func column(_ name: String) -> AttributeOption { AttributeOption(kind: .column(name)) }
    /// The property's former name: its values are taken over.
    public static func originalName(_ name: String) -> AttributeOption { AttributeOption(kind: .originalName(name)) }

    /// The row keeps the first value: commits of later ones leave it alone. The object in memory holds what it was given, until it is
    /// refreshed.
    public static let writeOnce = AttributeOption(kind: .writeOnce)
    /// Committing nil leaves the stored value alone.
    public static let keepWhenNil = AttributeOption(kind: .keepWhenNil)

    /// The value is stored as one text of JSON, whatever its type: objects that it holds belong to it and have no rows of their own. Their
    /// class must be `Codable`.
    public static let serialized = AttributeOption(kind: .serialized)
    /// The value is nil until the object is refreshed, which reads it; for what is large and seldom wanted. Committing nil leaves the stored
    /// value alone, as with ``keepWhenNil``.
    public static let loadOnRefresh = AttributeOption(kind: .loadOnRefresh)

    /// The value stands encrypted in the file, under ``DatabaseOptions/propertyKey``. Conditions can only ask whether it is nil.
    public static let encrypted = AttributeOption(kind: .encrypted)

    /// A spatial index finds objects by where the coordinate is: within a distance or a box, or the nearest ones. For ``Coordinate``.
    public static let spatial = AttributeOption(kind: .spatial)

    /// The words of the text are indexed, so that `MATCH` finds objects by them: `where("bio MATCH 'steam AND eng*'")`. Several
    /// properties share an index by `#FullText`.
    public static let fullText = AttributeOption(kind: .fullText(.none))
    /// The words of the text are indexed by their stems: "engines" finds "engine".
    public static func fullText(_ stemming: Stemming) -> AttributeOption { AttributeOption(kind: .fullText(stemming)) }
}

/// Options of `@Relationship`, for properties that hold objects.
public enum RelationshipOption: Sendable, Hashable {
    /// The object has the ones it holds to itself: one that it lets go of, and all when it is removed itself, are removed at the end of the
    /// transaction, unless another object owns them then. Objects that own each
    /// other in a circle keep each other.
    case owned
    /// The objects are not committed along with the one that refers to them, new ones neither: a reference to one that has no row yet is
    /// stored by a later commit. Once it is saved, a reference to a single object does not keep it alive either: whoever reads it
    /// when nobody else holds the object gets it from the file again, if it has a row. Collections hold what they have loaded.
    case weak
    /// The reference takes objects of subclasses as well, which come back as what they are. What is stored is a table and a key, as for
    /// `(any ObjectEntity)?`: no path leads on from the property in conditions. The subclasses must be in use when their objects are loaded.
    case subclasses
}

/// How generated code keeps a property; an argument of `@_Stored`.
public enum StoredPropertyKind: Sendable { case value, scalar, lazy, slot, rowNumber, many }

/// One property of an index, with its order or without regard to case.
public struct IndexKey<Root: Entity> {
    let keyPath: PartialKeyPath<Root>
    let descending: Bool
    let noCase: Bool

    public static func ascending(_ keyPath: PartialKeyPath<Root>) -> IndexKey {
        IndexKey(keyPath: keyPath, descending: false, noCase: false)
    }
    public static func descending(_ keyPath: PartialKeyPath<Root>) -> IndexKey {
        IndexKey(keyPath: keyPath, descending: true, noCase: false)
    }
    public static func ignoringCase(_ keyPath: PartialKeyPath<Root>) -> IndexKey {
        IndexKey(keyPath: keyPath, descending: false, noCase: true)
    }
}

/// One property of an entity: its name, its column, its key path.
public struct PropertyModel: @unchecked Sendable {
    // Unchecked: key paths are immutable, but `AnyKeyPath` does not say so.

    public enum Kind: Sendable {
        case column(type: ColumnType, isOptional: Bool, defaultValue: StoredValue, target: (any Entity.Type)?)
        /// The row's own number.
        case rowNumber
        case many(target: any Entity.Type, deleteRule: DeleteRule)
        /// A property of the superclass that the table leaves out. It has a position, but no column.
        case absent
    }

    public let name: String
    public let column: String
    public let kind: Kind
    public let keyPath: AnyKeyPath
    let inverse: AnyKeyPath?
    let options: [AttributeOption]
    let relation: [RelationshipOption]
    /// The coding of its column; nil: it has none.
    let coding: (any AnyPropertyCoding)?
    private let read: (@Sendable (any Entity) -> StoredValue)?
    /// The columns of a property that has several; else none.
    private(set) var parts: [PropertyPart] = []
    private(set) var defaultParts: [StoredValue] = []
    private var readParts: (@Sendable (any Entity) -> [StoredValue])?

    /// Whether the column holds JSON.
    var isJSON: Bool { coding?.isJSON == true }
    /// Whether it refers to objects of any entity.
    var refersToAny: Bool { coding?.refersToAny == true }
    /// Whether the column refers to other rows.
    var isReference: Bool {
        guard case .column(_, _, _, let target) = kind else { return false }
        return target != nil || refersToAny
    }
    /// The type of what is encrypted in its column; nil: nothing is.
    var sealedType: ColumnType? { coding?.sealedType }
    var isEncrypted: Bool { sealedType != nil }
    /// Whether its column holds a text for people.
    var isPlainText: Bool {
        guard case .column(type: .text, _, _, nil) = kind else { return false }
        return !isJSON && !refersToAny && !isEncrypted
    }

    /// The property's value as a row holds it.
    func value(of entity: any Entity) -> StoredValue { read?(entity) ?? .null }

    /// What the property's columns hold.
    func values(of entity: any Entity) -> [StoredValue] { readParts?(entity) ?? [value(of: entity)] }

    /// A property with a column.
    public static func column<Root: Entity, C: PropertyCodec>(
        _ name: String, _ keyPath: KeyPath<Root, C.Property>, _ codec: C.Type, column: String? = nil,
        default value: @autoclosure () -> C.Property? = nil, options: [AttributeOption] = [],
        relation: [RelationshipOption] = []
    ) -> PropertyModel {
        nonisolated(unsafe) let path = keyPath
        let start = value()
        var property = PropertyModel(
            name: name, column: column ?? name,
            kind: .column(
                type: C.columnType, isOptional: C.isOptional,
                // A default stands in the catalogue, where what is encrypted must not be.
                defaultValue: C.sealedType == nil ? start.map(C.stored) ?? .null : .null,
                target: C.target),
            keyPath: keyPath, inverse: nil, options: options, relation: relation, coding: CodecCoding<C>(),
            read: { entity in (entity as? Root).map { C.stored($0[keyPath: path]) } ?? .null })
        property.parts = C.parts
        if property.parts.isEmpty { return property }
        property.defaultParts = start.map(C.storedParts) ?? []
        property.readParts = { entity in (entity as? Root).map { C.storedParts($0[keyPath: path]) } ?? [] }
        return property
    }

    /// An integer property that is the key: it is the row's number and takes no column.
    public static func rowNumber<Root: Entity>(
        _ name: String, _ keyPath: PartialKeyPath<Root>, column: String? = nil
    ) -> PropertyModel {
        PropertyModel(
            name: name, column: column ?? name, kind: .rowNumber, keyPath: keyPath, inverse: nil, options: [],
            relation: [], coding: nil, read: nil)
    }

    /// A to-many relationship: a query for the objects whose `inverse` refers to the owner.
    public static func many<Root: Entity, Target: ObjectEntity>(
        _ name: String, _ keyPath: PartialKeyPath<Root>, _ target: Target.Type, inverse: PartialKeyPath<Target>,
        deleteRule: DeleteRule = .nullify
    ) -> PropertyModel {
        PropertyModel(
            name: name, column: name, kind: .many(target: target, deleteRule: deleteRule), keyPath: keyPath,
            inverse: inverse, options: [], relation: [], coding: nil, read: nil)
    }

    /// What a table that leaves the property out has in its place.
    fileprivate var absent: PropertyModel? {
        switch kind {
        case .rowNumber, .absent: self
        case .many: nil
        case .column:
            PropertyModel(
                name: name, column: column, kind: .absent, keyPath: keyPath, inverse: nil, options: [], relation: [],
                coding: nil, read: nil)
        }
    }
}

extension EntityCoding {
    /// The properties of a superclass that the table of a subclass leaves out.
    public static func absent(_ properties: [PropertyModel]) -> [PropertyModel] { properties.compactMap(\.absent) }

    /// The type of ``Entity``'s stamps, under a name that needs no import.
    public typealias Stamp = Date
}

/// An index of an entity.
public struct IndexModel: @unchecked Sendable {
    // Unchecked: key paths are immutable, but `AnyKeyPath` does not say so.
    struct Part {
        let keyPath: AnyKeyPath
        let descending: Bool
        let noCase: Bool
    }
    let parts: [Part]
    let isUnique: Bool
    /// Which objects it holds, as a condition in text; nil: all.
    let condition: String?
    /// For an index of words.
    var fullText: FullTextOptions?
}

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
    /// The properties with several columns.
    let composites: CompositeColumns
    /// Position in the tables of bindings.
    let number: Int
    /// What ``leadsBack`` is: 0 not looked for, 1 no, 2 yes.
    private let circle = Atomic<UInt8>(0)

    private static let count = Protected(0)

    /// - Parameters:
    ///   - id: the key path of `id`, so that conditions may name it.
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
        isPartial: Bool = false, isObservable: Bool = false, superclass: EntityModel? = nil
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
        if let id, keys.isEmpty { keyPaths[id] = "id" }
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
            if let id { keyPaths[id] = property.column }
        }
        if let id, let key = keys.first, keys.count == 1, let property = properties.first(where: { $0.name == key }) {
            keyPaths[id] = property.column
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

    /// Whether references from one of its objects may lead to an object of it again. Looked for once.
    var leadsBack: Bool {
        let known = circle.load(ordering: .relaxed)
        if known != 0 { return known == 2 }
        var waiting = [self]
        var seen: Set<Int> = []
        var isCircle = false
        while let next = waiting.popLast(), !isCircle {
            isCircle = next.properties.contains(where: \.refersToAny)
            for model in next.related where seen.insert(model.number).inserted {
                isCircle = isCircle || model === self
                waiting.append(model)
            }
        }
        circle.store(isCircle ? 2 : 1, ordering: .relaxed)
        return isCircle
    }

    /// Whether the rows of both are those of one table: a key stands for the same row then.
    func hasTable(of other: EntityModel) -> Bool {
        self === other || table == other.table && !sabotaged("typeTakenForTable")
    }

    /// Whether the class is another's subclass and its table has all columns of the other's.
    func extends(_ other: EntityModel) -> Bool {
        var next = superclass
        while let each = next, each !== other { next = each.superclass }
        // Those of the superclass come first.
        let inherited = other.columns.count < 64 ? 1 << UInt64(other.columns.count) - 1 : UInt64.max
        return next != nil && (absentColumns ^ other.absentColumns) & inherited == 0
    }

    /// Whether rows own what a column of theirs refers to.
    func owns(column name: String) -> Bool {
        ownedColumns != 0 && columns.contains { $0.column == name && $0.relation.contains(.owned) }
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
        throw .unknownProperty(entity: name, name: "\(keyPath)", nearest: nil)
    }

    /// The stored form of the declaration.
    func schema() throws(MakoError) -> EntitySchema {
        if absentColumns != 0 && hasColumnKey {
            throw .migration(
                entity: name,
                reason: "its key is a property of the superclass that it ignores; remove 'ignoringSuperclass:'")
        }
        // Which properties differ from the row is noted in one word.
        if self.columns.count > UInt64.bitWidth {
            throw .migration(
                entity: name, reason: "it has \(self.columns.count) properties with its superclasses; 64 are the limit")
        }
        if type is any ObjectEntity.Type, let held = self.columns.first(where: { $0.coding?.holdsValue == true }) {
            throw .migration(
                entity: name,
                reason:
                    "its \(held.name) refers to a struct, which only structs do; make that a class, or store its key")
        }
        try checkComposites()
        var columns: [ColumnSchema] = []
        var indexes: [IndexSchema] = []
        func add(_ parts: [IndexColumn], isUnique: Bool, where condition: String? = nil) {
            let columns = parts.map { $0.name + ($0.descending ? "-" : "") + ($0.noCase ? "~" : "") }.joined(
                separator: ",")
            let name = columns + (condition.map { " where " + $0 } ?? "")
            if indexes.contains(where: { $0.name == name && ($0.isUnique || !isUnique) }) { return }
            indexes.removeAll { $0.name == name }
            indexes.append(IndexSchema(name, parts, isUnique: isUnique, where: condition))
        }
        func addText(_ names: [String], _ options: FullTextOptions) throws(MakoError) {
            for name in names {
                guard let property = self.columns.first(where: { $0.column == name }), property.isPlainText else {
                    throw .migration(
                        entity: self.name, reason: "\(name) is no String and has no words for a full-text index")
                }
            }
            let name = "text(\(names.joined(separator: ",")))"
            indexes.removeAll { $0.name == name }
            indexes.append(IndexSchema(name, names.map { IndexColumn($0) }, fullText: options))
        }
        for index in self.indexes {
            if let options = index.fullText {
                var names: [String] = []
                for part in index.parts { names += try columnNames(of: part.keyPath) }
                try addText(names, options)
                continue
            }
            var parts: [IndexColumn] = []
            for part in index.parts {
                for name in try columnNames(of: part.keyPath) {
                    parts.append(IndexColumn(name, descending: part.descending, noCase: part.noCase))
                }
            }
            add(parts, isUnique: index.isUnique, where: try index.condition.map(columnText))
        }
        if !identityColumns.isEmpty { add(identityColumns.map { IndexColumn($0) }, isUnique: true) }
        for property in self.columns {
            guard case .column(var type, let isOptional, let defaultValue, let target) = property.kind else { continue }
            if property.options.contains(.encrypted) && !property.isEncrypted {
                throw .migration(
                    entity: name, reason: "\(property.name) is marked .encrypted and needs EntityCoding.encryptedCodec")
            }
            var original: String?
            for option in property.options {
                switch option.kind {
                case .unique: add(property.fields.map { IndexColumn($0.column) }, isUnique: true)
                case .indexed: add(property.fields.map { IndexColumn($0.column) }, isUnique: false)
                case .spatial:
                    let parts = property.fields.map { IndexColumn($0.column) }
                    indexes.append(IndexSchema("near " + property.column, parts, isSpatial: true))
                case .originalName(let name): original = name
                case .fullText(let stemming): try addText([property.column], FullTextOptions(stemming: stemming))
                default: break
                }
            }
            if !property.parts.isEmpty {
                columns += property.schemas(originalName: original)
                continue
            }
            if let target, type != .keys { type = try target.entityModel.referenceType() }
            columns.append(
                ColumnSchema(
                    property.column, type, isOptional: isOptional && !keyNames.contains(property.name),
                    default: defaultValue,
                    target: property.refersToAny ? AnyReference.anyTable : target?.entityModel.table,
                    originalName: original, sealing: property.sealedType))
        }
        for column in columns
        where column.target != nil
            && !indexes.contains(where: { $0.columns.first?.name == column.name && $0.condition == nil })
        {
            add([IndexColumn(column.name)], isUnique: false)
        }
        let keyColumns = keyNames.compactMap { key in self.columns.first { $0.name == key }?.column }
        return EntitySchema(
            name: table, columns: columns,
            key: keyColumns.isEmpty ? .rowID(column: rowNumberName) : .columns(keyColumns),
            indexes: indexes)
    }

    /// The columns that identify an object together.
    private var identityColumns: [String] {
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

    /// The rule for the objects that refer to this entity through a column of theirs.
    func deleteRule(from table: String, column: String) -> DeleteRule {
        for property in properties {
            guard case .many(let target, let rule) = property.kind, let inverse = property.inverse else { continue }
            let model = target.entityModel
            if model.table == table, model.keyPaths[inverse] == column { return rule }
        }
        return .nullify
    }
}

/// The key of an entity whose key has several properties.
public struct CompositeKey: Sendable, Hashable {
    public let values: [StoredValue]
    public init(_ values: [StoredValue]) { self.values = values }
}
