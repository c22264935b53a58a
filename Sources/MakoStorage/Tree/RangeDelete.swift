/// Range deletion: frees subtrees inside the range without reading their entries.
extension Writer {
    /// Removes the entries from `lower` to before `upper`; nil is the end of the tree.
    ///
    /// The pages on the two edges of the range are cut and joined with their neighbours; the pages between are freed, in
    /// operations that end where a node of the lowest inner level does, because an operation keeps the frames that it
    /// has read.
    ///
    /// - Returns: the number of removed entries.
    func deleteRange<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, from lower: Layout.Key, to upper: Layout.Key?
    ) throws(StorageError) -> UInt64 {
        try applyBufferedPuts(of: index)
        guard trees[index].levels > 0 else { return 0 }
        do throws(StorageError) {
            let before = trees[index].count
            hints[index] = .none
            var end: Layout.Key? = lower
            while let begin = end {
                try operation { () throws(StorageError) in
                    end = try endOfPart(layout, index, from: begin, to: upper)
                    try cutRange(layout, index, lower, end ?? upper)
                }
                countLists()
            }
            try operation { () throws(StorageError) in
                try mend(layout, index, at: lower)
                try mend(layout, index, at: upper ?? Layout.highest)
            }
            // Wrapping, because a forged count may be too small.
            return before &- trees[index].count
        } catch { throw fail(error) }
    }

    /// Returns where the node of the lowest inner level that leads to `key` ends; nil if that is not before `upper`.
    private func endOfPart<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, from key: Layout.Key, to upper: Layout.Key?
    ) throws(StorageError) -> Layout.Key? {
        guard trees[index].levels > 2 else { return nil }
        var level = trees[index].levels - 1
        var page = try frames.resolve(trees[index].root, type: Layout.innerType, level: level)
        var end: Layout.Key?
        while level > 1 {
            let slot = Layout.childSlot(page, key)
            level -= 1
            let child = try frames.resolve(Layout.child(page, at: slot), type: Layout.innerType, level: level)
            end = Layout.end(of: child, at: slot, in: page) ?? end
            page = child
        }
        // In a damaged file the end of a node may be at or before its own keys.
        guard let end, Layout.isLess(key, end), Layout.isLess(end, upper ?? Layout.highest) else { return nil }
        return Layout.keep(end, in: scratch.separator(Limits.levels + 1))
    }

    /// Frees all pages of a tree and leaves it empty.
    func deleteAll<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        // Apply the puts of all trees, because this tree may be removed from the table, which moves the others.
        try applyBufferedPuts()
        do throws(StorageError) {
            let tree = trees[index]
            if tree.levels > 0 { try freeInParts(layout, index, tree.root, level: tree.levels - 1) }
            trees[index].becomeEmpty()
            hints[index] = .none
        } catch { throw fail(error) }
    }

    /// Frees a subtree. Each node above leaves is an operation of its own, because an operation keeps the frames that it
    /// has read, and because the list of freed pages takes frames, which are given up between operations.
    private func freeInParts<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ reference: PageReference, level: Int
    ) throws(StorageError) {
        guard level > 1 else {
            try operation { () throws(StorageError) in
                _ = try freeSubtree(layout, index, reference, level: level)
            }
            return countLists()
        }
        var slot = 0
        while let child = try child(layout, reference, slot, level: level) {
            try freeInParts(layout, index, child, level: level - 1)
            slot += 1
        }
        try operation { () throws(StorageError) in
            free(try frames.resolve(reference, type: Layout.innerType, level: level))
        }
    }

    /// Returns a child of an inner node; nil behind the last one.
    private func child<Layout: NodeLayout>(
        _ layout: Layout.Type, _ reference: PageReference, _ slot: Int, level: Int
    ) throws(StorageError) -> PageReference? {
        var child: PageReference?
        try operation { () throws(StorageError) in
            let page = try frames.resolve(reference, type: Layout.innerType, level: level)
            if slot < page.count { child = Layout.child(page, at: slot) }
        }
        return child
    }

    private func operation(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        try body()
    }

    // MARK: Cutting

    /// Removes the range. The tree stays valid, but may have sparse nodes.
    private func cutRange<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ lower: Layout.Key, _ upper: Layout.Key?
    ) throws(StorageError) {
        while true {
            try descend(layout, index, upper ?? Layout.highest)
            var right = (0..<trees[index].levels).map { path[$0] }
            try descend(layout, index, lower)
            right[0].slot = upper.map { Layout.find(right[0].page, $0).slot } ?? right[0].page.count
            path[0].slot = Layout.find(path[0].page, lower).slot
            guard let top = (1..<right.count).last(where: { path[$0].slot != right[$0].slot }) else {
                return try empty(layout, index, path[0].page, path[0].slot..<right[0].slot)
            }
            if let bound = try meetingPoint(layout, index, right, top, upper ?? Layout.highest) {
                return try cut(layout, index, right, top, at: bound)
            }
        }
    }

    /// Returns the separator of the entries on both sides of the range; nil after the split of a node that had no space
    /// for it.
    ///
    /// The nodes on both edges get it as a fence; the new fence may shorten their prefixes, and so lengthen their
    /// entries.
    private func meetingPoint<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ right: [PathStep], _ top: Int, _ upper: Layout.Key
    ) throws(StorageError) -> Layout.Key? {
        let candidates = Layout.fences(
            below: path[0].page, above: right[0].page, parent: path[top].page, slot: right[top].slot)
        for bound in [candidates.0, candidates.1] where obstacle(layout, right, top, bound) == nil {
            return Layout.keep(bound, in: scratch.separator(Limits.levels))
        }
        guard let (level, isRight) = obstacle(layout, right, top, candidates.0) else { return nil }
        if isRight { for level in right.indices { path[level] = right[level] } }
        try split(layout, index, level: level, incoming: upper, slot: 0, ascending: false)
        return nil
    }

    /// Returns the first node on an edge that has no space for a new fence.
    private func obstacle<Layout: NodeLayout>(
        _ layout: Layout.Type, _ right: [PathStep], _ top: Int, _ bound: Layout.Key
    ) -> (level: Int, isRight: Bool)? {
        for level in 0..<top {
            let (left, leftSlot) = (path[level].page, path[level].slot + (level > 0 ? 1 : 0))
            if !Layout.fits(left, keeping: 0..<leftSlot, lower: nil, upper: bound) { return (level, false) }
            let page = right[level].page
            if !Layout.fits(page, keeping: right[level].slot..<page.count, lower: bound, upper: nil) {
                return (level, true)
            }
        }
        return nil
    }

    /// Cuts along both paths, which diverge at the level `top`, and makes the edges meet at `bound`.
    private func cut<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ right: [PathStep], _ top: Int, at bound: Layout.Key
    ) throws(StorageError) {
        for level in 0..<top {
            let (left, page) = (path[level], right[level])
            let kept = left.slot + (level > 0 ? 1 : 0)
            try empty(layout, index, left.page, kept..<left.page.count, removing: false)
            try empty(layout, index, page.page, 0..<page.slot, removing: false)
            Layout.trim(left.page, keeping: 0..<kept, lower: nil, upper: bound, scratch: scratch)
            Layout.trim(
                page.page, keeping: page.slot..<page.page.count, lower: bound, upper: nil, scratch: scratch)
        }
        let meeting = path[top]
        try empty(layout, index, meeting.page, meeting.slot + 1..<right[top].slot, removing: false)
        Layout.removeEntries(meeting.page, meeting.slot + 1..<right[top].slot + 1)
        while !Layout.childFits(path[top].page, bound) {
            try split(
                layout, index, level: top, incoming: bound, slot: path[top].slot + 1, ascending: false)
        }
        Layout.insertChild(
            path[top].page, at: path[top].slot + 1, bound, right[top - 1].page.reference, scratch: scratch.page)
    }

    /// Frees what the entries of a node refer to, and removes the entries.
    private func empty<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ page: Page, _ slots: Range<Int>, removing: Bool = true
    ) throws(StorageError) {
        guard !slots.isEmpty else { return }
        let level = page.level
        let removed =
            level == 0
            ? try freeValues(layout, index, page, slots) : try freeChildren(layout, index, page, slots, level: level)
        trees[index].count &-= removed
        if removing { Layout.removeEntries(page, slots) }
    }

    // MARK: Joining

    /// Joins sparse nodes on the path to a key with their neighbours, from the root down, because a node whose parent
    /// has other children has a neighbour to join.
    private func mend<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, at key: Layout.Key)
        throws(StorageError)
    {
        try shrinkRoot(layout, index)
        var level = trees[index].levels - 2
        while level >= 0 {
            try descend(layout, index, key)
            if try join(layout, index, level) {
                // The parent may have lost a child.
                try shrinkRoot(layout, index)
                level = min(level + 1, trees[index].levels - 2)
            } else {
                level -= 1
            }
        }
    }

    /// Joins the path's node at `level` with a neighbour if it is sparse. Returns false if it stays unchanged.
    private func join<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, _ level: Int) throws(StorageError)
        -> Bool
    {
        let page = path[level].page
        guard Layout.isSparse(page) || level > 0 && page.count == 1 else { return false }
        if page.count == 0 && !Layout.hasFences {
            free(page)
            Layout.removeEntries(path[level + 1].page, path[level + 1].slot..<path[level + 1].slot + 1)
            return true
        }
        if try mergeWithNeighbour(layout, index, level) { return true }
        guard level > 0 && page.count == 1 else { return false }
        // No neighbour has space for it: take half of a neighbour's children instead.
        let parent = path[level + 1]
        // With very long keys the parent may have a single child too.
        guard parent.page.count > 1 else { return false }
        let slot = parent.slot > 0 ? parent.slot - 1 : parent.slot + 1
        let reference = Layout.child(parent.page, at: slot)
        let neighbour = try frames.resolve(reference, type: Layout.innerType, level: level)
        // A neighbour with fewer children has very long keys, and each half would have a single child.
        guard neighbour.count >= 4 else { return false }
        path[level + 1].slot = slot
        path[level] = PathStep(page: try own(layout, index, level, neighbour), slot: 0)
        try split(layout, index, level: level, incoming: Layout.lowest, slot: 0, ascending: false)
        return true
    }

    // MARK: Freeing

    /// Frees a subtree. Reads no leaves if no value of the tree has pages of its own.
    ///
    /// - Returns: the number of entries in it.
    private func freeSubtree<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ reference: PageReference, level: Int
    ) throws(StorageError) -> UInt64 {
        guard level > 0 else { return try freeLeaf(layout, index, reference) }
        let page = try frames.resolve(reference, type: Layout.innerType, level: level)
        let removed = try freeChildren(layout, index, page, 0..<page.count, level: level)
        free(page)
        return removed
    }

    private func freeChildren<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ page: Page, _ slots: Range<Int>, level: Int
    ) throws(StorageError) -> UInt64 {
        var removed: UInt64 = 0
        for slot in slots {
            // Prefetch the headers of the next children meanwhile.
            let ahead = slot == slots.lowerBound ? slot..<slot + Writer.headersAhead : slot..<slot + 1
            for next in ahead where next + Writer.headersAhead <= slots.upperBound {
                frames.prefetchHeader(Layout.child(page, at: next + Writer.headersAhead - 1))
            }
            removed += try freeSubtree(layout, index, Layout.child(page, at: slot), level: level - 1)
        }
        return removed
    }

    private static var headersAhead: Int { 16 }

    private func freeLeaf<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, _ reference: PageReference)
        throws(StorageError) -> UInt64
    {
        // Read a leaf that is not in memory into scratch memory, because it is freed at once.
        let leaf = try frames.peek(reference, type: Layout.leafType, scratch: scratch.page)
        let count = leaf.count
        if trees[index].mayHoldLargeValues { _ = try freeValues(layout, index, leaf, 0..<count) }
        free(leaf)
        return UInt64(count)
    }

    private func freeValues<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ leaf: Page, _ slots: Range<Int>
    ) throws(StorageError) -> UInt64 {
        if trees[index].mayHoldLargeValues {
            for slot in slots {
                let record = Layout.record(leaf, slot)
                try freeValue(record)
            }
        }
        return UInt64(slots.count)
    }
}
