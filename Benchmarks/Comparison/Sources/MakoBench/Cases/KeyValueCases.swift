/// The cases of keys and values: every engine that is an ordered store takes part.
final class KeyValueCases {
    private let options: Options
    private let workspace: Workspace
    private let readers: [any KeyValueEngine.Type]
    private let writers: [any KeyValueEngine.Type]
    private var loaded: [String: any KeyValueEngine] = [:]

    private var records: Int { options.records }
    private var clock: Stopwatch { options.clock }

    init(
        options: Options, workspace: Workspace, readers: [any KeyValueEngine.Type], writers: [any KeyValueEngine.Type]
    ) {
        self.options = options
        self.workspace = workspace
        self.readers = readers
        self.writers = writers
    }

    static let names =
        readNames + insertNames.flatMap { [$0, $0 + "-relaxed"] }
    private static let readNames = [
        "get-integer", "get-integer-serial", "get-integer-transactions", "get-integer-multi", "get-string",
        "scan-integer",
        "scan-string", "scan-short-integer",
    ]
    private static let insertNames = [
        "insert-integer-bulk", "insert-integer-ordered", "insert-integer-random", "insert-string-bulk",
        "insert-string-ordered", "insert-string-random",
    ]

    func make(_ name: String) -> BenchmarkCase? {
        switch name {
        case "get-integer":
            let keys = IntegerKeys.choices(lookups, of: records)
            return reading(name, .integers, keys.count) { try $0.gets(keys) }
        case "get-integer-serial":
            let (count, records) = (lookups / 2, records)
            return reading(name, .integers, count) { try $0.serialGets(count, records: records) }
        case "get-integer-transactions":
            let keys = IntegerKeys.choices(lookups / 2, of: records)
            return reading(name, .integers, keys.count) { try $0.getsInOwnTransactions(keys) }
        case "get-integer-multi":
            // Distinct, as a batch is a set to some engines.
            let keys = Array(IntegerKeys.shuffled(records).prefix(lookups))
            return reading(name, .integers, keys.count) { try $0.multiGets(keys, batch: 100) }
        case "get-string":
            let keys = StringKeys.choices(lookups, of: records)
            return reading(name, .strings, keys.count) { try $0.gets(keys) }
        case "scan-integer": return reading(name, .integers, records) { try $0.scan() }
        case "scan-short-integer":
            let starts = IntegerKeys.choices(lookups / 20, of: records)
            return reading(name, .integers, starts.count) { try $0.shortScans(starts, length: 50) }
        case "scan-string": return reading(name, .strings, records) { try $0.scan() }
        default: return inserting(name)
        }
    }

    private var lookups: Int { min(records, 1_000_000) }

    // MARK: Reading

    /// A database of all records, loaded once and used by every reading case.
    private func database(_ engine: any KeyValueEngine.Type, _ keys: Setup.Keys) throws -> any KeyValueEngine {
        let name = "\(engine.name)-\(keys)"
        if let known = loaded[name] { return known }
        let directory = try workspace.make(name)
        let made = try engine.init(Setup(directory: directory, keys: keys, durability: .relaxed, records: records))
        switch keys {
        case .integers: try made.insert(IntegerKeys.ordered(records), order: .ascending)
        case .strings: try made.insert(StringKeys.ordered(records), order: .ascending)
        }
        try made.settle()
        loaded[name] = made
        return made
    }

    private func reading(
        _ name: String, _ keys: Setup.Keys, _ operations: Int,
        _ body: @escaping (any KeyValueEngine) throws -> UInt64
    ) -> BenchmarkCase {
        let contenders = readers.map { engine in
            Contender(engine: engine.name) { _ in
                let database = try self.database(engine, keys)
                var checksum: UInt64 = 0
                let time = try self.clock.measure { checksum = try body(database) }
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .none, records: records, operations: operations, contenders: contenders)
    }

    // MARK: Inserting

    /// All records in one transaction into a new database; the commit is timed, the check of the stored records is not.
    private func inserting(_ name: String) -> BenchmarkCase? {
        let relaxed = name.hasSuffix("-relaxed")
        let base = relaxed ? String(name.dropLast("-relaxed".count)) : name
        let keys: Setup.Keys = base.contains("string") ? .strings : .integers
        let order: KeyOrder = base.hasSuffix("bulk") ? .bulk : base.hasSuffix("ordered") ? .ascending : .random
        let insert: (any KeyValueEngine) throws -> Void
        switch base {
        case "insert-integer-ordered", "insert-integer-random", "insert-integer-bulk":
            let numbers = order != .random ? IntegerKeys.ordered(records) : IntegerKeys.shuffled(records)
            insert = { try $0.insert(numbers, order: order) }
        case "insert-string-ordered", "insert-string-random", "insert-string-bulk":
            let strings = order != .random ? StringKeys.ordered(records) : StringKeys.shuffled(records)
            insert = { try $0.insert(strings, order: order) }
        default: return nil
        }
        let durability: SyncMode = relaxed ? .relaxed : .full
        let contenders = writers.map { engine in
            Contender(engine: engine.name) { _ in
                let directory = try self.workspace.make("\(engine.name)-insert")
                let database = try engine.init(
                    Setup(directory: directory, keys: keys, durability: durability, records: self.records))
                let time = try self.clock.measure { try insert(database) }
                let checksum = try database.scan()
                try database.close()
                try self.workspace.remove(directory)
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: durability, records: records, operations: records, warmsUp: false,
            contenders: contenders)
    }

    func close() throws {
        for database in loaded.values { try database.close() }
        loaded = [:]
    }
}
