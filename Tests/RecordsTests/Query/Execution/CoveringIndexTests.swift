import MakoRecords
import MakoStorage
import Testing

/// Index-only scans, compared with the same queries without indexes.
@Suite struct CoveringIndexTests {
    /// Columns of every type, with a key of its own if `isKeyed` is set.
    private static func schema(isKeyed: Bool) -> EntitySchema {
        var schema = QueryFixture.a
        if isKeyed {
            schema.columns += [ColumnSchema("k", .text), ColumnSchema("z", .double)]
            schema.key = .columns(["k", "z"])
        }
        return schema
    }

    private static func indexes(_ random: inout Seeded) -> [IndexSchema] {
        let names = ["i", "u", "d", "t", "b", "at", "bl", "uu", "ref", "j", "code"]
        return (0..<8).map { number in
            let columns = names.shuffled(using: &random).prefix(Int.random(in: 1...5, using: &random)).map { name in
                IndexColumn(name, descending: random.chance(30), noCase: name == "t" && random.chance(30))
            }
            let condition = random.chance(25) ? "j > 0" : nil
            return IndexSchema("A.\(number)", Array(columns), where: condition)
        }
    }

    private static func pair(_ random: inout Seeded, isKeyed: Bool, _ count: Int) throws -> (Fixture, Fixture) {
        var (plain, indexed) = (schema(isKeyed: isKeyed), schema(isKeyed: isKeyed))
        plain.indexes = []
        indexed.indexes = indexes(&random)
        let fixtures = try (
            Fixture(QueryFixture.b, QueryFixture.c, plain), Fixture(QueryFixture.b, QueryFixture.c, indexed)
        )
        var rows: [[Value]] = []
        for number in 0..<count {
            var row = QueryFixture.row(&random)
            if number % 9 == 0 { row[3] = .text(String(repeating: "x", count: 850) + "\(number % 4)") }
            if isKeyed {
                let key = String(repeating: "k", count: number % 4 * 30)
                row += [.text("\(key)\(number)"), .double(random.pick([0, -0.0, 1.5]))]
            }
            rows.append(row)
        }
        for fixture in [fixtures.0, fixtures.1] {
            try fixture.insertAll(
                "B", [[.text("one"), .integer(1), .null], [.text("two"), .integer(2), .integer(1)]])
            try fixture.insertAll("C", [[.text("x"), .double(1), .integer(1)], [.text("y"), .double(2), .null]])
            try fixture.insertAll("A", rows)
        }
        return fixtures
    }

    /// A query of some columns of an index, which now and then reads others as well.
    private static func query(_ random: inout Seeded, _ table: TableHandle, isKeyed: Bool) -> String {
        let index = random.pick(table.schema.indexes)
        var names = index.columns.map(\.name)
        if isKeyed { names += ["k", "z"] } else { names.append("id") }
        if random.chance(10) { names.append(random.pick(["i", "t", "ref.n"])) }
        let first = names[0]
        let values: [String: String] = [
            "i": "3", "u": "3", "j": "2", "ref": "3", "d": "1.5", "t": "'ab'", "code": "'x'", "id": "40",
        ]
        func compared(_ name: String) -> String {
            guard let value = values[name] else { return "\(name) IS NOT NULL" }
            return "\(name) \(random.pick(["=", ">", "<=", "<>"])) \(value)"
        }
        var conditions = [random.chance(50) ? compared(first) : "\(first) IS NOT NULL"]
        if random.chance(50) { conditions.append(compared(random.pick(names))) }
        if index.condition != nil { conditions.append("j > 0") }
        let condition = " WHERE " + conditions.joined(separator: " AND ")
        let some = Array(names.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)))
        let unique = isKeyed ? "k, z" : "id"
        switch Int.random(in: 0..<7, using: &random) {
        case 0: return "SELECT count(*), count(\(some[0])), min(\(some[0])), max(\(some[0])) FROM A" + condition
        case 1: return "SELECT count(*) FROM A" + condition
        case 2:
            let keys = some.joined(separator: ", ")
            return
                "SELECT \(keys), count(*), min(\(first)), max(\(names[names.count - 1])) FROM A\(condition) GROUP BY \(keys)"
        case 3: return "SELECT DISTINCT \(some.joined(separator: ", ")) FROM A" + condition
        case 4:
            let order = some.map { $0 + random.pick(["", " DESC"]) } + [unique]
            return
                "SELECT \(names.joined(separator: ", ")) FROM A\(condition) ORDER BY \(order.joined(separator: ", "))"
                + random.pick(["", " LIMIT 7", " LIMIT 5 OFFSET 3"])
        case 5:
            return
                "SELECT n FROM B WHERE (SELECT count(*) FROM A\(condition) AND A.ref = B.id) < 9 OR v IN (SELECT \(some[0] == "i" ? "i" : "j") FROM A\(condition))"
        default: return "SELECT \(some.joined(separator: ", ")) FROM A" + condition
        }
    }

    /// - Parameter zeros: whether 0 and -0 differ: of equal values any may represent a group.
    private static func text(_ rows: [[Value]], isOrdered: Bool, zeros: Bool) -> [String] {
        let lines = rows.map { row in
            row.map { value in
                if case .double(let number) = value { return "\(number == 0 && !zeros ? 0 : number)" }
                return "\(value)"
            }.joined(separator: " ")
        }
        return isOrdered ? lines : lines.sorted()
    }

    @Test(arguments: 1...12)
    func indexOnlyScansAgreeWithTableScans(seed: Int) throws {
        var random = Seeded(UInt64(seed) &* 0x51_7C_C1)
        let isKeyed = seed % 3 == 0
        let (plain, indexed) = try Self.pair(&random, isKeyed: isKeyed, seed % 4 == 0 ? 1300 : 150)
        var alone = 0
        for _ in 0..<120 {
            let text = Self.query(&random, try indexed.table("A"), isKeyed: isKeyed)
            let statement = try SelectStatement.parse(text)
            let view = try indexed.store.snapshot()
            let explanation = try statement.explanation(indexed.catalogue, view: view).outline
            if explanation.contains("covering index") { alone += 1 }
            let found = try statement.run(indexed.catalogue, view: view).rows
            let expected = try statement.run(plain.catalogue, view: plain.store.snapshot()).rows
            let isOrdered = text.contains("ORDER BY")
            let zeros = !["DISTINCT", "GROUP BY", "min("].contains { text.contains($0) }
            #expect(
                Self.text(found, isOrdered: isOrdered, zeros: zeros)
                    == Self.text(expected, isOrdered: isOrdered, zeros: zeros),
                "\(text)\n\(explanation)")
            #expect(try statement.analysis(indexed.catalogue, view: view).rows == found.count, "\(text)")
        }
        // Not so where all rows are wanted, and are short: these are read faster than made of entries.
        #expect(alone > 20)
    }

    @Test func theViewOfATransactionHasItsOwnEntries() throws {
        let session = try StatementSession(
            "CREATE TABLE T (a INTEGER, b TEXT, c TEXT)", "CREATE INDEX ab ON T (a, b)",
            "INSERT INTO T (a, b, c) VALUES (1, 'x', 'c'), (1, 'y', 'c'), (2, 'z', 'c')")
        let before = try session.store.snapshot()
        let catalogue = try Catalogue.load(view: before)
        let query = try SelectStatement.parse("SELECT b, id FROM T WHERE a = ?")
        try session.store.write { tx in
            var changes = ChangeSet()
            for text in ["UPDATE T SET b = 'new' WHERE b = 'y'", "DELETE FROM T WHERE b = 'x'"] {
                _ = try Statement.parse(text).run(catalogue, in: tx, changes: &changes)
            }
            let rows = try query.run(catalogue, view: tx.view, parameters: [.integer(1)]).rows
            #expect(rows == [[.text("new"), .integer(2)]])
        }
        let old = try query.run(catalogue, view: before, parameters: [.integer(1)]).rows
        #expect(old == [[.text("x"), .integer(1)], [.text("y"), .integer(2)]])
        #expect(try session.rows("SELECT b FROM T WHERE a = 1") == [[.text("new")]])
    }

    @Test(arguments: [
        ("SELECT a, b FROM T WHERE a > 3", "search T using covering index ab (a > 3)"),
        (
            "SELECT id FROM T WHERE a = 3 AND length(b) > 1",
            "filter length(b) > 1\n  search T using covering index ab (a = 3)"
        ),
        ("SELECT c FROM T WHERE a = 3", "search T using index ab (a = 3)"),
        ("SELECT b FROM T WHERE a = 3 AND c = 'x'", "filter c = 'x'\n  search T using index ab (a = 3)"),
        ("SELECT n FROM T WHERE n = 'X' COLLATE NOCASE", "search T using index n (n COLLATE NOCASE = 'x')"),
        ("SELECT a FROM T ORDER BY a", "scan T using covering index ab, already in order of a"),
        ("SELECT b FROM T WHERE a = 3 ORDER BY id", "sort by id\n  search T using covering index ab (a = 3)"),
        (
            "SELECT sum(a) FROM T WHERE a < 9 AND b LIKE '%x'",
            "aggregate sum(a)\n  filter b LIKE '%x'\n    search T using covering index ab (a < 9)"
        ),
        (
            "SELECT min(a), max(b) FROM T WHERE a > 3",
            "aggregate min(a), max(b)\n  search T using covering index ab (a > 3)"
        ),
        (
            "SELECT min(a) FROM T",
            "min(a) by index order\n  limit 1\n    "
                + "search T using covering index ab (a IS NOT NULL), already in order of a"
        ),
        ("SELECT * FROM T WHERE a = 3", "search T using index ab (a = 3)"),
    ])
    func plansSayWhetherAnIndexIsEnough(text: String, plan: String) throws {
        let session = try StatementSession(
            "CREATE TABLE T (a INTEGER, b TEXT, c TEXT, n TEXT)", "CREATE INDEX ab ON T (a, b)",
            "CREATE INDEX n ON T (n COLLATE NOCASE)")
        #expect(try session.plan(text) == plan)
    }

    /// Where rows are long, an index-only scan replaces the table scan.
    @Test func longRowsAreNotReadForAShortColumn() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "T", columns: [ColumnSchema("a", .integer), ColumnSchema("long", .text)],
                indexes: [IndexSchema("T.a", [IndexColumn("a")])]))
        let long = Value.text(String(repeating: "l", count: 500))
        try fixture.insertAll("T", (0..<1500).map { [.integer(Int64($0 % 7)), long] })
        let view = try fixture.store.snapshot()
        let statement = try SelectStatement.parse("SELECT sum(a), count(*) FROM T WHERE a % 2 = 0")
        let analysis = try statement.analysis(fixture.catalogue, view: view)
        #expect(analysis.steps[0].text.hasPrefix("scan T using covering index T.a"))
        #expect(analysis.steps[0].examinedEntries == 1500 && analysis.steps[0].examinedRows == 0)
        let rows = try statement.run(fixture.catalogue, view: view).rows
        #expect(rows == [[.integer(2568), .integer(857)]])
    }

    /// Conditions on columns of an index are tested on its entries; counts and ids need no rows.
    @Test func numbersOfRowsNeedNoRows() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "T", columns: [ColumnSchema("a", .integer), ColumnSchema("b", .text)],
                indexes: [IndexSchema("T.a", [IndexColumn("a"), IndexColumn("b", descending: true)])]))
        try fixture.insertAll("T", (0..<100).map { [.integer(Int64($0 % 5)), .text("\($0 % 3)")] })
        let table = try fixture.table("T")
        let selection = Selection(table: "T", condition: try .parse("a = 2 AND b LIKE '%1'"))
        let plan = try selection.plan(fixture.catalogue)
        let view = try fixture.store.snapshot()
        #expect(try plan.count(in: view) == 7)
        let counted = try selection.explanation(fixture.catalogue, in: view, of: .count, analyzing: true).analysis
        let scan = try #require(counted?.steps.first)
        #expect(scan.examinedEntries == 20 && scan.examinedRows == 0)
        #expect(try plan.ids(in: view).count == 7 && table.count(in: view) == 100)
        #expect(try plan.aggregate(.maximum, of: .path("b"), in: view) == .text("1"))
    }

    /// Rows that are equal in the order come once each, whatever LIMIT and OFFSET select.
    @Test func partsOfTheRowsAreTheWhole() throws {
        let session = try StatementSession(
            "CREATE TABLE T (a INTEGER, b INTEGER, c TEXT)", "CREATE INDEX T.abc ON T (a, b, c)")
        for (place, b) in [5, 5, 3, 3, 5, 3, 4].enumerated() {
            try session.run(
                "INSERT INTO T (a, b, c) VALUES (?, ?, ?)",
                [
                    .integer(Int64(place + 1)), .integer(Int64(b)), .text("c\(place)"),
                ])
        }
        let text = "SELECT c FROM T WHERE a > 0 ORDER BY b"
        let whole = try session.run(text).rows.rows
        for size in 1...4 {
            var parts: [[Value]] = []
            for start in stride(from: 0, to: 7, by: size) {
                parts += try session.run("\(text) LIMIT \(size) OFFSET \(start)").rows.rows
            }
            #expect(Set(parts.map { "\($0)" }).count == 7 && parts.count == 7, "\(parts)")
        }
        #expect(whole.count == 7)
    }
}
