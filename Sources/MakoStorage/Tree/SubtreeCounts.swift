/// Counts of the entries below each child of an inner node, in trees that have them.
///
/// A transaction does not keep them up to date with each entry: a descent for writing marks those on its way as unknown, and so does
/// whatever else changes what is below a child. They are found out when somebody asks, and before the pages become anybody else's: at a
/// savepoint, before pages are written, at the commit. So changes cost no more than a mark on the way down, and each changed node is
/// looked at once in the end. An entry above an unknown one is unknown, too.
enum SubtreeCounts {
    static let unknown = UInt64.max
}

extension Writer {
    /// Marks the counts on the path as unknown.
    func forgetCounts<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) {
        for level in 1..<max(1, trees[index].levels) { forgetCount(layout, path[level].page, path[level].slot) }
        trees[index].countsAreStale = true
        hasStaleCounts = true
    }

    /// Marks the count of a child as unknown, where there are any.
    func forgetCount<Layout: NodeLayout>(_ layout: Layout.Type, _ page: UnsafeMutableRawPointer, _ slot: Int) {
        if Layout.hasCounts(page) { Layout.setCount(page, at: slot, SubtreeCounts.unknown) }
    }

    /// Finds out all counts that are unknown.
    func settleCounts() throws(StorageError) {
        guard hasStaleCounts else { return }
        for index in 0..<treeCount where trees[index].countsAreStale { try settleCounts(of: index) }
        hasStaleCounts = false
    }

    /// Finds out what counts of a tree are unknown, if any are. No puts to it must be waiting.
    func settleCounts(of index: Int) throws(StorageError) {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        do throws(StorageError) {
            if trees[index].levels > 1 {
                let (root, level) = (trees[index].root, trees[index].levels - 1)
                switch trees[index].kind {
                case .integer: _ = try settle(IntegerLayout.self, root, level)
                case .bytes: _ = try settle(ByteLayout.self, root, level)
                }
            }
        } catch { throw fail(error) }
        trees[index].countsAreStale = false
        // The next change has to come down the tree and mark its way.
        hints[index] = .none
    }

    /// - Returns: the entries below an inner node.
    private func settle<Layout: NodeLayout>(_ layout: Layout.Type, _ reference: PageReference, _ level: Int)
        throws(StorageError) -> UInt64
    {
        let page = try frames.resolve(reference, type: Layout.innerType, level: level)
        guard Layout.hasCounts(page) else {
            throw .corrupted(page: reference.page, reason: "it has no counts, other than its tree")
        }
        var entries: UInt64 = 0
        for slot in 0..<Page(page).count {
            var count = Layout.count(page, at: slot)
            if count == SubtreeCounts.unknown {
                guard isEditable(page) else {
                    throw .corrupted(page: reference.page, reason: "one of its counts is unknown")
                }
                let child = Layout.child(page, at: slot)
                count =
                    level > 1
                    ? try settle(layout, child, level - 1)
                    : UInt64(Page(try frames.resolve(child, type: Layout.leafType, level: 0)).count)
                Layout.setCount(page, at: slot, count)
            }
            // Only forged counts have a sum that overflows.
            entries &+= count
        }
        return entries
    }
}

/// Entries counted by what inner nodes say, or else by a walk over the headers of leaves. The caller is inside an operation epoch.
extension FrameStore {
    /// The entries of a tree from one key up to below another; nil is the tree's end.
    func count<Layout: NodeLayout>(
        _ layout: Layout.Type, _ tree: TreeState, from lower: Layout.Key?, to upper: Layout.Key?
    ) throws(StorageError) -> UInt64 {
        guard tree.levels > 0 else { return 0 }
        return try withPageScratch { (scratch) throws(StorageError) in
            try count(layout, tree.root, tree.levels - 1, from: lower, to: upper, scratch)
        }
    }

    private func count<Layout: NodeLayout>(
        _ layout: Layout.Type, _ reference: PageReference, _ level: Int, from lower: Layout.Key?,
        to upper: Layout.Key?, _ scratch: UnsafeMutableRawPointer
    ) throws(StorageError) -> UInt64 {
        guard level > 0 else {
            // Any number of leaves in one operation: memory that is full has none of them to keep.
            let leaf =
                isInMemory(reference) || !isFull
                ? try resolve(reference, type: Layout.leafType, level: 0)
                : try peek(reference, type: Layout.leafType, scratch: scratch)
            let first = lower.map { Layout.find(leaf, $0).slot } ?? 0
            let end = upper.map { Layout.find(leaf, $0).slot } ?? Page(leaf).count
            return UInt64(max(0, end - first))
        }
        let page = try resolve(reference, type: Layout.innerType, level: level)
        let first = lower.map { Layout.childSlot(page, $0) } ?? 0
        let last = upper.map { Layout.childSlot(page, $0) } ?? Page(page).count - 1
        guard first < last else {
            guard first == last else { return 0 }
            if lower == nil && upper == nil { return try count(layout, page, first, level, scratch) }
            return try count(layout, Layout.child(page, at: first), level - 1, from: lower, to: upper, scratch)
        }
        var entries =
            lower == nil
            ? try count(layout, page, first, level, scratch)
            : try count(layout, Layout.child(page, at: first), level - 1, from: lower, to: nil, scratch)
        for slot in first + 1..<last { entries &+= try count(layout, page, slot, level, scratch) }
        return entries
            &+ (upper == nil
                ? try count(layout, page, last, level, scratch)
                : try count(layout, Layout.child(page, at: last), level - 1, from: nil, to: upper, scratch))
    }

    /// The entries below a child of an inner node.
    func count<Layout: NodeLayout>(
        _ layout: Layout.Type, _ page: UnsafeMutableRawPointer, _ slot: Int, _ level: Int,
        _ scratch: UnsafeMutableRawPointer
    ) throws(StorageError) -> UInt64 {
        if Layout.hasCounts(page) { return Layout.count(page, at: slot) }
        if level == 1 && slot + 1 < Page(page).count { prefetchHeader(Layout.child(page, at: slot + 1)) }
        return try count(layout, Layout.child(page, at: slot), level - 1, from: nil, to: nil, scratch)
    }

    /// Lends memory for a page.
    func withPageScratch<R>(_ body: (UnsafeMutableRawPointer) throws(StorageError) -> R) throws(StorageError) -> R {
        let scratch = UnsafeMutableRawPointer.allocate(byteCount: pageBytes, alignment: 64)
        defer { scratch.deallocate() }
        return try body(scratch)
    }
}

extension Snapshot {
    /// How many keys of a tree come before `key`, which need not be there.
    ///
    /// - Complexity: logarithmic in a tree with ``TreeOptions/subtreeCounts``; of any other the leaves before the key are visited.
    public func rank(of key: UInt64, in tree: Tree) throws(StorageError) -> UInt64 {
        try count(IntegerLayout.self, tree, from: nil, to: key)
    }

    /// How many keys of a tree come before `key`, which need not be there.
    ///
    /// - Complexity: logarithmic in a tree with ``TreeOptions/subtreeCounts``; of any other the leaves before the key are visited.
    public func rank(of key: [UInt8], in tree: Tree) throws(StorageError) -> UInt64 {
        try key.withUnsafeBytes { key in
            result { () throws(StorageError) in try count(ByteLayout.self, tree, from: nil, to: bound(key)) }
        }.get()
    }

    /// How many entries of a tree have keys in a range.
    ///
    /// - Complexity: logarithmic in a tree with ``TreeOptions/subtreeCounts``; of any other the leaves in the range are visited.
    public func count(of range: ClosedRange<UInt64>, in tree: Tree) throws(StorageError) -> UInt64 {
        try count(
            IntegerLayout.self, tree, from: range.lowerBound,
            to: range.upperBound == .max ? nil : range.upperBound + 1)
    }

    /// How many entries of a tree have keys from one up to below another, in the order of keys; nil is the tree's end.
    ///
    /// - Complexity: logarithmic in a tree with ``TreeOptions/subtreeCounts``; of any other the leaves in the range are visited.
    public func count(from lower: [UInt8], to upper: [UInt8]? = nil, in tree: Tree) throws(StorageError) -> UInt64 {
        try lower.withUnsafeBytes { lower in
            guard let upper else {
                return result { () throws(StorageError) in
                    try count(ByteLayout.self, tree, from: bound(lower), to: nil)
                }
            }
            return upper.withUnsafeBytes { upper in
                result { () throws(StorageError) in
                    try count(ByteLayout.self, tree, from: bound(lower), to: bound(upper))
                }
            }
        }.get()
    }

    private func bound(_ key: UnsafeRawBufferPointer) -> KeyBytes {
        lendable(UnsafeRawBufferPointer(rebasing: key.prefix(Limits.keyBytes + 1)))
    }

    private func count<Layout: NodeLayout>(
        _ layout: Layout.Type, _ tree: Tree, from lower: Layout.Key?, to upper: Layout.Key?
    ) throws(StorageError) -> UInt64 {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        return try frames.count(
            layout, lookUpCounted(tree, Layout.leafType == .integerLeaf ? .integer : .bytes), from: lower, to: upper)
    }
}

extension Cursor {
    /// Goes to the entry that has `offset` others before it. False when the tree has no so many.
    ///
    /// ```swift
    /// var cursor = try snapshot.cursor(in: scores)
    /// var more = try cursor.seek(offset: 100_000)    // page 1,001 of a list
    /// ```
    ///
    /// - Complexity: logarithmic in a tree with ``TreeOptions/subtreeCounts``; of any other the leaves before the entry are visited.
    public mutating func seek(offset: UInt64) throws(StorageError) -> Bool {
        switch tree.keys {
        case .integer: try seek(IntegerLayout.self, offset: offset)
        case .bytes: try seek(ByteLayout.self, offset: offset)
        }
    }

    /// Goes to the entry that has `offset` others behind it, 0 being the last. False when the tree has no so many.
    ///
    /// - Complexity: that of ``seek(offset:)``.
    public mutating func seek(offsetFromEnd offset: UInt64) throws(StorageError) -> Bool {
        let count = try snapshot.count(of: tree)
        return try seek(offset: offset < count ? count - 1 - offset : .max)
    }
}
