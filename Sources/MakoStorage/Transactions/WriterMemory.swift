/// The memory of a write transaction, reused by the next one, so that a small commit allocates almost nothing. It has
/// no reference counts, so passing it on costs as much as copying it.
struct WriterMemory {
    private static let keptOperationBytes = 64 << 10

    let scratch: Scratch
    /// The path of the latest descent: the page and the slot of each level.
    let path: UnsafeMutablePointer<Writer.PathStep>
    /// The private roots, ordered by tree id; `hints` and `streaks` are parallel arrays.
    private(set) var trees: UnsafeMutablePointer<TreeState>
    private(set) var hints: UnsafeMutablePointer<Writer.LeafHint>
    private(set) var streaks: UnsafeMutablePointer<Writer.PutStreak>
    private(set) var treeCapacity: Int
    var operations = GrowingBytes()
    /// The state for the view of a transaction; nil if a view that may still be referenced has kept it.
    private var state: UnsafeMutablePointer<Snapshot.ViewState>?

    init(trees count: Int) {
        scratch = .allocate()
        path = .allocate(capacity: Limits.levels + 2)
        treeCapacity = count + 8
        trees = .allocate(capacity: treeCapacity)
        hints = .allocate(capacity: treeCapacity)
        streaks = .allocate(capacity: treeCapacity)
    }

    /// Starts a transaction with the roots of a version.
    mutating func begin(_ source: UnsafePointer<TreeState>, count: Int) {
        if count > treeCapacity { growTables(to: count + 8, keeping: 0) }
        trees.initialize(from: source, count: count)
        hints.initialize(repeating: .none, count: treeCapacity)
        streaks.initialize(repeating: Writer.PutStreak(), count: treeCapacity)
    }

    /// Returns the state of a view over these trees. The caller must give it back, or pass it to a view.
    mutating func takeState(of base: Version) -> UnsafeMutablePointer<Snapshot.ViewState> {
        let place = state ?? .allocate(capacity: 1)
        state = nil
        place.initialize(
            to: Snapshot.ViewState(
                trees: trees, treeCount: base.treeCount, commit: base.commit, changes: 0, bufferedPuts: 0,
                names: Unmanaged.passUnretained(base.names)))
        return place
    }

    /// Keeps a state that no view uses for the next transaction.
    mutating func giveBack(_ place: UnsafeMutablePointer<Snapshot.ViewState>) {
        place.deinitialize(count: 1)
        state = place
    }

    /// Grows the tables for more trees. Drops the hints.
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

    /// Prepares the memory for the next transaction.
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

/// The lists of a write transaction, passed on to the next one by exchange, never copied.
struct WriterLists {
    private static let keptCount = 1024

    /// The pages that the transaction allocated, in order, and those it freed.
    var changed = ChangedPages()
    /// Page ids taken ahead from the space map.
    var pages: [UInt64] = []
    /// Pages of the transaction that were changed since their last write, if any. May have duplicates and freed pages.
    var unwritten: [UInt64] = []
    /// Pages that the transaction allocated and freed, whose places it may reuse.
    var dead = PackedList<SpaceMap.DeadPage>()
    /// Pages that it freed and that a frame of the log may name.
    var named = PackedList<SpaceMap.DeadPage>()
    var batch = WriteBuffer()

    /// The memory that grows with the changes of the transaction, in bytes.
    var bytes: Int { changed.bytes + dead.bytes + named.bytes + unwritten.count * MemoryLayout<UInt64>.stride }

    /// Prepares the lists for the next transaction.
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

    /// Removes freed pages from the lists.
    ///
    /// - Parameters:
    ///   - kept: the number of freed pages to keep, because a savepoint is younger.
    ///   - first: the position of the others in `changed.allocated`.
    /// - Returns: their page ids. A page that was not allocated by this transaction, by a damaged entry, stays in the
    ///   list of freed pages.
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

    /// Makes pages that were freed after a released savepoint reusable, if the transaction allocated them: only that
    /// savepoint needed them.
    mutating func reclaimFreed(from first: Int, bornSince floor: UInt64) {
        var own = dead
        changed.freed.removeAll(from: first) { page in
            guard page.bornAt >= floor else { return false }
            own.append(page)
            return true
        }
        dead = own
    }
}
