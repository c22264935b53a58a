import MakoRecords
import MakoStorage
import Testing

/// Row-id set scans: of several indexes, of sub-queries, and in the order of keys.
@Suite struct IndexUnionTests {
    private func fixture(_ count: Int, _ random: inout Seeded) throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "T",
                columns: [
                    ColumnSchema("a", .integer), ColumnSchema("b", .integer, isOptional: true),
                    ColumnSchema("c", .text), ColumnSchema("free", .integer),
                ],
                indexes: [
                    IndexSchema("T.a", [IndexColumn("a")]), IndexSchema("T.b", [IndexColumn("b", descending: true)]),
                    IndexSchema("T.c", [IndexColumn("c"), IndexColumn("a")]),
                ]),
            EntitySchema(
                name: "K",
                columns: [ColumnSchema("k", .text), ColumnSchema("v", .integer), ColumnSchema("w", .integer)],
                key: .columns(["k"]),
                indexes: [IndexSchema("K.v", [IndexColumn("v")]), IndexSchema("K.w", [IndexColumn("w")])]))
        func number(_ bound: Int, _ random: inout Seeded) -> Value {
            .integer(Int64.random(in: 0..<Int64(bound), using: &random))
        }
        try fixture.insertAll(
            "T",
            (0..<count).map { _ in
                [
                    number(20, &random), random.chance(10) ? .null : number(20, &random),
                    .text(random.pick(["x", "y", "z"])), number(20, &random),
                ]
            })
        try fixture.insertAll("K", (0..<count).map { [.text("k\($0)"), number(9, &random), number(9, &random)] })
        return fixture
    }

    private func plan(
        _ fixture: Fixture, _ table: String, _ text: String, order: String = "", limit: Int? = nil,
        isFiltered: Bool = false, isEstimated: Bool = true
    ) throws -> Plan {
        // The double negation keeps the planner from using keys.
        let selection = Selection(
            table: table, condition: try .parse(isFiltered ? "NOT (NOT (\(text)))" : text),
            orderBy: order.isEmpty ? [] : try Order.parse(order), limit: limit)
        if !isEstimated { return try selection.plan(fixture.catalogue) }
        return try selection.plan(fixture.catalogue, in: fixture.store.snapshot())
    }

    @Test(arguments: [
        ("T", "a = 1 OR b = 2", "union of index T.a, index T.b"),
        ("T", "a = 1 OR b = 2 OR c = 'x' AND a = 3", "union of index T.a, index T.b, index T."),
        ("T", "a = 1 OR a IN (2, 3) OR id < 4 OR b = 1", "union of"),
        ("T", "(a = 1 OR b = 2) AND free > 3", "union of"),
        ("T", "a = 1 AND b = 2", "intersection of index T.a, index T.b"),
        ("T", "a = 5 AND b = 2 AND free > 3", "intersection of"),
        ("K", "v = 3 OR w = 4", "union of index K.v, index K.w"),
        ("K", "v = 3 AND w = 4", "intersection of index K.v, index K.w"),
        ("K", "v = 3 OR k = 'k7'", "union of index K.v"),
        ("T", "b IS NULL OR a = 19", "union of index T.b, index T.a"),
    ])
    func gatheredKeysAnswerAsAFilterDoes(table: String, text: String, step: String) throws {
        var random = Seeded(11)
        let fixture = try fixture(2000, &random)
        let view = try fixture.store.snapshot()
        let expected = try plan(fixture, table, text, isFiltered: true).keys(in: view)
        let found = try plan(fixture, table, text, isEstimated: false)
        #expect("\(found)".contains(step), "\(found)")
        #expect(!expected.isEmpty, "no row is expected")
        #expect(try found.keys(in: view) == expected)
        #expect(try found.count(in: view) == expected.count)
        var inBatches: [RowKey] = []
        var batches = BatchedCursor(of: found)
        while !batches.isAtEnd { try batches.next(9, in: view) { key, _ in inBatches.append(key) } }
        #expect(inBatches == expected)
        if table == "T" {
            let backwards = try plan(fixture, table, text, order: "id DESC", isEstimated: false)
            #expect(!"\(backwards)".contains("sort"))
            #expect(try backwards.keys(in: view) == expected.reversed())
            let sorted = try plan(fixture, table, text, order: "free, id", limit: 7, isEstimated: false)
            let filtered = try plan(fixture, table, text, order: "free, id", limit: 7, isFiltered: true)
            #expect(try sorted.keys(in: view) == filtered.keys(in: view))
        }
    }

    /// Each key of two lists may be the one that both have, the first and the last as well.
    @Test func twoIndexesMeetAtTheirEnds() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "T", columns: [ColumnSchema("a", .integer), ColumnSchema("b", .integer)],
                indexes: [IndexSchema("T.a", [IndexColumn("a")]), IndexSchema("T.b", [IndexColumn("b")])]))
        let both: [Int64] = [1, 4, 9]
        try fixture.insertAll(
            "T",
            (1...9).map { id in both.contains(id) ? [.integer(1), .integer(1)] : [.integer(id % 2), .integer(0)] })
        let found = try plan(fixture, "T", "a = 1 AND b = 1", isEstimated: false)
        #expect("\(found)".contains("intersection"))
        #expect(try found.ids(in: fixture.store.snapshot()) == both)
    }

    @Test func whatNoIndexLeadsToIsScanned() throws {
        var random = Seeded(1)
        let fixture = try fixture(50, &random)
        for text in ["a = 1 OR free = 2", "a = 1 OR NOT b = 2", "a = 1 OR b != 3"] {
            let plan = try plan(fixture, "T", text, isEstimated: false)
            #expect("\(plan)".hasPrefix("scan T, then filter"), "\(plan)")
        }
        let one = try plan(fixture, "T", "c = 'x' AND a = 3", isEstimated: false)
        #expect("\(one)".hasPrefix("search T using index T.c (c = 'x' AND a = 3)"))
    }

    @Test func sizesDecideWhatIsRead() throws {
        var random = Seeded(3)
        let fixture = try fixture(3000, &random)
        let view = try fixture.store.snapshot()
        // Few rows have a = 77; the index that names them is enough by itself.
        try fixture.insert("T", [.integer(77), .integer(1), .text("x"), .integer(0)])
        let later = try fixture.store.snapshot()
        let text = "a = 77 AND b = 1"
        let known = try Selection(table: "T", condition: .parse(text)).explanation(fixture.catalogue, in: later)
        #expect(known.usesIndex("T.a") && !known.usesIndex("T.b") && known.chosen.expectedRows < 5)
        #expect(known.tableRows == 3001)
        #expect(known.rejected.contains { $0.text.contains("intersection") })
        #expect(
            try plan(fixture, "T", text).ids(in: later) == plan(fixture, "T", text, isFiltered: true).ids(in: later))
        #expect(try plan(fixture, "T", text).ids(in: view).isEmpty)
    }

    @Test func explanationsAreValues() throws {
        var random = Seeded(5)
        let fixture = try fixture(40, &random)
        func explain(_ text: String) throws -> PlanExplanation {
            try Selection(table: "T", condition: .parse(text)).explanation(fixture.catalogue)
        }
        let union = try explain("a = 1 OR b = 2")
        #expect(union.usesIndex("T.a") && union.usesIndex("T.b") && !union.usesIndex("T.c"))
        #expect(union.rejected.contains { $0.text.hasPrefix("scan T") } && union.missingIndexes.isEmpty)
        #expect(union.rejected.allSatisfy { $0.cost >= union.chosen.cost })
        let scan = try explain("free > 3 AND a != 2")
        #expect(scan.missingIndexes.map(\.table) == ["T"] && scan.missingIndexes.map(\.columns) == [["free"]])
        #expect("\(scan)".contains("an index over free would help") && scan.chosen.indexes.isEmpty)
        #expect(try explain("FALSE").chosen.text == "nothing to read")
        #expect(try explain("id = 3").chosen.expectedRows == 1)
    }

    /// An index may name so many rows that the order in which they are read counts, where they are more than a processor keeps near.
    @Test func manyRowsAreReadInTheOrderOfKeys() throws {
        var random = Seeded(6)
        let fixture = try Fixture(
            EntitySchema(
                name: "T", columns: [ColumnSchema("a", .integer), ColumnSchema("text", .text)],
                indexes: [IndexSchema("T.a", [IndexColumn("a")])]))
        let text = Value.text(String(repeating: "x", count: 4000))
        try fixture.insertAll("T", (0..<8200).map { _ in [.integer(Int64.random(in: 0..<20, using: &random)), text] })
        let view = try fixture.store.snapshot()
        let selection = Selection(table: "T", condition: try .parse("a > 8"))
        let explanation = try selection.explanation(fixture.catalogue, in: view)
        #expect(explanation.chosen.text.contains("by row ids"), "\(explanation)")
        let plan = try selection.plan(fixture.catalogue, in: view)
        let expected = try self.plan(fixture, "T", "a > 8", isFiltered: true).ids(in: view)
        #expect(expected.count > 4096)
        #expect(try plan.ids(in: view) == expected && plan.count(in: view) == expected.count)
        var limited = selection
        limited.limit = 5
        let few = try limited.explanation(fixture.catalogue, in: view)
        #expect(!few.chosen.text.contains("by row ids"), "\(few)")
    }

    @Test(arguments: [
        ("Person", "id IN (SELECT owner FROM Pet WHERE name = 'Rex')", "from row ids"),
        ("Person", "EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id AND age = 3)", "from row ids in owner"),
        (
            "Person", "department IN (SELECT id FROM Department WHERE id = 3)",
            "from index Person.department for each value"
        ),
        ("Person", "name IN (SELECT name FROM Person WHERE id = 3)", "from index Person.name for each value"),
        ("Department", "people.@count > 8", "from row ids in department (count(*) > 8)"),
        ("Department", "people.@count = 6 AND budget > 2", "from row ids in department (count(*) = 6)"),
        ("Department", "people.@count < 9", "scan Department"), ("Department", "people.@count >= 0", "scan Department"),
        ("Person", "id NOT IN (SELECT owner FROM Pet WHERE owner > 5)", "scan Person"),
    ])
    func subqueriesLeadToRows(table: String, text: String, step: String) throws {
        for isIndexed in [true, false] {
            let all = try ManyFixture(
                seed: 3, departments: 50, people: 400, pets: 100, isIndexed: isIndexed)
            let view = try all.fixture.store.snapshot()
            let plan = try all.plan(table, text)
            if isIndexed { #expect("\(plan)".contains(step), "\(plan)") }
            let expected = try all.plan(table, "NOT (NOT (\(text)))").ids(in: view)
            #expect(try plan.ids(in: view) == expected && plan.count(in: view) == expected.count)
            #expect(!expected.isEmpty)
        }
    }

    /// Rows that a sub-query names need not be there.
    @Test func keysOfNoRowAreLeftOut() throws {
        let fixture = try Fixture(
            EntitySchema(name: "A", columns: [ColumnSchema("n", .integer)]),
            EntitySchema(name: "B", columns: [ColumnSchema("a", .reference, isOptional: true, target: "A")]))
        try fixture.insertAll("A", [[.integer(1)], [.integer(2)]])
        try fixture.insertAll("B", [[.integer(2)], [.integer(7)], [.integer(7)], [.null]])
        let view = try fixture.store.snapshot()
        for text in ["id IN (SELECT a FROM B)", "EXISTS (SELECT 1 FROM B WHERE a = A.id)"] {
            let plan = try Selection(table: "A", condition: .parse(text)).plan(fixture.catalogue)
            #expect(try plan.ids(in: view) == [2] && plan.count(in: view) == 1 && plan.exists(in: view))
        }
    }
}
