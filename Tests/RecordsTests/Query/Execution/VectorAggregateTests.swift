import MakoRecords
import MakoStorage
import Testing

/// Aggregates of plain columns say the same as those of one group, in which each value is worked out.
@Suite struct VectorAggregateTests {
    private static let integers: [Value] = [.null] + [.min, -7, 0, 1, 3, .max].map { .integer($0) }
    private static let doubles: [Value] = [.null] + [-1.5, -0.0, 0, .leastNonzeroMagnitude, 2.5].map { .double($0) }
    private static let strange: [Value] = [.null] + [-.infinity, -0.0, 0, .infinity, .nan].map { .double($0) }
    private static let dates: [Value] = [.null] + [-86_400, 0, 1.5, 7e8].map { .date($0) }
    private static let columns = ["n", "x", "y", "day", "late"]

    private static func schema(_ count: Int) -> EntitySchema {
        let columns: [ColumnSchema] = [
            ColumnSchema("n", .integer, isOptional: true), ColumnSchema("x", .double, isOptional: true),
            ColumnSchema("y", .double, isOptional: true), ColumnSchema("day", .date, isOptional: true),
            // Rows from before have this.
            ColumnSchema("late", .integer, default: .integer(5)),
        ]
        return EntitySchema(name: "T", columns: Array(columns.prefix(count)))
    }

    private func filled(_ count: Int) throws -> Fixture {
        var fixture = try Fixture(Self.schema(4))
        var random = Seeded(UInt64(count) + 3)
        for number in 0..<count {
            if number == count / 2 { try fixture.migrate(Self.schema(5)) }
            let row = [Self.integers, Self.doubles, Self.strange, Self.dates].map { random.pick($0) }
            try fixture.insert("T", number < count / 2 ? row : row + [.integer(Int64(number))])
        }
        if count < 2 { try fixture.migrate(Self.schema(5)) }
        return fixture
    }

    private func row(_ fixture: Fixture, _ text: String) throws -> [Value]? {
        try SelectStatement.parse(text).run(fixture.catalogue, view: fixture.store.snapshot(), parameters: []).rows
            .first
    }

    @Test(arguments: [0, 1, 2, 300]) func theyAgreeWithThoseOfAGroup(count: Int) throws {
        try expectAgreement(filled(count))
    }

    /// Rows that have every column are added many at a time, here as many as fill a leaf, or are one less or more than are gathered.
    @Test(arguments: [1, 63, 64, 65, 130, 1000], [7, 64, 97, 2000])
    func rowsWithEveryColumnBetweenOthers(count: Int, apart: Int) throws {
        let fixture = try Fixture(Self.schema(5))
        var random = Seeded(UInt64(count + apart))
        for number in 0..<count {
            let row = [Self.integers, Self.doubles, Self.strange, Self.dates].map { values in
                number % apart == apart - 1 ? random.pick(values) : random.pick(Array(values.dropFirst()))
            }
            try fixture.insert("T", row + [.integer(Int64(number))])
        }
        try expectAgreement(fixture)
    }

    private func expectAgreement(_ fixture: Fixture) throws {
        for condition in ["", " WHERE n > 0", " WHERE n < 0 AND x IS NULL", " WHERE day IS NULL"] {
            for column in Self.columns {
                let numbers = column == "day" ? [] : ["sum", "avg", "total"]
                let aggregates = (["count", "min", "max"] + numbers).map { "\($0)(\(column))" }.joined(separator: ", ")
                let plain = try row(fixture, "SELECT count(*), \(aggregates) FROM T\(condition)")
                let grouped = try row(fixture, "SELECT count(*), \(aggregates) FROM T\(condition) GROUP BY 1 + 1")
                guard let grouped else {
                    #expect(plain?.prefix(2) == [.integer(0), .integer(0)], "\(aggregates)\(condition)")
                    continue
                }
                #expect(plain.map { "\($0)" } == "\(grouped)", "\(aggregates)\(condition)")
            }
        }
    }
}
