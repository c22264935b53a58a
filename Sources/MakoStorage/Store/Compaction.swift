extension Store {
    /// Copies the latest commit to a new file of the smallest size: full pages, in key order, without free pages.
    ///
    /// Readers and the writer continue. The file gets its name when it is complete and durable. Trees keep their
    /// numbers, and the commit keeps its number.
    ///
    /// - Parameters:
    ///   - path: the path of the new file, which must not exist, on the store's file system.
    ///   - progress: called after every 1,000 entries and at the end.
    /// - Returns: the commit and the size of the copy.
    /// - Throws: ``StorageError/corrupted(page:reason:)`` for a damaged page, ``StorageError/diskFull(path:)`` and I/O
    ///   errors; no file remains then.
    /// - Complexity: linear in the entries.
    @discardableResult
    public func copy(to path: String, progress: (CopyProgress) -> Void = { _ in }) throws(StorageError) -> CopyReport {
        try copy(to: path, encryption: currentEncryption, progress: progress)
    }

    /// Copies the latest commit to a new file of the smallest size, with another encryption or none.
    ///
    /// The copy gets a new random data key, so the keys of this database reveal nothing about the copy.
    ///
    /// ```swift
    /// try plain.copy(to: "events-2.mako", encryption: .key(bytes))
    /// ```
    ///
    /// - Parameter encryption: the encryption of the copy; nil for an unencrypted copy.
    /// - Parameter path: the new file, which must not exist.
    /// - Parameter progress: called from time to time.
    @discardableResult
    public func copy(
        to path: String, encryption: Encryption?, progress: (CopyProgress) -> Void = { _ in }
    ) throws(StorageError) -> CopyReport {
        try copy(to: path, on: options.files, encryption, progress)
    }

    /// Copies as ``copy(to:progress:)`` to another file system, for a store in memory.
    package func copy(
        to path: String, on fileSystem: any FileSystem, progress: (CopyProgress) -> Void
    ) throws(StorageError) -> CopyReport {
        try copy(to: path, on: fileSystem, currentEncryption, progress)
    }

    private func copy(
        to path: String, on fileSystem: any FileSystem, _ encryption: Encryption?, _ progress: (CopyProgress) -> Void
    ) throws(StorageError) -> CopyReport {
        if let next = follower?.successor { return try next.copy(to: path, on: fileSystem, encryption, progress) }
        let new = try NewFile(at: path, on: options.withAttributes(fileSystem))
        try new.refuseExisting()
        return try copy(to: new, replacing: false, encryption, progress)
    }

    /// Rewrites a database that is not open, in the smallest size.
    ///
    /// After a crash the database is either the old or the new one. Needs disk space for both.
    ///
    /// - Parameters:
    ///   - path: the path of the data file.
    ///   - options: the options to open it with.
    ///   - progress: called after every 1,000 entries and at the end.
    /// - Returns: the commit and the size of the new file.
    /// - Throws: ``StorageError/notFound(path:)``, ``StorageError/alreadyOpen(path:)``, the errors of opening and of
    ///   ``copy(to:progress:)``. The database is unchanged then.
    @discardableResult
    public static func compact(
        at path: String, options: StoreOptions = .init(), progress: (CopyProgress) -> Void = { _ in }
    ) throws(StorageError) -> CopyReport {
        try compact(at: path, options: options, encryption: options.encryption, progress: progress)
    }

    /// Rewrites a database that is not open, in the smallest size, with another encryption or none.
    ///
    /// The device may still have the contents of the old file and its log in free blocks.
    ///
    /// - Parameters:
    ///   - options: the options to open the old file with.
    ///   - encryption: the new encryption; nil for an unencrypted database.
    ///   - progress: called from time to time.
    ///   - path: the database.
    @discardableResult
    public static func compact(
        at path: String, options: StoreOptions = .init(), encryption: Encryption?,
        progress: (CopyProgress) -> Void = { _ in }
    ) throws(StorageError) -> CopyReport {
        let new = try NewFile(at: path, on: options.files)
        guard options.files.exists(new.path) else { throw .notFound(path: path) }
        var options = options
        options.readOnly = false
        options.background = .manual
        options.createsInEmptyFile = false
        let store = try Store(at: new.path, options: options)
        // Keep the lock until the new file has the name. A process that waits for the lock then compares the file with
        // the name.
        defer { store.abandon() }
        guard try store.dataFile.file.readersPins(path).isEmpty else { throw .alreadyOpen(path: path) }
        // Remove the log first, because it would not belong to the new file.
        try store.checkpointer.lock.withLock { () throws(StorageError) in try store.finish() }
        return try store.copy(to: new, replacing: true, encryption, progress)
    }

    /// Copies to a temporary file, which gets the name of `new` at the end.
    private func copy(
        to new: NewFile, replacing: Bool, _ encryption: Encryption?, _ progress: (CopyProgress) -> Void
    ) throws(StorageError) -> CopyReport {
        if encryption != nil && !Encryption.isAvailable { throw .encryptionUnavailable(path: new.path) }
        guard let source = try capture(label: "copy") else {
            return try latest.copy(to: new, replacing: replacing, encryption, progress)
        }
        defer { source.snapshot.close() }
        let access = try storage { () throws(FileError) in try dataFile.file.access() }
        let target = try new.begin(access: access)
        do throws(StorageError) {
            let store = try makeTarget(target, source.version, encryption)
            defer { store.abandon() }
            let heeded = WriterFeatures(rawValue: dataFile.lock.withLock { dataFile.header.mustWrite })
                .subtracting(.follower)
            if !heeded.isEmpty { try store.use(heeded) }
            try store.fill(from: source.snapshot, source.version, progress)
            try store.settle()
            let bytes = try storage { () throws(FileError) in try target.file.size() }
            guard try target.publish(as: new.path, replacing: replacing) else { throw new.taken }
            return CopyReport(commitNumber: source.version.commit, bytes: bytes)
        } catch {
            target.discard()
            throw target.named(error)
        }
    }

    /// Creates an empty store whose first commit gets the number of the copied version.
    private func makeTarget(_ target: TemporaryFile, _ version: Version, _ encryption: Encryption?)
        throws(StorageError) -> Store
    {
        let segmentBytes = Int(dataFile.header.segmentBytes)
        // `fill` commits once, unless there is nothing to copy.
        let isEmpty = version.treeCount == 0 && version.nextTreeID == 1
        let commit = isEmpty ? version.commit : max(1, version.commit) - 1
        try DataFile.create(
            target.file, segmentBytes: segmentBytes, commit: commit, encryption: encryption, entropy: options.entropy)
        var own = options.withoutEvents
        own.encryption = encryption
        own.fileSystem = target.fileSystem
        own.readOnly = false
        own.background = .manual
        own.diskReserveBytes = 0
        return try Store(of: target, options: own)
    }

    /// Copies all trees of a version to this empty store, in one transaction.
    private func fill(from source: Snapshot, _ version: Version, _ progress: (CopyProgress) -> Void)
        throws(StorageError)
    {
        let trees = source.trees.sorted { $0.tree.id < $1.tree.id }
        let total = Int(clamping: trees.reduce(0) { $0 &+ $1.count })
        var done = 0
        let transaction = try beginWrite()
        for info in trees {
            let tree = try transaction.writer.createTree(
                named: info.name, keys: info.tree.keys, options: info.options, id: info.tree.id)
            var cursor = try source.cursor(in: info.tree)
            var loader = BulkLoader(transaction.writer, tree)
            var isThere = try cursor.first()
            while isThere {
                if let overflow = try cursor.overflow(), overflow.isList {
                    try copyBlob(of: cursor, source, to: &loader, BlobWriter(transaction.writer, tree: tree.id))
                } else {
                    try copyEntry(of: cursor, to: &loader)
                }
                done += 1
                if done % Store.entriesPerReport == 0 { progress(CopyProgress(done: done, total: total)) }
                isThere = try cursor.next()
            }
            try loader.finish()
        }
        // The numbers of dropped trees are not reused. The log has none of them, so that the commit is a checkpoint.
        if transaction.writer.nextTreeID < version.nextTreeID {
            transaction.writer.nextTreeID = version.nextTreeID
            transaction.writer.stopRecording()
        }
        try transaction.commit(durability: .ordered)
        progress(CopyProgress(done: done, total: total))
    }

    private func copyBlob(
        of cursor: borrowing Cursor, _ source: Snapshot, to loader: inout BulkLoader, _ blob: consuming BlobWriter
    ) throws(StorageError) {
        var pieces = Blob.Pieces(of: try Blob(cursor.record(), source))
        defer { pieces.deallocate() }
        while let piece = try pieces.next() { try blob.append(piece) }
        try loader.append(blob, at: cursor.position)
    }

    private func copyEntry(of cursor: borrowing Cursor, to loader: inout BulkLoader) throws(StorageError) {
        let value = try cursor._currentValue()
        defer { cursor._deallocate(value) }
        switch cursor.tree.keys {
        case .integer: try loader.append(value.bytes, for: cursor.integerKey)
        case .bytes: try loader.append(value.bytes, for: cursor._currentKey())
        }
    }

    private static let entriesPerReport = 1000

    /// Writes the last checkpoint of a file before it gets its name. The store must be abandoned afterwards, which
    /// closes the file.
    func settle() throws(StorageError) {
        background.stop()
        try checkpointer.lock.withLock { () throws(StorageError) in try finish() }
        if options.diskReserveBytes == 0 { try cutOffUnused() }
    }

    /// Closes the files without a last checkpoint.
    package func abandon() {
        try? shutDown(clean: false)
    }
}
