/// The memory that a write transaction works with. One transaction after the other uses the same: a small commit
/// then allocates next to nothing. Nothing in it is counted, so that handing it on costs as much as copying it.
struct WriterMemory {
    private static let keptOperationBytes = 64 << 10

    let scratch: Scratch
    /// The path of the latest descent: for each level the page and the slot taken.
    let path: UnsafeMutablePointer<Writer.PathStep>
    /// Private roots, in order of tree number; `hints` and `streaks` run beside it.
    private(set) var trees: UnsafeMutablePointer<TreeState>
    private(set) var hints: UnsafeMutablePointer<Writer.LeafHint>
    private(set) var streaks: UnsafeMutablePointer<Writer.PutStreak>
    private(set) var treeCapacity: Int
    var operations = GrowingBytes()
    /// What the view of a transaction reads from, unless a view that somebody may still have has taken it along.
    private var state: UnsafeMutablePointer<Snapshot.ViewState>?

    init(trees count: Int) {
        scratch = .allocate()
        path = .allocate(capacity: Limits.levels + 2)
        treeCapacity = count + 8
        trees = .allocate(capacity: treeCapacity)
        hints = .allocate(capacity: treeCapacity)
        streaks = .allocate(capacity: treeCapacity)
    }

    /// Starts a transaction from the roots of a version.
    mutating func begin(_ source: UnsafePointer<TreeState>, count: Int) {
        if count > treeCapacity { growTables(to: count + 8, keeping: 0) }
        trees.initialize(from: source, count: count)
        hints.initialize(repeating: .none, count: treeCapacity)
        streaks.initialize(repeating: Writer.PutStreak(), count: treeCapacity)
    }

    /// The state of a view over these trees. The caller has it until it gives it back or makes it a view's own.
    mutating func takeState(of base: Version) -> UnsafeMutablePointer<Snapshot.ViewState> {
        let place = state ?? .allocate(capacity: 1)
        state = nil
        place.initialize(
            to: Snapshot.ViewState(
                trees: trees, treeCount: base.treeCount, commit: base.commit, changes: 0, waitingPuts: 0,
                names: Unmanaged.passUnretained(base.names)))
        return place
    }

    /// Keeps a state that no view has come to know for the next transaction.
    mutating func giveBack(_ place: UnsafeMutablePointer<Snapshot.ViewState>) {
        place.deinitialize(count: 1)
        state = place
    }

    /// Makes room for more trees. Hints are forgotten.
    mutating func growTables(to capacity: Int, keeping count: Int) {
        let newTrees = UnsafeMutablePointer<TreeState>.allocate(capacity: capacity)
        newTrees.moveInitialize(from: trees, count: count)
        let newStreaks = UnsafeMutablePointer<Writer.PutStreak>.allocate(capacity: capacity)
        newStreaks.initialize(repeating: Writer.PutStreak(), count: capacity)
        newStreaks.update(from: streaks, count: count)
        deallocateTables()
        trees = newTrees
        streaks = newStreaks
        hints = .allocate(capacity: capacity)
        hints.initialize(repeating: .none, count: capacity)
        treeCapacity = capacity
    }

    /// Readies the memory for the next transaction.
    mutating func rest() {
        operations.removeAll(keeping: WriterMemory.keptOperationBytes)
    }

    private func deallocateTables() {
        trees.deallocate()
        hints.deallocate()
        streaks.deallocate()
    }

    mutating func deallocate() {
        scratch.deallocate()
        path.deallocate()
        deallocateTables()
        operations.deallocate()
        state?.deallocate()
    }
}

/// The lists that a write transaction works with, handed on in the same way: exchanged, never copied.
struct WriterLists {
    private static let keptCount = 1024

    /// Pages handed to the transaction, in order, and those it removed.
    var changed = ChangedPages()
    /// Page numbers fetched ahead from the space map.
    var pages: [UInt64] = []
    /// Pages of the transaction that were changed since they were written, if they were: some more than once, some given up since.
    var unwritten: [UInt64] = []
    /// Pages that the transaction took and gave up, whose places are its own again.
    var dead = PackedList<SpaceMap.DeadPage>()
    /// Pages it removed that a frame of the log may name.
    var named = PackedList<SpaceMap.DeadPage>()
    var batch = PutBatch()

    /// The memory that grows with what the transaction changes.
    var bytes: Int { changed.bytes + dead.bytes + named.bytes + unwritten.count * MemoryLayout<UInt64>.stride }

    /// Readies the lists for the next transaction.
    mutating func rest() {
        forgetPages()
        batch.removeAll()
    }

    mutating func forgetPages() {
        changed.removeAll()
        dead.removeAll()
        named.removeAll()
        if unwritten.isEmpty { return }
        unwritten.removeAll(keepingCapacity: unwritten.capacity <= WriterLists.keptCount)
    }

    /// Takes pages that were given up out of the lists.
    ///
    /// - Parameters:
    ///   - kept: how many of those that were given up stay, because a savepoint is younger.
    ///   - first: where in `changed.allocated` the others are.
    /// - Returns: their places. A page that is not there was never this transaction's, whatever its entry says: it stays among those removed.
    mutating func takeOwn(dead kept: Int, allocated first: Int) -> PackedList<UInt64> {
        // A damaged entry may name any page.
        var end: UInt64 = 0
        changed.allocated.forEach(from: first) { end = max(end, $0 + 1) }
        var gone = PageBitmaps()
        dead.forEach(from: kept) { if $0.page < end { gone.insert($0.page) } }
        unwritten.removeAll { gone.contains($0) }
        var places = PackedList<UInt64>()
        changed.allocated.removeAll(from: first) { page in
            guard gone.remove(page) else { return false }
            places.append(page)
            return true
        }
        var others = changed.freed
        dead.forEach(from: kept) { if $0.page >= end || gone.contains($0.page) { others.append($0) } }
        changed.freed = others
        dead.truncate(to: kept)
        return places
    }

    /// Pages that were removed behind a savepoint, which is released: those that the transaction took itself were kept for that savepoint alone.
    mutating func reclaimFreed(from first: Int, bornSince floor: UInt64) {
        var own = dead
        changed.freed.removeAll(from: first) { page in
            guard page.birth >= floor else { return false }
            own.append(page)
            return true
        }
        dead = own
    }
}
