import Synchronization

/// The number of the latest savepoint of any transaction. The numbers are unique, so a savepoint of another transaction
/// is detected even if its writer had the same address.
private let savepointNumber = Atomic<UInt64>(0)

/// Savepoints of a write transaction: the pages of a savepoint are sealed until it is rolled back past or released.
extension Writer {
    struct Mark {
        var trees: [TreeState]
        var names: TreeNames
        var nextTreeID: UInt32
        var operations: Int
        var freed: Int
        var named: Int
        var unwritten: Int
        var spills: Int
        var number: UInt64
        /// The failure of the transaction at the savepoint; a rollback restores it.
        var failure: StorageError?
    }

    /// What the transaction stores for an open savepoint.
    struct OpenMark {
        var number: UInt64
        /// The `floor` before the savepoint.
        var floor: UInt64
        /// The number of pages allocated before it, and of those freed.
        var allocated: Int
        var dead: Int
    }

    func savepoint() -> Mark {
        // `fail` records a failure; the next change or the commit throws it.
        do throws(StorageError) {
            try applyBufferedPuts()
            try packLeaves()
            try settleCounts()
        } catch {}
        let number = savepointNumber.add(1, ordering: .relaxed).newValue
        let mark = Mark(
            trees: Array(treeTable), names: names,
            nextTreeID: nextTreeID, operations: memory.operations.count, freed: freed.count,
            named: lists.named.count, unwritten: lists.unwritten.count, spills: spills, number: number,
            failure: failure)
        openMarks.append(
            OpenMark(number: number, floor: floor, allocated: allocated.count, dead: lists.dead.count))
        // Seal all existing pages, because a rollback returns to them.
        floor = store.nextWriteID
        noteReturnSize()
        forgetHints()
        return mark
    }

    /// Returns the position of a savepoint among the open ones; nil if it is not open.
    func place(of mark: Mark) -> Int? {
        var low = 0
        var high = openMarks.count
        while low < high {
            let middle = (low + high) / 2
            if openMarks[middle].number < mark.number { low = middle + 1 } else { high = middle }
        }
        return low < openMarks.count && openMarks[low].number == mark.number ? low : nil
    }

    func rollback(to mark: Mark) {
        guard let place = place(of: mark) else { return }
        endLoading()
        forgetBufferedPuts()
        openMarks.removeLast(openMarks.count - place - 1)
        for (index, tree) in mark.trees.enumerated() { (trees + index).initialize(to: tree) }
        treeCount = mark.trees.count
        nextTreeID = mark.nextTreeID
        setNames(mark.names)
        memory.operations.truncate(to: mark.operations)
        store.versions.giveBack(allocated.removeLast(from: openMarks[place].allocated))
        // If pages were spilled since the savepoint, those unwritten at the savepoint are written now.
        lists.unwritten.removeLast(lists.unwritten.count - (spills == mark.spills ? mark.unwritten : 0))
        freed.truncate(to: mark.freed)
        lists.named.truncate(to: mark.named)
        lists.dead.truncate(to: openMarks[place].dead)
        floor = store.nextWriteID
        failure = mark.failure
        noteReturnSize()
        forgetHints()
        noteChange()
    }

    /// Releases a savepoint and all later ones: the transaction may change their pages in place again.
    func release(_ mark: Mark) {
        guard let place = place(of: mark) else { return }
        floor = max(openMarks[place].floor, leastFloor)
        openMarks.removeLast(openMarks.count - place)
        lists.reclaimFreed(from: mark.freed, bornSince: floor)
        // Return places now, because a savepoint before the next change would seal them.
        returnDeadPages()
        forgetHints()
    }
}
