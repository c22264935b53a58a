import Foundation
import MakoRecords

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
