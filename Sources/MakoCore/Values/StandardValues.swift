import Foundation
import MakoRecords

// MARK: - Integers

/// The integers share one implementation each for signed and unsigned.
public protocol StorableInteger: StorableValue, FixedWidthInteger {}

extension StorableInteger {
    @inlinable public static var columnType: ColumnType { isSigned ? .integer : .unsigned }
    @inlinable public static var _$isPlain: Bool { true }

    @inlinable
    public var stored: StoredValue {
        Self.isSigned
            ? .integer(Int64(truncatingIfNeeded: self)) : .unsignedInteger(UInt64(truncatingIfNeeded: self))
    }

    @inlinable
    public init?(stored: StoredValue) {
        switch stored {
        case .integer(let number): self.init(exactly: number)
        case .unsigned(let number): self.init(exactly: number)
        case .double(let number): self.init(exactly: number)
        default: return nil
        }
    }

    @inlinable @inline(__always)
    public static func read(_ row: RowReader, _ position: Int) -> Self? {
        isSigned ? Self(exactly: row.integer(position)) : Self(exactly: row.unsigned(position))
    }

    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) {
        if Self.isSigned {
            writer.set(position, Int64(truncatingIfNeeded: self))
        } else {
            writer.set(position, UInt64(truncatingIfNeeded: self))
        }
    }
}

extension Int: StorableInteger {}
extension Int8: StorableInteger {}
extension Int16: StorableInteger {}
extension Int32: StorableInteger {}
extension Int64: StorableInteger {}
extension UInt: StorableInteger {}
extension UInt8: StorableInteger {}
extension UInt16: StorableInteger {}
extension UInt32: StorableInteger {}
extension UInt64: StorableInteger {}

// MARK: - Bool, Float, Double

extension Bool: StorableValue {
    @inlinable public static var columnType: ColumnType { .bool }
    @inlinable public static var _$isPlain: Bool { true }
    public var stored: StoredValue { .bool(self) }
    public init?(stored: StoredValue) {
        // A condition among the columns of a question gives 1 or 0.
        guard case .bool(let value)? = ColumnType.bool.coerced(stored) else { return nil }
        self = value
    }
    @inlinable @inline(__always)
    public static func read(_ row: RowReader, _ position: Int) -> Bool? { row.bool(position) }
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, self) }
}

extension Double: StorableValue {
    @inlinable public static var columnType: ColumnType { .double }
    @inlinable public static var _$isPlain: Bool { true }
    public var stored: StoredValue { .double(self) }
    public init?(stored: StoredValue) {
        switch stored {
        case .double(let value): self = value
        case .integer(let value): self.init(exactly: value)
        case .unsigned(let value): self.init(exactly: value)
        default: return nil
        }
    }
    @inlinable @inline(__always)
    public static func read(_ row: RowReader, _ position: Int) -> Double? { row.double(position) }
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, self) }
}

extension Float: StorableValue {
    @inlinable public static var columnType: ColumnType { .double }
    @inlinable public static var _$isPlain: Bool { true }
    public var stored: StoredValue { .double(Double(self)) }
    public init?(stored: StoredValue) {
        guard let value = Double(stored: stored) else { return nil }
        self = Float(value)
    }
    @inlinable @inline(__always)
    public static func read(_ row: RowReader, _ position: Int) -> Float? { Float(row.double(position)) }
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, Double(self)) }
}

// MARK: - Text

extension String: StorableValue {
    @inlinable public static var columnType: ColumnType { .text }
    @inlinable public static var _$isPlain: Bool { true }
    public var stored: StoredValue { .text(self) }
    public init?(stored: StoredValue) {
        guard case .text(let value) = stored else { return nil }
        self = value
    }
    @inlinable
    public static func read(_ row: RowReader, _ position: Int) -> String? { row.text(position) }
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, self) }
}

extension Character: StorableValue {
    public static var columnType: ColumnType { .text }
    @inlinable public static var _$isPlain: Bool { true }
    public var stored: StoredValue { .text(String(self)) }
    public init?(stored: StoredValue) {
        guard case .text(let value) = stored, value.count == 1, let first = value.first else { return nil }
        self = first
    }
}

extension URL: StorableValue {
    public static var columnType: ColumnType { .text }
    @inlinable public static var _$isPlain: Bool { true }
    public var stored: StoredValue { .text(absoluteString) }
    public init?(stored: StoredValue) {
        guard case .text(let text) = stored else { return nil }
        self.init(string: text)
    }
}

/// Exact: stored as its decimal text, so that no digit is lost. Conditions and orders compare decimals by their values; an index serves only to
/// find equal ones. Keep whole numbers of the smallest unit instead where sums are wanted, or an index for ranges. `Decimal.nan` is no
/// number and is not stored: saving it is an error.
extension Decimal: StorableValue {
    public static var columnType: ColumnType { .text }
    @inlinable public static var _$isPlain: Bool { true }
    /// Its text; `Decimal.nan` has none that a column takes.
    public var stored: StoredValue { isNaN ? .double(.nan) : .text(description) }
    public init?(stored: StoredValue) {
        switch stored {
        case .text("NaN"): self = .nan
        case .text(let text): self.init(string: text, locale: Locale(identifier: "en_US_POSIX"))
        case .integer(let number): self.init(number)
        case .unsigned(let number): self.init(number)
        // Foundation traps where it is infinite.
        case .double(let number) where number.isFinite: self.init(number)
        default: return nil
        }
    }
    public func write(to writer: inout RowWriter, _ position: Int) {
        guard case .text(let text) = stored else {
            return writer.refuse(position, because: "\(EncodingRun.Fault.notANumber)")
        }
        writer.set(position, text)
    }
}

// MARK: - Date, UUID, bytes

extension Date: StorableValue {
    @inlinable public static var columnType: ColumnType { .date }
    @inlinable public static var _$isPlain: Bool { true }
    public var stored: StoredValue { .date(timeIntervalSinceReferenceDate) }
    public init?(stored: StoredValue) {
        guard case .date(let seconds) = stored else { return nil }
        self.init(timeIntervalSinceReferenceDate: seconds)
    }
    @inlinable @inline(__always)
    public static func read(_ row: RowReader, _ position: Int) -> Date? {
        Date(timeIntervalSinceReferenceDate: row.date(position))
    }
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) {
        writer.setDate(position, timeIntervalSinceReferenceDate)
    }
}

extension UUID: StorableValue {
    @inlinable public static var columnType: ColumnType { .uuid }
    @inlinable public static var _$isPlain: Bool { true }

    @usableFromInline
    var halves: (high: UInt64, low: UInt64) {
        let b = uuid
        let high = [b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let low = [b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (high, low)
    }

    @usableFromInline
    init(high: UInt64, low: UInt64) {
        func byte(_ word: UInt64, _ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (56 - 8 * index)) }
        self.init(
            uuid: (
                byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5), byte(high, 6),
                byte(high, 7), byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3), byte(low, 4), byte(low, 5),
                byte(low, 6), byte(low, 7)
            ))
    }

    public var stored: StoredValue {
        let (high, low) = halves
        return .uuid(high, low)
    }

    public init?(stored: StoredValue) {
        switch stored {
        case .uuid(let high, let low): self.init(high: high, low: low)
        case .text(let text): self.init(uuidString: text)
        default: return nil
        }
    }

    @inlinable
    public static func read(_ row: RowReader, _ position: Int) -> UUID? {
        let (high, low) = row.uuid(position)
        return UUID(high: high, low: low)
    }

    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) {
        let (high, low) = halves
        writer.setUUID(position, high: high, low: low)
    }
}

extension Data: StorableValue {
    public static var columnType: ColumnType { .blob }
    @inlinable public static var _$isPlain: Bool { true }
    public var stored: StoredValue { .blob([UInt8](self)) }
    public init?(stored: StoredValue) {
        guard case .blob(let bytes) = stored else { return nil }
        self.init(bytes)
    }
    public static func read(_ row: RowReader, _ position: Int) -> Data? { Data(row.blob(position)) }
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, [UInt8](self)) }
}

extension Array: StorableValue where Element == UInt8 {
    public static var columnType: ColumnType { .blob }
    @inlinable public static var _$isPlain: Bool { true }
    public var stored: StoredValue { .blob(self) }
    public init?(stored: StoredValue) {
        guard case .blob(let bytes) = stored else { return nil }
        self = bytes
    }
    @inlinable
    public static func read(_ row: RowReader, _ position: Int) -> [UInt8]? { row.blob(position) }
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, self) }
}
