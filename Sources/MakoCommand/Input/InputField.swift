/// One field of an input row, before its column has a type.
enum InputField: Hashable {
    /// Nothing was given: an empty field without quotes, JSON's `null`, a key that this object lacks.
    case missing
    /// Text of a delimited file, whose type is to be found out.
    case raw(String)
    /// Text that the format itself declares to be text.
    case string(String)
    case bool(Bool)
    case integer(Int64)
    /// An integer above `Int64.max`.
    case unsigned(UInt64)
    case double(Double)
    /// A nested array or object, as JSON text.
    case json(String)

    /// The field as it would be shown in an error message.
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

/// One row of input and the line on which it begins.
struct InputRow: Equatable {
    var line: Int
    /// In the order of the reader's `columns`. A reader that learns of columns on the way gives short rows
    /// at first: what a row does not reach is missing.
    var fields: [InputField]

    subscript(column: Int) -> InputField {
        column < fields.count ? fields[column] : .missing
    }
}

/// A reader that gives rows one after the other.
protocol InputReader {
    /// The columns met so far; a header gives all of them at once.
    var columns: [String] { get }
    /// Bytes read so far, for a progress display.
    var consumed: Int { get }
    /// The next row; `nil` at the end.
    mutating func next() throws(InputError) -> InputRow?
}
