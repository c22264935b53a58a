/// A dynamic value, as columns, parameters and expressions have it.
///
/// Equality and hashing are exact and agree with the order of keys: texts are compared by their UTF-8 bytes, `-0.0`
/// equals `0.0`, all NaN are equal, and numbers of different cases never are (`integer(1) != double(1)`).
///
///     let value: Value = .text("Ada")
///     print(value)                       // 'Ada'
public enum Value: Sendable, Hashable {
    /// NULL.
    case null
    /// A boolean.
    case bool(Bool)
    /// An integer.
    case integer(Int64)
    /// A number above `Int64.max`; see ``unsignedInteger(_:)``.
    case unsigned(UInt64)
    /// A double.
    case double(Double)
    /// A text.
    case text(String)
    /// A blob.
    case blob([UInt8])
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    /// A UUID as two big-endian halves: high, low.
    case uuid(UInt64, UInt64)

    /// Returns an unsigned number as a value: `.integer` if it fits, so that equal numbers are equal values.
    public static func unsignedInteger(_ number: UInt64) -> Value {
        Int64(exactly: number).map(Value.integer) ?? .unsigned(number)
    }

    /// Whether the value is NULL.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The name of the value's type in errors.
    public var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "bool"
        case .integer: "integer"
        case .unsigned: "unsigned"
        case .double: "double"
        case .text: "text"
        case .blob: "blob"
        case .date: "date"
        case .uuid: "uuid"
        }
    }

    /// Compares two values exactly.
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.unsigned(let a), .unsigned(let b)): a == b
        case (.double(let a), .double(let b)): KeyOrder.bits(a) == KeyOrder.bits(b)
        case (.text(let a), .text(let b)): a.utf8.elementsEqual(b.utf8)
        case (.blob(let a), .blob(let b)): a == b
        case (.date(let a), .date(let b)): KeyOrder.bits(a) == KeyOrder.bits(b)
        case (.uuid(let a, let b), .uuid(let c, let d)): a == c && b == d
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let flag): hasher.combine(flag)
        case .integer(let number): hasher.combine(number)
        case .unsigned(let number): hasher.combine(number)
        case .double(let number): hasher.combine(KeyOrder.bits(number))
        case .text(let text): for byte in text.utf8 { hasher.combine(byte) }
        case .blob(let bytes): hasher.combine(bytes)
        case .date(let seconds): hasher.combine(KeyOrder.bits(seconds))
        case .uuid(let high, let low):
            hasher.combine(high)
            hasher.combine(low)
        }
    }

    /// Compares two values as the where language does: returns -1, 0 or 1, or `nil` if one is NULL or the types are not
    /// comparable.
    ///
    /// Numbers are compared by their exact mathematical value, whatever their cases; NaN sorts before every other
    /// number.
    public func compare(_ other: Value) -> Int? {
        switch (self, other) {
        case (.bool(let a), .bool(let b)): a == b ? 0 : (a ? 1 : -1)
        case (.text(let a), .text(let b)): KeyOrder.compareBytes(a.utf8, b.utf8)
        case (.blob(let a), .blob(let b)): KeyOrder.compareBytes(a, b)
        case (.date(let a), .date(let b)): KeyOrder.compare(KeyOrder.bits(a), KeyOrder.bits(b))
        case (.uuid(let a, let b), .uuid(let c, let d)):
            a == c ? KeyOrder.compare(b, d) : KeyOrder.compare(a, c)
        case (.integer(let a), .integer(let b)): KeyOrder.compare(a, b)
        case (.unsigned(let a), .unsigned(let b)): KeyOrder.compare(a, b)
        case (.integer, .unsigned): -1
        case (.unsigned, .integer): 1
        case (.double(let a), .double(let b)): KeyOrder.compare(KeyOrder.bits(a), KeyOrder.bits(b))
        case (.integer(let a), .double(let b)): KeyOrder.compare(a, b)
        case (.double(let a), .integer(let b)): -KeyOrder.compare(b, a)
        case (.unsigned(let a), .double(let b)): KeyOrder.compare(a, b)
        case (.double(let a), .unsigned(let b)): -KeyOrder.compare(b, a)
        default: nil
        }
    }
}

extension Value: CustomStringConvertible {
    /// The value as a literal of the where language: `NULL`, `'it''s'`, `3.5`, `x'00ff'`, `date('2026-01-31')`.
    public var description: String {
        switch self {
        case .null: "NULL"
        case .bool(let flag): flag ? "TRUE" : "FALSE"
        case .integer(let number): String(number)
        case .unsigned(let number): String(number)
        case .double(let number): String(number)
        case .text(let text):
            "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
        case .blob(let bytes): "x'" + bytes.map(Value.hex).joined() + "'"
        case .date(let seconds): "date('" + DateText.format(seconds) + "')"
        case .uuid(let high, let low): "'" + UUIDText.format(high, low) + "'"
        }
    }

    private static func hex(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }
}
