/// Leaf rebalancing: leaves share their contents with their neighbours, so that a tree filled or emptied in random
/// order has full pages.
///
/// Only children of one node take part. Entries move between adjacent leaves only, in as many steps as needed.
extension Writer {
    /// The number of leaves on each side in which space is searched.
    private static var reach: Int { 3 }
    /// The number of leaves on each side that may take over the entries of a sparse leaf.
    private static var condensingReach: Int { 4 }
    /// The number of leaves on each side that are levelled after a split.
    private static var splitReach: Int { 2 }

    /// Moves entries of the path's leaf, which is full, towards a neighbour with space. Returns false if no neighbour
    /// has enough, or the entries cannot be moved.
    ///
    /// Fuller pages make insertions slower: with half of this margin a tree filled in random order would be a few
    /// percent smaller, and filling it would take a third longer.
    ///
    /// - Parameter needed: the bytes of the new entry; each leaf on the way must end with one and a half times as much
    ///   space.
    func spread<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, needed: Int) throws(StorageError) -> Bool {
        guard trees[index].levels > 1 else { return false }
        let slot = path[1].slot
        let around = window(slot, Writer.reach)
        prefetchHeaders(layout, around)
        for distance in 1...Writer.reach {
            for neighbour in [slot - distance, slot + distance] where around.contains(neighbour) {
                let free = try Layout.leafRoom - usedBytes(layout, neighbour)
                if free >= (distance + 1) * needed * 3 / 2 {
                    let leaves = min(slot, neighbour)..<max(slot, neighbour) + 1
                    return try level(layout, index, leaves, without: nil)
                }
            }
        }
        return false
    }

    /// Levels the neighbours of the path's leaf after a split.
    func shareRoom<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        _ = try level(layout, index, window(path[1].slot, Writer.splitReach), without: nil)
    }

    /// Removes the path's leaf if its neighbours have space for its entries. Returns false if it stays.
    func condense<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) -> Bool {
        guard trees[index].levels > 1 else { return false }
        let slot = path[1].slot
        let around = window(slot, Writer.condensingReach)
        prefetchHeaders(layout, around)
        guard let leaves = try dispensable(layout, slot, around) else { return false }
        if leaves.count > 2 {
            // If some entries cannot be moved, the leaf stays.
            _ = try level(layout, index, leaves, without: slot)
        }
        return try mergeWithNeighbour(layout, index, 0)
    }

    /// Returns the smallest range of leaves around the path's leaf whose entries fit one leaf less.
    private func dispensable<Layout: NodeLayout>(_ layout: Layout.Type, _ slot: Int, _ around: Range<Int>)
        throws(StorageError) -> Range<Int>?
    {
        let most = Layout.leafRoom * 95 / 100
        for count in 2...Writer.condensingReach + 1 where count <= around.count {
            for start in max(around.lowerBound, slot - count + 1)...min(slot, around.upperBound - count) {
                var used = 0
                for leaf in start..<start + count { used += try usedBytes(layout, leaf) }
                if used <= (count - 1) * most { return start..<start + count }
            }
        }
        return nil
    }

    /// Makes leaves equally full, except for one that loses as much as possible.
    ///
    /// - Parameter leaves: the slots of the leaves in the path's parent.
    /// - Returns: whether entries were moved.
    private func level<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ leaves: Range<Int>, without lost: Int?
    ) throws(StorageError) -> Bool {
        for leaf in leaves { frames.prefetchLeaf(Layout.child(path[1].page, at: leaf)) }
        var used: [Int] = []
        for leaf in leaves {
            used.append(try usedBytes(layout, leaf))
            frames.prefetchHeap(Layout.child(path[1].page, at: leaf))
        }
        let share = used.reduce(0, +) / max(1, leaves.count - (lost == nil ? 0 : 1))
        // The bytes to move from each leaf to the next; negative for the other direction.
        var flows: [Int] = []
        var surplus = 0
        for (leaf, bytes) in zip(leaves, used).dropLast() {
            surplus += bytes - (leaf == lost ? 0 : share)
            flows.append(surplus)
        }
        var hasMoved = false
        // Process the leaves so that each gives before it takes, because giving frees the space.
        for place in flows.indices.reversed() where flows[place] > 0 {
            if try shift(layout, index, leaves.lowerBound + place, by: flows[place]) {
                hasMoved = true
            }
        }
        for place in flows.indices where flows[place] < 0 {
            if try shift(layout, index, leaves.lowerBound + place, by: flows[place]) {
                hasMoved = true
            }
        }
        return hasMoved
    }

    /// Moves entries of about `flow` bytes from the leaf in `slot` of the path's parent to the next leaf; back from it
    /// if `flow` is negative.
    private func shift<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ slot: Int, by flow: Int
    ) throws(StorageError) -> Bool {
        let parent = path[1].page
        let toRight = flow > 0
        // Check before both leaves are copied, because large entries often cannot be divided so finely.
        let giver = try frames.resolve(
            Layout.child(parent, at: toRight ? slot : slot + 1), type: Layout.leafType, level: 0)
        guard Layout.canGive(giver, bytes: abs(flow), atEnd: toRight) else { return false }
        let present = path[1].slot
        defer { path[1].slot = present }
        path[1].slot = slot
        let left = try own(
            layout, index, 0, frames.resolve(Layout.child(parent, at: slot), type: Layout.leafType, level: 0))
        path[1].slot = slot + 1
        let right = try own(
            layout, index, 0, frames.resolve(Layout.child(parent, at: slot + 1), type: Layout.leafType, level: 0))
        hints[index] = .none
        noteShape()
        forgetCount(layout, parent, slot)
        forgetCount(layout, parent, slot + 1)
        return Layout.shift(left, right, by: flow, parent: parent, separator: slot + 1, scratch: scratch)
    }

    /// Returns the children of the path's parent within `reach` of a slot.
    private func window(_ slot: Int, _ reach: Int) -> Range<Int> {
        max(0, slot - reach)..<min(path[1].page.count, slot + reach + 1)
    }

    private func usedBytes<Layout: NodeLayout>(_ layout: Layout.Type, _ slot: Int) throws(StorageError) -> Int {
        let reference = Layout.child(path[1].page, at: slot)
        return Layout.usedBytes(try frames.resolve(reference, type: Layout.leafType, level: 0))
    }

    private func prefetchHeaders<Layout: NodeLayout>(_ layout: Layout.Type, _ slots: Range<Int>) {
        for slot in slots { frames.prefetchHeader(Layout.child(path[1].page, at: slot)) }
    }
}
