import MakoStorage
import Testing

import MakoRecords

/// Rows that an index names, gathered in groups, against the same rows one by one.
@Suite struct IndexedScanTests {
    private static let numbers: [Int64] = [-1, 0, 1, 255, 256, .max, .min]

    /// 700 rows of each number, 20 of each of two more; every seventh text is longer than an entry keeps of it.
    private static func fixture(descending: Bool = false) throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "T",
                columns: [
                    ColumnSchema("a", .integer, isOptional: true), ColumnSchema("b", .text),
                    ColumnSchema("c", .integer),
                ],
                indexes: [
                    IndexSchema("T.ab", [IndexColumn("a", descending: descending), IndexColumn("b")]),
                    IndexSchema("T.c", [IndexColumn("c")], isUnique: true),
                ]))
        let long = String(repeating: "x", count: 900)
        try fixture.insertAll(
            "T",
            (0..<4900).map { (number: Int) in
                let tail = String(number % 97)
                return [
                    .integer(numbers[number % 7]), .text(number % 49 < 7 ? long + tail : tail), .integer(Int64(number)),
                ]
            })
        try fixture.insertAll("T", (0..<5).map { [.null, .text("none"), .integer(4900 + $0)] })
        try fixture.insertAll("T", (0..<40).map { [.integer(9 + $0 % 2), .text("few \($0)"), .integer(4905 + $0)] })
        return fixture
    }

    private static func selection(
        _ text: String, _ values: [Value] = [], limit: Int? = nil, order: String? = nil
    ) throws -> Selection {
        Selection(
            table: "T", condition: try .parse(text), parameters: values,
            orderBy: try order.map { try Order.parse($0) } ?? [], limit: limit)
    }

    private static func scanned(_ plan: Plan, _ view: Snapshot) throws -> (ids: [Int64], groups: [Int]) {
        var ids: [Int64] = []
        var groups: [Int] = []
        try plan.forEachGroup(in: view) { group in
            groups.append(group.count)
            try plan.withRows(group, plan.table.layout, in: view) { id, row in
                #expect(row.integer(2) + 1 == id)
                ids.append(id)
            }
            return true
        }
        return (ids, groups)
    }

    @Test(arguments: [false, true]) func rowsAreThoseOfThePlan(descending: Bool) throws {
        let fixture = try Self.fixture(descending: descending)
        let view = try fixture.store.snapshot()
        var shapes = ([9, 10] + Self.numbers).map { ("a = ?", [Value.integer($0)]) }
        shapes += [("a IS NULL", []), ("a >= 0 AND a < 256", []), ("a IN (1, 255)", []), ("a = 255 AND b = '3'", [])]
        shapes += [("c >= 4000", []), ("c = 77", []), ("c IN (3, 9, 700)", [])]
        for (text, values) in shapes {
            for limit in [nil, 0, 1, 2, 256, 257, 600] as [Int?] {
                // The second run finds the cached plan.
                for _ in 0..<2 {
                    let plan = try Self.selection(text, values, limit: limit).plan(fixture.catalogue, in: view)
                    guard plan.isIndexedScan else { continue }
                    let (ids, groups) = try Self.scanned(plan, view)
                    #expect(try ids == plan.ids(in: view), "\(text) \(values) \(limit ?? -1)")
                    #expect(groups.allSatisfy { 0 < $0 && $0 <= 256 })
                }
            }
        }
        for order in ["c", "c DESC"] {
            let plan = try Self.selection("c > 300 AND c < 900", order: order).plan(fixture.catalogue, in: view)
            #expect(try plan.isIndexedScan && Self.scanned(plan, view).ids == plan.ids(in: view))
        }
    }

    /// A plan cached for one number has no key range, and finds the same rows as one with a range.
    @Test func cachedPlansUseTheNumberItself() throws {
        let fixture = try Self.fixture()
        let view = try fixture.store.snapshot()
        for number in [9, 10] + Self.numbers + [2, -2, 65_535] {
            let known = try Self.selection("a = ? AND TRUE", [.integer(number)]).plan(fixture.catalogue)
            let expected = try known.ids(in: view)
            #expect(expected.count == (Self.numbers.contains(number) ? 700 : [9, 10].contains(number) ? 20 : 0))
            for _ in 0..<2 {
                let plan = try Self.selection("a = ?", [.integer(number)]).plan(fixture.catalogue, in: view)
                #expect(try plan.ids(in: view) == expected && plan.count(in: view) == expected.count)
                #expect(try plan.isIndexedScan && Self.scanned(plan, view).ids == expected)
            }
        }
    }

    @Test func otherPlansAreNoIndexedScans() throws {
        let fixture = try Self.fixture()
        for text in ["b = '3'", "a = 1 AND b LIKE '%3'", "id > 7", "id IN (1, 2)", "a = 1 OR c = 3"] {
            let plan = try Self.selection(text).plan(fixture.catalogue)
            #expect(!plan.isIndexedScan, "\(plan)")
        }
        let view = try fixture.store.snapshot()
        let sorted = try Self.selection("c > 4000", order: "b").plan(fixture.catalogue, in: view)
        #expect(!sorted.isIndexedScan)
        var later = try Self.selection("c > 4000")
        later.offset = 3
        #expect(try !later.plan(fixture.catalogue, in: view).isIndexedScan)
    }

    @Test func aGroupThatIsAnsweredByNoIsTheLast() throws {
        let fixture = try Self.fixture()
        let view = try fixture.store.snapshot()
        let plan = try Self.selection("a = 1").plan(fixture.catalogue)
        var groups = 0
        try plan.forEachGroup(in: view) { group in
            groups += 1
            return groups < 2
        }
        #expect(groups == 2)
    }

    @Test func aCancelledScanEnds() throws {
        let fixture = try Self.fixture()
        var plan = try Self.selection("a = 1").plan(fixture.catalogue)
        let cancellation = Cancellation()
        plan.cancellation = cancellation
        let view = try fixture.store.snapshot()
        var groups = 0
        let error = Fixture.error {
            try plan.forEachGroup(in: view) { _ in
                groups += 1
                cancellation.cancel()
                return true
            }
        }
        #expect(error == .cancelled && groups == 1)
    }

    /// An index that names a missing row is damaged; the error names the row.
    @Test func rowsThatAreNotThere() throws {
        let fixture = try Self.fixture()
        let table = try fixture.table("T")
        let plan = try Self.selection("c = 10").plan(fixture.catalogue)
        try fixture.store.write { tx in _ = try tx.delete(KeyOrder.treeKey(11), in: table.rows) }
        let view = try fixture.store.snapshot()
        let error = Fixture.error { _ = try Self.scanned(plan, view) }
        let reason = "it names row \(RowKey.rowID(11)), which is not there"
        #expect(error == .indexDamaged(table: "T", index: "T.c", reason: reason))
    }
}
