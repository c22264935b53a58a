import CSQLite

/// SQLite's C interface. Its planner knows the tables' sizes (`ANALYZE`), and statements are cached by their text.
final class SQLiteItems: SelectEngine {
    static let name = "SQLite"

    final class Item {
        var id: Int
        var name: String
        var note: String
        var number: Int
        var code: Int
        var kind: Int
        var lot: Int
        var score: Double
        var city: Int

        init(_ row: OpaquePointer) {
            id = Int(sqlite3_column_int64(row, 0))
            name = SQLiteObjects.text(row, 1)
            note = SQLiteObjects.text(row, 2)
            number = Int(sqlite3_column_int64(row, 3))
            code = Int(sqlite3_column_int64(row, 4))
            kind = Int(sqlite3_column_int64(row, 5))
            lot = Int(sqlite3_column_int64(row, 6))
            score = sqlite3_column_double(row, 7)
            city = Int(sqlite3_column_int64(row, 8))
        }
    }

    /// For SQLite and for GRDB.
    static let schema = [
        """
        CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT NOT NULL, number INTEGER NOT NULL,
            code INTEGER NOT NULL, kind INTEGER NOT NULL, lot INTEGER NOT NULL, score REAL NOT NULL, city INTEGER NOT NULL)
        """,
        "CREATE INDEX item_code ON item (code)", "CREATE INDEX item_lot ON item (lot)",
        "CREATE TABLE city (id INTEGER PRIMARY KEY, country INTEGER NOT NULL)",
        "CREATE TABLE country (id INTEGER PRIMARY KEY, zone INTEGER NOT NULL)",
    ]
    static let columns = "id, name, note, number, code, kind, lot, score, city"

    private let connection: SQLiteConnection
    private var statements: [String: OpaquePointer] = [:]

    /// - Parameter isShared: whether another connection reads the file.
    init(directory: String, isShared: Bool) throws {
        connection = try SQLiteConnection(directory: directory, durability: .relaxed, isShared: isShared)
        for statement in SQLiteItems.schema { try connection.run(statement) }
    }

    convenience init(directory: String) throws { try self.init(directory: directory, isShared: false) }

    func fill(_ count: Int) throws {
        try connection.run("BEGIN IMMEDIATE")
        let insert = try connection.statement(
            """
            INSERT INTO item (name, note, number, code, kind, lot, score, city)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """)
        for id in 1...count {
            let item = ItemData(id: id, count: count)
            bind(item.name, insert, 1)
            bind(item.note, insert, 2)
            for (place, number) in [item.number, item.code, item.kind, item.lot].enumerated() {
                sqlite3_bind_int64(insert, Int32(place + 3), Int64(number))
            }
            sqlite3_bind_double(insert, 7, item.score)
            sqlite3_bind_int64(insert, 8, Int64(item.city))
            try finish(insert)
        }
        sqlite3_finalize(insert)
        try fillSmallTables()
        try connection.run("COMMIT")
        try connection.run("ANALYZE")
        try connection.checkpoint()
    }

    private func fillSmallTables() throws {
        for id in 1...ItemData.cities {
            try connection.run("INSERT INTO city VALUES (\(id), \(ItemData.country(ofCity: id)))")
        }
        for id in 1...ItemData.countries {
            try connection.run("INSERT INTO country VALUES (\(id), \(ItemData.zone(ofCountry: id)))")
        }
    }

    private func bind(_ text: String, _ statement: OpaquePointer, _ place: Int32) {
        var text = text
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                // SQLite copies it.
                _ = sqlite3_bind_text(
                    statement, place, bytes.baseAddress, Int32(bytes.count),
                    unsafeBitCast(-1, to: sqlite3_destructor_type.self))
            }
        }
    }

    private func finish(_ statement: OpaquePointer) throws {
        guard sqlite3_step(statement) == SQLITE_DONE else { throw connection.failure() }
        sqlite3_reset(statement)
    }

    private func statement(_ text: String) throws -> OpaquePointer {
        if let known = statements[text] { return known }
        let made = try connection.statement(text)
        statements[text] = made
        return made
    }

    @inline(__always)
    private func rows(
        _ statement: OpaquePointer, _ numbers: [Int], _ body: (OpaquePointer) throws -> Void
    ) throws {
        for (place, number) in numbers.enumerated() { sqlite3_bind_int64(statement, Int32(place + 1), Int64(number)) }
        var state = sqlite3_step(statement)
        while state == SQLITE_ROW {
            try body(statement)
            state = sqlite3_step(statement)
        }
        guard state == SQLITE_DONE else { throw connection.failure() }
        sqlite3_reset(statement)
    }

    private func items(_ statement: OpaquePointer, _ numbers: [Int]) throws -> [Item] {
        var items: [Item] = []
        try rows(statement, numbers) { items.append(Item($0)) }
        return items
    }

    private func numbers(_ items: [Item]) -> UInt64 {
        var sum: UInt64 = 0
        for item in items { sum &+= UInt64(truncatingIfNeeded: item.number) }
        return sum
    }

    func items(codes: [Int]) throws -> UInt64 {
        let statement = try statement("SELECT \(SQLiteItems.columns) FROM item WHERE code = ?1")
        try connection.run("BEGIN")
        var sum: UInt64 = 0
        for code in codes { sum &+= numbers(try items(statement, [code])) }
        try connection.run("COMMIT")
        return sum
    }

    func ids(_ condition: String, _ numbers: [Int]) throws -> UInt64 {
        var sum: UInt64 = 0
        try rows(try statement("SELECT id FROM item WHERE " + condition), numbers) {
            sum &+= Answer.of(sqlite3_column_int64($0, 0))
        }
        return sum
    }

    func items(_ condition: String, _ numbers: [Int], orderBy: String, limit: Int) throws -> UInt64 {
        let text = "SELECT \(SQLiteItems.columns) FROM item WHERE \(condition) ORDER BY \(orderBy) LIMIT \(limit)"
        return self.numbers(try items(try statement(text), numbers))
    }

    func select(_ text: String, _ numbers: [Int]) throws -> UInt64 {
        var sum: UInt64 = 0
        try rows(try statement(text), numbers) { row in
            for column in 0..<sqlite3_column_count(row) {
                if sqlite3_column_type(row, column) == SQLITE_INTEGER {
                    sum &+= Answer.of(sqlite3_column_int64(row, column))
                } else {
                    sum &+= Answer.of(sqlite3_column_double(row, column))
                }
            }
        }
        return sum
    }

    func none(_ condition: String, _ number: Int) throws -> Bool {
        var isThere = false
        try ready(condition) { try rows($0, [number]) { _ in isThere = true } }
        return isThere
    }

    func prepare(_ condition: String, _ number: Int) throws {
        try ready(condition) { sqlite3_bind_int64($0, 1, Int64(number)) }
    }

    private func ready(_ condition: String, _ body: (OpaquePointer) throws -> Void) throws {
        let text = "SELECT 1 FROM item WHERE " + condition
        // New texts are not cached, because their number is not bounded.
        let isKept = condition == ItemQueries.knownText
        let statement = try isKept ? statement(text) : connection.statement(text)
        try body(statement)
        if !isKept { sqlite3_finalize(statement) }
    }

    func close() throws {
        for statement in statements.values { sqlite3_finalize(statement) }
        try connection.close()
    }
}
