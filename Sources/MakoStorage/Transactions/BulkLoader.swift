/// Receives the entries of a bulk load; see ``WriteTransaction/bulkLoad(into:_:)``.
public struct BulkLoader: ~Copyable {
    private let writer: Writer
    private let tree: Tree
    private var load: Writer.LoadState?
    /// The number of appended entries.
    public private(set) var count: UInt64 = 0

    init(_ writer: Writer, _ tree: Tree) {
        self.writer = writer
        self.tree = tree
    }

    /// Appends an entry to a tree with integer keys.
    ///
    /// - Throws: ``StorageError/invalidArgument(_:)`` if the key is not greater than all others,
    ///   ``StorageError/wrongKeyKind(tree:expected:)``; the load can continue after both.
    ///   ``StorageError/diskFull(path:)`` and I/O errors; the transaction can then only be rolled back.
    /// - Complexity: constant.
    @inline(__always)
    public mutating func append(_ value: UnsafeRawBufferPointer, for key: UInt64) throws(StorageError) {
        guard Epochs.isInside else { return try appendOwned(value, for: key) }
        try withCopies(of: addressed(KeyBytes(start: nil, count: 0)), value) { (_, value) throws(StorageError) in
            try appendOwned(value, for: key)
        }
    }

    @inline(__always)
    private mutating func appendOwned(_ value: UnsafeRawBufferPointer, for key: UInt64) throws(StorageError) {
        let load = try begun(.integer)
        try writer.append(IntegerLayout.self, load, key, value)
        count &+= 1
    }

    /// Appends an entry to a tree with byte keys.
    ///
    /// - Parameter key: the key, at most 900 bytes.
    /// - Parameter value: the value, of any length.
    /// - Throws: ``StorageError/keyTooLong(bytes:limit:)``, and the errors of
    ///   ``append(_:for:)-(UnsafeRawBufferPointer,UInt64)``.
    /// - Complexity: constant.
    public mutating func append(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer) throws(StorageError) {
        guard Epochs.isInside else { return try appendOwned(value, for: addressed(key)) }
        try withCopies(of: addressed(key), value) { (key, value) throws(StorageError) in
            try appendOwned(value, for: key)
        }
    }

    private mutating func appendOwned(_ value: UnsafeRawBufferPointer, for key: KeyBytes) throws(StorageError) {
        let load = try begun(.bytes)
        try checkLength(key)
        try writer.append(ByteLayout.self, load, key, value)
        count &+= 1
    }

    /// Appends an entry to a tree with integer keys.
    public mutating func append(_ value: [UInt8], for key: UInt64) throws(StorageError) {
        let load = try begun(.integer)
        try value.withUnsafeBytes { value in
            result { () throws(StorageError) in try writer.append(IntegerLayout.self, load, key, value) }
        }.get()
        count &+= 1
    }

    /// Appends an entry to a tree with byte keys.
    public mutating func append(_ value: [UInt8], for key: [UInt8]) throws(StorageError) {
        let load = try begun(.bytes)
        try key.withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                result { () throws(StorageError) in
                    try checkLength(key)
                    try writer.append(ByteLayout.self, load, addressed(key), value)
                }
            }
        }.get()
        count &+= 1
    }

    /// Appends an entry whose value `body` supplies in pieces. Needs a megabyte of memory, whatever the length.
    ///
    /// - Throws: the errors of the other methods, and those of `body`; if `body` throws, nothing is appended, and the
    ///   load can continue.
    /// - Complexity: linear in the bytes.
    public mutating func appendBlob(for key: UInt64, _ body: (inout BlobWriter) throws -> Void) throws {
        try writer.check(IntegerLayout.self, try begun(.integer), key)
        var blob = BlobWriter(writer, tree: tree.id)
        try body(&blob)
        try append(blob, at: .integer(key))
    }

    /// Appends an entry with a key of at most 900 bytes, whose value `body` supplies in pieces.
    ///
    /// - Complexity: linear in the bytes.
    public mutating func appendBlob(for key: [UInt8], _ body: (inout BlobWriter) throws -> Void) throws {
        let load = try begun(.bytes)
        try key.withUnsafeBytes { key in
            result { () throws(StorageError) in
                try checkLength(key)
                try writer.check(ByteLayout.self, load, addressed(key))
            }
        }.get()
        var blob = BlobWriter(writer, tree: tree.id)
        try body(&blob)
        try append(blob, at: .bytes(key))
    }

    /// Appends a value that was supplied in pieces.
    mutating func append(_ blob: consuming BlobWriter, at position: TreePosition) throws(StorageError) {
        let (short, long) = blob.end()
        switch position {
        case .start: return
        case .integer(let key):
            guard let long else { return try append(short, for: key) }
            try writer.append(IntegerLayout.self, begun(.integer), key, long)
        case .bytes(let key):
            guard let long else { return try append(short, for: key) }
            let load = try begun(.bytes)
            try key.withUnsafeBytes { key in
                result { () throws(StorageError) in try writer.append(ByteLayout.self, load, addressed(key), long) }
            }.get()
        }
        count &+= 1
    }

    private func checkLength(_ key: UnsafeRawBufferPointer) throws(StorageError) {
        guard key.count <= Limits.keyBytes else { throw .keyTooLong(bytes: key.count, limit: Limits.keyBytes) }
    }

    /// Returns the state of the load; starts it with the first entry.
    @inline(__always)
    private mutating func begun(_ kind: KeyKind) throws(StorageError) -> Writer.LoadState {
        guard tree.keys == kind else { throw wrongKind }
        if let load { return load }
        let load = try writer.beginLoad(of: tree)
        self.load = load
        return load
    }

    private var wrongKind: StorageError {
        .wrongKeyKind(tree: writer.names.name(of: tree.id) ?? "", expected: tree.keys)
    }

    /// Ends the load, and makes the appended entries visible to the transaction.
    consuming func finish() throws(StorageError) {
        if let load { try writer.endLoad(load, of: tree) }
    }
}

extension WriteTransaction {
    /// Appends many entries in ascending key order to a tree that is empty or has only lower keys. The fastest way to
    /// fill a tree, with the smallest result.
    ///
    /// ```swift
    /// try store.write { transaction in
    ///     let words = try transaction.createTree(named: "words", keys: .bytes)
    ///     try transaction.bulkLoad(into: words) { loader in
    ///         for word in dictionary.sorted() { try loader.append(word.meaning, for: word.key) }
    ///     }
    /// }
    /// ```
    ///
    /// Pages are filled completely, and written once, while the next ones are filled. The load uses no more memory than
    /// the cache budget. The transaction is not logged, so its commit is a checkpoint, which pays from some thousand
    /// entries on. The entries become readable when this call returns. Until then no other change is possible in the
    /// transaction.
    ///
    /// - Parameter body: appends the entries. If it throws, the entries that it has appended stay in the transaction; a
    ///   rollback, also to an earlier savepoint, removes them.
    /// - Parameter tree: the tree, which must be empty.
    /// - Returns: the number of appended entries.
    /// - Throws: the errors of ``BulkLoader/append(_:for:)-(UnsafeRawBufferPointer,UInt64)``, and those of `body`.
    /// - Complexity: linear in the entries.
    @discardableResult
    public func bulkLoad(into tree: Tree, _ body: (inout BulkLoader) throws -> Void) throws -> UInt64 {
        _ = try prepare(tree, nil)
        var loader = BulkLoader(writer, tree)
        do {
            try body(&loader)
        } catch {
            // The next use of the transaction reports its own failure again.
            do throws(StorageError) { try loader.finish() } catch {}
            throw error
        }
        let count = loader.count
        try loader.finish()
        return count
    }
}
