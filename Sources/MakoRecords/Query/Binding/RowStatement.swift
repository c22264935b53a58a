/// A sub-query that joins, groups or puts together and reads the row around: a statement with parameters in the place of what it reads, which
/// is resolved and planned with the values of each row.
struct RowStatement: Sendable {
    let statement: SelectStatement
    let catalogue: Catalogue
    let parameters: [Value]
    /// Also a value for each parameter that stands for a value of the row around.
    let named: [String: Value]
    /// As it is written.
    let text: String

    /// What the parameter is called that stands for a value of the row around; no text can name it.
    static func name(_ place: Int) -> String { "\u{0}outer \(place)" }
}
