import CPlatform

/// The layout of nodes with byte keys, for the tree algorithms.
enum ByteLayout: NodeLayout {
    typealias Key = KeyBytes

    static var leafType: PageType { .byteLeaf }
    static var innerType: PageType { .byteInner }
    static var hasFences: Bool { true }

    private static let room = pageBytes - ByteNode.headsOffset

    @inline(__always)
    static func childSlot(_ page: UnsafeMutableRawPointer, _ key: KeyBytes) -> Int { ByteNode.childSlot(page, key) }
    @inline(__always)
    static func child(_ page: UnsafeMutableRawPointer, at slot: Int) -> PageReference { ByteNode.child(page, slot) }
    @inline(__always)
    static func find(_ page: UnsafeMutableRawPointer, _ key: KeyBytes) -> (slot: Int, found: Bool) {
        ByteNode.find(page, key)
    }
    @inline(__always)
    static func record(_ page: UnsafeMutableRawPointer, _ slot: Int) -> RecordView { ByteNode.record(page, slot) }
    @inline(__always)
    static func offset(_ page: UnsafeMutableRawPointer, _ slot: Int) -> Int {
        Int(ByteNode.slots(page, count: Page(page).count)[slot])
    }
    @inline(__always)
    static func likelyOffset(of key: KeyBytes, inChildAt slot: Int, of parent: UnsafeMutableRawPointer) -> Int { 0 }
    static func isLess(_ a: KeyBytes, _ b: KeyBytes) -> Bool { ByteNode.compare(a, b) < 0 }
    @inline(__always)
    static func keyBytes(_ key: KeyBytes) -> Int { key.count }
    @inline(__always)
    static func prefetchLeaf(_ page: UnsafeMutableRawPointer) {
        mako_prefetch(page)
        mako_prefetch(page + 64)
        mako_prefetch(page + 128)
        mako_prefetch(page + 192)
    }

    @inline(__always)
    static func prefetchRecord(_ page: UnsafeMutableRawPointer, _ key: KeyBytes) {
        let slot = ByteNode.likelySlot(page, key)
        if slot < Page(page).count { mako_prefetch(page + offset(page, slot)) }
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

    static var lowest: KeyBytes { lendable(KeyBytes(start: nil, count: 0)) }
    static var highest: KeyBytes { KeyBytes(start: highestKeyAddress, count: Limits.keyBytes) }

    @inline(__always)
    static func hinted(_ hint: UnsafeMutablePointer<Writer.LeafHint>, _ key: KeyBytes) -> UnsafeMutableRawPointer? {
        guard let page = hint.pointee.page, ByteNode.covers(page, key) else { return nil }
        return page
    }

    static func setHint(
        _ hint: UnsafeMutablePointer<Writer.LeafHint>, _ path: UnsafeMutablePointer<Writer.PathStep>, levels: Int,
        slot: Int
    ) {
        hint.pointee = Writer.LeafHint(page: path[0].page, low: 0, high: 0, slot: slot)
    }

    @inline(__always)
    static func fits(_ page: UnsafeMutableRawPointer, _ key: KeyBytes, valueBytes: Int) -> Bool {
        ByteNode.fits(page, keyBytes: key.count, valueBytes: valueBytes)
    }
    @inline(__always)
    static func insert(
        _ page: UnsafeMutableRawPointer, at slot: Int, _ key: KeyBytes, _ value: RecordView,
        scratch: UnsafeMutableRawPointer
    ) {
        ByteNode.insert(page, at: slot, key: key, value: value, scratch: scratch)
    }
    static func replace(
        _ page: UnsafeMutableRawPointer, at slot: Int, _ value: RecordView, scratch: UnsafeMutableRawPointer
    ) -> Bool {
        ByteNode.replace(page, at: slot, value: value, scratch: scratch)
    }
    static func remove(_ page: UnsafeMutableRawPointer, at slot: Int) { ByteNode.remove(page, at: slot) }
    @inline(__always)
    static func logRemoval(
        of key: KeyBytes, tree: UInt32, _ operations: inout OperationWriter, to bytes: inout GrowingBytes
    ) {
        operations.delete(key, tree: tree, to: &bytes)
    }

    static func childFits(_ page: UnsafeMutableRawPointer, _ key: KeyBytes) -> Bool {
        ByteNode.fits(
            page, keyBytes: key.count, valueBytes: hasCounts(page) ? ByteNode.countedChildBytes : ByteNode.childBytes)
    }
    static func insertFirstChild(
        _ page: UnsafeMutableRawPointer, _ child: PageReference, counted: Bool, scratch: UnsafeMutableRawPointer
    ) {
        insertChild(page, at: 0, lowest, child, counted: counted, scratch: scratch)
    }
    static func hasCounts(_ page: UnsafeMutableRawPointer) -> Bool { ByteNode.hasCounts(page) }
    static func count(_ page: UnsafeMutableRawPointer, at slot: Int) -> UInt64 { ByteNode.count(page, slot) }
    static func setCount(_ page: UnsafeMutableRawPointer, at slot: Int, _ count: UInt64) {
        ByteNode.setCount(page, slot, count)
    }
    static func insertChild(
        _ page: UnsafeMutableRawPointer, at slot: Int, _ key: KeyBytes, _ child: PageReference,
        scratch: UnsafeMutableRawPointer
    ) {
        insertChild(page, at: slot, key, child, counted: hasCounts(page), scratch: scratch)
    }
    private static func insertChild(
        _ page: UnsafeMutableRawPointer, at slot: Int, _ key: KeyBytes, _ child: PageReference, counted: Bool,
        scratch: UnsafeMutableRawPointer
    ) {
        var value = (child.raw, SubtreeCounts.unknown)
        withUnsafeBytes(of: &value) { bytes in
            let value = RecordView(
                bytes: bytes.baseAddress.unsafelyUnwrapped,
                count: counted ? ByteNode.countedChildBytes : ByteNode.childBytes, isOverflow: false)
            ByteNode.insert(
                page, at: slot, key: slot == 0 ? KeyBytes(start: nil, count: 0) : key, value: value, scratch: scratch)
        }
    }
    static func setChild(_ page: UnsafeMutableRawPointer, at slot: Int, _ child: PageReference) {
        ByteNode.setChild(page, slot, child)
    }
    static func removeChild(_ page: UnsafeMutableRawPointer, at slot: Int) { ByteNode.remove(page, at: slot) }

    static func removeEntries(_ page: UnsafeMutableRawPointer, _ slots: Range<Int>) {
        for slot in slots.reversed() { ByteNode.remove(page, at: slot) }
    }

    static func formatRoot(_ page: UnsafeMutableRawPointer) {
        ByteNode.setFences(page, lower: KeyBytes(start: nil, count: 0), upper: nil)
    }

    // MARK: Cutting

    static func cut(_ page: UnsafeMutableRawPointer, incoming slot: Int, _ key: KeyBytes, ascending: Bool) -> Int? {
        let view = Page(page)
        let count = view.count
        let lowest = 1
        let highest = view.level > 0 ? count - 1 : (slot == count ? count : count - 1)
        var wanted: Int
        if ascending && slot > 0 {
            wanted = view.level > 0 ? count - 1 : slot
        } else {
            let half = ByteNode.entryBytes(page, 0..<count, prefix: view.prefix) / 2
            var bytes = 0
            wanted = 0
            while wanted < count && bytes < half {
                bytes += ByteNode.entryBytes(page, wanted..<wanted + 1, prefix: view.prefix)
                wanted += 1
            }
            if view.level > 0 { wanted = innerCut(wanted, of: count) }
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

    private static func sidesFit(_ page: UnsafeMutableRawPointer, cut: Int, incoming key: KeyBytes) -> Bool {
        let count = Page(page).count
        return withSeparator(page, cut: cut, incoming: key) { separator in
            let lower = ByteNode.lower(page)
            let upper = ByteNode.upper(page)
            let left =
                lower.count + separator.count
                + ByteNode.entryBytes(page, 0..<cut, prefix: common(lower, separator))
            let right =
                separator.count + (upper?.count ?? 0)
                + ByteNode.entryBytes(page, cut..<count, prefix: upper.map { common(separator, $0) } ?? 0)
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
    private static func withSeparator<R>(
        _ page: UnsafeMutableRawPointer, cut: Int, incoming key: KeyBytes, _ body: (KeyBytes) -> R
    ) -> R {
        withUnsafeTemporaryAllocation(byteCount: 2048, alignment: 8) { memory in
            let base = memory.baseAddress.unsafelyUnwrapped
            let view = Page(page)
            if view.level > 0 {
                return body(KeyBytes(start: base, count: ByteNode.copyKey(page, cut, to: base)))
            }
            let left = KeyBytes(start: base, count: ByteNode.copyKey(page, cut - 1, to: base))
            let right =
                cut == view.count
                ? key : KeyBytes(start: base + 1024, count: ByteNode.copyKey(page, cut, to: base + 1024))
            return body(KeyBytes(rebasing: right[..<separatorLength(left, right)]))
        }
    }

    static func split(
        _ page: UnsafeMutableRawPointer, at cut: Int, into right: UnsafeMutableRawPointer, incoming key: KeyBytes,
        scratch: Scratch
    ) -> KeyBytes {
        let memory = scratch.separator(Page(page).level)
        let separator = withSeparator(page, cut: cut, incoming: key) { separator in
            memcpy(memory, separator.baseAddress.unsafelyUnwrapped, separator.count)
            return KeyBytes(start: memory, count: separator.count)
        }
        let source = scratch.page
        memcpy(source, page, pageBytes)
        let count = Page(source).count
        ByteNode.setFences(right, lower: separator, upper: ByteNode.upper(source))
        ByteNode.copyEntries(right, from: source, cut..<count, key: scratch.key)
        ByteNode.setFences(page, lower: ByteNode.lower(source), upper: separator)
        ByteNode.copyEntries(page, from: source, 0..<cut, key: scratch.key)
        return separator
    }

    // MARK: Removing a range

    static func end(of node: UnsafeMutableRawPointer, at slot: Int, in parent: UnsafeMutableRawPointer) -> KeyBytes? {
        ByteNode.upper(node)
    }

    static func fences(
        below left: UnsafeMutableRawPointer, above right: UnsafeMutableRawPointer, parent: UnsafeMutableRawPointer,
        slot: Int
    ) -> (KeyBytes, KeyBytes) {
        let lower = ByteNode.lower(right)
        // Only in a damaged file is the left leaf the last of its level.
        return (ByteNode.upper(left) ?? lower, lower)
    }

    static func fits(_ page: UnsafeMutableRawPointer, keeping slots: Range<Int>, lower: KeyBytes?, upper: KeyBytes?)
        -> Bool
    {
        let lower = lower ?? ByteNode.lower(page)
        let upper = upper ?? ByteNode.upper(page)
        let prefix = upper.map { common(lower, $0) } ?? 0
        return lower.count + (upper?.count ?? 0) + ByteNode.entryBytes(page, slots, prefix: prefix) <= room
    }

    static func trim(
        _ page: UnsafeMutableRawPointer, keeping slots: Range<Int>, lower: KeyBytes?, upper: KeyBytes?, scratch: Scratch
    ) {
        let source = scratch.page
        memcpy(source, page, pageBytes)
        ByteNode.setFences(
            page, lower: lower ?? ByteNode.lower(source), upper: upper ?? ByteNode.upper(source))
        ByteNode.copyEntries(page, from: source, slots, key: scratch.key)
    }

    // MARK: Merging

    static var leafRoom: Int { room }
    static func usedBytes(_ page: UnsafeMutableRawPointer) -> Int { ByteNode.usedBytes(page) }

    static func canGive(_ page: UnsafeMutableRawPointer, bytes: Int, atEnd: Bool) -> Bool {
        !ByteNode.edge(page, bytes: bytes, atEnd: atEnd).isEmpty
    }

    static func shift(
        _ left: UnsafeMutableRawPointer, _ right: UnsafeMutableRawPointer, by flow: Int,
        parent: UnsafeMutableRawPointer, separator slot: Int, scratch: Scratch
    ) -> Bool {
        let toRight = flow > 0
        let source = toRight ? left : right
        let moved = ByteNode.edge(source, bytes: abs(flow), atEnd: toRight)
        guard !moved.isEmpty else { return false }
        return withUnsafeTemporaryAllocation(byteCount: 2048, alignment: 8) { memory in
            let base = memory.baseAddress.unsafelyUnwrapped
            // The last key on the left and the first key on the right after the move.
            let (last, first) =
                toRight
                ? ((left, moved.lowerBound - 1), (left, moved.lowerBound))
                : ((right, moved.upperBound - 1), (right, moved.upperBound))
            let before = KeyBytes(start: base, count: ByteNode.copyKey(last.0, last.1, to: base))
            let behind = KeyBytes(start: base + 1024, count: ByteNode.copyKey(first.0, first.1, to: base + 1024))
            let separator = KeyBytes(rebasing: behind[..<separatorLength(before, behind)])
            let target = toRight ? right : left
            let kept = toRight ? 0..<moved.lowerBound : moved.upperBound..<Page(right).count
            guard
                ByteNode.canRename(parent, slot, separator),
                fits(source, keeping: kept, lower: toRight ? nil : separator, upper: toRight ? separator : nil),
                fits(
                    target, more: moved, of: source, lower: toRight ? separator : nil, upper: toRight ? nil : separator)
            else { return false }
            if !ByteNode.shift(left, right, moved, toRight: toRight, separator, scratch: scratch.page) {
                exchange(left, right, moved, toRight: toRight, separator, scratch: scratch)
            }
            ByteNode.rename(parent, slot, separator, scratch: scratch.page)
            return true
        }
    }

    /// Whether a node has space for its entries and some entries of another node between other fences; nil keeps a
    /// fence.
    private static func fits(
        _ page: UnsafeMutableRawPointer, more entries: Range<Int>, of source: UnsafeMutableRawPointer,
        lower: KeyBytes?, upper: KeyBytes?
    ) -> Bool {
        let lower = lower ?? ByteNode.lower(page)
        let upper = upper ?? ByteNode.upper(page)
        let prefix = upper.map { common(lower, $0) } ?? 0
        return lower.count + (upper?.count ?? 0) + ByteNode.entryBytes(page, 0..<Page(page).count, prefix: prefix)
            + ByteNode.entryBytes(source, entries, prefix: prefix) <= room
    }

    /// Rewrites two leaves, with some entries moved from one to the other.
    private static func exchange(
        _ left: UnsafeMutableRawPointer, _ right: UnsafeMutableRawPointer, _ moved: Range<Int>, toRight: Bool,
        _ separator: KeyBytes, scratch: Scratch
    ) {
        let (oldLeft, oldRight) = (scratch.page, scratch.neighbour)
        memcpy(oldLeft, left, pageBytes)
        memcpy(oldRight, right, pageBytes)
        let key = scratch.key
        ByteNode.setFences(left, lower: ByteNode.lower(oldLeft), upper: separator)
        ByteNode.setFences(right, lower: separator, upper: ByteNode.upper(oldRight))
        let (leftCount, rightCount) = (Page(oldLeft).count, Page(oldRight).count)
        if toRight {
            ByteNode.copyEntries(left, from: oldLeft, 0..<moved.lowerBound, key: key)
            ByteNode.copyEntries(right, from: oldLeft, moved, key: key)
            ByteNode.copyEntries(right, from: oldRight, 0..<rightCount, key: key)
        } else {
            ByteNode.copyEntries(left, from: oldLeft, 0..<leftCount, key: key)
            ByteNode.copyEntries(left, from: oldRight, moved, key: key)
            ByteNode.copyEntries(right, from: oldRight, moved.upperBound..<rightCount, key: key)
        }
    }

    static func isSparse(_ page: UnsafeMutableRawPointer) -> Bool {
        Page(page).count == 0 || ByteNode.usedBytes(page) < room / 4
    }

    static func canMerge(_ left: UnsafeMutableRawPointer, _ right: UnsafeMutableRawPointer) -> Bool {
        let lower = ByteNode.lower(left)
        let upper = ByteNode.upper(right)
        let prefix = upper.map { common(lower, $0) } ?? 0
        var bytes = lower.count + (upper?.count ?? 0)
        for node in [left, right] { bytes += ByteNode.entryBytes(node, 0..<Page(node).count, prefix: prefix) }
        // The first entry of the right inner node has no suffix; after the merge it needs the whole separator.
        if Page(left).level > 0 { bytes += ByteNode.lower(right).count }
        let fewest = min(Page(left).count, Page(right).count)
        if fewest <= (Page(left).level > 0 ? 1 : 0) { return bytes <= room }
        return bytes <= room * (Page(left).level > 0 ? 85 : 95) / 100
    }

    static func merge(
        _ left: UnsafeMutableRawPointer, _ right: UnsafeMutableRawPointer, parent: UnsafeMutableRawPointer,
        separator slot: Int, scratch: Scratch
    ) {
        let source = scratch.page
        memcpy(source, left, pageBytes)
        ByteNode.setFences(left, lower: ByteNode.lower(source), upper: ByteNode.upper(right))
        ByteNode.copyEntries(left, from: source, 0..<Page(source).count, key: scratch.key)
        let firstKey = Page(left).level > 0 ? ByteNode.lower(right) : nil
        ByteNode.copyEntries(
            left, from: right, 0..<Page(right).count, firstKey: firstKey, key: scratch.key)
    }
}
