import MakoRecords

/// Whether a database records the history of its changes, for ``Database/changes(since:)``.
public enum HistoryOption: Sendable, Hashable {
    /// As the file was last configured. A new file keeps no history.
    case asInFile
    /// No history: opening removes the existing one. After it is enabled again, readers with an older token get
    /// `.missed`.
    case none
    /// A history within limits; nil: without limit. Commits trim it from time to time, so that it may exceed the limits
    /// a little. The newest commit is always kept.
    ///
    /// - Parameters:
    ///   - maximumTransactions: the number of commits.
    ///   - maximumAge: the age of a commit, by the system clock.
    ///   - maximumBytes: the size of the records.
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
