/// A position in a tree of either key kind.
enum TreePosition {
    case start
    case integer(UInt64)
    case bytes([UInt8])

    /// Whether it is before another position of the same tree.
    func isBefore(_ other: TreePosition) -> Bool {
        switch (self, other) {
        case (.integer(let a), .integer(let b)): a < b
        case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
        default: false
        }
    }
}

/// Relocation of pages, for the vacuum. It is not logged, because the log has keys and values only.
extension Writer {
    /// The number of entries that one call visits, and of pages of values that it moves.
    private static let entriesPerCall = 4096
    private static let pagesPerCall = 256

    /// Takes pages below `limit` for the coming relocations.
    func useNumbers(below limit: UInt64, count: Int) {
        returnUnusedNumbers()
        lists.pages = store.versions.allocatePages(count, below: limit)
    }

    /// Moves the pages on the path to a key if one of them is beyond `limit`.
    ///
    /// - Returns: false if too few pages were taken.
    func relocate(_ tree: UInt32, _ position: TreePosition, beyond limit: UInt64) throws(StorageError) -> Bool {
        guard let index = treeIndex(trees, count: treeCount, id: tree), trees[index].levels > 0 else { return true }
        switch (trees[index].kind, position) {
        case (.integer, .integer(let key)): return try relocate(IntegerLayout.self, index, key, limit)
        case (.bytes, .bytes(let key)):
            return try key.withUnsafeBytes { key in
                result { () throws(StorageError) in try relocate(ByteLayout.self, index, addressed(key), limit) }
            }.get()
        default: return true
        }
    }

    private func relocate<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ limit: UInt64
    ) throws(StorageError) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        guard try leads(layout, index, key, beyond: limit) else { return true }
        guard lists.pages.count >= trees[index].levels else { return false }
        do throws(StorageError) { try descend(layout, index, key) } catch { throw fail(error) }
        // The hints may name a page that was moved.
        forgetHints()
        noteChange()
        return true
    }

    private func leads<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, beyond limit: UInt64
    ) throws(StorageError) -> Bool {
        var reference = trees[index].root
        var level = trees[index].levels - 1
        while reference.page < limit {
            guard level > 0 else { return false }
            let page = try frames.resolve(reference, type: Layout.innerType, level: level)
            reference = Layout.child(page, at: Layout.childSlot(page, key))
            level -= 1
        }
        return true
    }

    /// Rewrites values whose pages are beyond `limit`.
    ///
    /// - Returns: where to continue; nil at the end of the tree.
    func relocateLargeValues(_ tree: UInt32, from start: TreePosition, beyond limit: UInt64) throws(StorageError)
        -> TreePosition?
    {
        guard let index = treeIndex(trees, count: treeCount, id: tree) else { return nil }
        let tree = Tree(id: tree, keys: trees[index].kind)
        var cursor = try view.cursor(in: tree)
        var isThere = try cursor.seek(start)
        var entries = 0
        var pages = 0
        while isThere {
            if entries == Writer.entriesPerCall || pages >= Writer.pagesPerCall { return cursor.position }
            if let old = try cursor.overflow() {
                // Take no more pages than one path needs, because runs are searched among the free pages.
                useNumbers(below: limit, count: trees[index].levels + 1)
                let moved = try move(old, at: cursor.position, index, beyond: limit)
                if moved > 0 { noteChange() }
                pages += moved
            }
            entries += 1
            isThere = try cursor.next()
        }
        return nil
    }

    private func move(_ old: Overflow, at position: TreePosition, _ index: Int, beyond limit: UInt64)
        throws(StorageError) -> Int
    {
        switch position {
        case .start: return 0
        case .integer(let key): return try moveRuns(IntegerLayout.self, index, key, of: old, beyond: limit)
        case .bytes(let key):
            return try key.withUnsafeBytes { key in
                result { () throws(StorageError) in
                    try moveRuns(ByteLayout.self, index, addressed(key), of: old, beyond: limit)
                }
            }.get()
        }
    }
}

extension Cursor {
    /// The position of the cursor.
    var position: TreePosition { tree.keys == .integer ? .integer(integerKey) : .bytes(key) }

    mutating func seek(_ position: TreePosition) throws(StorageError) -> Bool {
        switch position {
        case .start: try first()
        case .integer(let key): try seek(key)
        case .bytes(let key): try seek(key)
        }
    }

    /// Returns the overflow descriptor of the current value; nil if the value is in its leaf.
    func overflow() throws(StorageError) -> Overflow? {
        let record = record()
        return record.isOverflow ? try snapshot.overflow(record) : nil
    }
}
