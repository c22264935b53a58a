import MakoRecords
import MakoStorage
import Testing

/// Rows that are left out by their bytes are those that the condition leaves out, whatever their age.
@Suite struct PushedDownPredicateTests {
    private static let integers: [Value] =
        [.null] + [.min, .min + 1, -7, -1, 0, 1, 3, 7, .max - 1, .max].map { .integer($0) }
    private static let doubles: [Value] =
        [.null] + [-.infinity, -1.5, -0.0, 0, .leastNonzeroMagnitude, 1.5, 2.5, .infinity, .nan].map { .double($0) }
    private static let dates: [Value] = [.null] + [-86_400, 0, 1.5, 7e8].map { .date($0) }
    private static let operators: [ComparisonOperator] = [
        .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
    ]

    private static func schema(_ names: [String]) -> EntitySchema {
        let columns: [ColumnSchema] = [
            ColumnSchema("n", .integer, isOptional: true), ColumnSchema("word", .text),
            ColumnSchema("x", .double, isOptional: true), ColumnSchema("day", .date, isOptional: true),
            // Rows from before have this.
            ColumnSchema("late", .integer, default: .integer(5)),
        ]
        return EntitySchema(name: "T", columns: columns.filter { names.contains($0.name) })
    }

    /// Half of the rows lack the last column.
    private func filled() throws -> (Fixture, rows: [[Value]]) {
        var fixture = try Fixture(Self.schema(["n", "word", "x", "day"]))
        var rows: [[Value]] = []
        var random = Seeded(11)
        for number in 0..<400 {
            if number == 200 { try fixture.migrate(Self.schema(["n", "word", "x", "day", "late"])) }
            let late = Value.integer(number < 200 ? 5 : Int64(number % 9))
            let row = [
                random.pick(Self.integers), .text("w\(number)"), random.pick(Self.doubles), random.pick(Self.dates),
                late,
            ]
            try fixture.insert("T", number < 200 ? Array(row.dropLast()) : row)
            rows.append(row)
        }
        return (fixture, rows)
    }

    private func ids(_ fixture: Fixture, _ text: String, _ values: [Value]) throws -> [Int64] {
        let plan = try Selection(table: "T", condition: try Condition.parse(text), parameters: values)
            .plan(fixture.catalogue)
        return try plan.keys(in: fixture.store.snapshot()).compactMap(\.rowID)
    }

    private func holds(_ value: Value, _ operation: ComparisonOperator, _ bound: Value) -> Bool {
        guard !value.isNull, let order = value.compare(bound) else { return false }
        return switch operation {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }

    @Test func boundsOfOneColumn() throws {
        let (fixture, rows) = try filled()
        for (place, name, bounds) in [
            (0, "n", Self.integers), (2, "x", Self.doubles), (3, "day", Self.dates), (4, "late", Self.integers),
        ] {
            for bound in bounds where !bound.isNull {
                for operation in Self.operators {
                    let wanted = rows.indices.filter { holds(rows[$0][place], operation, bound) }.map { Int64($0 + 1) }
                    let found = try ids(fixture, "\(name) \(operation.rawValue) ?", [bound])
                    #expect(found == wanted, "\(name) \(operation.rawValue) \(bound)")
                }
            }
        }
    }

    @Test func boundsOfSeveralColumnsBesideOtherTests() throws {
        let (fixture, rows) = try filled()
        var random = Seeded(5)
        for _ in 0..<300 {
            let (low, high) = (
                random.pick(Array(Self.integers.dropFirst())), random.pick(Array(Self.integers.dropFirst()))
            )
            let (day, late) = (
                random.pick(Array(Self.dates.dropFirst())), Value.integer(Int64.random(in: 0...9, using: &random))
            )
            let isWhole = random.chance(50)
            let text = "n >= ? AND n < ? AND late <= ? AND day != ?" + (isWhole ? "" : " AND word LIKE '%7%'")
            let wanted = rows.indices.filter { number in
                let row = rows[number]
                return holds(row[0], .greaterOrEqual, low) && holds(row[0], .less, high)
                    && holds(row[4], .lessOrEqual, late) && holds(row[3], .notEqual, day)
                    && (isWhole || "\(number)".contains("7"))
            }
            #expect(try ids(fixture, text, [low, high, late, day]) == wanted.map { Int64($0 + 1) }, "\(text)")
        }
    }

    /// Runs of text are found by their bytes; case is that of A to Z.
    @Test func runsOfTextAreFound() throws {
        let fixture = try Fixture(EntitySchema(name: "T", columns: [ColumnSchema("word", .text)]))
        let words = ["", "a", "A", "ab", "xAb", "ABx", "éa", "É", "aé", "aab", "日本", "日", "baba", "%", "a%b"]
        for word in words { try fixture.insert("T", [.text(word)]) }
        for (text, wanted) in [
            ("word LIKE '%ab%'", ["ab", "xAb", "ABx", "aab", "baba"]), ("word LIKE 'AB%'", ["ab", "ABx"]),
            ("word LIKE '%AB'", ["ab", "xAb", "aab"]), ("word LIKE 'a'", ["a", "A"]), ("word LIKE '%é'", ["aé"]),
            ("word LIKE '%é%'", ["éa", "aé"]), ("word LIKE '%日%'", ["日本", "日"]), ("word LIKE '%aab'", ["aab"]),
            ("word LIKE '%!%%' ESCAPE '!'", ["%", "a%b"]), ("word GLOB '*ab*'", ["ab", "aab", "baba"]),
            ("word GLOB '*A*'", ["A", "xAb", "ABx"]), ("word LIKE '%'", words), ("word LIKE ''", [""]),
            ("word LIKE '%abx'", ["ABx"]), ("word LIKE 'abxy%'", []),
        ] {
            let found = try ids(fixture, text, []).map { words[Int($0) - 1] }
            #expect(found == wanted, "\(text)")
        }
    }
}
