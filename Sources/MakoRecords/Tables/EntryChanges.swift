import MakoStorage

/// Buffered changes of the entries of an index that is not unique, to be made in the order of the entries.
///
/// The value of a buffered entry is a byte 0 for a removal, or a byte 1 and the value of the new entry. Changes of one
/// entry stay in their order.
final class EntryChanges {
    let index: IndexHandle
    private let entries = SortedEntries()

    init(_ index: IndexHandle) { self.index = index }

    var isEmpty: Bool { entries.isEmpty }

    /// Buffers the replacement of the old row's entry by that of the new row.
    ///
    /// - Returns: the memory that it takes, including that of the sort.
    func replace(_ key: RowKey, _ old: RowReader, _ new: RowReader) throws(RecordError) -> Int {
        let before = entries.bytes
        let (wasHeld, isHeld) = try (index.holds(old, key), index.holds(new, key))
        let start = entries.content.count
        if wasHeld {
            _ = index.appendEntry(old, key, to: &entries.content)
            finish(start, 0, nil)
        }
        guard isHeld else { return entries.bytes - before }
        let middle = entries.content.count
        _ = index.appendEntry(new, key, to: &entries.content)
        // The old entry is followed by its mark.
        let isSame =
            wasHeld
            && KeyOrder.compareRaw(
                entries.content.raw(from: start, to: middle - 1),
                entries.content.raw(from: middle, to: entries.content.count)) == 0
        if isSame {
            entries.removeLast()
            entries.content.truncate(to: start)
        } else {
            finish(middle, 1, key)
        }
        return entries.bytes - before
    }

    /// Makes an entry of the key at the end of the content. An entry has at most some 1,000 bytes, so that it fits.
    private func finish(_ start: Int, _ mark: UInt8, _ key: RowKey?) {
        let middle = entries.content.count
        entries.content.append(byte: mark)
        if let key { index.appendValue(key, to: &entries.content) }
        _ = entries.note(from: start, middle: middle)
    }

    /// Makes the changes.
    func flush(_ tx: borrowing WriteTransaction) throws(RecordError) {
        do throws(StorageError) {
            try entries.forEachSorted { (entry, value) throws(StorageError) in
                if value.first == 0 {
                    _ = try tx.delete(entry, in: index.tree)
                } else {
                    try tx.put(UnsafeRawBufferPointer(rebasing: value.dropFirst()), for: entry, in: index.tree)
                }
            }
        } catch { throw .storage(error) }
    }

    func removeAll() { entries.removeAll() }
}
