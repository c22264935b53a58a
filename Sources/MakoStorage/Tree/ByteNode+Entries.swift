import CPlatform

/// The entries of a node: inserting, replacing and removing them, and moving them between nodes.
extension ByteNode {
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

    // MARK: Rewriting

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
