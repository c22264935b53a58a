/// When a tree is filled by a bulk load instead of entry by entry.
enum BulkLoading {
    /// From so many entries on: a transaction that loads ends with a checkpoint.
    static let fewestEntries = 10_000
}
