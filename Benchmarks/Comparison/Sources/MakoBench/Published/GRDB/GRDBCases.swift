import Foundation

/// The purpose of a database: only the tables that it needs are created, so that no case waits for others.
enum TenUse {
    case reading
    case inserting(TenForm)
    case arguments
}

/// The table of GRDB's tests.
protocol TenEngine: AnyObject {
    static var name: String { get }

    /// Opens a file, or creates it with the required tables.
    init(directory: String, use: TenUse) throws
    func fill(rows: Int, dates: [Date]) throws

    /// Reads all rows in a form, and returns a closure that computes the sum of all values.
    func fetch(_ form: TenForm) throws -> () -> UInt64
    /// Inserts rows in a form, in one transaction.
    func insert(_ form: TenForm, rows: Int) throws
    /// The sum of all values.
    func stored() throws -> UInt64

    /// Inserts one text repeatedly, in one transaction, by a statement with an argument.
    func insertTexts(_ text: String, count: Int) throws
    func storedTexts() throws -> Int
    func fetchDates() throws -> [Date]
    func close() throws
}

/// GRDB's own performance tests.
final class GRDBCases: PublishedDesign {
    static let names =
        TenForm.allCases.map { "published-grdb-fetch-\($0)" } + TenForm.allCases.map { "published-grdb-insert-\($0)" }
        + ["published-grdb-arguments-short", "published-grdb-arguments-long", "published-grdb-dates"]

    private let options: Options
    private let workspace: Workspace
    private let engines: [any TenEngine.Type] = [MakoTens.self, SQLiteTens.self, GRDBTens.self]
    private var loaded: [String: any TenEngine] = [:]

    private var fetched: Int { Sizes(options).scaled(200_000) }
    private var inserted: Int { Sizes(options).scaled(50_000) }
    private var bound: Int { Sizes(options).scaled(1_000_000) }
    private var dates: Int { Sizes(options).scaled(50_000) }

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
    }

    func make(_ name: String) -> BenchmarkCase? {
        guard GRDBCases.names.contains(name), let last = name.split(separator: "-").last else { return nil }
        switch last {
        case "short": return arguments(name, Ten.shortText)
        case "long": return arguments(name, Ten.longText)
        case "dates":
            return reading(name, dates) { database in
                let dates = try database.fetchDates()
                // Engines store fractions of a second differently.
                return { dates.reduce(0) { $0 &+ UInt64(($1.timeIntervalSinceReferenceDate * 1000).rounded()) } }
            }
        default:
            guard let form = TenForm(rawValue: String(last)) else { return nil }
            return name.contains("-fetch-") ? reading(name, fetched) { try $0.fetch(form) } : insertion(name, form)
        }
    }

    private func reading(
        _ name: String, _ rows: Int, _ body: @escaping (any TenEngine) throws -> () -> UInt64
    ) -> BenchmarkCase {
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let database = try self.database(engine)
                var checksum: () -> UInt64 = { 0 }
                let time = try self.options.clock.measure { checksum = try body(database) }
                return Sample(nanoseconds: time, checksum: checksum())
            }
        }
        return BenchmarkCase(name: name, durability: .none, records: rows, operations: rows, contenders: contenders)
    }

    /// Includes opening a new file, creating the table, and closing.
    private func insertion(_ name: String, _ form: TenForm) -> BenchmarkCase {
        let rows = inserted
        return writing(name, rows, .inserting(form)) { engine, directory in
            let time = try self.options.clock.measure {
                let database = try engine.init(directory: directory, use: .inserting(form))
                try database.insert(form, rows: rows)
                try database.close()
            }
            return (time, { try $0.stored() })
        }
    }

    private func arguments(_ name: String, _ text: String) -> BenchmarkCase {
        let count = bound
        return writing(name, count, .arguments) { engine, directory in
            let database = try engine.init(directory: directory, use: .arguments)
            let time = try self.options.clock.measure { try database.insertTexts(text, count: count) }
            try database.close()
            return (time, { UInt64(try $0.storedTexts()) })
        }
    }

    private typealias Writing = (_ engine: any TenEngine.Type, _ directory: String) throws -> (
        time: UInt64, check: (any TenEngine) throws -> UInt64
    )

    private func writing(_ name: String, _ operations: Int, _ use: TenUse, _ body: @escaping Writing) -> BenchmarkCase {
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { _ in
                let directory = try self.workspace.make("\(engine.name)-\(name)")
                let (time, check) = try body(engine, directory)
                let database = try engine.init(directory: directory, use: use)
                let checksum = try check(database)
                try database.close()
                try self.workspace.remove(directory)
                return Sample(nanoseconds: time, checksum: checksum)
            }
        }
        return BenchmarkCase(
            name: name, durability: .full, records: operations, operations: operations, warmsUp: false,
            contenders: contenders)
    }

    private func database(_ engine: any TenEngine.Type) throws -> any TenEngine {
        if let known = loaded[engine.name] { return known }
        let made = try engine.init(directory: workspace.make("\(engine.name)-ten"), use: .reading)
        let start = 545_928_432.345
        try made.fill(
            rows: fetched, dates: (0..<dates).map { Date(timeIntervalSinceReferenceDate: start + Double($0) * 61) })
        loaded[engine.name] = made
        return made
    }

    func close() throws {
        for database in loaded.values { try database.close() }
        loaded = [:]
    }
}
