import CSQLite

/// SQLite's C interface, building a Swift class from the columns: no layer between, cached statements, strings made directly from
/// SQLite's bytes.
final class SQLiteObjects: ObjectEngine {
    static let name = "SQLite"

    final class Person: PersonLike {
        var id: Int
        var name: String
        var email: String
        var age: Int
        var points: Int
        var balance: Double
        var rating: Double
        var isActive: Bool
        var joined: Int

        init(_ data: PersonData) {
            id = 0
            name = data.name
            email = data.email
            age = data.age
            points = data.points
            balance = data.balance
            rating = data.rating
            isActive = data.isActive
            joined = data.joined
        }

        init(_ row: OpaquePointer) {
            id = Int(sqlite3_column_int64(row, 0))
            name = SQLiteObjects.text(row, 1)
            email = SQLiteObjects.text(row, 2)
            age = Int(sqlite3_column_int64(row, 3))
            points = Int(sqlite3_column_int64(row, 4))
            balance = sqlite3_column_double(row, 5)
            rating = sqlite3_column_double(row, 6)
            isActive = sqlite3_column_int64(row, 7) != 0
            joined = Int(sqlite3_column_int64(row, 8))
        }
    }

    /// The table of people, for SQLite and for GRDB.
    static let schema = [
        """
        CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, age INTEGER NOT NULL,
            points INTEGER NOT NULL, balance REAL NOT NULL, rating REAL NOT NULL, isActive INTEGER NOT NULL,
            joined INTEGER NOT NULL)
        """,
        "CREATE INDEX person_name ON person (name)",
        "CREATE INDEX person_points ON person (points)",
    ]

    private let connection: SQLiteConnection
    private let begin: OpaquePointer
    private let beginWrite: OpaquePointer
    private let commit: OpaquePointer
    private let insert: OpaquePointer
    private let select: OpaquePointer
    private let selectAll: OpaquePointer
    private let selectRange: OpaquePointer
    private let update: OpaquePointer
    private let delete: OpaquePointer
    private var prepared: [Person] = []
    private var held: [Person] = []

    init(directory: String, durability: SyncMode) throws {
        connection = try SQLiteConnection(directory: directory, durability: durability)
        for statement in SQLiteObjects.schema { try connection.run(statement) }
        begin = try connection.statement("BEGIN")
        beginWrite = try connection.statement("BEGIN IMMEDIATE")
        commit = try connection.statement("COMMIT")
        insert = try connection.statement(
            """
            INSERT INTO person (name, email, age, points, balance, rating, isActive, joined)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """)
        let columns = "id, name, email, age, points, balance, rating, isActive, joined"
        select = try connection.statement("SELECT \(columns) FROM person WHERE id = ?1")
        selectAll = try connection.statement("SELECT \(columns) FROM person ORDER BY id")
        // Only the changed column, as an expert on SQLite writes it.
        update = try connection.statement("UPDATE person SET age = ?1 WHERE id = ?2")
        delete = try connection.statement("DELETE FROM person WHERE points >= 0")
        selectRange = try connection.statement("SELECT \(columns) FROM person WHERE points BETWEEN ?1 AND ?2")
    }

    static func text(_ row: OpaquePointer, _ column: Int32) -> String {
        guard let bytes = sqlite3_column_text(row, column) else { return "" }
        let count = Int(sqlite3_column_bytes(row, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    private func finish(_ statement: OpaquePointer) throws {
        guard sqlite3_step(statement) == SQLITE_DONE else { throw connection.failure() }
        sqlite3_reset(statement)
    }

    private func transaction<R>(_ start: OpaquePointer, _ body: () throws -> R) throws -> R {
        try finish(start)
        let result = try body()
        try finish(commit)
        return result
    }

    func prepare(_ count: Int) throws {
        prepared = (1...count).map { Person(PersonData(id: $0, count: count)) }
    }

    func insertPrepared() throws {
        try transaction(beginWrite) {
            for person in prepared { try store(person) }
        }
    }

    func insertEach(_ count: Int) throws {
        for person in prepared.prefix(count) { try transaction(beginWrite) { try store(person) } }
    }

    func updateHeld() throws {
        try transaction(beginWrite) {
            for person in held {
                person.age += 1
                sqlite3_bind_int64(update, 1, Int64(person.age))
                sqlite3_bind_int64(update, 2, Int64(person.id))
                try finish(update)
            }
        }
    }

    func deleteAll() throws -> Int {
        try transaction(beginWrite) {
            try finish(delete)
            return Int(sqlite3_changes(connection.handle))
        }
    }

    private func store(_ person: Person) throws {
        var (name, email) = (person.name, person.email)
        try name.withUTF8 { name in
            try email.withUTF8 { email in
                bind(name, 1)
                bind(email, 2)
                sqlite3_bind_int64(insert, 3, Int64(person.age))
                sqlite3_bind_int64(insert, 4, Int64(person.points))
                sqlite3_bind_double(insert, 5, person.balance)
                sqlite3_bind_double(insert, 6, person.rating)
                sqlite3_bind_int64(insert, 7, person.isActive ? 1 : 0)
                sqlite3_bind_int64(insert, 8, Int64(person.joined))
                try finish(insert)
            }
        }
        person.id = Int(sqlite3_last_insert_rowid(connection.handle))
    }

    private func bind(_ text: UnsafeBufferPointer<UInt8>, _ place: Int32) {
        text.withMemoryRebound(to: CChar.self) { bytes in
            _ = sqlite3_bind_text(insert, place, bytes.baseAddress, Int32(bytes.count), nil)
        }
    }

    func settle() throws {
        prepared = []
        try connection.checkpoint()
    }

    func fetch(_ ids: [Int]) throws -> UInt64 {
        try transaction(begin) {
            var sum: UInt64 = 0
            for id in ids {
                sqlite3_bind_int64(select, 1, Int64(id))
                guard sqlite3_step(select) == SQLITE_ROW else { throw missing(UInt64(id)) }
                let person = Person(select)
                sqlite3_reset(select)
                sum &+= UInt64(truncatingIfNeeded: person.points)
            }
            return sum
        }
    }

    func fetchTogether(_ ids: [Int]) throws -> UInt64 { try fetch(ids) }

    private func people(_ statement: OpaquePointer, room: Int) -> [Person] {
        var people: [Person] = []
        people.reserveCapacity(room)
        while sqlite3_step(statement) == SQLITE_ROW { people.append(Person(statement)) }
        sqlite3_reset(statement)
        return people
    }

    func fetchAll() throws -> UInt64 {
        try transaction(begin) { people(selectAll, room: 1000).points }
    }

    func query(_ lowest: [Int]) throws -> UInt64 {
        try transaction(begin) {
            var sum: UInt64 = 0
            for number in lowest {
                sqlite3_bind_int64(selectRange, 1, Int64(number))
                sqlite3_bind_int64(selectRange, 2, Int64(number + 99))
                sum &+= people(selectRange, room: 128).points
            }
            return sum
        }
    }

    func hold() throws {
        held = people(selectAll, room: 1000)
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
        for statement in [begin, beginWrite, commit, insert, select, selectAll, selectRange, update, delete] {
            sqlite3_finalize(statement)
        }
        try connection.close()
    }
}
