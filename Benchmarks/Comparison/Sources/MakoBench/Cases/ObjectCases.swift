/// The cases of objects: what an application does, down to Swift values that can be used.
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
        "object-insert", "object-get", "object-fetch-all", "object-fetch-read", "object-query", "object-properties",
    ]

    func make(_ name: String) -> BenchmarkCase? {
        switch name {
        case "object-insert": return insertion(name)
        case "object-get":
            let ids = IntegerKeys.choices(min(count, 100_000), of: count).map { Int($0) }
            return reading(name, ids.count) { try $0.fetch(ids) }
        case "object-fetch-all": return reading(name, count) { try $0.fetchAll() }
        case "object-fetch-read":
            return reading(name, count) {
                try $0.hold()
                return $0.readHeld()
            }
        case "object-query":
            let lowest = IntegerKeys.choices(options.quick ? 200 : 1000, of: count - 100).map { Int($0) }
            return reading(name, lowest.count) { try $0.query(lowest) }
        case "object-properties":
            var isHeld: Set<String> = []
            return reading(
                name, count,
                before: { database in
                    if isHeld.insert(type(of: database).name).inserted { try database.hold() }
                }
            ) { $0.readHeld() }
        default: return nil
        }
    }

    private func insertion(_ name: String) -> BenchmarkCase {
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let directory = try self.workspace.make("\(engine.name)-insert")
                let database = try engine.init(directory: directory)
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

    private func database(_ engine: any ObjectEngine.Type) throws -> any ObjectEngine {
        if let known = loaded[engine.name] { return known }
        let made = try engine.init(directory: workspace.make(engine.name))
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
