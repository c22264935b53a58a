import MakoStorage

/// Sorts keys and values by key, in memory.
///
/// The bytes are contiguous; the sort moves 16-byte records that refer to them.
final class SortedEntries {
    /// The position of an entry, and the head of its key.
    fileprivate struct Note {
        /// Eight bytes of the key after the prefix that all keys share.
        var head: UInt64
        /// The offset of the entry; for a long one that of its lengths, which follow it.
        var offset: UInt32
        /// ``Note/long`` if the lengths are stored after the entry.
        var keyBytes: UInt16
        var valueBytes: UInt16

        static let long = UInt16.max
    }

    /// Keys, each followed by its value. ``note(from:middle:)`` turns appended bytes into an entry.
    @exclusivity(unchecked) var content = KeyBuffer()
    @exclusivity(unchecked) private var notes = NoteBuffer()
    @exclusivity(unchecked) private var staged = KeyBuffer()

    /// The memory of an entry beside its key and value, including that of the sort.
    static let noteBytes = 2 * MemoryLayout<Note>.stride

    var isEmpty: Bool { notes.isEmpty }
    var count: Int { notes.count }

    /// Makes an entry of what was appended to the content after `start`. Returns `false` if it is too long, and removes
    /// it.
    ///
    /// - Parameter takesLong: whether a key or value may exceed 64 KiB.
    func note(from start: Int, middle: Int, takesLong: Bool = false) -> Bool {
        if let offset = UInt32(exactly: start), let keyBytes = UInt16(exactly: middle - start), keyBytes != Note.long,
            let valueBytes = UInt16(exactly: content.count - middle)
        {
            notes.append(Note(head: 0, offset: offset, keyBytes: keyBytes, valueBytes: valueBytes))
            return true
        }
        guard takesLong, let offset = UInt32(exactly: content.count) else {
            content.truncate(to: start)
            return false
        }
        let valueBytes = content.count - middle
        content.append(bigEndian: UInt64(middle - start) << 32 | UInt64(valueBytes))
        notes.append(Note(head: 0, offset: offset, keyBytes: Note.long, valueBytes: 0))
        return true
    }

    /// Removes the last entry.
    func removeLast() {
        if let last = notes.popLast() { content.truncate(to: extent(last).start) }
    }

    /// Returns the start of the key, that of the value, and the end of an entry.
    @inline(__always)
    private func extent(_ note: Note) -> (start: Int, middle: Int, end: Int) {
        let offset = Int(note.offset)
        if note.keyBytes == Note.long { return longExtent(offset) }
        let middle = offset &+ Int(note.keyBytes)
        return (offset, middle, middle &+ Int(note.valueBytes))
    }

    @inline(never)
    private func longExtent(_ offset: Int) -> (start: Int, middle: Int, end: Int) {
        let lengths = content.head(from: offset, to: offset + 8)
        let middle = offset - Int(lengths & 0xffff_ffff)
        return (middle - Int(lengths >> 32), middle, offset)
    }

    /// Allocates the memory for entries of this many bytes, including that of the sort.
    func reserve(_ bytes: Int) {
        content.reserve(bytes)
        notes.reserve(bytes / SortedEntries.noteBytes)
    }

    func removeAll() {
        notes.clear()
        content.clear()
    }

    /// Removes all entries, and frees their memory.
    func discard() {
        notes = NoteBuffer()
        content = KeyBuffer()
        staged = KeyBuffer()
    }

    /// Calls a closure with keys and values in the order of the keys; equal keys keep their order.
    func forEachSorted<E: Error>(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(E) -> Void) throws(E) {
        try forEachSortedUntil { (key, value) throws(E) -> Bool in
            try body(key, value)
            return true
        }
    }

    /// The same, until the closure returns `false`.
    func forEachSortedUntil<E: Error>(
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(E) -> Bool
    ) throws(E) {
        sort()
        var start = 0
        while start < notes.count {
            let end = min(start + SortedEntries.stagedEntries, notes.count)
            // Sorted entries are scattered in memory: copying a batch overlaps the cache misses.
            staged.clear()
            for place in start..<end {
                let entry = extent(notes[place])
                staged.append(raw: content.raw(from: entry.start, to: entry.end))
            }
            var first = 0
            for place in start..<end {
                let entry = extent(notes[place])
                let middle = first + (entry.middle - entry.start)
                let last = first + (entry.end - entry.start)
                guard try body(staged.raw(from: first, to: middle), staged.raw(from: middle, to: last)) else { return }
                first = last
            }
            start = end
        }
    }

    /// Removes all but the first entries in the order of the keys.
    ///
    /// - Parameter last: receives the key of the last remaining entry.
    func keepFirst(_ count: Int, last: inout KeyBuffer) {
        sort()
        notes.truncate(to: count)
        let all = notes.all
        var kept = KeyBuffer()
        for place in 0..<all.count {
            let entry = extent(all[place])
            let isLong = all[place].keyBytes == Note.long
            let start = kept.count
            kept.append(raw: content.raw(from: entry.start, to: isLong ? entry.end + 8 : entry.end))
            all[place].offset = UInt32(truncatingIfNeeded: isLong ? kept.count - 8 : start)
        }
        content = kept
        last.clear()
        if let note = all.last { last.append(raw: key(note)) }
    }

    /// The number of bytes held, including the memory for the sort.
    @inline(__always)
    var bytes: Int { content.count &+ notes.count &* SortedEntries.noteBytes }

    private static var stagedEntries: Int { 64 }

    // MARK: Sorting

    private func key(_ note: Note) -> UnsafeRawBufferPointer {
        let entry = extent(note)
        return content.raw(from: entry.start, to: entry.middle)
    }

    /// Radix sort by the bytes in which heads differ; then entries with equal heads by their whole keys.
    private func sort() {
        guard notes.count > 1 else { return }
        noteHeads()
        guard notes.count >= SortedEntries.fewest else {
            var all = notes.all
            return all.sort { precedes($0, $1) }
        }
        let sorted = sortByHeads()
        let all = notes.all
        var start = 0
        while start < all.count {
            let head = all[start].head & sorted
            var end = start + 1
            while end < all.count && all[end].head & sorted == head { end += 1 }
            if end - start > 1 { sort(UnsafeMutableBufferPointer(rebasing: all[start..<end])) }
            start = end
        }
    }

    /// The number of entries below which a comparison sort is used.
    private static var fewest: Int { 256 }

    /// Sorts entries with equal heads, mostly very few.
    private func sort(_ alike: UnsafeMutableBufferPointer<Note>) {
        var alike = alike
        if alike.count > 16 { return alike.sort { precedes($0, $1) } }
        for end in 1..<alike.count {
            let note = alike[end]
            var place = end
            while place > 0 && precedes(note, alike[place - 1]) {
                alike[place] = alike[place - 1]
                place -= 1
            }
            alike[place] = note
        }
    }

    private func precedes(_ a: Note, _ b: Note) -> Bool {
        if a.head != b.head { return a.head < b.head }
        let order = KeyOrder.compareRaw(key(a), key(b))
        return order == 0 ? a.offset < b.offset : order < 0
    }

    /// Similar keys differ late: the heads start after the prefix that all keys share.
    private func noteHeads() {
        let all = notes.all
        let first = key(all[0])
        var common = first.count
        for note in all { common = SortedEntries.commonBytes(first, key(note), limit: common) }
        for place in 0..<all.count {
            let entry = extent(all[place])
            all[place].head = content.head(from: entry.start + common, to: entry.middle)
        }
    }

    private static func commonBytes(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, limit: Int) -> Int {
        let limit = min(limit, b.count)
        var count = 0
        while count < limit && a[count] == b[count] { count += 1 }
        return count
    }

    /// Radix sort, least significant byte first, over the bytes needed to distinguish this many entries with evenly
    /// distributed keys.
    ///
    /// - Returns: a mask of the bytes of the heads that are sorted.
    private func sortByHeads() -> UInt64 {
        var different: UInt64 = 0
        for note in notes.all { different |= note.head ^ notes[0].head }
        var shifts: [UInt64] = []
        let wanted = notes.count >> 16 == 0 ? 3 : 4
        for shift in stride(from: UInt64(56), through: 0, by: -8) where different >> shift & 0xff != 0 {
            shifts.append(shift)
            if shifts.count == wanted { break }
        }
        var other = NoteBuffer(count: notes.count)
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { places in
            for shift in shifts.reversed() {
                SortedEntries.distribute(UnsafeBufferPointer(notes.all), other.all, by: shift, places)
                swap(&notes, &other)
            }
        }
        // Bytes above the last sorted one that are not in the list are equal in all heads.
        return shifts.last.map { UInt64.max << $0 } ?? .max
    }

    private static func distribute(
        _ from: UnsafeBufferPointer<Note>, _ to: UnsafeMutableBufferPointer<Note>, by shift: UInt64,
        _ places: UnsafeMutableBufferPointer<Int>
    ) {
        places.initialize(repeating: 0)
        for note in from { places[Int(note.head &>> shift & 0xff)] &+= 1 }
        var sum = 0
        for byte in 0..<256 {
            let those = places[byte]
            places[byte] = sum
            sum += those
        }
        for note in from {
            let byte = Int(note.head &>> shift & 0xff)
            to[places[byte]] = note
            places[byte] &+= 1
        }
    }
}

/// An array of notes without bounds checks.
private struct NoteBuffer: ~Copyable {
    private var memory: BufferMemory?
    private(set) var count = 0

    init() {}

    /// Makes a buffer of uninitialized notes.
    init(count: Int) {
        reserve(count)
        self.count = count
    }

    deinit { memory?.deallocate() }

    var isEmpty: Bool { count == 0 }

    private var start: UnsafeMutablePointer<SortedEntries.Note>? {
        memory?.start.assumingMemoryBound(to: SortedEntries.Note.self)
    }

    var all: UnsafeMutableBufferPointer<SortedEntries.Note> { UnsafeMutableBufferPointer(start: start, count: count) }

    subscript(place: Int) -> SortedEntries.Note { all[place] }

    private var capacity: Int { (memory?.count ?? 0) / MemoryLayout<SortedEntries.Note>.stride }

    mutating func reserve(_ wanted: Int) {
        guard wanted > capacity else { return }
        let larger = BufferMemory(wanted * MemoryLayout<SortedEntries.Note>.stride)
        let target = larger.start.bindMemory(to: SortedEntries.Note.self, capacity: wanted)
        if let start { target.update(from: start, count: count) }
        memory?.deallocate()
        memory = larger
    }

    @inline(__always)
    mutating func append(_ note: SortedEntries.Note) {
        if count == capacity { reserve(max(64, count * 2)) }
        start?[count] = note
        count &+= 1
    }

    mutating func popLast() -> SortedEntries.Note? {
        guard count > 0 else { return nil }
        count -= 1
        return start?[count]
    }

    mutating func clear() { count = 0 }

    mutating func truncate(to count: Int) { self.count = min(self.count, count) }
}
