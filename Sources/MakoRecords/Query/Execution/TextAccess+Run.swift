import MakoStorage

extension TextAccess {
    /// Returns the row numbers in order.
    ///
    /// - Parameter wanted: the number of best rows needed; `nil` for all.
    func numbers(_ view: Snapshot, wanted: Int?) throws(RecordError) -> [UInt64] {
        var run = MatchRun(match, view)
        guard isRanked else { return try run.rows() }
        let (rows, scores) = try run.ranked()
        return TextRank.best(rows, scores, wanted)
    }
}
