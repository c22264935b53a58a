import CPlatform

/// The write buffer of a transaction: puts that were accepted and recorded but are not in their trees yet.
///
/// A put at a random place of a large tree has cache misses on the leaf's header, its keys and its heap. The misses of
/// a group of puts can overlap. So a transaction whose puts are not sequential buffers a few before it applies them in
/// their order. Every other read or change of the tree applies the buffered puts first.
struct WriteBuffer {
    static let capacity = 32
    /// The number of consecutive puts that must miss the hint before the next ones are buffered. Ascending loads miss
    /// once for each leaf.
    static let patience = 4
    /// The number of puts that are not buffered after a read that soon followed buffered puts.
    static let pause: Int32 = 64
    private static let arenaBytes = 32 << 10

    struct Entry {
        var integerKey: UInt64
        /// The position of the tree in the writer's table.
        var tree: Int32
        /// The offset of key and value in the arena.
        var offset: Int32
        var keyBytes: Int32
        var valueBytes: Int32
    }

    /// Allocated at the first use, because most transactions are small and never buffer puts.
    private var arena: UnsafeMutableRawPointer?
    private(set) var entries: [Entry] = []
    private var used = 0

    var isEmpty: Bool { entries.isEmpty }
    var isFull: Bool { entries.count >= WriteBuffer.capacity }

    /// Whether a put of this size fits the arena.
    func fits(keyBytes: Int, valueBytes: Int) -> Bool { used + keyBytes + valueBytes <= WriteBuffer.arenaBytes }

    mutating func add<Layout: NodeLayout>(_ layout: Layout.Type, tree: Int, _ key: Layout.Key, _ value: RecordView) {
        let memory = arena ?? .allocate(byteCount: WriteBuffer.arenaBytes + pageBytes, alignment: 16)
        if arena == nil {
            arena = memory
            entries.reserveCapacity(WriteBuffer.capacity)
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

    /// Returns the key of an entry.
    @inline(__always)
    func key(_ entry: Entry) -> KeyBytes { KeyBytes(start: start(entry), count: Int(entry.keyBytes)) }

    @inline(__always)
    func value(_ entry: Entry) -> RecordView {
        RecordView(
            bytes: start(entry) + Int(entry.keyBytes), count: Int(entry.valueBytes), isOverflow: false)
    }

    @inline(__always)
    private func start(_ entry: Entry) -> UnsafeRawPointer {
        // With an entry there is an arena; the other address is never read.
        UnsafeRawPointer(arena ?? UnsafeMutableRawPointer(mutating: emptyKeyAddress)) + Int(entry.offset)
    }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        used = 0
    }

    func deallocate() { arena?.deallocate() }
}

extension Writer {
    /// Buffers a put. Applies the earlier ones first if it does not fit.
    func collect<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ value: RecordView)
        throws(StorageError)
    {
        if batch.isFull || !batch.fits(keyBytes: Layout.keyBytes(key), valueBytes: value.count) {
            try applyBufferedPuts()
        }
        batch.add(layout, tree: index, key, value)
        streaks[index].waiting &+= 1
        state.pointee.bufferedPuts &+= 1
    }

    /// Applies the buffered puts if the tree has any.
    @inline(__always)
    func applyBufferedPuts(of index: Int) throws(StorageError) {
        if streaks[index].waiting > 0 { try applyBufferedPuts() }
    }

    /// Applies the buffered puts before a read of the tree.
    func showWaitingPuts(of index: Int) throws(StorageError) {
        // If a read follows each put, no group would form: pause the buffering.
        let waiting = streaks[index].waiting
        if waiting == 0 { return }
        if waiting <= WriteBuffer.patience { streaks[index].misses = -WriteBuffer.pause }
        try applyBufferedPuts()
    }

    /// Applies all buffered puts to their trees.
    @inline(never)
    func applyBufferedPuts() throws(StorageError) {
        if loadedTree != nil { throw Writer.loading }
        guard !batch.isEmpty else { return }
        let entry = Epochs.enter()
        defer {
            forgetBufferedPuts()
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

    /// Empties the buffer, after the puts were applied or rolled back.
    func forgetBufferedPuts() {
        for entry in batch.entries { streaks[Int(entry.tree)].waiting = 0 }
        batch.removeAll()
        state.pointee.bufferedPuts = 0
    }

    /// Prefetches everything that the buffered puts will touch, so that cache misses of one kind overlap.
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
