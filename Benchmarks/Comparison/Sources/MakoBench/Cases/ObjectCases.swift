import CSQLite
import Dispatch

/// The cases of objects: the work of an application, including the Swift values.
final class ObjectCases {
    private let options: Options
    private let workspace: Workspace
    private let engines: [any ObjectEngine.Type]
    private var loaded: [String: any ObjectEngine] = [:]

    private var count: Int { max(options.records / 10, 1000) }

    init(options: Options, workspace: Workspace, engines: [any ObjectEngine.Type]) {
        self.options = options
        self.workspace = workspace
        self.engines = engines
    }

    static let names = [
        "object-insert", "object-commits", "object-commits-durable", "object-get", "object-get-together",
        "object-fetch-all", "object-fetch-read", "object-query", "object-properties", "object-scalar",
        "object-string", "object-update", "object-delete",
        "object-live", "object-memory", "object-memory-read", "object-migrate",
    ]

    func make(_ name: String) -> BenchmarkCase? {
        switch name {
        case "object-insert": return insertion(name)
        case "object-get":
            let ids = IntegerKeys.choices(min(count, 100_000), of: count).map { Int($0) }
            return reading(name, ids.count) { try $0.fetch(ids) }
        case "object-commits": return commits(name, .relaxed)
        case "object-commits-durable": return commits(name, .full)
        case "object-get-together":
            // Distinct keys: GRDB returns each key once, however often it is requested.
            let ids = IntegerKeys.shuffled(count).prefix(10_000).map { Int($0) }
            return reading(name, ids.count) { try $0.fetchTogether(ids) }
        case "object-update":
            return writing(name, count) { database in
                try database.updateHeld()
                return 0
            }
        case "object-delete": return writing(name, count) { UInt64(try $0.deleteAll()) }
        case "object-live": return live(name)
        case "object-migrate": return migration(name)
        case "object-memory": return memory(name, readsAll: false)
        case "object-memory-read": return memory(name, readsAll: true)
        case "object-fetch-all": return reading(name, count) { try $0.fetchAll() }
        case "object-fetch-read":
            return reading(name, count) {
                try $0.hold()
                return $0.readHeld()
            }
        case "object-query":
            let lowest = IntegerKeys.choices(options.quick ? 200 : 1000, of: count - 100).map { Int($0) }
            return reading(name, lowest.count) { try $0.query(lowest) }
        case "object-properties": return ofHeld(name, count) { $0.readHeld() }
        case "object-scalar": return ofFew(name) { $0.readAges($1, rounds: $2) }
        case "object-string": return ofFew(name) { $0.readNames($1, rounds: $2) }
        default: return nil
        }
    }

    /// Reads objects that were fetched once.
    private func ofHeld(
        _ name: String, _ operations: Int, _ body: @escaping (any ObjectEngine) throws -> UInt64
    ) -> BenchmarkCase {
        var isHeld: Set<String> = []
        return reading(
            name, operations,
            before: { database in
                if isHeld.insert(type(of: database).name).inserted { try database.hold() }
            }, body)
    }

    /// Reads of so few objects that they stay in the processor's caches: the cost of the read itself.
    private func ofFew(_ name: String, _ body: @escaping (any ObjectEngine, Int, Int) -> UInt64) -> BenchmarkCase {
        let (few, rounds) = (100, 1000)
        return ofHeld(name, few * rounds) { body($0, few, rounds) }
    }

    private func insertion(_ name: String) -> BenchmarkCase {
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let directory = try self.workspace.make("\(engine.name)-insert")
                let database = try engine.init(directory: directory, durability: .full)
                try database.prepare(self.count)
                let time = try self.options.clock.measure { try database.insertPrepared() }
                try database.hold()
                let checksum = database.readHeld()
                try database.close()
                try self.workspace.remove(directory)
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .full, records: count, operations: count, warmsUp: false, contenders: contenders)
    }

    private func commits(_ name: String, _ durability: SyncMode) -> BenchmarkCase {
        let count = options.quick ? 200 : 1000
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let directory = try self.workspace.make("\(engine.name)-commits")
                let database = try engine.init(directory: directory, durability: durability)
                try database.prepare(self.count)
                let time = try self.options.clock.measure { try database.insertEach(count) }
                try database.hold()
                let checksum = database.readHeld()
                try database.close()
                try self.workspace.remove(directory)
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: durability, records: count, operations: count, warmsUp: false,
            contenders: contenders)
    }

    /// A database for each run, with all of its objects retained; `body` is the measured part and returns the checksum.
    private func writing(
        _ name: String, _ operations: Int, _ body: @escaping (any ObjectEngine) throws -> UInt64
    ) -> BenchmarkCase {
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                try self.onFilled(engine, name) { database in
                    var checksum: UInt64 = 0
                    let time = try self.options.clock.measure { checksum = try body(database) }
                    return Sample(nanoseconds: time, checksum: checksum &+ database.readHeld())
                }
            }
        }
        return BenchmarkCase(
            name: name, durability: .full, records: count, operations: operations, warmsUp: false,
            contenders: contenders)
    }

    /// From the beginning of one transaction that changes a tenth of all rows, some in the results of each of a thousand live queries, until the
    /// last of these has been notified.
    private func live(_ name: String) -> BenchmarkCase {
        let followers = count / 100
        let contenders = engines.compactMap { $0 as? any LiveEngine.Type }.map { engine in
            Contender(engine: engine.name) { _ in
                try self.onFilled(engine, name) { database in
                    let told = DispatchSemaphore(value: 0)
                    try database.follow((0..<followers).map { $0 * 100 }) { told.signal() }
                    for _ in 0..<followers { told.wait() }
                    let time = try self.options.clock.measure {
                        try database.updateTenth()
                        for _ in 0..<followers { told.wait() }
                    }
                    database.unfollow()
                    return Sample(nanoseconds: time, checksum: UInt64(followers))
                }
            }
        }
        return BenchmarkCase(
            name: name, durability: .full, records: count, operations: followers, warmsUp: false,
            contenders: contenders)
    }

    /// From opening a database of the old form to the end of its durable migration.
    private func migration(_ name: String) -> BenchmarkCase {
        let contenders = engines.compactMap { $0 as? any MigratingEngine.Type }.map { engine in
            Contender(engine: engine.name) { _ in
                let directory = try self.workspace.make("\(engine.name)-\(name)")
                let database = try engine.init(directory: directory, durability: .full)
                try database.prepare(self.count)
                try database.insertPrepared()
                try database.close()
                var people: (any MigratedPeople)?
                let time = try self.options.clock.measure { people = try engine.migrate(directory) }
                let checksum = try people?.checksum() ?? 0
                try people?.close()
                try self.workspace.remove(directory)
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .full, records: count, operations: count, warmsUp: false, contenders: contenders)
    }

    /// The memory of the objects of one fetch while they are retained.
    private func memory(_ name: String, readsAll: Bool) -> BenchmarkCase {
        let contenders = (engines + [GRDBObjects<PersonObject>.self]).map { engine in
            Contender(engine: engine.name) { _ in
                let database = try self.database(engine)
                database.drop()
                let before = comparison_allocated_bytes()
                try database.hold()
                let checksum = readsAll ? database.readHeld() : 0
                let bytes = comparison_allocated_bytes() &- before
                database.drop()
                return Sample(bytes: bytes, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .none, records: count, operations: count, unit: .bytes, contenders: contenders)
    }

    private func onFilled<E: ObjectEngine>(_ engine: E.Type, _ name: String, _ body: (E) throws -> Sample) throws
        -> Sample
    {
        let directory = try workspace.make("\(engine.name)-\(name)")
        let database = try engine.init(directory: directory, durability: .full)
        try database.prepare(count)
        try database.insertPrepared()
        try database.settle()
        try database.hold()
        let sample = try body(database)
        try database.close()
        try workspace.remove(directory)
        return sample
    }

    private func database(_ engine: any ObjectEngine.Type) throws -> any ObjectEngine {
        if let known = loaded[engine.name] { return known }
        let made = try engine.init(directory: workspace.make(engine.name), durability: .full)
        try made.prepare(count)
        try made.insertPrepared()
        try made.settle()
        loaded[engine.name] = made
        return made
    }

    private func reading(
        _ name: String, _ operations: Int, before: @escaping (any ObjectEngine) throws -> Void = { _ in },
        _ body: @escaping (any ObjectEngine) throws -> UInt64
    ) -> BenchmarkCase {
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let database = try self.database(engine)
                try before(database)
                var checksum: UInt64 = 0
                let time = try self.options.clock.measure { checksum = try body(database) }
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .none, records: count, operations: operations, contenders: contenders)
    }

    func close() throws {
        for database in loaded.values { try database.close() }
        loaded = [:]
    }
}
