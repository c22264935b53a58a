import Mako
import Testing

@Suite struct RawQueryTests {
    private let db: Database

    init() throws {
        db = try makeDatabase()
        try db.save([
            Person(name: "Ada", age: 36, department: Department(name: "Engines")), Person(name: "Bob", age: 20),
            Person(name: nil, age: 20),
        ])
    }

    @Test func rowsAndColumns() throws {
        let age = 30
        let found = try db.rawQuery("SELECT name, age, department.name AS place FROM Person WHERE age > \(age)")
        #expect(found.columns == ["name", "age", "place"] && found.rowCount == 1 && found.columnCount == 3)
        #expect(found.value("place", row: 0) == .text("Engines") && found.value("age", row: 0) == .integer(36))
        #expect(found.value("size", row: 0) == nil && found.value("age", row: 7) == nil)
        let groups = try db.rawQuery("SELECT age, count(*) FROM Person GROUP BY age ORDER BY age")
        #expect(groups.rows == [[.integer(20), .integer(2)], [.integer(36), .integer(1)]])
        #expect(try db.rawQuery("SELECT name FROM Person WHERE age = ? AND name IS NULL", 20).rows == [[.null]])
        #expect(try db.rawQuery(text: "SELECT count(*) FROM Person WHERE age = ?", 20).rows == [[.integer(2)]])
    }

    @Test func aTransactionSeesItsOwnRows() throws {
        try db.transaction { _ in
            try Person(name: "Eve").commit()
            #expect(try db.rawQuery("SELECT count(*) FROM Person").rows == [[.integer(4)]])
        }
    }

    @Test func faultsPointIntoTheText() throws {
        for text in [
            "SELECT size FROM Person", "SELECT * FROM Persons", "SELECT", "DELETE FROM Persn",
            "SELECT * FROM Person WHERE age = ?",
        ] {
            #expect(throws: MakoError.self, "\(text)") { try db.rawQuery(text: text) }
        }
        do throws(MakoError) { _ = try db.rawQuery(text: "SELECT * FROM Persons") } catch {
            #expect("\(error)".contains("did you mean Person?") && "\(error)".contains("^"))
        }
        #expect(try db.query(Person.self).count() == 3)
    }
}

@Suite struct WorkspaceTests {
    private let db: Database

    init() throws { db = try makeDatabase() }

    @Test func everythingOrNothing() throws {
        let ada = Person(name: "Ada", payrollNumber: 1)
        let bob = Person(name: "Bob", payrollNumber: 1)
        let old = Person(name: "Old")
        try db.save(old)
        let work = Workspace(db)
        work.add(ada)
        work.remove(old)
        work.add(bob)
        #expect(work.contains(ada) && work.contains(old) && !work.isEmpty)
        #expect(try db.query(Person.self).count() == 1)
        #expect(throws: MakoError.self) { try work.commit() }
        #expect(ada.id == nil && work.contains(ada))
        #expect(try db.exists(old))
        bob.payrollNumber = 2
        try work.commit()
        #expect(work.isEmpty && !work.contains(ada))
        #expect(try db.query(Person.self).orderBy(\.name).fetch().map(\.name) == ["Ada", "Bob"])
        // The last call counts.
        work.add(ada)
        ada.age = 50
        work.remove(ada)
        work.remove(bob)
        work.add(bob)
        bob.age = 51
        try work.commit()
        #expect(try db.query(Person.self).fetch().map(\.age) == [51])
        work.remove(bob)
        work.discard()
        try work.commit()
        #expect(try db.exists(bob))
    }

    @Test func fetchedObjectsAreSavedTogether() throws {
        try db.save([Person(name: "Ada"), Person(name: "Bob")])
        let work = Workspace()
        for person in try db.query(Person.self).fetch(into: work) { person.age = 7 }
        #expect(try db.query(Person.self).where(\.age == 7).count() == 0)
        let commits = db.metrics.commits
        try work.commit()
        #expect(try db.query(Person.self).where(\.age == 7).count() == 2 && db.metrics.commits == commits + 1)
    }
}

@Suite struct SwitchingTests {
    @Test func objectsStayWithTheirDatabase() throws {
        let first = try makeDatabase()
        let second = try makeDatabase()
        let ada = try Database.withDefault(first) {
            let ada = Person(name: "Ada")
            try ada.commit()
            return ada
        }
        try Database.withDefault(second) {
            #expect(try Person.query().count() == 0)
            try Person(name: "Eve").commit()
            ada.age = 50
            try ada.commit()
        }
        #expect(try first.query(Person.self).fetch().map(\.age) == [50])
        #expect(try second.query(Person.self).fetch().map(\.name) == ["Eve"])
    }
}
