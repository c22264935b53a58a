/// Receives the bytes of a value in pieces; see ``WriteTransaction/putBlob(for:in:_:)-(UInt64,_,_)``.
///
/// Appended bytes are written to the file at once when there are enough for pages of their own.
public struct BlobWriter: ~Copyable {
    private let writer: Writer
    private let tree: UInt32
    /// The first bytes; a short value is put as any other.
    private var head: [UInt8] = []
    private var pages: ExtentWriter?

    init(_ writer: Writer, tree: UInt32) {
        self.writer = writer
        self.tree = tree
    }

    /// The number of appended bytes.
    public var count: UInt64 { pages?.stored ?? UInt64(head.count) }

    /// Appends bytes to the value.
    ///
    /// - Throws: ``StorageError/diskFull(path:)`` and I/O errors; the value is then not put.
    /// - Complexity: linear in the bytes.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        if let pages { return try pages.append(bytes) }
        guard head.count + bytes.count >= writer.store.pipeline.namedValueBytes else {
            head.append(contentsOf: bytes)
            return
        }
        let pages = ExtentWriter(writer, tree: tree)
        let start = head
        try start.withUnsafeBytes { start in result { () throws(StorageError) in try pages.append(start) } }.get()
        try pages.append(bytes)
        head = []
        self.pages = pages
    }

    /// Appends bytes to the value.
    ///
    /// - Complexity: linear in the bytes.
    public mutating func append(_ bytes: [UInt8]) throws(StorageError) {
        let outcome: Result<Void, StorageError> = bytes.withUnsafeBytes { bytes in
            do throws(StorageError) { return .success(try append(bytes)) } catch { return .failure(error) }
        }
        try outcome.get()
    }

    /// Returns the bytes of a short value, or the pages of a long one.
    consuming func end() -> (short: [UInt8], long: ExtentWriter?) { (head, pages) }
}

extension WriteTransaction {
    /// Puts a value that `body` supplies in pieces, replacing any value of the key. Needs a megabyte of memory,
    /// whatever the length.
    ///
    /// ```swift
    /// try transaction.putBlob(for: 7, in: films) { blob in
    ///     while let piece = try source.next() { try blob.append(piece) }
    /// }
    /// ```
    ///
    /// The bytes are written to the file as they are appended, and only once: the log records only where they are. If
    /// `body` throws, the key keeps its value.
    ///
    /// - Parameter body: appends the value's bytes. It may read the transaction; its changes to the transaction
    ///   persist.
    /// - Parameter tree: the tree, whose keys are of this kind.
    /// - Parameter key: the key of the value.
    /// - Throws: ``StorageError``, and the errors of `body`.
    /// - Complexity: linear in the bytes.
    public func putBlob(for key: UInt64, in tree: Tree, _ body: (inout BlobWriter) throws -> Void) throws {
        _ = try prepare(tree, .integer)
        var blob = BlobWriter(writer, tree: tree.id)
        try body(&blob)
        try enter(blob, for: key, in: tree)
    }

    /// Puts a value that `body` supplies in pieces, replacing any value of the key, which has at most 900 bytes.
    ///
    /// - Complexity: linear in the bytes.
    public func putBlob(for key: [UInt8], in tree: Tree, _ body: (inout BlobWriter) throws -> Void) throws {
        _ = try prepare(tree, .bytes)
        guard key.count <= Limits.keyBytes else {
            throw StorageError.keyTooLong(bytes: key.count, limit: Limits.keyBytes)
        }
        var blob = BlobWriter(writer, tree: tree.id)
        try body(&blob)
        try enter(blob, for: key, in: tree)
    }

    private func enter(_ blob: consuming BlobWriter, for key: UInt64, in tree: Tree) throws(StorageError) {
        let (short, long) = blob.end()
        guard let long else { return try put(short, for: key, in: tree) }
        // Look the tree up again, because `body` may have changed the transaction's trees.
        let index = try prepare(tree, .integer)
        let value = try writer.put(IntegerLayout.self, index, key, long)
        writer.record { $0.put(key, value, tree: tree.id, to: &$1) }
        writer.noteChange()
    }

    private func enter(_ blob: consuming BlobWriter, for key: [UInt8], in tree: Tree) throws(StorageError) {
        let (short, long) = blob.end()
        guard let long else { return try put(short, for: key, in: tree) }
        let index = try prepare(tree, .bytes)
        try key.withUnsafeBytes { key in
            result { () throws(StorageError) in
                let value = try writer.put(ByteLayout.self, index, addressed(key), long)
                writer.record { $0.put(addressed(key), value, tree: tree.id, to: &$1) }
            }
        }.get()
        writer.noteChange()
    }

    // MARK: At positions in trees of either key kind

    /// Puts a value that `body` supplies in pieces.
    func put(
        at position: TreePosition, in tree: Tree, _ body: (inout BlobWriter) throws(StorageError) -> Void
    ) throws(StorageError) {
        var blob = BlobWriter(writer, tree: tree.id)
        try body(&blob)
        switch position {
        case .start: break
        case .integer(let key): try enter(blob, for: key, in: tree)
        case .bytes(let key): try enter(blob, for: key, in: tree)
        }
    }

    /// Whether there is an entry at a position.
    func holds(_ position: TreePosition, in tree: Tree) throws(StorageError) -> Bool {
        switch position {
        case .start: false
        case .integer(let key): try view.blob(of: key, in: tree) != nil
        case .bytes(let key): try view.blob(of: key, in: tree) != nil
        }
    }

    /// Removes the entry at a position if there is one.
    func delete(at position: TreePosition, in tree: Tree) throws(StorageError) {
        switch position {
        case .start: break
        case .integer(let key): _ = try delete(key, in: tree)
        case .bytes(let key): _ = try delete(key, in: tree)
        }
    }
}
