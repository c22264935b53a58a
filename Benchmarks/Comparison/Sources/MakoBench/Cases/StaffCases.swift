/// Following references from one object to the next.
final class StaffCases {
    private let options: Options
    private let workspace: Workspace
    private let engines: [any StaffEngine.Type] = [MakoStaff.self, SQLiteStaff.self, GRDBStaff.self]
    private var loaded: [String: any StaffEngine] = [:]

    private var count: Int { max(options.records / 10, 1000) }

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
    }

    static let names = ["object-path", "object-path-prefetched", "object-relation"]

    func make(_ name: String) -> BenchmarkCase? {
        switch name {
        case "object-path":
            // Objects of one fetch cache the references that they have followed: each repetition has new ones.
            let held = min(count, 10_000)
            return benchmark(name, held, engines, before: { try $0.hold(held) }, { try $0.traverseHeld() })
        case "object-path-prefetched":
            let objects = engines.filter { $0.name != SQLiteStaff.name }
            return benchmark(name, count, objects, before: { _ in }, { try $0.fetchWithLocations() })
        case "object-relation":
            // So few that they stay in the processor's caches.
            let (few, rounds) = (100, 1000)
            return benchmark(
                name, few * rounds, engines.filter { $0 is any KeepingStaffEngine.Type },
                before: {
                    try $0.hold(few)
                    _ = try $0.traverseHeld()
                }, { ($0 as? any KeepingStaffEngine)?.countDepartments(rounds: rounds) ?? 0 })
        default: return nil
        }
    }

    private func benchmark(
        _ name: String, _ operations: Int, _ engines: [any StaffEngine.Type],
        before: @escaping (any StaffEngine) throws -> Void, _ body: @escaping (any StaffEngine) throws -> UInt64
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

    private func database(_ engine: any StaffEngine.Type) throws -> any StaffEngine {
        if let known = loaded[engine.name] { return known }
        let made = try engine.init(directory: workspace.make("\(engine.name)-staff"))
        try made.fill(count)
        loaded[engine.name] = made
        return made
    }

    func close() throws {
        for database in loaded.values { try database.close() }
        loaded = [:]
    }
}
