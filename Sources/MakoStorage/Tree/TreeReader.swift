import CPlatform

/// Descents from a root. The caller must be inside an operation epoch; results are valid until its end.
extension FrameStore {
    /// Returns the record of `key`; nil if there is none.
    @inline(__always)
    func find<Layout: NodeLayout>(_ layout: Layout.Type, _ tree: TreeState, _ key: Layout.Key) throws(StorageError)
        -> RecordView?
    {
        assert(Epochs.isInside, "invariant 11: a read without locks is inside an operation epoch")
        if tree.levels == 0 { return nil }
        var level = tree.levels &- 1
        var reference = tree.root
        var guess = 0
        while level > 0 {
            let page = try resolve(reference, type: Layout.innerType, level: level)
            let slot = Layout.childSlot(page, key)
            reference = Layout.child(page, at: slot)
            if level == 1 { guess = Layout.likelyOffset(of: key, inChildAt: slot, of: page) }
            level &-= 1
        }
        let leaf = try resolve(reference, type: Layout.leafType, level: 0)
        Layout.prefetchLeaf(leaf)
        if guess != 0 { prefetchRecord(leaf, at: guess) }
        let (slot, found) = Layout.find(leaf, key)
        guard found else { return nil }
        let offset = Layout.offset(leaf, slot)
        // Prefetch the next lines too, because callers read the whole record.
        mako_prefetch(leaf.base + (offset &+ 64) & (pageBytes &- 1))
        mako_prefetch(leaf.base + (offset &+ 128) & (pageBytes &- 1))
        return Layout.record(leaf, slot)
    }

    /// Prefetches the lines around the guessed offset of a record, while the search still waits for the leaf's first
    /// lines.
    @inline(__always)
    private func prefetchRecord(_ leaf: Page, at offset: Int) {
        mako_prefetch(leaf.base + (offset &- 64) & (pageBytes &- 1))
        mako_prefetch(leaf.base + offset & (pageBytes &- 1))
        mako_prefetch(leaf.base + (offset &+ 64) & (pageBytes &- 1))
        mako_prefetch(leaf.base + (offset &+ 128) & (pageBytes &- 1))
    }

    /// Prefetches a record that was found, because callers read all of it.
    @inline(__always)
    func prefetchRecord(_ leaf: Page, from offset: Int) {
        mako_prefetch(leaf.base + offset & (pageBytes &- 1))
        mako_prefetch(leaf.base + (offset &+ 64) & (pageBytes &- 1))
        mako_prefetch(leaf.base + (offset &+ 128) & (pageBytes &- 1))
    }

    /// Prefetches records for a scan. Records inserted in order are stored before the record of the preceding key.
    @inline(__always)
    func prefetchRecords(_ leaf: Page, endingAt offset: Int) {
        for line in -2..<20 { mako_prefetch(leaf.base + (offset &- line &* 64) & (pageBytes &- 1)) }
    }

    /// Descends one step from an inner node, and prefetches the lines of the child that are read next.
    @inline(__always)
    func step<Layout: NodeLayout>(
        _ layout: Layout.Type, _ reference: PageReference, level: Int, _ key: Layout.Key
    ) throws(StorageError) -> PageReference {
        let page = try resolve(reference, type: Layout.innerType, level: level)
        let child = Layout.child(page, at: Layout.childSlot(page, key))
        if level > 1 { prefetchPage(child) } else { prefetchLeaf(child) }
        return child
    }

    /// Descends with a batch of lookups together, level by level, so that their cache misses overlap.
    ///
    /// - Parameters:
    ///   - keys: the keys, in any order.
    ///   - references: memory for one reference per key; holds the leaves afterwards.
    @inline(__always)
    func descend<Layout: NodeLayout>(
        _ layout: Layout.Type, _ tree: TreeState, _ keys: UnsafeBufferPointer<Layout.Key>,
        _ references: UnsafeMutableBufferPointer<PageReference>
    ) throws(StorageError) {
        for index in 0..<keys.count { references[index] = tree.root }
        var level = tree.levels &- 1
        while level > 0 {
            for index in 0..<keys.count {
                let page = try resolve(references[index], type: Layout.innerType, level: level)
                let child = Layout.child(page, at: Layout.childSlot(page, keys[index]))
                references[index] = child
                prefetchLeaf(child)
            }
            if expectsSlowReads { startReading(keys.count) { references[$0] } }
            level &-= 1
        }
    }
}
