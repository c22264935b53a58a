/// One field of an input row, before its column's type is known.
enum InputField: Hashable {
    /// A missing value: an empty field without quotes, JSON's `null`, an absent key.
    case missing
    /// Text of a delimited file, whose type is inferred.
    case raw(String)
    /// Text declared as text by the format.
    case string(String)
    case bool(Bool)
    case integer(Int64)
    /// An integer above `Int64.max`.
    case unsigned(UInt64)
    case double(Double)
    /// A nested array or object, or a number that no type represents, as JSON text.
    case json(String)

    /// The field in an error message.
    var shown: String {
        switch self {
        case .missing: "nothing"
        case .raw(let text), .string(let text), .json(let text):
            "'\(text.count > 40 ? text.prefix(40) + "…" : text[...])'"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .double(let value): String(value)
        }
    }
}

/// One row of input, and the line on which it starts.
struct InputRow: Equatable {
    var line: Int
    /// The fields in the order of the reader's `columns`. A row may be shorter while a reader still discovers columns:
    /// the rest is missing.
    var fields: [InputField]

    subscript(column: Int) -> InputField {
        column < fields.count ? fields[column] : .missing
    }
}

/// A reader of rows.
protocol InputReader {
    /// The columns found so far; with a header, all columns.
    var columns: [String] { get }
    /// The number of bytes read, for a progress display.
    var consumed: Int { get }
    /// Reads the next row; `nil` at the end.
    mutating func next() throws(InputError) -> InputRow?
}
