import Mako
import Testing

/// Lists behind IN, however they are given.
@Suite struct ListConditionTests {
    private func people() throws -> Database {
        let db = try makeDatabase()
        try db.save([
            Person(name: "Ada", age: 36, grade: .senior), Person(name: "Bob", age: 20, grade: .junior),
            Person(name: "Cleo", age: 50),
        ])
        return db
    }

    private func names(_ query: Query<Person>) throws -> [String] {
        try query.orderBy("id").fetch().map { $0.name ?? "-" }
    }

    /// Nothing is in an empty list, and everything outside it.
    @Test func anEmptyListHasNothing() throws {
        let all = try people().query(Person.self)
        let none: [Int] = []
        let everybody = ["Ada", "Bob", "Cleo"]
        #expect(try names(all.where("age NOT IN \(none)")) == everybody)
        #expect(try names(all.where("age NOT IN (\(none))")) == everybody)
        #expect(try names(all.where("NOT age IN \(none)")) == everybody)
        #expect(try names(all.where("age IN \(none)")).isEmpty)
        #expect(try names(all.where("age NOT IN ?", none)) == everybody)
        #expect(try names(all.where("age NOT IN :ages", named: ["ages": none])) == everybody)
        #expect(try names(all.where("age NOT IN %@", withParameters: [none])) == everybody)
        #expect(try names(all.where("age NOT IN (%@)", withParameters: [none])) == everybody)
        #expect(try names(all.where("age IN (%@)", withParameters: [none])).isEmpty)
        #expect(try names(all.where("age IN (\(none), 20, \(none))")) == ["Bob"])
        #expect(try names(all.where("age IN (20, \(none), 36)")) == ["Ada", "Bob"])
        #expect(try names(all.where("age NOT IN (\(none), \(none))")) == everybody)
    }

    @Test func parenthesesMayEncloseAList() throws {
        let all = try people().query(Person.self)
        #expect(try names(all.where("age IN (\([36]))")) == ["Ada"])
        #expect(try names(all.where("age IN (\([36, 50]))")) == ["Ada", "Cleo"])
        #expect(try names(all.where("age IN ( \([36, 50]) ) AND name <> \("Ada")")) == ["Cleo"])
        #expect(try names(all.where("age IN (\([36, 50]), \(20))")) == ["Ada", "Bob", "Cleo"])
        #expect(try names(all.where("age NOT IN (\(Set([36, 50])))")) == ["Bob"])
    }

    @Test func aParameterTakesAList() throws {
        let db = try people()
        let all = db.query(Person.self)
        #expect(try names(all.where("age IN ?", [36, 50])) == ["Ada", "Cleo"])
        #expect(try names(all.where("age IN (?)", [36, 50])) == ["Ada", "Cleo"])
        #expect(try names(all.where("name > ? AND age IN ? AND age < ?", "A", Set([36, 50]), 40)) == ["Ada"])
        #expect(try names(all.where("age IN (?, ?) AND name <> ?3", [36, 50], 20, "Ada")) == ["Bob", "Cleo"])
        #expect(try names(all.where(text: "age IN ?2 AND name = ?1", "Cleo", [36, 50])) == ["Cleo"])
        #expect(try names(all.where("id IN (SELECT id FROM Person WHERE age IN ?)", [20, 50])) == ["Bob", "Cleo"])
        #expect(try names(all.where("age IN ?", [Int?.some(36), nil])) == ["Ada"])
        #expect(try db.rawQuery("SELECT count(*) FROM Person WHERE age IN ?", [20, 36]).rows == [[.integer(2)]])
        #expect(try db.rawQuery("UPDATE Person SET age = ? WHERE name IN (?)", 1, ["Ada", "Bob"]).changedRows == 2)
        let grouped = all.group(by: "age").select("count(*) AS n").having("n IN ?", [2, 3])
        #expect(try grouped.fetch().rows == [[.integer(1), .integer(2)]])
        #expect(try db.update(Person.self).set(\.age, to: 2).where("name IN ?", ["Cleo"]).run() == 1)
    }

    @Test func listsOfEntitiesAndEnumerations() throws {
        let db = try makeDatabase([Person.self, Department.self, Location.self, Everything.self])
        let departments = ["Engines", "Letters", "Sails"].map { Department(name: $0) }
        try db.save(departments.map { Person(name: $0.name, department: $0, grade: $0.name < "F" ? .junior : .senior) })
        let all = db.query(Person.self)
        #expect(try names(all.where("department IN \(departments.dropLast())")) == ["Engines", "Letters"])
        #expect(try names(all.where("department NOT IN ?", [departments[0]])) == ["Letters", "Sails"])
        #expect(try names(all.where("grade IN \([Grade.junior, .senior])")).count == 3)
        #expect(try names(all.where("grade IN (\([Grade.junior]))")) == ["Engines"])
        let none: Grade? = nil
        #expect(try names(all.where("grade = \(none)")).isEmpty)
        let one = Everything()
        one.level = .high
        try db.save([one, Everything()])
        #expect(try db.query(Everything.self).where("level IN \([Level.high])").count() == 1)
        #expect(try db.query(Everything.self).where("level IN ?", [Level.high, .low]).count() == 2)
        // Bytes are one value.
        #expect(try db.query(Everything.self).where("bytes = ?", [UInt8]()).count() == 2)
    }

    @Test func aListIsAllowedOnlyAfterIn() throws {
        let all = try people().query(Person.self)
        for query in [
            all.where("age = \([36])"), all.where("age > ?", [36]), all.where("coalesce(?, 1) = 1", [1]),
            all.where("age IN (1 + ?)", [36]), all.where("age BETWEEN ? AND 3", [1]),
        ] {
            let error = #expect(throws: MakoError.self) { try query.fetch() }
            #expect(String(describing: error).contains("a list of values is allowed after IN only"))
        }
        let error = #expect(throws: MakoError.self) { try all.where("age IN ?", [36], 5).fetch() }
        #expect(String(describing: error).contains("the text has 1 parameter, but 2 values were given"))
    }
}

/// Parameters that have names.
@Suite struct NamedParameterTests {
    private func people() throws -> Database {
        let db = try makeDatabase()
        try db.save([Person(name: "Ada", age: 36), Person(name: "Bob", age: 20), Person(name: "Cleo", age: 50)])
        return db
    }

    @Test func namesTakeTheirValues() throws {
        let db = try people()
        let all = db.query(Person.self)
        #expect(try all.where("age > :limit", named: ["limit": 35]).count() == 2)
        #expect(try all.where("age BETWEEN :low AND :high OR age = :low", named: ["low": 20, "high": 36]).count() == 2)
        let name = "Ada"
        #expect(try all.where("age > ? AND name <> \(name) AND age < :high", 20, named: ["high": 60]).ids() == [3])
        #expect(try all.where(text: "name = :name", named: ["name": "Bob"]).ids() == [2])
        #expect(try all.where("name = :name", named: ["name": nil]).count() == 0)
        #expect(
            try all.where("id IN (SELECT id FROM Person WHERE age IN :ages)", named: ["ages": [20, 50]]).ids() == [
                2, 3,
            ])
        #expect(
            try db.rawQuery("SELECT name FROM Person WHERE age = :age", named: ["age": 20]).rows == [[.text("Bob")]])
        #expect(try all.group(by: "age").having("age > :least", named: ["least": 30]).fetch().rowCount == 2)
        #expect(try db.update(Person.self).set(\.age, to: 1).where("name = :n", named: ["n": "Ada"]).run() == 1)
    }

    @Test func limitsTakeValuesToo() throws {
        let db = try people()
        let one = 1
        #expect(
            try db.rawQuery("SELECT name FROM Person ORDER BY id LIMIT \(one) OFFSET ?", 1).rows == [[.text("Bob")]])
        #expect(try db.rawQuery("SELECT name FROM Person ORDER BY id LIMIT :n", named: ["n": 2]).rowCount == 2)
        #expect(try db.query(Person.self).where("id IN (SELECT id FROM Person ORDER BY age LIMIT ?)", 2).count() == 2)
        let error = #expect(throws: MakoError.self) { try db.rawQuery("SELECT name FROM Person LIMIT \(-1)") }
        #expect(String(describing: error).contains("LIMIT takes a whole number from 0 on, not integer -1"))
    }

    @Test func asynchronousStatementsTakeThem() async throws {
        let db = try people()
        let found = try await db.rawQuery("SELECT name FROM Person WHERE age IN :ages", named: ["ages": [20]])
        #expect(found.rows == [[.text("Bob")]])
    }

    @Test func namesWithoutAValueAndValuesWithoutANameAreRefused() throws {
        let all = try people().query(Person.self)
        let missing = #expect(throws: MakoError.self) { try all.where("age > :limit").fetch() }
        #expect(String(describing: missing).contains(":limit"))
        let misspelt = #expect(throws: MakoError.self) { try all.where("age > :limit", named: ["limt": 3]).fetch() }
        #expect(String(describing: misspelt).contains("the text has no parameter :limt; did you mean limit?"))
    }
}
