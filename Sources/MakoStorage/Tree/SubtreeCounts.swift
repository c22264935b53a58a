/// The number of entries below each child of an inner node, in trees with subtree counts.
///
/// A transaction does not update counts for each entry: a descent for writing marks those on its path as unknown, and
/// so does every other change below a child. Unknown counts are computed when they are read, and before other
/// transactions can see the pages: at a savepoint, before pages are written, and at the commit. So a change only marks
/// its path, and each changed node is visited once at the end. All counts above an unknown count are unknown.
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

    /// Marks the count of a child as unknown, in a tree with counts.
    func forgetCount<Layout: NodeLayout>(_ layout: Layout.Type, _ page: Page, _ slot: Int) {
        if Layout.hasCounts(page) { Layout.setCount(page, at: slot, SubtreeCounts.unknown) }
    }

    /// Computes all unknown counts.
    func settleCounts() throws(StorageError) {
        guard hasStaleCounts else { return }
        for index in 0..<treeCount where trees[index].countsAreStale { try settleCounts(of: index) }
        hasStaleCounts = false
    }

    /// Computes the unknown counts of a tree. The tree must have no buffered puts.
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
        // Drop the hint, so that the next change descends and marks its path.
        hints[index] = .none
    }

    /// - Returns: the number of entries below an inner node.
    private func settle<Layout: NodeLayout>(_ layout: Layout.Type, _ reference: PageReference, _ level: Int)
        throws(StorageError) -> UInt64
    {
        let page = try frames.resolve(reference, type: Layout.innerType, level: level)
        guard Layout.hasCounts(page) else {
            throw .corrupted(page: reference.page, reason: "it has no counts, other than its tree")
        }
        var entries: UInt64 = 0
        for slot in 0..<page.count {
            var count = Layout.count(page, at: slot)
            if count == SubtreeCounts.unknown {
                guard isEditable(page) else {
                    throw .corrupted(page: reference.page, reason: "one of its counts is unknown")
                }
                let child = Layout.child(page, at: slot)
                count =
                    level > 1
                    ? try settle(layout, child, level - 1)
                    : UInt64(try frames.resolve(child, type: Layout.leafType, level: 0).count)
                Layout.setCount(page, at: slot, count)
            }
            // Wrapping, because forged counts may overflow.
            entries &+= count
        }
        return entries
    }
}

/// Counts entries by subtree counts, or else by the headers of leaves. The caller must be inside an operation epoch.
extension FrameStore {
    /// Returns the number of entries from a key to before another; nil is the end of the tree.
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
        to upper: Layout.Key?, _ scratch: Page
    ) throws(StorageError) -> UInt64 {
        guard level > 0 else {
            // With a full cache, read leaves into scratch memory: an operation may visit any number of leaves.
            let leaf =
                isInMemory(reference) || !isFull
                ? try resolve(reference, type: Layout.leafType, level: 0)
                : try peek(reference, type: Layout.leafType, scratch: scratch)
            let first = lower.map { Layout.find(leaf, $0).slot } ?? 0
            let end = upper.map { Layout.find(leaf, $0).slot } ?? leaf.count
            return UInt64(max(0, end - first))
        }
        let page = try resolve(reference, type: Layout.innerType, level: level)
        let first = lower.map { Layout.childSlot(page, $0) } ?? 0
        let last = upper.map { Layout.childSlot(page, $0) } ?? page.count - 1
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

    /// Returns the number of entries below a child of an inner node.
    func count<Layout: NodeLayout>(
        _ layout: Layout.Type, _ page: Page, _ slot: Int, _ level: Int, _ scratch: Page
    ) throws(StorageError) -> UInt64 {
        if Layout.hasCounts(page) { return Layout.count(page, at: slot) }
        if level == 1 && slot + 1 < page.count { prefetchHeader(Layout.child(page, at: slot + 1)) }
        return try count(layout, Layout.child(page, at: slot), level - 1, from: nil, to: nil, scratch)
    }

    /// Calls `body` with memory for one page.
    func withPageScratch<R>(_ body: (Page) throws(StorageError) -> R) throws(StorageError) -> R {
        let memory = BufferMemory(pageBytes, alignment: 64)
        defer { memory.deallocate() }
        return try body(Page(memory.start))
    }
}

extension Snapshot {
    /// Returns the number of keys of a tree before `key`, which need not exist.
    ///
    /// - Complexity: logarithmic in a tree with ``TreeOptions/subtreeCounts``; otherwise linear in the number of leaves
    ///   before the key.
    public func rank(of key: UInt64, in tree: Tree) throws(StorageError) -> UInt64 {
        try count(IntegerLayout.self, tree, from: nil, to: key)
    }

    /// Returns the number of keys of a tree before `key`, which need not exist.
    ///
    /// - Complexity: logarithmic in a tree with ``TreeOptions/subtreeCounts``; otherwise linear in the number of leaves
    ///   before the key.
    public func rank(of key: [UInt8], in tree: Tree) throws(StorageError) -> UInt64 {
        try key.withUnsafeBytes { key in
            result { () throws(StorageError) in try count(ByteLayout.self, tree, from: nil, to: bound(key)) }
        }.get()
    }

    /// Returns the number of entries of a tree with keys in a range.
    ///
    /// - Complexity: logarithmic in a tree with ``TreeOptions/subtreeCounts``; otherwise linear in the number of leaves
    ///   in the range.
    public func count(of range: ClosedRange<UInt64>, in tree: Tree) throws(StorageError) -> UInt64 {
        try count(
            IntegerLayout.self, tree, from: range.lowerBound,
            to: range.upperBound == .max ? nil : range.upperBound + 1)
    }

    /// Returns the number of entries of a tree with keys from `lower` to before `upper`; nil is the end of the tree.
    ///
    /// - Complexity: logarithmic in a tree with ``TreeOptions/subtreeCounts``; otherwise linear in the number of leaves
    ///   in the range.
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

    private func bound(_ key: KeyBytes) -> KeyBytes {
        addressed(KeyBytes(rebasing: key.prefix(Limits.keyBytes + 1)))
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
    /// Moves to the entry that has `offset` entries before it.
    ///
    /// ```swift
    /// var cursor = try snapshot.cursor(in: scores)
    /// var more = try cursor.seek(offset: 100_000)    // page 1,001 of a list
    /// ```
    ///
    /// - Returns: false if the tree has at most `offset` entries.
    /// - Complexity: logarithmic in a tree with ``TreeOptions/subtreeCounts``; otherwise linear in the number of leaves
    ///   before the entry.
    public mutating func seek(offset: UInt64) throws(StorageError) -> Bool {
        switch tree.keys {
        case .integer: try seek(IntegerLayout.self, offset: offset)
        case .bytes: try seek(ByteLayout.self, offset: offset)
        }
    }

    /// Moves to the entry that has `offset` entries after it; 0 is the last.
    ///
    /// - Returns: false if the tree has at most `offset` entries.
    /// - Complexity: as ``seek(offset:)``.
    public mutating func seek(offsetFromEnd offset: UInt64) throws(StorageError) -> Bool {
        let count = try snapshot.count(of: tree)
        return try seek(offset: offset < count ? count - 1 - offset : .max)
    }
}
