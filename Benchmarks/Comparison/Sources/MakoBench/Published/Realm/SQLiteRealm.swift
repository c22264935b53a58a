final class SQLiteRealm: RealmEngine {
    static let name = "SQLite"

    private let store: SQLiteStore
    private var held: [StringRecord] = []

    init(directory: String, isShared: Bool) throws {
        store = try SQLiteStore(
            directory: directory, schema: RealmTables.schema, durability: .full, isShared: isShared)
    }

    convenience init(directory: String) throws { try self.init(directory: directory, isShared: false) }

    func close() throws { try store.close() }

    func fill(pairs: Int) throws {
        try store.write {
            try store.insert((0..<(2 * pairs)).lazy.map { StringRecord($0 % 2 == 0 ? "a" : "b") })
            try store.insert((0..<(2 * pairs)).lazy.map { IntRecord(1 + $0 % 2) })
        }
        try store.settle()
    }

    func fillTexts(_ count: Int) throws {
        try store.write { try store.insert((0..<count).lazy.map { StringRecord(String($0)) }) }
    }

    func fillInts(_ numbers: [Int]) throws { try store.write { try store.insert(numbers.lazy.map { IntRecord($0) }) } }

    func fillIndexed(_ count: Int) throws {
        try store.write { try store.insert((0..<count).lazy.map { IndexedRecord($0) }) }
    }

    func collect() throws {
        try store.write {
            try store.run("INSERT INTO ListObject VALUES (1, 'name')")
            try store.run("INSERT INTO ListMember SELECT 1, id, id FROM StringObject")
            try store.run("INSERT INTO SetObject VALUES (1, 'name')")
            try store.run("INSERT INTO SetMember SELECT 1, id FROM StringObject")
        }
        try store.settle()
    }

    func insertObjects(_ count: Int) throws {
        try store.write { try store.insert((0..<count).lazy.map { _ in StringRecord("a") }) }
    }

    func insertValues(_ count: Int) throws {
        let insertion = try store.statement("INSERT INTO StringObject (stringCol) VALUES (:stringCol)")
        let place = insertion.place(":stringCol")
        try store.write {
            for _ in 0..<count {
                insertion.bind("a", place)
                try insertion.run()
            }
        }
    }

    func insertEach(_ count: Int) throws {
        let insertion = try store.insertion(StringRecord.self)
        for _ in 0..<count {
            StringRecord("a").bind(to: insertion)
            try insertion.run()
        }
    }

    func countAll() throws -> Int { try store.int("SELECT count(*) FROM StringObject") }
    func countWhere() throws -> Int { try store.int("SELECT count(*) FROM StringObject WHERE stringCol = 'a'") }

    func firstAndCount() throws -> Int {
        let first = try store.fetch(StringRecord.self, "WHERE stringCol = 'a' LIMIT 1")
        return first.isEmpty ? 0 : try countWhere()
    }

    private func weight(_ statement: SQLiteStatement) throws -> UInt64 {
        var sum: UInt64 = 0
        try statement.forEach { sum &+= StringRecord(statement).stringCol.weight }
        return sum
    }

    func readAll() throws -> UInt64 { try weight(try store.selection(StringRecord.self)) }
    func readQuery() throws -> UInt64 { try weight(try store.selection(StringRecord.self, "WHERE stringCol = 'a'")) }

    func readInts() throws -> UInt64 {
        let statement = try store.selection(IntRecord.self)
        var sum: UInt64 = 0
        try statement.forEach { sum &+= UInt64(IntRecord(statement).intCol) }
        return sum
    }

    func readList() throws -> UInt64 { try weight(try store.statement(RealmTables.listed)) }
    func readSet() throws -> UInt64 { try weight(try store.statement(RealmTables.collected)) }

    func lookUp(_ count: Int) throws -> UInt64 {
        let statement = try store.selection(StringRecord.self, "WHERE stringCol = ?1 LIMIT 1")
        var sum: UInt64 = 0
        for number in 0..<count {
            statement.bind(String(number), 1)
            sum &+= try statement.first { StringRecord(statement).stringCol.weight } ?? 0
        }
        return sum
    }

    func lookUpIndexed(_ count: Int) throws -> UInt64 {
        let statement = try store.selection(IndexedRecord.self, "WHERE stringCol = ?1 LIMIT 1")
        var sum: UInt64 = 0
        for number in 0..<count {
            statement.bind(String(number), 1)
            sum &+= UInt64(try statement.first { IndexedRecord(statement).intCol } ?? 0)
        }
        return sum
    }

    func firstAmong(_ numbers: [Int]) throws -> UInt64 {
        let found = try store.fetch(IntRecord.self, RealmTables.among) { $0.bind(RealmTables.json(numbers), 1) }
        return UInt64(found.first?.intCol ?? 0)
    }

    func lastSorted() throws -> UInt64 {
        UInt64(try store.fetch(IntRecord.self, "ORDER BY intCol").last?.intCol ?? 0)
    }

    func changeAll() throws { try change("") }
    func changeQuery() throws { try change("WHERE stringCol <> 'b'") }

    private func change(_ condition: String) throws {
        let update = try store.statement("UPDATE StringObject SET stringCol = ?1 WHERE id = ?2")
        try store.write {
            var records = try store.fetch(StringRecord.self, condition)
            for index in records.indices {
                records[index].stringCol = "c"
                update.bind(records[index].stringCol, 1)
                update.bind(records[index].id, 2)
                try update.run()
            }
        }
    }

    func deleteAll() throws -> Int { try delete("DELETE FROM StringObject") }
    func deleteQuery() throws -> Int { try delete("DELETE FROM StringObject WHERE stringCol = 'a' OR stringCol = 'b'") }

    private func delete(_ text: String) throws -> Int {
        try store.write {
            try store.run(text)
            return store.changes
        }
    }

    func hold() throws { held = try store.fetch(StringRecord.self) }

    func deleteHeld() throws -> Int {
        let deletion = try store.statement("DELETE FROM StringObject WHERE id = ?1")
        return try store.write {
            var count = 0
            for record in held {
                deletion.bind(record.id, 1)
                try deletion.run()
                count += store.changes
            }
            return count
        }
    }
}
