import Synchronization

/// A consistent view of the whole store at one commit.
///
/// Reads take no lock, are never blocked by a writer, and never see later changes. A snapshot may be kept as long as needed and used from
/// any thread. While it is open, pages that only it can see are not reused (``StoreStats`` reports their number). It ends when it is
/// released or closed, or when it exceeds ``StoreOptions/snapshotAgeLimit``.
///
/// ```swift
/// let snapshot = try store.snapshot()
/// if let users = snapshot.tree(named: "users") {
///     let ada = try snapshot.get(42, in: users)
/// }
/// ```
public final class Snapshot: @unchecked Sendable {
    // Unmanaged, because readers on other processors share the reference count. `holder` keeps the store alive, or the caller of
    // `Store.read` that borrows the snapshot, or the write transaction of the view.
    let store: Unmanaged<Store>
    private var holder: Store?
    let state: UnsafeMutablePointer<ViewState>
    /// Pins the pages; nil for the view of a write transaction.
    let slot: UnsafeMutablePointer<SnapshotSlot>?
    /// The write transaction of this view, while it runs.
    private(set) var writer: Unmanaged<Writer>?
    /// For the view of an ended transaction: the version that it has committed, or the one before, whose trees it still names.
    private var shown: Version?
    /// What ends with the snapshot.
    private var companion: AnyObject?

    /// What a snapshot reads from, in unmanaged memory, so that a lookup touches no reference counts.
    struct ViewState: ~Copyable {
        var trees: UnsafeMutablePointer<TreeState>
        var treeCount: Int
        var commit: UInt64
        /// Counts the changes of a write transaction; a cursor compares it to detect that it must seek again.
        var changes: UInt64
        /// The number of buffered puts of a write transaction; see `WriteBuffer`.
        var bufferedPuts: Int
        var names: Unmanaged<TreeNames>
        /// The fork generation that may read it: in a forked child the parent may reuse the pages.
        let generation = Forks.generation
        /// Whether it can be read, and its time of opening.
        let life = Atomic<UInt64>(Life.open.rawValue)
    }

    /// The low bits of `ViewState.life`. The bits above are the time when the snapshot was taken, in milliseconds.
    enum Life: UInt64 {
        case open = 0
        case closed = 1
        /// Too old: no new reads; its pages are released when all running operations have ended.
        case expiring = 2
        case expired = 3

        static let mask: UInt64 = 3
        static let timeShift: UInt64 = 2
    }

    @inline(__always)
    var frames: FrameStore { store._withUnsafeGuaranteedRef { $0.frames } }

    /// Creates a snapshot of a registered version.
    ///
    /// - Parameter isBorrowed: whether the caller keeps the store alive, and calls ``endBorrow(of:keeping:)`` before it releases the store.
    init(version: Version, slot: UnsafeMutablePointer<SnapshotSlot>, store: Store, isBorrowed: Bool) {
        self.store = .passUnretained(store)
        holder = isBorrowed ? nil : store
        self.slot = slot
        // The view is the first field of the slot, which lives as long as the store.
        state = UnsafeMutableRawPointer(slot).assumingMemoryBound(to: ViewState.self)
        state.pointee.trees = version.trees
        state.pointee.treeCount = version.treeCount
        state.pointee.commit = version.commit
        state.pointee.names = Unmanaged.passUnretained(version.names)
    }

    /// Creates the view of a write transaction.
    init(writerState: UnsafeMutablePointer<ViewState>, store: Store) {
        self.store = .passUnretained(store)
        holder = store
        state = writerState
        slot = nil
    }

    /// Creates the view of an ended write transaction; reads throw.
    convenience init(over store: Store) {
        let state = UnsafeMutablePointer<ViewState>.allocate(capacity: 1)
        state.initialize(to: .none())
        self.init(writerState: state, store: store)
        endView()
    }

    deinit {
        if let slot { return store._withUnsafeGuaranteedRef { $0.snapshots.release(slot) } }
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Ends the borrow of a snapshot. If a caller has kept it, the snapshot must retain the store from now on.
    static func endBorrow(of snapshot: inout Snapshot, keeping store: Store) {
        guard !isKnownUniquelyReferenced(&snapshot), snapshot.holder == nil else { return }
        snapshot.holder = store
    }

    /// Makes this the view of a write transaction that may have buffered puts.
    func serve(_ writer: Writer) { self.writer = .passUnretained(writer) }

    /// Ends the view of a transaction: reads throw from now on. A view that is still referenced names the trees of `shown`, the latest
    /// commit.
    func endView(showing shown: Version? = nil) {
        if let shown {
            self.shown = shown
            state.pointee.trees = shown.trees
            state.pointee.treeCount = shown.treeCount
            state.pointee.names = Unmanaged.passUnretained(shown.names)
        }
        state.pointee.life.store(Life.closed.rawValue, ordering: .releasing)
        state.pointee.bufferedPuts = 0
        writer = nil
    }

    /// Applies the buffered puts of a tree.
    @inline(never)
    private func applyBufferedPuts(of tree: Tree?) throws(StorageError) {
        guard let writer else { return }
        try writer._withUnsafeGuaranteedRef { writer in
            result { () throws(StorageError) in
                guard let tree else { return try writer.applyBufferedPuts() }
                try writer.showWaitingPuts(of: writer.index(of: tree))
            }
        }.get()
    }

    /// Closes the snapshot before it is released. Later reads throw ``StorageError/closed(path:)``.
    ///
    /// Waits for running operations of other threads. A call inside `withValue` has no effect; the snapshot then ends when it is released.
    public func close() {
        guard let slot, !Epochs.isInside, !state.pointee.isInherited else { return }
        let life = state.pointee.life.load(ordering: .relaxed)
        guard life & Life.mask == Life.open.rawValue,
            state.pointee.life.compareExchange(
                expected: life, desired: life | Life.closed.rawValue, ordering: .sequentiallyConsistent
            ).exchanged
        else { return }
        Epochs.waitUntilPassed(Epochs.retire())
        store._withUnsafeGuaranteedRef { store in
            store.keepTrees(of: slot)
            store.snapshots.unpin(slot)
        }
        companion = nil
    }

    /// Keeps an object alive until the snapshot is closed or released. Before the snapshot is shared with other threads.
    package func keep(_ object: AnyObject) { companion = object }

    /// Runs `body` unless the snapshot has ended; it stays open until `body` returns.
    func whileOpen(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        let entry = try enter()
        defer { Epochs.leave(entry) }
        try body()
    }

    /// Enters an operation epoch, in which the snapshot stays open.
    func enter() throws(StorageError) -> Epochs.Entry {
        let entry = Epochs.enter()
        do throws(StorageError) { try requireOpen() } catch {
            Epochs.leave(entry)
            throw error
        }
        return entry
    }

    // MARK: Trees

    /// The number of the commit that this snapshot shows; for the view of a write transaction, of the commit that it builds on.
    public var commitNumber: UInt64 { state.pointee.commit }

    /// Returns the tree with a name; nil if there is none. Constant time.
    ///
    /// Closed and expired snapshots and views of ended transactions still know their trees; reads of these trees throw.
    public func tree(named name: String) -> Tree? {
        withNames { names in
            guard let id = names.id(of: name),
                let index = treeIndex(state.pointee.trees, count: state.pointee.treeCount, id: id)
            else { return nil }
            return Tree(id: id, keys: state.pointee.trees[index].kind)
        }
    }

    /// All trees, sorted by name; also of a snapshot that has ended.
    public var trees: [TreeInfo] {
        // A failure here fails the transaction, and its next operation throws it.
        if state.pointee.bufferedPuts != 0 { do throws(StorageError) { try applyBufferedPuts(of: nil) } catch {} }
        return withNames { names in
            names.all.compactMap { name, id in
                treeIndex(state.pointee.trees, count: state.pointee.treeCount, id: id).map {
                    let tree = state.pointee.trees[$0]
                    return TreeInfo(
                        name: name, tree: Tree(id: id, keys: tree.kind), options: tree.options, count: tree.count,
                        levels: tree.levels)
                }
            }.sorted { $0.name < $1.name }
        }
    }

    private func withNames<R>(_ body: (TreeNames) -> R) -> R {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        if !isOpen && (slot == nil && shown == nil) { return body(TreeNames()) }
        return state.pointee.names._withUnsafeGuaranteedRef { body($0) }
    }

    /// Returns the number of entries of a tree. Constant time.
    public func count(of tree: Tree) throws(StorageError) -> UInt64 {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        return try lookUp(tree).count
    }

    /// Checks that the snapshot is open, for reads that continue from a position. The caller must be inside an operation epoch.
    @inline(__always)
    func requireOpen() throws(StorageError) {
        if !isOpen { throw whyOver }
    }

    @inline(__always)
    private var isOpen: Bool {
        state.pointee.life.load(ordering: .relaxed) & Life.mask == Life.open.rawValue && !state.pointee.isInherited
    }

    private var whyOver: StorageError {
        let path = store._withUnsafeGuaranteedRef { $0.path }
        if state.pointee.isInherited { return .inherited(path: path) }
        if slot != nil, state.pointee.life.load(ordering: .relaxed) >> Life.timeShift == SnapshotRegistry.suspended {
            return .suspended(path: path)
        }
        guard slot != nil, let limit = store._withUnsafeGuaranteedRef({ $0.options.snapshotAgeLimit }),
            state.pointee.life.load(ordering: .relaxed) & Life.expiring.rawValue != 0
        else { return .closed(path: path) }
        return .expired(after: limit)
    }

    /// Returns the checked state of a tree. The caller must be inside an operation epoch.
    @inline(__always)
    func lookUp(_ tree: Tree) throws(StorageError) -> TreeState {
        try requireOpen()
        if state.pointee.bufferedPuts != 0 { try applyBufferedPuts(of: tree) }
        let trees = state.pointee.trees
        guard let index = treeIndex(trees, count: state.pointee.treeCount, id: tree.id) else {
            throw StorageError.treeNotFound("number \(tree.id)")
        }
        return trees[index]
    }

    /// Returns the state of a tree whose subtree counts are known.
    func lookUpCounted(_ tree: Tree, _ kind: KeyKind) throws(StorageError) -> TreeState {
        let found = try lookUp(tree, kind)
        guard found.countsAreStale, let writer else { return found }
        try writer._withUnsafeGuaranteedRef { writer in
            result { () throws(StorageError) in
                try writer.check()
                try writer.settleCounts(of: writer.index(of: tree))
            }
        }.get()
        return found
    }

    @inline(__always)
    func lookUp(_ tree: Tree, _ kind: KeyKind) throws(StorageError) -> TreeState {
        let found = try lookUp(tree)
        guard found.kind == kind else {
            throw StorageError.wrongKeyKind(tree: "number \(tree.id)", expected: found.kind)
        }
        return found
    }

    // MARK: Values

    /// Returns the value of `key`; nil if there is none. Logarithmic time.
    public func get(_ key: UInt64, in tree: Tree) throws(StorageError) -> [UInt8]? {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        guard let record = try find(IntegerLayout.self, lookUp(tree, .integer), key) else { return nil }
        return try bytes(record)
    }

    /// Returns the value of `key`; nil if there is none. Logarithmic time.
    public func get(_ key: [UInt8], in tree: Tree) throws(StorageError) -> [UInt8]? {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        let state = try lookUp(tree, .bytes)
        let found: Result<RecordView?, StorageError> = key.withUnsafeBytes { key in
            result { () throws(StorageError) in try find(ByteLayout.self, state, addressed(key)) }
        }
        guard let record = try found.get() else { return nil }
        return try bytes(record)
    }

    /// Returns the record of `key`. The caller must be inside an operation epoch.
    ///
    /// Touches no reference counts, because concurrent readers would compete for their cache lines.
    @inline(__always)
    func find<Layout: NodeLayout>(
        _ layout: Layout.Type, _ state: TreeState, _ key: Layout.Key
    ) throws(StorageError) -> RecordView? {
        try store._withUnsafeGuaranteedRef { store in
            result { () throws(StorageError) in try store.frames.find(layout, state, key) }
        }.get()
    }

    func bytes(_ record: RecordView) throws(StorageError) -> [UInt8] {
        if record.isOverflow { return try overflow(record).read(from: frames) }
        return [UInt8](UnsafeRawBufferPointer(start: record.bytes, count: record.count))
    }

    func overflow(_ record: RecordView) throws(StorageError) -> Overflow {
        guard let overflow = Overflow(record) else {
            throw .corrupted(page: 0, reason: "a leaf entry describes an impossible overflow value")
        }
        return overflow
    }
}
