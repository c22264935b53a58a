import Dispatch
import GRDB

/// The requirements of a GRDB record of people. Structs, as its documentation advises; a class in comparisons of memory.
protocol GRDBPerson: PersonLike, FetchableRecord, MutablePersistableRecord, Sendable {
    var age: Int { get set }
    static var engineName: String { get }
    init(_ data: PersonData)
}

/// GRDB 7 with the same table, the same SQLite settings, and cached statements for repeated requests.
final class GRDBObjects<Person: GRDBPerson>: LiveEngine {
    static var name: String { Person.engineName }

    private let pool: DatabasePool
    private var prepared: [Person] = []
    private var held: [Person] = []
    private var followers: [AnyDatabaseCancellable] = []

    init(directory: String, durability: SyncMode) throws {
        pool = try DatabasePool(directory: directory, schema: SQLiteObjects.schema, durability: durability)
    }

    func prepare(_ count: Int) throws {
        prepared = (1...count).map { Person(PersonData(id: $0, count: count)) }
    }

    func insertPrepared() throws {
        try pool.write { database in
            for index in prepared.indices { try prepared[index].insert(database) }
        }
    }

    func insertEach(_ count: Int) throws {
        for index in 0..<min(count, prepared.count) {
            try pool.write { database in try prepared[index].insert(database) }
        }
    }

    func updateHeld() throws {
        try pool.write { database in
            for index in held.indices {
                held[index].age += 1
                try held[index].update(database, columns: ["age"])
            }
        }
    }

    func updateTenth() throws {
        try pool.write { database in
            for index in held.indices where held[index].points % 10 == 0 {
                held[index].age += 1
                try held[index].update(database, columns: ["age"])
            }
        }
    }

    func deleteAll() throws -> Int {
        try pool.write { database in try Person.filter(Column("points") >= 0).deleteAll(database) }
    }

    func follow(_ lowest: [Int], told: @escaping @Sendable () -> Void) throws {
        let queue = DispatchQueue(label: "followers")
        followers = lowest.map { number in
            ValueObservation.trackingConstantRegion { database in
                try Person.fetchAll(
                    database, sql: "SELECT * FROM person WHERE points BETWEEN ? AND ?",
                    arguments: [number, number + 99])
            }.start(
                in: pool, scheduling: .async(onQueue: queue), onError: { print("GRDB: \($0)") },
                onChange: { _ in told() })
        }
    }

    func unfollow() { followers = [] }

    func settle() throws {
        prepared = []
        try pool.writeWithoutTransaction { database in _ = try database.checkpoint(.truncate) }
    }

    func fetch(_ ids: [Int]) throws -> UInt64 {
        try pool.read { database in
            let statement = try database.cachedStatement(sql: "SELECT * FROM person WHERE id = ?")
            var sum: UInt64 = 0
            for id in ids {
                guard let person = try Person.fetchOne(statement, arguments: [id]) else { throw missing(UInt64(id)) }
                sum &+= UInt64(truncatingIfNeeded: person.points)
            }
            return sum
        }
    }

    func fetchTogether(_ ids: [Int]) throws -> UInt64 {
        try pool.read { database in
            let people = try Person.fetchAll(database, keys: ids)
            guard people.count == ids.count else { throw missing(UInt64(ids.count)) }
            return people.points
        }
    }

    func fetchAll() throws -> UInt64 {
        try pool.read { database in try Person.fetchAll(database).points }
    }

    func query(_ lowest: [Int]) throws -> UInt64 {
        try pool.read { database in
            let statement = try database.cachedStatement(sql: "SELECT * FROM person WHERE points BETWEEN ? AND ?")
            var sum: UInt64 = 0
            for number in lowest {
                sum &+= try Person.fetchAll(statement, arguments: [number, number + 99]).points
            }
            return sum
        }
    }

    func hold() throws {
        held = try pool.read { database in try Person.fetchAll(database) }
    }

    func drop() { held = [] }

    func readHeld() -> UInt64 {
        held.allProperties
    }

    func readAges(_ count: Int, rounds: Int) -> UInt64 {
        var sum: UInt64 = 0
        for _ in 0..<rounds { sum &+= held.prefix(count).ages }
        return sum
    }

    func readNames(_ count: Int, rounds: Int) -> UInt64 {
        var sum: UInt64 = 0
        for _ in 0..<rounds { sum &+= held.prefix(count).names }
        return sum
    }

    func close() throws {
        try pool.close()
    }
}
