import CPlatform

/// The state of one write transaction: private roots, the pages that it allocated and freed, and its operations.
///
/// A page may be changed in place only if this transaction allocated it since its latest savepoint and it is not
/// written yet. A written page gets another write id first and keeps its place; every other page is copied
/// (`OwnPages.swift`). Used by one thread at a time. The hot properties have no dynamic exclusivity checks, which would
/// take a tenth of an ordered insertion.
final class Writer {
    let store: Store
    let frames: FrameStore
    let base: Version
    let state: UnsafeMutablePointer<Snapshot.ViewState>
    private let generation = Forks.generation
    /// Created at the first use; a transaction that only writes needs none.
    @exclusivity(unchecked) private var knownView: Snapshot?
    /// The view for `borrow`, created at the first use; stays until the writer is released.
    private var unretainedView: Unmanaged<Snapshot>?

    @exclusivity(unchecked) var memory: WriterMemory
    @exclusivity(unchecked) var lists = WriterLists()
    @exclusivity(unchecked) var treeCount: Int
    /// The names of the trees if they differ from those of the base version.
    @exclusivity(unchecked) private var newNames: TreeNames?
    var nextTreeID: UInt32

    @exclusivity(unchecked) private var recorder: OperationWriter
    /// Whether the pages of a value are being moved, so that they are not freed with its entry.
    var isMovingValue = false
    /// For recovery: the runs of pages that the log names and no value has taken yet.
    var reserved = Set<ValueExtents.Extent>()
    /// Pages with this write id or a later one belong to this transaction, and no savepoint needs them.
    @exclusivity(unchecked) var floor: UInt64
    /// The lower bound of `floor`: pages with lower write ids are not this transaction's, or may be partly written.
    var leastFloor: UInt64
    /// The number of times that pages were spilled.
    @exclusivity(unchecked) private(set) var spills = 0
    /// The number of unwritten pages at which to check for a spill.
    @exclusivity(unchecked) var spillSize: Int
    /// The number of freed pages at which to return places.
    @exclusivity(unchecked) var returnSize = Writer.leastReturn
    /// Whether one of the two is due before the next change.
    @exclusivity(unchecked) var isTidyDue = false
    /// The memory that an operation uses outside pages.
    private var sideBytes = 0
    /// The transaction's own memory outside pages, when last counted.
    private var otherBytes = 0
    /// The number of leaves that an ascending load has finished since then.
    @exclusivity(unchecked) private var finishedLeaves = 0
    /// The number of full or sparse leaves since the start or the last packing.
    @exclusivity(unchecked) var crowdedLeaves = 0
    /// The number of those that were beside a leaf of the transaction.
    @exclusivity(unchecked) var crowdedBesideOwn = 0
    /// Changes when a page is freed without a copy, or entries move between leaves: leaves found for keys before are
    /// then unknown.
    @exclusivity(unchecked) private(set) var shape: UInt64 = 0
    /// The open savepoints, oldest first.
    @exclusivity(unchecked) var openMarks: [OpenMark] = []
    var isEnded = false
    /// Whether it holds the writer lock. Only for a transaction; replay of a log runs under a lock of its own.
    var holdsWriterLock = true
    private var isResting = false
    /// The error of a change that failed in the middle, which leaves the private trees unusable.
    var failure: StorageError?

    /// The position in the table of the tree that a bulk load fills.
    var loadedTree: Int?
    static let loading = StorageError.invalidArgument(
        "a tree is being loaded in bulk; use it, and change others, before that or afterwards")

    var scratch: Scratch { memory.scratch }
    var path: UnsafeMutablePointer<PathStep> { memory.path }
    var trees: UnsafeMutablePointer<TreeState> { memory.trees }
    /// The private roots, sorted by id.
    var treeTable: UnsafeBufferPointer<TreeState> { UnsafeBufferPointer(start: trees, count: treeCount) }
    var hints: UnsafeMutablePointer<LeafHint> { memory.hints }
    var streaks: UnsafeMutablePointer<PutStreak> { memory.streaks }
    var batch: WriteBuffer {
        get { lists.batch }
        _modify { yield &lists.batch }
    }
    /// The pages allocated by this transaction, in order, each once.
    var allocated: PackedList<UInt64> {
        get { lists.changed.allocated }
        _modify { yield &lists.changed.allocated }
    }
    /// The pages that it freed and that existed before it or that a savepoint needs.
    var freed: PackedList<SpaceMap.DeadPage> {
        get { lists.changed.freed }
        _modify { yield &lists.changed.freed }
    }

    /// 8 MiB.
    private static let spillPages = 2048

    /// At most an eighth of a small budget, because the dirty pages of other commits take a part of it too.
    private static func spillStep(_ frames: FrameStore) -> Int { min(spillPages, frames.budgetFrames / 8 + 1) }

    struct PathStep {
        var page: Page
        var slot: Int
    }

    /// The leaf of the last change in a tree, and the keys that it covers.
    struct LeafHint {
        var page: Page?
        var low: UInt64
        var high: UInt64
        /// The slot of the last insertion; an insertion directly after it is part of an ascending run.
        var slot: Int

        static var none: LeafHint { LeafHint(page: nil, low: 0, high: 0, slot: -1) }
    }

    init(store: Store, base: Version, recording: Bool = true) {
        self.store = store
        frames = store.frames
        spillSize = Writer.spillStep(store.frames)
        self.base = base
        nextTreeID = base.nextTreeID
        treeCount = base.treeCount
        memory = store.writerLock.idleMemory ?? WriterMemory(trees: base.treeCount)
        store.writerLock.idleMemory = nil
        memory.begin(base.trees, count: base.treeCount)
        floor = store.nextWriteID
        leastFloor = floor
        recorder = OperationWriter(limit: store.pipeline.largestLoggedBytes, isRecording: recording)
        state = memory.takeState(of: base)
        swap(&lists, &store.writerLock.idleLists)
    }

    deinit { rest() }

    /// The state of the transaction, for reading.
    var view: Snapshot { knownView ?? makeView() }

    @inline(never)
    private func makeView() -> Snapshot {
        if isResting { return Snapshot(over: store) }
        let view = Snapshot(writerState: state, store: store)
        view.serve(self)
        knownView = view
        unretainedView = .passUnretained(view)
        return view
    }

    /// Borrows a value from the view without touching its reference count.
    @inline(__always)
    func borrow(_ key: UInt64, _ tree: Tree) throws(StorageError) -> _BorrowedValue {
        guard let unretainedView else { return try view._borrow(key, tree) }
        return try unretainedView._withUnsafeGuaranteedRef { view in
            result { () throws(StorageError) in try view._borrow(key, tree) }
        }.get()
    }

    /// Passes the memory on to the next transaction, before the writer lock is released. Nothing may be read or changed
    /// through this writer afterwards.
    func rest() {
        guard !isResting else { return }
        isResting = true
        if knownView != nil {
            // A view that is still referenced keeps reading its state.
            let isHeld = !isKnownUniquelyReferenced(&knownView)
            knownView?.endView(showing: isHeld ? store.newest : nil)
        } else {
            memory.giveBack(state)
        }
        memory.rest()
        store.writerLock.idleMemory = memory
        lists.rest()
        frames.reserve(bytes: 0)
        swap(&lists, &store.writerLock.idleLists)
    }

    /// Checked before each change is recorded: a plain load, where an access of the buffer would need exclusivity.
    @inline(__always)
    var isRecording: Bool { recorder.isRecording }

    var names: TreeNames { newNames ?? base.names }

    /// Whether recorded operations name pages of values.
    var namesPages = false

    /// Whether subtree counts must be computed before the pages become visible to others.
    var hasStaleCounts = false

    var hasChanges: Bool {
        !allocated.isEmpty || !freed.isEmpty || !lists.named.isEmpty || !memory.operations.isEmpty
            || !isRecording || newNames != nil && newNames !== base.names
    }

    /// Records an operation, while the transaction is small enough for the log.
    @inline(__always)
    func record(_ body: (inout OperationWriter, inout GrowingBytes) -> Void) {
        if recorder.isRecording { body(&recorder, &memory.operations) }
    }

    /// Stops logging the transaction: its commit will be a checkpoint.
    func stopRecording() {
        if recorder.isRecording { recorder.stop(&memory.operations) }
    }

    // MARK: Trees

    func index(of tree: Tree) throws(StorageError) -> Int {
        guard let index = treeIndex(trees, count: treeCount, id: tree.id) else {
            throw .treeNotFound("number \(tree.id)")
        }
        return index
    }

    func createTree(named name: String, keys: KeyKind, options: TreeOptions = [], id: UInt32? = nil)
        throws(StorageError) -> Tree
    {
        try checkName(name)
        let id = id ?? nextTreeID
        guard id >= nextTreeID, id < .max else { throw .invalidArgument("tree number \(id) is not available") }
        let isCounted = options.contains(.subtreeCounts)
        if isCounted { try store.use(.subtreeCounts) }
        nextTreeID = id + 1
        if treeCount == memory.treeCapacity { growTreeTable() }
        (trees + treeCount).initialize(to: TreeState(id: id, kind: keys, isCounted: isCounted))
        hints[treeCount] = .none
        streaks[treeCount] = PutStreak()
        treeCount += 1
        setNames(names.naming(id, name))
        record { $0.createTree(id, keys, options, name: name, to: &$1) }
        noteChange()
        return Tree(id: id, keys: keys)
    }

    /// Renames a tree.
    func renameTree(_ id: UInt32, to name: String) throws(StorageError) {
        guard names.name(of: id) != name else { return }
        try checkName(name)
        if isRecording { try store.use(.renamedTrees) }
        setNames(names.naming(id, name))
        record { $0.renameTree(id, to: name, &$1) }
        noteChange()
    }

    /// Checks that a tree may get a name.
    private func checkName(_ name: String) throws(StorageError) {
        guard names.id(of: name) == nil else { throw .treeExists(name) }
        guard name.utf8.count <= Limits.nameBytes else {
            throw .invalidArgument("the name of a tree has at most \(Limits.nameBytes) bytes")
        }
    }

    private func growTreeTable() { memory.growTables(to: memory.treeCapacity * 2, keeping: treeCount) }

    /// Removes a tree from the table. Its pages must be freed already.
    func removeTree(at index: Int) {
        let id = trees[index].id
        (trees + index).update(from: trees + index + 1, count: treeCount - index - 1)
        treeCount -= 1
        streaks.update(repeating: PutStreak(), count: memory.treeCapacity)
        forgetHints()
        setNames(names.removing(id))
        record { $0.dropTree(id, to: &$1) }
        noteChange()
    }

    func setNames(_ names: TreeNames) {
        newNames = names
        state.pointee.names = Unmanaged.passUnretained(names)
        state.pointee.trees = trees
        state.pointee.treeCount = treeCount
    }

    /// Notifies cursors over the transaction's view that they must find their position again.
    @inline(__always)
    func noteChange() {
        state.pointee.trees = trees
        state.pointee.treeCount = treeCount
        state.pointee.changes &+= 1
    }

    func forgetHints() {
        hints.update(repeating: .none, count: memory.treeCapacity)
        noteShape()
    }

    func noteShape() { shape &+= 1 }

    /// Records that a change failed in the middle: the transaction can only be rolled back.
    func fail(_ error: StorageError) -> StorageError {
        failure = error
        forgetHints()
        return error
    }

    /// Starts a bulk load: until it ends no other change of the transaction and no read of this tree is possible.
    func beginLoading(_ index: Int) {
        loadedTree = index
        failure = Writer.loading
        streaks[index].waiting = 1
        state.pointee.bufferedPuts = 1
        forgetHints()
        noteChange()
    }

    func endLoading() {
        guard let index = loadedTree else { return }
        loadedTree = nil
        if failure == Writer.loading { failure = nil }
        streaks[index].waiting = 0
        state.pointee.bufferedPuts = 0
        forgetHints()
        noteChange()
    }

    func check() throws(StorageError) {
        if let failure { throw failure }
        // In a forked child, writing pages would overwrite those of the parent.
        if generation != Forks.generation {
            throw .inherited(path: store.path)
        }
    }

    // MARK: Memory

    /// Spills the transaction's pages to the file if memory is short or they are finished, and returns freed places.
    /// Between changes only.
    @inline(__always)
    func spillIfNeeded() throws(StorageError) {
        if isTidyDue { try tidy() }
    }

    @inline(never)
    private func tidy() throws(StorageError) {
        isTidyDue = false
        if lists.dead.count >= returnSize { returnDeadPages() }
        if lists.unwritten.count >= spillSize { try spill() }
        countLists()
    }

    /// Counts the lists of the transaction and of the space map against the budget. Outside of operations, because an
    /// operation keeps the frames that are evicted for them.
    ///
    /// - Parameter commitBytes: the memory that the commit needs beside them.
    func countLists(commitBytes: Int = 0) {
        store.countSpace()
        otherBytes = lists.bytes + memory.operations.capacity + commitBytes
        reserve()
    }

    /// Counts memory that an operation uses outside pages against the budget, until it is set to 0.
    func countSide(bytes: Int) {
        sideBytes = bytes
        reserve()
    }

    private func reserve() {
        frames.reserve(bytes: otherBytes + sideBytes)
        frames.evictToBudget()
    }

    /// Spills unwritten pages. An ascending load leaves full leaves that do not change again: writing them early keeps
    /// the device busy while the next ones are filled. Other pages wait, because a page that changes after its write
    /// must be written again.
    private func spill() throws(StorageError) {
        let own = lists.unwritten.count
        // The dirty pages of other commits count too, if this transaction has enough of its own.
        let isShort =
            own > frames.budgetFrames / 2
            || frames.dirtyFrames > frames.budgetFrames / 2 && own > frames.budgetFrames / 8
        let isFinished = !isRecording && finishedLeaves >= own / 8 * 7
        finishedLeaves = 0
        // A read-only store keeps what it replays in memory.
        guard isShort || isFinished, !store.options.readOnly else {
            spillSize = min(spillSize + Writer.spillStep(frames), frames.budgetFrames / 2 + 1)
            return
        }
        // Pack before the first spill, because written leaves are not packed later.
        if !hasSpilled { try packLeaves() }
        try settleCounts()
        try store.growFile(for: self)
        do throws(StorageError) { try store.writePages(lists.unwritten) } catch {
            // Some pages may be on the device, so their next change must copy them, as for all written pages.
            floor = store.nextWriteID
            leastFloor = floor
            forgetHints()
            throw error
        }
        lists.unwritten.removeAll(keepingCapacity: true)
        spills += 1
        spillSize = Writer.spillStep(frames)
        forgetHints()
    }

    /// Whether pages of this transaction were spilled.
    @inline(__always)
    var hasSpilled: Bool { spills > 0 }

    /// Notes that an ascending load has finished a leaf.
    func noteFinishedLeaf() { finishedLeaves &+= 1 }

    // MARK: Ending

    func commit(_ durability: Durability?) throws(StorageError) {
        try store.commit(self, durability ?? store.options.durability)
    }

    func commitKeepingLock(_ durability: Durability?, isShown: Bool) throws(StorageError) {
        try store.commitKeepingLock(self, durability ?? store.options.durability, isShown: isShown)
    }

    func rollback() { store.rollback(self) }

    /// Prepares the lists for the store. Nothing may be changed afterwards.
    func end() {
        isEnded = true
        gatherFreed()
    }

    /// Moves all freed pages into one list.
    func gatherFreed() {
        lists.changed.freed.append(contentsOf: lists.dead)
        lists.dead.removeAll()
        if lists.named.isEmpty { return }
        // Treat named pages as born before the oldest retained checkpoint, so that they wait until no checkpoint is
        // older than their removal.
        let oldest = store.versions.oldestCheckpointPoint
        let named = lists.named
        named.forEach { freed.append(.init(page: $0.page, bornAt: min($0.bornAt, oldest - 1))) }
        lists.named.removeAll()
    }

    /// Frees everything that the transaction allocated.
    func abandon() {
        isEnded = true
        forgetBufferedPuts()
        store.versions.giveBack(allocated)
        lists.forgetPages()
    }
}

extension Version {
    /// Creates the version of a transaction's commit.
    convenience init(of writer: Writer, commit: UInt64, point: UInt64, log: LogPosition) {
        self.init(
            commit: commit, point: point, trees: writer.treeTable,
            nextTreeID: writer.nextTreeID, names: writer.names, log: log)
    }
}
