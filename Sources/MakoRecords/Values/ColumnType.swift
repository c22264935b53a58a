/// What a column holds. The raw values are part of the file format.
public enum ColumnType: UInt8, Sendable, Hashable, CaseIterable {
    case bool = 1
    case integer = 2
    case unsigned = 3
    case double = 4
    case text = 5
    case blob = 6
    case date = 7
    case uuid = 8
    /// The 64-bit row id of a row in the column's target table.
    case reference = 9
    /// Keys of rows in the column's target table, as a ``KeyTree``; as a dynamic value its bytes.
    case keys = 10

    /// The name of the type as messages and plans say it.
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

    /// Bytes of the column's slot in a row.
    @usableFromInline
    var slotWidth: Int {
        switch self {
        case .bool: 1
        case .uuid: 16
        default: 8
        }
    }

    /// Whether the slot holds an offset and a length, the bytes themselves standing behind the slots.
    @inlinable
    var isVariable: Bool { self == .text || self == .blob || self == .keys }

    /// Whether the column holds whole numbers, signed or not.
    var isWhole: Bool { self == .integer || self == .unsigned || self == .reference }

    /// The value as this column would store it, or `nil` when it cannot hold it without loss.
    ///
    /// Whole numbers become doubles where that is exact, `0` and `1` become booleans, text that reads as a UUID or as a date
    /// becomes one.
    public func coerced(_ value: Value) -> Value? {
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

    /// Whether a column of the type holds the value as it is.
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
