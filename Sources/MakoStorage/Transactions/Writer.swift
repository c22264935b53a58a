#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The state of one write transaction: private roots, the pages it brought and removed, its operations.
///
/// A page may be changed in place only if this transaction allocated it since its latest savepoint and it was
/// never handed to the device; any other page is copied first. Used by one thread at a time: the hot properties go
/// without dynamic exclusivity checks, a tenth of an ordered insertion's time.
final class Writer {
    let store: Store
    let frames: FrameStore
    let base: Version
    let view: Snapshot
    let scratch: Scratch
    let state: UnsafeMutablePointer<Snapshot.ViewState>

    /// Private roots, in order of tree number; `hints` and `streaks` run beside it.
    @exclusivity(unchecked) private(set) var trees: UnsafeMutablePointer<TreeState>
    @exclusivity(unchecked) private(set) var hints: UnsafeMutablePointer<LeafHint>
    @exclusivity(unchecked) private(set) var streaks: UnsafeMutablePointer<PutStreak>
    @exclusivity(unchecked) var batch = PutBatch()
    @exclusivity(unchecked) private(set) var treeCount: Int
    @exclusivity(unchecked) private var treeCapacity: Int
    var names: TreeNames
    var nextTreeID: UInt32

    @exclusivity(unchecked) var operations: OperationBuffer
    /// Pages handed to this transaction, in order.
    @exclusivity(unchecked) private(set) var allocated: [UInt64] = []
    /// Pages it removed: number and serial.
    @exclusivity(unchecked) private(set) var freed: [(page: UInt64, birth: UInt64)] = []
    /// Page numbers fetched ahead from the space map.
    @exclusivity(unchecked) private var stock: [UInt64] = []
    /// Pages with this serial or a later one are this transaction's, and unsealed.
    @exclusivity(unchecked) private(set) var floor: UInt64
    /// `allocated` up to here was handed to the device.
    @exclusivity(unchecked) private var spilled = 0
    /// When to look again whether pages should be handed over, in pages since the last time.
    @exclusivity(unchecked) private var spillSize: Int
    /// Leaves that an ascending load left behind since then.
    @exclusivity(unchecked) private var finishedLeaves = 0
    private var savepointCount: UInt64 = 0
    /// The savepoints that can still be gone back to, oldest first.
    private(set) var openMarks: [UInt64] = []
    var isEnded = false
    /// A failure in the middle of a change leaves the private trees unusable.
    private(set) var failure: StorageError?

    /// The path of the latest descent: for each level the page and the slot taken.
    let path: UnsafeMutablePointer<PathStep>

    /// 8 MiB.
    private static let spillPages = 2048

    struct PathStep {
        var page: UnsafeMutableRawPointer
        var slot: Int
    }

    /// The leaf that the last change of a tree ended in, and what keys it covers.
    struct LeafHint {
        var page: UnsafeMutableRawPointer?
        var low: UInt64
        var high: UInt64
        /// Where the last insertion went: the next one directly behind it is part of an ascending run.
        var slot: Int

        static var none: LeafHint { LeafHint(page: nil, low: 0, high: 0, slot: -1) }
    }

    init(store: Store, base: Version, recording: Bool = true) {
        self.store = store
        frames = store.frames
        spillSize = min(Writer.spillPages, store.frames.budgetFrames / 2 + 1)
        self.base = base
        scratch = .allocate()
        path = .allocate(capacity: Limits.levels + 2)
        names = base.names
        nextTreeID = base.nextTreeID
        treeCount = base.treeCount
        treeCapacity = base.treeCount + 8
        trees = .allocate(capacity: treeCapacity)
        trees.initialize(from: base.trees, count: treeCount)
        hints = .allocate(capacity: treeCapacity)
        hints.initialize(repeating: .none, count: treeCapacity)
        streaks = .allocate(capacity: treeCapacity)
        streaks.initialize(repeating: PutStreak(), count: treeCapacity)
        floor = store.nextSerial
        operations = OperationBuffer(limit: recording ? store.largestLoggedBytes : 0)
        if !recording { operations.stopRecording() }
        state = .allocate(capacity: 1)
        state.initialize(
            to: Snapshot.ViewState(
                trees: trees, treeCount: treeCount, commit: base.commit, changes: 0,
                waitingPuts: 0, names: Unmanaged.passUnretained(base.names)))
        view = Snapshot(writerState: state, frames: frames)
        view.serve(self)
    }

    deinit {
        scratch.deallocate()
        path.deallocate()
        trees.deallocate()
        hints.deallocate()
        streaks.deallocate()
        batch.deallocate()
        view.endView()
    }

    /// Looked at before each change is recorded: a plain read, where the buffer itself needs exclusive access.
    @inline(__always)
    var isRecording: Bool { operations.isRecording }

    var hasChanges: Bool { !allocated.isEmpty || !freed.isEmpty || !operations.isEmpty || names !== base.names }

    // MARK: Trees

    func index(of tree: Tree) throws(StorageError) -> Int {
        guard let index = treeIndex(trees, count: treeCount, id: tree.id) else {
            throw .treeNotFound("number \(tree.id)")
        }
        return index
    }

    func createTree(named name: String, keys: KeyKind, id: UInt32? = nil) throws(StorageError) -> Tree {
        guard names.ids[name] == nil else { throw .treeExists(name) }
        guard name.utf8.count <= Int(UInt16.max) >> 4 else {
            throw .invalidArgument("the name of a tree has at most \(Int(UInt16.max) >> 4) bytes")
        }
        let id = id ?? nextTreeID
        guard id >= nextTreeID, id < .max else { throw .invalidArgument("tree number \(id) is not available") }
        nextTreeID = id + 1
        if treeCount == treeCapacity { growTreeTable() }
        (trees + treeCount).initialize(to: TreeState(id: id, kind: keys))
        hints[treeCount] = .none
        treeCount += 1
        var ids = names.ids
        ids[name] = id
        setNames(TreeNames(ids))
        operations.createTree(id, keys, name: name)
        noteChange()
        return Tree(id: id, keys: keys)
    }

    private func growTreeTable() {
        treeCapacity *= 2
        let grown = UnsafeMutablePointer<TreeState>.allocate(capacity: treeCapacity)
        grown.moveInitialize(from: trees, count: treeCount)
        trees.deallocate()
        trees = grown
        hints.deallocate()
        hints = .allocate(capacity: treeCapacity)
        hints.initialize(repeating: .none, count: treeCapacity)
        let grownStreaks = UnsafeMutablePointer<PutStreak>.allocate(capacity: treeCapacity)
        grownStreaks.initialize(repeating: PutStreak(), count: treeCapacity)
        grownStreaks.update(from: streaks, count: treeCount)
        streaks.deallocate()
        streaks = grownStreaks
    }

    /// Takes a tree out of the table; its pages must be freed already.
    func removeTree(at index: Int) {
        let id = trees[index].id
        (trees + index).update(from: trees + index + 1, count: treeCount - index - 1)
        treeCount -= 1
        streaks.update(repeating: PutStreak(), count: treeCapacity)
        forgetHints()
        setNames(TreeNames(names.ids.filter { $0.value != id }))
        operations.dropTree(id)
        noteChange()
    }

    private func setNames(_ names: TreeNames) {
        self.names = names
        state.pointee.names = Unmanaged.passUnretained(names)
        state.pointee.trees = trees
        state.pointee.treeCount = treeCount
    }

    /// Tells cursors over the transaction's own view that they must find their place again.
    @inline(__always)
    func noteChange() {
        state.pointee.trees = trees
        state.pointee.treeCount = treeCount
        state.pointee.changes &+= 1
    }

    func forgetHints() { hints.update(repeating: .none, count: treeCapacity) }

    // MARK: Pages

    /// A fresh page that only this transaction sees.
    func allocate(_ type: PageType, level: Int, tree: UInt32) throws(StorageError) -> UnsafeMutableRawPointer {
        let number = takeNumber()
        let frame = try frames.makeDirty(page: number)
        // What the frame held before must not reach the file.
        memset(frame, 0, pageBytes)
        Page(frame).format(page: number, type: type, level: level, serial: try store.takeSerial(), tree: tree)
        return frame
    }

    /// Consecutive pages with consecutive serials, for a value of its own.
    func allocateRun(_ count: Int) throws(StorageError) -> (page: UInt64, serial: UInt64) {
        let serial = try store.takeSerials(count)
        let first = store.allocateRun(count)
        for index in 0..<count { allocated.append(first + UInt64(index)) }
        return (first, serial)
    }

    private func takeNumber() -> UInt64 {
        if stock.isEmpty { stock = store.allocatePages(allocated.isEmpty ? 8 : 64) }
        let number = stock.removeLast()
        allocated.append(number)
        return number
    }

    func free(_ page: UnsafeMutableRawPointer) { freed.append((Page(page).number, Page(page).serial)) }

    func free(_ overflow: Overflow) {
        for index in 0..<overflow.pageCount {
            freed.append((overflow.firstPage + UInt64(index), overflow.firstSerial + UInt64(index)))
        }
    }

    @inline(__always)
    func isEditable(_ page: UnsafeMutableRawPointer) -> Bool {
        Page(page).serial >= floor && (spilled == 0 || frames.isDirty(page))
    }

    /// A copy of a page under a new number and serial; the old one is dead.
    func copy(_ page: UnsafeMutableRawPointer) throws(StorageError) -> UnsafeMutableRawPointer {
        let number = takeNumber()
        let frame = try frames.makeDirty(page: number)
        memcpy(frame, page, pageBytes)
        let view = Page(frame)
        free(page)
        view.identity = view.identity & ~0xff_ffff_ffff | number
        view.serial = try store.takeSerial()
        return frame
    }

    /// Remembers that a change broke off in the middle: the transaction can only be rolled back.
    func fail(_ error: StorageError) -> StorageError {
        failure = error
        forgetHints()
        return error
    }

    func check() throws(StorageError) {
        if isEnded { throw .transactionEnded }
        if let failure { throw failure }
    }

    // MARK: Memory

    /// Hands the transaction's own pages to the device when memory is short, or when they are finished anyway.
    /// Between changes only.
    @inline(__always)
    func spillIfNeeded() throws(StorageError) {
        if allocated.count - spilled >= spillSize { try spill() }
    }

    /// Ascending loads leave full leaves behind that nobody comes back to: written early, they keep the device busy
    /// while the next ones are filled. Other pages wait, because a page changed after its writing has to be copied.
    private func spill() throws(StorageError) {
        let isShort = allocated.count - spilled > frames.budgetFrames / 2
        let isFinished = !isRecording && finishedLeaves >= (allocated.count - spilled) / 8 * 7
        finishedLeaves = 0
        guard isShort || isFinished else {
            spillSize = min(spillSize + Writer.spillPages, frames.budgetFrames / 2 + 1)
            return
        }
        try store.writePages(Array(allocated[spilled...]))
        spilled = allocated.count
        spillSize = min(Writer.spillPages, frames.budgetFrames / 2 + 1)
        forgetHints()
    }

    /// Notes that a leaf was left behind by an ascending load.
    func noteFinishedLeaf() { finishedLeaves &+= 1 }

    // MARK: Savepoints

    struct Mark {
        var trees: [TreeState]
        var names: TreeNames
        var nextTreeID: UInt32
        var operations: Int
        var allocated: Int
        var freed: Int
        var number: UInt64
        var owner: ObjectIdentifier
        /// A transaction that had failed before has failed after a rollback to here, too.
        var failure: StorageError?
    }

    func savepoint() -> Mark {
        // A failure is noted by `fail` and met by the next change or the commit.
        do throws(StorageError) { try enterWaitingPuts() } catch {}
        savepointCount += 1
        let mark = Mark(
            trees: Array(UnsafeBufferPointer(start: trees, count: treeCount)), names: names, nextTreeID: nextTreeID,
            operations: operations.bytes.count, allocated: allocated.count, freed: freed.count, number: savepointCount,
            owner: ObjectIdentifier(self), failure: failure)
        openMarks.append(savepointCount)
        // What exists now is sealed: it is what a rollback comes back to.
        floor = store.nextSerial
        forgetHints()
        return mark
    }

    func rollback(to mark: Mark) {
        forgetWaitingPuts()
        while let last = openMarks.last, last > mark.number { openMarks.removeLast() }
        while treeCapacity < mark.trees.count { growTreeTable() }
        for (index, tree) in mark.trees.enumerated() { (trees + index).initialize(to: tree) }
        treeCount = mark.trees.count
        nextTreeID = mark.nextTreeID
        setNames(mark.names)
        operations.truncate(to: mark.operations)
        let dropped = Array(allocated[mark.allocated...])
        for page in dropped { frames.forget(page: page) }
        store.giveBack(dropped)
        allocated.removeLast(dropped.count)
        spilled = min(spilled, allocated.count)
        freed.removeLast(freed.count - mark.freed)
        floor = store.nextSerial
        failure = mark.failure
        forgetHints()
        noteChange()
    }

    // MARK: Ending

    /// What the commit hands to the store. Nothing may be changed afterwards.
    func end() -> (allocated: [UInt64], freed: [(page: UInt64, birth: UInt64)]) {
        isEnded = true
        store.giveBack(stock)
        stock = []
        return (allocated, freed)
    }

    /// Gives everything back.
    func abandon() {
        isEnded = true
        forgetWaitingPuts()
        for page in allocated { frames.forget(page: page) }
        store.giveBack(stock + allocated)
        stock = []
        allocated = []
        freed = []
    }
}
