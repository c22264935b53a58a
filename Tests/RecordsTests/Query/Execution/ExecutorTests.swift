import MakoStorage
import RandomRuns
import Testing

@testable import MakoRecords

@Suite struct ExecutorTests {
    @Test(arguments: 1...6)
    func indexesAnswerAsAFilterDoes(seed: Int) throws {
        var random = Seeded(UInt64(seed) * 7919)
        let indexes = seed == 1 ? [] : QueryFixture.indexes.filter { _ in random.chance(70) }
        let fixture = try QueryFixture.filled(160, indexes, &random)
        let table = try fixture.table("A")
        let other = try fixture.table("B")
        let view = try fixture.store.snapshot()
        var rows: [(RowKey, BruteForce.Row)] = []
        func named(_ table: TableHandle, _ key: RowKey, _ row: RowReader) -> BruteForce.Row {
            var values: BruteForce.Row = ["id": .integer(key.rowID ?? 0)]
            for (index, name) in table.layout.names.enumerated() { values[name] = row.value(index) }
            return values
        }
        try table.scan(in: view) { key, row in
            rows.append((key, named(table, key, row)))
            return true
        }
        var b: [Int64: BruteForce.Row] = [:]
        try other.scan(in: view) { key, row in
            b[key.rowID ?? 0] = named(other, key, row)
            return true
        }
        var c: [String: BruteForce.Row] = [:]
        let third = try fixture.table("C")
        try third.scan(in: view) { key, row in
            c[row.text(0)] = named(third, key, row)
            return true
        }
        let model = BruteForce(keyName: { $0 == "code" ? "k" : "id" }) { _, value in
            switch value {
            case .integer(let id): b[id]
            case .text(let key): c[key]
            default: nil
            }
        }
        var matched = 0
        for round in 0..<700 {
            let condition = QueryFixture.condition(&random, depth: random.chance(60) ? 2 : 1)
            let orders = random.pick([
                "", "i", "i DESC", "t COLLATE NOCASE, id", "ref.n, i DESC", "j, i, d DESC", "id DESC", "b, i DESC",
                "at DESC, j", "i + j",
            ])
            var selection = Selection(
                table: "A", condition: condition, orderBy: orders.isEmpty ? [] : try Order.parse(orders))
            if random.chance(40) { selection.limit = Int.random(in: 0...20, using: &random) }
            if random.chance(20) { selection.offset = Int.random(in: 0...20, using: &random) }
            let plan: Plan
            do { plan = try selection.plan(fixture.catalogue) } catch {
                Issue.record("\(condition): \(error)")
                continue
            }
            let expected = rows.filter { model.truth(condition, $0.1) == true }
            matched += expected.count
            let found = try plan.keys(in: view)
            let note: Comment = "round \(round): \(plan) [\(condition)]"
            let start = min(selection.offset ?? 0, expected.count)
            let count = min(selection.limit ?? .max, expected.count - start)
            #expect(found.count == count, note)
            #expect(try plan.count(in: view) == count, note)
            #expect(try plan.exists(in: view) == (count > 0), note)
            #expect(Set(found).isSubset(of: Set(expected.map(\.0))), note)
            #expect(Set(found).count == found.count, note)
            // In order: the sort keys of what came are those of the sorted whole.
            let sortKeys = expected.map { row in (row.0, coding(selection.orderBy, model, row.1)) }
                .sorted { KeyOrder.precedes($0.1, $1.1) }
            let byKey = Dictionary(uniqueKeysWithValues: sortKeys.map { ($0.0, $0.1) })
            if !selection.orderBy.isEmpty {
                #expect(found.map { byKey[$0] } == sortKeys[start..<start + count].map(\.1), note)
            }
            var scanned: [RowKey] = []
            try plan.forEachRow(in: view) { key, row in
                scanned.append(key)
                return true
            }
            #expect(scanned == found, note)
            var inBatches: [RowKey] = []
            var batches = BatchedCursor(of: plan)
            while !batches.isAtEnd, inBatches.count <= found.count {
                try batches.next(Int.random(in: 1...40, using: &random), in: view) { key, _ in inBatches.append(key) }
            }
            #expect(inBatches == found, note)
        }
        #expect(matched > 5000)
    }

    private func coding(_ orders: [Order], _ model: BruteForce, _ row: BruteForce.Row) -> [UInt8] {
        var buffer = KeyBuffer()
        for order in orders {
            let start = buffer.count
            var value = model.value(order.expr, row)
            if case .arithmetic = order.expr, case .integer(let number) = value { value = .double(Double(number)) }
            buffer.append(value, noCase: order.noCase)
            if order.descending { buffer.complement(from: start) }
        }
        return buffer.bytes
    }

    /// A sort with a limit drops the rows beyond limit and offset while it runs.
    ///
    /// Rows that come in the order itself show whether too many are dropped.
    @Test(arguments: ["j DESC, t, id DESC", "id + 0", "0 - id"])
    func rowsThatAnOffsetPassesOverAreKept(order: String) throws {
        var random = Seeded(21)
        let fixture = try QueryFixture.filled(3000, [], &random)
        let view = try fixture.store.snapshot()
        var selection = Selection(table: "A", orderBy: try Order.parse(order))
        let all = try selection.plan(fixture.catalogue).keys(in: view)
        selection.limit = 3
        for offset in [0, 1, 40, 700, 1499, 2600, all.count - 1] {
            selection.offset = offset
            let found = try selection.plan(fixture.catalogue).keys(in: view)
            #expect(found == Array(all.dropFirst(offset).prefix(3)), "\(offset)")
        }
    }

    /// Whole numbers beyond 2^53 lie closer together than doubles do.
    @Test(arguments: [
        "a + 0", "a", "abs(a)", "coalesce(a, 0)", "CASE WHEN a IS NULL THEN 0 ELSE a END", "0 - (0 - a)", "1", "c",
        "u + 0",
    ])
    func workedOutNumbersAreOrderedExactly(order: String) throws {
        let session = StatementSession(store: try Fixture().store)
        try session.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, u UNSIGNED)")
        let (least, most): (Int64, UInt64) = (1 << 53, 1 << 63)
        for step in [3, 0, 4, 1, 2] {
            try session.run(
                "INSERT INTO t (a, u) VALUES (?, ?)", [.integer(least + Int64(step)), .unsigned(most + UInt64(step))])
        }
        let ascending = (0..<5).map { [Value.integer(least + $0)] }
        let query = "SELECT a + 0 AS c FROM t ORDER BY \(order)"
        #expect(try session.rows(query) == ascending)
        #expect(try session.rows(query + " DESC") == ascending.reversed())
        #expect(try session.rows(query + " LIMIT 1 OFFSET 1") == [ascending[1]])
        #expect(
            try session.rows("SELECT DISTINCT a + 0 AS c FROM t ORDER BY c DESC LIMIT 2") == [
                ascending[4], ascending[3],
            ])
        let inner = try session.rows("SELECT m FROM (SELECT a + 0 AS m FROM t LIMIT 9) q ORDER BY m + 0")
        #expect(inner == ascending)
    }

    /// More rows are referred to than a query keeps at hand.
    @Test func everyReferenceLeadsToItsOwnRow() throws {
        let fixture = try Fixture(
            EntitySchema(name: "B", columns: [ColumnSchema("v", .integer)]),
            EntitySchema(
                name: "A",
                columns: [ColumnSchema("ref", .reference, isOptional: true, target: "B"), ColumnSchema("j", .integer)]))
        let count: Int64 = 1500
        try fixture.insertAll("B", (1...count).map { [.integer($0 * 10)] })
        try fixture.insertAll("A", (1...count).map { [.integer($0), .integer($0 * 10)] })
        let view = try fixture.store.snapshot()
        let own = Selection(table: "A", condition: .comparison(.equal, .path("j"), .path("ref.v")))
        #expect(try own.plan(fixture.catalogue).count(in: view) == Int(count))
        let values = try Selection(table: "A").plan(fixture.catalogue).rows([.path("ref.v")], in: view)
        #expect(values == (1...count).map { [.integer($0 * 10)] })
    }

    @Test func transactionsSeeTheirOwnRows() throws {
        let fixture = try QueryFixture.small()
        let table = try fixture.table("A")
        let plan = try Selection(table: "A", condition: .parse("i = 77 AND ref.n = 'one'")).plan(fixture.catalogue)
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            row.begin(table.layout)
            row.set(0, Int64(77))
            row.set(8, Int64(1))
            let key = try table.insert(&row, in: tx, changes: &changes)
            let inside = try plan.keys(in: tx.view)
            let outside = try plan.keys(in: fixture.store.snapshot())
            #expect(inside == [key] && outside == [])
        }
        #expect(try plan.count(in: fixture.store.snapshot()) == 1)
    }

    @Test func longTextsKeepTheirOrder() throws {
        let schema = EntitySchema(
            name: "L", columns: [ColumnSchema("t", .text)], indexes: [IndexSchema("L.t", [IndexColumn("t")])])
        let fixture = try Fixture(schema)
        var random = Seeded(8)
        let long = String(repeating: "q", count: 1000)
        var texts = (0..<60).map { _ in long + random.pick(["", "a", "b", "zz"]) + "\(random.next() % 20)" }
        texts += (770...810).map { String(repeating: "q", count: $0) } + ["p", "r", "q"]
        try fixture.insertAll("L", texts.shuffled(using: &random).map { [.text($0)] })
        let view = try fixture.store.snapshot()
        for direction in ["t", "t DESC"] {
            let plan = try Selection(table: "L", orderBy: Order.parse(direction), limit: 500).plan(fixture.catalogue)
            #expect(plan.description.contains("using index L.t"))
            let found = try plan.rows([.path("t")], in: view).map { $0[0] }
            let sorted = texts.sorted { Value.text($0).compare(.text($1)) == -1 }.map(Value.text)
            #expect(found == (direction == "t" ? sorted : sorted.reversed()))
        }
        for text in [long + "a3", long, String(repeating: "q", count: 790), "q"] {
            for operation in ["=", "<", ">="] {
                let plan = try Selection(table: "L", condition: .parse("t \(operation) ?"), parameters: [.text(text)])
                    .plan(fixture.catalogue)
                let expected = texts.filter { other in
                    let order = Value.text(other).compare(.text(text)) ?? 0
                    return operation == "=" ? order == 0 : (operation == "<" ? order < 0 : order >= 0)
                }
                #expect(try plan.count(in: view) == expected.count, "\(operation)")
            }
        }
    }

    @Test func aggregatesAndGroups() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "N",
                columns: [
                    ColumnSchema("i", .integer, isOptional: true), ColumnSchema("d", .double, isOptional: true),
                    ColumnSchema("g", .text, isOptional: true),
                ],
                indexes: [IndexSchema("N.i", [IndexColumn("i")])]))
        try fixture.insertAll(
            "N",
            [
                [.integer(1), .double(0.5), .text("x")], [.integer(5), .null, .text("y")],
                [.null, .double(2), .text("x")],
                [.integer(-3), .double(1), .null],
            ])
        let view = try fixture.store.snapshot()
        let all = try Selection(table: "N").plan(fixture.catalogue)
        func value(_ function: AggregateFunction, _ text: String, _ plan: Plan? = nil) throws -> Value {
            try (plan ?? all).aggregate(function, of: .parse(text), in: view)
        }
        #expect(try value(.sum, "i") == .integer(3))
        #expect(try value(.average, "i") == .double(1))
        #expect(try value(.minimum, "i") == .integer(-3))
        #expect(try value(.maximum, "i") == .integer(5))
        #expect(try value(.count, "i") == .integer(3))
        #expect(try value(.total, "d") == .double(3.5))
        #expect(try value(.sum, "i + 1") == .integer(6))
        #expect(try value(.maximum, "g") == .text("y"))
        let none = try Selection(table: "N", condition: .parse("i > 100")).plan(fixture.catalogue)
        #expect(try value(.sum, "i", none) == .null)
        #expect(try value(.total, "i", none) == .double(0))
        #expect(try value(.minimum, "i", none) == .null)
        let few = try Selection(table: "N", orderBy: Order.parse("i DESC"), limit: 2).plan(fixture.catalogue)
        #expect(try value(.sum, "i", few) == .integer(6))
        #expect(throws: RecordError.self) { try value(.sum, "g") }
        let groups = try all.groupCount(by: .path("g"), in: view)
        #expect(groups.map(\.value) == [.null, .text("x"), .text("y")])
        #expect(groups.map(\.count) == [1, 2, 1])
        try fixture.insertAll("N", [[.integer(.max), .null, .null], [.integer(.max - 10), .null, .null]])
        let more = try fixture.store.snapshot()
        #expect(try all.aggregate(.sum, of: .path("i"), in: more) == .unsigned(UInt64(Int64.max) * 2 - 7))
    }

    @Test func functionsAndArithmetic() throws {
        let fixture = try QueryFixture.small()
        let view = try fixture.store.snapshot()
        let plan = try Selection(table: "B", condition: .parse("id = 3")).plan(fixture.catalogue)
        for (text, value) in [
            ("upper(n)", Value.text("THREE")), ("length(n)", .integer(5)), ("substr(n, 2, 3)", .text("hre")),
            ("substr(n, -2)", .text("ee")),
            // Places before the first letter count, as in SQLite.
            ("substr(n, -7, 3)", .text("T")), ("substr(n, -7, 2)", .text("")), ("substr(n, -7)", .text("Three")),
            ("trim('  x ')", .text("x")), ("abs(-3)", .integer(3)), ("round(2.567, 2)", .double(2.57)),
            ("round(2.5)", .double(3)),
            ("coalesce(v, 9)", .integer(9)), ("nullif(1, 1)", .null), ("7 / 2", .integer(3)), ("7 / 2.0", .double(3.5)),
            ("7 % 4", .integer(3)),
            ("1 / 0", .null), ("9223372036854775807 + 1", .unsigned(1 << 63)),
            ("-9223372036854775808 - 1", .double(-0x1p63)),
            ("18446744073709551615 * 18446744073709551615", .double(0x1p128)), ("'a' || n || 'b'", .text("aThreeb")),
            ("date('2001-01-02') - date('2001-01-01')", .double(86_400)), ("date('2001-01-01') + 5", .date(5)),
            ("parent.parent.n", .text("one")),
            ("abs(-9223372036854775808)", .unsigned(1 << 63)), ("length('日本')", .integer(2)),
            ("lower('ÄB')", .text("äb")),
            ("v + 1", .null), ("-v", .null), ("substr('abc', 0, 99)", .text("abc")), ("substr('abc', 9)", .text("")),
        ] {
            #expect(try plan.rows([.parse(text)], in: view) == [[value]], "\(text)")
        }
    }
}
