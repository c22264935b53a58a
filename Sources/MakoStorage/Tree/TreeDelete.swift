/// Removes entries, and merges the nodes that become sparse.
extension Writer {
    /// Removes an entry. Returns false if the key does not exist.
    ///
    /// - Parameters:
    ///   - leaf: the leaf found for the key in a group deletion; none otherwise.
    ///   - shape: the value of `shape` when the leaf was found.
    func delete<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, in leaf: PageReference = .none, shape: UInt64 = 0
    ) throws(StorageError) -> Bool {
        try applyBufferedPuts(of: index)
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        if let leaf = try ownLeaf(layout, index, leaf, shape) {
            let (slot, found) = Layout.find(leaf, key)
            guard found else { return false }
            do throws(StorageError) {
                try remove(layout, index, leaf, slot)
                if hasLostMuch(layout, leaf) {
                    try descend(layout, index, key)
                    try rebalance(layout, index)
                }
                return true
            } catch { throw fail(error) }
        }
        guard let slot = try locate(layout, index, key) else { return false }
        do throws(StorageError) {
            try ownPath(layout, index)
            try remove(layout, index, path[0].page, slot)
            if hasLostMuch(layout, path[0].page) { try rebalance(layout, index) }
            return true
        } catch { throw fail(error) }
    }

    /// Returns the leaf of a reference found earlier, if it can be changed in place and still covers its keys.
    ///
    /// While `shape` is the same, pages were only copied, and the originals are neither changed nor reused.
    @inline(__always)
    private func ownLeaf<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ leaf: PageReference, _ shape: UInt64
    ) throws(StorageError) -> Page? {
        guard leaf != .none, shape == self.shape, !trees[index].isCounted, frames.isInMemory(leaf) else { return nil }
        let page = try frames.resolve(leaf, type: Layout.leafType, level: 0)
        return isEditable(page) ? page : nil
    }

    /// Descends to the leaf for a key without copying pages. Returns the slot of its entry; nil if there is none.
    private func locate<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, _ key: Layout.Key)
        throws(StorageError) -> Int?
    {
        var level = trees[index].levels - 1
        guard level >= 0 else { return nil }
        var reference = trees[index].root
        while level > 0 {
            let page = try frames.resolve(reference, type: Layout.innerType, level: level)
            let slot = Layout.childSlot(page, key)
            path[level] = PathStep(page: page, slot: slot)
            reference = Layout.child(page, at: slot)
            level -= 1
        }
        let leaf = try frames.resolve(reference, type: Layout.leafType, level: 0)
        path[0] = PathStep(page: leaf, slot: 0)
        let (slot, found) = Layout.find(leaf, key)
        return found ? slot : nil
    }

    /// Makes every page of the path this transaction's own.
    private func ownPath<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        for level in (0..<trees[index].levels).reversed() {
            path[level].page = try own(layout, index, level, path[level].page)
        }
        if trees[index].isCounted { forgetCounts(layout, index) }
    }

    @inline(__always)
    private func remove<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ leaf: Page, _ slot: Int
    ) throws(StorageError) {
        let record = Layout.record(leaf, slot)
        if record.isOverflow { try freeValue(record) }
        Layout.remove(leaf, at: slot)
        trees[index].count &-= 1
        hints[index] = .none
    }

    /// Whether a leaf that has lost an entry must be merged or rebalanced. Not true at every removal, to bound the
    /// work.
    @inline(__always)
    private func hasLostMuch<Layout: NodeLayout>(_ layout: Layout.Type, _ leaf: Page) -> Bool {
        Layout.isSparse(leaf)
            || leaf.count % 4 == 0 && Layout.usedBytes(leaf) < Layout.leafRoom * 3 / 4
    }

    /// Merges sparse nodes with a neighbour, from the leaf up, and removes empty ones.
    private func rebalance<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        if !Layout.isSparse(path[0].page) {
            guard !sharesLater(layout, index), try condense(layout, index) else { return }
        }
        try rebalanceInner(layout, index)
    }

    private func rebalanceInner<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        var level = 0
        while level < trees[index].levels - 1, Layout.isSparse(path[level].page) {
            if path[level].page.count == 0 && !Layout.hasFences {
                free(path[level].page)
                Layout.removeChild(path[level + 1].page, at: path[level + 1].slot)
            } else if try !mergeWithNeighbour(layout, index, level) {
                break
            }
            level += 1
        }
        try shrinkRoot(layout, index)
    }

    /// Merges the path's node at `level` with an adjacent child of the same parent if they fit one page.
    ///
    /// If its parent has no other child, merges the parent first. With fences an inner node never loses its only child,
    /// because the fences of the neighbours' children would not cover that child's keys.
    func mergeWithNeighbour<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, _ level: Int)
        throws(StorageError) -> Bool
    {
        guard level < trees[index].levels - 1 else { return false }
        if path[level + 1].page.count == 1 {
            guard try mergeWithNeighbour(layout, index, level + 1) else { return false }
        }
        let slot = path[level + 1].slot
        if slot + 1 < path[level + 1].page.count, try merge(layout, index, level, left: slot) { return true }
        return slot > 0 ? try merge(layout, index, level, left: slot - 1) : false
    }

    /// Merges the children `left` and `left + 1` of the parent, one of which is on the path, if they fit one page.
    private func merge<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, _ level: Int, left slot: Int)
        throws(StorageError)
        -> Bool
    {
        let parent = path[level + 1].page
        let type = level > 0 ? Layout.innerType : Layout.leafType
        var left = try frames.resolve(Layout.child(parent, at: slot), type: type, level: level)
        let right = try frames.resolve(Layout.child(parent, at: slot + 1), type: type, level: level)
        guard Layout.canMerge(left, right) else { return false }
        if path[level + 1].slot > slot { path[level].slot += left.count }
        path[level + 1].slot = slot
        left = try own(layout, index, level, left)
        forgetCount(layout, parent, slot)
        Layout.merge(left, right, parent: parent, separator: slot + 1, scratch: scratch)
        free(right)
        Layout.removeChild(parent, at: slot + 1)
        path[level].page = left
        return true
    }

    func shrinkRoot<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        while trees[index].levels > 0 {
            let level = trees[index].levels - 1
            let type = level > 0 ? Layout.innerType : Layout.leafType
            let root = try frames.resolve(trees[index].root, type: type, level: level)
            if root.count == 0 {
                free(root)
                trees[index].becomeEmpty()
            } else if level > 0 && root.count == 1 {
                let child = Layout.child(root, at: 0)
                free(root)
                trees[index].root = child
                trees[index].levels = level
            } else {
                return
            }
        }
    }
}
