import Foundation
import MakoRecords

/// The values of `init(_ dictionary:)`: keys are case-insensitive, unknown keys are ignored.
public struct DictionaryValues {
    private let values: [String: Any]
    private let entity: String
    /// Whether the values are the contents of columns.
    private let areStored: Bool

    init(stored dictionary: [String: Any], entity: String) { self.init(dictionary, entity: entity, areStored: true) }

    /// Creates the values of a dictionary for an entity.
    public init(_ dictionary: [String: Any], entity: String) {
        self.init(dictionary, entity: entity, areStored: false)
    }

    private init(_ dictionary: [String: Any], entity: String, areStored: Bool) {
        self.areStored = areStored
        values = dictionary
        self.entity = entity
    }

    /// The value for a name: that of the same name, or else of one that differs by case.
    private func entry(_ name: String) -> Any? {
        if let entry = values[name] { return entry }
        let isASCII = name.utf8.allSatisfy { $0 < 0x80 }
        return values.first { isASCII ? Self.isASCII($0.key, sameAs: name) : $0.key.lowercased() == name.lowercased() }?
            .value
    }

    /// Whether two names are equal but for the case of their letters. Names of other characters are seldom, and cost copies.
    private static func isASCII(_ key: String, sameAs name: String) -> Bool {
        let (key8, name8) = (key.utf8, name.utf8)
        if key8.count == name8.count, zip(key8, name8).allSatisfy({ $0 == $1 || ($0 ^ $1) == 0x20 && isLetter($0) }) {
            return true
        }
        return key8.contains { $0 >= 0x80 } && key.lowercased() == name.lowercased()
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }

    /// Returns the value for a property; `nil` if the dictionary has none.
    ///
    /// - Throws: `MakoError.typeMismatch` for a value of another type.
    public func value<C: EntityCoding.PropertyCodec>(_ name: String, _ codec: C.Type) throws(MakoError) -> C.Property? {
        if !C.parts.isEmpty { return try composite(name, codec) }
        guard let entry = entry(name).map(Self.plain) else { return nil }
        // Before anything else is tried, because each cast costs more than the rest.
        if !areStored, let value = entry as? C.Property { return value }
        guard let content = Self.unwrapped(entry) else {
            guard let empty = C.value(.null) else {
                throw .missingValue(entity: entity, property: name)
            }
            return empty
        }
        let isReference = C.target != nil || C.refersToAny
        if let stored = Self.stored(content), !isReference || content is StoredValue,
            let value = try C.loaded(stored)
        {
            return value
        }
        // Errors must not contain values that are to be encrypted.
        let shown = C.sealedType == nil ? Self.stored(content).map { "\($0.typeName) \($0.brief)" } : nil
        throw .typeMismatch(
            entity: entity, property: name, expected: RawResults.name(of: C.Property.self),
            found: shown ?? "\(type(of: content))")
    }

    /// The value for a composite property: a value, a dictionary of its parts, or the parts beside the other
    /// properties, as `asDictionary` returns them.
    private func composite<C: EntityCoding.PropertyCodec>(_ name: String, _ codec: C.Type) throws(MakoError) -> C
        .Property?
    {
        var parts: [String: Any] = [:]
        if let entry = entry(name) {
            guard let content = Self.unwrapped(entry) else { return try joined(name, codec, nil) }
            if let value = content as? C.Property { return value }
            guard let inner = content as? [String: Any] else {
                throw .typeMismatch(
                    entity: entity, property: name, expected: "\(C.Property.self)", found: "\(type(of: content))")
            }
            for (key, value) in inner { parts[key.lowercased()] = value }
        } else {
            for part in C.parts {
                let key = part.name.lowercased()
                parts[key] = self.entry("\(name)_\(part.name)")
            }
            if parts.isEmpty { return nil }
        }
        var stored: [StoredValue] = []
        for part in C.parts {
            let content = parts[part.name.lowercased()].flatMap(Self.unwrapped)
            guard let value = content.map(Self.storedPart) ?? .null else {
                throw .typeMismatch(
                    entity: entity, property: "\(name)_\(part.name)", expected: part.columnType.name,
                    found: "\(type(of: content ?? StoredValue.null))")
            }
            stored.append(value)
        }
        return try joined(name, codec, stored)
    }

    private func joined<C: EntityCoding.PropertyCodec>(
        _ name: String, _ codec: C.Type, _ parts: [StoredValue]?
    ) throws(MakoError) -> C.Property {
        let stored = parts ?? Array(repeating: .null, count: C.parts.count)
        if let value = C.joined(stored) { return value }
        if let place = stored.firstIndex(where: \.isNull) {
            let isWhole = stored.allSatisfy(\.isNull)
            throw .missingValue(entity: entity, property: isWhole ? name : "\(name)_\(C.parts[place].name)")
        }
        throw .typeMismatch(
            entity: entity, property: name, expected: "\(C.Property.self)",
            found: "(" + stored.map(\.description).joined(separator: ", ") + ")")
    }

    private static func storedPart(_ content: Any) -> StoredValue? {
        stored(content) ?? (content as? any StorableValue)?.stored
    }

    /// Returns the slot for a property that may be a reference: of an object, or of its key as `asDictionary` returns
    /// it.
    ///
    /// - Throws: `MakoError.typeMismatch` for a value of another type.
    public func slot<C: EntityCoding.SlotCodec>(_ name: String, _ codec: C.Type) throws(MakoError) -> C.Slot? {
        if C.target != nil || C.refersToAny, let entry = entry(name),
            let content = Self.unwrapped(entry) as? StoredValue, let slot = C.slot(stored: content)
        {
            return slot
        }
        return try value(name, codec).map(C.slot)
    }

    /// Returns the value for a property without a default.
    public func required<C: EntityCoding.PropertyCodec>(_ name: String, _ codec: C.Type) throws(MakoError) -> C.Property
    {
        if let value = try value(name, codec) { return value }
        throw .missingValue(entity: entity, property: name)
    }

    /// The type of a Boolean of Foundation, which `JSONSerialization` makes of `true` and `false`.
    private static let foundationBoolean: Any.Type = type(of: NSNumber(value: true))

    /// Returns a Boolean of Foundation as one of Swift: a cast takes the former for the number 1 or 0 too.
    private static func plain(_ value: Any) -> Any {
        type(of: value) == foundationBoolean ? (value as? Bool) ?? value : value
    }

    /// Converts Booleans, numbers if they fit exactly, texts, and stored values.
    private static func stored(_ content: Any) -> StoredValue? {
        let content = plain(content)
        // A cast takes numbers for Booleans.
        if type(of: content) == Bool.self, let flag = content as? Bool { return .bool(flag) }
        if let stored = content as? StoredValue { return stored }
        if let text = content as? String { return .text(text) }
        if content is any BinaryInteger || content is any BinaryFloatingPoint {
            return (content as? any StorableValue)?.stored
        }
        // A number of `JSONSerialization`.
        guard let number = content as? NSNumber else { return nil }
        if let whole = number as? Int { return whole.stored }
        if let whole = number as? UInt { return whole.stored }
        return number.doubleValue.stored
    }

    /// Unwraps optionals; `nil` for `nil` and `NSNull`.
    private static func unwrapped(_ value: Any) -> Any? {
        if value is NSNull || (value as? StoredValue)?.isNull == true { return nil }
        guard let optional = value as? any AnyOptional else { return value }
        return optional.content.flatMap(unwrapped)
    }
}

private protocol AnyOptional { var content: Any? { get } }
extension Optional: AnyOptional { var content: Any? { self.map { $0 as Any } } }
