import MakoRecords
import MakoStorage
import Testing

/// The resolution of a name before a dot: a table of the innermost scope that has one, then of outer scopes, and only
/// then a column with a path.
@Suite struct NameResolutionTests {
    private func people() throws -> StatementSession {
        try StatementSession(
            "CREATE TABLE department (id INTEGER PRIMARY KEY, name TEXT, department INTEGER)",
            "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, department INTEGER REFERENCES department)",
            "INSERT INTO department VALUES (1, 'Engines', 7), (2, 'Looms', 8), (3, 'Letters', 9)",
            "INSERT INTO person VALUES (1, 'Ada', 1), (2, 'Joseph', 2), (3, 'Charles', 1), (4, 'Mary', NULL)")
    }

    /// A table whose column is called as it is, and another's reference too.
    private func rivers() throws -> StatementSession {
        try StatementSession(
            "CREATE TABLE river (id INTEGER PRIMARY KEY, river TEXT, source INTEGER REFERENCES river)",
            "CREATE TABLE boat (id INTEGER PRIMARY KEY, boat TEXT, river INTEGER REFERENCES river)",
            "INSERT INTO river VALUES (1, 'Elbe', NULL), (2, 'Spree', 1), (3, 'Rhine', NULL)",
            "INSERT INTO boat VALUES (1, 'Alba', 2), (2, 'Bora', 2), (3, 'Cora', 3), (4, 'Dora', NULL)")
    }

    private func column(_ session: StatementSession, _ text: String) throws -> [Value] {
        try session.rows(text).map { $0[0] }
    }

    private func texts(_ values: String...) -> [Value] { values.map(Value.text) }

    private func refusal(_ session: StatementSession, _ text: String) -> String {
        do {
            return "\(try session.rows(text))"
        } catch { return "\(error)" }
    }

    @Test(arguments: [
        "person JOIN department ON person.department = department.id",
        "PERSON JOIN DEPARTMENT ON Person.department = Department.id",
        "person, department WHERE person.department = department.id",
        "person JOIN department ON department.id = person.department",
    ])
    func aColumnCalledAsATableIsNoTable(from: String) throws {
        let names = "person.name, department.name"
        #expect(
            try people().rows("SELECT \(names) FROM \(from) ORDER BY person.id") == [
                texts("Ada", "Engines"), texts("Joseph", "Looms"), texts("Charles", "Engines"),
            ])
        #expect(try people().rows("SELECT count(*) FROM \(from)") == [[.integer(3)]])
    }

    @Test func everyClauseNamesTheTable() throws {
        let session = try people()
        let from = "FROM person LEFT JOIN department ON person.department = department.id"
        #expect(try column(session, "SELECT person.name \(from) WHERE department.id IS NULL") == texts("Mary"))
        #expect(
            try session.rows(
                "SELECT department.name, count(*) \(from) GROUP BY department.name HAVING department.name IS NOT NULL")
                == [[.text("Engines"), .integer(2)], [.text("Looms"), .integer(1)]])
        #expect(
            try column(session, "SELECT person.name \(from) ORDER BY department.name DESC, person.id DESC")
                == texts("Joseph", "Charles", "Ada", "Mary"))
        // Of the tables, department has a column of that name too.
        #expect(try column(session, "SELECT department.department \(from) WHERE person.id = 2") == [.integer(8)])
        #expect(
            refusal(session, "SELECT department \(from)").contains("may be person.department or department.department"))
        // Alone, the path goes on.
        #expect(try column(session, "SELECT department.name FROM person WHERE id = 2") == texts("Looms"))
    }

    @Test func statementsThatChangeRowsNameTheTableAround() throws {
        let exists = "EXISTS (SELECT 1 FROM person WHERE person.department = department.id AND person.name = 'Ada')"
        let session = try people()
        #expect(try session.run("UPDATE department SET name = 'used' WHERE \(exists)").changed == 1)
        #expect(try column(session, "SELECT name FROM department ORDER BY id") == texts("used", "Looms", "Letters"))
        try session.run("UPDATE person SET department = NULL WHERE id > 1")
        let other = "EXISTS (SELECT 1 FROM person WHERE person.id = department.id AND person.name = 'Mary')"
        #expect(try session.run("DELETE FROM department WHERE \(other)").changed == 0)
        let third = "EXISTS (SELECT 1 FROM person WHERE person.id = department.id AND person.name = 'Charles')"
        #expect(try session.run("DELETE FROM department WHERE \(third)").changed == 1)
        #expect(try column(session, "SELECT id FROM department ORDER BY id") == [.integer(1), .integer(2)])
    }

    @Test func aCorrelatedQueryNamesTheTableAround() throws {
        let session = try rivers()
        #expect(
            try column(
                session, "SELECT river.river FROM river WHERE EXISTS (SELECT 1 FROM boat WHERE boat.river = river.id)")
                == texts("Spree", "Rhine"))
        #expect(
            try session.rows(
                "SELECT river.river, (SELECT count(*) FROM boat WHERE boat.river = river.id) FROM river ORDER BY river.river"
            )
                == [[.text("Elbe"), .integer(0)], [.text("Rhine"), .integer(1)], [.text("Spree"), .integer(2)]])
        // The table inside hides the one around.
        #expect(
            try column(session, "SELECT id FROM river WHERE id IN (SELECT source FROM river WHERE river.id = 2)") == [
                .integer(1)
            ])
        #expect(
            try column(
                session,
                "SELECT river.river FROM river WHERE EXISTS (SELECT 1 FROM river AS r WHERE r.source = river.id)")
                == texts("Elbe"))
        // A path where no table around has the name.
        #expect(
            try column(session, "SELECT boat FROM boat WHERE id IN (SELECT id FROM boat b WHERE river.river = 'Rhine')")
                == texts("Cora"))
        // The table around comes before the path: none of its columns is a boat's.
        #expect(
            try column(
                session,
                "SELECT river.id FROM river WHERE (SELECT count(*) FROM boat WHERE river.river = 'Rhine') > 0")
                == [.integer(3)])
    }

    @Test func aTablesOwnNameComesBeforeItsColumn() throws {
        let session = try rivers()
        #expect(
            try column(session, "SELECT river.river FROM river ORDER BY river.river") == texts("Elbe", "Rhine", "Spree")
        )
        #expect(try column(session, "SELECT RIVER.river FROM river WHERE River.id = 3") == texts("Rhine"))
        let boats = try rivers()
        #expect(try column(boats, "SELECT river.boat FROM boat river WHERE river.id = 1") == texts("Alba"))
        // Behind the alias, the column, and the path from it.
        #expect(try column(boats, "SELECT river.river FROM boat AS river WHERE river.id = 1") == [.integer(2)])
        #expect(
            try column(boats, "SELECT river.river.river FROM boat AS river WHERE river.river.id = 3") == texts("Rhine"))
        #expect(try column(boats, "SELECT boat.river.source.river FROM boat WHERE boat.id = 1") == texts("Elbe"))
        #expect(
            try boats.rows(
                "SELECT river.river.river, count(*) FROM boat river GROUP BY river.river.river HAVING count(*) > 1")
                == [[.text("Spree"), .integer(2)]])
    }

    @Test func anAliasedColumnIsNoResult() throws {
        let session = try rivers()
        // The result is called as a column is; behind the alias it is the column.
        #expect(
            try column(session, "SELECT 5 - id AS boat FROM boat b ORDER BY b.boat")
                == [.integer(4), .integer(3), .integer(2), .integer(1)])
        #expect(
            try column(session, "SELECT 5 - id AS boat FROM boat b ORDER BY boat")
                == [.integer(1), .integer(2), .integer(3), .integer(4)])
    }

    @Test func twoTablesOfOneNameAreRefused() throws {
        let session = try rivers()
        for from in [
            "boat JOIN river ON boat.river = river.id JOIN boat ON 1 = 1", "boat AS x JOIN river AS x ON 1 = 1",
        ] {
            #expect(refusal(session, "SELECT x.id, boat.id FROM \(from)").contains("two tables are called"))
        }
    }

    @Test func commonTablesKeepTheMeaningOfTheirColumns() throws {
        let session = try rivers()
        #expect(
            try column(
                session,
                "WITH b AS (SELECT id, river FROM boat) SELECT b.river.river FROM b WHERE b.river.source.id = 1 ORDER BY b.id"
            )
                == texts("Spree", "Spree"))
        #expect(
            try column(session, "WITH b AS (SELECT id, source FROM river) SELECT b.source.river FROM b WHERE b.id = 2")
                == texts("Elbe"))
        #expect(
            try column(
                session,
                "WITH river AS (SELECT id, boat FROM boat WHERE id > 2) SELECT river.boat FROM river "
                    + "WHERE EXISTS (SELECT 1 FROM boat b WHERE b.id = river.id)") == texts("Cora", "Dora"))
        // An inner table with the query's name hides it.
        #expect(
            try column(
                session,
                "WITH c AS (SELECT id FROM river) SELECT c.id FROM c WHERE EXISTS "
                    + "(SELECT 1 FROM boat WHERE EXISTS (SELECT 1 FROM river c WHERE c.river = 'Rhine' AND c.id = boat.river))"
            )
                == [.integer(1), .integer(2), .integer(3)])
    }

    @Test func aNameHasALetter() throws {
        let session = try rivers()
        #expect(refusal(session, "SELECT id FROM boat AS \"\"").contains("a name"))
        #expect(refusal(session, "SELECT id FROM boat \"\"").contains("a name"))
    }

    // MARK: Names in Unicode

    @Test func composedAndDecomposedNamesAreOne() throws {
        let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
        let session = try StatementSession(
            "CREATE TABLE \(composed) (id INTEGER PRIMARY KEY, \(composed) TEXT, x INTEGER)",
            "INSERT INTO \(decomposed) (\(decomposed), x) VALUES ('a', 1)")
        for name in [composed, decomposed, "CAFE\u{301}"] {
            #expect(try session.rows("SELECT \(name).\(name) FROM \(name)") == [[.text("a")]])
            #expect(try session.rows("SELECT x AS \(composed), id FROM \(name) t ORDER BY \(name)").count == 1)
        }
        #expect(session.refusal("CREATE TABLE \(decomposed) (a TEXT)").contains("already"))
        #expect(session.refusal("CREATE TABLE t (\(composed) TEXT, \(decomposed) TEXT)") != "")
        #expect(session.refusal("CREATE INDEX i ON \(decomposed) (\(decomposed))") == "")
        #expect(try session.faults() == [])
        #expect(try session.run("DROP TABLE \(decomposed)").changed >= 0)
        #expect(session.refusal("CREATE TABLE \(decomposed) (a TEXT)") == "")
    }

    // MARK: Hints

    @Test func textInDoubleQuotesIsExplained() throws {
        let session = try rivers()
        for text in [
            "SELECT id FROM boat WHERE boat = \"Alba's\"",
            "SELECT boat.id FROM boat JOIN river ON 1 = 1 WHERE boat = \"Alba's\"",
        ] {
            #expect(refusal(session, text).contains("a text is written in single quotes: 'Alba''s'"))
        }
        // The error for a misspelt name suggests the right one.
        #expect(refusal(session, "SELECT id FROM boat WHERE \"boet\" = 'Alba'").contains("did you mean boat?"))
        #expect(!refusal(session, "SELECT id FROM boat WHERE Alba = 'x'").contains("single quotes"))
    }

    @Test(arguments: ["at = '2026-1-5'", "at BETWEEN '2026-01-05' AND '5.1.2026'", "at IN ('tomorrow')"])
    func aDateIsExplained(condition: String) throws {
        let session = try StatementSession("CREATE TABLE t (at DATE)")
        #expect(refusal(session, "SELECT * FROM t WHERE \(condition)").contains("a date is written as '2026-01-31'"))
    }

    @Test(arguments: [
        "INSERT INTO t VALUES ('2026-1-5')", "INSERT INTO t (at) SELECT 'today' FROM t", "UPDATE t SET at = '2026-1-5'",
        "SELECT date('2026-1-5') FROM t", "CREATE TABLE u (at DATE DEFAULT '2026-1-5')",
    ])
    func aDateIsExplainedWhereItIsStored(statement: String) throws {
        let session = try StatementSession(
            "CREATE TABLE t (at DATE, n INTEGER)", "INSERT INTO t (at, n) VALUES (NULL, 1)")
        let statement = statement.replacing("t VALUES (", with: "t (at) VALUES (")
        #expect(session.refusal(statement).contains("a date is written as '2026-01-31'"))
        // Without a use for it there is no hint.
        #expect(!session.refusal("INSERT INTO t (n) VALUES ('x')").contains("a date is"))
        #expect(!session.refusal("INSERT INTO t (at) VALUES (x'00')").contains("a date is"))
    }

    @Test(arguments: [
        "INSERT INTO t (name) VALUES (\"Copenhagen\")", "INSERT INTO t (name) VALUES (\"nam\")",
        "INSERT INTO t (name) VALUES (lower(\"Copenhagen\"))", "UPDATE t SET name = \"Copenhagen\"",
        "UPDATE t SET name = 'x' WHERE name = \"Copenhagen\"", "DELETE FROM t WHERE name = \"Copenhagen\"",
    ])
    func textInDoubleQuotesIsExplainedWhereItIsStored(statement: String) throws {
        let session = try StatementSession("CREATE TABLE t (name TEXT)", "INSERT INTO t (name) VALUES ('x')")
        #expect(session.refusal(statement).contains("a text is written in single quotes: '"))
    }
}
