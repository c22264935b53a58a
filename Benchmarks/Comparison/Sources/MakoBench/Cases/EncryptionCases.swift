import MakoStorage

/// The cost of encryption: the same work on a plain store and on encrypted ones.
final class EncryptionCases {
    static let names = [
        "encryption-insert", "encryption-get-cached", "encryption-get-cold", "encryption-commit-durable",
        "encryption-commit-relaxed",
    ]
    private static let engines: [(name: String, encryption: Encryption?)] = [
        ("Mako", nil), ("Mako AES-GCM", .key([UInt8](repeating: 7, count: 32))),
        ("Mako ChaCha20", .key([UInt8](repeating: 7, count: 32), cipher: .chaChaPoly)),
    ]

    private let options: Options
    private let workspace: Workspace
    private let maker = ValueMaker()
    private var loaded: [String: (store: Store, tree: Tree)] = [:]
    private var next: [String: UInt64] = [:]

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
    }

    func make(_ name: String) -> BenchmarkCase? {
        guard EncryptionCases.names.contains(name) else { return nil }
        let reads = min(options.records, options.quick ? 20_000 : 200_000)
        return switch name {
        case "encryption-insert": inserting(name)
        case "encryption-get-cached": reading(name, cacheBytes: 1 << 30, count: reads)
        // So little memory that nearly every read goes to the file, which the system caches.
        case "encryption-get-cold": reading(name, cacheBytes: 1 << 20, count: reads / 4)
        case "encryption-commit-durable": committing(name, .full, count: options.quick ? 500 : 2000)
        default: committing(name, .ordered, count: options.quick ? 5000 : 50_000)
        }
    }

    private func open(_ path: String, _ encryption: Encryption?, cacheBytes: Int, _ durability: Durability) throws
        -> Store
    {
        var options = StoreOptions()
        options.durability = durability
        options.cacheBytes = cacheBytes
        options.encryption = encryption
        return try Store(at: path, options: options)
    }

    private func fill(_ store: Store) throws -> Tree {
        try store.write { transaction in
            let tree = try transaction.createTree(named: "data", keys: .integer)
            for key in IntegerKeys.shuffled(options.records) {
                maker.make(key)
                try transaction.put(
                    UnsafeRawBufferPointer(start: maker.bytes, count: ValueMaker.size), for: key, in: tree)
            }
            return tree
        }
    }

    /// All records in random order, in one transaction, synced.
    private func inserting(_ name: String) -> BenchmarkCase {
        let contenders = EncryptionCases.engines.map { engine in
            Contender(engine: engine.name) { _ in
                let directory = try self.workspace.make("\(engine.name)-\(name)")
                let store = try self.open(directory + "/data.mako", engine.encryption, cacheBytes: 1 << 30, .ordered)
                let time = try self.options.clock.measure {
                    _ = try self.fill(store)
                    try store.close()
                }
                try self.workspace.remove(directory)
                return Sample(nanoseconds: time, checksum: nil)
            }
        }
        return BenchmarkCase(
            name: name, durability: .relaxed, records: options.records, operations: options.records, warmsUp: false,
            contenders: contenders)
    }

    private func reading(_ name: String, cacheBytes: Int, count: Int) -> BenchmarkCase {
        let choices = IntegerKeys.choices(count, of: options.records)
        let contenders = EncryptionCases.engines.map { engine in
            Contender(engine: engine.name) { _ in
                let (store, tree) = try self.store(engine.name, name, engine.encryption, cacheBytes)
                let snapshot = try store.snapshot()
                var sum: UInt64 = 0
                let time = try self.options.clock.measure {
                    for key in choices { sum &+= UInt64(try snapshot.get(key, in: tree)?.first ?? 0) }
                }
                return Sample(nanoseconds: time, checksum: sum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .none, records: options.records, operations: count, contenders: contenders)
    }

    private func committing(_ name: String, _ durability: Durability, count: Int) -> BenchmarkCase {
        let contenders = EncryptionCases.engines.map { engine in
            Contender(engine: engine.name) { _ in
                let key = "\(engine.name)-\(name)"
                let store: Store
                let tree: Tree
                if let known = self.loaded[key] {
                    (store, tree) = known
                } else {
                    let path = try self.workspace.make(key) + "/data.mako"
                    store = try self.open(path, engine.encryption, cacheBytes: 1 << 30, durability)
                    tree = try store.write { try $0.createTree(named: "data", keys: .integer) }
                    self.loaded[key] = (store, tree)
                }
                let first = self.next[key, default: 0]
                let maker = self.maker
                let time = try self.options.clock.measure {
                    for number in first..<first + UInt64(count) {
                        maker.make(number)
                        try store.write { transaction in
                            try transaction.put(
                                UnsafeRawBufferPointer(start: maker.bytes, count: ValueMaker.size), for: number,
                                in: tree)
                        }
                    }
                }
                self.next[key] = first + UInt64(count)
                return Sample(nanoseconds: time, checksum: nil)
            }
        }
        return BenchmarkCase(
            name: name, durability: durability == .full ? .full : .relaxed, records: count, operations: count,
            contenders: contenders)
    }

    private func store(_ engine: String, _ name: String, _ encryption: Encryption?, _ cacheBytes: Int) throws -> (
        store: Store, tree: Tree
    ) {
        let key = "\(engine)-\(name)"
        if let known = loaded[key] { return known }
        let path = try workspace.make(key) + "/data.mako"
        let making = try open(path, encryption, cacheBytes: 1 << 30, .ordered)
        let tree = try fill(making)
        try making.close()
        let store = try open(path, encryption, cacheBytes: cacheBytes, .ordered)
        loaded[key] = (store, tree)
        return (store, tree)
    }

    func close() throws {
        for (store, _) in loaded.values { try store.close() }
        loaded = [:]
    }
}
