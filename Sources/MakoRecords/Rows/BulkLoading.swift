/// The threshold for filling a tree by a bulk load instead of entry by entry.
enum BulkLoading {
    /// The fewest entries; a transaction with a bulk load ends with a checkpoint.
    static let fewestEntries = 10_000
}
