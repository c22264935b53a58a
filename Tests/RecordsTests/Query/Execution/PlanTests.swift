import MakoRecords
import MakoStorage
import Testing

/// Scans of a plan in both directions, from and to missing rows.
@Suite struct PlanTests {
    /// Rows 1 to 20 without those that three divides, and their numbers backwards.
    private func fixture() throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "T", columns: [ColumnSchema("n", .integer), ColumnSchema("t", .text)],
                indexes: [IndexSchema("T.t", [IndexColumn("t", noCase: true)])]))
        try fixture.insertAll("T", (1...20).map { [.integer(20 - $0), .text($0 % 2 == 0 ? "a\($0)" : "A\($0)")] })
        let table = try fixture.table("T")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            for id in stride(from: Int64(3), to: 20, by: 3) { try table.delete(.rowID(id), in: tx, changes: &changes) }
        }
        return fixture
    }

    private func plan(
        _ fixture: Fixture, _ text: String = "TRUE", order: [Order] = [], limit: Int? = nil, offset: Int? = nil
    ) throws -> Plan {
        try Selection(table: "T", condition: .parse(text), orderBy: order, limit: limit, offset: offset)
            .plan(fixture.catalogue)
    }

    @Test(arguments: [
        "id < 9", "id <= 9", "id > 4", "id > 3 AND id < 18", "id >= 18", "id < 100", "id < 1", "id > 20",
        "id IN (3, 5, 8, 4, 5)", "id IN (16)", "id = 3",
    ])
    func idsAreScannedInBothDirections(text: String) throws {
        let fixture = try fixture()
        let view = try fixture.store.snapshot()
        // The double negation keeps the planner from using keys.
        let filter = try plan(fixture, "NOT (NOT (\(text)))")
        #expect("\(filter)".hasPrefix("scan T, then filter"))
        let expected = try filter.ids(in: view)
        let forwards = try plan(fixture, text, order: [Order("id")])
        let backwards = try plan(fixture, text, order: [Order("id", descending: true)])
        #expect(!"\(forwards) \(backwards)".contains("sort"))
        #expect(try forwards.ids(in: view) == expected)
        #expect(try backwards.ids(in: view) == expected.reversed())
    }

    @Test func aTableScanFindsTheRowsOfItsPlan() throws {
        let fixture = try fixture()
        let view = try fixture.store.snapshot()
        for (text, isWhole) in [("TRUE", true), ("id < 9", false), ("id BETWEEN 4 AND 12", false), ("id > 99", false)] {
            let plan = try plan(fixture, text)
            let scan = try #require(plan.plainScan)
            var found: [Int64] = []
            try scan.forEachRow(fixture.table("T").layout, in: view) { id, row in
                #expect(row.integer(0) == 20 - id)
                found.append(id)
                return true
            }
            #expect(try found == plan.ids(in: view) && scan.isWhole == isWhole)
        }
        #expect(try plan(fixture, "n = 3").plainScan == nil && plan(fixture, limit: 3).plainScan == nil)
    }

    @Test func limitsMayBeAsLargeAsNumbersAre() throws {
        let fixture = try fixture()
        let view = try fixture.store.snapshot()
        for order in [[], [Order("n")]] {
            for (limit, offset, left) in [(Int.max, 1, 13), (.max, .max, 0), (3, .max, 0), (.max, 13, 1), (2, 13, 1)] {
                let plan = try plan(fixture, "n >= 0", order: order, limit: limit, offset: offset)
                #expect(try plan.count(in: view) == left && plan.ids(in: view).count == left)
                #expect(try plan.exists(in: view) == (left > 0))
            }
        }
    }

    @Test func ordersInCodeMayIgnoreCase() throws {
        let fixture = try fixture()
        let view = try fixture.store.snapshot()
        let inText = try plan(fixture, order: Order.parse("t COLLATE NOCASE"))
        for order in [Order("t", noCase: true), Order(.noCase(.path("t")))] {
            let plan = try plan(fixture, order: [order])
            #expect(try plan.description == inText.description && plan.ids(in: view) == inText.ids(in: view))
        }
        #expect(try inText.ids(in: view) != plan(fixture, order: [Order("t")]).ids(in: view))
    }
}
