/// A `MATCH` that is resolved: the index it asks, and what is sought there.
struct BoundMatch: Sendable {
    let table: TableHandle
    let index: FullTextIndex
    let query: MatchQuery
    let text: String
    /// What stands on its left side.
    let path: String
    /// The row's key, where a path leads to the row; nil: it is the row itself.
    var key: BoundColumn?
    /// The column, where only one is asked for: of NULL it is unknown whether it matches.
    var column: BoundColumn?

    /// Whether it is about the rows of the table themselves.
    var isOwn: Bool { key == nil }
}

extension BoundMatch: Hashable {
    static func == (left: BoundMatch, right: BoundMatch) -> Bool {
        left.table.id == right.table.id && left.index.id == right.index.id && left.key == right.key
            && left.query == right.query && left.column == right.column
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(index.id)
        hasher.combine(text)
    }
}

extension BoundMatch: CustomStringConvertible {
    var description: String { "\(path) MATCH \(Value.text(text))" }
}
