/// Queries for the number of rows that refer to a row.
final class FamilyCases {
    private let options: Options
    private let workspace: Workspace
    private let engines: [any FamilyEngine.Type] = [
        MakoFamilies.self, SQLiteFamilies<GroupedChildren>.self, SQLiteFamilies<CorrelatedCount>.self,
    ]
    private var loaded: [String: any FamilyEngine] = [:]

    private var count: Int { max(options.records / 10, 1000) }

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
    }

    static let names = ["query-count-many"]

    func make(_ name: String) -> BenchmarkCase? {
        guard FamilyCases.names.contains(name) else { return nil }
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let database = try self.database(engine)
                var checksum: UInt64 = 0
                let time = try self.options.clock.measure { checksum = try database.parentsOfMany() }
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(name: name, durability: .none, records: count, operations: 1, contenders: contenders)
    }

    private func database(_ engine: any FamilyEngine.Type) throws -> any FamilyEngine {
        if let known = loaded[engine.name] { return known }
        let made = try engine.init(directory: workspace.make("\(engine.name)-families"))
        try made.fill(count)
        loaded[engine.name] = made
        return made
    }

    func close() throws {
        for database in loaded.values { try database.close() }
        loaded = [:]
    }
}
