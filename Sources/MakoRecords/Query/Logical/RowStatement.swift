/// A correlated sub-query with joins, groups or compounds: a statement with parameters in place of the outer columns,
/// bound and planned with the values of each outer row.
package struct RowStatement: Sendable {
    let statement: SelectStatement
    /// The names of the correlated parameters, in the order of their values.
    let names: [String]
    let catalogue: Catalogue
    let parameters: [Value]
    /// The other parameters by name.
    let named: [String: Value]
    /// The source text.
    let text: String

    private static let mark = "\u{0}outer "

    /// Returns the name of a correlated parameter, with the kind of its value; no text can contain it.
    static func name(_ place: Int, _ kind: ValueKind) -> String { "\(mark)\(place) \(kind.rawValue)" }

    /// Returns the kind of a correlated parameter, because a NULL value has none; `nil` for other parameters.
    static func kind(_ parameter: Parameter) -> ValueKind? {
        guard case .name(let name) = parameter, name.hasPrefix(mark), let end = name.lastIndex(of: " ") else {
            return nil
        }
        return ValueKind(rawValue: String(name[name.index(after: end)...]))
    }
}
