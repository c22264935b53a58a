import MakoStorage
import Testing

@testable import MakoRecords

/// Truncated and false index tuples in index-only scans, and special cases of such scans.
@Suite struct IndexTupleTests {
    private static let values: [(type: ColumnType, value: Value)] = [
        (.bool, .bool(true)), (.uuid, .uuid(0x0102_0304, 9)), (.integer, .integer(-700)), (.unsigned, .unsigned(.max)),
        (.double, .double(1.5)), (.date, .date(86_400)), (.text, .text("ab\u{0}\u{1}x")), (.blob, .blob([0, 1, 255])),
    ]
    private static let queries = [
        "SELECT n, c FROM T ORDER BY c", "SELECT n, c FROM T WHERE c IS NOT NULL", "SELECT DISTINCT c, n FROM T",
        "SELECT c, n, count(*) FROM T GROUP BY c, n", "SELECT c, min(n), max(n) FROM T GROUP BY c",
        "SELECT c, count(*) FROM T GROUP BY c", "SELECT DISTINCT c FROM T",
    ]

    /// Rows that agree in a column of some type, with an index that holds it.
    private static func fixture(_ type: ColumnType, _ value: Value, descending: Bool) throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "T", columns: [ColumnSchema("c", type, isOptional: true), ColumnSchema("n", .integer)],
                indexes: [
                    IndexSchema(
                        "T.c",
                        [IndexColumn("c", descending: descending), IndexColumn("n", descending: descending)],
                        isUnique: true)
                ]))
        try fixture.insertAll("T", (1...40).map { [value, .integer($0)] })
        return fixture
    }

    private static func entry(_ fixture: Fixture, _ id: Int64) throws -> [UInt8] {
        let table = try fixture.table("T")
        let key = RowKey.rowID(id)
        let entry = try table.withRow(key, in: try fixture.store.snapshot()) { row in
            var buffer = KeyBuffer()
            table.indexes[0].encodeEntry(row, key, into: &buffer)
            return buffer.bytes
        }
        return try #require(entry)
    }

    private static func put(_ entry: [UInt8], naming id: Int64, into fixture: Fixture) throws {
        let index = try fixture.table("T").indexes[0]
        try fixture.store.write { tx in try tx.put(index.entryValue(.rowID(id)), for: entry, in: index.tree) }
    }

    /// Everything that the entry of a row may be cut to, and codings that no text has.
    private static func broken(_ entry: [UInt8], descending: Bool) -> [[UInt8]] {
        let flip: UInt8 = descending ? 0xFF : 0
        let strange = [[2, 1, 9], [2, 1], [2, 65, 1, 0]].map { (bytes: [UInt8]) in bytes.map { $0 ^ flip } }
        return (1..<entry.count).map { Array(entry[..<$0]) } + strange
    }

    private static func rows(_ fixture: Fixture, _ text: String) throws -> [[Value]] {
        try SelectStatement.parse(text).run(fixture.catalogue, view: fixture.store.snapshot()).rows
    }

    /// Nil: the index is called damaged.
    private static func answer(_ body: () throws -> [[Value]]) throws -> Set<[Value]>? {
        do { return Set(try body()) } catch let error as RecordError {
            guard case .indexDamaged(table: "T", index: "T.c", _) = error else { throw error }
            return nil
        }
    }

    /// A value that an index tuple lacks is read from its row; if the tuple names no row, the index is damaged.
    @Test(arguments: 0..<values.count, [false, true])
    func truncatedEntriesGiveNoWrongResult(number: Int, descending: Bool) throws {
        let (type, value) = Self.values[number]
        let whole = try Self.entry(Self.fixture(type, value, descending: descending), 2)
        let sound = try Self.fixture(type, value, descending: descending)
        var expected: [Set<[Value]>] = []
        for text in Self.queries {
            let plan = try SelectStatement.parse(text).explanation(sound.catalogue, view: sound.store.snapshot())
                .outline
            #expect(plan.contains("covering index"), "\(plan)")
            expected.append(Set(try Self.rows(sound, text)))
        }
        for entry in Self.broken(whole, descending: descending) {
            for named in [2, 99] as [Int64] {
                let fixture = try Self.fixture(type, value, descending: descending)
                let tree = try fixture.table("T").indexes[0].tree
                try fixture.store.write { tx in _ = try tx.delete(whole, in: tree) }
                try Self.put(entry, naming: named, into: fixture)
                for (text, right) in zip(Self.queries, expected) {
                    let found = try Self.answer { try Self.rows(fixture, text) }
                    if let found { #expect(found == right, "\(text) \(entry)") }
                    // This query reads each row, so an entry that names none is an error.
                    if named == 99 && text.contains("n, c FROM T ORDER") { #expect(found == nil, "\(entry)") }
                }
                let plan = try Selection(table: "T").plan(fixture.catalogue)
                let view = try fixture.store.snapshot()
                let values = try Self.answer { try plan.distinctValues(of: .path("c"), in: view).map { [$0] } }
                if let values { #expect(values == [[value]], "\(entry)") }
            }
        }
    }

    /// An entry that holds no value of its column is no value.
    @Test func damagedEntriesHoldNoValue() throws {
        let fixture = try Self.fixture(.integer, .integer(5), descending: false)
        try Self.put([2, 1, 1], naming: 2, into: fixture)
        let plan = try Selection(table: "T").plan(fixture.catalogue)
        let error = Fixture.error { _ = try plan.distinctValues(of: .path("c"), in: fixture.store.snapshot()) }
        #expect(error == .indexDamaged(table: "T", index: "T.c", reason: "an entry holds no value"))
    }

    /// Only the row has the sign of a zero: an entry that moves a row into another group's run makes a group of its
    /// own.
    @Test func groupsEndWhereAnEntryLies() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "T", columns: [ColumnSchema("c", .double), ColumnSchema("n", .integer)],
                indexes: [IndexSchema("T.c", [IndexColumn("c"), IndexColumn("n")])]))
        try fixture.insertAll("T", (1...60).map { [.double(0), .integer($0)] } + [[.double(7), .integer(0)]])
        var buffer = KeyBuffer()
        buffer.append(0.0)
        buffer.append(Int64(90))
        buffer.append(bigEndian: KeyOrder.treeKey(61))
        try Self.put(buffer.bytes, naming: 61, into: fixture)
        #expect(
            try Self.rows(fixture, "SELECT c, min(n) FROM T GROUP BY c LIMIT 1") == [[.double(0), .integer(1)]])
        #expect(try Self.rows(fixture, "SELECT c, min(n) FROM T GROUP BY c LIMIT 0").isEmpty)
        #expect(try Self.rows(fixture, "SELECT DISTINCT c FROM T LIMIT 1") == [[.double(0)]])
    }

    /// Long runs without a value, jumped over in both directions, against the same without an index.
    @Test func runsWithoutValuesAreJumpedOver() throws {
        func fixture(_ indexes: [IndexSchema]) throws -> Fixture {
            let fixture = try Fixture(
                EntitySchema(
                    name: "T",
                    columns: [
                        ColumnSchema("a", .integer, isOptional: true), ColumnSchema("b", .integer, isOptional: true),
                        ColumnSchema("j", .integer),
                    ], indexes: indexes))
            try fixture.insertAll(
                "T",
                (0..<300).map { number in
                    [
                        number % 3 == 0 ? .null : .integer(number % 3),
                        number % 2 == 0 ? .null : .integer(number % 50), .integer(number % 4),
                    ]
                })
            return fixture
        }
        let plain = try fixture([])
        for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
            let columns = [IndexColumn("a", descending: first), IndexColumn("b", descending: second)]
            let indexed = try fixture([IndexSchema("T.ab", columns)])
            for text in [
                "SELECT a, min(b), max(b) FROM T WHERE a = 1 AND b IS NULL GROUP BY a",
                "SELECT a, min(b) FROM T WHERE a IS NULL AND b IS NULL GROUP BY a",
                "SELECT a, min(b), max(b) FROM T GROUP BY a", "SELECT a, max(b) FROM T GROUP BY a ORDER BY a DESC",
                "SELECT a, min(b) FROM T WHERE b IS NULL GROUP BY a", "SELECT a, min(b) FROM T GROUP BY a LIMIT 2",
                "SELECT a, min(b + 1) FROM T GROUP BY a", "SELECT a, max(id) FROM T GROUP BY a",
                "SELECT a, min(b), max(b) FROM T GROUP BY a HAVING NOT max(b) > 47",
                "SELECT a, count(*) FROM T GROUP BY a HAVING NOT (count(*) > 3 AND NOT a = 1)",
                "SELECT a, min(b) FROM T WHERE a > 3 AND a < 2 GROUP BY a", "SELECT DISTINCT a FROM T LIMIT 0",
                "SELECT a, min(b) FROM T WHERE FALSE GROUP BY a",
                "SELECT DISTINCT a FROM T WHERE a IN (SELECT b FROM T WHERE FALSE)",
                "SELECT count(*) FROM T WHERE a NOT IN (SELECT b FROM T WHERE NULL)",
                "SELECT count(*) FROM T AS o WHERE EXISTS (SELECT b FROM T WHERE T.a = o.b AND FALSE)",
                "SELECT count(*) FROM T WHERE a = (SELECT b FROM T LIMIT 0)",
            ] {
                #expect(try Self.rows(indexed, text) == Self.rows(plain, text), "\(text) \(first) \(second)")
            }
        }
    }

    /// Distinct values of a table with few rows or none are read from an index as well.
    @Test(arguments: 0...6)
    func fewRows(count: Int) throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "T", columns: [ColumnSchema("a", .integer), ColumnSchema("b", .integer)],
                indexes: [
                    IndexSchema("T.a", [IndexColumn("a")]), IndexSchema("T.ba", [IndexColumn("b")], where: "a > 0"),
                ]))
        try fixture.insertAll("T", (0..<count).map { [.integer(Int64($0 % 2)), .integer(Int64($0 % 3))] })
        let different: [[Value]] = (0..<min(count, 2)).map { [.integer(Int64($0))] }
        #expect(try Self.rows(fixture, "SELECT DISTINCT a FROM T") == different)
        #expect(try Self.rows(fixture, "SELECT DISTINCT a FROM T ORDER BY 1 LIMIT 1") == Array(different.prefix(1)))
        #expect(try Self.rows(fixture, "SELECT DISTINCT a FROM T WHERE a IN (0, 1)") == different)
        #expect(
            try Set(Self.rows(fixture, "SELECT DISTINCT b FROM T WHERE a > 0")).count == [0, 0, 1, 1, 2, 2, 3][count])
    }

    /// The columns fixed by the condition of a partial index are read from the rows' keys.
    @Test func columnsOfTheKeyBesideThoseOfAnIndex() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "T",
                columns: [ColumnSchema("k", .text), ColumnSchema("z", .integer), ColumnSchema("a", .integer)],
                key: .columns(["k", "z"]), indexes: [IndexSchema("T.a", [IndexColumn("a")], where: "k = 'x'")]))
        try fixture.insertAll(
            "T", (0..<90).map { [.text($0 % 2 == 0 ? "x" : "y"), .integer($0), .integer($0 % 5)] })
        let text = "SELECT DISTINCT a, k FROM T WHERE k = 'x'"
        #expect(try Set(Self.rows(fixture, text)) == Set((0..<5).map { [.integer($0), .text("x")] }))
        #expect(
            try Self.rows(fixture, "SELECT a, k, count(*) FROM T WHERE k = 'x' GROUP BY a, k")
                == (0..<5).map { [.integer($0), .text("x"), .integer(9)] })
    }

    @Test func allColumnsOfJoinedSubqueries() throws {
        let session = try StatementSession(
            "CREATE TABLE T (a INTEGER, b INTEGER)", "INSERT INTO T (a, b) VALUES (1, 2), (3, 4)")
        let joined = "FROM (SELECT a, b FROM T) q JOIN T t ON t.a = q.a"
        #expect(
            try session.rows("SELECT *, q.a + 1 AS more \(joined) ORDER BY q.a").map { $0.last }
                == [.integer(2), .integer(4)])
        #expect(
            try session.rows("SELECT q.*, t.b \(joined) WHERE q.a = 3") == [[.integer(3), .integer(4), .integer(4)]])
        #expect(session.refusal("SELECT missing.* \(joined)").contains("there is no table missing"))
        for query in ["(SELECT a FROM T) q", "(SELECT a, count(*) FROM T GROUP BY a) q"] {
            #expect(session.refusal("SELECT missing.*, a FROM \(query)").contains("there is no table missing"))
        }
        #expect(try session.rows("SELECT q.*, a FROM (SELECT a FROM T) q WHERE a = 1") == [[.integer(1), .integer(1)]])
        #expect(session.refusal("SELECT a FROM T GROUP BY a HAVING NOT T MATCH 'x'").contains("MATCH tests rows"))
    }

    /// A number of a double column is the number of a whole one only where it is exactly that.
    @Test func wholeNumbersWithoutADoubleJoinNothing() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "Half", columns: [ColumnSchema("d", .double)], indexes: [IndexSchema("d", [IndexColumn("d")])]),
            EntitySchema(name: "Whole", columns: [ColumnSchema("n", .integer)]))
        let odd: Int64 = 1 << 53 + 1
        try fixture.insertAll("Half", [[.double(0x1p53)], [.double(3)]])
        try fixture.insertAll("Whole", [[.integer(odd)], [.integer(odd - 1)], [.integer(3)], [.integer(4)]])
        #expect(
            try Self.rows(fixture, "SELECT n FROM Whole JOIN Half ON Half.d = Whole.n ORDER BY n")
                == [[.integer(3)], [.integer(odd - 1)]])
    }

    /// A value that begins with `!` is a condition.
    @Test func aDeniedConditionIsAValue() throws {
        let fixture = try Fixture(EntitySchema(name: "T", columns: [ColumnSchema("a", .integer)]))
        try fixture.insertAll("T", [[.integer(1)], [.integer(2)], [.integer(3)]])
        #expect(try Self.rows(fixture, "SELECT !(a = 2) FROM T") == [[.integer(1)], [.integer(0)], [.integer(1)]])
        #expect(try Self.rows(fixture, "SELECT sum(! a = 2) FROM T") == [[.integer(2)]])
    }

    /// Rows that hold the key of a row which is not there.
    @Test func danglingReferencesMatchNoRow() throws {
        let fixture = try Fixture(
            EntitySchema(name: "Box", columns: [ColumnSchema("code", .text)], key: .columns(["code"])),
            EntitySchema(name: "Thing", columns: [ColumnSchema("box", .text, isOptional: true, target: "Box")]),
            EntitySchema(
                name: "Shelf", columns: [ColumnSchema("boxes", .keys, isOptional: true, target: "Box")],
                indexes: [IndexSchema("Shelf.boxes", [IndexColumn("boxes")])]))
        try fixture.insertAll("Box", [[.text("x")], [.text("y")]])
        try fixture.insertAll("Thing", [[.text("x")], [.text("gone")], [.null]])
        let held = KeyTree.list([.key(RowKey(values: [.text("x")]))]).encoded
        try fixture.insertAll("Shelf", [[.blob(held)], [.null]])
        let catalogue = fixture.catalogue.describing([
            "Box": TableRelations(inverses: ["shelves": .init(table: "Shelf", column: "boxes")])
        ])
        func count(_ condition: String) throws -> Int {
            try Selection(table: "Thing", condition: .parse(condition)).plan(catalogue).count(
                in: fixture.store.snapshot())
        }
        #expect(try count("box.shelves.@count = 1") == 1)
        #expect(try count("box.shelves.@count = 0") == 2)
        #expect(try count("NONE box.shelves.id > 0") == 2)
    }

    /// Whether a row has a word is not in an index entry: the row is read.
    @Test func wordsAreNotReadFromEntries() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "Article", columns: [ColumnSchema("title", .text), ColumnSchema("year", .integer)],
                indexes: [
                    IndexSchema("Article.year", [IndexColumn("year")]),
                    IndexSchema("Article.text", [IndexColumn("title")], fullText: FullTextOptions()),
                ]))
        try fixture.insertAll(
            "Article", (0..<50).map { [.text($0 % 5 == 0 ? "steam" : "sea"), .integer($0)] })
        let view = try fixture.store.snapshot()
        let plan = try Selection(table: "Article", condition: .parse("year >= 40")).plan(fixture.catalogue)
        let found = try Expr.parse("CASE WHEN title MATCH 'steam' THEN 1 ELSE 0 END")
        #expect(try plan.aggregate(.sum, of: found, in: view) == .integer(2))
        #expect(try plan.distinctValues(of: found, in: view) == [.integer(0), .integer(1)])
    }
}
