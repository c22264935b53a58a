import MakoRecords
import MakoStorage
import Testing

@Suite struct ConcurrencyTests {
    private static let schema = EntitySchema(
        name: "T",
        columns: [
            ColumnSchema("a", .integer), ColumnSchema("b", .text),
            ColumnSchema("next", .reference, isOptional: true, target: "T"),
        ],
        indexes: [IndexSchema("T.a", [IndexColumn("a")]), IndexSchema("T.b", [IndexColumn("b", noCase: true)])])

    @Test func plansRunBesideAWriter() async throws {
        let fixture = try Fixture(Self.schema)
        let table = try fixture.table("T")
        let plan = try Selection(
            table: "T", condition: .parse("a >= 0 AND b LIKE 'R%' AND next.a = a - 1"),
            orderBy: [Order("a", descending: true)], limit: 50
        ).plan(fixture.catalogue)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 0..<40 {
                    try fixture.store.write { tx in
                        var changes = ChangeSet()
                        var row = RowWriter()
                        for step in 0..<5 {
                            let number = Int64(round * 5 + step)
                            row.begin(table.layout)
                            row.set(0, number)
                            row.set(1, "row \(number)")
                            row.set(2, number == 0 ? nil : number)
                            try table.insert(&row, in: tx, changes: &changes)
                        }
                    }
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    for _ in 0..<60 {
                        let view = try fixture.store.snapshot()
                        let rows = try table.count(in: view)
                        let found = try plan.ids(in: view)
                        // A snapshot holds whole transactions, and every row but the first has one before it.
                        #expect(rows % 5 == 0)
                        #expect(found.count == min(50, max(0, rows - 1)))
                        #expect(found.first == (rows > 1 ? Int64(rows) : nil))
                    }
                }
            }
            // Unlike `waitForAll`, this cancels the other tasks at the first error.
            for try await _ in group {}
        }
        try fixture.expectSound()
    }

    @Test func idsStayApartWhenTwoCataloguesGiveThem() throws {
        let fixture = try Fixture(Self.schema)
        let tables = try [
            fixture.table("T"), Catalogue.load(view: fixture.store.snapshot()).requireTable("T"),
        ]
        var keys: [RowKey] = []
        for round in 0..<10 {
            try fixture.store.write { tx in
                var changes = ChangeSet()
                var row = RowWriter()
                let table = tables[round % 2]
                row.begin(table.layout)
                row.set(0, Int64(round))
                row.set(1, "x")
                keys.append(try table.insert(&row, in: tx, changes: &changes))
            }
        }
        #expect(Set(keys).count == 10)
        #expect(try tables[0].count(in: fixture.store.snapshot()) == 10)
        try fixture.expectSound()
    }

    @Test func savepointsTakeRowsAndIndexesBack() throws {
        let fixture = try Fixture(Self.schema)
        let table = try fixture.table("T")
        try fixture.insertAll("T", (0..<5).map { [.integer($0), .text("r"), .null] })
        try fixture.store.write { tx in
            var changes = ChangeSet()
            let mark = tx.savepoint()
            var nested = changes
            try table.delete(.rowID(5), in: tx, changes: &nested)
            var row = RowWriter()
            row.begin(table.layout)
            row.set(0, Int64(9))
            row.set(1, "s")
            try table.put(&row, key: .rowID(1), in: tx, changes: &nested)
            let inside = try table.insert(&row, in: tx, changes: &nested)
            try tx.rollback(to: mark)
            let after = try table.insert(&row, in: tx, changes: &changes)
            #expect(after != inside)
            #expect(changes.changes.map(\.kind) == [.insert])
        }
        #expect(try table.count(in: fixture.store.snapshot()) == 6)
        #expect(try fixture.values("T", .rowID(5)) == [.integer(4), .text("r"), .null])
        try fixture.expectSound()
    }

    @Test func extremeLimitsAreHarmless() throws {
        let fixture = try Fixture(Self.schema)
        try fixture.insertAll("T", (0..<5).map { [.integer($0), .text("r"), .null] })
        let view = try fixture.store.snapshot()
        for order in [[], [Order("b")], [Order("a")]] {
            for (limit, offset, count) in [
                (Int.max, Int.max, 0), (Int.max, 2, 3), (-1, 0, 0), (3, -5, 3), (0, Int.max, 0), (nil, Int.max, 0),
                (Int.max, 0, 5),
            ] as [(Int?, Int, Int)] {
                let plan = try Selection(table: "T", orderBy: order, limit: limit, offset: offset).plan(
                    fixture.catalogue)
                #expect(try plan.keys(in: view).count == count)
                #expect(try plan.count(in: view) == count)
                #expect(try plan.exists(in: view) == (count > 0))
                var scanned = 0
                try plan.forEachRow(in: view) { _, _ in
                    scanned += 1
                    return true
                }
                #expect(scanned == count)
            }
        }
    }
}
