import MakoCore
import Testing

/// Statements of the small SQL that write, beside objects.
@Suite struct RawStatementTests {
    private func cities() throws -> Database {
        let db = try Database.inMemory(entities: [City.self, Country.self])
        let bergen = City(name: "Bergen")
        bergen.twin = City(name: "Oslo")
        try db.save(bergen)
        return db
    }

    private func names(_ db: Database) throws -> [String] {
        try db.query(City.self).orderBy(\.name).fetch().map(\.name)
    }

    @Test func rowsAreWrittenAndFound() throws {
        let db = try cities()
        let name = "Troms'ø"
        let stored = try db.rawQuery("INSERT INTO City (name, twin) VALUES (\(name), ?), ('Hamar', NULL)", 1)
        #expect(stored.changedRows == 2 && stored.lastKey == [.integer(4)] && stored.rows.isEmpty)
        #expect(try names(db) == ["Bergen", "Hamar", "Oslo", "Troms'ø"])
        #expect(try db.query(City.self).where(\.name == "Troms'ø").first()?.twin?.id == 1)
        #expect(try db.rawQuery("UPDATE City SET name = lower(name) WHERE name > ?", "I").changedRows == 2)
        #expect(try names(db) == ["Bergen", "Hamar", "oslo", "troms'ø"])
        #expect(try db.rawQuery(text: "INSERT OR REPLACE INTO Country VALUES (?, ?)", "NO", 5).lastKey == [.text("NO")])
        #expect(try db.query(Country.self).fetch().array == [Country(code: "NO", people: 5)])
        #expect(try db.rawQuery("DELETE FROM City WHERE twin IS NULL").changedRows == 2)
        #expect(try db.rawQuery("PRAGMA table_info(City)").value("name", row: 1) == .text("name"))
    }

    @Test func aTransactionTakesThemBack() throws {
        let db = try cities()
        #expect(throws: MakoError.rolledBack) {
            try db.transaction { tx in
                try db.rawQuery("UPDATE City SET name = 'x'")
                try db.rawQuery("CREATE TABLE Other (a TEXT)")
                try db.rawQuery("INSERT INTO Other (a) VALUES ('y')")
                #expect(try db.rawQuery("SELECT a FROM Other").rows == [[.text("y")]])
                #expect(try names(db) == ["x", "x"])
                try tx.rollback()
            }
        }
        #expect(try names(db) == ["Bergen", "Oslo"])
        #expect(db.tables.map(\.name) == ["City", "Country"])
        #expect(throws: MakoError.self) { try db.rawQuery("SELECT a FROM Other") }
    }

    @Test func aDuplicateNamesTheColumnsNotTheIndex() throws {
        let db = try cities()
        try db.rawQuery("CREATE TABLE Pair (a TEXT COLLATE NOCASE, b INTEGER, c TEXT, PRIMARY KEY (a, b))")
        try db.rawQuery("CREATE UNIQUE INDEX folded ON Pair (c COLLATE NOCASE DESC, b) WHERE b > 0")
        try db.rawQuery("INSERT INTO Pair (a, b, c) VALUES ('x', 1, 'y')")
        #expect(
            throws: MakoError.duplicate(entity: "Pair", properties: ["a", "b"], values: [.text("X"), .integer(1)])
        ) {
            try db.rawQuery("INSERT INTO Pair (a, b, c) VALUES ('X', 1, 'z')")
        }
        #expect(
            throws: MakoError.duplicate(entity: "Pair", properties: ["c", "b"], values: [.text("Y"), .integer(1)])
        ) {
            try db.rawQuery("INSERT INTO Pair (a, b, c) VALUES ('w', 1, 'Y')")
        }
    }

    @Test func oneThatFailsLeavesNothing() throws {
        let db = try cities()
        try db.rawQuery("CREATE UNIQUE INDEX once ON City (name)")
        try db.transaction { _ in
            #expect(throws: MakoError.duplicate(entity: "City", properties: ["name"], values: [.text("Oslo")])) {
                try db.rawQuery("INSERT INTO City (name) VALUES ('Voss'), ('Oslo')")
            }
            #expect(throws: MakoError.duplicate(entity: "City", properties: ["name"], values: [.text("x")])) {
                try db.rawQuery("UPDATE City SET name = 'x'")
            }
            #expect(throws: MakoError.missingValue(entity: "City", property: "name")) {
                try db.rawQuery("UPDATE City SET name = NULL")
            }
            try db.rawQuery("INSERT INTO City (name) VALUES ('Voss')")
        }
        #expect(try names(db) == ["Bergen", "Oslo", "Voss"])
    }

    @Test func deletedRowsGoByTheDeleteRules() throws {
        let db = try cities()
        let bergen = try #require(try db.query(City.self).where(\.name == "Bergen").first())
        #expect(try db.rawQuery("DELETE FROM City WHERE name = 'Oslo'").changedRows == 1)
        #expect(try db.rawQuery("SELECT twin FROM City").rows == [[.null]])
        try db.refresh(bergen)
        #expect(bergen.twin == nil)
    }

    @Test func observersAreNotified() async throws {
        let db = try cities()
        var live = db.query(City.self).where(\.name > "C").orderBy(\.name).observe().makeAsyncIterator()
        #expect(try await live.next()?.results.map(\.name) == ["Oslo"])
        try await onWriter(db, "INSERT INTO City (name) VALUES ('Hamar'), ('Arendal')")
        let second = try #require(try await live.next())
        #expect(second.results.map(\.name) == ["Hamar", "Oslo"] && second.insertions == [0])
        try await onWriter(db, "CREATE INDEX other ON City (twin, name)")
        try await onWriter(db, "UPDATE City SET name = 'Aa' WHERE name = 'Oslo'")
        let third = try #require(try await live.next())
        #expect(third.results.map(\.name) == ["Hamar"] && third.deletions == [1])
        try await db.close()
    }

    private func onWriter(_ db: Database, _ text: String) async throws {
        _ = try await db.transaction { _ in try db.rawQuery(text: text).changedRows }
    }

    @Test func theHistoryHasStatements() async throws {
        var options = DatabaseOptions()
        options.history = .kept()
        let db = try Database.inMemory(entities: [Country.self], options: options)
        try await db.rawQuery("CREATE TABLE Notes (text TEXT)")
        let start = try await db.historyToken()
        try await db.rawQuery("INSERT INTO Country VALUES ('NO', 5)")
        try await db.rawQuery("UPDATE Country SET people = 6")
        try await db.rawQuery("DELETE FROM Country")
        var events = db.changes(since: start).makeAsyncIterator()
        var texts: [String] = []
        for _ in 0..<3 { texts.append(try #require(try await events.next()).text) }
        #expect(texts == ["insert Country 'NO'", "update Country 'NO' (people)", "delete Country 'NO'"])
        try await db.close()
    }

    // MARK: Tables of types

    @Test func whatATypeUsesStays() throws {
        let db = try cities()
        for text in ["DROP TABLE City", "DROP TABLE IF EXISTS city", "DROP INDEX name ON City", "DROP INDEX twin"] {
            do {
                try db.rawQuery(text: text)
                Issue.record("\(text) was done")
            } catch MakoError.tableInUse(let table, let entity, _) {
                #expect(table == "City" && entity == "City")
            }
        }
        #expect(try names(db) == ["Bergen", "Oslo"])
        #expect(throws: MakoError.self) { try db.rawQuery("DROP TABLE mako_store") }
    }

    @Test func otherTablesAndIndexesComeAndGo() throws {
        let db = try cities()
        try db.rawQuery("CREATE INDEX both ON City (name COLLATE NOCASE, twin)")
        #expect(try db.query(City.self).where("name COLLATE NOCASE = 'OSLO'").explain().contains("using index both"))
        #expect(try names(db) == ["Bergen", "Oslo"])
        try db.save(City(name: "Voss"))
        #expect(try db.query(City.self).where("name COLLATE NOCASE = 'voss'").count() == 1)
        try db.rawQuery("DROP INDEX both")
        #expect(try db.query(City.self).where("name COLLATE NOCASE = 'voss'").count() == 1)
        try db.rawQuery("CREATE TABLE Visit (day DATE, city REFERENCES City)")
        #expect(try db.rawQuery("INSERT INTO Visit (day, city) VALUES ('2026-01-31', 1)").changedRows == 1)
        #expect(try db.rawQuery("SELECT city.name FROM Visit").rows == [[.text("Bergen")]])
        // A reference from a table without a type is dealt with as one from a type is.
        #expect(try db.rawQuery("DELETE FROM City WHERE id = 1").changedRows == 1)
        #expect(try db.rawQuery("SELECT city FROM Visit").rows == [[.null]])
        try db.rawQuery("DROP TABLE Visit")
        #expect(db.tables.map(\.name) == ["City", "Country"])
        #expect(throws: MakoError.self) { try db.rawQuery("SELECT * FROM Visit") }
        try db.save(City(name: "Hamar"))
        #expect(try names(db) == ["Hamar", "Oslo", "Voss"])
    }

    /// Between tables without types there is no delete rule: neither the row nor its table goes while another row
    /// refers to it, and the error is that of the rule `.deny`, not that of an invalid text.
    @Test func rowsThatOthersReferToWithoutARuleStay() throws {
        let db = try cities()
        try db.rawQuery("CREATE TABLE Holder (id INTEGER PRIMARY KEY, name TEXT)")
        try db.rawQuery("CREATE TABLE Lot (id INTEGER PRIMARY KEY, holder INTEGER REFERENCES Holder)")
        try db.rawQuery("INSERT INTO Holder VALUES (1, 'Ada')")
        try db.rawQuery("INSERT INTO Lot VALUES (1, 1)")
        let denied = MakoError.deniedByReference(entity: "Holder", from: "Lot", property: "holder")
        #expect(throws: denied) { try db.rawQuery("DELETE FROM Holder") }
        #expect(throws: denied) { try db.rawQuery("DROP TABLE Holder") }
        #expect(denied.description.contains("its delete rule is .deny, or it has none"))
        #expect(try db.rawQuery("SELECT holder.name FROM Lot").rows == [[.text("Ada")]])
        try db.rawQuery("DELETE FROM Lot")
        #expect(try db.rawQuery("DELETE FROM Holder").changedRows == 1)
    }

    @Test func aDatabaseForReadingIsNotWritten() throws {
        let place = HistoryPlace()
        let db = try place.open(.asInFile, [City.self])
        try db.save(City(name: "Oslo"))
        try db.close()
        let reading = try place.open(.asInFile, [City.self], readOnly: true)
        for text in [
            "UPDATE City SET name = 'x'", "INSERT INTO City DEFAULT VALUES", "DROP TABLE City", "DELETE FROM City",
        ] {
            do {
                try reading.rawQuery(text: text)
                Issue.record("\(text) was done")
            } catch MakoError.readOnly {}
        }
        #expect(try names(reading) == ["Oslo"])
        try reading.close()
    }

    @Test func faultsAreReportedBeforeAnythingIsDone() throws {
        let db = try cities()
        for (text, words) in [
            ("UPDATE City SET nmae = 'x'", "did you mean name?"), ("UPDATE Cty SET name = 'x'", "did you mean City?"),
            ("INSERT INTO City (name) VALUES (1)", "takes text"),
            ("DELETE FROM City WHERE name = 1", "cannot be compared"),
            ("UPDATE City SET id = 7", "is the key"), ("ANALYZE Cty", "did you mean City?"),
            ("DELETE FROM City; DELETE FROM City", "the end of the text"),
        ] {
            do {
                try db.rawQuery(text: text)
                Issue.record("\(text) was done")
            } catch { #expect("\(error)".contains(words), "\(error)") }
        }
        #expect(throws: MakoError.self) { try db.rawQuery("DELETE FROM City WHERE id = ?", 1, 2) }
        // Plans count as they go.
        for text in ["ANALYZE", "ANALYZE City"] { #expect(try db.rawQuery(text: text).rows.isEmpty) }
        #expect(try names(db) == ["Bergen", "Oslo"])
    }
}
