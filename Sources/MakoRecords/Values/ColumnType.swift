/// The type of a column. The raw values are part of the file format.
public enum ColumnType: UInt8, Sendable, Hashable, CaseIterable {
    /// `true` or `false`.
    case bool = 1
    /// A signed 64-bit integer.
    case integer = 2
    /// An unsigned 64-bit integer.
    case unsigned = 3
    /// A 64-bit floating-point number.
    case double = 4
    /// A UTF-8 text; also a decimal, a list or a reference to rows of any table.
    case text = 5
    /// Bytes; also encrypted values.
    case blob = 6
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date = 7
    /// A UUID.
    case uuid = 8
    /// The row id of a row in the column's target table.
    case reference = 9
    /// Keys of rows in the column's target table, as a ``KeyTree``; as a dynamic value its bytes.
    case keys = 10

    /// The name of the type in errors and plans.
    public var name: String {
        switch self {
        case .bool: "bool"
        case .integer: "integer"
        case .unsigned: "unsigned"
        case .double: "double"
        case .text: "text"
        case .blob: "blob"
        case .date: "date"
        case .uuid: "uuid"
        case .reference: "reference"
        case .keys: "keys"
        }
    }

    /// The name with its article: "an integer".
    var withArticle: String { (self == .integer || self == .unsigned ? "an " : "a ") + name }

    /// The number of bytes of the column's slot in a row.
    @usableFromInline
    var slotWidth: Int {
        switch self {
        case .bool: 1
        case .uuid: 16
        default: 8
        }
    }

    /// Whether the slot holds an offset and a length, and the bytes follow the slots.
    @inlinable
    var isVariable: Bool { self == .text || self == .blob || self == .keys }

    /// Whether the column holds integers, signed or not.
    var isWhole: Bool { self == .integer || self == .unsigned || self == .reference }

    /// Returns the value as this column stores it, or `nil` if that would lose information.
    ///
    /// Integers become doubles if that is exact, `0` and `1` become booleans, and texts that are UUIDs or dates are
    /// converted.
    package func coerced(_ value: Value) -> Value? {
        if holds(value) { return value }
        switch (self, value) {
        case (.keys, .blob(let bytes)):
            return KeyTree(bytes) == nil ? nil : value
        case (.unsigned, .integer(let number)):
            return number >= 0 ? value : nil
        case (.integer, .double(let number)), (.reference, .double(let number)):
            return Int64(exactly: number).map(Value.integer)
        case (.unsigned, .double(let number)):
            return UInt64(exactly: number).map(Value.unsignedInteger)
        case (.double, .integer(let number)):
            return Double(exactly: number).map(Value.double)
        case (.double, .unsigned(let number)):
            return Double(exactly: number).map(Value.double)
        case (.bool, .integer(let number)):
            return number == 0 ? .bool(false) : (number == 1 ? .bool(true) : nil)
        case (.uuid, .text(let text)):
            return UUIDText.parse(text).map { .uuid($0.high, $0.low) }
        case (.date, .text(let text)):
            return DateText.parse(text).map(Value.date)
        default:
            return nil
        }
    }

    /// Returns whether a column of this type stores the value unchanged.
    @inline(__always)
    func holds(_ value: Value) -> Bool {
        switch (self, value) {
        case (.integer, .integer), (.text, .text), (.double, .double), (_, .null), (.bool, .bool), (.blob, .blob),
            (.date, .date), (.uuid, .uuid), (.reference, .integer), (.unsigned, .unsigned):
            true
        default: false
        }
    }
}
