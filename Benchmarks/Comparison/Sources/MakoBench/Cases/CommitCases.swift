/// Transactions of one record: the cost of a flush, and of a commit without one.
final class CommitCases {
    private let options: Options
    private let workspace: Workspace
    private let engines: [any KeyValueEngine.Type]
    private var running: [String: Running] = [:]
    private var raw: [RawDisk.Way: RawDisk] = [:]

    /// A database in use, and the next new key.
    private struct Running {
        let database: any KeyValueEngine
        var next: UInt64
    }

    init(options: Options, workspace: Workspace, engines: [any KeyValueEngine.Type]) {
        self.options = options
        self.workspace = workspace
        self.engines = engines
    }

    static let names = ["commit-durable-1", "commit-durable-8", "commit-relaxed-1"]

    func make(_ name: String) -> BenchmarkCase? {
        switch name {
        case "commit-durable-1": commits(name, .full, threads: 1, count: options.quick ? 500 : 2_000)
        case "commit-durable-8": commits(name, .full, threads: 8, count: options.quick ? 1_600 : 8_000)
        case "commit-relaxed-1": commits(name, .relaxed, threads: 1, count: options.quick ? 10_000 : 50_000)
        default: nil
        }
    }

    /// A tenth of the records are there before; the commits append to them, as new objects do.
    private func start(_ engine: any KeyValueEngine.Type, _ name: String, _ durability: SyncMode) throws -> Running {
        let before = max(options.records / 10, 1000)
        let directory = try workspace.make("\(engine.name)-\(name)")
        let database = try engine.init(
            Setup(directory: directory, keys: .integers, durability: durability, records: before * 4))
        try database.insert(IntegerKeys.ordered(before), order: .ascending)
        try database.settle()
        return Running(database: database, next: UInt64(before) + 1)
    }

    private func commits(_ name: String, _ durability: SyncMode, threads: Int, count: Int) -> BenchmarkCase {
        var contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let key = "\(engine.name)-\(name)"
                var state = try self.running[key] ?? self.start(engine, name, durability)
                let keys = state.next..<state.next + UInt64(count)
                let database = state.database
                let time = try self.options.clock.measure {
                    if threads == 1 {
                        try database.commitEach(keys)
                    } else {
                        try database.commitEach(keys, threads: threads)
                    }
                }
                state.next = keys.upperBound
                self.running[key] = state
                return Sample(nanoseconds: time, checksum: try database.scan())
            }
        }
        if durability == .full, threads == 1 {
            for way in RawDisk.Way.possible {
                contenders.append(
                    Contender(engine: way.rawValue) { _ in
                        let disk = try self.raw[way] ?? RawDisk(directory: self.workspace.make(way.rawValue), way)
                        self.raw[way] = disk
                        let time = try self.options.clock.measure { try disk.writeAndFlush(times: count) }
                        return Sample(nanoseconds: time, checksum: nil)
                    })
            }
        }
        return BenchmarkCase(
            name: name, durability: durability, records: max(options.records / 10, 1000), operations: count,
            threads: threads, contenders: contenders)
    }

    func close() throws {
        for state in running.values { try state.database.close() }
        running = [:]
        for disk in raw.values { disk.shut() }
        raw = [:]
    }
}
