import Foundation
import MakoRecords
import Synchronization

/// The positions of result columns by name: by the exact name, else by the case-insensitive one if it is unambiguous.
@usableFromInline
final class ColumnPlaces: Sendable {
    let names: [String]
    /// The column behind the last one that was found: callers mostly read columns in their order.
    private let next = Atomic<Int>(0)
    /// For each column, whether it is the first of its name.
    private let isFirst: [Bool]
    private let exact: [String: Int]
    private let folded: [String: Int]

    init(_ names: [String]) {
        self.names = names
        let exact = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
        self.exact = exact
        isFirst = names.enumerated().map { exact[$1] == $0 }
        // -1: several columns have the name.
        folded = Dictionary(names.enumerated().map { ($1.lowercased(), $0) }) { _, _ in -1 }
    }

    @usableFromInline
    func place(_ name: String) -> Int? {
        let expected = next.load(ordering: .relaxed)
        let isExpected = expected < names.count && isFirst[expected] && names[expected] == name
        guard let place = isExpected ? expected : known(name) else { return nil }
        // No look-up: the next call waits for this value.
        next.store(place + 1 < names.count ? place + 1 : 0, ordering: .relaxed)
        return place
    }

    private func known(_ name: String) -> Int? {
        exact[name] ?? folded[name.lowercased()].flatMap { $0 < 0 ? nil : $0 }
    }
}

/// One row of a result as a decoder for a `Decodable` type.
struct DecodedRow: Decoder {
    let places: ColumnPlaces
    let values: ArraySlice<StoredValue>
    let number: Int

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(RowContainer(row: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw MakoError.columnMissing(column: nil, expected: "a list", columns: places.names)
    }

    /// A type that decodes a single value reads the only column.
    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        guard values.count == 1 else {
            throw MakoError.columnMissing(column: nil, expected: "a single value", columns: places.names)
        }
        return DecodedValue(value: values[values.startIndex], column: places.names[0], number: number)
    }

    func value(_ name: String, _ expected: @autoclosure () -> String) throws(MakoError) -> DecodedValue {
        guard let place = places.place(name) else {
            throw .columnMissing(column: name, expected: expected(), columns: places.names)
        }
        return DecodedValue(value: values[values.startIndex + place], column: places.names[place], number: number)
    }

    /// Runs a type's own decoding and translates its errors to `MakoError`.
    static func decoding<R>(
        _ type: Any.Type, _ expected: String, _ row: Int, _ found: String, _ body: () throws -> R
    ) throws(MakoError) -> R {
        do {
            return try body()
        } catch let error as MakoError {
            throw error
        } catch {
            // Also an error of the type's own.
            let (path, reason) = (error as? DecodingError)?.pathAndReason ?? ("", "\(error)")
            throw .columnMismatch(
                column: path.isEmpty ? "a column" : path, row: row, expected: expected, found: "\(found) (\(reason))")
        }
    }
}

/// The columns of one row as the properties of a type.
private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let row: DecodedRow

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { row.places.names.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { row.places.place(key.stringValue) != nil }

    func decodeNil(forKey key: Key) throws -> Bool {
        try row.value(key.stringValue, "a value").value.isNull
    }

    private func plain<T: StorableValue>(_ key: Key) throws(MakoError) -> T {
        try row.value(key.stringValue, RawResults.name(of: T.self)).plain()
    }

    private func plainIfPresent<T: StorableValue>(_ key: Key) throws(MakoError) -> T? {
        try row.value(key.stringValue, RawResults.name(of: T.self)).plain()
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try plain(key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try plain(key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try plain(key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try plain(key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try plain(key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try plain(key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try plain(key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try plain(key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try plain(key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try plain(key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try plain(key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try plain(key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try plain(key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try plain(key) }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try row.value(key.stringValue, RawResults.name(of: type)).decoded(type)
    }

    // Without these overloads a property whose column is missing would be nil, which would hide a misspelled name.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try plainIfPresent(key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try plainIfPresent(key) }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        let found = try row.value(key.stringValue, RawResults.name(of: type))
        return found.value.isNull ? nil : try found.decoded(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        throw try row.value(key.stringValue, RawResults.name(of: type)).mismatch("values with names")
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        throw try row.value(key.stringValue, "a value").mismatch("a list")
    }

    func superDecoder() throws -> any Decoder { row }
    func superDecoder(forKey key: Key) throws -> any Decoder { row }
}

/// The value of one column as a decoder for a `Decodable` type.
struct DecodedValue: SingleValueDecodingContainer, Decoder {
    /// Thrown by a type that does not fit into a column; its column holds JSON.
    private struct NeedsText: Error {}

    let value: StoredValue
    let column: String
    let number: Int

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func mismatch(_ expected: String) -> MakoError { RawResults.mismatch(column, number, expected, value) }

    func plain<T: StorableValue>() throws(MakoError) -> T {
        if let value = T(stored: value) { return value }
        throw mismatch(RawResults.name(of: T.self))
    }

    func decoded<T: Decodable>(_ type: T.Type) throws(MakoError) -> T {
        if let storable = type as? any StorableValue.Type {
            if let value = storable.init(stored: value) as? T { return value }
            throw mismatch(RawResults.name(of: type))
        }
        if value.isNull { throw mismatch(RawResults.name(of: type)) }
        let found = "\(value.typeName) \(value)"
        do {
            return try T(from: self)
        } catch is NeedsText {
            guard case .text(let text) = value else { throw mismatch(RawResults.name(of: type)) }
            return try DecodedRow.decoding(type, "\(type)", number, found) {
                do throws(ValueFault) { return try JSONText.value(type, of: text) } catch {
                    throw mismatch("\(type) as JSON")
                }
            }
        } catch is DecodingError {
            // For example, an unknown case of an enumeration.
            throw mismatch("\(type)")
        } catch let error as MakoError {
            throw error
        } catch {
            // The type refuses the value by an error of its own.
            throw .columnMismatch(column: column, row: number, expected: "\(type)", found: "\(found) (\(error))")
        }
    }

    // MARK: Decoder

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw NeedsText() }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NeedsText() }
    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    // MARK: Single value

    func decodeNil() -> Bool { value.isNull }
    func decode(_ type: Bool.Type) throws -> Bool { try plain() }
    func decode(_ type: String.Type) throws -> String { try plain() }
    func decode(_ type: Double.Type) throws -> Double { try plain() }
    func decode(_ type: Float.Type) throws -> Float { try plain() }
    func decode(_ type: Int.Type) throws -> Int { try plain() }
    func decode(_ type: Int8.Type) throws -> Int8 { try plain() }
    func decode(_ type: Int16.Type) throws -> Int16 { try plain() }
    func decode(_ type: Int32.Type) throws -> Int32 { try plain() }
    func decode(_ type: Int64.Type) throws -> Int64 { try plain() }
    func decode(_ type: UInt.Type) throws -> UInt { try plain() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try plain() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try plain() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try plain() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try plain() }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoded(type) }
}
