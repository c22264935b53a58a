import MakoCore
import MakoStorage
import Testing

/// Statements that are read once and run again and again.
@Suite struct PreparedStatementTests {
    private func database() throws -> Database {
        let db = try Database.inMemory(entities: [City.self, Country.self])
        try db.rawQuery("CREATE TABLE Log (word TEXT UNIQUE, n INTEGER)")
        return db
    }

    @Test func oneTextTakesManyValues() throws {
        let db = try database()
        let insert = try db.prepare("INSERT INTO Log (word, n) VALUES (?, ?)")
        #expect(insert.parameterCount == 2 && !insert.isReadOnly)
        #expect(try insert.run("a", 1).lastKey == [.integer(1)])
        #expect(try insert.run("b", nil).lastKey == [.integer(2)])
        try db.transaction { _ in for number in 3..<10 { try insert.run("w\(number)", number) } }
        let count = try db.prepare("SELECT count(*), sum(n) FROM Log WHERE n > :least OR n IS NULL")
        #expect(try count.run(named: ["least": 7]).rows == [[.integer(3), .integer(17)]])
        #expect(try count.run(named: ["least": 0]).rows == [[.integer(9), .integer(43)]])
        let some = try db.prepare("SELECT word FROM Log WHERE n IN (?) ORDER BY n")
        #expect(try some.run([3, 5]).rows(as: String.self) == ["w3", "w5"])
        #expect(try some.run([Int]()).rows.isEmpty)
        let change = try db.prepare("UPDATE Log SET n = n + ? WHERE word = ?")
        #expect(try change.run(10, "a").changedRows == 1 && change.run(10, "none").changedRows == 0)
        #expect(try db.prepare("DELETE FROM Log WHERE n > ? RETURNING word").run(10).rows == [[.text("a")]])
    }

    /// A refused statement is refused each time, and has no effect.
    @Test func faultsAreThoseOfTheText() throws {
        let db = try database()
        #expect(throws: MakoError.self) { try db.prepare("INSRT INTO Log (word) VALUES (?)") }
        let insert = try db.prepare("INSERT INTO Log (word, n) VALUES (?, ?)")
        for _ in 0..<2 {
            #expect(throws: MakoError.self) { try insert.run("a") }
            #expect(throws: MakoError.self) { try insert.run("a", 1, 2) }
            #expect(throws: MakoError.self) { try insert.run(1, 1) }
            #expect(throws: MakoError.self) { try insert.run("a", named: ["n": 1]) }
        }
        try insert.run("a", 1)
        #expect(throws: MakoError.duplicate(entity: "Log", properties: ["word"], values: [.text("a")])) {
            try insert.run("a", 2)
        }
        #expect(try db.rawQuery("SELECT * FROM Log").rows == [[.text("a"), .integer(1)]])
        #expect(throws: MakoError.self) { try db.prepare("INSERT INTO Missing VALUES (?)").run(1) }
    }

    /// Named values are stored by their names; wrong names are refused and store nothing.
    @Test(arguments: [true, false]) func valuesHaveNames(inTransaction: Bool) throws {
        let db = try database()
        let insert = try db.prepare("INSERT INTO Log (n, word) VALUES (:n, :word)")
        let same = try db.prepare("INSERT INTO Log (n, word) VALUES (:n, :n)")
        let position = try db.prepare("INSERT INTO Log (n, word) VALUES (:n, ?)")
        func run() throws {
            #expect(try insert.run(named: ["n": 1, "word": "a"]).lastKey == [.integer(1)])
            try insert.run(named: ["word": "b", "n": 2])
            try insert.run(named: ["word": "c", "n": nil])
            let all: [String: (any ConditionValue)?] = ["n": 4, "word": "d"]
            #expect(try insert.run(named: NamedValues(all)).changedRows == 1)
            let some: [String: any ConditionValue] = ["n": 5, "word": "e"]
            try insert.run(named: NamedValues(some))
            try position.run("f", named: ["n": 6])
            #expect(throws: MakoError.self) { try insert.run(named: ["n": 7, "word": 7]) }
            #expect(throws: MakoError.self) { try insert.run(named: ["n": 7, "wrd": "x"]) }
            #expect(throws: MakoError.self) { try insert.run(named: ["n": 7]) }
            #expect(throws: MakoError.invalidArgument("the value n is given twice")) {
                try insert.run(named: ["n": 7, "n": 8])
            }
            #expect(throws: MakoError.self) { try insert.run(named: ["n": 7, "word": "x", "more": 1]) }
            #expect(throws: MakoError.self) { try insert.run(named: ["n": [7, 8], "word": "x"]) }
            #expect(throws: MakoError.self) { try insert.run(7, "x") }
            #expect(throws: MakoError.self) { try insert.run(named: ["n": "x", "word": "x"]) }
            #expect(throws: MakoError.duplicate(entity: "Log", properties: ["word"], values: [.text("a")])) {
                try insert.run(named: ["n": 7, "word": "a"])
            }
            #expect(throws: MakoError.self) { try same.run(named: ["n": "x"]) }
        }
        if inTransaction { try db.transaction { _ in try run() } } else { try run() }
        let rows = try db.rawQuery("SELECT word, n FROM Log ORDER BY word").rows
        let numbers: [StoredValue] = [.integer(1), .integer(2), .null, .integer(4), .integer(5), .integer(6)]
        #expect(rows == zip("abcdef", numbers).map { [.text(String($0)), $1] })
    }

    /// A value that stores a row while it is stored.
    private struct Storing: ConditionValue {
        let insert: PreparedStatement
        var conditionValue: StoredValue {
            do { return try insert.run("inner", 1).lastKey[0] } catch { return .null }
        }
    }

    /// A transaction keeps the memory and the names of its last statement; the next row shows neither.
    @Test func statementsTakeTurnsInATransaction() throws {
        let db = try database()
        try db.rawQuery("CREATE TABLE Few (n INTEGER)")
        let (many, few) = (
            try db.prepare("INSERT INTO Log (word, n) VALUES (?, ?)"), try db.prepare("INSERT INTO Few (n) VALUES (?)")
        )
        try db.transaction { _ in
            try many.run("a", 1)
            try few.run(2)
            #expect(throws: MakoError.self) { try many.run("b") }
            #expect(throws: MakoError.self) { try few.run(3, 4) }
            try many.run("outer", Storing(insert: many))
            try db.rawQuery("DROP TABLE Few")
            try db.rawQuery("CREATE TABLE Few (word TEXT, n REAL)")
            try few.run(5)
        }
        #expect(
            try db.rawQuery("SELECT word, n FROM Log ORDER BY word").rows == [
                [.text("a"), .integer(1)], [.text("inner"), .integer(1)], [.text("outer"), .integer(2)],
            ])
        #expect(try db.rawQuery("SELECT * FROM Few").rows == [[.null, .double(5)]])
    }

    /// All rows, or none.
    @Test func manyRowsAreOne() throws {
        let db = try database()
        let insert = try db.prepare("INSERT INTO Log (word, n) VALUES (?, ?) RETURNING rowid")
        let words = (0..<100).map { ("w\($0)", $0) }
        let stored = try insert.run(rows: words.map { [$0.0, $0.1] })
        #expect(stored.changedRows == 100 && stored.rowCount == 100 && stored.lastKey == [.integer(100)])
        #expect(throws: MakoError.self) { try insert.run(rows: [["new", 1], ["w3", 2]]) }
        #expect(try db.rawQuery("SELECT count(*) FROM Log").rows == [[.integer(100)]])
        try db.transaction { _ in
            #expect(throws: MakoError.self) { try insert.run(rows: [["new", 1], ["w3", 2]]) }
            try insert.run(rows: [["kept", 1]])
        }
        #expect(try db.rawQuery("SELECT count(*) FROM Log WHERE word = 'new'").rows == [[.integer(0)]])
        #expect(try insert.run(rows: []).changedRows == 0)
        #expect(throws: MakoError.self) { try db.prepare("SELECT 1").run(rows: [[]]) }
    }

    /// Names are looked up again when the tables have changed, in each database.
    @Test func theSchemaMayChange() throws {
        let db = try database()
        let other = try Database.inMemory(entities: [City.self, Country.self])
        let (insert, all) = (try db.prepare("INSERT INTO Log VALUES (?, ?)"), try db.prepare("SELECT * FROM Log"))
        try insert.run("a", 1)
        #expect(try all.run().rows == [[.text("a"), .integer(1)]])
        try db.rawQuery("DROP TABLE Log")
        #expect(throws: MakoError.self) { try insert.run("b", 2) }
        #expect(throws: MakoError.self) { try all.run() }
        try db.rawQuery("CREATE TABLE Log (n INTEGER, word TEXT)")
        #expect(throws: MakoError.self) { try insert.run("b", 2) }
        try insert.run(2, "b")
        #expect(try all.run().rows == [[.integer(2), .text("b")]])
        // The text is known; what it means is another matter.
        try other.rawQuery("CREATE TABLE Log (a REAL, b REAL, c REAL)")
        #expect(throws: MakoError.self) { try other.rawQuery("INSERT INTO Log VALUES (?, ?)", 1, 2) }
        try other.rawQuery("INSERT INTO Log VALUES (?, ?, ?)", 1, 2, 3)
        #expect(try other.rawQuery("SELECT * FROM Log").rows == [[.double(1), .double(2), .double(3)]])
        #expect(try all.run().rowCount == 1)
    }

    /// A cached plan reads the rows of each snapshot; the clock is read each time.
    @Test func plansAreKeptAndRowsAreNot() throws {
        let db = try database()
        let (insert, found) = (
            try db.prepare("INSERT INTO Log VALUES (?, ?)"), try db.prepare("SELECT sum(n), max(word) FROM Log")
        )
        #expect(try found.run().rows == [[.null, .null]])
        var sum = 0
        for number in 0..<700 {
            try insert.run("w\(number)", number)
            sum += number
            if number % 100 == 99 { #expect(try found.run().rows[0][0] == .integer(Int64(sum))) }
        }
        try db.rawQuery("CREATE INDEX byN ON Log (n)")
        #expect(try db.prepare("SELECT max(n) FROM Log").run().rows == [[.integer(699)]])
        let clock = try db.prepare("SELECT julianday('now')")
        let first = try clock.run().rows[0][0]
        var second = first
        for _ in 0..<100_000 where second == first { second = try clock.run().rows[0][0] }
        #expect(second != first)
    }

    /// The plan is that of the current value, and that of the current size of the table.
    @Test func valuesChangeAndThePlanStays() throws {
        let db = try database()
        try db.rawQuery("CREATE INDEX byN ON Log (n)")
        let insert = try db.prepare("INSERT INTO Log VALUES (?, ?)")
        let found = try db.prepare(
            "SELECT word, n * 2 AS twice FROM Log WHERE n = ? AND word >= ? ORDER BY word LIMIT 3")
        let groups = try db.prepare("SELECT n % 3, count(*) FROM Log WHERE n < :end GROUP BY n % 3 HAVING count(*) > 1")
        for number in 0..<600 {
            try insert.run("w\(number)", number % 50)
            let wanted = (0...number).filter { $0 % 50 == number % 7 }.map { "w\($0)" }.sorted()
            let rows = try found.run(number % 7, "w").rows
            #expect(rows == wanted.prefix(3).map { [.text($0), .integer(Int64(number % 7 * 2))] })
            let few = try groups.run(named: ["end": number % 9]).rows.compactMap { $0[1] }
            let counts = (0..<3).map { rest in (0...number).filter { $0 % 50 < number % 9 && $0 % 50 % 3 == rest }.count
            }
            #expect(few == counts.filter { $0 > 1 }.map { .integer(Int64($0)) })
        }
        #expect(throws: MakoError.self) { try found.run(1) }
        #expect(throws: MakoError.self) { try found.run("x", "w") }
        #expect(try found.run(nil, "w").rows.isEmpty && found.run(1.0, "w1").rows.count == 3)
        try db.rawQuery("ANALYZE")
        #expect(try found.run(3, "w").rowCount == 3)
    }

    @Test func deleteRulesAndRulesOfTypesHold() throws {
        let db = try database()
        let insert = try db.prepare("INSERT INTO City (name, twin) VALUES (?, ?)")
        try insert.run("Bergen", nil)
        try insert.run("Oslo", 1)
        #expect(throws: MakoError.self) { try insert.run("Voss", 9) }
        #expect(try db.query(City.self).where(\.name == "Oslo").first()?.twin?.name == "Bergen")
        #expect(
            try db.prepare("DELETE FROM City WHERE name = ? RETURNING name, twin").run("Oslo").rows == [
                [.text("Oslo"), .integer(1)]
            ])
        #expect(try db.query(City.self).count() == 1)
    }

    @Test func itRunsOnItsOwnThreadToo() async throws {
        let db = try database()
        let insert = try db.prepare("INSERT INTO Log VALUES (?, ?)")
        _ = try await insert.run("a", 1)
        #expect(try await db.prepare("SELECT n FROM Log").run().rows == [[.integer(1)]])
    }
}

/// The fast path for rows of plain values inside a transaction.
@Suite struct PlainInsertTests {
    private func database() throws -> Database {
        let db = try Database.inMemory(entities: [City.self, Country.self])
        try db.rawQuery("CREATE TABLE Log (word TEXT UNIQUE, n INTEGER NOT NULL)")
        return db
    }

    /// A refused row leaves nothing, and the transaction goes on with the next.
    @Test func refusedRowsAreNotThere() throws {
        let db = try database()
        let insert = try db.prepare("INSERT INTO Log (word, n) VALUES (?, ?)")
        try db.transaction { _ in
            let first = try insert.run("a", 1)
            #expect(first.lastKey == [.integer(1)])
            #expect(throws: MakoError.duplicate(entity: "Log", properties: ["word"], values: [.text("a")])) {
                try insert.run("a", 2)
            }
            #expect(throws: MakoError.self) { try insert.run("b", Int?.none) }
            #expect(throws: MakoError.self) { try insert.run("b", nil) }
            #expect(throws: MakoError.self) { try insert.run("b", "many") }
            #expect(throws: MakoError.self) { try insert.run("b", [1, 2]) }
            #expect(throws: MakoError.self) { try insert.run("b") }
            #expect(throws: MakoError.self) { try insert.run("b", 1, 2) }
            #expect(try db.rawQuery("INSERT INTO Log (word, n) VALUES (?, ?)", "c", 3).changedRows == 1)
            #expect(try insert.run("d", 4).changedRows == 1)
        }
        let rows = try db.rawQuery("SELECT word, n FROM Log ORDER BY n").rows
        #expect(rows == [[.text("a"), .integer(1)], [.text("c"), .integer(3)], [.text("d"), .integer(4)]])
    }

    /// A rollback removes the rows, and ids continue as usual.
    @Test func savepointsTakeRowsBack() throws {
        struct Stop: Error {}
        let db = try database()
        let insert = try db.prepare("INSERT INTO Log (word, n) VALUES (?, ?)")
        try db.transaction { _ in
            try insert.run("a", 1)
            #expect(throws: Stop.self) {
                try db.transaction { _ in
                    try insert.run("b", 2)
                    throw Stop()
                }
            }
            #expect(try insert.run("b", 3).changedRows == 1)
        }
        #expect(
            try db.rawQuery("SELECT word, n FROM Log").rows == [[.text("a"), .integer(1)], [.text("b"), .integer(3)]])
    }

    /// A statement serves tables that were recreated under the same name.
    @Test func tablesMayBeOthers() throws {
        let db = try database()
        let insert = try db.prepare("INSERT INTO Log (word, n) VALUES (?, ?)")
        try db.transaction { _ in
            try insert.run("a", 1)
            try db.rawQuery("DROP TABLE Log")
            #expect(throws: MakoError.self) { try insert.run("b", 2) }
            try db.rawQuery("CREATE TABLE Log (n INTEGER, word TEXT)")
            try insert.run("c", 3)
            #expect(try db.rawQuery("SELECT n, word FROM Log").rows == [[.integer(3), .text("c")]])
        }
    }

    /// A type's table is dropped, and made again by the next use of the type, between two runs.
    @Test func aTypesTableMayBeAnother() throws {
        let db = try Database.inMemory(entities: [City.self, Country.self])
        let insert = try db.prepare("INSERT INTO City (name) VALUES (?)")
        try db.transaction { _ in
            try insert.run("a")
            try db.drop(City.self)
            try db.save(City(name: "b"))
            try insert.run("c")
        }
        #expect(try db.rawQuery("SELECT name FROM City ORDER BY name").rows == [[.text("b")], [.text("c")]])
    }

    /// Rows of a type are checked, and watchers see them, as those of any other statement.
    @Test func typesAreChecked() throws {
        let db = try database()
        let insert = try db.prepare("INSERT INTO City (name) VALUES (?)")
        let seen = Guarded<[String]>([])
        let token = try City.onChange(in: db) { change in seen.withLock { $0.append("\(change.kind)") } }
        let oslo = City(name: "Oslo")
        try db.transaction { _ in
            try db.save(oslo)
            try insert.run("Bergen")
            #expect(throws: MakoError.self) { try insert.run(3.5) }
        }
        token.cancel()
        #expect(try db.query(City.self).orderBy(\.name).fetch().map(\.name) == ["Bergen", "Oslo"])
        #expect(seen.withLock { $0.count } == 2)
    }
}
