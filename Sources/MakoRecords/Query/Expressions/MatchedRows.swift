import MakoStorage

/// The rows that a MATCH finds, for membership tests.
struct MatchedRows {
    private let match: BoundMatch
    private let view: Snapshot
    private let rows: [UInt64]
    /// The rank of each row; empty if the query has no rank.
    private let scores: [Double]

    init(_ match: BoundMatch, isRanked: Bool, _ view: Snapshot) throws(RecordError) {
        self.match = match
        self.view = view
        var run = MatchRun(match, view)
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

    /// Returns the rank of a row; `nil` if it does not match.
    func score(_ key: RowKey) throws(RecordError) -> Double? {
        guard let place = try place(of: key) else { return nil }
        return scores.isEmpty ? 0 : scores[place]
    }
}
