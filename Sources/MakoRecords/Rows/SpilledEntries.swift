import MakoStorage

/// Entries of a tree in the order of their keys, more of them than memory holds: what fills the memory is sorted and waits in a file.
final class SpilledEntries {
    private static let fewBytes = 64 << 10

    private let entries: SortedEntries
    private let memory: Int
    private var counted = 0
    private var spilled = 0
    private var runs: SortedRuns?

    /// - Parameters:
    ///   - entries: what entries are added to.
    ///   - memory: how many bytes they may take.
    init(_ entries: SortedEntries = SortedEntries(), memory: Int) {
        self.entries = entries
        self.memory = memory
    }

    var count: Int { spilled + entries.count }

    func add(_ key: [UInt8], _ value: [UInt8], _ tx: borrowing WriteTransaction) throws(RecordError) {
        let start = entries.content.count
        key.withUnsafeBytes { entries.content.append(raw: $0) }
        let middle = entries.content.count
        value.withUnsafeBytes { entries.content.append(raw: $0) }
        _ = entries.note(from: start, middle: middle)
        try spillIfNeeded(tx)
    }

    /// To be called after each entry that was added.
    @inline(__always)
    func spillIfNeeded(_ tx: borrowing WriteTransaction) throws(RecordError) {
        let size = entries.content.count &+ entries.count &* SortedEntries.noteBytes
        if size > counted { try grow(size, tx) }
    }

    @inline(never)
    private func grow(_ size: Int, _ tx: borrowing WriteTransaction) throws(RecordError) {
        if size < memory {
            // Some thousand entries: there may be many more.
            if counted == SpilledEntries.fewBytes { entries.reserve(memory) }
            counted = min(memory - 1, max(2 * size, SpilledEntries.fewBytes))
            return tx.countSide(bytes: counted)
        }
        spilled += entries.count
        try engine { () throws(StorageError) in
            if runs == nil { runs = SortedRuns(try tx.makeSpillFile(), memory: memory) }
            try runs?.add(entries)
        }
    }

    /// Lends all entries in the order of their keys, equal ones in the order in which they were added.
    func forEach(
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(RecordError) -> Void
    ) throws(RecordError) {
        guard let runs else { return try entries.forEachSorted(body) }
        try engine { () throws(StorageError) in try runs.add(entries) }
        entries.discard()
        var merge = try engine { () throws(StorageError) in try runs.merge() }
        while true {
            let isThere: Bool
            do throws(StorageError) { isThere = try merge.next() } catch { throw .storage(error) }
            guard isThere else { return }
            try body(merge.key, merge.value)
        }
    }
}
