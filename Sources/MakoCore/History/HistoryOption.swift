import MakoRecords

/// Whether a database keeps the history of its changes, for ``Database/changes(since:)``.
public enum HistoryOption: Sendable, Hashable {
    /// As the file says: with the limits it was given last, or not at all. A new file keeps none.
    case asInFile
    /// Not any more: the opening removes what there is. Switched on again, it tells everybody with an older token that changes were missed.
    case none
    /// Kept, within limits; nil: without. Somewhat more may be there: the commits that come see to it, now and then. The newest commit is always kept.
    ///
    /// - Parameters:
    ///   - maximumTransactions: how many commits are kept.
    ///   - maximumAge: how long a commit is kept, by the clock of the computer.
    ///   - maximumBytes: how much their records may take.
    case kept(maximumTransactions: Int? = nil, maximumAge: Duration? = nil, maximumBytes: Int? = nil)

    var limits: HistoryLimits? {
        guard case .kept(let transactions, let age, let bytes) = self else { return nil }
        return HistoryLimits(
            transactions: transactions.map { UInt64(clamping: $0) },
            milliseconds: age.map { age in
                let (seconds, attoseconds) = age.components
                let (thousands, isBeyond) = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1000)
                if isBeyond || thousands > .max - 2000 { return .max - 1 }
                return thousands + UInt64(clamping: attoseconds / 1_000_000_000_000_000)
            },
            bytes: bytes.map { UInt64(clamping: $0) })
    }
}
