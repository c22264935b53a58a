/// The cases of large values: a thousandth as many as there are records elsewhere, of 100,000 bytes each.
final class BlobCases {
    static let names = ["blob-load", "blob-load-relaxed", "blob-read"]
    private static var engines: [any BlobEngine.Type] {
        [MakoBlobs.self, LMDBBlobs<LMDBDefault>.self, LMDBBlobs<LMDBWriteMap>.self, SQLiteBlobs.self]
    }

    private let options: Options
    private let workspace: Workspace
    private var loaded: [String: any BlobEngine] = [:]

    private var count: Int { max(100, options.records / 1000) }
    private var keys: [UInt64] { (1...UInt64(count)).map { $0 } }

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
    }

    func make(_ name: String) -> BenchmarkCase? {
        switch name {
        case "blob-load": loading(name, .full)
        case "blob-load-relaxed": loading(name, .relaxed)
        case "blob-read": reading(name)
        default: nil
        }
    }

    private func open(_ engine: any BlobEngine.Type, _ directory: String, _ durability: SyncMode) throws
        -> any BlobEngine
    {
        try engine.init(Setup(directory: directory, keys: .integers, durability: durability, records: count))
    }

    /// All values in one transaction into a new database.
    private func loading(_ name: String, _ durability: SyncMode) -> BenchmarkCase {
        let contenders = BlobCases.engines.map { engine in
            Contender(engine: engine.name) { _ in
                let directory = try self.workspace.make("\(engine.name)-\(name)")
                let database = try self.open(engine, directory, durability)
                let time = try self.options.clock.measure { try database.load(self.keys) }
                let checksum = try database.read(self.keys)
                try database.close()
                try self.workspace.remove(directory)
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: durability, records: count, operations: count, warmsUp: false,
            contenders: contenders)
    }

    /// Every byte of values in random order.
    private func reading(_ name: String) -> BenchmarkCase {
        let choices = IntegerKeys.choices(count, of: count)
        let contenders = BlobCases.engines.filter { $0.name != LMDBWriteMap.name }.map { engine in
            Contender(engine: engine.name) { _ in
                let database = try self.database(engine)
                var checksum: UInt64 = 0
                let time = try self.options.clock.measure { checksum = try database.read(choices) }
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .none, records: count, operations: count, contenders: contenders)
    }

    private func database(_ engine: any BlobEngine.Type) throws -> any BlobEngine {
        if let known = loaded[engine.name] { return known }
        let made = try open(engine, workspace.make("\(engine.name)-blobs"), .relaxed)
        try made.load(keys)
        try made.settle()
        loaded[engine.name] = made
        return made
    }

    func close() throws {
        for database in loaded.values { try database.close() }
        loaded = [:]
    }
}
