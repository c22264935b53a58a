import Foundation
import MakoRecords

// MARK: - Integers

/// An integer type that fills a column. All of them share this implementation.
public protocol StorableInteger: StorableValue, FixedWidthInteger {}

extension StorableInteger {
    /// The column type: integer, or unsigned for an unsigned type.
    @inlinable public static var columnType: ColumnType { isSigned ? .integer : .unsigned }
    @inlinable public static var _$isPlain: Bool { true }

    /// The integer as the column holds it.
    @inlinable
    public var stored: StoredValue {
        Self.isSigned
            ? .integer(Int64(truncatingIfNeeded: self)) : .unsignedInteger(UInt64(truncatingIfNeeded: self))
    }

    /// Creates the integer of a stored number; nil if it does not fit exactly.
    @inlinable
    public init?(stored: StoredValue) {
        switch stored {
        case .integer(let number): self.init(exactly: number)
        case .unsigned(let number): self.init(exactly: number)
        case .double(let number): self.init(exactly: number)
        default: return nil
        }
    }

    /// Reads the integer from a field of a row; nil if it does not fit.
    @inlinable @inline(__always)
    public static func read(_ row: RowReader, _ position: Int) -> Self? {
        isSigned ? Self(exactly: row.integer(position)) : Self(exactly: row.unsigned(position))
    }

    /// Writes the integer to a field of a row.
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
    /// The column type: Boolean.
    @inlinable public static var columnType: ColumnType { .bool }
    @inlinable public static var _$isPlain: Bool { true }
    /// The Boolean as the column holds it.
    public var stored: StoredValue { .bool(self) }
    /// Creates the Boolean of a stored Boolean, or of the 0 or 1 of a computed condition; nil for other values.
    public init?(stored: StoredValue) {
        // A condition in the columns of a SELECT is 1 or 0.
        guard case .bool(let value)? = ColumnType.bool.coerced(stored) else { return nil }
        self = value
    }
    /// Reads a Boolean from a field of a row.
    @inlinable @inline(__always)
    public static func read(_ row: RowReader, _ position: Int) -> Bool? { row.bool(position) }
    /// Writes the Boolean to a field of a row.
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, self) }
}

extension Double: StorableValue {
    /// The column type: double.
    @inlinable public static var columnType: ColumnType { .double }
    @inlinable public static var _$isPlain: Bool { true }
    /// The number as the column holds it.
    public var stored: StoredValue { .double(self) }
    /// Creates the number of a stored number; nil if an integer is not exact as a `Double`.
    public init?(stored: StoredValue) {
        switch stored {
        case .double(let value): self = value
        case .integer(let value): self.init(exactly: value)
        case .unsigned(let value): self.init(exactly: value)
        default: return nil
        }
    }
    /// Reads a number from a field of a row.
    @inlinable @inline(__always)
    public static func read(_ row: RowReader, _ position: Int) -> Double? { row.double(position) }
    /// Writes the number to a field of a row.
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, self) }
}

extension Float: StorableValue {
    /// The column type: double.
    @inlinable public static var columnType: ColumnType { .double }
    @inlinable public static var _$isPlain: Bool { true }
    /// The number as a double.
    public var stored: StoredValue { .double(Double(self)) }
    /// Creates the nearest `Float` of a stored number; nil for other values.
    public init?(stored: StoredValue) {
        guard let value = Double(stored: stored) else { return nil }
        self = Float(value)
    }
    /// Reads a number from a field of a row.
    @inlinable @inline(__always)
    public static func read(_ row: RowReader, _ position: Int) -> Float? { Float(row.double(position)) }
    /// Writes the number to a field of a row.
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, Double(self)) }
}

// MARK: - Text

extension String: StorableValue {
    /// The column type: text.
    @inlinable public static var columnType: ColumnType { .text }
    @inlinable public static var _$isPlain: Bool { true }
    /// The text as the column holds it.
    public var stored: StoredValue { .text(self) }
    /// Creates the text of a stored text; nil for other values.
    public init?(stored: StoredValue) {
        guard case .text(let value) = stored else { return nil }
        self = value
    }
    /// Reads a text from a field of a row.
    @inlinable
    public static func read(_ row: RowReader, _ position: Int) -> String? { row.text(position) }
    /// Writes the text to a field of a row.
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, self) }
}

extension Character: StorableValue {
    /// The column type: text.
    public static var columnType: ColumnType { .text }
    @inlinable public static var _$isPlain: Bool { true }
    /// The character as a text.
    public var stored: StoredValue { .text(String(self)) }
    /// Creates the character of a text with one character; nil for other values.
    public init?(stored: StoredValue) {
        guard case .text(let value) = stored, value.count == 1, let first = value.first else { return nil }
        self = first
    }
}

/// Stored as the absolute URL, without its base. An empty URL cannot be stored, because no text makes one: saving it
/// throws.
extension URL: StorableValue {
    /// The column type: text.
    public static var columnType: ColumnType { .text }
    @inlinable public static var _$isPlain: Bool { true }
    /// The absolute URL as a text; an empty one as a double, which the column refuses.
    public var stored: StoredValue {
        let text = absoluteString
        return text.isEmpty ? .double(.nan) : .text(text)
    }
    /// Creates the URL of a stored text; nil if it is none.
    public init?(stored: StoredValue) {
        guard case .text(let text) = stored else { return nil }
        self.init(string: text)
    }
    /// Writes the text to a field of a row.
    public func write(to writer: inout RowWriter, _ position: Int) {
        guard case .text(let text) = stored else {
            return writer.refuse(position, because: "\(EncodingRun.Fault.emptyURL)")
        }
        writer.set(position, text)
    }
}

/// Stored exactly, as decimal text. Conditions and orders compare decimals by value, but an index finds only equal
/// ones. For sums, or ranges by index, store integers of the smallest unit instead. `Decimal.nan` cannot be stored:
/// saving it throws.
extension Decimal: StorableValue {
    /// The column type: text.
    public static var columnType: ColumnType { .text }
    @inlinable public static var _$isPlain: Bool { true }
    /// The decimal as text; `Decimal.nan` as a double, which the column refuses.
    public var stored: StoredValue { isNaN ? .double(.nan) : .text(description) }
    /// Creates the decimal of a stored text or number; nil if it is none.
    ///
    /// Of a `Double`, it is the decimal with the fewest digits that is read as the same `Double`: 19.99 for `19.99`.
    public init?(stored: StoredValue) {
        switch stored {
        case .text("NaN"): self = .nan
        case .text(let text): self.init(whole: text)
        case .integer(let number): self.init(number)
        case .unsigned(let number): self.init(number)
        // Foundation converts by binary arithmetic: 19.99 becomes 19.98999999999999488, and 1e300 no number.
        case .double(let number): self.init(whole: "\(number)")
        default: return nil
        }
    }
    /// Creates the decimal of a text that is one from its first to its last byte; nil for other texts.
    private init?(whole text: String) {
        // Foundation reads the longest prefix that is a decimal, and ignores the rest.
        guard DecimalText(text.utf8) != nil else { return nil }
        self.init(string: text, locale: Locale(identifier: "en_US_POSIX"))
    }
    /// Writes the value to a field of a row.
    public func write(to writer: inout RowWriter, _ position: Int) {
        guard case .text(let text) = stored else {
            return writer.refuse(position, because: "\(EncodingRun.Fault.notANumber)")
        }
        writer.set(position, text)
    }
}

// MARK: - Date, UUID, bytes

extension Date: StorableValue {
    /// The column type: date.
    @inlinable public static var columnType: ColumnType { .date }
    @inlinable public static var _$isPlain: Bool { true }
    /// The seconds since the reference date of Foundation.
    public var stored: StoredValue { .date(timeIntervalSinceReferenceDate) }
    /// Creates the date of a stored date; nil for other values.
    public init?(stored: StoredValue) {
        guard case .date(let seconds) = stored else { return nil }
        self.init(timeIntervalSinceReferenceDate: seconds)
    }
    /// Reads a date from a field of a row.
    @inlinable @inline(__always)
    public static func read(_ row: RowReader, _ position: Int) -> Date? {
        Date(timeIntervalSinceReferenceDate: row.date(position))
    }
    /// Writes the date to a field of a row.
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) {
        writer.setDate(position, timeIntervalSinceReferenceDate)
    }
}

extension UUID: StorableValue {
    /// The column type: UUID.
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

    /// The UUID as the column holds it.
    public var stored: StoredValue {
        let (high, low) = halves
        return .uuid(high, low)
    }

    /// Creates the UUID of a stored UUID, or of its text; nil for other values.
    public init?(stored: StoredValue) {
        switch stored {
        case .uuid(let high, let low): self.init(high: high, low: low)
        case .text(let text): self.init(uuidString: text)
        default: return nil
        }
    }

    /// Reads a UUID from a field of a row.
    @inlinable
    public static func read(_ row: RowReader, _ position: Int) -> UUID? {
        let (high, low) = row.uuid(position)
        return UUID(high: high, low: low)
    }

    /// Writes the UUID to a field of a row.
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) {
        let (high, low) = halves
        writer.setUUID(position, high: high, low: low)
    }
}

extension Data: StorableValue {
    /// The column type: blob.
    public static var columnType: ColumnType { .blob }
    @inlinable public static var _$isPlain: Bool { true }
    /// The bytes as the column holds them.
    public var stored: StoredValue { .blob([UInt8](self)) }
    /// Creates the bytes of a stored blob; nil for other values.
    public init?(stored: StoredValue) {
        guard case .blob(let bytes) = stored else { return nil }
        self.init(bytes)
    }
    /// Reads the bytes from a field of a row.
    public static func read(_ row: RowReader, _ position: Int) -> Data? { Data(row.blob(position)) }
    /// Writes the bytes to a field of a row.
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, [UInt8](self)) }
}

extension Array: StorableValue where Element == UInt8 {
    /// The column type: blob.
    public static var columnType: ColumnType { .blob }
    @inlinable public static var _$isPlain: Bool { true }
    /// The bytes as the column holds them.
    public var stored: StoredValue { .blob(self) }
    /// Creates the bytes of a stored blob; nil for other values.
    public init?(stored: StoredValue) {
        guard case .blob(let bytes) = stored else { return nil }
        self = bytes
    }
    /// Reads the bytes from a field of a row.
    @inlinable
    public static func read(_ row: RowReader, _ position: Int) -> [UInt8]? { row.blob(position) }
    /// Writes the bytes to a field of a row.
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, self) }
}
