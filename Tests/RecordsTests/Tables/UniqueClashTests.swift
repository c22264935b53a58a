import MakoRecords
import MakoStorage
import Testing

/// Unique indexes hold at the end of a statement: within it, a row may get what another row has until then.
@Suite struct UniqueClashTests {
    private func numbers(_ count: Int = 3) throws -> StatementSession {
        let session = try StatementSession("CREATE TABLE T (id INTEGER PRIMARY KEY, n INTEGER UNIQUE, name TEXT)")
        for first in stride(from: 1, through: count, by: 500) {
            let rows = (first...min(first + 499, count)).map { "(\($0), 'row \($0)')" }.joined(separator: ", ")
            try session.run("INSERT INTO T (n, name) VALUES \(rows)")
        }
        return session
    }

    private func column(_ name: String, _ session: StatementSession, _ table: String = "T") throws -> [Value] {
        try session.rows("SELECT \(name) FROM \(table) ORDER BY id").map { $0[0] }
    }

    @Test func twoRowsSwapAndThreePassOn() throws {
        let session = try numbers()
        #expect(try session.run("UPDATE T SET n = CASE n WHEN 1 THEN 2 ELSE 1 END WHERE n < 3").changed == 2)
        #expect(try column("n", session) == [.integer(2), .integer(1), .integer(3)])
        #expect(try session.rows("SELECT name FROM T WHERE n = 1") == [[.text("row 2")]])
        #expect(try session.run("UPDATE T SET n = CASE n WHEN 1 THEN 2 WHEN 2 THEN 3 ELSE 1 END").changed == 3)
        #expect(try column("n", session) == [.integer(3), .integer(2), .integer(1)])
        #expect(try session.faults() == [])
    }

    @Test(arguments: [1, -1, 7, -500, 1000]) func aThousandRowsMoveAlong(step: Int) throws {
        let session = try numbers(1000)
        #expect(try session.run("UPDATE T SET n = n + ?", [.integer(Int64(step))]).changed == 1000)
        #expect(try column("n", session) == (1...1000).map { .integer(Int64($0 + step)) })
        let moved: [Value] = [.integer(Int64(500 + step))]
        #expect(try session.rows("SELECT name FROM T WHERE n = ?", moved) == [[.text("row 500")]])
        #expect(try session.faults() == [])
    }

    /// Every row waits for another one until the last half is written.
    @Test func aThousandRowsAreReversed() throws {
        let session = try numbers(1000)
        #expect(try session.run("UPDATE T SET n = 1001 - n").changed == 1000)
        #expect(try column("n", session) == (1...1000).map { .integer(Int64(1001 - $0)) })
        #expect(try session.faults() == [])
    }

    @Test(arguments: [
        ("UPDATE T SET n = 7", "7", 1), ("UPDATE T SET n = n + 1 WHERE n < 3", "3", 3),
        ("UPDATE T SET n = CASE n WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE 2 END", "2", 1),
    ])
    func whatRemainsIsRefusedAndChangesNothing(text: String, value: String, existing: Int) throws {
        let session = try numbers()
        let number = try #require(Int64(value))
        let error = RecordError.uniqueViolation(
            table: "T", columns: ["n"], values: [.integer(number)], existing: .rowID(Int64(existing)))
        #expect(throws: error) { try session.run(text) }
        #expect(try column("n", session) == [.integer(1), .integer(2), .integer(3)])
        #expect(try session.faults() == [])
    }

    /// A row that waits for a value which another one has, and takes a different one in the end, leaves the other one's entry where it is.
    @Test func aRowThatWaitsMayGoElsewhere() throws {
        let session = try numbers()
        try session.store.write { tx in
            let table = try Catalogue.load(view: tx.view).requireTable("T")
            var changes = ChangeSet()
            changes.defersUnique = true
            var writer = RowWriter()
            for number: Int64 in [2, 9] {
                writer.begin(try table.layout(for: ["n"]))
                writer.set(0, number)
                _ = try table.update(&writer, key: .rowID(1), in: tx, changes: &changes)
            }
            #expect(!changes.hasUniqueClashes)
            try changes.settleUnique(tx.view)
        }
        #expect(try column("n", session) == [.integer(9), .integer(2), .integer(3)])
        #expect(try session.rows("SELECT name FROM T WHERE n = 2") == [[.text("row 2")]])
        #expect(try session.faults() == [])
    }

    @Test func aTransactionGoesOnAfterARefusal() throws {
        let session = try numbers()
        var changes = ChangeSet()
        try session.store.write { tx in
            let catalogue = try Catalogue.load(view: tx.view)
            for (text, isAllowed) in [
                ("UPDATE T SET n = n + 10", true), ("UPDATE T SET n = 11 WHERE n > 11", false),
                ("UPDATE T SET n = 36 - n WHERE n > 1 AND n < 100", true),
                // A statement of one row is refused by itself.
                ("INSERT INTO T (n) VALUES (25)", false), ("DELETE FROM T WHERE n = 24", true),
            ] {
                let statement = try Statement.parse(text)
                var isDone = true
                do throws(RecordError) {
                    _ = try statement.run(catalogue, in: tx, changes: &changes)
                } catch {
                    isDone = false
                }
                #expect(isDone == isAllowed, "\(text)")
            }
        }
        #expect(try column("n", session) == [.integer(25), .integer(23)])
        #expect(changes.changes.map(\.kind) == [.update, .delete, .update])
        #expect(try session.faults() == [])
    }

    @Test func partialAndNocaseIndexesOfSeveralColumns() throws {
        let session = try StatementSession(
            "CREATE TABLE T (id INTEGER PRIMARY KEY, mail TEXT COLLATE NOCASE, ship TEXT, day INTEGER, open BOOLEAN)",
            "CREATE UNIQUE INDEX mails ON T (mail) WHERE open = TRUE", "CREATE UNIQUE INDEX days ON T (ship, day DESC)",
            "INSERT INTO T VALUES (1, 'Ann', 'A', 1, TRUE), (2, 'BOB', 'A', 2, TRUE), (3, 'ann', 'B', 1, FALSE), (4, NULL, 'B', NULL, TRUE), (5, NULL, 'B', NULL, TRUE)"
        )
        // The mail of row 3 counts when that of row 1 no longer does; the days of both ships are passed on.
        #expect(try session.run("UPDATE T SET open = NOT open, day = 3 - day").changed == 5)
        #expect(try session.rows("SELECT id FROM T WHERE open = TRUE AND mail = 'ANN'") == [[.integer(3)]])
        let mails = "CASE id WHEN 1 THEN 'bob' WHEN 2 THEN 'ANN' ELSE mail END"
        #expect(try session.run("UPDATE T SET open = NOT open, mail = \(mails) WHERE id < 4").changed == 3)
        #expect(session.refusal("UPDATE T SET open = TRUE").contains("the same mail:"))
        #expect(try session.run("UPDATE T SET open = id <> 2").changed == 5)
        #expect(try session.run("UPDATE T SET ship = CASE ship WHEN 'A' THEN 'B' ELSE 'A' END").changed == 5)
        #expect(session.refusal("UPDATE T SET ship = 'A'").contains("the same ship, day:"))
        #expect(try session.faults() == [])
    }

    /// Entries of long values only begin like them.
    @Test func longValuesArePassedOn() throws {
        let session = try StatementSession("CREATE TABLE T (id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE UNIQUE)")
        let long = String(repeating: "long ", count: 400)
        for end in ["a", "b", "c"] { try session.run("INSERT INTO T VALUES (NULL, ?)", [.text(long + end)]) }
        let parameters: [Value] = ["A", "b", "c"].map { .text(long + $0) }
        let rotate = "UPDATE T SET a = CASE a WHEN ?1 THEN ?2 WHEN ?2 THEN ?3 ELSE ?1 END"
        #expect(try session.run(rotate, parameters).changed == 3)
        #expect(try column("a", session) == [.text(long + "b"), .text(long + "c"), .text(long + "A")])
        let error = RecordError.uniqueViolation(
            table: "T", columns: ["a"], values: [.text(long + "B")], existing: .rowID(1))
        #expect(throws: error) { try session.run("UPDATE T SET a = ?1 WHERE id > 1", [.text(long + "B")]) }
        #expect(try session.faults() == [])
    }

    /// A sub-query and the condition read the rows as they are before the statement.
    @Test func readsOfTheStatementSeeTheRowsBefore() throws {
        let session = try self.numbers(2000)
        #expect(
            try session.run("UPDATE T SET n = (SELECT other.n FROM T AS other WHERE other.n = 2001 - T.n) WHERE n > 0")
                .changed == 2000)
        #expect(try column("n", session) == (1...2000).map { .integer(Int64(2001 - $0)) })
        let following = "UPDATE T SET n = n + 1 WHERE EXISTS (SELECT 1 FROM T AS o WHERE o.n = T.n - 1)"
        #expect(try session.run(following).changed == 1999)
        #expect(try session.run("UPDATE T SET n = n + 1 WHERE n >= 3 AND n < 5000").changed == 1999)
        let numbers: [[Value]] = [[.integer(2000), .integer(1), .integer(2002)]]
        #expect(try session.rows("SELECT count(*), min(n), max(n) FROM T") == numbers)
        #expect(try session.faults() == [])
    }

    /// A DELETE clears the reference of one row and removes another one, which had its values.
    @Test func rulesOfOneDeletePassValuesOn() throws {
        let session = try StatementSession(
            "CREATE TABLE Owner (id INTEGER PRIMARY KEY, name TEXT)",
            "CREATE TABLE Dog (id INTEGER PRIMARY KEY, code TEXT, owner INTEGER REFERENCES Owner, keeper INTEGER REFERENCES Owner)",
            "CREATE UNIQUE INDEX strays ON Dog (code) WHERE owner IS NULL",
            "INSERT INTO Owner VALUES (1, 'Ann'), (2, 'Bob')",
            "INSERT INTO Dog VALUES (1, 'x', NULL, 2), (2, 'x', 1, NULL), (3, 'y', 1, NULL)")
        try session.store.write { tx in
            let catalogue = try Catalogue.load(view: tx.view)
            var rules = catalogue.rules
            rules.set(.init(.nullify, isOwned: false), table: "Dog", column: "owner", target: "Owner")
            rules.set(.init(.cascade, isOwned: false), table: "Dog", column: "keeper", target: "Owner")
            _ = try catalogue.adopting(rules, in: tx)
        }
        #expect(session.refusal("DELETE FROM Owner WHERE id = 1").contains("the same code:"))
        #expect(try session.rows("SELECT count(*) FROM Owner") == [[.integer(2)]])
        #expect(try session.faults() == [])
        #expect(try session.run("DELETE FROM Owner").changed == 2)
        #expect(try session.rows("SELECT id, owner FROM Dog") == [[.integer(2), .null], [.integer(3), .null]])
        #expect(try session.rows("SELECT id FROM Dog WHERE code = 'x' AND owner IS NULL") == [[.integer(2)]])
        #expect(try session.faults() == [])
    }

    @Test func uniqueReferencesArePassedOn() throws {
        let session = try StatementSession(
            "CREATE TABLE Owner (id INTEGER PRIMARY KEY, name TEXT)",
            "CREATE TABLE Dog (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES Owner UNIQUE, friend INTEGER REFERENCES Dog)",
            "INSERT INTO Owner VALUES (1, 'Ann'), (2, 'Bob'), (3, 'Cy')",
            "INSERT INTO Dog VALUES (1, 1, NULL), (2, 2, NULL), (3, 3, NULL)")
        #expect(try session.run("UPDATE Dog SET owner = owner % 3 + 1").changed == 3)
        #expect(try session.rows("SELECT owner FROM Dog ORDER BY id").map { $0[0] } == [2, 3, 1].map { .integer($0) })
        #expect(session.refusal("UPDATE Dog SET owner = 1").contains("the same owner"))
        #expect(try session.faults() == [])
    }

    // MARK: Random

    /// Random statements beside plain arrays: permutations of unique values, and now and then a value that another row keeps.
    @Test(arguments: 0..<6) func randomPermutations(seed: Int) throws {
        var random = Seeded(UInt64(seed))
        let session = try StatementSession(
            "CREATE TABLE T (id INTEGER PRIMARY KEY, n INTEGER UNIQUE, a TEXT, b INTEGER, open BOOLEAN)",
            "CREATE UNIQUE INDEX pairs ON T (a, b DESC)", "CREATE UNIQUE INDEX opens ON T (b) WHERE open = TRUE")
        var rows = (0..<40).map { number in
            RandomRow(n: number, a: "a\(number % 7)", b: number, isOpen: random.chance(60))
        }
        for (place, row) in rows.enumerated() {
            try session.run(
                "INSERT INTO T VALUES (?, ?, ?, ?, ?)",
                [
                    .integer(Int64(place)), row.n.map { .integer(Int64($0)) } ?? .null, .text(row.a),
                    .integer(Int64(row.b)),
                    .bool(row.isOpen),
                ])
        }
        var refusals = 0
        for _ in 0..<150 {
            let chosen = Array(rows.indices.shuffled(using: &random).prefix(random.pick([2, 3, 5, 20, 40])))
            let targets = chosen.shuffled(using: &random)
            var wanted = rows
            let kind = random.pick(["n", "b", "a, b", "open, b"])
            for (place, target) in zip(chosen, targets) {
                switch kind {
                case "n": wanted[place].n = random.chance(3) ? nil : rows[target].n
                case "b": wanted[place].b = rows[target].b
                case "a, b": (wanted[place].a, wanted[place].b) = (rows[target].a, rows[target].b)
                default: (wanted[place].isOpen, wanted[place].b) = (rows[target].isOpen, rows[target].b)
                }
            }
            // A real clash, or one that only looks like it.
            if random.chance(30), let place = chosen.randomElement(using: &random) {
                wanted[place].n = random.pick([1, 5, 77])
            }
            func cases(_ value: (RandomRow) -> String) -> String {
                "CASE id " + chosen.map { "WHEN \($0) THEN \(value(wanted[$0]))" }.joined(separator: " ") + " END"
            }
            let text =
                "UPDATE T SET n = \(cases { $0.n.map(String.init) ?? "NULL" }), a = \(cases { "'\($0.a)'" }), b = \(cases { "\($0.b)" }), "
                + "open = \(cases { $0.isOpen ? "TRUE" : "FALSE" }) WHERE id IN (\(chosen.map(String.init).joined(separator: ", ")))"
            let isAllowed = RandomRow.areUnique(wanted)
            do {
                try session.run(text)
                #expect(isAllowed, "not refused: \(text)")
                rows = wanted
            } catch let error as RecordError {
                guard case .uniqueViolation = error else { throw error }
                #expect(!isAllowed, "refused: \(text): \(error)")
                refusals += 1
            }
            let found = try session.rows("SELECT n, a, b, open FROM T ORDER BY id")
            #expect(found == rows.map(\.values))
            #expect(try session.faults() == [])
        }
        #expect(refusals > 10 && refusals < 140)
    }
}

private struct RandomRow {
    var n: Int?
    var a: String
    var b: Int
    var isOpen: Bool

    var values: [Value] {
        [n.map { .integer(Int64($0)) } ?? .null, .text(a), .integer(Int64(b)), .bool(isOpen)]
    }

    static func areUnique(_ rows: [RandomRow]) -> Bool {
        let numbers = rows.compactMap(\.n)
        let pairs = rows.map { "\($0.a) \($0.b)" }
        let open = rows.filter(\.isOpen).map(\.b)
        return Set(numbers).count == numbers.count && Set(pairs).count == pairs.count && Set(open).count == open.count
    }
}
