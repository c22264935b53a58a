import MakoStorage
import MakoTestSupport
import Testing

@testable import MakoRecords

@Suite struct PartialIndexTests {
    private func tasks() throws -> StatementSession {
        try StatementSession(
            "CREATE TABLE Task (id INTEGER PRIMARY KEY, title TEXT, due INTEGER, isDone BOOLEAN NOT NULL DEFAULT FALSE, owner TEXT)",
            "CREATE INDEX open ON Task (due) WHERE isDone = FALSE AND due IS NOT NULL",
            "CREATE UNIQUE INDEX oneOpen ON Task (owner) WHERE NOT isDone",
            "INSERT INTO Task (title, due, isDone, owner) VALUES ('a', 3, FALSE, 'Ada'), ('b', 1, TRUE, 'Ada'), ('c', NULL, FALSE, 'Bob'), ('d', 2, TRUE, NULL)"
        )
    }

    private func entries(_ session: StatementSession, _ name: String) throws -> Int {
        let table = try session.table("Task")
        let index = try #require(table.indexes.first { $0.schema.name == name })
        return Int(try session.store.read { try $0.count(of: index.tree) })
    }

    @Test func rowsEnterAndLeave() throws {
        let session = try tasks()
        #expect(try entries(session, "open") == 1 && entries(session, "oneOpen") == 2)
        try session.run("UPDATE Task SET isDone = TRUE WHERE title = 'a'")
        #expect(try entries(session, "open") == 0 && entries(session, "oneOpen") == 1)
        try session.run("UPDATE Task SET isDone = FALSE, due = due + 1 WHERE title = 'b'")
        #expect(try entries(session, "open") == 1)
        #expect(
            try session.rows("SELECT title, due FROM Task WHERE isDone = FALSE AND due > 0") == [
                [.text("b"), .integer(2)]
            ])
        try session.run("UPDATE Task SET due = 9 WHERE title = 'b'")
        try session.run("DELETE FROM Task WHERE title = 'd'")
        try session.run("DELETE FROM Task WHERE title = 'b'")
        #expect(try entries(session, "open") == 0)
        #expect(try session.faults() == [])
    }

    @Test func onlyTheRowsItHoldsAreUnique() throws {
        let session = try tasks()
        #expect(session.refusal("INSERT INTO Task (owner) VALUES ('Bob')").contains("the same owner:"))
        try session.run("INSERT INTO Task (owner, isDone) VALUES ('Bob', TRUE), ('Bob', TRUE)")
        #expect(session.refusal("UPDATE Task SET isDone = FALSE WHERE title = 'b'").contains("the same owner:"))
        // A row that is not held does not take the entry of another one with it.
        try session.run("DELETE FROM Task WHERE title = 'b'")
        #expect(session.refusal("INSERT INTO Task (owner) VALUES ('Ada')").contains("the same owner:"))
        // Of two rows with one owner the open one conflicts.
        #expect(try session.run("INSERT OR REPLACE INTO Task (title, owner) VALUES ('new', 'Bob')").changed == 1)
        #expect(try session.rows("SELECT count(*) FROM Task WHERE owner = 'Bob'") == [[.integer(3)]])
        #expect(session.refusal("CREATE UNIQUE INDEX all ON Task (owner)").contains("the same owner:"))
        #expect(try session.faults() == [])
    }

    @Test(arguments: [
        ("isDone = FALSE AND due > 2", true), ("NOT isDone AND due = 3", true),
        ("due BETWEEN 1 AND 5 AND isDone = FALSE", true),
        ("isDone = FALSE AND due IS NOT NULL", true), ("DUE IN (1, 2) AND NOT isdone", true),
        ("isDone = FALSE AND due + 1 > 2", true),
        ("isDone = FALSE AND due NOT IN (4)", true),
        ("due > 2", false), ("isDone = FALSE", false), ("isDone = TRUE AND due > 2", false),
        ("isDone = FALSE OR due > 2", false),
        ("isDone = FALSE AND due IS NULL", false), ("isDone = FALSE AND coalesce(due, 1) = 1", false),
        ("isDone = FALSE AND owner > 'A'", false),
    ])
    func itIsUsedWhereItsConditionFollows(condition: String, isUsed: Bool) throws {
        let session = try tasks()
        try session.run("DROP INDEX oneOpen")
        let plan = try session.plan("SELECT title FROM Task WHERE \(condition)")
        #expect(plan.contains("using index open") == isUsed, "\(plan)")
        let found = try session.rows("SELECT title FROM Task WHERE \(condition) ORDER BY title")
        try session.run("DROP INDEX open")
        #expect(try session.rows("SELECT title FROM Task WHERE \(condition) ORDER BY title") == found)
    }

    @Test func whatTheIndexSaysIsNotTestedAgain() throws {
        let session = try tasks()
        let plan = try session.plan("SELECT title FROM Task WHERE isDone = FALSE AND due > 2")
        #expect(plan == "search Task using index open (due > 2 AND isDone = FALSE)")
        #expect(
            try session.plan("SELECT title FROM Task WHERE due IS NOT NULL AND NOT isDone ORDER BY due LIMIT 1")
                == "limit 1\n  search Task using index open (due IS NOT NULL AND NOT isDone), already in order of due")
    }

    /// Conditions that imply that of the index, in other words.
    @Test(arguments: [
        ("a IN (1, 2, 3)", "a IN (1, 3)", true), ("a IN (1, 2, 3)", "A IN (3, NULL, 1)", true),
        ("a IN (1, 2, 3)", "a IN (1, 4)", false), ("a IN (1, 2, 3)", "a = 2", true),
        ("a IN (1, 2, 3)", "a IN (1, b)", false), ("a < 5", "a IN (1, 3)", true), ("a < 5", "a IN (1, 7)", false),
        ("t COLLATE NOCASE > 'a'", "T COLLATE NOCASE > 'b'", true), ("t COLLATE NOCASE > 'a'", "t > 'b'", false),
        ("-a < 0", "-A < -3", true), ("-a < 0", "-b < -3", false), ("a + b > 3", "A + b > 5", true),
        ("a + b > 3", "A - b > 5", false), ("a + b > 3", "b + a > 5", false), ("length(t) > 1", "length(T) > 3", true),
        ("length(t) > 1", "lower(T) > '3'", false), ("a IS NOT NULL", "a + c > 3", true),
        ("a IS NOT NULL", "c - a > 3", true),
        ("a IS NOT NULL", "abs(a) > 1", true), ("a IS NOT NULL", "coalesce(a, 3) > 1", false),
        ("a IS NOT NULL", "nullif(c, a) > 1", false), ("a IS NOT NULL", "(a > 1 AND c > 1) OR a = 1", true),
        ("a IS NOT NULL", "(a > 1 AND c > 1) OR c = 1", false), ("a IS NOT NULL", "NOT a > 3", true),
        ("t IS NOT NULL", "'ab' LIKE t", true), ("t IS NOT NULL", "t GLOB 'a*'", true),
        ("t IS NOT NULL", "round(c) > 1", false), ("a > 1 OR c > 1", "a > 3", true),
        ("a > 1 AND c > 1", "a > 3 AND c > 3", true),
    ])
    func conditionsInOtherWords(index: String, query: String, isUsed: Bool) throws {
        let session = try StatementSession("CREATE TABLE T (a INTEGER, b INTEGER NOT NULL, c INTEGER, t TEXT)")
        for number in 0..<60 {
            let values = [
                number % 7 == 0 ? "NULL" : "\(number % 6)", "\(number % 3)", number % 5 == 0 ? "NULL" : "\(number % 4)",
            ]
            let text = ["'a'", "'Ab'", "'bcde'", "NULL"][number % 4]
            try session.run("INSERT INTO T (a, b, c, t) VALUES (\(values.joined(separator: ", ")), \(text))")
        }
        let tested = "SELECT id FROM T WHERE b = 1 AND (\(query)) ORDER BY id"
        let expected = try session.rows(tested)
        try session.run("CREATE INDEX part ON T (b) WHERE \(index)")
        #expect(try session.plan(tested).contains("using index part") == isUsed)
        #expect(try session.rows(tested) == expected)
    }

    /// Whether one range implies another, against all numbers of a small domain.
    @Test func impliedRangesAreImplied() throws {
        let operators: [ComparisonOperator] = [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]
        let column = BoundExpr.column(BoundColumn(node: -1, ordinal: 0, type: .double, path: "x"))
        var proven = 0
        for known in operators {
            for tested in operators {
                for a in -2...2 {
                    for b in -2...2 {
                        let fact = BoundCondition.comparison(known, column, .constant(.integer(Int64(a))))
                        let wanted = BoundCondition.comparison(tested, column, .constant(.integer(Int64(b))))
                        let isTrue = stride(from: -4.0, through: 4, by: 0.5).allSatisfy { x in
                            !Binder.holds(known, x < Double(a) ? -1 : x > Double(a) ? 1 : 0)
                                || Binder.holds(tested, x < Double(b) ? -1 : x > Double(b) ? 1 : 0)
                        }
                        let isProven = PredicateImplication.follows(wanted, from: fact)
                        #expect(isProven == isTrue, "\(wanted) from \(fact)")
                        if isProven { proven += 1 }
                    }
                }
            }
        }
        #expect(proven > 100)
    }

    /// Random conditions as indexes and as queries: an index changes no result.
    @Test(arguments: 0..<12) func indexesChangeNoAnswer(seed: Int) throws {
        var random = Seeded(UInt64(seed))
        let fixture = try QueryFixture.filled(150, [], &random)
        var conditions: [Condition] = []
        for _ in 0..<40 { conditions.append(Self.plain(&random)) }
        var before: [[RowKey]] = []
        let bare = fixture.catalogue
        for condition in conditions {
            before.append(
                try Selection(table: "A", condition: condition).plan(bare).keys(in: fixture.store.snapshot())
                    .sorted { ($0.rowID ?? 0) < ($1.rowID ?? 0) })
        }
        let texts = [
            "i > 0", "i IS NOT NULL", "b", "t LIKE 'a%' OR i = 1", "j IN (1, 2) AND i <= 3", "t COLLATE NOCASE = 'ab'",
            "i != 2",
        ]
        var schema = try fixture.table("A").schema
        for (place, text) in texts.enumerated() {
            schema.indexes.append(IndexSchema("p\(place)", [IndexColumn(random.pick(["i", "j", "t"]))], where: text))
        }
        try fixture.store.write { tx in _ = try Catalogue.migrate(to: schema, in: tx) }
        let view = try fixture.store.snapshot()
        let catalogue = try Catalogue.load(view: view)
        var used = 0
        for (condition, wanted) in zip(conditions, before) {
            let plan = try Selection(table: "A", condition: condition).plan(catalogue)
            if plan.description.contains("using index p") { used += 1 }
            #expect(try plan.keys(in: view).sorted { ($0.rowID ?? 0) < ($1.rowID ?? 0) } == wanted, "\(plan)")
        }
        #expect(used > 0)
        #expect(try catalogue.requireTable("A").verify(in: view) == [])
    }

    private static func plain(_ random: inout Seeded) -> Condition {
        let texts = [
            "i > 1", "i = 2", "i >= 1 AND j = 1", "i BETWEEN 1 AND 3", "b AND i < 2", "b = TRUE", "NOT b",
            "j = 2 AND i < 3", "i IN (1, 3)",
            "t LIKE 'a%'", "t COLLATE NOCASE = 'AB'", "i IS NOT NULL", "i IS NULL", "i = 1 AND t > 'a'",
            "j IN (1) AND i <= 2", "i > 2 OR i < 1",
        ]
        let first = try? Condition.parse(random.pick(texts))
        let second = try? Condition.parse(random.pick(texts))
        guard let first, let second else { return .constant(true) }
        return random.chance(50) ? first : random.chance(70) ? first && second : first || second
    }

    // MARK: The schema

    @Test(arguments: [
        ("CREATE INDEX i ON Task (due) WHERE", "the text ends"),
        ("CREATE INDEX i ON Task (due) WHERE duee > 1", "did you mean due?"),
        ("CREATE INDEX i ON Task (due) WHERE due > ?", "without parameters"),
        ("CREATE INDEX i ON Task (due) WHERE owner.name = 'x'", "refers to no other table"),
        ("CREATE INDEX i ON Task (due) WHERE title", "not a condition"),
    ])
    func wrongConditionsAreRefused(text: String, words: String) throws {
        let session = try tasks()
        let refusal = session.refusal(text)
        #expect(refusal.contains(words), "\(refusal)")
        #expect(try session.table("Task").schema.indexes.count == 2)
    }

    /// A query of all rows must not use a partial index, even if it is the only one of the column.
    @Test(
        arguments: [
            ("SELECT max(due), min(due) FROM Task", [[3, 1]]),
            ("SELECT DISTINCT due FROM Task WHERE due > 0 ORDER BY due", [[1], [2], [3]]),
            ("SELECT DISTINCT due FROM Task WHERE due IS NOT NULL ORDER BY due DESC", [[3], [2], [1]]),
            ("SELECT due, count(*) FROM Task WHERE due > 1 GROUP BY due", [[2, 1], [3, 1]]),
            ("SELECT count(DISTINCT due) FROM Task", [[3]]),
            ("SELECT count(*) FROM Wish JOIN Task ON Task.due = Wish.day", [[2]]),
            ("SELECT count(*) FROM Wish WHERE day IN (SELECT due FROM Task)", [[2]]),
            ("SELECT count(*) FROM Wish WHERE EXISTS (SELECT 1 FROM Task WHERE due = Wish.day)", [[2]]),
            ("SELECT (SELECT count(*) FROM Task WHERE due = Wish.day) FROM Wish ORDER BY id", [[1], [1], [0]]),
        ] as [(String, [[Int64]])]) func queriesOfAllRowsDoNotUseIt(text: String, wanted: [[Int64]]) throws
    {
        let session = try tasks()
        try session.run("CREATE TABLE Wish (day INTEGER)")
        try session.run("INSERT INTO Wish (day) VALUES (1), (2), (7)")
        #expect(try session.rows(text) == wanted.map { $0.map(Value.integer) })
    }

    @Test func theCatalogueKeepsTheCondition() throws {
        let session = try tasks()
        let stored = try session.table("Task").schema.indexes
        #expect(stored[0].condition == "isDone = FALSE AND due IS NOT NULL")
        // A table without such indexes is written as it always was.
        try session.run("CREATE TABLE Plain (id INTEGER PRIMARY KEY, a TEXT UNIQUE)")
        let formats = try session.store.read { try StoredCatalogue.entries(in: $0).map { ($0.name, $0.bytes[0]) } }
        #expect(formats.map(\.0) == ["Plain", "Task"] && formats.map(\.1) == [1, 2])
    }

    @Test func itHoldsNoWords() throws {
        let session = try tasks()
        var schema = try session.table("Task").schema
        schema.indexes.append(
            IndexSchema("words", [IndexColumn("title")], where: "due > 1", fullText: FullTextOptions()))
        let wanted = schema
        #expect(throws: RecordError.self) {
            try session.store.write { tx in _ = try Catalogue.migrate(to: wanted, in: tx) }
        }
    }

    @Test func migrationsKeepItInStep() throws {
        let session = try tasks()
        var schema = try session.table("Task").schema
        // The column that the condition names is converted, and its values are others.
        for place in schema.columns.indices where schema.columns[place].name == "due" {
            schema.columns[place].type = .text
        }
        let wanted = schema
        try session.store.write { tx in _ = try Catalogue.migrate(to: wanted, in: tx) }
        #expect(try session.faults() == [])
        #expect(try session.rows("SELECT title FROM Task WHERE NOT isDone AND due > '1'") == [[.text("a")]])
        // One that it names cannot go.
        schema.columns.removeAll { $0.name == "isDone" }
        let without = schema
        #expect(throws: RecordError.self) {
            try session.store.write { tx in _ = try Catalogue.migrate(to: without, in: tx) }
        }
        // Under another name the words mean nothing any more.
        var renamed = try session.table("Task").schema
        for place in renamed.columns.indices where renamed.columns[place].name == "isDone" {
            renamed.columns[place].name = "done"
            renamed.columns[place].originalName = "isDone"
        }
        for place in renamed.indexes.indices { renamed.indexes[place].condition = "done = FALSE" }
        let other = renamed
        try session.store.write { tx in _ = try Catalogue.migrate(to: other, in: tx) }
        #expect(try session.faults() == [])
        #expect(try session.plan("SELECT title FROM Task WHERE done = FALSE AND due > '1'").contains("index open"))
    }

    /// The planner must not serve an equality join from a partial or a spatial index.
    @Test func joinsFindRowsThatItLacks() throws {
        let session = try tasks()
        try session.run("CREATE TABLE Day (n INTEGER)")
        try session.run("INSERT INTO Day (n) VALUES (1), (2), (3), (4)")
        let query = "SELECT Day.n, Task.title FROM Day JOIN Task ON Task.due = Day.n ORDER BY 1"
        let wanted: [[Value]] = [
            [.integer(1), .text("b")], [.integer(2), .text("d")], [.integer(3), .text("a")],
        ]
        #expect(try session.rows(query) == wanted)
        try session.run("CREATE TABLE Place (id INTEGER PRIMARY KEY, latitude REAL, longitude REAL)")
        try session.run("INSERT INTO Place VALUES (1, 3.0, 5.0), (2, 4.0, 6.0)")
        try session.run("CREATE SPATIAL INDEX near ON Place (latitude, longitude)")
        #expect(
            try session.rows("SELECT Day.n, Place.id FROM Day JOIN Place ON Place.latitude = Day.n ORDER BY 1") == [
                [.integer(3), .integer(1)], [.integer(4), .integer(2)],
            ])
        // Whether the rows are many enough for a look-up by index.
        try session.run("INSERT INTO Task (due, isDone) SELECT id + 10, TRUE FROM Task")
        for _ in 0..<9 {
            try session.run("INSERT INTO Task (due, isDone) SELECT due + 1000, TRUE FROM Task WHERE due > 9")
        }
        #expect(try session.rows(query) == wanted)
    }

    /// Different texts are the same day after the conversion.
    @Test func aConvertedColumnHasOtherRowsHeld() throws {
        let session = try StatementSession(
            "CREATE TABLE T (n INTEGER, day TEXT)", "CREATE INDEX first ON T (n) WHERE day = '2026-01-31'",
            "INSERT INTO T (n, day) VALUES (1, '2026-01-31'), (2, '2026-01-31 00:00:00'), (3, '2026-02-01')")
        let query = "SELECT n FROM T WHERE day = '2026-01-31' AND n > 0 ORDER BY n"
        #expect(try session.rows(query) == [[.integer(1)]])
        var schema = try session.table("T").schema
        for place in schema.columns.indices where schema.columns[place].name == "day" {
            schema.columns[place].type = .date
        }
        let wanted = schema
        try session.store.write { tx in _ = try Catalogue.migrate(to: wanted, in: tx) }
        #expect(try session.rows(query) == [[.integer(1)], [.integer(2)]])
        #expect(try session.faults() == [])
    }

    @Test func batchesOfRowsEnterWhatTheyShould() throws {
        let session = try tasks()
        let rows = (0..<300).map { "(\($0), \($0 % 3 == 0 ? "FALSE" : "TRUE"))" }.joined(separator: ", ")
        try session.run("INSERT INTO Task (due, isDone) VALUES " + rows)
        #expect(try entries(session, "open") == 101)
        #expect(try session.faults() == [])
        try session.run("UPDATE Task SET isDone = FALSE WHERE isDone AND due < 10 AND owner IS NULL")
        try session.run("UPDATE Task SET due = due + 100 WHERE isDone = FALSE AND due > 0")
        #expect(try session.faults() == [])
        #expect(try session.rows("SELECT count(*) FROM Task WHERE isDone = FALSE AND due > 99") == [[.integer(107)]])
    }
}
