import MakoStorage

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

/// The rows of a match, for finding them by it.
struct TextAccess: Sendable {
    let match: BoundMatch
    /// Whether the best come first.
    let isRanked: Bool

    /// The numbers of the rows in their order.
    ///
    /// - Parameter wanted: so many of the best are enough; nil: all.
    func numbers(_ view: Snapshot, wanted: Int?) throws(RecordError) -> [UInt64] {
        var run = MatchRun(match.query, match.index, view)
        guard isRanked else { return try run.rows() }
        let (rows, scores) = try run.ranked()
        return TextRank.best(rows, scores, wanted)
    }
}

/// The rows of a match, for asking whether a row is among them.
struct MatchedRows {
    private let match: BoundMatch
    private let view: Snapshot
    private let rows: [UInt64]
    /// How good each of them is; empty where nobody asks.
    private let scores: [Double]

    init(_ match: BoundMatch, isRanked: Bool, _ view: Snapshot) throws(RecordError) {
        self.match = match
        self.view = view
        var run = MatchRun(match.query, match.index, view)
        if isRanked { (rows, scores) = try run.ranked() } else { (rows, scores) = (try run.rows(), []) }
    }

    private func place(of key: RowKey) throws(RecordError) -> Int? {
        guard let number = try match.index.number(of: key, in: view) else { return nil }
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            if rows[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low < rows.count && rows[low] == number ? low : nil
    }

    func contains(_ key: RowKey) throws(RecordError) -> Bool { try place(of: key) != nil }

    /// How well the row fits; nil: it does not.
    func score(_ key: RowKey) throws(RecordError) -> Double? {
        guard let place = try place(of: key) else { return nil }
        return scores.isEmpty ? 0 : scores[place]
    }
}
