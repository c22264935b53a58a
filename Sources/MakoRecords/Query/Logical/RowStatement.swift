/// A sub-query that joins, groups or puts together and reads the row around: a statement with parameters in the place of what it reads, which
/// is resolved and planned with the values of each row.
struct RowStatement: Sendable {
    let statement: SelectStatement
    /// The names of the parameters that have the values of the row around, in the order of these.
    let names: [String]
    let catalogue: Catalogue
    let parameters: [Value]
    /// Parameters by name, those of the row around left out.
    let named: [String: Value]
    /// As it is written.
    let text: String

    private static let mark = "\u{0}outer "

    /// What the parameter is called that has a value of the row around, with the kind of the value; no text can name it.
    static func name(_ place: Int, _ kind: ValueKind) -> String { "\(mark)\(place) \(kind.rawValue)" }

    /// The kind of such a parameter, which NULL does not show; nil for any other parameter.
    static func kind(_ parameter: Parameter) -> ValueKind? {
        guard case .name(let name) = parameter, name.hasPrefix(mark), let end = name.lastIndex(of: " ") else {
            return nil
        }
        return ValueKind(rawValue: String(name[name.index(after: end)...]))
    }
}
