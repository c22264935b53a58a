import Synchronization

/// A consistent view of the whole store at one commit.
///
/// Reading takes no lock and is never blocked by a writer, and nothing a writer does changes what a snapshot
/// shows. A snapshot may be kept as long as needed and used from any thread; while it lives, the space of pages
/// that only it can see is not used again (``StoreStats`` tells how much that is). It ends when it is released or
/// closed, or when it is older than ``StoreOptions/snapshotAgeLimit``.
///
/// ```swift
/// let snapshot = try store.snapshot()
/// if let users = snapshot.tree(named: "users") {
///     let ada = try snapshot.get(42, in: users)
/// }
/// ```
public final class Snapshot: @unchecked Sendable {
    // Not counted, since readers on other processors would count it, too: either `holder` keeps it, or the call of `Store.read` that
    // lends the snapshot, or the write transaction whose view it is.
    let store: Unmanaged<Store>
    private var holder: Store?
    let state: UnsafeMutablePointer<ViewState>
    /// What keeps the pages in place; nil for a write transaction's own view.
    let slot: UnsafeMutablePointer<SnapshotSlot>?
    /// The write transaction whose view this is, while it lasts.
    private var writer: Unmanaged<Writer>?
    /// Of the view of a transaction that is over: what its commit left, or what was there before it; by that it goes on to name its trees.
    private var shown: Version?

    /// What a snapshot reads from: raw, so that a lookup counts no references.
    struct ViewState: ~Copyable {
        var trees: UnsafeMutablePointer<TreeState>
        var treeCount: Int
        var commit: UInt64
        /// Counts the changes of a write transaction's own view; a cursor looks whether it must seek again.
        var changes: UInt64
        /// Puts of a write transaction that its trees do not show yet; see `PutBatch`.
        var waitingPuts: Int
        var names: Unmanaged<TreeNames>
        /// The process that may read it: the pages that a fork's child would find are its parent's to reuse.
        let generation = Forks.generation
        /// Whether it can be read, and since when it is open.
        let life = Atomic<UInt64>(Life.open.rawValue)
    }

    /// The low bits of `ViewState.life`; above them the time at which the snapshot was taken, in milliseconds.
    enum Life: UInt64 {
        case open = 0
        case closed = 1
        /// Too old: nothing more is read, and its pages are let go of when all reads that had begun have ended.
        case expiring = 2
        case expired = 3

        static let mask: UInt64 = 3
        static let timeShift: UInt64 = 2
    }

    @inline(__always)
    var frames: FrameStore { store._withUnsafeGuaranteedRef { $0.frames } }

    /// Takes a registered version.
    ///
    /// - Parameter isLent: the caller keeps the store, and calls ``endLoan(of:keeping:)`` before it lets go of it.
    init(version: Version, slot: UnsafeMutablePointer<SnapshotSlot>, store: Store, isLent: Bool) {
        self.store = .passUnretained(store)
        holder = isLent ? nil : store
        self.slot = slot
        // It comes first in the slot, which lives as long as the store.
        state = UnsafeMutableRawPointer(slot).assumingMemoryBound(to: ViewState.self)
        state.pointee.trees = version.trees
        state.pointee.treeCount = version.treeCount
        state.pointee.commit = version.commit
        state.pointee.names = Unmanaged.passUnretained(version.names)
    }

    /// Wraps the state of a write transaction.
    init(writerState: UnsafeMutablePointer<ViewState>, store: Store) {
        self.store = .passUnretained(store)
        holder = store
        state = writerState
        slot = nil
    }

    /// What is left of a write transaction that has ended: it answers nothing.
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

    /// The caller that lent the snapshot is about to let go of the store. Whoever has kept the snapshot has to keep the store, too.
    static func endLoan(of snapshot: inout Snapshot, keeping store: Store) {
        guard !isKnownUniquelyReferenced(&snapshot), snapshot.holder == nil else { return }
        snapshot.holder = store
    }

    /// Makes this the view of a write transaction that may have waiting puts.
    func serve(_ writer: Writer) { self.writer = .passUnretained(writer) }

    /// The transaction is over: reads throw from now on. A view that something else still has goes on to name the trees of the latest commit, `shown`.
    func endView(showing shown: Version? = nil) {
        if let shown {
            self.shown = shown
            state.pointee.trees = shown.trees
            state.pointee.treeCount = shown.treeCount
            state.pointee.names = Unmanaged.passUnretained(shown.names)
        }
        state.pointee.life.store(Life.closed.rawValue, ordering: .releasing)
        state.pointee.waitingPuts = 0
        writer = nil
    }

    /// Makes a tree show the puts that wait for it.
    @inline(never)
    private func enterWaitingPuts(of tree: Tree?) throws(StorageError) {
        guard let writer else { return }
        try writer._withUnsafeGuaranteedRef { writer in
            result { () throws(StorageError) in
                guard let tree else { return try writer.enterWaitingPuts() }
                try writer.showWaitingPuts(of: writer.index(of: tree))
            }
        }.get()
    }

    /// Ends the snapshot before it is released. Reads after this throw ``StorageError/closed``.
    ///
    /// Operations that other threads are in the middle of are waited for. A call from inside `withValue` is
    /// ignored; the snapshot then ends when it is released.
    public func close() {
        guard let slot, !Epochs.isInside, !state.pointee.isInherited else { return }
        let life = state.pointee.life.load(ordering: .relaxed)
        guard life & Life.mask == Life.open.rawValue,
            state.pointee.life.compareExchange(
                expected: life, desired: life | Life.closed.rawValue, ordering: .sequentiallyConsistent
            ).exchanged
        else { return }
        let epoch = Epochs.retire()
        while !Epochs.hasPassed(epoch) { yieldThread() }
        store._withUnsafeGuaranteedRef { store in
            store.keepTrees(of: slot)
            store.snapshots.unpin(slot)
        }
    }

    /// Runs `body` unless the snapshot has ended, which it does not meanwhile.
    func whileOpen(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        let entry = try enter()
        defer { Epochs.leave(entry) }
        try body()
    }

    /// Keeps the snapshot from ending, until the epoch is left.
    func enter() throws(StorageError) -> Epochs.Entry {
        let entry = Epochs.enter()
        do throws(StorageError) { try requireOpen() } catch {
            Epochs.leave(entry)
            throw error
        }
        return entry
    }

    // MARK: Trees

    /// The number of the commit this snapshot shows. A write transaction's view shows the one it builds on.
    public var commitNumber: UInt64 { state.pointee.commit }

    /// The tree of that name, or nil. Constant time.
    ///
    /// A snapshot that was closed, or ended because it was too old, and the view of a transaction that is over still know their trees; whatever
    /// is read of these throws.
    public func tree(named name: String) -> Tree? {
        withNames { names in
            guard let id = names.id(of: name),
                let index = treeIndex(state.pointee.trees, count: state.pointee.treeCount, id: id)
            else { return nil }
            return Tree(id: id, keys: state.pointee.trees[index].kind)
        }
    }

    /// All trees, by name; of a snapshot that has ended, too.
    public var trees: [TreeInfo] {
        // What fails here fails the transaction, and its next operation says so.
        if state.pointee.waitingPuts != 0 { do throws(StorageError) { try enterWaitingPuts(of: nil) } catch {} }
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

    /// The number of entries in a tree. Constant time.
    public func count(of tree: Tree) throws(StorageError) -> UInt64 {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        return try lookUp(tree).count
    }

    /// What has gone on to read where it stood looks at this again. The caller is inside an operation epoch.
    @inline(__always)
    func requireOpen() throws(StorageError) {
        if !isOpen { throw whyOver }
    }

    @inline(__always)
    private var isOpen: Bool {
        state.pointee.life.load(ordering: .relaxed) & Life.mask == Life.open.rawValue && !state.pointee.isInherited
    }

    private var whyOver: StorageError {
        if state.pointee.isInherited { return .inherited(path: store._withUnsafeGuaranteedRef { $0.path }) }
        guard slot != nil, let limit = store._withUnsafeGuaranteedRef({ $0.options.snapshotAgeLimit }),
            state.pointee.life.load(ordering: .relaxed) & Life.expiring.rawValue != 0
        else { return .closed }
        return .expired(after: limit)
    }

    /// The state of a tree, checked. The caller is inside an operation epoch.
    @inline(__always)
    func lookUp(_ tree: Tree) throws(StorageError) -> TreeState {
        try requireOpen()
        if state.pointee.waitingPuts != 0 { try enterWaitingPuts(of: tree) }
        let trees = state.pointee.trees
        guard let index = treeIndex(trees, count: state.pointee.treeCount, id: tree.id) else {
            throw StorageError.treeNotFound("number \(tree.id)")
        }
        return trees[index]
    }

    /// The state of a tree whose counts are known.
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

    /// The value of `key`, or nil. Logarithmic time.
    public func get(_ key: UInt64, in tree: Tree) throws(StorageError) -> [UInt8]? {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        guard let record = try find(IntegerLayout.self, lookUp(tree, .integer), key) else { return nil }
        return try bytes(record)
    }

    /// The value of `key`, or nil. Logarithmic time.
    public func get(_ key: [UInt8], in tree: Tree) throws(StorageError) -> [UInt8]? {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        let state = try lookUp(tree, .bytes)
        let found: Result<RecordView?, StorageError> = key.withUnsafeBytes { key in
            result { () throws(StorageError) in try find(ByteLayout.self, state, lendable(key)) }
        }
        guard let record = try found.get() else { return nil }
        return try bytes(record)
    }

    /// The record of `key`. The caller is inside an operation epoch.
    ///
    /// What leads to it is not counted: threads that read at once would take the counts' cache lines from each other.
    @inline(__always)
    private func find<Layout: NodeLayout>(
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

    // MARK: Lent values

    /// Calls `body` with the bytes of the value of `key`, without copying them, or answers nil when it is absent.
    ///
    /// The bytes are valid until `body` returns. Values on overflow pages are put together in memory first.
    @inlinable
    public func withValue<R>(of key: UInt64, in tree: Tree, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
        let loan = try _lend(key, tree)
        defer { _takeBack(loan) }
        guard let start = loan.start else { return nil }
        return try body(UnsafeRawBufferPointer(start: start, count: loan.count))
    }

    /// Calls `body` with the bytes of the value of `key`, without copying them, or answers nil when it is absent.
    @inlinable
    public func withValue<R>(of key: [UInt8], in tree: Tree, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R?
    {
        let loan = try _lend(key, tree)
        defer { _takeBack(loan) }
        guard let start = loan.start else { return nil }
        return try body(UnsafeRawBufferPointer(start: start, count: loan.count))
    }

    /// Calls `body` once for each of `keys`, in order, with its position and the bytes of its value, or nil.
    ///
    /// The lookups go down the tree together in small groups: several times as fast as one after the other when
    /// the tree is larger than the processor's caches.
    @inlinable
    public func withValues(
        of keys: [UInt64], in tree: Tree, _ body: (Int, UnsafeRawBufferPointer?) throws -> Void
    ) throws {
        try _lendInGroups(keys.count, { try _lend(keys, $0, tree, $1) }, body)
    }

    /// Calls `body` once for each of `keys`, in order, with its position and the bytes of its value, or nil.
    ///
    /// The lookups go down the tree together in small groups, as those of integers do.
    ///
    /// ```swift
    /// try snapshot.withValues(of: words.map { Array($0.utf8) }, in: counts) { index, value in
    ///     print(words[index], value?.first ?? 0)
    /// }
    /// ```
    @inlinable
    public func withValues(
        of keys: [[UInt8]], in tree: Tree, _ body: (Int, UnsafeRawBufferPointer?) throws -> Void
    ) throws {
        try _lendInGroups(keys.count, { try _lend(keys, $0, tree, $1) }, body)
    }

    @inlinable
    func _lendInGroups(
        _ count: Int,
        _ lend: (Range<Int>, UnsafeMutableBufferPointer<_Loan>) throws -> UnsafeMutableRawPointer?,
        _ body: (Int, UnsafeRawBufferPointer?) throws -> Void
    ) throws {
        let groupSize = 32
        try withUnsafeTemporaryAllocation(of: _Loan.self, capacity: groupSize) { loans in
            var start = 0
            while start < count {
                let end = min(start + groupSize, count)
                let entry = try lend(start..<end, loans)
                defer { _takeBack(entry) }
                for index in start..<end {
                    let loan = loans[index - start]
                    defer { _takeBack(loan) }
                    do {
                        try body(index, loan.start.map { UnsafeRawBufferPointer(start: $0, count: loan.count) })
                    } catch {
                        // Large values are lent as copies: those that the body never sees go back, too.
                        for rest in index + 1..<end { _takeBack(loans[rest - start]) }
                        throw error
                    }
                }
                start = end
            }
        }
    }
}

/// Bytes lent by a snapshot; only for the inlined functions above.
public struct _Loan {
    public let start: UnsafeRawPointer?
    public let count: Int
    /// The epoch cell to be cleared when the loan is given back.
    @usableFromInline let entry: UnsafeMutableRawPointer?
    /// Memory of the loan's own.
    @usableFromInline let owner: UnsafeMutableRawPointer?

    @usableFromInline
    init(start: UnsafeRawPointer?, count: Int, entry: UnsafeMutableRawPointer?, owner: UnsafeMutableRawPointer?) {
        self.start = start
        self.count = count
        self.entry = entry
        self.owner = owner
    }
}

extension Snapshot {
    public func _lend(_ key: UInt64, _ tree: Tree) throws(StorageError) -> _Loan {
        let entry = Epochs.enter()
        do throws(StorageError) {
            let state = try lookUp(tree, .integer)
            if let leaf = changedLeaf(of: tree, key) {
                let (slot, found) = IntegerLayout.find(leaf, key)
                return try loan(found ? IntegerLayout.record(leaf, slot) : nil, entry)
            }
            return try loan(find(IntegerLayout.self, state, key), entry)
        } catch {
            Epochs.leave(entry)
            throw error
        }
    }

    /// The leaf that a write transaction changed last in a tree, where the key belongs there: who changes one row after the other reads each
    /// before, and is spared the way down.
    @inline(__always)
    private func changedLeaf(of tree: Tree, _ key: UInt64) -> UnsafeMutableRawPointer? {
        guard let writer else { return nil }
        return writer._withUnsafeGuaranteedRef { writer in
            treeIndex(writer.trees, count: writer.treeCount, id: tree.id).flatMap {
                IntegerLayout.hinted(writer.hints + $0, key)
            }
        }
    }

    public func _lend(_ key: [UInt8], _ tree: Tree) throws(StorageError) -> _Loan {
        let entry = Epochs.enter()
        do throws(StorageError) {
            let state = try lookUp(tree, .bytes)
            let found: Result<RecordView?, StorageError> = key.withUnsafeBytes { key in
                result { () throws(StorageError) in try find(ByteLayout.self, state, lendable(key)) }
            }
            return try loan(found.get(), entry)
        } catch {
            Epochs.leave(entry)
            throw error
        }
    }

    /// Fills `loans` with the values of a group of keys. The epoch stays entered; give it back with the answer.
    public func _lend(
        _ keys: [UInt64], _ range: Range<Int>, _ tree: Tree, _ loans: UnsafeMutableBufferPointer<_Loan>
    ) throws(StorageError) -> UnsafeMutableRawPointer? {
        try keys.withUnsafeBufferPointer { keys in
            result { () throws(StorageError) in
                try lend(IntegerLayout.self, .integer, UnsafeBufferPointer(rebasing: keys[range]), tree, loans)
            }
        }.get()
    }

    /// Fills `loans` with the values of a group of keys. The epoch stays entered; give it back with the answer.
    public func _lend(
        _ keys: [[UInt8]], _ range: Range<Int>, _ tree: Tree, _ loans: UnsafeMutableBufferPointer<_Loan>
    ) throws(StorageError) -> UnsafeMutableRawPointer? {
        try withKeyBytes(keys[range]) { keys in
            result { () throws(StorageError) in try lend(ByteLayout.self, .bytes, keys, tree, loans) }
        }.get()
    }

    @inline(__always)
    private func lend<Layout: NodeLayout>(
        _ layout: Layout.Type, _ kind: KeyKind, _ keys: UnsafeBufferPointer<Layout.Key>, _ tree: Tree,
        _ loans: UnsafeMutableBufferPointer<_Loan>
    ) throws(StorageError) -> UnsafeMutableRawPointer? {
        let entry = Epochs.enter()
        // In a variable of its own: what stands in an object is counted for each key.
        let frames = frames
        do throws(StorageError) {
            let state = try lookUp(tree, kind)
            guard state.levels > 0 else {
                for index in 0..<keys.count {
                    loans[index] = _Loan(start: nil, count: 0, entry: nil, owner: nil)
                }
                return UnsafeMutableRawPointer(entry)
            }
            let done = withUnsafeTemporaryAllocation(of: PageReference.self, capacity: keys.count) { references in
                result { () throws(StorageError) in
                    guard let leaves = references.baseAddress else { return }
                    try frames.descend(layout, state, keys, leaves)
                    // All are found before the first is looked at: meanwhile the records come together, too. Until then a loan says in
                    // which leaf and slot.
                    for index in 0..<keys.count {
                        let leaf = try frames.resolve(leaves[index], type: Layout.leafType, level: 0)
                        let (slot, found) = Layout.find(leaf, keys[index])
                        if found { frames.prefetchRecord(leaf, from: Layout.offset(leaf, slot)) }
                        loans[index] = _Loan(
                            start: found ? UnsafeRawPointer(leaf) : nil, count: slot, entry: nil, owner: nil)
                    }
                    for index in 0..<keys.count {
                        guard let leaf = loans[index].start else { continue }
                        do throws(StorageError) {
                            loans[index] = try loan(
                                Layout.record(UnsafeMutableRawPointer(mutating: leaf), loans[index].count), nil)
                        } catch {
                            for earlier in 0..<index { _takeBack(loans[earlier]) }
                            throw error
                        }
                    }
                }
            }
            try done.get()
            return UnsafeMutableRawPointer(entry)
        } catch {
            Epochs.leave(entry)
            throw error
        }
    }

    @inline(__always)
    private func loan(_ record: RecordView?, _ cell: Epochs.Entry) throws(StorageError) -> _Loan {
        let entry = UnsafeMutableRawPointer(cell)
        guard let record else { return _Loan(start: nil, count: 0, entry: entry, owner: nil) }
        if !record.isOverflow {
            return _Loan(start: record.bytes, count: record.count, entry: entry, owner: nil)
        }
        let value = try overflow(record).read(from: frames)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: max(1, value.count), alignment: 8)
        value.withUnsafeBytes {
            memory.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(memory), byteCount: $0.count)
        }
        return _Loan(start: UnsafeRawPointer(memory), count: value.count, entry: entry, owner: memory)
    }

    @inlinable
    public func _takeBack(_ loan: _Loan) { loan.end() }

    @inlinable
    public func _takeBack(_ entry: UnsafeMutableRawPointer?) {
        entry?.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(0, ordering: .releasing)
    }
}

extension _Loan {
    /// Ends the loan: nothing of it is read any more.
    @inlinable
    func end() {
        owner?.deallocate()
        entry?.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(0, ordering: .releasing)
    }
}

/// A buffer with an address, also when it is empty: the key algorithms do pointer arithmetic on it.
@inline(__always)
func lendable(_ key: UnsafeRawBufferPointer) -> KeyBytes {
    key.baseAddress == nil ? KeyBytes(start: emptyKeyAddress, count: 0) : key
}

/// Calls `body` with a group of keys, which stand side by side in memory until it returns.
func withKeyBytes<R>(_ keys: ArraySlice<[UInt8]>, _ body: (UnsafeBufferPointer<KeyBytes>) -> R) -> R {
    let bytes = keys.reduce(0) { $0 + $1.count }
    return withUnsafeTemporaryAllocation(byteCount: max(1, bytes), alignment: 8) { memory in
        withUnsafeTemporaryAllocation(of: KeyBytes.self, capacity: keys.count) { group in
            var rest = UnsafeMutableRawBufferPointer(rebasing: memory[..<bytes])
            for (index, key) in keys.enumerated() {
                rest.copyBytes(from: key)
                group.initializeElement(at: index, to: lendable(KeyBytes(rebasing: rest[..<key.count])))
                rest = UnsafeMutableRawBufferPointer(rebasing: rest[key.count...])
            }
            return body(UnsafeBufferPointer(group))
        }
    }
}

nonisolated(unsafe) let emptyKeyAddress = UnsafeRawPointer(
    UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8))

/// The longest key, of the highest bytes.
nonisolated(unsafe) let highestKeyAddress = {
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: Limits.keyBytes, alignment: 8)
    bytes.initializeMemory(as: UInt8.self, repeating: .max, count: Limits.keyBytes)
    return UnsafeRawPointer(bytes)
}()

/// A throwing body as a result, to carry a typed error out of closures that rethrow untyped.
@inline(__always)
func result<R>(_ body: () throws(StorageError) -> R) -> Result<R, StorageError> {
    do { return .success(try body()) } catch { return .failure(error) }
}
