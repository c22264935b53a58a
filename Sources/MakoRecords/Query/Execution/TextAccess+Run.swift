import MakoStorage

extension TextAccess {
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
