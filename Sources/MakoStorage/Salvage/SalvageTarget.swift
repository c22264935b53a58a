/// The new database of a salvage, under a temporary name until it is complete.
final class SalvageTarget {
    private static let batchBytes = 32 << 20

    let store: Store
    private let new: NewFile
    private let file: TemporaryFile

    /// The new tree for each tree of the damaged database.
    private(set) var trees: [UInt32: Tree] = [:]
    private(set) var counts: [UInt32: Recovered] = [:]
    private var batch: [Entry] = []
    private var batchBytes = 0

    /// How a record was found.
    enum Origin {
        /// From the root of its tree.
        case tree
        /// On a page that is in use, but not reached from a root.
        case stray
        /// On a page of unknown use.
        case doubtful
    }

    struct Recovered {
        var recovered: UInt64 = 0
        var doubtful: UInt64 = 0
    }

    private struct Entry {
        var tree: UInt32
        var key: SalvageReport.Key
        var value: [UInt8]
        var origin: Origin
    }

    /// - Parameter access: the access rights of the damaged file.
    init(path: String, options: StoreOptions, access: FileAccess?) throws(StorageError) {
        new = try NewFile(at: path, on: options.files)
        try new.refuseExisting()
        var options = options.withoutEvents
        options.readOnly = false
        let file = try new.begin(access: access)
        self.file = file
        do throws(StorageError) {
            try DataFile.create(
                file.file, segmentBytes: options.logSegmentBytes, encryption: options.encryption,
                entropy: options.entropy)
            store = try Store(of: file, options: options)
        } catch {
            file.discard()
            throw file.named(error)
        }
    }

    // MARK: Trees and records

    /// Creates the tree for one of the damaged database.
    ///
    /// - Returns: its name, which differs from the wanted one if that is taken.
    func makeTree(_ number: UInt32, keys: KeyKind, _ options: TreeOptions, named wanted: String)
        throws(StorageError) -> String
    {
        let transaction = try store.beginWrite()
        let (tree, name) = try SalvageTarget.createTree(number, keys: keys, options, named: wanted, transaction)
        try transaction.commit(durability: .async)
        trees[number] = tree
        counts[number] = Recovered()
        return name
    }

    /// Creates a tree with a valid name that is not taken.
    static func createTree(
        _ number: UInt32, keys: KeyKind, _ options: TreeOptions, named wanted: String,
        _ transaction: borrowing WriteTransaction
    ) throws(StorageError) -> (tree: Tree, name: String) {
        let numbered = "tree \(number)"
        for name in [wanted, numbered] + (2...9).map({ "\(numbered) (\($0))" }) {
            do throws(StorageError) {
                return (try transaction.createTree(named: name, keys: keys, options: options), name)
            } catch {
                switch error {
                case .treeExists, .invalidArgument: continue
                default: throw error
                }
            }
        }
        throw .treeExists(numbered)
    }

    /// Adds a record to a tree. A record found from the root takes precedence over one found elsewhere.
    func add(_ key: SalvageReport.Key, _ value: [UInt8], to tree: UInt32, _ origin: Origin) throws(StorageError) {
        batch.append(Entry(tree: tree, key: key, value: value, origin: origin))
        batchBytes += value.count + 64
        if batchBytes >= SalvageTarget.batchBytes { try flush() }
    }

    /// Adds a record whose value is too long for memory.
    func add(
        _ key: SalvageReport.Key, to number: UInt32, _ origin: Origin,
        _ write: (inout BlobWriter) throws(StorageError) -> Void
    ) throws(StorageError) {
        try flush()
        guard let tree = trees[number] else { return }
        let transaction = try store.beginWrite()
        if origin != .tree, try transaction.holds(key.position, in: tree) { return }
        try transaction.put(at: key.position, in: tree, write)
        try transaction.commit(durability: .async)
        counts[number]?.recovered += 1
        if origin == .doubtful { counts[number]?.doubtful += 1 }
    }

    /// Writes the buffered records.
    func flush() throws(StorageError) {
        guard !batch.isEmpty else { return }
        let transaction = try store.beginWrite()
        for entry in batch {
            guard let tree = trees[entry.tree], try SalvageTarget.enter(entry, tree, transaction) else { continue }
            counts[entry.tree]?.recovered += 1
            if entry.origin == .doubtful { counts[entry.tree]?.doubtful += 1 }
        }
        try transaction.commit(durability: .async)
        batch.removeAll(keepingCapacity: true)
        batchBytes = 0
    }

    private static func enter(_ entry: Entry, _ tree: Tree, _ transaction: borrowing WriteTransaction)
        throws(StorageError) -> Bool
    {
        switch (entry.key, tree.keys, entry.origin) {
        case (.integer(let key), .integer, .tree): try transaction.put(entry.value, for: key, in: tree)
        case (.bytes(let key), .bytes, .tree): try transaction.put(entry.value, for: key, in: tree)
        case (.integer(let key), .integer, _): return try transaction.insert(entry.value, for: key, in: tree)
        case (.bytes(let key), .bytes, _): return try transaction.insert(entry.value, for: key, in: tree)
        default: return false
        }
        return true
    }

    /// Replays a commit of the log, completely or not at all.
    ///
    /// - Parameter name: returns the name of a tree that only the log has.
    func replay(_ operations: UnsafeRawBufferPointer, of source: DamagedFile, name: (UInt32) -> String)
        throws(StorageError)
    {
        let transaction = try store.beginWrite()
        var replay = SalvageReplay(trees: trees, source: source)
        var reader = OperationReader(operations)
        while let step = (try? reader.next()) ?? nil { try replay.apply(step, transaction, name) }
        try transaction.commit(durability: .async)
        trees = replay.trees
    }

    // MARK: The end

    /// Gives the new database its name, and closes it.
    func finish() throws(StorageError) {
        try store.settle()
        guard try file.publish(as: new.path, replacing: false) else { throw new.taken }
        store.abandon()
    }

    /// Returns the error to report, which names the new file: for a store that became read-only, the cause.
    func cause(of error: StorageError) -> StorageError {
        guard case .readOnly = error, let cause = store.pipeline.lock.withLock({ store.pipeline.failure?.cause }) else {
            return file.named(error)
        }
        return file.named(StorageError(cause))
    }

    /// Removes the new database.
    func abandon() {
        store.abandon()
        file.discard()
    }
}
