import Foundation
import MakoRecords

/// The values of `init(_ dictionary:)`: keys are compared without regard to case, unknown keys are ignored.
public struct DictionaryValues {
    private let values: [String: Any]
    private let entity: String

    public init(_ dictionary: [String: Any], entity: String) {
        values = Dictionary(dictionary.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
        self.entity = entity
    }

    /// The value for a property; `nil` when the dictionary has none.
    ///
    /// - Throws: `MakoError.typeMismatch` when there is one of another type.
    public func value<C: PropertyCodec>(_ name: String, _ codec: C.Type) throws(MakoError) -> C.Property? {
        guard let entry = values[name.lowercased()] else { return nil }
        guard let content = Self.unwrapped(entry) else {
            guard let empty = C.value(.null) else {
                throw .missingValue(entity: entity, property: name)
            }
            return empty
        }
        if let value = content as? C.Property { return value }
        if let storable = content as? any StorableValue, C.target == nil, Self.isNumber(content),
            let value = C.value(storable.stored)
        {
            return value
        }
        throw .typeMismatch(
            entity: entity, property: name, expected: "\(C.Property.self)", found: "\(type(of: content))")
    }

    /// The value for a property that has no default.
    public func required<C: PropertyCodec>(_ name: String, _ codec: C.Type) throws(MakoError) -> C.Property {
        if let value = try value(name, codec) { return value }
        throw .missingValue(entity: entity, property: name)
    }

    /// Numbers convert where they fit exactly; nothing else does.
    private static func isNumber(_ content: Any) -> Bool {
        content is any BinaryInteger || content is any BinaryFloatingPoint
    }

    /// Takes optionals off; `nil` for `nil` and `NSNull`.
    private static func unwrapped(_ value: Any) -> Any? {
        if value is NSNull { return nil }
        guard let optional = value as? any AnyOptional else { return value }
        return optional.content.flatMap(unwrapped)
    }
}

private protocol AnyOptional { var content: Any? { get } }
extension Optional: AnyOptional { var content: Any? { self.map { $0 as Any } } }
