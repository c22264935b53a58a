/// Entries of one index that wait to be entered in their order.
final class EntryList {
    let table: TableHandle
    let index: IndexHandle
    let entries = SortedEntries()
    @exclusivity(unchecked) private var hasAdded = false
    private let takesCut: Bool
    /// Whether the last entry was cut, and holds no NULL: whether a unique index may have it depends on other rows.
    @exclusivity(unchecked) private(set) var isCut = false

    /// - Parameter takesCut: whether it takes entries of a unique index that were cut.
    init(_ table: TableHandle, _ index: IndexHandle, takesCut: Bool = false) {
        self.table = table
        self.index = index
        self.takesCut = takesCut
    }

    /// Adds the entry of a row and answers how many bytes of memory it takes, those for sorting it included. Nil, and nothing
    /// is added, when whether the row may have the entry cannot be told from it alone, or when it is too long to be noted. 0, and nothing is
    /// added either, when the index does not hold the row.
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

    /// Takes the entry back that the last call has added, if it has.
    func removeLast() {
        guard hasAdded else { return }
        hasAdded = false
        entries.removeLast()
    }
}
