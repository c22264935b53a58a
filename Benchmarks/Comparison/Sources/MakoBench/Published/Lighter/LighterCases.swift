/// Northwind's orders, fetched all at once.
protocol OrderEngine: AnyObject {
    associatedtype Order: OrderLike
    static var name: String { get }

    /// A database with that many orders, open for reading.
    init(directory: String, count: Int) throws
    func fetchAll() throws -> [Order]
    func close() throws
}

/// Lighter's performance suite: all of Northwind's orders into structs, 500 times after ten uncounted times.
final class LighterCases: PublishedDesign {
    static let names = ["published-lighter-orders"]

    /// Of the 500, in each repetition; the figure is for one.
    private static let iterations = 20
    private static let rampUp = 10

    private let options: Options
    private let workspace: Workspace
    private let engines: [any OrderEngine.Type] = [
        MakoOrders.self, SQLiteOrders.self, GRDBOrders<PlainOrder>.self, GRDBOrders<CodableOrder>.self,
    ]
    private var loaded: [String: any OrderEngine] = [:]

    private var count: Int { Sizes(options).scaled(15_889) }

    init(options: Options, workspace: Workspace) {
        self.options = options
        self.workspace = workspace
    }

    func make(_ name: String) -> BenchmarkCase? {
        guard LighterCases.names.contains(name) else { return nil }
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { repetition in
                try self.fetch(try self.database(engine), isWarmingUp: repetition < 0)
            }
        }
        return BenchmarkCase(
            name: name, durability: .none, records: count, operations: LighterCases.iterations,
            contenders: contenders)
    }

    private func fetch<E: OrderEngine>(_ database: E, isWarmingUp: Bool) throws -> Sample {
        var orders: [E.Order] = []
        let time = try options.clock.measure {
            for _ in 0..<(isWarmingUp ? LighterCases.rampUp : LighterCases.iterations) {
                // Freeing the results of the previous run is part of the measured time, too.
                orders = try database.fetchAll()
            }
        }
        guard orders.count == count else { throw BenchmarkError("\(orders.count) orders instead of \(count)") }
        return Sample(nanoseconds: time, checksum: orders.reduce(0) { $0 &+ $1.checksum })
    }

    private func database(_ engine: any OrderEngine.Type) throws -> any OrderEngine {
        if let known = loaded[engine.name] { return known }
        let made = try engine.init(directory: workspace.make("\(engine.name)-orders"), count: count)
        loaded[engine.name] = made
        return made
    }

    func close() throws {
        for database in loaded.values { try database.close() }
        loaded = [:]
    }
}
