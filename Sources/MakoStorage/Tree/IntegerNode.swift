import CPlatform

// Nodes of trees whose keys are 64-bit integers.
//
// Leaf: the page header, then                      Inner: the page header, then
//
//      40  keys      8 x count, ascending               40  keys      8 x 253, the first `count` in use
//       .  slots     2 x count, heap offsets          2064  children  8 x 253, page references
//       .  free
//    heap  records   length and flag, bytes          Child i holds keys >= key i and < key i + 1. Key 0 is not
//                                                    used: child 0 holds everything below key 1.
// A record is 2 bytes (length in the low 15 bits, the top bit for an overflow descriptor) and the value's bytes.
//
// An inner node with subtree counts has the `prefix` 1 in its header and up to 168 children. Keys and children are at
// the same offsets as without counts, so that a search is the same; the counts are behind them, in two halves:
//
//    1384  counts    8 x 84, of children 0 to 83    3408  counts    8 x 84, of children 84 to 167

enum IntegerNode {
    static let keysOffset = Page.bodyOffset
    static let innerCapacity = (pageBytes - Page.bodyOffset) / 16
    static let childrenOffset = keysOffset + innerCapacity * 8
    static let countedCapacity = 168
    private static let countsPerPart = countedCapacity / 2
    static let firstCountsOffset = keysOffset + countedCapacity * 8
    static let lastCountsOffset = childrenOffset + countedCapacity * 8
    /// The bytes of an entry beside its value: key, slot and length.
    static let entryOverhead = 8 + 2 + 2
    static let overflowFlag: UInt16 = 0x8000

    @inline(__always)
    static func keys(_ page: UnsafeMutableRawPointer) -> UnsafeMutablePointer<UInt64> {
        (page + keysOffset).assumingMemoryBound(to: UInt64.self)
    }
    @inline(__always)
    static func children(_ page: UnsafeMutableRawPointer) -> UnsafeMutablePointer<UInt64> {
        (page + childrenOffset).assumingMemoryBound(to: UInt64.self)
    }
    @inline(__always)
    static func slots(_ page: UnsafeMutableRawPointer, count: Int) -> UnsafeMutablePointer<UInt16> {
        (page + keysOffset + count &* 8).assumingMemoryBound(to: UInt16.self)
    }

    // MARK: Search

    /// Returns the number of keys that are less than or equal to `key`.
    ///
    /// Row ids are dense or nearly so: interpolation guesses the position, and steps that double in size correct it, so
    /// the worst case stays logarithmic. In a run without gaps the guess is exact.
    @inline(__always)
    static func upperBound(_ keys: UnsafeMutablePointer<UInt64>, count: Int, key: UInt64) -> Int {
        if count <= 0 || key < keys[0] { return 0 }
        let last = keys[count &- 1]
        if key >= last { return count }
        let first = keys[0]
        let span = last &- first
        let distance = key &- first
        if span == UInt64(truncatingIfNeeded: count &- 1) { return Int(truncatingIfNeeded: distance) &+ 1 }
        var guess = Int(mako_interpolate(distance, span, Int64(truncatingIfNeeded: count &- 1)))
        if guess > count &- 2 { guess = count &- 2 }
        if keys[guess] <= key && key < keys[guess &+ 1] { return guess &+ 1 }
        var low: Int
        var high: Int
        if keys[guess] <= key {
            low = guess
            var step = 1
            high = guess &+ 1
            while high < count && keys[high] <= key {
                low = high
                high = high &+ step
                step = step &<< 1
            }
            if high > count &- 1 { high = count &- 1 }
        } else {
            high = guess
            var step = 1
            low = guess &- 1
            while keys[low] > key {
                high = low
                low = low &- step
                if low < 0 { low = 0 }
                step = step &<< 1
            }
        }
        // keys[low] <= key < keys[high]
        while high &- low > 1 {
            let middle = (low &+ high) &>> 1
            if keys[middle] <= key { low = middle } else { high = middle }
        }
        return low &+ 1
    }

    /// Returns the position of `key` among the leaf's keys, or where to insert it.
    @inline(__always)
    static func find(_ page: UnsafeMutableRawPointer, _ key: UInt64) -> (slot: Int, found: Bool) {
        let keys = keys(page)
        let bound = upperBound(keys, count: Page(page).count, key: key)
        if bound > 0 && keys[bound &- 1] == key { return (bound &- 1, true) }
        return (bound, false)
    }

    /// Returns the slot of the child of an inner node that holds `key`. Does not use the first child's key, because
    /// after the removal of a child before it the first child covers lower keys too.
    @inline(__always)
    static func childSlot(_ page: UnsafeMutableRawPointer, _ key: UInt64) -> Int {
        upperBound(keys(page) + 1, count: Page(page).count &- 1, key: key)
    }

    /// Guesses the offset of a leaf's record, for a prefetch: dense keys were probably loaded in order, so their leaf
    /// is full, and its records, of about equal length, lie from the end of the page downwards.
    @inline(__always)
    static func likelyOffset(of key: UInt64, inChildAt slot: Int, of parent: UnsafeMutableRawPointer) -> Int {
        let keys = keys(parent)
        guard slot &+ 1 < Page(parent).count else { return 0 }
        let first = keys[slot]
        let count = keys[slot &+ 1] &- first
        let index = key &- first
        guard count &- 1 < UInt64(densestLeaf), index < count else { return 0 }
        let heapBytes = UInt32(pageBytes &- keysOffset) &- UInt32(truncatingIfNeeded: count) &* 10
        let end = UInt32(truncatingIfNeeded: index &+ 1) &* heapBytes / UInt32(truncatingIfNeeded: count)
        return pageBytes &- Int(end)
    }

    /// The largest number of entries of a leaf.
    private static var densestLeaf: Int { (pageBytes - keysOffset) / entryOverhead }

    // MARK: Leaf records

    /// Returns the record in `slot`: its bytes, their number, and whether they are an overflow descriptor.
    @inline(__always)
    static func record(_ page: UnsafeMutableRawPointer, _ slot: Int) -> RecordView {
        record(page, at: Int(slots(page, count: Page(page).count)[slot]))
    }

    /// Returns the record that starts at `offset`.
    @inline(__always)
    static func record(_ page: UnsafeMutableRawPointer, at offset: Int) -> RecordView {
        let word = page.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
        return RecordView(
            bytes: UnsafeRawPointer(page + offset + 2), count: Int(word & 0x7fff), isOverflow: word & overflowFlag != 0)
    }

    /// Returns the number of bytes between the slots and the heap.
    @inline(__always)
    static func gap(_ page: UnsafeMutableRawPointer) -> Int {
        Page(page).heap &- keysOffset &- Page(page).count &* 10
    }

    /// Returns the bytes of the entries, without the header.
    static func usedBytes(_ page: UnsafeMutableRawPointer) -> Int {
        Page(page).count * 10 + pageBytes - Page(page).heap - Page(page).garbage
    }

    static func fits(_ page: UnsafeMutableRawPointer, valueBytes: Int) -> Bool {
        gap(page) + Page(page).garbage >= valueBytes + entryOverhead
    }

    /// Inserts an entry that fits. `scratch` is a page of memory for compaction.
    static func insert(
        _ page: UnsafeMutableRawPointer, at slot: Int, key: UInt64, value: RecordView, scratch: UnsafeMutableRawPointer
    ) {
        let view = Page(page)
        if gap(page) < value.count &+ entryOverhead { compact(page, scratch: scratch) }
        let count = view.count
        let keys = keys(page)
        let oldSlots = UnsafeMutableRawPointer(slots(page, count: count))
        // The new key moves the slots by 8 bytes; those after the new entry move by one slot more.
        let after = count &- slot
        if after > 0 { memmove(oldSlots + 8 + (slot &+ 1) &* 2, oldSlots + slot &* 2, after &* 2) }
        if slot > 0 { memmove(oldSlots + 8, oldSlots, slot &* 2) }
        if after > 0 { memmove(keys + slot + 1, keys + slot, after &* 8) }
        keys[slot] = key
        let offset = writeRecord(page, value)
        (oldSlots + 8).assumingMemoryBound(to: UInt16.self)[slot] = offset
        view.count = count &+ 1
    }

    @inline(__always)
    private static func writeRecord(_ page: UnsafeMutableRawPointer, _ value: RecordView) -> UInt16 {
        let offset = Page(page).heap &- value.count &- 2
        page.storeBytes(
            of: UInt16(truncatingIfNeeded: value.count) | (value.isOverflow ? overflowFlag : 0), toByteOffset: offset,
            as: UInt16.self)
        memcpy(page + offset + 2, value.bytes, value.count)
        Page(page).heap = offset
        return UInt16(truncatingIfNeeded: offset)
    }

    /// Replaces the record in `slot`. Returns false, and changes nothing, if the page has too little space.
    static func replace(
        _ page: UnsafeMutableRawPointer, at slot: Int, value: RecordView, scratch: UnsafeMutableRawPointer
    ) -> Bool {
        let view = Page(page)
        let old = record(page, slot)
        let offset = Int(slots(page, count: view.count)[slot])
        if value.count <= old.count {
            page.storeBytes(
                of: UInt16(truncatingIfNeeded: value.count) | (value.isOverflow ? overflowFlag : 0),
                toByteOffset: offset, as: UInt16.self)
            memcpy(page + offset + 2, value.bytes, value.count)
            view.garbage += old.count - value.count
            return true
        }
        guard gap(page) + view.garbage + old.count >= value.count else { return false }
        if gap(page) < value.count + 2 {
            rewriteWithout(page, slot: slot, scratch: scratch)
        } else {
            view.garbage += old.count + 2
        }
        slots(page, count: view.count)[slot] = writeRecord(page, value)
        return true
    }

    static func remove(_ page: UnsafeMutableRawPointer, at slot: Int) {
        let view = Page(page)
        let count = view.count
        view.garbage += record(page, slot).count + 2
        let keys = keys(page)
        let oldSlots = UnsafeMutableRawPointer(slots(page, count: count))
        let after = count &- slot &- 1
        if after > 0 { memmove(keys + slot, keys + slot + 1, after &* 8) }
        if slot > 0 { memmove(oldSlots - 8, oldSlots, slot &* 2) }
        if after > 0 { memmove(oldSlots - 8 + slot &* 2, oldSlots + (slot &+ 1) &* 2, after &* 2) }
        view.count = count &- 1
    }

    /// Removes consecutive entries from a leaf or an inner node.
    static func removeEntries(_ page: UnsafeMutableRawPointer, _ slots: Range<Int>) {
        guard !slots.isEmpty else { return }
        let view = Page(page)
        let count = view.count
        let after = count - slots.upperBound
        let keys = keys(page)
        if view.level > 0 {
            let children = children(page)
            memmove(keys + slots.lowerBound, keys + slots.upperBound, after * 8)
            memmove(children + slots.lowerBound, children + slots.upperBound, after * 8)
            if hasCounts(page) { copyCounts(page, slots.upperBound..<count, to: page, at: slots.lowerBound) }
        } else {
            for slot in slots { giveBack(page, slot) }
            let oldSlots = self.slots(page, count: count)
            let newSlots = self.slots(page, count: count - slots.count)
            memmove(keys + slots.lowerBound, keys + slots.upperBound, after * 8)
            memmove(newSlots, oldSlots, slots.lowerBound * 2)
            memmove(newSlots + slots.lowerBound, oldSlots + slots.upperBound, after * 2)
        }
        view.count = count - slots.count
    }

    /// Frees the bytes of a record. If the lowest record has the same length, as most have, it moves into the freed
    /// place, so that no garbage remains.
    private static func giveBack(_ page: UnsafeMutableRawPointer, _ slot: Int) {
        let view = Page(page)
        let slots = slots(page, count: view.count)
        let length = record(page, slot).count + 2
        let heap = view.heap
        let lowest = UInt16(truncatingIfNeeded: heap)
        if slots[slot] != lowest {
            guard let last = (0..<view.count).first(where: { slots[$0] == lowest }),
                record(page, last).count + 2 == length
            else {
                view.garbage += length
                slots[slot] = 0
                return
            }
            memcpy(page + Int(slots[slot]), page + heap, length)
            slots[last] = slots[slot]
        }
        // Clear the slot, so that it is not taken for the moved record's.
        slots[slot] = 0
        view.heap = heap + length
    }

    /// Rewrites the records without gaps.
    static func compact(_ page: UnsafeMutableRawPointer, scratch: UnsafeMutableRawPointer) {
        rewriteWithout(page, slot: -1, scratch: scratch)
    }

    private static func rewriteWithout(
        _ page: UnsafeMutableRawPointer, slot skipped: Int, scratch: UnsafeMutableRawPointer
    ) {
        memcpy(scratch, page, pageBytes)
        let view = Page(page)
        view.heap = pageBytes
        view.garbage = 0
        let slots = slots(page, count: view.count)
        for slot in 0..<view.count where slot != skipped {
            slots[slot] = writeRecord(page, record(scratch, slot))
        }
    }

    /// Moves the entries from `slot` on to an empty leaf.
    static func moveTail(
        _ page: UnsafeMutableRawPointer, from slot: Int, to right: UnsafeMutableRawPointer,
        scratch: UnsafeMutableRawPointer
    ) {
        memcpy(scratch, page, pageBytes)
        let count = Page(scratch).count
        for (target, range) in [(page, 0..<slot), (right, slot..<count)] {
            let view = Page(target)
            view.heap = pageBytes
            view.garbage = 0
            view.count = range.count
            memcpy(keys(target), keys(scratch) + range.lowerBound, range.count * 8)
            let slots = slots(target, count: range.count)
            for (position, source) in range.enumerated() {
                slots[position] = writeRecord(target, record(scratch, source))
            }
        }
    }

    /// Appends all entries of `right`, which must fit, to `page`.
    static func append(
        _ page: UnsafeMutableRawPointer, from right: UnsafeMutableRawPointer, scratch: UnsafeMutableRawPointer
    ) {
        for slot in 0..<Page(right).count {
            insert(
                page, at: Page(page).count, key: keys(right)[slot], value: record(right, slot), scratch: scratch)
        }
    }

    /// Returns the entries at one end of a leaf that take at most `bytes` bytes, but not all entries.
    static func edge(_ page: UnsafeMutableRawPointer, bytes: Int, atEnd: Bool) -> Range<Int> {
        let count = Page(page).count
        var left = bytes
        var moved = 0
        while moved < count - 1 {
            left -= record(page, atEnd ? count - 1 - moved : moved).count + entryOverhead
            if left < 0 { break }
            moved += 1
        }
        return atEnd ? count - moved..<count : 0..<moved
    }

    static func hasRoom(_ page: UnsafeMutableRawPointer, for entries: Range<Int>, of source: UnsafeMutableRawPointer)
        -> Bool
    {
        var bytes = 0
        for slot in entries { bytes += record(source, slot).count + entryOverhead }
        return bytes <= gap(page) + Page(page).garbage
    }

    /// Inserts consecutive entries of another leaf. They must fit.
    static func insertEntries(
        _ page: UnsafeMutableRawPointer, at slot: Int, from source: UnsafeMutableRawPointer, _ entries: Range<Int>,
        scratch: UnsafeMutableRawPointer
    ) {
        var bytes = 0
        for slot in entries { bytes += record(source, slot).count + entryOverhead }
        if gap(page) < bytes { compact(page, scratch: scratch) }
        let view = Page(page)
        let count = view.count
        let keys = keys(page)
        let oldSlots = slots(page, count: count)
        let newSlots = slots(page, count: count + entries.count)
        // Move what moves furthest first, because the ranges overlap.
        memmove(newSlots + slot + entries.count, oldSlots + slot, (count - slot) * 2)
        memmove(newSlots, oldSlots, slot * 2)
        memmove(keys + slot + entries.count, keys + slot, (count - slot) * 8)
        memcpy(keys + slot, self.keys(source) + entries.lowerBound, entries.count * 8)
        for (position, entry) in entries.enumerated() {
            newSlots[slot + position] = writeRecord(page, record(source, entry))
        }
        view.count = count + entries.count
    }

    /// Returns the slot that divides the entries into halves of about equal size.
    static func splitSlot(_ page: UnsafeMutableRawPointer) -> Int {
        let count = Page(page).count
        let half = usedBytes(page) / 2
        var bytes = 0
        for slot in 0..<count {
            bytes += record(page, slot).count + entryOverhead
            if bytes >= half { return max(1, min(count - 1, slot + 1)) }
        }
        return count - 1
    }

    // MARK: Inner entries

    static func insertChild(_ page: UnsafeMutableRawPointer, at slot: Int, key: UInt64, child: PageReference) {
        let count = Page(page).count
        let after = count &- slot
        if after > 0 {
            memmove(keys(page) + slot + 1, keys(page) + slot, after &* 8)
            memmove(children(page) + slot + 1, children(page) + slot, after &* 8)
        }
        keys(page)[slot] = key
        children(page)[slot] = child.raw
        if hasCounts(page) {
            copyCounts(page, slot..<count, to: page, at: slot + 1)
            setCount(page, slot, SubtreeCounts.unknown)
        }
        Page(page).count = count &+ 1
    }

    static func removeChild(_ page: UnsafeMutableRawPointer, at slot: Int) {
        let count = Page(page).count
        let after = count &- slot &- 1
        if after > 0 {
            memmove(keys(page) + slot, keys(page) + slot + 1, after &* 8)
            memmove(children(page) + slot, children(page) + slot + 1, after &* 8)
            if hasCounts(page) { copyCounts(page, slot + 1..<count, to: page, at: slot) }
        }
        Page(page).count = count &- 1
    }

    /// Moves the children from `slot` on to an empty inner node.
    static func moveChildren(_ page: UnsafeMutableRawPointer, from slot: Int, to right: UnsafeMutableRawPointer) {
        let moved = Page(page).count - slot
        memcpy(keys(right), keys(page) + slot, moved * 8)
        memcpy(children(right), children(page) + slot, moved * 8)
        if hasCounts(page) {
            Page(right).prefix = Page(page).prefix
            copyCounts(page, slot..<slot + moved, to: right, at: 0)
        }
        Page(right).count = moved
        Page(page).count = slot
    }

    /// Appends the children of `right`, whose lower bound is `separator`, to `page`.
    static func appendChildren(
        _ page: UnsafeMutableRawPointer, from right: UnsafeMutableRawPointer, separator: UInt64
    ) {
        let count = Page(page).count
        let added = Page(right).count
        memcpy(keys(page) + count, keys(right), added * 8)
        memcpy(children(page) + count, children(right), added * 8)
        if hasCounts(page) { copyCounts(right, 0..<added, to: page, at: count) }
        keys(page)[count] = separator
        Page(page).count = count + added
    }
}

// MARK: Counts

extension IntegerNode {
    @inline(__always)
    static func hasCounts(_ page: UnsafeMutableRawPointer) -> Bool { Page(page).prefix == 1 }

    /// Returns the largest number of children of an inner node.
    static func capacity(_ page: UnsafeMutableRawPointer) -> Int { hasCounts(page) ? countedCapacity : innerCapacity }

    @inline(__always)
    private static func countOffset(_ slot: Int) -> Int {
        slot < countsPerPart ? firstCountsOffset &+ slot &* 8 : lastCountsOffset &+ (slot &- countsPerPart) &* 8
    }

    @inline(__always)
    static func count(_ page: UnsafeMutableRawPointer, _ slot: Int) -> UInt64 {
        page.load(fromByteOffset: countOffset(slot), as: UInt64.self)
    }

    @inline(__always)
    static func setCount(_ page: UnsafeMutableRawPointer, _ slot: Int, _ count: UInt64) {
        page.storeBytes(of: count, toByteOffset: countOffset(slot), as: UInt64.self)
    }

    private static func copyCounts(
        _ source: UnsafeMutableRawPointer, _ slots: Range<Int>, to target: UnsafeMutableRawPointer, at first: Int
    ) {
        // Copy in the order that reads each count before it is overwritten.
        if first > slots.lowerBound {
            for slot in slots.reversed() { setCount(target, first + slot - slots.lowerBound, count(source, slot)) }
        } else {
            for slot in slots { setCount(target, first + slot - slots.lowerBound, count(source, slot)) }
        }
    }
}

/// A value in a leaf: its bytes, or the descriptor of its overflow pages.
struct RecordView {
    var bytes: UnsafeRawPointer
    var count: Int
    var isOverflow: Bool

    @inline(__always)
    init(bytes: UnsafeRawPointer, count: Int, isOverflow: Bool) {
        self.bytes = bytes
        self.count = count
        self.isOverflow = isOverflow
    }
}
