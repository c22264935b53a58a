import CPlatform

/// The layout of nodes with integer keys, for the tree algorithms.
enum IntegerLayout: NodeLayout {
    typealias Key = UInt64

    static var leafType: PageType { .integerLeaf }
    static var innerType: PageType { .integerInner }
    static var hasFences: Bool { false }

    @inline(__always)
    static func childSlot(_ page: UnsafeMutableRawPointer, _ key: UInt64) -> Int { IntegerNode.childSlot(page, key) }
    @inline(__always)
    static func child(_ page: UnsafeMutableRawPointer, at slot: Int) -> PageReference {
        PageReference(raw: IntegerNode.children(page)[slot])
    }
    @inline(__always)
    static func find(_ page: UnsafeMutableRawPointer, _ key: UInt64) -> (slot: Int, found: Bool) {
        IntegerNode.find(page, key)
    }
    @inline(__always)
    static func record(_ page: UnsafeMutableRawPointer, _ slot: Int) -> RecordView { IntegerNode.record(page, slot) }
    @inline(__always)
    static func offset(_ page: UnsafeMutableRawPointer, _ slot: Int) -> Int {
        Int(IntegerNode.slots(page, count: Page(page).count)[slot])
    }
    @inline(__always)
    static func likelyOffset(of key: UInt64, inChildAt slot: Int, of parent: UnsafeMutableRawPointer) -> Int {
        IntegerNode.likelyOffset(of: key, inChildAt: slot, of: parent)
    }
    @inline(__always)
    static func isLess(_ a: UInt64, _ b: UInt64) -> Bool { a < b }
    @inline(__always)
    static func keyBytes(_ key: UInt64) -> Int { 2 }
    @inline(__always)
    static func prefetchLeaf(_ page: UnsafeMutableRawPointer) {
        mako_prefetch(page)
        mako_prefetch(page + 64)
        mako_prefetch(page + 128)
        mako_prefetch(page + 192)
        mako_prefetch(page + 256)
        mako_prefetch(page + 320)
        mako_prefetch(page + 384)
    }

    @inline(__always)
    static func prefetchRecord(_ page: UnsafeMutableRawPointer, _ key: UInt64) {
        let slot = IntegerNode.find(page, key).slot
        if slot < Page(page).count { mako_prefetch(page + offset(page, slot)) }
    }

    @inline(__always)
    static func keep(_ key: UInt64, at memory: UnsafeMutableRawPointer) -> (number: UInt64, bytes: Int) { (key, 0) }

    @inline(__always)
    static func keep(_ key: UInt64, in memory: UnsafeMutableRawPointer) -> UInt64 { key }

    static var lowest: UInt64 { 0 }
    static var highest: UInt64 { .max }

    @inline(__always)
    static func hinted(_ hint: UnsafeMutablePointer<Writer.LeafHint>, _ key: UInt64) -> UnsafeMutableRawPointer? {
        key >= hint.pointee.low && key <= hint.pointee.high ? hint.pointee.page : nil
    }

    static func setHint(
        _ hint: UnsafeMutablePointer<Writer.LeafHint>, _ path: UnsafeMutablePointer<Writer.PathStep>, levels: Int,
        slot: Int
    ) {
        var low: UInt64 = 0
        var high = UInt64.max
        for level in 1..<max(1, levels) {
            let (page, child) = (path[level].page, path[level].slot)
            if child > 0 { low = max(low, IntegerNode.keys(page)[child]) }
            guard child + 1 < Page(page).count else { continue }
            high = min(high, IntegerNode.keys(page)[child + 1] &- 1)
        }
        hint.pointee = Writer.LeafHint(page: path[0].page, low: low, high: high, slot: slot)
    }

    @inline(__always)
    static func fits(_ page: UnsafeMutableRawPointer, _ key: UInt64, valueBytes: Int) -> Bool {
        IntegerNode.fits(page, valueBytes: valueBytes)
    }
    @inline(__always)
    static func insert(
        _ page: UnsafeMutableRawPointer, at slot: Int, _ key: UInt64, _ value: RecordView,
        scratch: UnsafeMutableRawPointer
    ) {
        IntegerNode.insert(page, at: slot, key: key, value: value, scratch: scratch)
    }
    static func replace(
        _ page: UnsafeMutableRawPointer, at slot: Int, _ value: RecordView, scratch: UnsafeMutableRawPointer
    ) -> Bool {
        IntegerNode.replace(page, at: slot, value: value, scratch: scratch)
    }
    static func remove(_ page: UnsafeMutableRawPointer, at slot: Int) { IntegerNode.remove(page, at: slot) }
    @inline(__always)
    static func logRemoval(
        of key: UInt64, tree: UInt32, _ operations: inout OperationWriter, to bytes: inout GrowingBytes
    ) {
        operations.delete(key, tree: tree, to: &bytes)
    }

    static func childFits(_ page: UnsafeMutableRawPointer, _ key: UInt64) -> Bool {
        Page(page).count < IntegerNode.capacity(page)
    }
    static func insertFirstChild(
        _ page: UnsafeMutableRawPointer, _ child: PageReference, counted: Bool, scratch: UnsafeMutableRawPointer
    ) {
        Page(page).prefix = counted ? 1 : 0
        IntegerNode.insertChild(page, at: 0, key: lowest, child: child)
    }
    @inline(__always)
    static func hasCounts(_ page: UnsafeMutableRawPointer) -> Bool { IntegerNode.hasCounts(page) }
    @inline(__always)
    static func count(_ page: UnsafeMutableRawPointer, at slot: Int) -> UInt64 { IntegerNode.count(page, slot) }
    static func setCount(_ page: UnsafeMutableRawPointer, at slot: Int, _ count: UInt64) {
        IntegerNode.setCount(page, slot, count)
    }
    static func insertChild(
        _ page: UnsafeMutableRawPointer, at slot: Int, _ key: UInt64, _ child: PageReference,
        scratch: UnsafeMutableRawPointer
    ) {
        IntegerNode.insertChild(page, at: slot, key: key, child: child)
    }
    @inline(__always)
    static func setChild(_ page: UnsafeMutableRawPointer, at slot: Int, _ child: PageReference) {
        IntegerNode.children(page)[slot] = child.raw
    }
    static func removeChild(_ page: UnsafeMutableRawPointer, at slot: Int) { IntegerNode.removeChild(page, at: slot) }

    static func removeEntries(_ page: UnsafeMutableRawPointer, _ slots: Range<Int>) {
        IntegerNode.removeEntries(page, slots)
    }

    static func end(of node: UnsafeMutableRawPointer, at slot: Int, in parent: UnsafeMutableRawPointer) -> UInt64? {
        slot + 1 < Page(parent).count ? IntegerNode.keys(parent)[slot + 1] : nil
    }

    static func fences(
        below left: UnsafeMutableRawPointer, above right: UnsafeMutableRawPointer, parent: UnsafeMutableRawPointer,
        slot: Int
    ) -> (UInt64, UInt64) {
        let key = IntegerNode.keys(parent)[slot]
        return (key, key)
    }
    static func fits(_ page: UnsafeMutableRawPointer, keeping slots: Range<Int>, lower: UInt64?, upper: UInt64?)
        -> Bool
    { true }
    static func trim(
        _ page: UnsafeMutableRawPointer, keeping slots: Range<Int>, lower: UInt64?, upper: UInt64?, scratch: Scratch
    ) {
        IntegerNode.removeEntries(page, slots.upperBound..<Page(page).count)
        IntegerNode.removeEntries(page, 0..<slots.lowerBound)
    }

    static func formatRoot(_ page: UnsafeMutableRawPointer) {}

    static func cut(_ page: UnsafeMutableRawPointer, incoming slot: Int, _ key: UInt64, ascending: Bool) -> Int? {
        let view = Page(page)
        // A node without entries is never full, except in a damaged file.
        guard view.count > 0 else { return nil }
        if view.level > 0 { return ascending ? view.count - 1 : view.count / 2 }
        if ascending && slot > 0 { return slot }
        return IntegerNode.splitSlot(page)
    }

    static func split(
        _ page: UnsafeMutableRawPointer, at cut: Int, into right: UnsafeMutableRawPointer, incoming key: UInt64,
        scratch: Scratch
    ) -> UInt64 {
        if Page(page).level > 0 {
            IntegerNode.moveChildren(page, from: cut, to: right)
            return IntegerNode.keys(right)[0]
        }
        if cut == Page(page).count {
            // A single entry may have to move to the right of a smaller key.
            let last = IntegerNode.keys(page)[cut - 1]
            if last < key { return key }
            IntegerNode.moveTail(page, from: 0, to: right, scratch: scratch.page)
            return last
        }
        IntegerNode.moveTail(page, from: cut, to: right, scratch: scratch.page)
        return IntegerNode.keys(right)[0]
    }

    static var leafRoom: Int { pageBytes - Page.bodyOffset }
    static func usedBytes(_ page: UnsafeMutableRawPointer) -> Int { IntegerNode.usedBytes(page) }

    static func canGive(_ page: UnsafeMutableRawPointer, bytes: Int, atEnd: Bool) -> Bool {
        !IntegerNode.edge(page, bytes: bytes, atEnd: atEnd).isEmpty
    }

    static func shift(
        _ left: UnsafeMutableRawPointer, _ right: UnsafeMutableRawPointer, by flow: Int,
        parent: UnsafeMutableRawPointer, separator slot: Int, scratch: Scratch
    ) -> Bool {
        let toRight = flow > 0
        let (source, target) = toRight ? (left, right) : (right, left)
        let moved = IntegerNode.edge(source, bytes: abs(flow), atEnd: toRight)
        guard !moved.isEmpty, IntegerNode.hasRoom(target, for: moved, of: source) else { return false }
        IntegerNode.insertEntries(
            target, at: toRight ? 0 : Page(target).count, from: source, moved, scratch: scratch.page)
        IntegerNode.removeEntries(source, moved)
        IntegerNode.keys(parent)[slot] = IntegerNode.keys(right)[0]
        return true
    }

    static func isSparse(_ page: UnsafeMutableRawPointer) -> Bool {
        Page(page).level > 0
            ? Page(page).count < IntegerNode.capacity(page) / 4
            : IntegerNode.usedBytes(page) < (pageBytes - Page.bodyOffset) / 4
    }

    static func canMerge(_ left: UnsafeMutableRawPointer, _ right: UnsafeMutableRawPointer) -> Bool {
        if Page(left).level > 0 {
            let count = Page(left).count + Page(right).count
            let hasLoneChild = Page(left).count == 1 || Page(right).count == 1
            let capacity = IntegerNode.capacity(left)
            return count <= (hasLoneChild ? capacity : capacity * 85 / 100)
        }
        return IntegerNode.usedBytes(left) + IntegerNode.usedBytes(right) <= leafRoom * 95 / 100
    }

    static func merge(
        _ left: UnsafeMutableRawPointer, _ right: UnsafeMutableRawPointer, parent: UnsafeMutableRawPointer,
        separator slot: Int, scratch: Scratch
    ) {
        if Page(left).level > 0 {
            IntegerNode.appendChildren(left, from: right, separator: IntegerNode.keys(parent)[slot])
        } else {
            IntegerNode.append(left, from: right, scratch: scratch.page)
        }
    }
}
