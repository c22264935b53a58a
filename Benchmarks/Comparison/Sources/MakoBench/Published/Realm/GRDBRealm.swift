import GRDB

final class GRDBRealm: RealmEngine {
    static let name = "GRDB hand-written"

    private let directory: String
    private let pool: DatabasePool
    private var held: [StringRecord] = []

    init(directory: String) throws {
        self.directory = directory
        pool = try DatabasePool(directory: directory, schema: RealmTables.schema, durability: .full)
    }

    func close() throws { try pool.close() }

    /// SQLite inserts the rows that exist before the measured time.
    private func filled(_ body: (SQLiteRealm) throws -> Void) throws {
        let filler = try SQLiteRealm(directory: directory, isShared: true)
        try body(filler)
        try filler.close()
        try pool.settle()
    }

    func fill(pairs: Int) throws { try filled { try $0.fill(pairs: pairs) } }
    func fillTexts(_ count: Int) throws { try filled { try $0.fillTexts(count) } }
    func fillInts(_ numbers: [Int]) throws { try filled { try $0.fillInts(numbers) } }
    func fillIndexed(_ count: Int) throws { try filled { try $0.fillIndexed(count) } }
    func collect() throws { try filled { try $0.collect() } }

    func insertObjects(_ count: Int) throws {
        try pool.write { database in
            for _ in 0..<count {
                var record = StringRecord("a")
                try record.insert(database)
            }
        }
    }

    func insertValues(_ count: Int) throws {
        try pool.write { database in
            let statement = try database.makeStatement(sql: "INSERT INTO StringObject (stringCol) VALUES (:stringCol)")
            for _ in 0..<count { try statement.execute(arguments: ["stringCol": "a"]) }
        }
    }

    func insertEach(_ count: Int) throws {
        for _ in 0..<count {
            try pool.write { database in
                var record = StringRecord("a")
                try record.insert(database)
            }
        }
    }

    func countAll() throws -> Int { try pool.read { try StringRecord.fetchCount($0) } }

    private static var some: QueryInterfaceRequest<StringRecord> { StringRecord.filter(Column("stringCol") == "a") }

    func countWhere() throws -> Int { try pool.read { try GRDBRealm.some.fetchCount($0) } }

    func firstAndCount() throws -> Int {
        try pool.read { database in
            guard try GRDBRealm.some.fetchOne(database) != nil else { return 0 }
            return try GRDBRealm.some.fetchCount(database)
        }
    }

    private func weight(_ request: some FetchRequest<StringRecord>) throws -> UInt64 {
        try pool.read { database in
            let records = try request.fetchCursor(database)
            var sum: UInt64 = 0
            while let record = try records.next() { sum &+= record.stringCol.weight }
            return sum
        }
    }

    func readAll() throws -> UInt64 { try weight(StringRecord.all()) }
    func readQuery() throws -> UInt64 { try weight(GRDBRealm.some) }

    func readInts() throws -> UInt64 {
        try pool.read { database in
            let records = try IntRecord.fetchCursor(database)
            var sum: UInt64 = 0
            while let record = try records.next() { sum &+= UInt64(record.intCol) }
            return sum
        }
    }

    func readList() throws -> UInt64 { try weight(SQLRequest<StringRecord>(sql: RealmTables.listed)) }
    func readSet() throws -> UInt64 { try weight(SQLRequest<StringRecord>(sql: RealmTables.collected)) }

    func lookUp(_ count: Int) throws -> UInt64 {
        try pool.read { database in
            let statement = try database.cachedStatement(sql: "SELECT * FROM StringObject WHERE stringCol = ? LIMIT 1")
            var sum: UInt64 = 0
            for number in 0..<count {
                sum &+= try StringRecord.fetchOne(statement, arguments: [String(number)])?.stringCol.weight ?? 0
            }
            return sum
        }
    }

    func lookUpIndexed(_ count: Int) throws -> UInt64 {
        try pool.read { database in
            let statement = try database.cachedStatement(sql: "SELECT * FROM IndexedObject WHERE stringCol = ? LIMIT 1")
            var sum: UInt64 = 0
            for number in 0..<count {
                sum &+= UInt64(try IndexedRecord.fetchOne(statement, arguments: [String(number)])?.intCol ?? 0)
            }
            return sum
        }
    }

    func firstAmong(_ numbers: [Int]) throws -> UInt64 {
        try pool.read { database in
            let found = try IntRecord.fetchOne(
                database, sql: "SELECT * FROM IntObject \(RealmTables.among)", arguments: [RealmTables.json(numbers)])
            return UInt64(found?.intCol ?? 0)
        }
    }

    func lastSorted() throws -> UInt64 {
        try pool.read { UInt64(try IntRecord.order(Column("intCol")).fetchAll($0).last?.intCol ?? 0) }
    }

    func changeAll() throws { try change(StringRecord.all()) }
    func changeQuery() throws { try change(StringRecord.filter(Column("stringCol") != "b")) }

    private func change(_ request: QueryInterfaceRequest<StringRecord>) throws {
        try pool.write { database in
            var records = try request.fetchAll(database)
            for index in records.indices {
                records[index].stringCol = "c"
                try records[index].update(database, columns: ["stringCol"])
            }
        }
    }

    func deleteAll() throws -> Int { try pool.write { try StringRecord.deleteAll($0) } }

    func deleteQuery() throws -> Int {
        let text = Column("stringCol")
        return try pool.write { try StringRecord.filter(text == "a" || text == "b").deleteAll($0) }
    }

    func hold() throws { held = try pool.read { try StringRecord.fetchAll($0) } }

    func deleteHeld() throws -> Int {
        try pool.write { database in
            var count = 0
            for record in held where try record.delete(database) { count += 1 }
            return count
        }
    }
}
