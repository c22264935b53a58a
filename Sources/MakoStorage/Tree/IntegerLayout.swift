import CPlatform

/// The layout of nodes with integer keys, for the tree algorithms.
enum IntegerLayout: NodeLayout {
    typealias Key = UInt64

    static var leafType: PageType { .integerLeaf }
    static var innerType: PageType { .integerInner }
    static var hasFences: Bool { false }

    @inline(__always)
    static func childSlot(_ page: Page, _ key: UInt64) -> Int { IntegerNode.childSlot(page.base, key) }
    @inline(__always)
    static func child(_ page: Page, at slot: Int) -> PageReference {
        PageReference(raw: IntegerNode.children(page.base)[slot])
    }
    @inline(__always)
    static func find(_ page: Page, _ key: UInt64) -> (slot: Int, found: Bool) {
        IntegerNode.find(page.base, key)
    }
    @inline(__always)
    static func record(_ page: Page, _ slot: Int) -> RecordView { IntegerNode.record(page.base, slot) }
    @inline(__always)
    static func offset(_ page: Page, _ slot: Int) -> Int {
        Int(IntegerNode.slots(page.base, count: page.count)[slot])
    }
    @inline(__always)
    static func likelyOffset(of key: UInt64, inChildAt slot: Int, of parent: Page) -> Int {
        IntegerNode.likelyOffset(of: key, inChildAt: slot, of: parent.base)
    }
    @inline(__always)
    static func isLess(_ a: UInt64, _ b: UInt64) -> Bool { a < b }
    @inline(__always)
    static func keyBytes(_ key: UInt64) -> Int { 2 }
    @inline(__always)
    static func prefetchLeaf(_ page: Page) {
        mako_prefetch(page.base)
        mako_prefetch(page.base + 64)
        mako_prefetch(page.base + 128)
        mako_prefetch(page.base + 192)
        mako_prefetch(page.base + 256)
        mako_prefetch(page.base + 320)
        mako_prefetch(page.base + 384)
    }

    @inline(__always)
    static func prefetchRecord(_ page: Page, _ key: UInt64) {
        let slot = IntegerNode.find(page.base, key).slot
        if slot < page.count { mako_prefetch(page.base + offset(page, slot)) }
    }

    @inline(__always)
    static func keep(_ key: UInt64, at memory: UnsafeMutableRawPointer) -> (number: UInt64, bytes: Int) { (key, 0) }

    @inline(__always)
    static func keep(_ key: UInt64, in memory: UnsafeMutableRawPointer) -> UInt64 { key }

    static var lowest: UInt64 { 0 }
    static var highest: UInt64 { .max }

    @inline(__always)
    static func hinted(_ hint: UnsafeMutablePointer<Writer.LeafHint>, _ key: UInt64) -> Page? {
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
            if child > 0 { low = max(low, IntegerNode.keys(page.base)[child]) }
            guard child + 1 < page.count else { continue }
            high = min(high, IntegerNode.keys(page.base)[child + 1] &- 1)
        }
        hint.pointee = Writer.LeafHint(page: path[0].page, low: low, high: high, slot: slot)
    }

    @inline(__always)
    static func fits(_ page: Page, _ key: UInt64, valueBytes: Int) -> Bool {
        IntegerNode.fits(page.base, valueBytes: valueBytes)
    }
    @inline(__always)
    static func insert(_ page: Page, at slot: Int, _ key: UInt64, _ value: RecordView, scratch: Page) {
        IntegerNode.insert(page.base, at: slot, key: key, value: value, scratch: scratch.base)
    }
    static func replace(_ page: Page, at slot: Int, _ value: RecordView, scratch: Page) -> Bool {
        IntegerNode.replace(page.base, at: slot, value: value, scratch: scratch.base)
    }
    static func remove(_ page: Page, at slot: Int) { IntegerNode.remove(page.base, at: slot) }
    @inline(__always)
    static func logRemoval(
        of key: UInt64, tree: UInt32, _ operations: inout OperationWriter, to bytes: inout GrowingBytes
    ) {
        operations.delete(key, tree: tree, to: &bytes)
    }

    static func childFits(_ page: Page, _ key: UInt64) -> Bool {
        page.count < IntegerNode.capacity(page.base)
    }
    static func insertFirstChild(_ page: Page, _ child: PageReference, counted: Bool, scratch: Page) {
        page.prefix = counted ? 1 : 0
        IntegerNode.insertChild(page.base, at: 0, key: lowest, child: child)
    }
    @inline(__always)
    static func hasCounts(_ page: Page) -> Bool { IntegerNode.hasCounts(page.base) }
    @inline(__always)
    static func count(_ page: Page, at slot: Int) -> UInt64 { IntegerNode.count(page.base, slot) }
    static func setCount(_ page: Page, at slot: Int, _ count: UInt64) {
        IntegerNode.setCount(page.base, slot, count)
    }
    static func insertChild(_ page: Page, at slot: Int, _ key: UInt64, _ child: PageReference, scratch: Page) {
        IntegerNode.insertChild(page.base, at: slot, key: key, child: child)
    }
    @inline(__always)
    static func setChild(_ page: Page, at slot: Int, _ child: PageReference) {
        IntegerNode.children(page.base)[slot] = child.raw
    }
    static func removeChild(_ page: Page, at slot: Int) { IntegerNode.removeChild(page.base, at: slot) }

    static func removeEntries(_ page: Page, _ slots: Range<Int>) {
        IntegerNode.removeEntries(page.base, slots)
    }

    static func end(of node: Page, at slot: Int, in parent: Page) -> UInt64? {
        slot + 1 < parent.count ? IntegerNode.keys(parent.base)[slot + 1] : nil
    }

    static func fences(below left: Page, above right: Page, parent: Page, slot: Int) -> (UInt64, UInt64) {
        let key = IntegerNode.keys(parent.base)[slot]
        return (key, key)
    }
    static func fits(_ page: Page, keeping slots: Range<Int>, lower: UInt64?, upper: UInt64?)
        -> Bool
    { true }
    static func trim(_ page: Page, keeping slots: Range<Int>, lower: UInt64?, upper: UInt64?, scratch: Scratch) {
        IntegerNode.removeEntries(page.base, slots.upperBound..<page.count)
        IntegerNode.removeEntries(page.base, 0..<slots.lowerBound)
    }

    static func formatRoot(_ page: Page) {}

    static func cut(_ page: Page, incoming slot: Int, _ key: UInt64, ascending: Bool) -> Int? {
        // A node without entries is never full, except in a damaged file.
        guard page.count > 0 else { return nil }
        if page.level > 0 { return ascending ? page.count - 1 : page.count / 2 }
        if ascending && slot > 0 { return slot }
        return IntegerNode.splitSlot(page.base)
    }

    static func split(_ page: Page, at cut: Int, into right: Page, incoming key: UInt64, scratch: Scratch) -> UInt64 {
        if page.level > 0 {
            IntegerNode.moveChildren(page.base, from: cut, to: right.base)
            return IntegerNode.keys(right.base)[0]
        }
        if cut == page.count {
            // A single entry may have to move to the right of a smaller key.
            let last = IntegerNode.keys(page.base)[cut - 1]
            if last < key { return key }
            IntegerNode.moveTail(page.base, from: 0, to: right.base, scratch: scratch.page.base)
            return last
        }
        IntegerNode.moveTail(page.base, from: cut, to: right.base, scratch: scratch.page.base)
        return IntegerNode.keys(right.base)[0]
    }

    static var leafRoom: Int { pageBytes - Page.bodyOffset }
    static func usedBytes(_ page: Page) -> Int { IntegerNode.usedBytes(page.base) }

    static func canGive(_ page: Page, bytes: Int, atEnd: Bool) -> Bool {
        !IntegerNode.edge(page.base, bytes: bytes, atEnd: atEnd).isEmpty
    }

    static func shift(
        _ left: Page, _ right: Page, by flow: Int, parent: Page, separator slot: Int, scratch: Scratch
    ) -> Bool {
        let toRight = flow > 0
        let (source, target) = toRight ? (left, right) : (right, left)
        let moved = IntegerNode.edge(source.base, bytes: abs(flow), atEnd: toRight)
        guard !moved.isEmpty, IntegerNode.hasRoom(target.base, for: moved, of: source.base) else { return false }
        IntegerNode.insertEntries(
            target.base, at: toRight ? 0 : target.count, from: source.base, moved, scratch: scratch.page.base)
        IntegerNode.removeEntries(source.base, moved)
        IntegerNode.keys(parent.base)[slot] = IntegerNode.keys(right.base)[0]
        return true
    }

    static func isSparse(_ page: Page) -> Bool {
        page.level > 0
            ? page.count < IntegerNode.capacity(page.base) / 4
            : IntegerNode.usedBytes(page.base) < (pageBytes - Page.bodyOffset) / 4
    }

    static func canMerge(_ left: Page, _ right: Page) -> Bool {
        if left.level > 0 {
            let count = left.count + right.count
            let hasLoneChild = left.count == 1 || right.count == 1
            let capacity = IntegerNode.capacity(left.base)
            return count <= (hasLoneChild ? capacity : capacity * 85 / 100)
        }
        return IntegerNode.usedBytes(left.base) + IntegerNode.usedBytes(right.base) <= leafRoom * 95 / 100
    }

    static func merge(_ left: Page, _ right: Page, parent: Page, separator slot: Int, scratch: Scratch) {
        if left.level > 0 {
            IntegerNode.appendChildren(left.base, from: right.base, separator: IntegerNode.keys(parent.base)[slot])
        } else {
            IntegerNode.append(left.base, from: right.base, scratch: scratch.page.base)
        }
    }
}
