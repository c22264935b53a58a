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
    let state: UnsafeMutablePointer<Snapshot.ViewState>
    /// Made at the first use: what only writes needs none.
    @exclusivity(unchecked) private var knownView: Snapshot?
    /// The same: once made it stays until the writer goes.
    private var lentView: Unmanaged<Snapshot>?

    @exclusivity(unchecked) var memory: WriterMemory
    @exclusivity(unchecked) var lists = WriterLists()
    @exclusivity(unchecked) private(set) var treeCount: Int
    /// The names of the trees, when they are not those from before.
    @exclusivity(unchecked) private var newNames: TreeNames?
    var nextTreeID: UInt32

    @exclusivity(unchecked) private var recorder: OperationWriter
    /// Where among the pages it removed are some that the log may name.
    @exclusivity(unchecked) private var freedNamed: [Range<Int>] = []
    /// The pages of a value change their places: those of its entry are not given back with it.
    var isMovingValue = false
    /// At recovery: the runs of pages that the log names, until a value takes them.
    var reserved = Set<ValueRuns.Run>()
    /// Pages with this serial or a later one are this transaction's, and unsealed.
    @exclusivity(unchecked) private(set) var floor: UInt64
    /// `allocated` up to here was handed to the device.
    @exclusivity(unchecked) private var spilled = 0
    /// Those behind it that were written before they became the transaction's.
    private var written = 0
    /// When to look again whether pages should be handed over, in pages since the last time.
    @exclusivity(unchecked) private var spillSize: Int
    /// Leaves that an ascending load left behind since then.
    @exclusivity(unchecked) private var finishedLeaves = 0
    /// Leaves that were full, or had lost much, since the beginning or the last time that leaves were packed.
    @exclusivity(unchecked) var crowdedLeaves = 0
    /// Those of them that stood beside a leaf of the transaction.
    @exclusivity(unchecked) var crowdedBesideOwn = 0
    /// Changes when a page goes without a copy in its place, or entries go from a leaf to another: what was known of the leaves of keys is not
    /// known then.
    @exclusivity(unchecked) private(set) var shape: UInt64 = 0
    private var savepointCount: UInt64 = 0
    /// The savepoints that can still be gone back to, oldest first.
    private(set) var openMarks: [UInt64] = []
    var isEnded = false
    /// Whether it stands in the way of other writers. Of a transaction: what replays a log has a turn that is not its own.
    var hasTurn = true
    private var isResting = false
    /// A failure in the middle of a change leaves the private trees unusable.
    private(set) var failure: StorageError?

    /// Where in the table the tree stands that a bulk load fills.
    private(set) var loadedTree: Int?
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
    /// Pages handed to this transaction, in order.
    private(set) var allocated: [UInt64] {
        get { lists.changed.allocated }
        _modify { yield &lists.changed.allocated }
    }
    /// Pages it removed; the point of their death is not known before the commit.
    private(set) var freed: [SpaceMap.DeadPage] {
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
        memory = store.idleMemory ?? WriterMemory(trees: base.treeCount)
        store.idleMemory = nil
        memory.begin(base.trees, count: base.treeCount)
        floor = store.nextSerial
        recorder = OperationWriter(limit: store.largestLoggedBytes, isRecording: recording)
        state = memory.takeState(of: base)
        swap(&lists, &store.idleLists)
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
        if let knownView {
            // Who has it goes on looking at its state.
            if !sabotaged("viewGoesOnInTheNextTransaction") { knownView.endView() }
        } else {
            memory.giveBack(state)
        }
        memory.rest()
        store.idleMemory = memory
        lists.rest()
        swap(&lists, &store.idleLists)
    }

    /// Looked at before each change is recorded: a plain read, where the buffer itself needs exclusive access.
    @inline(__always)
    var isRecording: Bool { recorder.isRecording }

    var names: TreeNames { newNames ?? base.names }

    /// Whether what was recorded names pages of values.
    private(set) var namesPages = false

    /// Whether counts of some tree are to be found out before the pages are anybody else's.
    var hasStaleCounts = false

    var hasChanges: Bool {
        !allocated.isEmpty || !freed.isEmpty || !memory.operations.isEmpty
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
        if isCounted && !sabotaged("countsUnannounced") { try store.use(.subtreeCounts) }
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
        if isRecording && !sabotaged("renamesUnannounced") { try store.use(.renamedTrees) }
        setNames(names.naming(id, name))
        if !sabotaged("renameNotLogged") { record { $0.renameTree(id, to: name, &$1) } }
        noteChange()
    }

    /// Whether a tree may get a name.
    private func checkName(_ name: String) throws(StorageError) {
        guard names.id(of: name) == nil || sabotaged("othersNameTaken") else { throw .treeExists(name) }
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

    private func setNames(_ names: TreeNames) {
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
        if count > 1 { returnUnusedNumbers() }
        let first = store.allocateRun(count)
        for index in 0..<count { allocated.append(first + UInt64(index)) }
        return (first, serial)
    }

    private func takeNumber() -> UInt64 {
        if lists.pages.isEmpty { store.allocatePages(allocated.isEmpty ? 16 : 64, to: &lists.pages) }
        let number = lists.pages.removeLast()
        allocated.append(number)
        return number
    }

    /// Gives back the numbers fetched ahead, so that what is written now does not come to stand behind them.
    func returnUnusedNumbers() {
        store.giveBack(lists.pages)
        lists.pages = []
    }

    /// Gives pages back that the transaction took since its latest savepoint, and that nobody has seen.
    func giveBackOwn(_ pages: [UInt64]) {
        guard !pages.isEmpty else { return }
        let gone = Set(pages)
        allocated.removeAll { gone.contains($0) }
        for page in pages { frames.forget(page: page) }
        store.giveBack(pages)
    }

    /// Whether pages of this transaction were handed to the device.
    var hasSpilled: Bool { spilled > 0 }

    func free(_ page: UnsafeMutableRawPointer) {
        noteShape()
        noteDead(page)
    }

    private func noteDead(_ page: UnsafeMutableRawPointer) {
        freed.append(.init(page: Page(page).number, birth: Page(page).serial, death: 0))
    }

    /// - Parameter isNamed: a frame of the log may name them.
    func free(_ run: ValueRuns.Run, isNamed: Bool) {
        for index in 0..<max(0, run.count) {
            let page = SpaceMap.DeadPage(page: run.page + UInt64(index), birth: run.serial + UInt64(index), death: 0)
            freed.append(page)
        }
        if isNamed && !sabotaged("namedPagesUsedAtOnce") { freedNamed.append(freed.count - run.count..<freed.count) }
    }

    /// Takes over pages that were written already.
    func adopt(_ pages: Range<UInt64>) {
        namesPages = true
        allocated.append(contentsOf: pages)
        written += pages.count
    }

    @inline(__always)
    func isEditable(_ page: UnsafeMutableRawPointer) -> Bool {
        Page(page).serial >= floor && (spilled == 0 || frames.isDirty(page) || sabotaged("writtenPageEditedInPlace"))
    }

    /// A copy of a page under a new number and serial; the old one is dead.
    func copy(_ page: UnsafeMutableRawPointer) throws(StorageError) -> UnsafeMutableRawPointer {
        let number = takeNumber()
        let frame = try frames.makeDirty(page: number)
        memcpy(frame, page, pageBytes)
        let view = Page(frame)
        if !sabotaged("copiedPageNotFreed") { noteDead(page) }
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
    }

    // MARK: Memory

    /// Hands the transaction's own pages to the device when memory is short, or when they are finished anyway.
    /// Between changes only.
    @inline(__always)
    func spillIfNeeded() throws(StorageError) {
        if allocated.count - spilled - written >= spillSize { try spill() }
    }

    /// Ascending loads leave full leaves behind that nobody comes back to: written early, they keep the device busy
    /// while the next ones are filled. Other pages wait, because a page changed after its writing has to be copied.
    private func spill() throws(StorageError) {
        let own = allocated.count - spilled - written
        // Those of others that only memory has count, too, as long as it is worth the while.
        let isShort =
            own > frames.budgetFrames / 2
            || frames.dirtyFrames > frames.budgetFrames / 2 && own > frames.budgetFrames / 8
        let isFinished = !isRecording && finishedLeaves >= (allocated.count - spilled - written) / 8 * 7
        finishedLeaves = 0
        // A store that only reads keeps in memory what it replays.
        guard isShort || isFinished, !store.options.readOnly else {
            spillSize = min(spillSize + Writer.spillStep(frames), frames.budgetFrames / 2 + 1)
            return
        }
        // What is left to be packed is as full as it will be: a page that was written is not changed in place.
        if spilled == 0 { try packLeaves() }
        if !sabotaged("writtenBeforeCounts") { try settleCounts() }
        try store.growFile(for: self)
        do throws(StorageError) { try store.writePages(Array(allocated[spilled...])) } catch {
            // Some of them may be on the device: like all that is there they are copied at their next change.
            floor = store.nextSerial
            forgetHints()
            throw error
        }
        spilled = allocated.count
        written = 0
        spillSize = Writer.spillStep(frames)
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
        do throws(StorageError) {
            if !sabotaged("savepointBeforeWaitingPuts") { try enterWaitingPuts() }
            try packLeaves()
            if !sabotaged("savepointBeforeCounts") { try settleCounts() }
        } catch {}
        savepointCount += 1
        let mark = Mark(
            trees: Array(UnsafeBufferPointer(start: trees, count: treeCount)), names: names, nextTreeID: nextTreeID,
            operations: memory.operations.count, allocated: allocated.count, freed: freed.count, number: savepointCount,
            owner: ObjectIdentifier(self), failure: failure)
        openMarks.append(savepointCount)
        // What exists now is sealed: it is what a rollback comes back to.
        if !sabotaged("savepointNotSealed") { floor = store.nextSerial }
        forgetHints()
        return mark
    }

    func rollback(to mark: Mark) {
        endLoading()
        if !sabotaged("undonePutsStillWait") { forgetWaitingPuts() }
        while let last = openMarks.last, last > mark.number { openMarks.removeLast() }
        for (index, tree) in mark.trees.enumerated() { (trees + index).initialize(to: tree) }
        treeCount = mark.trees.count
        nextTreeID = mark.nextTreeID
        setNames(sabotaged("undoneTreesKeepTheirNames") ? names : mark.names)
        if !sabotaged("undoneOperationsLogged") { memory.operations.truncate(to: mark.operations) }
        let dropped = Array(allocated[mark.allocated...])
        for page in dropped { frames.forget(page: page) }
        store.giveBack(dropped)
        allocated.removeLast(dropped.count)
        spilled = min(spilled, allocated.count)
        written = 0
        if !sabotaged("undoneFreesKept") { freed.removeLast(freed.count - mark.freed) }
        freedNamed.removeAll { $0.upperBound > freed.count }
        floor = store.nextSerial
        failure = mark.failure
        forgetHints()
        noteChange()
    }

    // MARK: Ending

    func commit(_ durability: Durability?) throws(StorageError) {
        try store.commit(self, durability ?? store.options.durability)
    }

    func commitOrHold(_ durability: Durability?, isShown: Bool) throws(StorageError) {
        try store.commitOrHold(self, durability ?? store.options.durability, isShown: isShown)
    }

    func rollback() { store.rollback(self) }

    /// Readies what the commit hands to the store. Nothing may be changed afterwards.
    ///
    /// - Parameter point: where the removed pages die.
    func end(at point: UInt64) {
        isEnded = true
        setDeath(at: point)
    }

    /// Notes where the removed pages die.
    func setDeath(at point: UInt64) {
        for index in 0..<freed.count { freed[index].death = point }
        guard !freedNamed.isEmpty else { return }
        // As if born before the oldest retained checkpoint: they wait until none is older than their death.
        let oldest = store.oldestCheckpointPoint
        for index in freedNamed.joined() { freed[index].birth = min(freed[index].birth, oldest - 1) }
    }

    /// Gives everything back.
    func abandon() {
        isEnded = true
        forgetWaitingPuts()
        for page in allocated { frames.forget(page: page) }
        if !sabotaged("abandonedPagesLost") { store.giveBack(allocated) }
        lists.changed.removeAll()
    }
}
