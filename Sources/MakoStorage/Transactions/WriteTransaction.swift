/// The running write transaction of a store; there is at most one.
///
/// Its changes are private until ``commit(durability:)`` returns; releasing it without a commit rolls them back. It
/// must be used on the thread that began it.
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

    /// The state of the transaction with its changes, for reading. Valid until the transaction ends.
    public var view: Snapshot { writer.view }

    /// Calls `body` with the bytes of the value that `key` has in the transaction, its changes included, without a
    /// copy; returns nil if there is none. As a read of ``view``, but without touching its reference count.
    ///
    /// The bytes are valid until `body` returns or changes the transaction. `body` may pass them, or a part of them, to
    /// its first change, also of this entry: changes copy what is borrowed before they begin.
    @inlinable
    public func withValue<R>(of key: UInt64, in tree: Tree, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
        let value = try _borrow(key, tree)
        defer { _endBorrow(value) }
        guard let start = value.start else { return nil }
        return try body(UnsafeRawBufferPointer(start: start, count: value.count))
    }

    /// For ``withValue(of:in:_:)``, which is inlined into its callers.
    public func _borrow(_ key: UInt64, _ tree: Tree) throws(StorageError) -> _BorrowedValue {
        try writer.borrow(key, tree)
    }
    public func _endBorrow(_ value: _BorrowedValue) { value.end() }

    /// Notes durably that programs which write the file must support a feature from now on.
    package func use(_ feature: WriterFeatures) throws(StorageError) {
        try writer.check()
        try store.use(feature)
    }

    // MARK: Trees

    /// Creates an empty tree.
    ///
    /// - Parameters:
    ///   - name: the name of the tree, at most 4,095 bytes.
    ///   - keys: the kind of its keys.
    ///   - options: its features beyond an ordered map, for its whole life.
    /// - Returns: the handle of the tree.
    /// - Throws: ``StorageError/treeExists(_:)`` if a tree has the name, ``StorageError/invalidArgument(_:)`` if the
    ///   name is too long.
    public func createTree(named name: String, keys: KeyKind, options: TreeOptions = []) throws(StorageError) -> Tree {
        try writer.check()
        return try writer.createTree(named: name, keys: keys, options: options)
    }

    /// Renames a tree. Its handle stays valid, and its entries are unchanged.
    ///
    /// A tree may take a name that another tree had before, in the same transaction.
    ///
    /// ```swift
    /// try transaction.renameTree(live, to: "old")
    /// try transaction.renameTree(rebuilt, to: "live")
    /// ```
    ///
    /// - Throws: ``StorageError/treeExists(_:)`` if another tree has the name, ``StorageError/invalidArgument(_:)`` if
    ///   it exceeds 4,095 bytes, ``StorageError/treeNotFound(_:)``. The transaction can continue after each of them.
    public func renameTree(_ tree: Tree, to name: String) throws(StorageError) {
        _ = try prepare(tree, nil)
        try writer.renameTree(tree.id, to: name)
    }

    /// Removes a tree and its entries.
    ///
    /// - Complexity: linear in the pages of the tree.
    public func dropTree(_ tree: Tree) throws(StorageError) {
        let index = try prepare(tree, nil)
        try empty(tree, index)
        writer.removeTree(at: index)
    }

    /// Removes all entries of a tree.
    ///
    /// - Complexity: linear in the pages of the tree.
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

    /// Puts a value, replacing any value of the key. Ascending keys are appended.
    ///
    /// - Throws: ``StorageError/treeNotFound(_:)``, ``StorageError/wrongKeyKind(tree:expected:)`` and
    ///   ``StorageError/valueTooLarge(bytes:limit:)``; the transaction can continue. ``StorageError/diskFull(path:)``
    ///   and I/O errors; it can then only be rolled back.
    /// - Complexity: logarithmic in the entries of the tree.
    public func put(_ value: UnsafeRawBufferPointer, for key: UInt64, in tree: Tree) throws(StorageError) {
        _ = try enter(value, key, tree, .replace)
    }

    /// Puts a value, replacing any value of the key; see ``put(_:for:in:)-(UnsafeRawBufferPointer,UInt64,_)``.
    ///
    /// - Complexity: logarithmic in the entries of the tree.
    public func put(_ value: [UInt8], for key: UInt64, in tree: Tree) throws(StorageError) {
        _ = try value.withUnsafeBytes { bytes in
            result { () throws(StorageError) in try enter(bytes, key, tree, .replace) }
        }.get()
    }

    /// Puts a value for a key of at most 900 bytes, replacing any value of the key.
    ///
    /// - Throws: ``StorageError/keyTooLong(bytes:limit:)``, and the errors of
    ///   ``put(_:for:in:)-(UnsafeRawBufferPointer,UInt64,_)``.
    /// - Complexity: logarithmic in the entries of the tree.
    public func put(_ value: [UInt8], for key: [UInt8], in tree: Tree) throws(StorageError) {
        _ = try enter(value, key, tree, .replace)
    }

    /// Puts a value for a key of at most 900 bytes, replacing any value of the key.
    ///
    /// - Throws: ``StorageError/keyTooLong(bytes:limit:)``, and the errors of
    ///   ``put(_:for:in:)-(UnsafeRawBufferPointer,UInt64,_)``.
    /// - Complexity: logarithmic in the entries of the tree.
    public func put(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, in tree: Tree)
        throws(StorageError)
    {
        _ = try enter(value, addressed(key), tree, .replace)
    }

    /// Inserts a value unless the key exists.
    ///
    /// - Returns: false if the key exists; nothing is changed then.
    /// - Throws: the errors of ``put(_:for:in:)-(UnsafeRawBufferPointer,UInt64,_)``.
    /// - Complexity: logarithmic in the entries of the tree.
    public func insert(_ value: [UInt8], for key: UInt64, in tree: Tree) throws(StorageError) -> Bool {
        try value.withUnsafeBytes { bytes in
            result { () throws(StorageError) in try enter(bytes, key, tree, .insertOnly) }
        }.get()
    }

    /// Inserts a value unless the key exists.
    ///
    /// - Returns: false if the key exists; nothing is changed then.
    /// - Complexity: logarithmic in the entries of the tree.
    public func insert(_ value: UnsafeRawBufferPointer, for key: UInt64, in tree: Tree) throws(StorageError) -> Bool {
        try enter(value, key, tree, .insertOnly)
    }

    /// Inserts a value unless the key, of at most 900 bytes, exists.
    ///
    /// - Returns: false if the key exists; nothing is changed then.
    /// - Complexity: logarithmic in the entries of the tree.
    public func insert(_ value: [UInt8], for key: [UInt8], in tree: Tree) throws(StorageError) -> Bool {
        try enter(value, key, tree, .insertOnly)
    }

    /// Inserts a value unless the key, of at most 900 bytes, exists.
    ///
    /// - Returns: false if the key exists; nothing is changed then.
    /// - Complexity: logarithmic in the entries of the tree.
    public func insert(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, in tree: Tree)
        throws(StorageError) -> Bool
    {
        try enter(value, addressed(key), tree, .insertOnly)
    }

    /// Puts bytes that the caller may have borrowed from a page: then copies of them, because the change may rewrite the
    /// page before it has stored and recorded them.
    @inline(__always)
    private func enter(
        _ value: UnsafeRawBufferPointer, _ key: UInt64, _ tree: Tree, _ mode: Writer.PutMode
    ) throws(StorageError) -> Bool {
        guard Epochs.isInside else { return try enterOwned(value, key, tree, mode) }
        return try withCopies(of: addressed(KeyBytes(start: nil, count: 0)), value) { (_, value) throws(StorageError) in
            try enterOwned(value, key, tree, mode)
        }
    }

    @inline(__always)
    private func enter(
        _ value: UnsafeRawBufferPointer, _ key: KeyBytes, _ tree: Tree, _ mode: Writer.PutMode
    ) throws(StorageError) -> Bool {
        guard Epochs.isInside else { return try enterOwned(value, key, tree, mode) }
        return try withCopies(of: key, value) { (key, value) throws(StorageError) in
            try enterOwned(value, key, tree, mode)
        }
    }

    @inline(__always)
    private func enterOwned(
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
                result { () throws(StorageError) in try enter(value, addressed(key), tree, mode) }
            }
        }.get()
    }

    private func enterOwned(
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

    // MARK: Savepoints, commit and rollback

    /// Creates a savepoint, to which the transaction can be rolled back.
    public func savepoint() -> Savepoint { Savepoint(mark: writer.savepoint()) }

    /// Undoes all changes since a savepoint of this transaction. The savepoint stays usable until it is released; later
    /// savepoints do not.
    ///
    /// - Throws: ``StorageError/invalidArgument(_:)`` if it was rolled back past or released before, or belongs to
    ///   another transaction.
    public func rollback(to savepoint: Savepoint) throws(StorageError) {
        try check(savepoint)
        writer.rollback(to: savepoint.mark)
    }

    /// Releases a savepoint of this transaction and all later ones. The changes since then persist.
    ///
    /// A savepoint seals its pages: each page that is changed after it is copied, and the old page takes space in the
    /// file until the transaction ends. A transaction with many savepoints should release those that it no longer
    /// needs.
    ///
    /// ```swift
    /// for part in parts {
    ///     let savepoint = transaction.savepoint()
    ///     do { try enter(part, transaction) } catch { try transaction.rollback(to: savepoint) }
    ///     try transaction.release(savepoint)
    /// }
    /// ```
    ///
    /// - Throws: ``StorageError/invalidArgument(_:)`` if it was rolled back past or released before, or belongs to
    ///   another transaction.
    public func release(_ savepoint: Savepoint) throws(StorageError) {
        try check(savepoint)
        writer.release(savepoint.mark)
    }

    private func check(_ savepoint: Savepoint) throws(StorageError) {
        guard writer.place(of: savepoint.mark) != nil else {
            throw .invalidArgument("this savepoint was rolled back past or released, or belongs to another transaction")
        }
    }

    /// Notes that a change of several entries failed in the middle: from now on changes and the commit throw this
    /// error, until the transaction is rolled back to an earlier savepoint.
    package func breakOff(_ error: StorageError) { _ = writer.fail(error) }

    /// Commits: makes the changes durable and visible, and returns when both is done.
    ///
    /// - Parameter durability: the durability of this commit; nil for that of the store.
    /// - Throws: an error before the append to the log fails this transaction alone and leaves nothing of it. A later
    ///   error makes the store read-only; whether the commit survives is known after reopening.
    public consuming func commit(durability: Durability? = nil) throws(StorageError) {
        try writer.commit(durability)
    }

    /// Commits. After an error before the append to the log the transaction has ended, but keeps the writer lock until
    /// it is rolled back, so that no other writer runs before the caller has undone its own state.
    ///
    /// - Parameter isShown: whether to wait, at every durability, until new snapshots see the commit and all before it.
    package borrowing func commitKeepingLock(durability: Durability?, isShown: Bool) throws(StorageError) {
        try writer.commitKeepingLock(durability, isShown: isShown)
    }

    /// Whether the transaction holds the writer lock.
    package var holdsWriterLock: Bool { writer.holdsWriterLock }

    /// Rolls all changes back.
    public consuming func rollback() { writer.rollback() }
}

/// A position inside a write transaction; see ``WriteTransaction/savepoint()``.
public struct Savepoint {
    let mark: Writer.Mark
}
