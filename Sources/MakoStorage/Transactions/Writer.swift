import CPlatform

/// The state of one write transaction: private roots, the pages it brought and removed, its operations.
///
/// A page may be changed in place only if this transaction allocated it since its latest savepoint and the device does not have it. One that
/// the device has gets another serial first and keeps its place; any other page is copied (`OwnPages.swift`). Used by one thread at a time: the
/// hot properties go without dynamic exclusivity checks, a tenth of an ordered insertion's time.
final class Writer {
    let store: Store
    let frames: FrameStore
    let base: Version
    let state: UnsafeMutablePointer<Snapshot.ViewState>
    private let generation = Forks.generation
    /// Made at the first use: what only writes needs none.
    @exclusivity(unchecked) private var knownView: Snapshot?
    /// The same: once made it stays until the writer goes.
    private var lentView: Unmanaged<Snapshot>?

    @exclusivity(unchecked) var memory: WriterMemory
    @exclusivity(unchecked) var lists = WriterLists()
    @exclusivity(unchecked) var treeCount: Int
    /// The names of the trees, when they are not those from before.
    @exclusivity(unchecked) private var newNames: TreeNames?
    var nextTreeID: UInt32

    @exclusivity(unchecked) private var recorder: OperationWriter
    /// The pages of a value change their places: those of its entry are not given back with it.
    var isMovingValue = false
    /// At recovery: the runs of pages that the log names, until a value takes them.
    var reserved = Set<ValueRuns.Run>()
    /// Pages with this serial or a later one are this transaction's, and no savepoint needs them.
    @exclusivity(unchecked) var floor: UInt64
    /// The least that `floor` can be: pages from before it are not this transaction's, or the device may have a part of them.
    var leastFloor: UInt64
    /// How often pages of this transaction were handed to the device.
    @exclusivity(unchecked) private(set) var spills = 0
    /// When to look again whether pages should be handed over: at so many that only memory has.
    @exclusivity(unchecked) var spillSize: Int
    /// When to look again whether places should be given back: at so many pages that it gave up.
    @exclusivity(unchecked) var returnSize = Writer.leastReturn
    /// Whether one of the two is to be looked at before the next change.
    @exclusivity(unchecked) var isTidyDue = false
    /// Memory that an operation has beside pages.
    private var sideBytes = 0
    /// The transaction's own memory beside pages, when it was counted last.
    private var otherBytes = 0
    /// Leaves that an ascending load left behind since then.
    @exclusivity(unchecked) private var finishedLeaves = 0
    /// Leaves that were full, or had lost much, since the beginning or the last time that leaves were packed.
    @exclusivity(unchecked) var crowdedLeaves = 0
    /// Those of them that stood beside a leaf of the transaction.
    @exclusivity(unchecked) var crowdedBesideOwn = 0
    /// Changes when a page goes without a copy in its place, or entries go from a leaf to another: what was known of the leaves of keys is not
    /// known then.
    @exclusivity(unchecked) private(set) var shape: UInt64 = 0
    /// The savepoints that can still be gone back to, oldest first.
    @exclusivity(unchecked) var openMarks: [OpenMark] = []
    var isEnded = false
    /// Whether it stands in the way of other writers. Of a transaction: what replays a log has a turn that is not its own.
    var hasTurn = true
    private var isResting = false
    /// A failure in the middle of a change leaves the private trees unusable.
    var failure: StorageError?

    /// Where in the table the tree stands that a bulk load fills.
    var loadedTree: Int?
    static let loading = StorageError.invalidArgument(
        "a tree is being loaded in bulk; use it, and change others, before that or afterwards")

    var scratch: Scratch { memory.scratch }
    var path: UnsafeMutablePointer<PathStep> { memory.path }
    var trees: UnsafeMutablePointer<TreeState> { memory.trees }
    var hints: UnsafeMutablePointer<LeafHint> { memory.hints }
    var streaks: UnsafeMutablePointer<PutStreak> { memory.streaks }
    var batch: PutBatch {
        get { lists.batch }
        _modify { yield &lists.batch }
    }
    /// Pages handed to this transaction, in order, each once.
    var allocated: PackedList<UInt64> {
        get { lists.changed.allocated }
        _modify { yield &lists.changed.allocated }
    }
    /// Pages it removed that were there before it or that a savepoint needs.
    var freed: PackedList<SpaceMap.DeadPage> {
        get { lists.changed.freed }
        _modify { yield &lists.changed.freed }
    }

    /// 8 MiB.
    private static let spillPages = 2048

    /// An eighth of a small budget: others' pages that only memory has take a part of it, too.
    private static func spillStep(_ frames: FrameStore) -> Int { min(spillPages, frames.budgetFrames / 8 + 1) }

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
        spillSize = Writer.spillStep(store.frames)
        self.base = base
        nextTreeID = base.nextTreeID
        treeCount = base.treeCount
        memory = store.turn.idleMemory ?? WriterMemory(trees: base.treeCount)
        store.turn.idleMemory = nil
        memory.begin(base.trees, count: base.treeCount)
        floor = store.nextSerial
        leastFloor = floor
        recorder = OperationWriter(limit: store.pipeline.largestLoggedBytes, isRecording: recording)
        state = memory.takeState(of: base)
        swap(&lists, &store.turn.idleLists)
    }

    deinit { rest() }

    /// The transaction's own state, for reading.
    var view: Snapshot { knownView ?? makeView() }

    @inline(never)
    private func makeView() -> Snapshot {
        if isResting { return Snapshot(over: store) }
        let view = Snapshot(writerState: state, store: store)
        view.serve(self)
        knownView = view
        lentView = .passUnretained(view)
        return view
    }

    /// What the view lends, without a count of references to that.
    @inline(__always)
    func lend(_ key: UInt64, _ tree: Tree) throws(StorageError) -> _Loan {
        guard let lentView else { return try view._lend(key, tree) }
        return try lentView._withUnsafeGuaranteedRef { view in
            result { () throws(StorageError) in try view._lend(key, tree) }
        }.get()
    }

    /// Hands the memory on to the next transaction, before the turn is given up. Nothing is read or changed through
    /// this one any more.
    func rest() {
        guard !isResting else { return }
        isResting = true
        if knownView != nil {
            // Who has it goes on looking at its state.
            let isHeld = !isKnownUniquelyReferenced(&knownView)
            knownView?.endView(showing: isHeld ? store.newest : nil)
        } else {
            memory.giveBack(state)
        }
        memory.rest()
        store.turn.idleMemory = memory
        lists.rest()
        frames.lend(bytes: 0)
        swap(&lists, &store.turn.idleLists)
    }

    /// Looked at before each change is recorded: a plain read, where the buffer itself needs exclusive access.
    @inline(__always)
    var isRecording: Bool { recorder.isRecording }

    var names: TreeNames { newNames ?? base.names }

    /// Whether what was recorded names pages of values.
    var namesPages = false

    /// Whether counts of some tree are to be found out before the pages are anybody else's.
    var hasStaleCounts = false

    var hasChanges: Bool {
        !allocated.isEmpty || !freed.isEmpty || !lists.named.isEmpty || !memory.operations.isEmpty
            || !isRecording || newNames != nil && newNames !== base.names
    }

    /// Records what was done, as long as the transaction is small enough for the log.
    @inline(__always)
    func record(_ body: (inout OperationWriter, inout GrowingBytes) -> Void) {
        if recorder.isRecording { body(&recorder, &memory.operations) }
    }

    /// Nothing of the transaction goes to the log: its commit is a checkpoint.
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

    /// Gives a tree another name.
    func renameTree(_ id: UInt32, to name: String) throws(StorageError) {
        guard names.name(of: id) != name else { return }
        try checkName(name)
        if isRecording { try store.use(.renamedTrees) }
        setNames(names.naming(id, name))
        record { $0.renameTree(id, to: name, &$1) }
        noteChange()
    }

    /// Whether a tree may get a name.
    private func checkName(_ name: String) throws(StorageError) {
        guard names.id(of: name) == nil else { throw .treeExists(name) }
        guard name.utf8.count <= Limits.nameBytes else {
            throw .invalidArgument("the name of a tree has at most \(Limits.nameBytes) bytes")
        }
    }

    private func growTreeTable() { memory.growTables(to: memory.treeCapacity * 2, keeping: treeCount) }

    /// Takes a tree out of the table; its pages must be freed already.
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

    /// Tells cursors over the transaction's own view that they must find their place again.
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

    /// Remembers that a change broke off in the middle: the transaction can only be rolled back.
    func fail(_ error: StorageError) -> StorageError {
        failure = error
        forgetHints()
        return error
    }

    /// A tree is being filled at its end: until that is over nobody else may change the transaction, or read that tree.
    func beginLoading(_ index: Int) {
        loadedTree = index
        failure = Writer.loading
        streaks[index].waiting = 1
        state.pointee.waitingPuts = 1
        forgetHints()
        noteChange()
    }

    func endLoading() {
        guard let index = loadedTree else { return }
        loadedTree = nil
        if failure == Writer.loading { failure = nil }
        streaks[index].waiting = 0
        state.pointee.waitingPuts = 0
        forgetHints()
        noteChange()
    }

    func check() throws(StorageError) {
        if let failure { throw failure }
        // Pages that a child hands to the device would be those of its parent.
        if generation != Forks.generation {
            throw .inherited(path: store.path)
        }
    }

    // MARK: Memory

    /// Hands the transaction's own pages to the device when memory is short, or when they are finished anyway, and gives back the places
    /// that it gave up. Between changes only.
    @inline(__always)
    func spillIfNeeded() throws(StorageError) {
        if isTidyDue { try tidy() }
    }

    @inline(never)
    private func tidy() throws(StorageError) {
        isTidyDue = false
        if lists.dead.count >= returnSize { returnDeadPages() }
        if lists.unwritten.count >= spillSize { try spill() }
        let (filePages, spaceBytes) = store.versions.lock.withLock {
            (store.versions.room.pages, store.versions.space.listBytes + store.versions.space.bitmapBytes)
        }
        frames.note(filePages: filePages)
        otherBytes = lists.bytes + memory.operations.capacity + spaceBytes
        lend()
    }

    /// Counts memory that an operation has beside pages against the budget, until it is set to 0.
    func countSide(bytes: Int) {
        sideBytes = bytes
        lend()
    }

    private func lend() {
        frames.lend(bytes: otherBytes + sideBytes)
        frames.evictToBudget()
    }

    /// Ascending loads leave full leaves behind that nobody comes back to: written early, they keep the device busy
    /// while the next ones are filled. Other pages wait, because a page changed after its writing has to be written again.
    private func spill() throws(StorageError) {
        let own = lists.unwritten.count
        // Those of others that only memory has count, too, as long as it is worth the while.
        let isShort =
            own > frames.budgetFrames / 2
            || frames.dirtyFrames > frames.budgetFrames / 2 && own > frames.budgetFrames / 8
        let isFinished = !isRecording && finishedLeaves >= own / 8 * 7
        finishedLeaves = 0
        // A store that only reads keeps in memory what it replays.
        guard isShort || isFinished, !store.options.readOnly else {
            spillSize = min(spillSize + Writer.spillStep(frames), frames.budgetFrames / 2 + 1)
            return
        }
        // What is left to be packed is as full as it will be: pages that were written are shared at once.
        if !hasSpilled { try packLeaves() }
        try settleCounts()
        try store.growFile(for: self)
        do throws(StorageError) { try store.writePages(lists.unwritten) } catch {
            // Some of them may be on the device: like all that is there they are copied at their next change.
            floor = store.nextSerial
            leastFloor = floor
            forgetHints()
            throw error
        }
        lists.unwritten.removeAll(keepingCapacity: true)
        spills += 1
        spillSize = Writer.spillStep(frames)
        forgetHints()
    }

    /// Whether pages of this transaction were handed to the device.
    @inline(__always)
    var hasSpilled: Bool { spills > 0 }

    /// Notes that a leaf was left behind by an ascending load.
    func noteFinishedLeaf() { finishedLeaves &+= 1 }

    // MARK: Ending

    func commit(_ durability: Durability?) throws(StorageError) {
        try store.commit(self, durability ?? store.options.durability)
    }

    func commitOrHold(_ durability: Durability?, isShown: Bool) throws(StorageError) {
        try store.commitOrHold(self, durability ?? store.options.durability, isShown: isShown)
    }

    func rollback() { store.rollback(self) }

    /// Readies what the commit hands to the store. Nothing may be changed afterwards.
    func end() {
        isEnded = true
        gatherFreed()
    }

    /// Puts all removed pages into one list.
    func gatherFreed() {
        lists.changed.freed.append(contentsOf: lists.dead)
        lists.dead.removeAll()
        if lists.named.isEmpty { return }
        // As if born before the oldest retained checkpoint: they wait until none is older than their death.
        let oldest = store.versions.oldestCheckpointPoint
        let named = lists.named
        named.forEach { freed.append(.init(page: $0.page, birth: min($0.birth, oldest - 1))) }
        lists.named.removeAll()
    }

    /// Gives everything back.
    func abandon() {
        isEnded = true
        forgetWaitingPuts()
        store.versions.giveBack(allocated)
        lists.forgetPages()
    }
}

extension Version {
    /// The state of a transaction, as a commit of that number.
    convenience init(of writer: Writer, commit: UInt64, point: UInt64, log: LogPosition) {
        self.init(
            commit: commit, point: point, trees: writer.trees, treeCount: writer.treeCount,
            nextTreeID: writer.nextTreeID, names: writer.names, log: log)
    }
}
