/// The one running write transaction of a store.
///
/// Its changes are private until ``commit(durability:)`` returns; dropping it without commit takes them back.
/// It belongs to the thread that began it.
///
/// ```swift
/// try store.write { transaction in
///     let users = try transaction.createTree(named: "users", keys: .integer)
///     try transaction.put(Array("Ada".utf8), for: 1, in: users)
/// }
/// ```
public struct WriteTransaction: ~Copyable {
    let writer: Writer

    var store: Store { writer.store }

    init(_ writer: Writer) { self.writer = writer }

    deinit { writer.rollback() }

    /// The transaction's own state, changes included, for reading. Valid until the transaction ends.
    public var view: Snapshot { writer.view }

    /// Calls `body` with the bytes of the value that `key` has in the transaction, its own changes included, without copying them, or
    /// answers nil when it is absent. What ``view`` answers, without a count of references to that.
    @inlinable
    public func withValue<R>(of key: UInt64, in tree: Tree, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
        let loan = try _lend(key, tree)
        defer { _takeBack(loan) }
        guard let start = loan.start else { return nil }
        return try body(UnsafeRawBufferPointer(start: start, count: loan.count))
    }

    /// For ``withValue(of:in:_:)``, which is compiled where it is called.
    public func _lend(_ key: UInt64, _ tree: Tree) throws(StorageError) -> _Loan { try writer.lend(key, tree) }
    public func _takeBack(_ loan: _Loan) { loan.end() }

    /// Notes, durably, that the file has from now on what programs must heed that write it.
    package func use(_ feature: WriterFeatures) throws(StorageError) {
        try writer.check()
        try store.use(feature)
    }

    // MARK: Trees

    /// Creates an empty tree.
    ///
    /// - Parameter options: what it is to have beyond an ordered map, for as long as it exists.
    public func createTree(named name: String, keys: KeyKind, options: TreeOptions = []) throws(StorageError) -> Tree {
        try writer.check()
        return try writer.createTree(named: name, keys: keys, options: options)
    }

    /// Gives a tree another name. Its handle stays valid; what is in it is not touched.
    ///
    /// Names can change hands: a tree may take the name that another one had before, in the same transaction.
    ///
    /// ```swift
    /// try transaction.renameTree(live, to: "old")
    /// try transaction.renameTree(rebuilt, to: "live")
    /// ```
    ///
    /// - Throws: ``StorageError/treeExists(_:)`` when another tree has the name, ``StorageError/invalidArgument(_:)`` when it is longer
    ///   than 4,095 bytes, ``StorageError/treeNotFound(_:)``. The transaction can go on in each case.
    public func renameTree(_ tree: Tree, to name: String) throws(StorageError) {
        _ = try prepare(tree, nil)
        try writer.renameTree(tree.id, to: name)
    }

    /// Removes a tree with everything in it. Time grows with its pages.
    public func dropTree(_ tree: Tree) throws(StorageError) {
        let index = try prepare(tree, nil)
        try empty(tree, index)
        writer.removeTree(at: index)
    }

    /// Removes every entry of a tree. Time grows with its pages.
    public func deleteAll(in tree: Tree) throws(StorageError) {
        let index = try prepare(tree, nil)
        try empty(tree, index)
        writer.record { $0.deleteAll(tree.id, to: &$1) }
        writer.noteChange()
    }

    private func empty(_ tree: Tree, _ index: Int) throws(StorageError) {
        switch tree.keys {
        case .integer: try writer.deleteAll(IntegerLayout.self, index)
        case .bytes: try writer.deleteAll(ByteLayout.self, index)
        }
    }

    // MARK: Values

    /// Enters a value, in the place of any the key had. Logarithmic time; ascending keys are appended.
    public func put(_ value: UnsafeRawBufferPointer, for key: UInt64, in tree: Tree) throws(StorageError) {
        _ = try enter(value, key, tree, .replace)
    }

    /// Enters a value, in the place of any the key had.
    public func put(_ value: [UInt8], for key: UInt64, in tree: Tree) throws(StorageError) {
        _ = try value.withUnsafeBytes { bytes in
            result { () throws(StorageError) in try enter(bytes, key, tree, .replace) }
        }.get()
    }

    /// Enters a value for a key of at most 900 bytes, in the place of any the key had.
    public func put(_ value: [UInt8], for key: [UInt8], in tree: Tree) throws(StorageError) {
        _ = try enter(value, key, tree, .replace)
    }

    /// Enters a value for a key of at most 900 bytes, in the place of any the key had.
    public func put(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, in tree: Tree)
        throws(StorageError)
    {
        _ = try enter(value, lendable(key), tree, .replace)
    }

    /// Enters a value unless the key has one.
    ///
    /// - Returns: false when the key exists; nothing is changed then.
    public func insert(_ value: [UInt8], for key: UInt64, in tree: Tree) throws(StorageError) -> Bool {
        try value.withUnsafeBytes { bytes in
            result { () throws(StorageError) in try enter(bytes, key, tree, .insertOnly) }
        }.get()
    }

    /// Enters a value unless the key has one.
    ///
    /// - Returns: false when the key exists; nothing is changed then.
    public func insert(_ value: UnsafeRawBufferPointer, for key: UInt64, in tree: Tree) throws(StorageError) -> Bool {
        try enter(value, key, tree, .insertOnly)
    }

    /// Enters a value unless the key has one.
    ///
    /// - Returns: false when the key exists; nothing is changed then.
    public func insert(_ value: [UInt8], for key: [UInt8], in tree: Tree) throws(StorageError) -> Bool {
        try enter(value, key, tree, .insertOnly)
    }

    /// Enters a value unless the key, of at most 900 bytes, has one.
    ///
    /// - Returns: false when the key exists; nothing is changed then.
    public func insert(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, in tree: Tree)
        throws(StorageError) -> Bool
    {
        try enter(value, lendable(key), tree, .insertOnly)
    }

    /// Removes an entry. False when the key is absent.
    public func delete(_ key: UInt64, in tree: Tree) throws(StorageError) -> Bool {
        let index = try prepare(tree, .integer)
        guard try writer.delete(IntegerLayout.self, index, key) else { return false }
        writer.record { $0.delete(key, tree: tree.id, to: &$1) }
        writer.noteChange()
        return true
    }

    /// Removes an entry. False when the key is absent.
    public func delete(_ key: [UInt8], in tree: Tree) throws(StorageError) -> Bool {
        try key.withUnsafeBytes { bytes in
            result { () throws(StorageError) in try delete(bytes, in: tree) }
        }.get()
    }

    /// Removes an entry. False when the key is absent.
    public func delete(_ key: UnsafeRawBufferPointer, in tree: Tree) throws(StorageError) -> Bool {
        let index = try prepare(tree, .bytes)
        guard key.count <= Limits.keyBytes, try writer.delete(ByteLayout.self, index, lendable(key)) else {
            return false
        }
        writer.record { $0.delete(lendable(key), tree: tree.id, to: &$1) }
        writer.noteChange()
        return true
    }

    /// Removes the entries of many keys.
    ///
    /// Keys in no order are removed faster than one by one when the tree is larger than the processor's caches: small groups of them wait
    /// for memory together. When it throws, those that were removed before stay removed in the transaction.
    ///
    /// ```swift
    /// let gone = try transaction.delete(keys: expired, in: sessions)
    /// ```
    ///
    /// - Returns: how many of the keys there were.
    public func delete(keys: [UInt64], in tree: Tree) throws(StorageError) -> Int {
        try keys.withUnsafeBufferPointer { keys in
            result { () throws(StorageError) in
                try deleteInGroups(keys.count) { (range) throws(StorageError) in
                    try deleteGroup(IntegerLayout.self, .integer, UnsafeBufferPointer(rebasing: keys[range]), in: tree)
                }
            }
        }.get()
    }

    /// Removes the entries of many keys, as ``delete(keys:in:)-([UInt64],_)`` does.
    ///
    /// - Returns: how many of the keys there were.
    public func delete(keys: [[UInt8]], in tree: Tree) throws(StorageError) -> Int {
        try deleteInGroups(keys.count) { (range) throws(StorageError) in
            try withKeyBytes(keys[range]) { group in
                result { () throws(StorageError) in try deleteGroup(ByteLayout.self, .bytes, group, in: tree) }
            }.get()
        }
    }

    /// Removes the entries of many keys, as ``delete(keys:in:)-([UInt64],_)`` does. The keys are read where they stand.
    ///
    /// - Returns: how many of the keys there were.
    public func delete(keys: [UnsafeRawBufferPointer], in tree: Tree) throws(StorageError) -> Int {
        let keys = keys.map { lendable($0) }
        return try keys.withUnsafeBufferPointer { keys in
            result { () throws(StorageError) in
                try deleteInGroups(keys.count) { (range) throws(StorageError) in
                    try deleteGroup(ByteLayout.self, .bytes, UnsafeBufferPointer(rebasing: keys[range]), in: tree)
                }
            }
        }.get()
    }

    private func deleteInGroups(_ count: Int, _ delete: (Range<Int>) throws(StorageError) -> Int) throws(StorageError)
        -> Int
    {
        var removed = 0
        for start in stride(from: 0, to: count, by: PutBatch.capacity) {
            removed += try delete(start..<min(start + PutBatch.capacity, count))
        }
        return removed
    }

    private func deleteGroup<Layout: NodeLayout>(
        _ layout: Layout.Type, _ kind: KeyKind, _ keys: UnsafeBufferPointer<Layout.Key>, in tree: Tree
    ) throws(StorageError) -> Int {
        try writer.deleteGroup(layout, prepare(tree, kind), keys, in: tree)
    }

    /// Removes all entries whose keys lie in a range.
    ///
    /// - Returns: how many there were.
    /// - Complexity: a small share of the range's pages: those wholly inside it are given back by what their headers say.
    public func deleteRange(_ range: ClosedRange<UInt64>, in tree: Tree) throws(StorageError) -> UInt64 {
        let index = try prepare(tree, .integer)
        var cursor = try writer.view.cursor(in: tree)
        guard try cursor.seek(range.lowerBound), cursor.integerKey <= range.upperBound else { return 0 }
        let removed = try writer.deleteRange(
            IntegerLayout.self, index, from: range.lowerBound,
            to: range.upperBound == .max ? nil : range.upperBound + 1)
        writer.record { $0.deleteRange(range, tree: tree.id, to: &$1) }
        writer.noteChange()
        return removed
    }

    /// Removes all entries from one key up to below another, in the order of keys.
    ///
    /// ```swift
    /// let gone = try transaction.deleteRange(from: Array("log/2024/".utf8), to: Array("log/20240".utf8), in: files)
    /// ```
    ///
    /// - Parameters:
    ///   - lower: the first key to go. It need not exist, nor be short enough to.
    ///   - upper: the first key to stay; nil when all from `lower` on are to go.
    /// - Returns: how many there were.
    /// - Complexity: a small share of the range's pages; see ``deleteRange(_:in:)``.
    public func deleteRange(from lower: [UInt8], to upper: [UInt8]? = nil, in tree: Tree) throws(StorageError) -> UInt64
    {
        try lower.withUnsafeBytes { lower in
            guard let upper else {
                return result { () throws(StorageError) in try deleteRange(from: lower, to: nil, in: tree) }
            }
            return upper.withUnsafeBytes { upper in
                result { () throws(StorageError) in try deleteRange(from: lower, to: upper, in: tree) }
            }
        }.get()
    }

    /// Removes all entries from one key up to below another; see ``deleteRange(from:to:in:)-(_,[UInt8]?,_)``.
    public func deleteRange(from lower: UnsafeRawBufferPointer, to upper: UnsafeRawBufferPointer?, in tree: Tree)
        throws(StorageError) -> UInt64
    {
        let index = try prepare(tree, .bytes)
        let lower = bound(lower)
        let upper = upper.map { bound($0) }
        var cursor = try writer.view.cursor(in: tree)
        guard try cursor.seek([UInt8](lower)),
            upper.map({ upper in cursor.withKey { ByteNode.compare($0, upper) < 0 } }) ?? true
        else { return 0 }
        if writer.isRecording { try store.use(.byteRanges) }
        let removed = try writer.deleteRange(ByteLayout.self, index, from: lower, to: upper)
        writer.record { $0.deleteRange(from: lower, to: upper, tree: tree.id, to: &$1) }
        writer.noteChange()
        return removed
    }

    /// A bound as far as it matters: a longer key than any that is stored comes directly behind its first bytes.
    private func bound(_ key: UnsafeRawBufferPointer) -> KeyBytes {
        lendable(UnsafeRawBufferPointer(rebasing: key.prefix(Limits.keyBytes + 1)))
    }

    @inline(__always)
    private func enter(
        _ value: UnsafeRawBufferPointer, _ key: UInt64, _ tree: Tree, _ mode: Writer.PutMode
    ) throws(StorageError) -> Bool {
        let index = try prepare(tree, .integer)
        if value.count >= store.pipeline.namedValueBytes { return try enterNamed(value, key, tree, index, mode) }
        guard try writer.put(IntegerLayout.self, index, key, value, mode) else { return false }
        writer.record { $0.put(key, value, tree: tree.id, to: &$1) }
        writer.noteChange()
        return true
    }

    private func enter(_ value: [UInt8], _ key: [UInt8], _ tree: Tree, _ mode: Writer.PutMode) throws(StorageError)
        -> Bool
    {
        try key.withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                result { () throws(StorageError) in try enter(value, lendable(key), tree, mode) }
            }
        }.get()
    }

    private func enter(
        _ value: UnsafeRawBufferPointer, _ key: KeyBytes, _ tree: Tree, _ mode: Writer.PutMode
    ) throws(StorageError) -> Bool {
        let index = try prepare(tree, .bytes)
        guard key.count <= Limits.keyBytes else { throw .keyTooLong(bytes: key.count, limit: Limits.keyBytes) }
        if value.count >= store.pipeline.namedValueBytes { return try enterNamed(value, key, tree, index, mode) }
        guard try writer.put(ByteLayout.self, index, key, value, mode) else { return false }
        writer.record { $0.put(key, value, tree: tree.id, to: &$1) }
        writer.noteChange()
        return true
    }

    @inline(never)
    private func enterNamed(
        _ value: UnsafeRawBufferPointer, _ key: UInt64, _ tree: Tree, _ index: Int, _ mode: Writer.PutMode
    ) throws(StorageError) -> Bool {
        guard value.count <= Limits.valueBytes else {
            throw .valueTooLarge(bytes: value.count, limit: Limits.valueBytes)
        }
        guard let runs = try writer.putNamed(IntegerLayout.self, index, key, value, mode) else { return false }
        writer.record { $0.put(key, runs, tree: tree.id, to: &$1) }
        writer.noteChange()
        return true
    }

    @inline(never)
    private func enterNamed(
        _ value: UnsafeRawBufferPointer, _ key: KeyBytes, _ tree: Tree, _ index: Int, _ mode: Writer.PutMode
    ) throws(StorageError) -> Bool {
        guard value.count <= Limits.valueBytes else {
            throw .valueTooLarge(bytes: value.count, limit: Limits.valueBytes)
        }
        guard let runs = try writer.putNamed(ByteLayout.self, index, key, value, mode) else { return false }
        writer.record { $0.put(key, runs, tree: tree.id, to: &$1) }
        writer.noteChange()
        return true
    }

    @inline(__always)
    func prepare(_ tree: Tree, _ kind: KeyKind?) throws(StorageError) -> Int {
        try writer.check()
        let index = try writer.index(of: tree)
        guard writer.trees[index].kind == tree.keys, kind == nil || kind == tree.keys else {
            throw StorageError.wrongKeyKind(
                tree: writer.names.name(of: tree.id) ?? "", expected: writer.trees[index].kind)
        }
        try writer.spillIfNeeded()
        return index
    }

    // MARK: Savepoints and the end

    /// A point inside the transaction to which it can be taken back.
    public func savepoint() -> Savepoint { Savepoint(mark: writer.savepoint()) }

    /// Takes back everything done since a savepoint of this transaction. The savepoint stays usable, until it is released; later ones
    /// do not.
    public func rollback(to savepoint: Savepoint) throws(StorageError) {
        try check(savepoint)
        writer.rollback(to: savepoint.mark)
    }

    /// Forgets a savepoint of this transaction, and those made after it. Everything done since stays done.
    ///
    /// What a savepoint sees is kept: each page that is changed behind it is copied, and the old one takes its place in the file until the
    /// transaction ends. A transaction with many savepoints releases those that it does not go back to.
    ///
    /// ```swift
    /// for part in parts {
    ///     let savepoint = transaction.savepoint()
    ///     do { try enter(part, transaction) } catch { try transaction.rollback(to: savepoint) }
    ///     try transaction.release(savepoint)
    /// }
    /// ```
    ///
    /// - Throws: ``StorageError/invalidArgument(_:)`` when it was rolled back past or released before, or belongs to another transaction.
    public func release(_ savepoint: Savepoint) throws(StorageError) {
        try check(savepoint)
        writer.release(savepoint.mark)
    }

    private func check(_ savepoint: Savepoint) throws(StorageError) {
        guard writer.place(of: savepoint.mark) != nil else {
            throw .invalidArgument("this savepoint was rolled back past or released, or belongs to another transaction")
        }
    }

    /// Notes that a change of several entries broke off in the middle: from now on the transaction throws this error instead of
    /// changing or committing anything, until it is taken back to a savepoint from before.
    package func breakOff(_ error: StorageError) { _ = writer.fail(error) }

    /// Makes the changes durable and visible; returns when both is the case.
    ///
    /// - Parameter durability: what to wait for, when it is to differ from the store's setting.
    /// - Throws: an error that was met before the commit entered the log fails this transaction alone and leaves
    ///   nothing of it. Later ones make the store read-only: whether the commit survives is known after reopening.
    public consuming func commit(durability: Durability? = nil) throws(StorageError) {
        try writer.commit(durability)
    }

    /// Commits. A transaction of which nothing entered the log has ended, but goes on having the writer's turn until it is rolled back: nobody
    /// writes before its owner has taken back what is known of it elsewhere.
    ///
    /// - Parameter isShown: whether to wait, with every durability, until new snapshots show the commit, and what was there before it.
    package borrowing func commitOrHold(durability: Durability?, isShown: Bool) throws(StorageError) {
        try writer.commitOrHold(durability, isShown: isShown)
    }

    /// Whether nobody else can write yet.
    package var hasTurn: Bool { writer.hasTurn }

    /// Takes all changes back.
    public consuming func rollback() { writer.rollback() }
}

/// A point inside a write transaction; see ``WriteTransaction/savepoint()``.
public struct Savepoint {
    let mark: Writer.Mark
}
