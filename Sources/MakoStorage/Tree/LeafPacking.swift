/// Leaves that are made full in one pass at the end of a transaction that changes many.
///
/// Sharing with neighbours keeps a tree's leaves full change by change (LeafSpread.swift), and each change pays for it. A transaction that has
/// met many full leaves, or emptied many, most of them beside leaves of its own, leaves that for later: those are its own until the commit, so
/// it can fill them all from left to right in one walk, and each entry moves once. One that changes a leaf here and there has nothing to move.
extension Writer {
    /// Full and emptied leaves that a transaction looks after at once before it leaves the rest for later.
    private static var sharesAtOnce: Int { 64 }
    /// A packed leaf has room for one more small entry, so that the next insertion need not divide it.
    private static func packedBytes(_ room: Int) -> Int { room * 97 / 100 }

    /// Whether a tree's leaves are packed in the end: what is asked for each leaf that is full, or has lost much.
    ///
    /// Not once pages were handed to the device: a walk over all that are there would bring them back to memory.
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

    /// Whether a leaf next to the path's is the transaction's own.
    private func isBesideOwn<Layout: NodeLayout>(_ layout: Layout.Type) -> Bool {
        let (parent, slot) = (path[1].page, path[1].slot)
        if slot > 0 && ownChild(layout, parent, slot - 1) != nil { return true }
        return slot + 1 < Page(parent).count && ownChild(layout, parent, slot + 1) != nil
    }

    /// Packs the leaves of the trees that were left for later. No puts must be waiting.
    func packLeaves() throws(StorageError) {
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
        // They were never written, and are not to be.
        returnDeadPages(always: true)
    }

    /// Packs what is below an inner node that is the transaction's own, as far as that is, too.
    private func pack<Layout: NodeLayout>(
        _ layout: Layout.Type, _ page: UnsafeMutableRawPointer, _ level: Int, isRoot: Bool
    ) {
        if level > 1 {
            for slot in 0..<Page(page).count {
                guard let child = ownChild(layout, page, slot) else { continue }
                forgetCount(layout, page, slot)
                pack(layout, child, level - 1, isRoot: false)
            }
        }
        var slot = 0
        while slot + 1 < Page(page).count {
            if level == 1 && slot + 2 < Page(page).count { frames.prefetchHeap(Layout.child(page, at: slot + 2)) }
            guard let left = ownChild(layout, page, slot), let right = ownChild(layout, page, slot + 1) else {
                slot += 1
                continue
            }
            // An inner node keeps two children, so that no level becomes as wide as the one below it.
            if Page(page).count > 2 || isRoot, Layout.canMerge(left, right) {
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

    /// Moves entries from a leaf to the one before it, as many as that has room for.
    private func fill<Layout: NodeLayout>(
        _ layout: Layout.Type, _ left: UnsafeMutableRawPointer, from right: UnsafeMutableRawPointer,
        _ parent: UnsafeMutableRawPointer, _ slot: Int
    ) {
        let room = Writer.packedBytes(Layout.leafRoom) - Layout.usedBytes(left)
        guard room > Layout.leafRoom / 50 else { return }
        forgetCount(layout, parent, slot)
        forgetCount(layout, parent, slot + 1)
        // Where it cannot be done both stay as they are.
        _ = Layout.shift(
            left, right, bytes: room, toRight: false, parent: parent, separator: slot + 1, scratch: scratch)
    }

    /// A child that this transaction may change in place. Others are not looked at: they may have to be read first.
    private func ownChild<Layout: NodeLayout>(
        _ layout: Layout.Type, _ page: UnsafeMutableRawPointer, _ slot: Int
    ) -> UnsafeMutableRawPointer? {
        guard let child = frames.dirtyFrame(page: Layout.child(page, at: slot).page), isEditable(child) else {
            return nil
        }
        return child
    }
}
