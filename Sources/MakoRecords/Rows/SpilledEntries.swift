import MakoStorage

/// An external sort of entries by key: entries beyond the memory are sorted and spilled to a file.
///
/// With a limit, entries that cannot be among the first ones are dropped early.
final class SpilledEntries {
    private static let fewBytes = 64 << 10
    /// The size from which all memory is allocated at once; the system provides pages on use.
    private static let manyBytes = 1 << 20
    /// The smallest number of entries that are sorted to drop some.
    private static let fewestDropped = 256

    private let entries: SortedEntries
    private let memory: Int
    private let wanted: Int
    /// The number of entries at which some are dropped.
    private let fullCount: Int
    @exclusivity(unchecked) private var counted = 0
    @exclusivity(unchecked) private var spilled = 0
    private var runs: SortedRuns?
    /// Entries that do not sort before this key are not wanted.
    @exclusivity(unchecked) private var cutoff = KeyBuffer()
    @exclusivity(unchecked) private var hasCutoff = false
    @exclusivity(unchecked) private var mostBytes = 0
    /// Cancels reading.
    var cancellation: Cancellation?

    /// - Parameters:
    ///   - entries: the buffer that entries are added to.
    ///   - memory: the number of bytes that they may take.
    ///   - wanted: the number of first entries wanted; `nil` for all.
    init(_ entries: SortedEntries = SortedEntries(), memory: Int, wanted: Int? = nil) {
        self.entries = entries
        self.memory = memory
        self.wanted = wanted ?? .max
        fullCount = self.wanted > .max / 2 ? .max : max(2 * self.wanted, SpilledEntries.fewestDropped)
    }

    var count: Int { spilled + entries.count }
    /// The peak number of bytes held.
    var peakBytes: Int { max(mostBytes, entries.bytes) }
    /// Whether some entries are in a file.
    var isSpilled: Bool { runs != nil }

    /// The buffer that an entry is appended to: its key, then its value.
    @inline(__always)
    var content: KeyBuffer {
        _read { yield entries.content }
        _modify { yield &entries.content }
    }

    func add(
        _ key: [UInt8], _ value: [UInt8], _ space: borrowing some SpillSpace & ~Copyable
    ) throws(RecordError) {
        let start = content.count
        key.withUnsafeBytes { content.append(raw: $0) }
        let middle = content.count
        value.withUnsafeBytes { content.append(raw: $0) }
        try end(start, middle, space)
    }

    func add(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
        _ space: borrowing some SpillSpace & ~Copyable
    ) throws(RecordError) {
        let start = content.count
        content.append(raw: key)
        guard isWanted(from: start) else { return }
        let middle = content.count
        content.append(raw: value)
        try end(start, middle, space)
    }

    /// Returns whether the key appended after `start` may be among the first ones; otherwise removes it.
    @inline(__always)
    func isWanted(from start: Int) -> Bool {
        if !hasCutoff || KeyOrder.compareRaw(content.raw(from: start, to: content.count), cutoff.raw) < 0 {
            return true
        }
        content.truncate(to: start)
        return false
    }

    /// Makes an entry of what was appended.
    ///
    /// - Parameter space: provides the file for spilled entries.
    @inline(__always)
    func end(_ start: Int, _ middle: Int, _ space: borrowing some SpillSpace & ~Copyable) throws(RecordError) {
        guard entries.note(from: start, middle: middle, takesLong: true) else { throw SpilledEntries.tooLong }
        if entries.count >= fullCount { dropUnwanted() }
        try spillIfNeeded(space)
    }

    private static let tooLong = RecordError.storage(
        .invalidArgument("a row of a query is too long to be sorted: it has more than 4 GiB"))

    @inline(never)
    private func dropUnwanted() {
        entries.keepFirst(wanted, last: &cutoff)
        hasCutoff = true
    }

    /// Spills entries if they fill the memory. Must be called after each entry.
    @inline(__always)
    func spillIfNeeded(_ space: borrowing some SpillSpace & ~Copyable) throws(RecordError) {
        let size = entries.bytes
        if size > counted { try grow(size, space) }
    }

    @inline(never)
    private func grow(_ size: Int, _ space: borrowing some SpillSpace & ~Copyable) throws(RecordError) {
        mostBytes = max(mostBytes, size)
        if size < memory {
            // Many more may follow.
            if counted >= min(SpilledEntries.manyBytes, memory / 4), wanted == .max { entries.reserve(memory) }
            counted = min(memory - 1, max(2 * size, SpilledEntries.fewBytes))
            return space.countSide(bytes: counted)
        }
        if wanted < entries.count { dropUnwanted() }
        if entries.bytes < memory / 2 { return }
        spilled += entries.count
        try engine { () throws(StorageError) in
            try fileRuns(space).add(entries)
        }
    }

    private func fileRuns(_ space: borrowing some SpillSpace & ~Copyable) throws(StorageError) -> SortedRuns {
        if let runs { return runs }
        let made = SortedRuns(try space.makeSpillFile(), memory: memory)
        runs = made
        return made
    }

    /// Calls a closure with all entries in the order of their keys; equal keys keep their order.
    func forEach(
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(RecordError) -> Void
    ) throws(RecordError) {
        try forEachUntil { (key, value) throws(RecordError) -> Bool in
            try body(key, value)
            return true
        }
    }

    /// The same, until the closure returns `false`.
    func forEachUntil(
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(RecordError) -> Bool
    ) throws(RecordError) {
        mostBytes = max(mostBytes, entries.bytes)
        guard let runs else { return try entries.forEachSortedUntil(body) }
        try spillTheRest(runs)
        var merge = try engine { () throws(StorageError) in try runs.merge() }
        var count = 0
        while true {
            let isThere: Bool
            do throws(StorageError) { isThere = try merge.next() } catch { throw .storage(error) }
            guard isThere else { return }
            count &+= 1
            if count & 1023 == 0, cancellation?.isCancelled == true { throw .cancelled }
            guard try body(merge.key, merge.value) else { return }
        }
    }

    /// Returns all entries as a sorted table in the file.
    ///
    /// - Parameter space: provides the file, if there is none yet.
    func table(_ space: borrowing some SpillSpace & ~Copyable) throws(RecordError) -> SortedTable {
        try engine { () throws(StorageError) in
            let runs = try fileRuns(space)
            try runs.add(entries)
            entries.discard()
            return try SortedTable(runs, memory: memory)
        }
    }

    private func spillTheRest(_ runs: SortedRuns) throws(RecordError) {
        try engine { () throws(StorageError) in try runs.add(entries) }
        entries.discard()
    }
}

extension SortedRuns {
    /// Writes entries as a run, and removes them from the buffer.
    func add(_ entries: SortedEntries) throws(StorageError) {
        var run = begin()
        try entries.forEachSorted { (key, value) throws(StorageError) in try run.append(key, value) }
        try end(&run)
        entries.removeAll()
    }
}
