/// Takes the entries of a bulk load; see ``WriteTransaction/bulkLoad(into:_:)``.
public struct BulkLoader: ~Copyable {
    private let writer: Writer
    private let tree: Tree
    private var load: Writer.LoadState?
    /// How many entries were appended.
    public private(set) var count: UInt64 = 0

    init(_ writer: Writer, _ tree: Tree) {
        self.writer = writer
        self.tree = tree
    }

    /// Appends an entry to a tree with integer keys.
    ///
    /// - Throws: ``StorageError/invalidArgument(_:)`` when the key does not come behind all others, ``StorageError/wrongKeyKind(tree:expected:)``;
    ///   the load can go on then. ``StorageError/diskFull(path:)`` and I/O errors, after which the transaction can only be rolled back.
    /// - Complexity: constant.
    @inline(__always)
    public mutating func append(_ value: UnsafeRawBufferPointer, for key: UInt64) throws(StorageError) {
        let load = try begun(.integer)
        try writer.append(IntegerLayout.self, load, key, value)
        count &+= 1
    }

    /// Appends an entry to a tree whose keys are bytes.
    ///
    /// - Parameter key: at most 900 bytes.
    /// - Throws: ``StorageError/keyTooLong(bytes:limit:)``, and what ``append(_:for:)-(UnsafeRawBufferPointer,UInt64)`` throws.
    /// - Complexity: constant.
    public mutating func append(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer) throws(StorageError) {
        let load = try begun(.bytes)
        try checkLength(key)
        try writer.append(ByteLayout.self, load, lendable(key), value)
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

    /// Appends an entry to a tree whose keys are bytes.
    public mutating func append(_ value: [UInt8], for key: [UInt8]) throws(StorageError) {
        let load = try begun(.bytes)
        try key.withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                result { () throws(StorageError) in
                    try checkLength(key)
                    try writer.append(ByteLayout.self, load, lendable(key), value)
                }
            }
        }.get()
        count &+= 1
    }

    /// Appends an entry whose value is handed over piece by piece: in a megabyte of memory, however long it is.
    ///
    /// - Throws: what the other forms throw, and whatever `body` throws; nothing is appended then, and the load can go on.
    public mutating func appendBlob(for key: UInt64, _ body: (inout BlobWriter) throws -> Void) throws {
        try writer.check(IntegerLayout.self, try begun(.integer), key)
        var blob = BlobWriter(writer, tree: tree.id)
        try body(&blob)
        try append(blob, at: .integer(key))
    }

    /// Appends an entry whose value is handed over piece by piece, for a key of at most 900 bytes.
    public mutating func appendBlob(for key: [UInt8], _ body: (inout BlobWriter) throws -> Void) throws {
        let load = try begun(.bytes)
        try key.withUnsafeBytes { key in
            result { () throws(StorageError) in
                try checkLength(key)
                try writer.check(ByteLayout.self, load, lendable(key))
            }
        }.get()
        var blob = BlobWriter(writer, tree: tree.id)
        try body(&blob)
        try append(blob, at: .bytes(key))
    }

    /// Appends a value that was handed over piece by piece.
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
                result { () throws(StorageError) in try writer.append(ByteLayout.self, load, lendable(key), long) }
            }.get()
        }
        count &+= 1
    }

    private func checkLength(_ key: UnsafeRawBufferPointer) throws(StorageError) {
        guard key.count <= Limits.keyBytes else { throw .keyTooLong(bytes: key.count, limit: Limits.keyBytes) }
    }

    /// The load, which begins with the first entry.
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

    /// Makes what was appended a part of the tree.
    consuming func finish() throws(StorageError) {
        if let load { try writer.endLoad(load, of: tree) }
    }
}

extension WriteTransaction {
    /// Appends many entries in ascending order of keys to a tree that is empty, or whose keys all come before them: the fastest way to
    /// fill a tree, and the one that leaves it smallest.
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
    /// Pages are filled to the last entry that has room, and written once, while the next ones are filled; the load takes no more memory
    /// than the store may use. Nothing of the transaction is logged, so its commit is a checkpoint: worth it from some thousand entries on.
    /// What was loaded can be seen when this call has returned. Until then no other change can be made in the transaction.
    ///
    /// - Parameter body: appends the entries. What it has appended when it throws stays a part of the transaction; go back to a savepoint
    ///   that was made before, or roll back, to be rid of it.
    /// - Returns: how many entries were appended.
    /// - Throws: what ``BulkLoader/append(_:for:)-(UnsafeRawBufferPointer,UInt64)`` throws, and whatever `body` throws.
    /// - Complexity: linear in the entries.
    @discardableResult
    public func bulkLoad(into tree: Tree, _ body: (inout BulkLoader) throws -> Void) throws -> UInt64 {
        _ = try prepare(tree, nil)
        var loader = BulkLoader(writer, tree)
        do {
            try body(&loader)
        } catch {
            // What is wrong with the transaction itself its next use tells again.
            do throws(StorageError) { try loader.finish() } catch {}
            throw error
        }
        let count = loader.count
        try loader.finish()
        return count
    }
}
