import CPlatform
import Foundation

/// One encoding of a value with `JSONEncoder`, and the reason why it must fail.
final class EncodingRun {
    enum Fault: Error {
        case shortStack, tooDeep, notANumber, emptyURL
    }

    private(set) var fault: Fault?

    /// The depth of a container inside one of this depth.
    func within(_ depth: Int) -> Int {
        if depth >= JSONText.depthLimit { _ = end(.tooDeep) }
        return depth + 1
    }

    /// Records a fault; the first one counts.
    func end(_ fault: Fault) -> Fault {
        if self.fault == nil { self.fault = fault }
        return fault
    }
}

extension EncodingRun.Fault: CustomStringConvertible {
    var description: String {
        switch self {
        case .shortStack: "it is nested too deep for the stack of this thread"
        case .tooDeep: "it is nested more than \(JSONText.depthLimit) deep"
        case .notANumber: "Decimal.nan is no number; store nil in an optional property"
        case .emptyURL: "an empty URL cannot be read back; store nil in an optional property"
        }
    }
}

/// A value that is encoded with a count of its nesting depth.
struct NestedJSON<Value: Encodable>: Encodable {
    let value: Value
    let depth: Int
    let run: EncodingRun

    init(_ value: Value, _ depth: Int, _ run: EncodingRun) {
        (self.value, self.depth, self.run) = (value, depth, run)
    }

    func encode(to encoder: any Encoder) throws {
        if depth > JSONText.depthLimit { throw run.end(.tooDeep) }
        if mako_stack_room() < JSONText.reservedStack { throw run.end(.shortStack) }
        try value.encode(to: CountingEncoder(base: encoder, depth: depth, run: run))
    }

    /// Encodes a value: directly if `JSONEncoder` knows its type, else wrapped.
    static func pass(
        _ value: Value, _ depth: Int, _ run: EncodingRun, plain: (Value) throws -> Void,
        nested: (NestedJSON<Value>) throws -> Void
    ) throws {
        if Value.self == Decimal.self {
            // JSON has no representation of NaN.
            if (value as? Decimal)?.isNaN == true { throw run.end(.notANumber) }
            return try plain(value)
        }
        if Value.self == URL.self {
            // JSONDecoder refuses an empty text.
            if (value as? URL)?.absoluteString.isEmpty == true { throw run.end(.emptyURL) }
            return try plain(value)
        }
        if Value.self is any FlatJSON.Type { try plain(value) } else { try nested(NestedJSON(value, depth + 1, run)) }
    }
}

private struct CountingEncoder: Encoder {
    let base: any Encoder
    let depth: Int
    let run: EncodingRun

    var codingPath: [any CodingKey] { base.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(CountingKeyed(base: base.container(keyedBy: type), depth: depth, run: run))
    }
    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        CountingUnkeyed(base: base.unkeyedContainer(), depth: depth, run: run)
    }
    func singleValueContainer() -> any SingleValueEncodingContainer {
        CountingSingle(base: base.singleValueContainer(), depth: depth, run: run)
    }
}

private struct CountingKeyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    var base: KeyedEncodingContainer<Key>
    let depth: Int
    let run: EncodingRun

    var codingPath: [any CodingKey] { base.codingPath }

    mutating func encodeNil(forKey key: Key) throws { try base.encodeNil(forKey: key) }
    mutating func encode(_ value: Bool, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: String, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: Double, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: Float, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: Int, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: Int8, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: Int16, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: Int32, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: Int64, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: UInt, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: UInt8, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: UInt16, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: UInt32, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode(_ value: UInt64, forKey key: Key) throws { try base.encode(value, forKey: key) }
    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try NestedJSON.pass(value, depth, run) {
            try base.encode($0, forKey: key)
        } nested: {
            try base.encode($0, forKey: key)
        }
    }
    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(
            CountingKeyed<Nested>(
                base: base.nestedContainer(keyedBy: type, forKey: key), depth: run.within(depth), run: run))
    }
    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        CountingUnkeyed(base: base.nestedUnkeyedContainer(forKey: key), depth: run.within(depth), run: run)
    }
    mutating func superEncoder() -> any Encoder {
        CountingEncoder(base: base.superEncoder(), depth: run.within(depth), run: run)
    }
    mutating func superEncoder(forKey key: Key) -> any Encoder {
        CountingEncoder(base: base.superEncoder(forKey: key), depth: run.within(depth), run: run)
    }
}

private struct CountingUnkeyed: UnkeyedEncodingContainer {
    var base: any UnkeyedEncodingContainer
    let depth: Int
    let run: EncodingRun

    var codingPath: [any CodingKey] { base.codingPath }
    var count: Int { base.count }

    mutating func encodeNil() throws { try base.encodeNil() }
    mutating func encode(_ value: Bool) throws { try base.encode(value) }
    mutating func encode(_ value: String) throws { try base.encode(value) }
    mutating func encode(_ value: Double) throws { try base.encode(value) }
    mutating func encode(_ value: Float) throws { try base.encode(value) }
    mutating func encode(_ value: Int) throws { try base.encode(value) }
    mutating func encode(_ value: Int8) throws { try base.encode(value) }
    mutating func encode(_ value: Int16) throws { try base.encode(value) }
    mutating func encode(_ value: Int32) throws { try base.encode(value) }
    mutating func encode(_ value: Int64) throws { try base.encode(value) }
    mutating func encode(_ value: UInt) throws { try base.encode(value) }
    mutating func encode(_ value: UInt8) throws { try base.encode(value) }
    mutating func encode(_ value: UInt16) throws { try base.encode(value) }
    mutating func encode(_ value: UInt32) throws { try base.encode(value) }
    mutating func encode(_ value: UInt64) throws { try base.encode(value) }
    mutating func encode<T: Encodable>(_ value: T) throws {
        try NestedJSON.pass(value, depth, run) {
            try base.encode($0)
        } nested: {
            try base.encode($0)
        }
    }
    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(
            CountingKeyed(base: base.nestedContainer(keyedBy: type), depth: run.within(depth), run: run))
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        CountingUnkeyed(base: base.nestedUnkeyedContainer(), depth: run.within(depth), run: run)
    }
    mutating func superEncoder() -> any Encoder {
        CountingEncoder(base: base.superEncoder(), depth: run.within(depth), run: run)
    }
}

private struct CountingSingle: SingleValueEncodingContainer {
    var base: any SingleValueEncodingContainer
    let depth: Int
    let run: EncodingRun

    var codingPath: [any CodingKey] { base.codingPath }

    mutating func encodeNil() throws { try base.encodeNil() }
    mutating func encode(_ value: Bool) throws { try base.encode(value) }
    mutating func encode(_ value: String) throws { try base.encode(value) }
    mutating func encode(_ value: Double) throws { try base.encode(value) }
    mutating func encode(_ value: Float) throws { try base.encode(value) }
    mutating func encode(_ value: Int) throws { try base.encode(value) }
    mutating func encode(_ value: Int8) throws { try base.encode(value) }
    mutating func encode(_ value: Int16) throws { try base.encode(value) }
    mutating func encode(_ value: Int32) throws { try base.encode(value) }
    mutating func encode(_ value: Int64) throws { try base.encode(value) }
    mutating func encode(_ value: UInt) throws { try base.encode(value) }
    mutating func encode(_ value: UInt8) throws { try base.encode(value) }
    mutating func encode(_ value: UInt16) throws { try base.encode(value) }
    mutating func encode(_ value: UInt32) throws { try base.encode(value) }
    mutating func encode(_ value: UInt64) throws { try base.encode(value) }
    mutating func encode<T: Encodable>(_ value: T) throws {
        try NestedJSON.pass(value, depth, run) {
            try base.encode($0)
        } nested: {
            try base.encode($0)
        }
    }
}
