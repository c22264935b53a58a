/// Leaves that share what they hold with their neighbours, so that a tree that was filled or emptied in no order has full pages.
///
/// All of them are children of one node. Entries move from a leaf to the one beside it only, in as many steps as it takes.
extension Writer {
    /// How far from a leaf room is sought.
    private static var reach: Int { 3 }
    /// How far others are sought that can take over what a leaf has left.
    private static var condensingReach: Int { 4 }
    /// A split is followed by levelling with so many leaves on each side.
    private static var splitReach: Int { 2 }

    /// Moves entries of a full leaf, the path's, towards a neighbour that has room. False when none has, or the way is blocked.
    ///
    /// Full pages cost insertions time: with half of this demand a tree filled at random would be a few hundredths smaller, and
    /// filling it take a third longer.
    ///
    /// - Parameter needed: the bytes that an entry needs; each of the leaves on the way is to have half as many again in the end.
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

    /// After the path's leaf was split: its neighbours share in the room.
    func shareRoom<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        _ = try level(layout, index, window(path[1].slot, Writer.splitReach), without: nil)
    }

    /// Does without the path's leaf when its neighbours have room for what is in it. False when it stays.
    func condense<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) -> Bool {
        guard trees[index].levels > 1 else { return false }
        let slot = path[1].slot
        let around = window(slot, Writer.condensingReach)
        prefetchHeaders(layout, around)
        guard let leaves = try dispensable(layout, slot, around) else { return false }
        if leaves.count > 2 {
            // What cannot be moved stays, and then the leaf does.
            _ = try level(layout, index, leaves, without: slot)
        }
        return try mergeWithNeighbour(layout, index, 0)
    }

    /// The fewest leaves about the path's that have room for all their entries with one leaf less.
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

    /// Makes leaves equally full, but for one that is to lose all it can.
    ///
    /// - Parameter leaves: their places in the path's parent.
    /// - Returns: whether anything was moved.
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
        // What has to pass from each leaf to the next, backwards when it is negative.
        var flows: [Int] = []
        var surplus = 0
        for (leaf, bytes) in zip(leaves, used).dropLast() {
            surplus += bytes - (leaf == lost ? 0 : share)
            flows.append(surplus)
        }
        var hasMoved = false
        // The leaf that takes always comes first: it has made room by giving before.
        for place in flows.indices.reversed() where flows[place] > 0 {
            if try shift(layout, index, leaves.lowerBound + place, bytes: flows[place], toRight: true) {
                hasMoved = true
            }
        }
        for place in flows.indices where flows[place] < 0 {
            if try shift(layout, index, leaves.lowerBound + place, bytes: -flows[place], toRight: false) {
                hasMoved = true
            }
        }
        return hasMoved
    }

    /// Moves entries between the leaf in `slot` of the path's parent and the next one.
    private func shift<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ slot: Int, bytes: Int, toRight: Bool
    ) throws(StorageError) -> Bool {
        let parent = path[1].page
        // Asked before the two are copied: large entries often do not divide so finely.
        let giver = try frames.resolve(
            Layout.child(parent, at: toRight ? slot : slot + 1), type: Layout.leafType, level: 0)
        guard Layout.canGive(giver, bytes: bytes, atEnd: toRight) else { return false }
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
        return Layout.shift(
            left, right, bytes: bytes, toRight: toRight, parent: parent, separator: slot + 1, scratch: scratch)
    }

    /// The children of the path's parent that are no further than `reach` from one of them.
    private func window(_ slot: Int, _ reach: Int) -> Range<Int> {
        max(0, slot - reach)..<min(Page(path[1].page).count, slot + reach + 1)
    }

    private func usedBytes<Layout: NodeLayout>(_ layout: Layout.Type, _ slot: Int) throws(StorageError) -> Int {
        let reference = Layout.child(path[1].page, at: slot)
        return Layout.usedBytes(try frames.resolve(reference, type: Layout.leafType, level: 0))
    }

    private func prefetchHeaders<Layout: NodeLayout>(_ layout: Layout.Type, _ slots: Range<Int>) {
        for slot in slots { frames.prefetchHeader(Layout.child(path[1].page, at: slot)) }
    }
}
