/// Buffered entries of one index, to be inserted in order.
final class EntryList {
    let table: TableHandle
    let index: IndexHandle
    let entries = SortedEntries()
    @exclusivity(unchecked) private var hasAdded = false
    private let takesCut: Bool
    /// Whether the last entry is truncated and without NULL, so that uniqueness depends on a comparison of rows.
    @exclusivity(unchecked) private(set) var isCut = false

    /// - Parameter takesCut: whether truncated entries of a unique index may be buffered.
    init(_ table: TableHandle, _ index: IndexHandle, takesCut: Bool = false) {
        self.table = table
        self.index = index
        self.takesCut = takesCut
    }

    /// Adds the entry of a row.
    ///
    /// - Returns: the memory that the entry takes, including that of the sort; 0 if the index does not hold the row.
    ///   `nil`, with nothing added, if uniqueness depends on other rows, or if the entry is too long for the buffer.
    func add(_ row: RowReader, _ key: RowKey) throws(RecordError) -> Int? {
        hasAdded = false
        if index.condition != nil, !(try index.holds(row, key)) { return 0 }
        let start = entries.content.count
        let form = index.appendEntry(row, key, to: &entries.content)
        let middle = entries.content.count
        isCut = form.isCut && !form.hasNull
        if index.isUnique && isCut && !takesCut {
            entries.content.truncate(to: start)
            return nil
        }
        index.appendValue(key, to: &entries.content)
        guard entries.note(from: start, middle: middle) else { return nil }
        hasAdded = true
        return entries.content.count - start + SortedEntries.noteBytes
    }

    /// Removes the entry that the last call has added, if any.
    func removeLast() {
        guard hasAdded else { return }
        hasAdded = false
        entries.removeLast()
    }
}
