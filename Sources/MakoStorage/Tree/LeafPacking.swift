/// Leaf packing: fills the leaves of a tree in one pass at the end of a transaction that changed many of them.
///
/// Leaf rebalancing (LeafRebalancing.swift) keeps leaves full at every change, and every change pays for it. A transaction
/// that has met many full or sparse leaves, most of them beside leaves of its own, defers this work. At the commit it
/// owns these leaves, so one pass from left to right fills all of them and moves each entry once. A transaction that
/// changes single leaves has nothing to pack.
extension Writer {
    /// The number of full or sparse leaves that a transaction rebalances at once before it defers the rest.
    private static var sharesAtOnce: Int { 64 }
    /// Returns the target size of a packed leaf: it leaves space for a small entry, so that the next insertion does not
    /// split it.
    private static func packedBytes(_ room: Int) -> Int { room * 97 / 100 }

    /// Whether the rebalancing of a tree's leaves is deferred. Called for each leaf that is full, or has lost much.
    ///
    /// Never after pages were spilled, because the pass would load them into memory again.
    func sharesLater<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) -> Bool {
        crowdedLeaves &+= 1
        if trees[index].levels < 2 || isBesideOwn(layout) {
            crowdedBesideOwn &+= 1
        }
        guard crowdedLeaves > Writer.sharesAtOnce, crowdedBesideOwn > crowdedLeaves / 2, !hasSpilled else {
            return false
        }
        streaks[index].packsLater = true
        return true
    }

    /// Whether a leaf next to the path's leaf belongs to this transaction.
    private func isBesideOwn<Layout: NodeLayout>(_ layout: Layout.Type) -> Bool {
        let (parent, slot) = (path[1].page, path[1].slot)
        if slot > 0 && ownChild(layout, parent, slot - 1) != nil { return true }
        return slot + 1 < parent.count && ownChild(layout, parent, slot + 1) != nil
    }

    /// Packs the leaves of the trees whose rebalancing was deferred. There must be no buffered inserts.
    ///
    /// Inside an operation nothing is packed, because the caller may scan a tree, or have borrowed its values, and packing
    /// moves the entries of trees that the caller does not change.
    func packLeaves() throws(StorageError) {
        if Epochs.isInside { return }
        let isNeeded = crowdedLeaves > Writer.sharesAtOnce
        crowdedLeaves = 0
        crowdedBesideOwn = 0
        guard isNeeded else { return }
        for index in 0..<treeCount where streaks[index].packsLater {
            streaks[index].packsLater = false
            let entry = Epochs.enter()
            defer { Epochs.leave(entry) }
            do throws(StorageError) {
                switch trees[index].kind {
                case .integer: try pack(IntegerLayout.self, index)
                case .bytes: try pack(ByteLayout.self, index)
                }
            } catch { throw fail(error) }
            hints[index] = .none
            noteChange()
        }
    }

    private func pack<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        let level = trees[index].levels - 1
        guard level > 0 else { return }
        let root = try frames.resolve(trees[index].root, type: Layout.innerType, level: level)
        guard isEditable(root) else { return }
        pack(layout, root, level, isRoot: true)
        if trees[index].isCounted {
            trees[index].countsAreStale = true
            hasStaleCounts = true
        }
        try shrinkRoot(layout, index)
        // The merged pages were never written, and need not be.
        returnDeadPages(always: true)
    }

    /// Packs the subtrees of an inner node that belong to this transaction. The node must belong to it too.
    private func pack<Layout: NodeLayout>(_ layout: Layout.Type, _ page: Page, _ level: Int, isRoot: Bool) {
        if level > 1 {
            for slot in 0..<page.count {
                guard let child = ownChild(layout, page, slot) else { continue }
                forgetCount(layout, page, slot)
                pack(layout, child, level - 1, isRoot: false)
            }
        }
        var slot = 0
        while slot + 1 < page.count {
            if level == 1 && slot + 2 < page.count { frames.prefetchHeap(Layout.child(page, at: slot + 2)) }
            guard let left = ownChild(layout, page, slot), let right = ownChild(layout, page, slot + 1) else {
                slot += 1
                continue
            }
            // An inner node keeps two children, so that no level becomes as wide as the level below.
            if page.count > 2 || isRoot, Layout.canMerge(left, right) {
                forgetCount(layout, page, slot)
                Layout.merge(left, right, parent: page, separator: slot + 1, scratch: scratch)
                Layout.removeChild(page, at: slot + 1)
                free(right)
                continue
            }
            if level == 1 { fill(layout, left, from: right, page, slot) }
            slot += 1
        }
    }

    /// Moves as many entries as fit from a leaf to the leaf before it.
    private func fill<Layout: NodeLayout>(
        _ layout: Layout.Type, _ left: Page, from right: Page, _ parent: Page, _ slot: Int
    ) {
        let room = Writer.packedBytes(Layout.leafRoom) - Layout.usedBytes(left)
        guard room > Layout.leafRoom / 50 else { return }
        forgetCount(layout, parent, slot)
        forgetCount(layout, parent, slot + 1)
        // If the move is not possible, both leaves stay as they are.
        _ = Layout.shift(left, right, by: -room, parent: parent, separator: slot + 1, scratch: scratch)
    }

    /// Returns a child that this transaction may change in place; nil for others, which are not loaded.
    private func ownChild<Layout: NodeLayout>(_ layout: Layout.Type, _ page: Page, _ slot: Int) -> Page? {
        guard let frame = frames.dirtyFrame(page: Layout.child(page, at: slot).page) else { return nil }
        let child = Page(frame)
        return isEditable(child) ? child : nil
    }
}
