/// A JSON value. Objects keep the order of their keys.
enum JSONValue: Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case double(Double)
    /// A number in its JSON syntax, for readers that need its digits.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([(key: String, value: JSONValue)])

    static func == (left: JSONValue, right: JSONValue) -> Bool { left.text == right.text }
}
