import CPlatform

/// The layout of nodes with byte keys, for the tree algorithms.
enum ByteLayout: NodeLayout {
    typealias Key = KeyBytes

    static var leafType: PageType { .byteLeaf }
    static var innerType: PageType { .byteInner }
    static var hasFences: Bool { true }

    private static let room = pageBytes - ByteNode.headsOffset

    @inline(__always)
    static func childSlot(_ page: Page, _ key: KeyBytes) -> Int { ByteNode.childSlot(page.base, key) }
    @inline(__always)
    static func child(_ page: Page, at slot: Int) -> PageReference { ByteNode.child(page.base, slot) }
    @inline(__always)
    static func find(_ page: Page, _ key: KeyBytes) -> (slot: Int, found: Bool) {
        ByteNode.find(page.base, key)
    }
    @inline(__always)
    static func record(_ page: Page, _ slot: Int) -> RecordView { ByteNode.record(page.base, slot) }
    @inline(__always)
    static func offset(_ page: Page, _ slot: Int) -> Int {
        Int(ByteNode.slots(page.base, count: page.count)[slot])
    }
    @inline(__always)
    static func likelyOffset(of key: KeyBytes, inChildAt slot: Int, of parent: Page) -> Int { 0 }
    static func isLess(_ a: KeyBytes, _ b: KeyBytes) -> Bool { ByteNode.compare(a, b) < 0 }
    @inline(__always)
    static func keyBytes(_ key: KeyBytes) -> Int { key.count }
    @inline(__always)
    static func prefetchLeaf(_ page: Page) {
        mako_prefetch(page.base)
        mako_prefetch(page.base + 64)
        mako_prefetch(page.base + 128)
        mako_prefetch(page.base + 192)
    }

    @inline(__always)
    static func prefetchRecord(_ page: Page, _ key: KeyBytes) {
        let slot = ByteNode.likelySlot(page.base, key)
        if slot < page.count { mako_prefetch(page.base + offset(page, slot)) }
    }

    @inline(__always)
    static func keep(_ key: KeyBytes, at memory: UnsafeMutableRawPointer) -> (number: UInt64, bytes: Int) {
        if let source = key.baseAddress { memcpy(memory, source, key.count) }
        return (0, key.count)
    }

    static func keep(_ key: KeyBytes, in memory: UnsafeMutableRawPointer) -> KeyBytes {
        if let source = key.baseAddress { memcpy(memory, source, key.count) }
        return KeyBytes(start: memory, count: key.count)
    }

    static var lowest: KeyBytes { addressed(KeyBytes(start: nil, count: 0)) }
    static var highest: KeyBytes { KeyBytes(start: highestKeyAddress, count: Limits.keyBytes) }

    @inline(__always)
    static func hinted(_ hint: UnsafeMutablePointer<Writer.LeafHint>, _ key: KeyBytes) -> Page? {
        guard let page = hint.pointee.page, ByteNode.covers(page.base, key) else { return nil }
        return page
    }

    static func setHint(
        _ hint: UnsafeMutablePointer<Writer.LeafHint>, _ path: UnsafeMutablePointer<Writer.PathStep>, levels: Int,
        slot: Int
    ) {
        hint.pointee = Writer.LeafHint(page: path[0].page, low: 0, high: 0, slot: slot)
    }

    @inline(__always)
    static func fits(_ page: Page, _ key: KeyBytes, valueBytes: Int) -> Bool {
        ByteNode.fits(page.base, keyBytes: key.count, valueBytes: valueBytes)
    }
    @inline(__always)
    static func insert(_ page: Page, at slot: Int, _ key: KeyBytes, _ value: RecordView, scratch: Page) {
        ByteNode.insert(page.base, at: slot, key: key, value: value, scratch: scratch.base)
    }
    static func replace(_ page: Page, at slot: Int, _ value: RecordView, scratch: Page) -> Bool {
        ByteNode.replace(page.base, at: slot, value: value, scratch: scratch.base)
    }
    static func remove(_ page: Page, at slot: Int) { ByteNode.remove(page.base, at: slot) }
    @inline(__always)
    static func logRemoval(
        of key: KeyBytes, tree: UInt32, _ operations: inout OperationWriter, to bytes: inout GrowingBytes
    ) {
        operations.delete(key, tree: tree, to: &bytes)
    }

    static func childFits(_ page: Page, _ key: KeyBytes) -> Bool {
        ByteNode.fits(
            page.base, keyBytes: key.count,
            valueBytes: hasCounts(page) ? ByteNode.countedChildBytes : ByteNode.childBytes)
    }
    static func insertFirstChild(_ page: Page, _ child: PageReference, counted: Bool, scratch: Page) {
        insertChild(page, at: 0, lowest, child, counted: counted, scratch: scratch)
    }
    static func hasCounts(_ page: Page) -> Bool { ByteNode.hasCounts(page.base) }
    static func count(_ page: Page, at slot: Int) -> UInt64 { ByteNode.count(page.base, slot) }
    static func setCount(_ page: Page, at slot: Int, _ count: UInt64) {
        ByteNode.setCount(page.base, slot, count)
    }
    static func insertChild(_ page: Page, at slot: Int, _ key: KeyBytes, _ child: PageReference, scratch: Page) {
        insertChild(page, at: slot, key, child, counted: hasCounts(page), scratch: scratch)
    }
    private static func insertChild(
        _ page: Page, at slot: Int, _ key: KeyBytes, _ child: PageReference, counted: Bool, scratch: Page
    ) {
        var value = (child.raw, SubtreeCounts.unknown)
        withUnsafeBytes(of: &value) { bytes in
            let value = RecordView(
                bytes: bytes.baseAddress.unsafelyUnwrapped,
                count: counted ? ByteNode.countedChildBytes : ByteNode.childBytes, isOverflow: false)
            ByteNode.insert(
                page.base, at: slot, key: slot == 0 ? KeyBytes(start: nil, count: 0) : key, value: value,
                scratch: scratch.base)
        }
    }
    static func setChild(_ page: Page, at slot: Int, _ child: PageReference) {
        ByteNode.setChild(page.base, slot, child)
    }
    static func removeChild(_ page: Page, at slot: Int) { ByteNode.remove(page.base, at: slot) }

    static func removeEntries(_ page: Page, _ slots: Range<Int>) {
        for slot in slots.reversed() { ByteNode.remove(page.base, at: slot) }
    }

    static func formatRoot(_ page: Page) {
        ByteNode.setFences(page.base, lower: KeyBytes(start: nil, count: 0), upper: nil)
    }

    // MARK: Cutting

    static func cut(_ page: Page, incoming slot: Int, _ key: KeyBytes, ascending: Bool) -> Int? {
        let count = page.count
        let lowest = 1
        let highest = page.level > 0 ? count - 1 : (slot == count ? count : count - 1)
        var wanted: Int
        if ascending && slot > 0 {
            wanted = page.level > 0 ? count - 1 : slot
        } else {
            let half = ByteNode.entryBytes(page.base, 0..<count, prefix: page.prefix) / 2
            var bytes = 0
            wanted = 0
            while wanted < count && bytes < half {
                bytes += ByteNode.entryBytes(page.base, wanted..<wanted + 1, prefix: page.prefix)
                wanted += 1
            }
            if page.level > 0 { wanted = innerCut(wanted, of: count) }
        }
        wanted = max(lowest, min(max(lowest, highest), wanted))
        // A long separator may leave too little space on one side: try the nearest cuts until both sides fit.
        for distance in 0...count {
            for cut in distance == 0 ? [wanted] : [wanted - distance, wanted + distance]
            where cut >= lowest && cut <= highest && sidesFit(page, cut: cut, incoming: key) { return cut }
        }
        // Only in a damaged page, where fences and keys disagree, does no cut fit.
        return nil
    }

    /// Moves the cut of an inner node so that both halves have at least two children.
    ///
    /// A full node has at least four: fences with a short common prefix have a short separator between them. With
    /// halves of one child a level would be as wide as the level below, and the tree as high as it has leaves.
    private static func innerCut(_ cut: Int, of count: Int) -> Int { max(2, min(count - 2, cut)) }

    private static func sidesFit(_ page: Page, cut: Int, incoming key: KeyBytes) -> Bool {
        let count = page.count
        return withSeparator(page, cut: cut, incoming: key) { separator in
            let lower = ByteNode.lower(page.base)
            let upper = ByteNode.upper(page.base)
            let left =
                lower.count + separator.count
                + ByteNode.entryBytes(page.base, 0..<cut, prefix: common(lower, separator))
            let right =
                separator.count + (upper?.count ?? 0)
                + ByteNode.entryBytes(page.base, cut..<count, prefix: upper.map { common(separator, $0) } ?? 0)
            return left <= room && right <= room
        }
    }

    static func common(_ a: KeyBytes, _ b: KeyBytes) -> Int {
        let limit = min(a.count, b.count)
        var length = 0
        while length < limit && a[length] == b[length] { length += 1 }
        return length
    }

    /// Calls `body` with the key that separates the entries before `cut` from those after it, or from the incoming one.
    private static func withSeparator<R>(_ page: Page, cut: Int, incoming key: KeyBytes, _ body: (KeyBytes) -> R) -> R {
        withUnsafeTemporaryAllocation(byteCount: 2048, alignment: 8) { memory in
            let base = memory.baseAddress.unsafelyUnwrapped
            if page.level > 0 {
                return body(KeyBytes(start: base, count: ByteNode.copyKey(page.base, cut, to: base)))
            }
            let left = KeyBytes(start: base, count: ByteNode.copyKey(page.base, cut - 1, to: base))
            let right =
                cut == page.count
                ? key : KeyBytes(start: base + 1024, count: ByteNode.copyKey(page.base, cut, to: base + 1024))
            return body(KeyBytes(rebasing: right[..<separatorLength(left, right)]))
        }
    }

    static func split(
        _ page: Page, at cut: Int, into right: Page, incoming key: KeyBytes, scratch: Scratch
    ) -> KeyBytes {
        let memory = scratch.separator(page.level)
        let separator = withSeparator(page, cut: cut, incoming: key) { separator in
            memcpy(memory, separator.baseAddress.unsafelyUnwrapped, separator.count)
            return KeyBytes(start: memory, count: separator.count)
        }
        let source = scratch.page
        memcpy(source.base, page.base, pageBytes)
        let count = source.count
        ByteNode.setFences(right.base, lower: separator, upper: ByteNode.upper(source.base))
        ByteNode.copyEntries(right.base, from: source.base, cut..<count, key: scratch.key)
        ByteNode.setFences(page.base, lower: ByteNode.lower(source.base), upper: separator)
        ByteNode.copyEntries(page.base, from: source.base, 0..<cut, key: scratch.key)
        return separator
    }

    // MARK: Removing a range

    static func end(of node: Page, at slot: Int, in parent: Page) -> KeyBytes? {
        ByteNode.upper(node.base)
    }

    static func fences(below left: Page, above right: Page, parent: Page, slot: Int) -> (KeyBytes, KeyBytes) {
        let lower = ByteNode.lower(right.base)
        // Only in a damaged file is the left leaf the last of its level.
        return (ByteNode.upper(left.base) ?? lower, lower)
    }

    static func fits(_ page: Page, keeping slots: Range<Int>, lower: KeyBytes?, upper: KeyBytes?)
        -> Bool
    {
        let lower = lower ?? ByteNode.lower(page.base)
        let upper = upper ?? ByteNode.upper(page.base)
        let prefix = upper.map { common(lower, $0) } ?? 0
        return lower.count + (upper?.count ?? 0) + ByteNode.entryBytes(page.base, slots, prefix: prefix) <= room
    }

    static func trim(_ page: Page, keeping slots: Range<Int>, lower: KeyBytes?, upper: KeyBytes?, scratch: Scratch) {
        let source = scratch.page
        memcpy(source.base, page.base, pageBytes)
        ByteNode.setFences(
            page.base, lower: lower ?? ByteNode.lower(source.base), upper: upper ?? ByteNode.upper(source.base))
        ByteNode.copyEntries(page.base, from: source.base, slots, key: scratch.key)
    }

    // MARK: Merging

    static var leafRoom: Int { room }
    static func usedBytes(_ page: Page) -> Int { ByteNode.usedBytes(page.base) }

    static func canGive(_ page: Page, bytes: Int, atEnd: Bool) -> Bool {
        !ByteNode.edge(page.base, bytes: bytes, atEnd: atEnd).isEmpty
    }

    static func shift(
        _ left: Page, _ right: Page, by flow: Int, parent: Page, separator slot: Int, scratch: Scratch
    ) -> Bool {
        let toRight = flow > 0
        let source = toRight ? left : right
        let moved = ByteNode.edge(source.base, bytes: abs(flow), atEnd: toRight)
        guard !moved.isEmpty else { return false }
        return withUnsafeTemporaryAllocation(byteCount: 2048, alignment: 8) { memory in
            let base = memory.baseAddress.unsafelyUnwrapped
            // The last key on the left and the first key on the right after the move.
            let (last, first) =
                toRight
                ? ((left, moved.lowerBound - 1), (left, moved.lowerBound))
                : ((right, moved.upperBound - 1), (right, moved.upperBound))
            let before = KeyBytes(start: base, count: ByteNode.copyKey(last.0.base, last.1, to: base))
            let behind = KeyBytes(start: base + 1024, count: ByteNode.copyKey(first.0.base, first.1, to: base + 1024))
            let separator = KeyBytes(rebasing: behind[..<separatorLength(before, behind)])
            let target = toRight ? right : left
            let kept = toRight ? 0..<moved.lowerBound : moved.upperBound..<right.count
            guard
                ByteNode.canRename(parent.base, slot, separator),
                fits(source, keeping: kept, lower: toRight ? nil : separator, upper: toRight ? separator : nil),
                fits(
                    target, more: moved, of: source, lower: toRight ? separator : nil, upper: toRight ? nil : separator)
            else { return false }
            if !ByteNode.shift(left.base, right.base, moved, toRight: toRight, separator, scratch: scratch.page.base) {
                exchange(left, right, moved, toRight: toRight, separator, scratch: scratch)
            }
            ByteNode.rename(parent.base, slot, separator, scratch: scratch.page.base)
            return true
        }
    }

    /// Whether a node has space for its entries and some entries of another node between other fences; nil keeps a
    /// fence.
    private static func fits(
        _ page: Page, more entries: Range<Int>, of source: Page, lower: KeyBytes?, upper: KeyBytes?
    ) -> Bool {
        let lower = lower ?? ByteNode.lower(page.base)
        let upper = upper ?? ByteNode.upper(page.base)
        let prefix = upper.map { common(lower, $0) } ?? 0
        return lower.count + (upper?.count ?? 0) + ByteNode.entryBytes(page.base, 0..<page.count, prefix: prefix)
            + ByteNode.entryBytes(source.base, entries, prefix: prefix) <= room
    }

    /// Rewrites two leaves, with some entries moved from one to the other.
    private static func exchange(
        _ left: Page, _ right: Page, _ moved: Range<Int>, toRight: Bool, _ separator: KeyBytes, scratch: Scratch
    ) {
        let (oldLeft, oldRight) = (scratch.page, scratch.neighbour)
        memcpy(oldLeft.base, left.base, pageBytes)
        memcpy(oldRight.base, right.base, pageBytes)
        let key = scratch.key
        ByteNode.setFences(left.base, lower: ByteNode.lower(oldLeft.base), upper: separator)
        ByteNode.setFences(right.base, lower: separator, upper: ByteNode.upper(oldRight.base))
        let (leftCount, rightCount) = (oldLeft.count, oldRight.count)
        if toRight {
            ByteNode.copyEntries(left.base, from: oldLeft.base, 0..<moved.lowerBound, key: key)
            ByteNode.copyEntries(right.base, from: oldLeft.base, moved, key: key)
            ByteNode.copyEntries(right.base, from: oldRight.base, 0..<rightCount, key: key)
        } else {
            ByteNode.copyEntries(left.base, from: oldLeft.base, 0..<leftCount, key: key)
            ByteNode.copyEntries(left.base, from: oldRight.base, moved, key: key)
            ByteNode.copyEntries(right.base, from: oldRight.base, moved.upperBound..<rightCount, key: key)
        }
    }

    static func isSparse(_ page: Page) -> Bool {
        page.count == 0 || ByteNode.usedBytes(page.base) < room / 4
    }

    static func canMerge(_ left: Page, _ right: Page) -> Bool {
        let lower = ByteNode.lower(left.base)
        let upper = ByteNode.upper(right.base)
        let prefix = upper.map { common(lower, $0) } ?? 0
        var bytes = lower.count + (upper?.count ?? 0)
        for node in [left, right] { bytes += ByteNode.entryBytes(node.base, 0..<node.count, prefix: prefix) }
        // The first entry of the right inner node has no suffix; after the merge it needs the whole separator.
        if left.level > 0 { bytes += ByteNode.lower(right.base).count }
        let fewest = min(left.count, right.count)
        if fewest <= (left.level > 0 ? 1 : 0) { return bytes <= room }
        return bytes <= room * (left.level > 0 ? 85 : 95) / 100
    }

    static func merge(_ left: Page, _ right: Page, parent: Page, separator slot: Int, scratch: Scratch) {
        let source = scratch.page
        memcpy(source.base, left.base, pageBytes)
        ByteNode.setFences(left.base, lower: ByteNode.lower(source.base), upper: ByteNode.upper(right.base))
        ByteNode.copyEntries(left.base, from: source.base, 0..<source.count, key: scratch.key)
        let firstKey = left.level > 0 ? ByteNode.lower(right.base) : nil
        ByteNode.copyEntries(
            left.base, from: right.base, 0..<right.count, firstKey: firstKey, key: scratch.key)
    }
}
