import MakoStorage

final class MakoWorkload: WorkloadEngine, @unchecked Sendable {
    static let name = MakoEngine.name

    private let store: Store
    private let tree: Tree

    init(_ setup: Setup) throws {
        var options = StoreOptions()
        options.durability = setup.durability == .full ? .full : .ordered
        options.cacheBytes = 1 << 30
        store = try Store(at: setup.directory + "/data.mako", options: options)
        tree = try store.write { try $0.createTree(named: "data", keys: .bytes) }
    }

    func load(_ records: Range<UInt64>) throws {
        let maker = RecordMaker()
        try store.write(durability: .ordered) { transaction in
            for record in records {
                maker.make(record)
                try transaction.put(maker.value, for: maker.key, in: tree)
            }
        }
    }

    func settle() throws { try store.checkpoint() }
    func session() throws -> any WorkloadSession { Session(store, tree) }
    func close() throws { try store.close() }

    private final class Session: WorkloadSession {
        private let store: Store
        private let tree: Tree
        private let maker = RecordMaker()
        private var array = [UInt8](repeating: 0, count: Workload.keyBytes)

        init(_ store: Store, _ tree: Tree) {
            self.store = store
            self.tree = tree
        }

        private func sum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
            bytes.baseAddress.map { touch($0, bytes.count) } ?? 0
        }

        func read(_ key: UnsafeRawBufferPointer) throws -> UInt64 {
            array.withUnsafeMutableBytes { $0.copyMemory(from: key) }
            let found = try store.read { snapshot in try snapshot.withValue(of: array, in: tree) { sum($0) } }
            guard let found else { throw BenchmarkError("a key is missing") }
            return found
        }

        func write(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
            try store.write { try $0.put(value, for: key, in: tree) }
        }

        func modify(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
            array.withUnsafeMutableBytes { $0.copyMemory(from: key) }
            try store.write { transaction in
                guard try transaction.view.withValue(of: array, in: tree, { sum($0) }) != nil else {
                    throw BenchmarkError("a key is missing")
                }
                try transaction.put(value, for: key, in: tree)
            }
        }

        func scan(from key: UnsafeRawBufferPointer, _ count: Int) throws -> UInt64 {
            array.withUnsafeMutableBytes { $0.copyMemory(from: key) }
            var total: UInt64 = 0
            var left = count
            try store.read { snapshot in
                try snapshot.forEach(in: tree, from: array) { _, value in
                    total &+= sum(value)
                    left -= 1
                    return left > 0
                }
            }
            return total
        }

        func write(_ records: [UInt64]) throws {
            try store.write { transaction in
                for record in records {
                    maker.make(record)
                    try transaction.put(maker.value, for: maker.key, in: tree)
                }
            }
        }

        func end() throws {}
    }
}
