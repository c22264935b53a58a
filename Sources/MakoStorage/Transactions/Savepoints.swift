import Synchronization

/// The number of the latest savepoint of any transaction: one of another transaction is known by it, also where a writer has the place in memory
/// that another one had.
private let savepointNumber = Atomic<UInt64>(0)

/// Savepoints of a write transaction: what is there at one is sealed until the transaction goes back past it, or releases it.
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
        /// A transaction that had failed before has failed after a rollback to here, too.
        var failure: StorageError?
    }

    /// What the transaction keeps of a savepoint that can be gone back to.
    struct OpenMark {
        var number: UInt64
        /// The `floor` from before it.
        var floor: UInt64
        /// How many pages it had by then, and how many of them it had given up.
        var allocated: Int
        var dead: Int
    }

    func savepoint() -> Mark {
        // A failure is noted by `fail` and met by the next change or the commit.
        do throws(StorageError) {
            try enterWaitingPuts()
            try packLeaves()
            try settleCounts()
        } catch {}
        let number = savepointNumber.add(1, ordering: .relaxed).newValue
        let mark = Mark(
            trees: Array(UnsafeBufferPointer(start: trees, count: treeCount)), names: names,
            nextTreeID: nextTreeID, operations: memory.operations.count, freed: freed.count,
            named: lists.named.count, unwritten: lists.unwritten.count, spills: spills, number: number,
            failure: failure)
        openMarks.append(
            OpenMark(number: number, floor: floor, allocated: allocated.count, dead: lists.dead.count))
        // What exists now is sealed: it is what a rollback comes back to.
        floor = store.nextSerial
        noteReturnSize()
        forgetHints()
        return mark
    }

    /// Where a savepoint stands among those that can be gone back to.
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
        forgetWaitingPuts()
        openMarks.removeLast(openMarks.count - place - 1)
        for (index, tree) in mark.trees.enumerated() { (trees + index).initialize(to: tree) }
        treeCount = mark.trees.count
        nextTreeID = mark.nextTreeID
        setNames(mark.names)
        memory.operations.truncate(to: mark.operations)
        store.versions.giveBack(allocated.removeLast(from: openMarks[place].allocated))
        // What was not written by the savepoint has been since, when anything was.
        lists.unwritten.removeLast(lists.unwritten.count - (spills == mark.spills ? mark.unwritten : 0))
        freed.truncate(to: mark.freed)
        lists.named.truncate(to: mark.named)
        lists.dead.truncate(to: openMarks[place].dead)
        floor = store.nextSerial
        failure = mark.failure
        noteReturnSize()
        forgetHints()
        noteChange()
    }

    /// Forgets a savepoint and those made after it: what they kept is the transaction's own again.
    func release(_ mark: Mark) {
        guard let place = place(of: mark) else { return }
        floor = max(openMarks[place].floor, leastFloor)
        openMarks.removeLast(openMarks.count - place)
        lists.reclaimFreed(from: mark.freed, bornSince: floor)
        // Now, because the next savepoint may be made before the next change, and would keep them.
        returnDeadPages()
        forgetHints()
    }
}
