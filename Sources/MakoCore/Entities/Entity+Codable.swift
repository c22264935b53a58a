import CPlatform
import Foundation
import MakoRecords

// For an entity struct the compiler synthesises `Codable`, which codes the row number as `_$value` with the properties.
// Input from elsewhere lacks it.

extension KeyedDecodingContainer {
    /// Decodes the row number of a struct; without one the struct has no row.
    public func decode(_ type: ValueState.Type, forKey key: Key) throws -> ValueState {
        try decodeIfPresent(Int64.self, forKey: key).map { ValueState(rowID: $0, database: 0) } ?? ValueState()
    }
}

extension KeyedEncodingContainer {
    /// Encodes the row number of a struct, if it has one.
    public mutating func encode(_ value: ValueState, forKey key: Key) throws {
        if let id = value.id { try encode(id, forKey: key) }
    }
}

// Classes that declare `Codable` use these implementations, because their stored fields are not the properties.

extension ObjectEntity where Self: Encodable {
    /// Encodes the stored properties under their names: dates, data and ids in the encoder's format, serialized values
    /// as JSON, references as the keys of their objects, and the row number if there is one.
    public func encode(to encoder: any Encoder) throws {
        // The static type may be a superclass.
        let model = type(of: self).entityModel
        var container = encoder.container(keyedBy: PropertyName.self)
        if !model.hasColumnKey, case .rowID(let id)? = storedKey {
            try container.encode(id, forKey: PropertyName(model.rowNumberProperty))
        }
        for property in model.columns {
            guard case .column = property.kind else { continue }
            let key = PropertyName(property.name)
            let values = property.values(of: self)
            if property.parts.isEmpty {
                try key.encode(values.first ?? .null, isJSON: property.isJSON, &container)
            } else if values.allSatisfy(\.isNull) {
                try container.encodeNil(forKey: key)
            } else {
                var parts = container.nestedContainer(keyedBy: PropertyName.self, forKey: key)
                for (part, value) in zip(property.parts, values) {
                    try PropertyName(part.name).encode(value, isJSON: false, &parts)
                }
            }
        }
    }
}

extension ObjectEntity where Self: Decodable {
    /// Creates an object without a row; properties missing in the input have their default values. If the input has a
    /// row number, committing the object replaces that row.
    ///
    /// - Throws: `DecodingError` when a value has another type.
    public init(from decoder: any Decoder) throws {
        self.init()
        let model = Self.entityModel
        let container = try decoder.container(keyedBy: PropertyName.self)
        var values: [String: Any] = [:]
        let number = PropertyName(model.rowNumberProperty)
        if !model.hasColumnKey, let id = try container.decodeIfPresent(Int64.self, forKey: number) {
            values[number.stringValue] = StoredValue.integer(id)
        }
        for property in model.columns {
            guard case .column(let column, _, _, let target) = property.kind else { continue }
            var type = property.sealedType ?? column
            if let target, column != .keys { type = try target.entityModel.referenceType() }
            let key = PropertyName(property.name)
            if !container.contains(key) { continue }
            if !property.parts.isEmpty {
                values[property.name] = try key.parts(of: property, container)
                continue
            }
            values[property.name] = try PropertyName.value(type, isJSON: property.isJSON, container, key)
        }
        do { try _$take(DictionaryValues(stored: values, entity: model.name)) } catch {
            var path = decoder.codingPath
            if case .typeMismatch(_, let property, _, _) = error { path.append(PropertyName(property)) }
            throw DecodingError.dataCorrupted(
                .init(codingPath: path, debugDescription: "\(error)", underlyingError: error))
        }
    }
}

private struct PropertyName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }

    func encode(
        _ value: StoredValue, isJSON: Bool, _ container: inout KeyedEncodingContainer<PropertyName>
    ) throws {
        switch value {
        case .null: try container.encodeNil(forKey: self)
        case .bool(let value): try container.encode(value, forKey: self)
        case .integer(let value): try container.encode(value, forKey: self)
        case .unsigned(let value): try container.encode(value, forKey: self)
        case .double(let value): try container.encode(value, forKey: self)
        case .date(let value): try container.encode(Date(timeIntervalSinceReferenceDate: value), forKey: self)
        case .blob(let value): try container.encode(Data(value), forKey: self)
        case .uuid(let high, let low): try container.encode(UUID(high: high, low: low), forKey: self)
        case .text(let value) where isJSON:
            // A text that looks like a number out of range is a text.
            try container.encode(try JSONText.value(JSONTree.self, of: value, with: JSONDecoder()), forKey: self)
        case .text(let value): try container.encode(value, forKey: self)
        }
    }

    /// The parts of a value with several columns, in the form of `DictionaryValues`.
    func parts(of property: PropertyModel, _ container: KeyedDecodingContainer<PropertyName>) throws -> Any {
        if try container.decodeNil(forKey: self) { return StoredValue.null }
        let inner = try container.nestedContainer(keyedBy: PropertyName.self, forKey: self)
        var values: [String: Any] = [:]
        for part in property.parts {
            let key = PropertyName(part.name)
            if part.isOptional && !inner.contains(key) { continue }
            values[part.name] = try PropertyName.value(part.columnType, isJSON: false, inner, key)
        }
        return values
    }

    static func value(
        _ type: ColumnType, isJSON: Bool, _ container: KeyedDecodingContainer<PropertyName>, _ key: PropertyName
    ) throws -> StoredValue {
        if try container.decodeNil(forKey: key) { return .null }
        switch type {
        case .bool: return .bool(try container.decode(Bool.self, forKey: key))
        case .integer, .reference: return .integer(try container.decode(Int64.self, forKey: key))
        case .unsigned: return .unsignedInteger(try container.decode(UInt64.self, forKey: key))
        case .double: return .double(try container.decode(Double.self, forKey: key))
        case .date: return try container.decode(Date.self, forKey: key).stored
        case .uuid: return try container.decode(UUID.self, forKey: key).stored
        case .blob, .keys: return .blob([UInt8](try container.decode(Data.self, forKey: key)))
        case .text where isJSON: return .text(try container.decode(JSONTree.self, forKey: key).text())
        case .text: return .text(try container.decode(String.self, forKey: key))
        }
    }
}

/// Any JSON value, for passing it from a decoder to an encoder.
private enum JSONTree: Codable {
    case null
    case flag(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case number(Double)
    /// A number with more digits than a `Double` holds.
    case decimal(Decimal)
    case text(String)
    case list([JSONTree])
    case object([String: JSONTree])

    init(from decoder: any Decoder) throws {
        if mako_stack_room() < JSONText.reservedStack {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "\(EncodingRun.Fault.shortStack)"))
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Decimal.self) {
            // First, because decoders round fractions to integers.
            self.init(number)
        } else if let number = try? container.decode(Int64.self) {
            self = .integer(number)
        } else if let number = try? container.decode(UInt64.self) {
            self = .unsigned(number)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let list = try? container.decode([JSONTree].self) {
            self = .list(list)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    private init(_ number: Decimal) {
        let text = "\(number)"
        if let whole = Int64(text) {
            self = .integer(whole)
        } else if let whole = UInt64(text) {
            self = .unsigned(whole)
        } else if let double = Double(text), Decimal(string: "\(double)") == number {
            self = .number(double)
        } else {
            self = .decimal(number)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .decimal(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    func text() throws -> String { try JSONText.text(of: self) }
}
