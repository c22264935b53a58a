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

/// The bytes of a key, borrowed.
typealias KeyBytes = UnsafeRawBufferPointer

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

    // MARK: Building and editing

    /// Empties a formatted page and sets its fences, and from them its prefix.
    ///
    /// The fences must not be in the page itself.
    static func setFences(_ page: UnsafeMutableRawPointer, lower: KeyBytes, upper: KeyBytes?) {
        let view = Page(page)
        view.count = 0
        view.heap = pageBytes
        view.garbage = 0
        view.prefix = commonPrefix(lower, upper)
        writeFence(page, lowerFence, lower)
        writeFence(page, upperFence, upper)
    }

    /// Returns the length of the prefix that all keys between two fences share.
    static func commonPrefix(_ lower: KeyBytes, _ upper: KeyBytes?) -> Int {
        guard let upper else { return 0 }
        let limit = min(lower.count, upper.count)
        var prefix = 0
        while prefix < limit && lower[prefix] == upper[prefix] { prefix += 1 }
        return prefix
    }

    /// Sets the upper fence of a leaf that has space for it. The fence must not change the prefix.
    static func writeUpperFence(_ page: UnsafeMutableRawPointer, _ fence: KeyBytes, scratch: UnsafeMutableRawPointer) {
        if gap(page) < fence.count { rewriteWithout(page, slot: -1, scratch: scratch) }
        writeFence(page, upperFence, fence)
    }

    private static func writeFence(_ page: UnsafeMutableRawPointer, _ place: Int, _ fence: KeyBytes?) {
        let view = Page(page)
        if let fence, fence.count > 0, let bytes = fence.baseAddress {
            view.heap -= fence.count
            memcpy(page + view.heap, bytes, fence.count)
        }
        page.storeBytes(of: UInt16(truncatingIfNeeded: view.heap), toByteOffset: place, as: UInt16.self)
        page.storeBytes(of: UInt16(fence?.count ?? noUpperFence), toByteOffset: place + 2, as: UInt16.self)
    }

    /// Inserts an entry that fits. `key` is the whole key, and must be between the fences.
    static func insert(
        _ page: UnsafeMutableRawPointer, at slot: Int, key: KeyBytes, value: RecordView,
        scratch: UnsafeMutableRawPointer
    ) {
        let prefix = Page(page).prefix
        insertSuffix(
            page, at: slot, suffix: KeyBytes(rebasing: key[min(prefix, key.count)...]), value: value, scratch: scratch)
    }

    @inline(__always)
    private static func insertSuffix(
        _ page: UnsafeMutableRawPointer, at slot: Int, suffix: KeyBytes, value: RecordView,
        scratch: UnsafeMutableRawPointer
    ) {
        let view = Page(page)
        if gap(page) < suffix.count &+ value.count &+ entryOverhead { rewriteWithout(page, slot: -1, scratch: scratch) }
        let count = view.count
        let heads = heads(page)
        let oldSlots = UnsafeMutableRawPointer(slots(page, count: count))
        let after = count &- slot
        if after > 0 { memmove(oldSlots + 4 + (slot &+ 1) &* 2, oldSlots + slot &* 2, after &* 2) }
        if slot > 0 { memmove(oldSlots + 4, oldSlots, slot &* 2) }
        if after > 0 { memmove(heads + slot + 1, heads + slot, after &* 4) }
        heads[slot] = suffix.count == 0 ? 0 : head(suffix.baseAddress.unsafelyUnwrapped, count: suffix.count)
        (oldSlots + 4).assumingMemoryBound(to: UInt16.self)[slot] = writeRecord(page, suffix, value)
        view.count = count &+ 1
    }

    @inline(__always)
    private static func writeRecord(_ page: UnsafeMutableRawPointer, _ suffix: KeyBytes, _ value: RecordView) -> UInt16
    {
        let offset = Page(page).heap &- suffix.count &- value.count &- 4
        let lengths = UInt32(suffix.count) | UInt32(value.count) &<< 16 | (value.isOverflow ? 0x8000_0000 : 0)
        page.storeBytes(of: lengths, toByteOffset: offset, as: UInt32.self)
        if suffix.count > 0 { memcpy(page + offset + 4, suffix.baseAddress.unsafelyUnwrapped, suffix.count) }
        memcpy(page + offset + 4 + suffix.count, value.bytes, value.count)
        Page(page).heap = offset
        return UInt16(truncatingIfNeeded: offset)
    }

    /// Replaces the value in `slot`. Returns false, and changes nothing, if the page has too little space.
    static func replace(
        _ page: UnsafeMutableRawPointer, at slot: Int, value: RecordView, scratch: UnsafeMutableRawPointer
    ) -> Bool {
        let view = Page(page)
        let old = record(page, slot)
        let offset = Int(slots(page, count: view.count)[slot])
        let suffixCount = word(page, offset)
        if value.count <= old.count {
            page.storeBytes(
                of: UInt32(suffixCount) | UInt32(value.count) &<< 16 | (value.isOverflow ? 0x8000_0000 : 0),
                toByteOffset: offset, as: UInt32.self)
            memcpy(page + offset + 4 + suffixCount, value.bytes, value.count)
            view.garbage += old.count - value.count
            return true
        }
        guard gap(page) + view.garbage + old.count >= value.count else { return false }
        // The suffix moves with the value: copy it before the page is compacted.
        let suffix: KeyBytes
        if gap(page) < suffixCount + value.count + 4 {
            rewriteWithout(page, slot: slot, scratch: scratch)
            suffix = KeyBytes(start: scratch + offset + 4, count: suffixCount)
        } else {
            view.garbage += suffixCount + old.count + 4
            suffix = KeyBytes(start: page + offset + 4, count: suffixCount)
        }
        slots(page, count: view.count)[slot] = writeRecord(page, suffix, value)
        return true
    }

    static func remove(_ page: UnsafeMutableRawPointer, at slot: Int) {
        let view = Page(page)
        let count = view.count
        view.garbage += record(page, slot).count + suffix(page, slot, count: count).count + 4
        let heads = heads(page)
        let oldSlots = UnsafeMutableRawPointer(slots(page, count: count))
        let after = count &- slot &- 1
        if after > 0 { memmove(heads + slot, heads + slot + 1, after &* 4) }
        if slot > 0 { memmove(oldSlots - 4, oldSlots, slot &* 2) }
        if after > 0 { memmove(oldSlots - 4 + slot &* 2, oldSlots + (slot &+ 1) &* 2, after &* 2) }
        view.count = count &- 1
    }

    /// Returns the entries at one end of a leaf that take at most `bytes` bytes, but not all entries.
    static func edge(_ page: UnsafeMutableRawPointer, bytes: Int, atEnd: Bool) -> Range<Int> {
        let count = Page(page).count
        let prefix = Page(page).prefix
        var left = bytes
        var moved = 0
        while moved < count - 1 {
            let slot = atEnd ? count - 1 - moved : moved
            left -= entryBytes(page, slot..<slot + 1, prefix: prefix)
            if left < 0 { break }
            moved += 1
        }
        return atEnd ? count - moved..<count : 0..<moved
    }

    /// Moves entries between two leaves without re-encoding them. Returns false if a prefix would change, or they do
    /// not fit.
    static func shift(
        _ left: UnsafeMutableRawPointer, _ right: UnsafeMutableRawPointer, _ moved: Range<Int>, toRight: Bool,
        _ separator: KeyBytes, scratch: UnsafeMutableRawPointer
    ) -> Bool {
        let prefix = Page(left).prefix
        // Only in a damaged file does a leaf to the left of another have no upper fence.
        guard Page(right).prefix == prefix, commonPrefix(lower(left), separator) == prefix,
            commonPrefix(separator, upper(right)) == prefix, upper(left) != nil
        else { return false }
        let (source, target) = toRight ? (left, right) : (right, left)
        var bytes = separator.count
        for slot in moved { bytes += entryBytes(source, slot..<slot + 1, prefix: prefix) }
        if gap(target) < bytes {
            rewriteWithout(target, slot: -1, scratch: scratch)
            guard gap(target) >= bytes else { return false }
        }
        // The moved entries free the space for the new fence, unless the fence is longer than they are.
        guard gap(source) >= separator.count || word(source, (toRight ? upperFence : lowerFence) + 2) >= separator.count
        else { return false }
        insertEntries(target, at: toRight ? 0 : Page(target).count, from: source, moved)
        removeEntries(source, moved)
        changeFence(left, upperFence, separator)
        changeFence(right, lowerFence, separator)
        return true
    }

    /// Replaces a fence of a node with one that keeps the prefix. It must fit.
    private static func changeFence(_ page: UnsafeMutableRawPointer, _ place: Int, _ fence: KeyBytes) {
        let length = word(page, place + 2)
        if fence.count > length {
            Page(page).garbage += length
            writeFence(page, place, fence)
        } else {
            if let bytes = fence.baseAddress { memcpy(page + word(page, place), bytes, fence.count) }
            page.storeBytes(of: UInt16(fence.count), toByteOffset: place + 2, as: UInt16.self)
            Page(page).garbage += length - fence.count
        }
    }

    /// Inserts consecutive entries of a leaf with the same prefix. They must fit the gap.
    private static func insertEntries(
        _ page: UnsafeMutableRawPointer, at slot: Int, from source: UnsafeMutableRawPointer, _ entries: Range<Int>
    ) {
        let view = Page(page)
        let count = view.count
        let sourceCount = Page(source).count
        let heads = heads(page)
        let oldSlots = slots(page, count: count)
        let newSlots = slots(page, count: count + entries.count)
        // Move what moves furthest first, because the ranges overlap.
        memmove(newSlots + slot + entries.count, oldSlots + slot, (count - slot) * 2)
        memmove(newSlots, oldSlots, slot * 2)
        memmove(heads + slot + entries.count, heads + slot, (count - slot) * 4)
        memcpy(heads + slot, self.heads(source) + entries.lowerBound, entries.count * 4)
        for (position, entry) in entries.enumerated() {
            newSlots[slot + position] = writeRecord(
                page, suffix(source, entry, count: sourceCount), record(source, entry))
        }
        view.count = count + entries.count
    }

    /// Removes consecutive entries from a leaf.
    private static func removeEntries(_ page: UnsafeMutableRawPointer, _ entries: Range<Int>) {
        let view = Page(page)
        let count = view.count
        for slot in entries { giveBack(page, slot, count: count) }
        let after = count - entries.upperBound
        let heads = heads(page)
        let oldSlots = slots(page, count: count)
        let newSlots = slots(page, count: count - entries.count)
        memmove(heads + entries.lowerBound, heads + entries.upperBound, after * 4)
        memmove(newSlots, oldSlots, entries.lowerBound * 2)
        memmove(newSlots + entries.lowerBound, oldSlots + entries.upperBound, after * 2)
        view.count = count - entries.count
    }

    /// Frees the bytes of a record. If the lowest record has the same length, as most have, it moves into the freed
    /// place, so that no garbage remains.
    private static func giveBack(_ page: UnsafeMutableRawPointer, _ slot: Int, count: Int) {
        let view = Page(page)
        let slots = slots(page, count: count)
        let length = recordBytes(page, slot, count: count)
        let heap = view.heap
        let lowest = UInt16(truncatingIfNeeded: heap)
        if slots[slot] != lowest {
            guard let last = (0..<count).first(where: { slots[$0] == lowest }),
                recordBytes(page, last, count: count) == length
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

    private static func recordBytes(_ page: UnsafeMutableRawPointer, _ slot: Int, count: Int) -> Int {
        record(page, slot).count + suffix(page, slot, count: count).count + 4
    }

    /// Whether the entry in `slot` of an inner node, which is not the first, can get another key between the same
    /// neighbours.
    static func canRename(_ page: UnsafeMutableRawPointer, _ slot: Int, _ key: KeyBytes) -> Bool {
        let suffix = suffix(page, slot, count: Page(page).count)
        return max(0, key.count - Page(page).prefix) <= suffix.count + gap(page) + Page(page).garbage
    }

    static func rename(
        _ page: UnsafeMutableRawPointer, _ slot: Int, _ key: KeyBytes, scratch: UnsafeMutableRawPointer
    ) {
        let length = record(page, slot).count
        var value = (child(page, slot).raw, length > 8 ? count(page, slot) : 0)
        remove(page, at: slot)
        withUnsafeBytes(of: &value) { bytes in
            let value = RecordView(bytes: bytes.baseAddress.unsafelyUnwrapped, count: length, isOverflow: false)
            insert(page, at: slot, key: key, value: value, scratch: scratch)
        }
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

    /// Rewrites fences and records without gaps, except for the record of one slot (whose slot is then undefined).
    private static func rewriteWithout(
        _ page: UnsafeMutableRawPointer, slot skipped: Int, scratch: UnsafeMutableRawPointer
    ) {
        memcpy(scratch, page, pageBytes)
        let view = Page(page)
        let count = view.count
        view.heap = pageBytes
        view.garbage = 0
        writeFence(page, lowerFence, lower(scratch))
        writeFence(page, upperFence, upper(scratch))
        let slots = slots(page, count: count)
        for slot in 0..<count where slot != skipped {
            slots[slot] = writeRecord(page, suffix(scratch, slot, count: count), record(scratch, slot))
        }
    }

    /// Appends the entries `range` of `source` to `page`, whose fences may imply another prefix.
    ///
    /// In an inner node the first entry is stored with an empty suffix.
    static func copyEntries(
        _ page: UnsafeMutableRawPointer, from source: UnsafeMutableRawPointer, _ range: Range<Int>,
        firstKey: KeyBytes? = nil, key: UnsafeMutableRawPointer
    ) {
        let isInner = Page(page).level > 0
        if !isInner { return appendEntries(page, from: source, range) }
        for slot in range {
            var whole = KeyBytes(start: key, count: copyKey(source, slot, to: key))
            if slot == range.lowerBound, let firstKey { whole = firstKey }
            let position = Page(page).count
            let prefix = Page(page).prefix
            let suffix =
                isInner && position == 0
                ? KeyBytes(start: key, count: 0) : KeyBytes(rebasing: whole[min(prefix, whole.count)...])
            insertSuffix(page, at: position, suffix: suffix, value: record(source, slot), scratch: key)
        }
    }

    /// Appends entries of another leaf to a leaf without garbage, with suffixes for its prefix.
    private static func appendEntries(
        _ page: UnsafeMutableRawPointer, from source: UnsafeMutableRawPointer, _ entries: Range<Int>
    ) {
        guard !entries.isEmpty else { return }
        let view = Page(page)
        let count = view.count
        let sourceCount = Page(source).count
        // The difference of the prefixes is removed from each suffix, or put before it.
        let dropped = max(0, view.prefix - Page(source).prefix)
        let added = max(0, Page(source).prefix - view.prefix)
        let addition = lower(source).baseAddress.unsafelyUnwrapped + view.prefix
        let heads = heads(page)
        let newSlots = slots(page, count: count + entries.count)
        memmove(newSlots, slots(page, count: count), count * 2)
        let sourceSlots = slots(source, count: sourceCount)
        var heap = view.heap
        for (position, entry) in entries.enumerated() {
            let place = Int(sourceSlots[entry])
            let lengths = source.loadUnaligned(fromByteOffset: place, as: UInt32.self)
            let suffix = Int(lengths & 0xffff)
            let kept = max(0, suffix - dropped)
            let value = Int(lengths >> 16 & 0x7fff)
            heap -= 4 + added + kept + value
            page.storeBytes(
                of: lengths & 0xffff_0000 | UInt32(truncatingIfNeeded: added + kept), toByteOffset: heap,
                as: UInt32.self)
            if added > 0 { memcpy(page + heap + 4, addition, added) }
            memcpy(page + heap + 4 + added, source + place + 4 + (suffix - kept), kept + value)
            heads[count + position] = head(page + heap + 4, count: added + kept)
            newSlots[count + position] = UInt16(truncatingIfNeeded: heap)
        }
        view.heap = heap
        view.count = count + entries.count
    }

    /// Returns the bytes that the entries `range` of `source` take under a prefix of `prefix` bytes.
    static func entryBytes(_ source: UnsafeMutableRawPointer, _ range: Range<Int>, prefix: Int) -> Int {
        let count = Page(source).count
        let saved = prefix - Page(source).prefix
        var bytes = 0
        for slot in range {
            bytes +=
                max(0, suffix(source, slot, count: count).count - saved) + record(source, slot).count + entryOverhead
        }
        return bytes
    }
}

/// Returns the length of the prefix of `right` that is the shortest key greater than `left`.
func separatorLength(_ left: KeyBytes, _ right: KeyBytes) -> Int {
    let limit = min(left.count, right.count)
    var common = 0
    while common < limit && left[common] == right[common] { common += 1 }
    return min(common + 1, right.count)
}
