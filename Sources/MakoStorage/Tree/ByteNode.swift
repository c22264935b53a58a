import CPlatform

// Nodes of trees with byte keys, leaf and inner nodes alike. The values of an inner node are page references of 8
// bytes; in a tree with subtree counts, 8 more bytes count the entries below.
//
//      40  lower fence   2 bytes offset, 2 bytes length: no key here is below it
//      44  upper fence   the same; length 0xffff when there is no upper bound. Keys here are less than it.
//      48  heads         4 x count: the first bytes of the suffixes, big-endian, padded with zeros
//       .  slots         2 x count, heap offsets
//       .  free
//    heap  records and the two fences
//
// All keys between the fences have the fences' common prefix, which the entries do not repeat: a record is 2 bytes
// (length of the suffix), 2 bytes (length of the value, top bit for an overflow descriptor), the suffix and the value.
// Most searches need only the heads, which take few cache lines. In an inner node the suffix of the first entry is not
// used. Separators are the shortest keys that separate (Bayer and Unterauer, "Prefix B-trees", 1977); heads and fences
// follow Graefe, "Modern B-Tree Techniques", 2011.

enum ByteNode {
    static let lowerFence = Page.bodyOffset
    static let upperFence = Page.bodyOffset + 4
    static let headsOffset = Page.bodyOffset + 8
    static let noUpperFence = 0xffff
    /// The bytes of an entry beside its suffix and value: head, slot and lengths.
    static let entryOverhead = 4 + 2 + 4
    static let overflowFlag: UInt16 = 0x8000

    @inline(__always)
    static func heads(_ page: UnsafeMutableRawPointer) -> UnsafeMutablePointer<UInt32> {
        (page + headsOffset).assumingMemoryBound(to: UInt32.self)
    }
    @inline(__always)
    static func slots(_ page: UnsafeMutableRawPointer, count: Int) -> UnsafeMutablePointer<UInt16> {
        (page + headsOffset + count &* 4).assumingMemoryBound(to: UInt16.self)
    }
    @inline(__always)
    static func word(_ page: UnsafeMutableRawPointer, _ offset: Int) -> Int {
        Int(page.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    // MARK: Fences

    static func lower(_ page: UnsafeMutableRawPointer) -> KeyBytes {
        KeyBytes(start: page + word(page, lowerFence), count: word(page, lowerFence + 2))
    }
    /// Returns the upper fence; nil for the last node of a level.
    static func upper(_ page: UnsafeMutableRawPointer) -> KeyBytes? {
        let length = word(page, upperFence + 2)
        return length == noUpperFence ? nil : KeyBytes(start: page + word(page, upperFence), count: length)
    }

    /// Whether `key` is between the node's fences.
    static func covers(_ page: UnsafeMutableRawPointer, _ key: KeyBytes) -> Bool {
        if compare(key, lower(page)) < 0 { return false }
        if let upper = upper(page) { return compare(key, upper) < 0 }
        return true
    }

    // MARK: Search

    @inline(__always)
    static func compare(_ a: KeyBytes, _ b: KeyBytes) -> Int {
        let shorter = min(a.count, b.count)
        if shorter > 0, let x = a.baseAddress, let y = b.baseAddress {
            let order = memcmp(x, y, shorter)
            if order != 0 { return Int(order) }
        }
        return a.count &- b.count
    }

    @inline(__always)
    static func head(_ suffix: UnsafeRawPointer, count: Int) -> UInt32 {
        if count >= 4 { return UInt32(bigEndian: suffix.loadUnaligned(as: UInt32.self)) }
        var head: UInt32 = 0
        for index in 0..<count {
            head |= UInt32(suffix.load(fromByteOffset: index, as: UInt8.self)) &<< UInt32(24 &- 8 &* index)
        }
        return head
    }

    /// Returns the head of an entry with a suffix.
    static func head(_ suffix: KeyBytes) -> UInt32 {
        suffix.baseAddress.map { head($0, count: suffix.count) } ?? 0
    }

    /// Returns the suffix of the entry in `slot`.
    @inline(__always)
    static func suffix(_ page: UnsafeMutableRawPointer, _ slot: Int, count: Int) -> KeyBytes {
        let offset = Int(slots(page, count: count)[slot])
        return KeyBytes(start: page + offset + 4, count: word(page, offset))
    }

    /// Returns the first position whose head is not less.
    @inline(__always)
    private static func firstSlot(
        _ heads: UnsafeMutablePointer<UInt32>, from first: Int, to count: Int, notBelow wanted: UInt32
    ) -> Int {
        var low = first
        var high = count
        while low < high {
            let middle = (low &+ high) &>> 1
            if heads[middle] < wanted { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// Returns the slot whose suffix a search for `key` in a leaf compares first; the number of entries if it compares
    /// none.
    @inline(__always)
    static func likelySlot(_ page: UnsafeMutableRawPointer, _ key: KeyBytes) -> Int {
        let prefix = Page(page).prefix
        let wanted = head(key.baseAddress.unsafelyUnwrapped + prefix, count: max(0, key.count &- prefix))
        return firstSlot(heads(page), from: 0, to: Page(page).count, notBelow: wanted)
    }

    /// Returns the position of `key` among the entries, or where to insert it. The key must be between the fences: its
    /// first `prefix` bytes are not compared.
    @inline(__always)
    static func find(_ page: UnsafeMutableRawPointer, _ key: KeyBytes, from first: Int = 0) -> (slot: Int, found: Bool)
    {
        let view = Page(page)
        let count = view.count
        let prefix = view.prefix
        let start = key.baseAddress.unsafelyUnwrapped + prefix
        // A key is shorter than the prefix only if the fences contradict the parent's.
        let length = max(0, key.count &- prefix)
        let wanted = head(start, count: length)
        let heads = heads(page)
        var low = firstSlot(heads, from: first, to: count, notBelow: wanted)
        if low == count || heads[low] != wanted { return (low, false) }
        // Equal heads: compare the rest.
        var end = low &+ 1
        var step = 1
        while end < count && heads[end] == wanted {
            end = end &+ step
            step = step &<< 1
        }
        if end > count { end = count }
        while low < end {
            let middle = (low &+ end) &>> 1
            if heads[middle] != wanted {
                end = middle
                continue
            }
            let order = compare(suffix(page, middle, count: count), KeyBytes(start: start, count: length))
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle &+ 1 } else { end = middle }
        }
        return (low, false)
    }

    /// Returns the slot of the child of an inner node that holds `key`.
    @inline(__always)
    static func childSlot(_ page: UnsafeMutableRawPointer, _ key: KeyBytes) -> Int {
        let (slot, found) = find(page, key, from: 1)
        return found ? slot : slot &- 1
    }

    @inline(__always)
    static func child(_ page: UnsafeMutableRawPointer, _ slot: Int) -> PageReference {
        let offset = Int(slots(page, count: Page(page).count)[slot])
        return PageReference(
            raw: page.loadUnaligned(fromByteOffset: offset &+ 4 &+ word(page, offset), as: UInt64.self))
    }

    static func setChild(_ page: UnsafeMutableRawPointer, _ slot: Int, _ child: PageReference) {
        let offset = Int(slots(page, count: Page(page).count)[slot])
        page.storeBytes(of: child.raw, toByteOffset: offset &+ 4 &+ word(page, offset), as: UInt64.self)
    }

    @inline(__always)
    static func record(_ page: UnsafeMutableRawPointer, _ slot: Int) -> RecordView {
        record(page, at: Int(slots(page, count: Page(page).count)[slot]))
    }

    /// Returns the record that starts at `offset`.
    @inline(__always)
    static func record(_ page: UnsafeMutableRawPointer, at offset: Int) -> RecordView {
        let lengths = page.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        let suffix = Int(lengths & 0xffff)
        let value = UInt16(truncatingIfNeeded: lengths &>> 16)
        return RecordView(
            bytes: UnsafeRawPointer(page + offset + 4 + suffix), count: Int(value & 0x7fff),
            isOverflow: value & overflowFlag != 0)
    }

    /// Copies the whole key of the entry in `slot`, prefix and suffix, to `buffer`. Returns its length.
    static func copyKey(_ page: UnsafeMutableRawPointer, _ slot: Int, to buffer: UnsafeMutableRawPointer) -> Int {
        let view = Page(page)
        let suffix = suffix(page, slot, count: view.count)
        let prefix = view.prefix
        if prefix > 0 { memcpy(buffer, lower(page).baseAddress.unsafelyUnwrapped, prefix) }
        if suffix.count > 0 { memcpy(buffer + prefix, suffix.baseAddress.unsafelyUnwrapped, suffix.count) }
        return prefix + suffix.count
    }

    // MARK: Space

    @inline(__always)
    static func gap(_ page: UnsafeMutableRawPointer) -> Int {
        Page(page).heap &- headsOffset &- Page(page).count &* 6
    }

    static func fits(_ page: UnsafeMutableRawPointer, keyBytes: Int, valueBytes: Int) -> Bool {
        gap(page) + Page(page).garbage >= max(0, keyBytes - Page(page).prefix) + valueBytes + entryOverhead
    }

    /// Returns the bytes of entries and fences, without the header.
    static func usedBytes(_ page: UnsafeMutableRawPointer) -> Int {
        Page(page).count * 6 + pageBytes - Page(page).heap - Page(page).garbage
    }

    // MARK: Counts

    /// The bytes of an inner node's value, without and with a count.
    static let childBytes = 8
    static let countedChildBytes = 16

    /// Whether an inner node has counts.
    @inline(__always)
    static func hasCounts(_ page: UnsafeMutableRawPointer) -> Bool {
        Page(page).count > 0 && record(page, 0).count == countedChildBytes
    }

    @inline(__always)
    static func count(_ page: UnsafeMutableRawPointer, _ slot: Int) -> UInt64 {
        record(page, slot).bytes.loadUnaligned(fromByteOffset: childBytes, as: UInt64.self)
    }

    static func setCount(_ page: UnsafeMutableRawPointer, _ slot: Int, _ count: UInt64) {
        let offset = Int(slots(page, count: Page(page).count)[slot])
        page.storeBytes(of: count, toByteOffset: offset &+ 4 &+ word(page, offset) &+ childBytes, as: UInt64.self)
    }
}
