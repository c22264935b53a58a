import MakoStorage
import Testing

@testable import MakoRecords

/// From where on a scan is cheaper than an index, as it was measured (decision 55).
@Suite struct PlanCostTests {
    private static let count = 4000

    /// Rows with the numbers below their count in `n`, in no order; nine of ten are of one kind.
    private func filled(textBytes: Int = 60, _ indexes: [String] = ["n"]) throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "T",
                columns: [
                    ColumnSchema("n", .integer), ColumnSchema("m", .integer), ColumnSchema("kind", .text),
                    ColumnSchema("free", .integer), ColumnSchema("text", .text),
                ],
                indexes: indexes.map { IndexSchema("T.\($0)", [IndexColumn($0)]) }))
        var random = Seeded(5)
        let numbers = (0..<Int64(Self.count)).shuffled(using: &random)
        let others = (0..<Int64(Self.count)).shuffled(using: &random)
        let text = Value.text(String(repeating: "t", count: textBytes))
        try fixture.insertAll(
            "T",
            zip(numbers, others).map { number, other in
                let kind = number % 10 == 0 ? "rare\(number / 100)" : "common"
                return [.integer(number), .integer(other), .text(kind), .integer(number), text]
            })
        return fixture
    }

    /// The plan in one line, what was read for it, and how many rows came of it.
    private func analysis(
        _ text: String, _ fixture: Fixture
    ) throws -> (text: String, examinedEntries: Int, examinedRows: Int, passed: Int) {
        let found = try SelectStatement.parse(text).analysis(fixture.catalogue, view: fixture.store.snapshot())
        let rows = found.steps.filter { $0.node.table != nil }.reduce(0) { $0 + $1.examinedRows }
        return (found.plan.summary, found.steps.reduce(0) { $0 + $1.examinedEntries }, rows, found.rows)
    }

    /// Half of the rows are not looked up one by one, and two of a hundred not found by looking at all.
    @Test func aScanBeginsWhereItIsCheaper() throws {
        let fixture = try filled()
        for (share, isSought) in [(0.001, true), (0.02, true), (0.1, true), (0.3, false), (0.5, false), (1.0, false)] {
            let wanted = Int(Double(Self.count) * share)
            let step = try analysis("SELECT text FROM T WHERE n < \(wanted)", fixture)
            #expect(step.examinedRows == (isSought ? wanted : Self.count), "\(step.text)")
            #expect(step.examinedEntries == (isSought ? wanted : 0) && step.passed == wanted, "\(step.text)")
        }
    }

    @Test func coveringIndexesAreScanned() throws {
        let fixture = try filled()
        for text in ["SELECT count(*) FROM T WHERE n < 2000", "SELECT sum(n) FROM T WHERE n < 2000"] {
            let step = try analysis(text, fixture)
            #expect(step.examinedEntries == 2000 && step.examinedRows == 0, "\(step.text)")
        }
        // All rows are read faster than made of entries, unless they are long.
        #expect(try analysis("SELECT sum(n) FROM T", fixture).examinedEntries == 0)
        #expect(try analysis("SELECT sum(n) FROM T", filled(textBytes: 600)).examinedRows == 0)
    }

    @Test func anIndexInOrderReplacesASort() throws {
        let fixture = try filled()
        let first = try analysis("SELECT text FROM T ORDER BY n LIMIT 10", fixture)
        #expect(first.examinedRows == 10, "\(first.text)")
        let all = try analysis("SELECT text FROM T ORDER BY n", fixture)
        #expect(all.text.contains("already in order of n"))
        // Few rows are sorted, and not sought among all in their order.
        let few = try analysis("SELECT text FROM T WHERE free < 5 ORDER BY n", fixture)
        #expect(few.examinedRows == Self.count && few.examinedEntries == 0, "\(few.text)")
    }

    /// The cost of a scan grows with the length of rows.
    @Test func aScanMayBeDear() throws {
        let text = "SELECT text FROM T WHERE n < 1200"
        #expect(try analysis(text, filled()).examinedEntries == 0)
        #expect(try analysis(text, filled(textBytes: 600)).examinedEntries == 1200)
        let both = try filled(["n", "m"])
        let step = try analysis("SELECT text FROM T WHERE n < 600 OR m < 600", both)
        #expect(step.examinedEntries == 1200 && step.text.contains("union"), "\(step.text)")
        #expect(try analysis("SELECT text FROM T WHERE n < 3600 OR m < 3600", both).text.hasPrefix("scan T"))
        // An index whose few rows are read directly is not intersected with another.
        #expect(!(try analysis("SELECT text FROM T WHERE n < 100 AND m < 2000", both).text.contains("intersection")))
    }

    private func plan(_ fixture: Fixture, _ text: String, _ values: Value...) throws -> String {
        try Selection(table: "T", condition: .parse(text), parameters: values).plan(
            fixture.catalogue, in: fixture.store.snapshot()
        ).description
    }

    /// A cached plan is right for the values of each query.
    @Test func whatIsKeptIsHeldAgainstAScan() throws {
        for columns in [["n", "kind"], ["n", "kind", "m"]] {
            let fixture = try filled(columns)
            for _ in 0..<2 {
                #expect(try plan(fixture, "n < ?", .integer(80)).contains("using index T.n"))
                #expect(try plan(fixture, "n < ?", .integer(2000)).hasPrefix("scan T"))
                #expect(try plan(fixture, "kind = ?", .text("rare3")).contains("using index T.kind"))
                #expect(try plan(fixture, "kind = ?", .text("common")).hasPrefix("scan T"))
                #expect(try plan(fixture, "n = ?", .integer(7)).contains("using index T.n"))
            }
        }
    }

    @Test func theCommonestValueOfAnIndexIsKnown() throws {
        let fixture = try filled(["n", "kind"])
        let view = try fixture.store.snapshot()
        func commonest(_ place: Int) throws -> Double? {
            try fixture.catalogue.statistics.commonest(of: fixture.table("T").indexes[place], prefix: 1, in: view)
        }
        #expect(try #require(try commonest(0)) < 0.02)
        #expect(abs(try #require(try commonest(1)) - 0.9) < 0.1)
    }
}
