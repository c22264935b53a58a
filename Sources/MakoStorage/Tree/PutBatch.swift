import CPlatform

/// Puts that were accepted and recorded but are not in their trees yet.
///
/// A put to a random place of a large tree waits for the leaf's header, then its keys, then its heap to come from
/// memory. A group of them can wait for all of these at once, so a transaction whose puts jump about collects a
/// few before it enters them, in the order they came. Whatever looks at a tree with waiting puts, or changes it in
/// another way, enters them first.
struct PutBatch {
    static let capacity = 32
    /// Puts in a row that missed the hint before the next ones are collected: ascending loads miss once a leaf.
    static let patience = 4
    /// Puts that are not collected after a read that came soon after the last ones.
    static let pause: Int32 = 64
    private static let arenaBytes = 32 << 10

    struct Entry {
        var integerKey: UInt64
        /// Position of the tree in the writer's table.
        var tree: Int32
        /// Where key and value stand in the arena.
        var offset: Int32
        var keyBytes: Int32
        var valueBytes: Int32
    }

    /// Made at the first use: most transactions are small and never collect anything.
    private var arena: UnsafeMutableRawPointer?
    private(set) var entries: [Entry] = []
    private var used = 0

    var isEmpty: Bool { entries.isEmpty }
    var isFull: Bool { entries.count >= PutBatch.capacity }

    /// Whether a put of that size has room.
    func fits(keyBytes: Int, valueBytes: Int) -> Bool { used + keyBytes + valueBytes <= PutBatch.arenaBytes }

    mutating func add<Layout: NodeLayout>(_ layout: Layout.Type, tree: Int, _ key: Layout.Key, _ value: RecordView) {
        let memory = arena ?? .allocate(byteCount: PutBatch.arenaBytes + pageBytes, alignment: 16)
        if arena == nil {
            arena = memory
            entries.reserveCapacity(PutBatch.capacity)
        }
        let start = memory + used
        let (number, keyBytes) = Layout.keep(key, at: start)
        memcpy(start + keyBytes, value.bytes, value.count)
        entries.append(
            Entry(
                integerKey: number, tree: Int32(tree), offset: Int32(used), keyBytes: Int32(keyBytes),
                valueBytes: Int32(value.count)))
        used += keyBytes + value.count
    }

    /// The bytes of an entry's key.
    @inline(__always)
    func key(_ entry: Entry) -> KeyBytes { KeyBytes(start: start(entry), count: Int(entry.keyBytes)) }

    @inline(__always)
    func value(_ entry: Entry) -> RecordView {
        RecordView(
            bytes: start(entry) + Int(entry.keyBytes), count: Int(entry.valueBytes), isOverflow: false)
    }

    @inline(__always)
    private func start(_ entry: Entry) -> UnsafeRawPointer {
        // There is an arena as soon as there is an entry; the other address is never read.
        UnsafeRawPointer(arena ?? UnsafeMutableRawPointer(mutating: emptyKeyAddress)) + Int(entry.offset)
    }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        used = 0
    }

    func deallocate() { arena?.deallocate() }
}

extension Writer {
    /// Collects a put; enters those before it when there is no room for it.
    func collect<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ value: RecordView)
        throws(StorageError)
    {
        if batch.isFull || !batch.fits(keyBytes: Layout.keyBytes(key), valueBytes: value.count) {
            try enterWaitingPuts()
        }
        batch.add(layout, tree: index, key, value)
        streaks[index].waiting &+= 1
        state.pointee.waitingPuts &+= 1
    }

    /// Enters the waiting puts if the tree in question has any.
    @inline(__always)
    func enterWaitingPuts(of index: Int) throws(StorageError) {
        if streaks[index].waiting > 0 { try enterWaitingPuts() }
    }

    /// Enters the waiting puts because somebody reads the tree.
    func showWaitingPuts(of index: Int) throws(StorageError) {
        // Where each put is followed by a read there is never a group to be collected.
        let waiting = streaks[index].waiting
        if waiting == 0 { return }
        if waiting <= PutBatch.patience { streaks[index].misses = -PutBatch.pause }
        try enterWaitingPuts()
    }

    /// Enters all waiting puts in their trees.
    @inline(never)
    func enterWaitingPuts() throws(StorageError) {
        if loadedTree != nil { throw Writer.loading }
        guard !batch.isEmpty else { return }
        let entry = Epochs.enter()
        defer {
            forgetWaitingPuts()
            Epochs.leave(entry)
        }
        do throws(StorageError) {
            try prefetchLeaves()
            for each in batch.entries {
                if trees[Int(each.tree)].kind == .integer {
                    try enter(IntegerLayout.self, Int(each.tree), each.integerKey, batch.value(each))
                } else {
                    try enter(ByteLayout.self, Int(each.tree), batch.key(each), batch.value(each))
                }
            }
        } catch { throw fail(error) }
    }

    /// Drops the waiting puts: they were entered, or are taken back.
    func forgetWaitingPuts() {
        for entry in batch.entries { streaks[Int(entry.tree)].waiting = 0 }
        batch.removeAll()
        state.pointee.waitingPuts = 0
    }

    /// Asks for everything that entering the puts will touch, all misses of a kind at once.
    private func prefetchLeaves() throws(StorageError) {
        let count = batch.entries.count
        try withUnsafeTemporaryAllocation(of: PageReference.self, capacity: count) { leaves in
            result { () throws(StorageError) in
                var level = 0
                for index in 0..<count {
                    let tree = trees[Int(batch.entries[index].tree)]
                    leaves.initializeElement(at: index, to: tree.root)
                    level = max(level, tree.levels - 1)
                }
                while level > 0 {
                    for index in 0..<count {
                        let each = batch.entries[index]
                        let tree = trees[Int(each.tree)]
                        guard tree.levels > level else { continue }
                        leaves[index] =
                            tree.kind == .integer
                            ? try frames.step(IntegerLayout.self, leaves[index], level: level, each.integerKey)
                            : try frames.step(ByteLayout.self, leaves[index], level: level, batch.key(each))
                    }
                    level -= 1
                }
                for reference in leaves where reference.page != 0 { frames.prefetchHeap(reference) }
            }
        }.get()
    }
}
