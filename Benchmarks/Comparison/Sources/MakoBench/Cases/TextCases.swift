/// Finding texts by their words.
final class TextCases {
    private let options: Options
    private let workspace: Workspace
    private let engines: [any TextEngine.Type] = [MakoTexts.self, SQLiteTexts.self]
    private var loaded: [String: any TextEngine] = [:]

    private var count: Int { max(options.records / 10, 1000) }

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
    }

    static let names = [
        "text-insert", "text-build", "text-space", "text-word", "text-and", "text-phrase", "text-prefix", "text-ranked",
    ]

    func make(_ name: String) -> BenchmarkCase? {
        switch name {
        case "text-insert": return insertion(name, together: 1000)
        case "text-build": return insertion(name, together: count)
        case "text-space": return space(name)
        case "text-word": return reading(name, (1...200).map { Documents.word($0 * 5) })
        case "text-and":
            return reading(name, (1...200).map { Documents.word($0 % 40) + " AND " + Documents.word($0 * 10) })
        case "text-phrase":
            return reading(
                name,
                (1...200).map { number in
                    let words = Documents.ranks(number).map { Documents.word($0) }
                    return "\"\(words[10]) \(words[11])\""
                })
        case "text-prefix": return reading(name, (1...100).map { String(Documents.word(300 + $0).prefix(4)) + "*" })
        case "text-ranked":
            let queries = (1...100).map { Documents.word($0 * 4) + " OR " + Documents.word($0 * 7) }
            return benchmark(name, queries.count) { database in
                for query in queries { _ = try database.best(query) }
                return nil
            }
        default: return nil
        }
    }

    private func reading(_ name: String, _ queries: [String]) -> BenchmarkCase {
        benchmark(name, queries.count) { database in
            var sum: UInt64 = 0
            for query in queries { sum &+= try database.match(query) }
            return sum
        }
    }

    private func benchmark(
        _ name: String, _ operations: Int, _ body: @escaping (any TextEngine) throws -> UInt64?
    ) -> BenchmarkCase {
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let database = try self.database(engine)
                var checksum: UInt64?
                let time = try self.options.clock.measure { checksum = try body(database) }
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .none, records: count, operations: operations, contenders: contenders)
    }

    private func database(_ engine: any TextEngine.Type) throws -> any TextEngine {
        if let known = loaded[engine.name] { return known }
        let database = try engine.init(directory: workspace.make("\(engine.name)-text"), isIndexed: true)
        try database.insert((1...count).map { Documents.text($0) })
        loaded[engine.name] = database
        return database
    }

    /// In transactions of so many texts.
    private func insertion(_ name: String, together: Int) -> BenchmarkCase {
        let texts = (1...count).map { Documents.text($0) }
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let directory = try self.workspace.make("\(engine.name)-text-insert")
                let database = try engine.init(directory: directory, isIndexed: true)
                let time = try self.options.clock.measure {
                    for start in stride(from: 0, to: texts.count, by: together) {
                        try database.insert(Array(texts[start..<min(start + together, texts.count)]))
                    }
                }
                let checksum = try database.match(Documents.word(3))
                _ = try database.close()
                try self.workspace.remove(directory)
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .relaxed, records: count, operations: count, warmsUp: false, contenders: contenders)
    }

    /// The bytes of pages with the index beyond those without it.
    private func space(_ name: String) -> BenchmarkCase {
        let texts = (1...count).map { Documents.text($0) }
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                var bytes: [UInt64] = []
                for isIndexed in [true, false] {
                    let directory = try self.workspace.make("\(engine.name)-text-space")
                    let database = try engine.init(directory: directory, isIndexed: isIndexed)
                    try database.insert(texts)
                    bytes.append(try database.close())
                    try self.workspace.remove(directory)
                }
                return Sample(bytes: bytes[0] &- bytes[1], checksum: nil)
            }
        }
        return BenchmarkCase(
            name: name, durability: .relaxed, records: count, operations: count, unit: .bytes, warmsUp: false,
            contenders: contenders)
    }

    func close() throws {
        for database in loaded.values { _ = try database.close() }
        loaded = [:]
    }
}
