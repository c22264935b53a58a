import Foundation
import MakoRecords

/// Converts a property's values to and from column values, where the property's type is known only at run time.
protocol AnyPropertyCoding: Sendable {
    /// The column value that the property stores for a value; nil: the value is not one of the property.
    func normalised(_ stored: StoredValue) -> StoredValue?
    /// The same for a property with several columns.
    func normalised(_ parts: [StoredValue]) -> [StoredValue]?
    /// Why a row cannot be read as the property, or cannot be stored again after reading; nil: it can.
    func fault(reading row: EntityRow, _ position: Int) -> String?
    /// Whether the column may contain values that the property's type does not accept.
    var refusesFields: Bool { get }
    /// The name of the property's type.
    var typeName: String { get }
    /// Whether the column contains JSON.
    var isJSON: Bool { get }
    /// Whether the column's texts are decimals.
    var isDecimal: Bool { get }
    /// Whether it refers to objects of any entity.
    var refersToAny: Bool { get }
    /// The class of the referenced objects, which may be of subclasses; nil: it takes no subclasses.
    var superclass: (any Entity.Type)? { get }
    /// The type of the encrypted value; nil: the column is not encrypted.
    var sealedType: ColumnType? { get }
    /// The key path from a value to the number of its objects; nil: it is a single value.
    var countPath: AnyKeyPath? { get }
    /// Whether it is an array or set of objects.
    var listsObjects: Bool { get }
    /// Whether it is a collection of objects and values.
    var listsValues: Bool { get }
    /// Whether it is a struct that is an entity.
    var holdsValue: Bool { get }
    /// Saves what the property of a struct holds, and sets the keys. An object's property has a slot for that.
    func saveHeldValue<Root: Entity>(
        _ keyPath: AnyKeyPath, of root: inout Root, in transaction: Transaction) throws(MakoError)
    /// Loads and returns the objects of an object's property.
    func objects<Root: ObjectEntity>(_ keyPath: AnyKeyPath, of object: Root) -> [any ObjectEntity]
    /// Copies a property from one object to another and replaces the objects in it. Reads the property of both.
    ///
    /// - Parameter map: returns the replacement of an object; nil: none.
    /// - Returns: false when the property cannot be set.
    func copy<Root: ObjectEntity>(
        _ keyPath: AnyKeyPath, from source: Root, to target: Root,
        _ map: (any ObjectEntity) -> (any ObjectEntity)?
    ) -> Bool
}

/// The coding of properties of one type.
class PropertyCoding<V>: @unchecked Sendable {
    // Unchecked: it has no state.
    func stored(_ value: V) -> StoredValue { .null }
    func value(_ stored: StoredValue) -> V? { nil }
    func storedParts(_ value: V) -> [StoredValue] { [] }
    func joined(_ parts: [StoredValue]) -> V? { nil }
    func fault(storing value: V) -> String? { nil }
}

final class CodecCoding<C: EntityCoding.PropertyCodec>: PropertyCoding<C.Property>, AnyPropertyCoding,
    @unchecked Sendable
{
    override func stored(_ value: C.Property) -> StoredValue { C.stored(value) }
    override func value(_ stored: StoredValue) -> C.Property? { C.value(stored) }
    override func storedParts(_ value: C.Property) -> [StoredValue] { C.storedParts(value) }
    override func joined(_ parts: [StoredValue]) -> C.Property? { C.joined(parts) }
    override func fault(storing value: C.Property) -> String? { C.fault(storing: value) }
    func normalised(_ stored: StoredValue) -> StoredValue? { C.value(stored).map(C.stored) }
    func normalised(_ parts: [StoredValue]) -> [StoredValue]? { C.joined(parts).map(C.storedParts) }
    func fault(reading row: EntityRow, _ position: Int) -> String? {
        do throws(MakoError) { return C.fault(storing: try C.read(row, position)) } catch {
            if case .unreadableValue(_, _, _, let reason) = error { return reason }
            return "\(error)"
        }
    }
    var refusesFields: Bool { !(C.Property.self is any EveryField.Type) }
    var typeName: String { "\(C.Property.self)" }
    var isJSON: Bool { C.isJSON }
    var isDecimal: Bool { C.Property.self == Decimal.self || C.Property.self == Decimal?.self }
    var refersToAny: Bool { C.refersToAny }
    var superclass: (any Entity.Type)? { C.superclass }
    var sealedType: ColumnType? { C.sealedType }
    var countPath: AnyKeyPath? { (C.Property.self as? any ManyValues.Type)?._$count }

    var listsObjects: Bool { (C.self as? any ObjectListing.Type)?.listsObjects == true }
    var listsValues: Bool { (C.self as? any ObjectListing.Type)?.listsValues == true }
    var holdsValue: Bool { C.self is any HeldValueCodec.Type }

    func saveHeldValue<Root: Entity>(
        _ keyPath: AnyKeyPath, of root: inout Root, in transaction: Transaction
    ) throws(MakoError) {
        guard let codec = C.self as? any HeldValueCodec.Type else { return }
        try Self.save(codec, keyPath, of: &root, in: transaction)
    }

    private static func save<Held: HeldValueCodec, Root: Entity>(
        _ codec: Held.Type, _ keyPath: AnyKeyPath, of root: inout Root, in transaction: Transaction
    ) throws(MakoError) {
        guard let path = keyPath as? WritableKeyPath<Root, Held.Property> else {
            throw .unsupported("saving what \(keyPath.text) holds, a property that cannot be set,")
        }
        try codec.save(&root[keyPath: path], in: transaction)
    }

    func objects<Root: ObjectEntity>(_ keyPath: AnyKeyPath, of object: Root) -> [any ObjectEntity] {
        guard let path = keyPath as? KeyPath<Root, C.Property> else { return [] }
        var objects: [any ObjectEntity] = []
        _ = C.mapped(object[keyPath: path]) { each in
            objects.append(each)
            return each
        }
        return objects
    }

    func copy<Root: ObjectEntity>(
        _ keyPath: AnyKeyPath, from source: Root, to target: Root,
        _ map: (any ObjectEntity) -> (any ObjectEntity)?
    ) -> Bool {
        guard let path = keyPath as? ReferenceWritableKeyPath<Root, C.Property> else { return false }
        target[keyPath: path] = C.mapped(source[keyPath: path], map)
        return true
    }
}

/// A type that accepts every value of its column's type and can store it again.
private protocol EveryField {}

extension Bool: EveryField {}
extension Int: EveryField {}
extension Int64: EveryField {}
extension UInt: EveryField {}
extension UInt64: EveryField {}
extension Float: EveryField {}
extension Double: EveryField {}
extension CGFloat: EveryField {}
extension String: EveryField {}
extension Date: EveryField {}
extension UUID: EveryField {}
extension Data: EveryField {}
extension Array: EveryField where Element == UInt8 {}
extension Optional: EveryField where Wrapped: EveryField {}
