import Foundation
import MakoRecords

/// One property of an entity: its name, column and key path.
public struct PropertyModel: @unchecked Sendable {
    // Unchecked: key paths are immutable, but `AnyKeyPath` is not marked Sendable.

    /// How a property is stored.
    public enum Kind: Sendable {
        /// A column; `target` is the entity that it refers to.
        case column(type: ColumnType, isOptional: Bool, defaultValue: StoredValue, target: (any Entity.Type)?)
        /// The row number.
        case rowNumber
        /// A to-many relationship, which has no column.
        case many(target: any Entity.Type, deleteRule: DeleteRule)
        /// A property of the superclass that the table omits. It has a position, but no column.
        case absent
    }

    /// The Swift name.
    public let name: String
    /// The name of the column.
    public let column: String
    /// How the property is stored.
    public let kind: Kind
    /// The key path of the property.
    public let keyPath: AnyKeyPath
    let inverse: AnyKeyPath?
    let options: [AttributeOption]
    let relation: [RelationshipOption]
    /// The coding of its column; nil: it has none.
    let coding: (any AnyPropertyCoding)?
    private let read: (@Sendable (any Entity) -> StoredValue)?
    /// The columns of a property with several columns; otherwise empty.
    private(set) var parts: [EntityCoding.PropertyPart] = []
    private(set) var defaultParts: [StoredValue] = []
    /// The row numbers that an integer key can be.
    private(set) var rowNumbers = Int64.min...Int64.max
    private var readParts: (@Sendable (any Entity) -> [StoredValue])?

    /// Whether the column contains JSON.
    var isJSON: Bool { coding?.isJSON == true }
    /// Whether it refers to objects of any entity.
    var refersToAny: Bool { coding?.refersToAny == true }
    /// Whether it is a collection of objects of any entity.
    var holdsAnyKeys: Bool {
        guard refersToAny, case .column(type: .keys, _, _, _) = kind else { return false }
        return true
    }
    /// Whether the column refers to other rows.
    var isReference: Bool {
        guard case .column(_, _, _, let target) = kind else { return false }
        return target != nil || refersToAny
    }
    /// The type of the encrypted value; nil: the column is not encrypted.
    var sealedType: ColumnType? { coding?.sealedType }
    var isEncrypted: Bool { sealedType != nil }
    /// Whether its column contains plain text.
    var isPlainText: Bool {
        guard case .column(type: .text, _, _, nil) = kind else { return false }
        return !isJSON && !refersToAny && !isEncrypted
    }

    /// The property's column value.
    func value(of entity: any Entity) -> StoredValue { read?(entity) ?? .null }

    /// The values of the property's columns.
    func values(of entity: any Entity) -> [StoredValue] { readParts?(entity) ?? [value(of: entity)] }

    /// Returns a property with a column.
    public static func column<Root: Entity, C: EntityCoding.PropertyCodec>(
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
                // A default is stored in the catalogue, which would reveal an encrypted value.
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

    /// Returns an integer key property: the row number, which takes no column.
    public static func rowNumber<Root: Entity, Key: FixedWidthInteger>(
        _ name: String, _ keyPath: KeyPath<Root, Key>, column: String? = nil
    ) -> PropertyModel {
        rowNumber(name, keyPath, column, Key.self)
    }
    /// Returns an optional integer key property: the row number, which takes no column.
    public static func rowNumber<Root: Entity, Key: FixedWidthInteger>(
        _ name: String, _ keyPath: KeyPath<Root, Key?>, column: String? = nil
    ) -> PropertyModel {
        rowNumber(name, keyPath, column, Key.self)
    }

    private static func rowNumber<Key: FixedWidthInteger>(
        _ name: String, _ keyPath: AnyKeyPath, _ column: String?, _: Key.Type
    ) -> PropertyModel {
        var property = PropertyModel(
            name: name, column: column ?? name, kind: .rowNumber, keyPath: keyPath, inverse: nil, options: [],
            relation: [], coding: nil, read: nil)
        property.rowNumbers = Int64(clamping: Key.min)...Int64(clamping: Key.max)
        return property
    }

    /// Returns a to-many relationship: a query for the objects whose `inverse` refers to the owner.
    public static func many<Root: Entity, Target: ObjectEntity>(
        _ name: String, _ keyPath: PartialKeyPath<Root>, _ target: Target.Type, inverse: PartialKeyPath<Target>,
        deleteRule: DeleteRule = .nullify
    ) -> PropertyModel {
        PropertyModel(
            name: name, column: name, kind: .many(target: target, deleteRule: deleteRule), keyPath: keyPath,
            inverse: inverse, options: [], relation: [], coding: nil, read: nil)
    }

    /// The replacement of the property in a table that omits it.
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
    /// Returns the properties of a superclass that the table of a subclass omits.
    public static func absent(_ properties: [PropertyModel]) -> [PropertyModel] { properties.compactMap(\.absent) }

    /// The type of ``Entity``'s timestamps, under a name that needs no import.
    public typealias Stamp = Date
}
