/// The common parts of the queries.
enum ItemQueries {
    static let knownText = "code = ? AND number > 5 AND kind < 7"
}

/// Queries of a table of a million rows of eight columns.
final class QueryCases {
    private let options: Options
    private let workspace: Workspace
    private var loaded: [String: any ItemEngine] = [:]
    private let engines: [any ItemEngine.Type] = [MakoItems.self, SQLiteItems.self, GRDBItems.self]

    private var count: Int { max(options.records, 10_000) }

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
    }

    static let names = [
        "query-range", "query-like", "query-equality", "query-ordered", "query-aggregates", "query-groups",
        "query-join", "query-or", "query-and", "query-plan-new", "query-plan-known",
        "query-prepare-new", "query-prepare-known",
    ]

    func make(_ name: String) -> BenchmarkCase? {
        let count = count
        let width = count / 100
        switch name {
        case "query-range":
            return select(name, 5) {
                let start = $1 * width * 3
                return try $0.ids("number BETWEEN ? AND ?", [start, start + width - 1])
            }
        case "query-like":
            let parts = ["abc", "fed", "kl", "pong", "ace"]
            return select(name, parts.count) { try $0.ids("note LIKE '%\(parts[$1])%'", []) }
        case "query-equality":
            let codes = IntegerKeys.choices(min(1000, width), of: count / 10).map { Int($0) }
            return reading(name, codes.count) { try $0.items(codes: codes) }
        case "query-ordered":
            return select(name, 5) {
                let start = $1 * count / 100
                let end = start + count / 100
                return try $0.items("code BETWEEN ? AND ?", [start, end - 1], orderBy: "score", limit: 100)
            }
        case "query-aggregates":
            return select(name, 1) { engine, _ in
                try engine.select(
                    "SELECT count(*), sum(number), avg(score), min(number), max(score) FROM item", [])
            }
        case "query-groups":
            return select(name, 1) { engine, _ in
                try engine.select("SELECT kind, count(*), sum(number) FROM item GROUP BY kind", [])
            }
        case "query-join":
            return select(name, 3) {
                try $0.select(
                    """
                    SELECT count(*), sum(i.number) FROM item i JOIN city c ON c.id = i.city
                    JOIN country l ON l.id = c.country WHERE l.zone = ?
                    """, [$1])
            }
        case "query-or": return select(name, 100) { try $0.ids("code = ? OR lot = ?", [$1 * 17, $1]) }
        case "query-and":
            return select(name, 100) {
                try $0.ids("code BETWEEN ? AND ? AND lot = ?", [$1 * 10, $1 * 10 + count / 1000, $1])
            }
        case "query-plan-new":
            var number = 0
            return select(name, 1000) { engine, _ in
                number += 1
                return try engine.none("code = ? AND number > \(number) AND kind < 7", -1) ? 1 : 0
            }
        case "query-plan-known":
            return select(name, 10_000) { try $0.none(ItemQueries.knownText, -$1 - 1) ? 1 : 0 }
        case "query-prepare-new":
            var number = 0
            return select(name, 1000) { engine, _ in
                number += 1
                try engine.prepare("code = ? AND number > \(number) AND kind < 8", -1)
                return 0
            }
        case "query-prepare-known":
            return select(name, 10_000) {
                try $0.prepare(ItemQueries.knownText, -$1 - 1)
                return 0
            }
        default: return nil
        }
    }

    private func select(
        _ name: String, _ operations: Int, _ body: @escaping (any SelectEngine, Int) throws -> UInt64
    ) -> BenchmarkCase {
        let contenders = engines.compactMap { $0 as? any SelectEngine.Type }.map { engine in
            Contender(engine: engine.name) { _ in
                guard let database = try self.database(engine) as? any SelectEngine else {
                    throw BenchmarkError("no such engine")
                }
                var checksum: UInt64 = 0
                let time = try self.options.clock.measure {
                    for number in 0..<operations { checksum &+= try body(database, number) }
                }
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .none, records: count, operations: operations, contenders: contenders)
    }

    private func reading(
        _ name: String, _ operations: Int, _ body: @escaping (any ItemEngine) throws -> UInt64
    ) -> BenchmarkCase {
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let database = try self.database(engine)
                var checksum: UInt64 = 0
                let time = try self.options.clock.measure { checksum = try body(database) }
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .none, records: count, operations: operations, contenders: contenders)
    }

    private func database(_ engine: any ItemEngine.Type) throws -> any ItemEngine {
        if let known = loaded[engine.name] { return known }
        let made = try engine.init(directory: workspace.make("\(engine.name)-items"))
        try made.fill(count)
        loaded[engine.name] = made
        return made
    }

    func close() throws {
        for database in loaded.values { try database.close() }
        loaded = [:]
    }
}
