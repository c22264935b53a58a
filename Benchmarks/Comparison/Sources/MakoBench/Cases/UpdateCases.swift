import Foundation

/// Random updates of one record after another: how fast without syncs, how even, beside a reader, and with little memory.
final class UpdateCases {
    private let options: Options
    private let workspace: Workspace
    private var running: [String: any KeyValueEngine] = [:]
    private var latencies: [String: Latencies] = [:]

    private let writers: [any KeyValueEngine.Type] = [
        MakoEngine.self, LMDBEngine<LMDBDefault>.self, LMDBEngine<LMDBWriteMap>.self, SQLiteEngine.self,
    ]
    /// SQLite would need a second connection without the exclusive lock: another setting than in the other cases.
    private let concurrent: [any KeyValueEngine.Type] = [MakoEngine.self, LMDBEngine<LMDBDefault>.self]
    /// LMDB's only cache is the system's, whose size cannot be set.
    private let cached: [any KeyValueEngine.Type] = [MakoEngine.self, SQLiteEngine.self]

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
    }

    static let names = [
        "update-relaxed-1", "update-relaxed-100", "update-async-1", "update-async-100", "get-alone",
        "get-beside-copies", "get-beside-writer",
        "pacing-99.9", "pacing-largest", "small-cache-get", "small-cache-update",
    ]

    private var records: Int { options.records }

    func make(_ name: String) -> BenchmarkCase? {
        switch name {
        case "update-relaxed-1": updates(name, .relaxed, perTransaction: 1)
        case "update-relaxed-100": updates(name, .relaxed, perTransaction: 100)
        case "update-async-1": updates(name, .async, perTransaction: 1)
        case "update-async-100": updates(name, .async, perTransaction: 100)
        case "get-alone": gets(name, beside: nil)
        case "get-beside-copies": gets(name, beside: .copies)
        case "get-beside-writer": gets(name, beside: .writer)
        case "pacing-99.9": pacing(name) { $0.perThousand }
        case "pacing-largest": pacing(name) { $0.largest }
        case "small-cache-get": smallCache(name, writes: false)
        case "small-cache-update": smallCache(name, writes: true)
        default: nil
        }
    }

    /// A database of all records, which all repetitions of its cases use.
    private func database(
        _ engine: any KeyValueEngine.Type, _ durability: SyncMode, cacheBytes: Int? = nil
    ) throws -> any KeyValueEngine {
        let name = "\(engine.name)-updates-\(durability.rawValue)-\(cacheBytes ?? 0)"
        if let known = running[name] { return known }
        let database = try engine.init(
            Setup(
                directory: workspace.make(name), keys: .integers, durability: durability, records: records,
                cacheBytes: cacheBytes))
        try database.insert(IntegerKeys.ordered(records), order: .ascending)
        try database.settle()
        running[name] = database
        return database
    }

    private func updates(_ name: String, _ durability: SyncMode, perTransaction: Int) -> BenchmarkCase {
        let count = (perTransaction == 1 ? 200_000 : 500_000) / (options.quick ? 10 : 1)
        let keys = IntegerKeys.choices(count, of: records)
        let contenders = writers.map { engine in
            Contender(engine: engine.name) { repetition in
                let database = try self.database(engine, durability)
                let round = UInt64(repetition + 2)
                let time = try self.options.clock.measure {
                    try database.update(keys[...], round: round, perTransaction: perTransaction)
                }
                return Sample(nanoseconds: time, checksum: try database.scan())
            }
        }
        return BenchmarkCase(
            name: name, durability: durability, records: records, operations: count, contenders: contenders)
    }

    /// The work of another thread during the reads.
    private enum Companion {
        case writer
        /// Copies pages in memory without the engine: the loss beside it is the machine's.
        case copies
    }

    /// Random reads, alone or beside another thread that works at full speed.
    private func gets(_ name: String, beside companion: Companion?) -> BenchmarkCase {
        let keys = IntegerKeys.choices(options.quick ? 200_000 : 4_000_000, of: records)
        let updates = IntegerKeys.shuffled(records)
        let contenders = concurrent.map { engine in
            Contender(engine: engine.name) { _ in
                let shared = Shared(try self.database(engine, .async))
                let reader = Shared(self.options.clock)
                let times = Shared([UInt64]())
                try onThreads(companion == nil ? 1 : 2) { thread in
                    if thread == 0 {
                        defer { shared.stop() }
                        // In pieces, each in a transaction of its own: a single one would hold all pages that are overwritten meanwhile.
                        for piece in stride(from: 0, to: keys.count, by: 100_000) {
                            let some = Array(keys[piece..<min(piece + 100_000, keys.count)])
                            times.value.append(try reader.value.measure { _ = try shared.value.gets(some) })
                        }
                        return
                    }
                    if companion == .copies { return copyPages(while: { !shared.isStopped }) }
                    var (next, round): (Int, UInt64) = (0, 1)
                    while !shared.isStopped {
                        let end = min(next + 1000, updates.count)
                        try shared.value.update(updates[next..<end], round: round, perTransaction: 1)
                        next = end % updates.count
                        round += 1
                    }
                }
                return Sample(nanoseconds: times.value.reduce(0, +), checksum: nil)
            }
        }
        return BenchmarkCase(
            name: name, durability: .async, records: records, operations: keys.count, threads: companion == nil ? 1 : 2,
            contenders: contenders)
    }

    /// The latencies of consecutive commits that wait for nothing.
    private func pacing(_ name: String, _ choose: @escaping (Latencies) -> UInt64) -> BenchmarkCase {
        let contenders = writers.map { engine in
            Contender(engine: engine.name) { repetition in
                let key = "\(engine.name)-\(repetition)"
                let known = try self.latencies[key] ?? self.measureLatencies(self.database(engine, .async))
                self.latencies[key] = known
                return Sample(nanoseconds: choose(known), checksum: nil)
            }
        }
        return BenchmarkCase(
            name: name, durability: .async, records: records, operations: 1, warmsUp: false, contenders: contenders)
    }

    private func measureLatencies(_ database: any KeyValueEngine) throws -> Latencies {
        let keys = IntegerKeys.shuffled(records)
        var latencies = Latencies()
        let clock = Stopwatch.wall
        let start = clock.now()
        let end = start + (options.quick ? 3 : 60) * 1_000_000_000
        var last = start
        var (next, round): (Int, UInt64) = (0, start)
        while last < end {
            try database.update(keys[next...next], round: round, perTransaction: 1)
            next = (next + 1) % keys.count
            round += 1
            let now = clock.now()
            latencies.note(now - last)
            last = now
        }
        return latencies
    }

    /// Random reads or updates with a cache of a tenth of the data.
    private func smallCache(_ name: String, writes: Bool) -> BenchmarkCase {
        let keys = IntegerKeys.choices(options.quick ? 20_000 : 200_000, of: records)
        let cacheBytes = max(records * 140 / 10, 2 << 20)
        let contenders = cached.map { engine in
            Contender(engine: engine.name) { repetition in
                let database = try self.database(engine, .relaxed, cacheBytes: cacheBytes)
                let round = UInt64(repetition + 2)
                var checksum: UInt64?
                let time = try self.options.clock.measure {
                    if writes {
                        try database.update(keys[...], round: round, perTransaction: 100)
                    } else {
                        checksum = try database.gets(keys)
                    }
                }
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: writes ? .relaxed : .none, records: records, operations: keys.count,
            contenders: contenders)
    }

    func close() throws {
        for database in running.values { try database.close() }
        running = [:]
    }
}

/// Copies pages of 4 KiB from one place of 64 MiB to another, without an order.
private func copyPages(while goesOn: () -> Bool) {
    let pages = 16384
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: pages * 4096, alignment: 4096)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 1)
    guard let base = memory.baseAddress else { return }
    var state: UInt64 = 1
    while goesOn() {
        for _ in 0..<1000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let (source, target) = (Int(state >> 40) % pages, Int(state >> 20) % pages)
            if source != target { memcpy(base + target * 4096, base + source * 4096, 4096) }
        }
    }
}

/// State shared by the threads of a case. Each use has its reason why that is sound: engines are thread-safe, and one thread writes the rest.
private final class Shared<Value>: @unchecked Sendable {
    var value: Value
    private let lock = NSLock()
    private var stopped = false

    init(_ value: Value) { self.value = value }

    var isStopped: Bool { lock.withLock { stopped } }
    func stop() { lock.withLock { stopped = true } }
}
