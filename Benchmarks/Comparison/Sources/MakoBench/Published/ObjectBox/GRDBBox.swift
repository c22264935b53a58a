import GRDB

final class GRDBBox<Thing: PlainBoxed>: BoxEngine {
    static var name: String { "GRDB hand-written" }

    private let pool: DatabasePool
    private var prepared: [Thing] = []
    private var held: [Thing] = []

    init(directory: String, isIndexed: Bool) throws {
        pool = try DatabasePool(
            directory: directory, schema: SQLiteBox<Thing>.schema(isIndexed: isIndexed), durability: .full)
    }

    func prepare(_ data: [BoxData]) { prepared = data.map { Thing($0) } }
    func change(_ data: [BoxData]) { for index in prepared.indices { prepared[index].take(data[index]) } }

    func put(isNew: Bool) throws {
        try pool.write { database in
            for index in prepared.indices {
                if isNew { try prepared[index].insert(database) } else { try prepared[index].update(database) }
            }
        }
    }

    func load() throws { held = try pool.read { try Thing.fetchAll($0) } }
    func access() -> UInt64 { held.checksum }
    func halve() { for index in held.indices { held[index].long /= 2 } }

    func update() throws {
        try pool.write { database in
            for thing in held { try thing.update(database, columns: ["long"]) }
        }
    }

    func count() throws -> Int { try count(times: 1) }

    func count(times: Int) throws -> Int {
        try pool.read { database in
            var count = 0
            for _ in 0..<times { count = try Thing.fetchCount(database) }
            return count
        }
    }

    func removeAll() throws -> Int { try pool.write { try Thing.deleteAll($0) } }

    func drop() {
        prepared = []
        held = []
    }

    func settle() throws { try pool.settle() }

    func find(strings: [String]) throws -> UInt64 { try find("string", strings) }
    func find(ints: [Int32]) throws -> UInt64 { try find("int", ints) }
    func find(ids: [Int]) throws -> UInt64 { try find("id", ids) }

    private func find(_ column: String, _ values: [some DatabaseValueConvertible]) throws -> UInt64 {
        try pool.read { database in
            let statement = try database.cachedStatement(sql: "SELECT * FROM \(Thing.table) WHERE \(column) = ?")
            var sum: UInt64 = 0
            for value in values { sum &+= try Thing.fetchAll(statement, arguments: [value]).checksum }
            return sum
        }
    }

    func close() throws { try pool.close() }
}
