import MakoRecords
import Testing

/// The parameters of statements, and the plans that their values select.
@Suite struct StatementParameterTests {
    private func numbers() throws -> StatementSession {
        let session = try StatementSession("CREATE TABLE T (n INTEGER)")
        try session.run("INSERT INTO T (n) VALUES (1), (2), (3), (4), (5)")
        return session
    }

    private func column(_ rows: [[Value]]) -> [Value] { rows.map { $0[0] } }

    @Test func limitsAndOffsetsMayBeParameters() throws {
        let session = try numbers()
        let text = "SELECT n FROM T ORDER BY n LIMIT ? OFFSET ?"
        #expect(column(try session.rows(text, [.integer(2), .integer(1)])) == [.integer(2), .integer(3)])
        #expect(column(try session.rows(text, [.integer(0), .integer(0)])) == [])
        #expect(column(try session.rows(text, [.integer(9), .integer(4)])) == [.integer(5)])
        let named = try Statement.parse("SELECT n FROM T WHERE n > :least ORDER BY n LIMIT :count")
        let found = try session.store.read { view in
            try named.read(
                try Catalogue.load(view: view), view: view, named: ["least": .integer(2), "count": .integer(2)])
        }
        #expect(column(found.rows) == [.integer(3), .integer(4)])
        // Of compound queries, of common tables, and of sub-queries in conditions.
        #expect(
            column(
                try session.rows(
                    "SELECT n FROM T WHERE n < ? UNION SELECT n FROM T WHERE n > ? ORDER BY n LIMIT ?",
                    [.integer(3), .integer(3), .integer(3)])) == [.integer(1), .integer(2), .integer(4)])
        #expect(
            column(
                try session.rows(
                    "WITH few AS (SELECT n FROM T ORDER BY n DESC LIMIT ?) SELECT * FROM few", [.integer(2)])
            )
                == [.integer(5), .integer(4)])
        #expect(
            column(
                try session.rows(
                    "SELECT n FROM T WHERE n IN (SELECT n FROM T ORDER BY n LIMIT ?) ORDER BY n DESC", [.integer(2)]))
                == [.integer(2), .integer(1)])
        #expect(try session.plan("SELECT n FROM T LIMIT ?", [.integer(3)]).contains("limit 3"))
        try session.run("INSERT INTO T (n) SELECT n FROM T ORDER BY n LIMIT ?", [.integer(1)])
        #expect(try session.rows("SELECT count(*) FROM T WHERE n = 1") == [[.integer(2)]])
    }

    @Test func whatIsNoNumberOfRowsIsRefused() throws {
        let session = try numbers()
        for value in [Value.integer(-1), .double(1.5), .text("2"), .null, .bool(true)] {
            let refusal = session.refusal("SELECT n FROM T LIMIT ?", [value])
            #expect(refusal.contains("LIMIT takes a whole number from 0 on, not \(value.typeName)"), "\(value)")
            #expect(
                session.refusal("SELECT n FROM T LIMIT 1 OFFSET ?", [value]).contains("OFFSET takes a whole number"))
        }
        #expect(session.refusal("SELECT n FROM T LIMIT ?").contains("parameter 1 has no value"))
        #expect(
            session.refusal("SELECT n FROM T LIMIT ?", [.integer(1), .integer(2)]).contains("the text has 1 parameter"))
    }

    /// Both indexes can serve; only range cardinalities show which has fewer rows.
    @Test func statementsUseThePlanOfAQuery() throws {
        for (condition, few) in [("a >= 0 AND b > 1990", "b"), ("a > 1990 AND b >= 0", "a")] {
            let session = try StatementSession(
                "CREATE TABLE T (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, c INTEGER)", "CREATE INDEX ta ON T (a)",
                "CREATE INDEX tb ON T (b)")
            let rows = (0..<2000).map { "(\($0 * 7 % 2000), \(2000 - $0), 0)" }
            try session.run("INSERT INTO T (a, b, c) VALUES " + rows.joined(separator: ", "))
            let found = column(try session.rows("SELECT id FROM T WHERE \(condition)")).map { id in
                if case .integer(let id) = id { RowKey.rowID(id) } else { RowKey.rowID(-1) }
            }
            #expect(try session.plan("SELECT id FROM T WHERE \(condition)").contains("index t\(few)"))
            var updated = ChangeSet()
            _ = try session.run("UPDATE T SET c = 1 WHERE \(condition)", [], &updated)
            #expect(updated.changes.map(\.key) == found, "\(condition)")
            var deleted = ChangeSet()
            _ = try session.run("DELETE FROM T WHERE \(condition)", [], &deleted)
            #expect(deleted.changes.map(\.key) == found, "\(condition)")
        }
    }
}

/// Lists in the places of parameters.
@Suite struct ParameterPlaceTests {
    private func filled(
        _ text: String, _ positions: [ParameterValue], _ named: [String: ParameterValue] = [:]
    ) throws -> FilledText {
        try ParameterPlaces.ofCondition(text).filled(text, positions, named)
    }

    @Test func listsAreWrittenOut() throws {
        let list = ParameterValue.list([.integer(1), .integer(2)])
        let found = try filled("a = ? AND b IN ? AND c = %d", [.one(.text("x")), list, .one(.integer(9))])
        #expect(found.text == "a = ?1 AND b IN (:$1$0, :$1$1) AND c = ?2")
        #expect(found.positions == [.text("x"), .integer(9)])
        #expect(found.named == ["$1$0": .integer(1), "$1$1": .integer(2)])
        #expect(try filled("b IN ( :l )", [], ["l": list]).text == "b IN ( :$l$0, :$l$1 )")
        #expect(try filled("b IN (:l)", [], ["l": .list([])]).text == "b IN ()")
        #expect(try filled("b IN :l", [], ["l": .list([])]).text == "b IN ()")
        #expect(try filled("b IN (?, 'ü', ?)", [.list([]), .list([])]).text == "b IN ('ü')")
        #expect(try filled("b IN (3, ?,:x)", [.list([])], ["x": .one(.null)]).text == "b IN (3, :x)")
        #expect(
            try filled("b IN (?1, ?2) OR b IN (?2)", [.one(.null), list]).text
                == "b IN (?1, :$1$0, :$1$1) OR b IN (:$1$0, :$1$1)")
    }

    @Test func statementsHavePlacesToo() throws {
        let text = "INSERT INTO T (a) SELECT a FROM T WHERE a IN ? LIMIT :n;"
        let places = try ParameterPlaces.ofStatement(text)
        #expect(places.names == ["n"])
        #expect(
            try places.filled(text, [.list([.integer(4)])], ["n": .one(.integer(1))]).text
                == "INSERT INTO T (a) SELECT a FROM T WHERE a IN (:$0$0) LIMIT :n;")
        #expect(throws: RecordError.self) { try places.filled(text, [.one(.null)], ["n": .list([.integer(1)])]) }
        #expect(throws: RecordError.self) { try ParameterPlaces.ofStatement("SELECT") }
        #expect(throws: RecordError.self) { try places.check(["m"], in: text) }
    }
}
