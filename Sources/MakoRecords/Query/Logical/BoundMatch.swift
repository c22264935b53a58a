import MakoStorage

/// A bound `MATCH`: a full-text index, and the query.
package struct BoundMatch: Sendable {
    let table: TableHandle
    let index: FullTextIndex
    let query: MatchQuery
    let text: String
    /// The text of its left side.
    let path: String
    /// The key column of the row, where a path leads to it; `nil` for the query's own row.
    var key: BoundColumn?
    /// The column, if the match is of one column only: for NULL in it the result is NULL.
    var column: BoundColumn?

    /// Whether it matches the query's own rows.
    var isOwn: Bool { key == nil }
}

extension BoundMatch: Hashable {
    package static func == (left: BoundMatch, right: BoundMatch) -> Bool {
        left.table.id == right.table.id && left.index.id == right.index.id && left.key == right.key
            && left.query == right.query && left.column == right.column
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(index.id)
        hasher.combine(text)
    }
}

extension BoundMatch: CustomStringConvertible {
    package var description: String { "\(path) MATCH \(Value.text(text))" }
}

extension MatchRun {
    init(_ match: BoundMatch, _ view: Snapshot) {
        self.init(match.query, match.index, view) { try match.table.withRow($0, in: view, $1) }
    }
}
