import MakoRecords
import MakoStorage

/// Two related tables with every type of column and many kinds of index.
enum QueryFixture {
    static let a = EntitySchema(
        name: "A",
        columns: [
            ColumnSchema("i", .integer, isOptional: true), ColumnSchema("u", .unsigned, isOptional: true),
            ColumnSchema("d", .double, isOptional: true), ColumnSchema("t", .text, isOptional: true),
            ColumnSchema("b", .bool, isOptional: true), ColumnSchema("at", .date, isOptional: true),
            ColumnSchema("bl", .blob, isOptional: true), ColumnSchema("uu", .uuid, isOptional: true),
            ColumnSchema("ref", .reference, isOptional: true, target: "B"),
            ColumnSchema("j", .integer, default: .integer(0)),
            ColumnSchema("code", .text, isOptional: true, target: "C"),
        ])

    static let indexes: [IndexSchema] = [
        IndexSchema("A.i", [IndexColumn("i")]), IndexSchema("A.u", [IndexColumn("u", descending: true)]),
        IndexSchema("A.d", [IndexColumn("d")]), IndexSchema("A.t", [IndexColumn("t")]),
        IndexSchema("A.tn", [IndexColumn("t", noCase: true)]),
        IndexSchema("A.b", [IndexColumn("b"), IndexColumn("i", descending: true)]),
        IndexSchema("A.at", [IndexColumn("at", descending: true), IndexColumn("j")]),
        IndexSchema("A.bl", [IndexColumn("bl")]),
        IndexSchema("A.uu", [IndexColumn("uu")]),
        IndexSchema("A.ref", [IndexColumn("ref"), IndexColumn("t", descending: true, noCase: true)]),
        IndexSchema("A.j", [IndexColumn("j"), IndexColumn("i"), IndexColumn("d", descending: true)]),
    ]

    static let b = EntitySchema(
        name: "B",
        columns: [
            ColumnSchema("n", .text), ColumnSchema("v", .integer, isOptional: true),
            ColumnSchema("parent", .reference, isOptional: true, target: "B"),
        ])

    /// A table without row ids.
    static let c = EntitySchema(
        name: "C",
        columns: [
            ColumnSchema("k", .text), ColumnSchema("w", .double),
            ColumnSchema("ref", .reference, isOptional: true, target: "B"),
        ],
        key: .columns(["k"]), indexes: [IndexSchema("C.w", [IndexColumn("w")])])

    static func small() throws -> Fixture {
        var random = Seeded(1)
        return try filled(20, indexes, &random)
    }

    static func row(_ random: inout Seeded) -> [Value] {
        func maybe(_ value: Value, _ random: inout Seeded) -> Value { random.chance(12) ? .null : value }
        return [
            maybe(
                random.chance(90) ? .integer(Int64.random(in: -6...6, using: &random)) : random.value(.integer), &random
            ),
            maybe(
                random.chance(80)
                    ? .integer(Int64.random(in: 0...6, using: &random)) : .unsignedInteger(.max - random.next() % 3),
                &random),
            maybe(random.pick([0, -0.0, 1, 1.5, -2, .nan, .infinity, 3, 2.5].map(Value.double)), &random),
            maybe(
                .text(random.pick(["", "a", "A", "ab", "AB", "aB", "abc", "b", "é", "É", "a%", "a_c", "日本", "Abba"])),
                &random),
            maybe(.bool(random.chance(50)), &random),
            maybe(.date(Double(Int.random(in: 0...4, using: &random)) * 86_400), &random),
            maybe(.blob(random.pick([[], [0], [0, 1], [1], [255]])), &random),
            maybe(.uuid(random.next() % 3, random.next() % 2), &random),
            maybe(.integer(Int64.random(in: 1...6, using: &random)), &random),
            .integer(Int64.random(in: 0...3, using: &random)),
            maybe(.text(random.pick(["x", "y", "gone"])), &random),
        ]
    }

    static func filled(_ count: Int, _ indexes: [IndexSchema], _ random: inout Seeded) throws -> Fixture {
        var schema = a
        schema.indexes = indexes
        let fixture = try Fixture(schema, b, c)
        // Row 6 is referred to and missing; row 5 is its own parent.
        try fixture.insertAll(
            "B",
            [
                [.text("one"), .integer(1), .null], [.text("two"), .integer(2), .integer(1)],
                [.text("Three"), .null, .integer(2)],
                [.text("four"), .integer(4), .integer(6)], [.text("five"), .integer(-5), .integer(5)],
            ])
        try fixture.insertAll(
            "C",
            [
                [.text("x"), .double(1), .integer(1)], [.text("y"), .double(2), .integer(3)],
                [.text("z"), .double(1), .null],
            ])
        var rows: [[Value]] = []
        for _ in 0..<count { rows.append(row(&random)) }
        try fixture.insertAll("A", rows)
        return fixture
    }

    /// A random condition over the columns of A, its own and those that its references lead to.
    static func condition(_ random: inout Seeded, depth: Int) -> Condition {
        if depth > 0, random.chance(55) {
            let parts = (0..<Int.random(in: 2...3, using: &random)).map { _ in condition(&random, depth: depth - 1) }
            return random.chance(55) ? .and(parts) : (random.chance(60) ? .or(parts) : .not(parts[0]))
        }
        let compared: [ComparisonOperator] = [
            .equal, .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
        ]
        let operation = random.pick(compared)
        func literal(_ value: Value) -> Expr { .literal(value) }
        func integer(_ random: inout Seeded) -> Expr {
            switch Int.random(in: 0..<10, using: &random) {
            case 0: literal(.double(random.pick([1.5, -0.5, 2.0, .nan, .infinity, 1e30])))
            case 1: literal(random.pick([.null, .unsigned(.max), .integer(.max), .integer(.min)]))
            default: literal(.integer(Int64.random(in: -7...7, using: &random)))
            }
        }
        func text(_ random: inout Seeded) -> Expr {
            literal(.text(random.pick(["", "a", "A", "ab", "aB", "abc", "b", "É", "é", "zz", "日本"])))
        }
        let numbers = [
            "i", "i", "u", "j", "ref", "id", "ref.v", "ref.parent.v", "ref.id", "ref.parent.id", "code.w", "code.ref.v",
        ]
        switch Int.random(in: 0..<16, using: &random) {
        case 0...3: return .comparison(operation, .path(random.pick(numbers)), integer(&random))
        case 4: return .comparison(operation, integer(&random), .path(random.pick(numbers)))
        case 5:
            let (path, items) = (
                random.pick(numbers), (0..<Int.random(in: 0...12, using: &random)).map { _ in integer(&random) }
            )
            if Bool.random(using: &random) { return .isIn(.path(path), items) }
            return .isAmong(
                .path(path), items.compactMap { if case .literal(let value, _) = $0 { value } else { nil } })
        case 6: return .between(.path(random.pick(numbers)), integer(&random), integer(&random))
        case 7:
            return .comparison(
                operation, .path("d"),
                literal(random.pick([.double(1.5), .integer(1), .double(.nan), .double(-0.0), .integer(3)])))
        case 8: return .comparison(operation, .path("t"), text(&random))
        case 9: return .comparison(operation, .noCase(.path("t")), text(&random))
        case 10:
            let pattern = random.pick(["a%", "%", "A_", "ab%c", "%b%", "a!%", "É%", "", "日%", "_", "a!_c", "%%a"])
            return .like(
                .path(random.pick(["t", "ref.n", "code"])), literal(.text(pattern)),
                escape: random.chance(50) ? literal(.text("!")) : nil)
        case 11: return .glob(.path("t"), literal(.text(random.pick(["a*", "*", "?b", "ab?", "A*b*", "é*", ""]))))
        case 12:
            return .isNull(
                .path(random.pick(["i", "t", "at", "ref", "ref.n", "ref.parent.n", "b", "code.w", "j", "id"])))
        case 13:
            return random.pick([
                .truth(.path("b")), .comparison(.equal, .path("b"), literal(.bool(true))),
                .comparison(operation, .path("at"), literal(.date(2 * 86_400))),
                .comparison(operation, .path("bl"), literal(.blob([0]))),
                .comparison(operation, .path("uu"), literal(.uuid(1, 1))),
                .comparison(operation, .path("code.k"), text(&random)),
            ])
        case 14: return .comparison(operation, .path("i"), .path(random.pick(["j", "ref.v", "d", "u"])))
        default:
            return random.pick([
                .comparison(operation, .arithmetic(.add, .path("i"), .path("j")), integer(&random)),
                .comparison(operation, .function("lower", [.path("t")]), text(&random)),
                .comparison(
                    operation,
                    .choice(
                        .init(
                            [
                                .init(condition(&random, depth: 0), .path(random.pick(["i", "ref.v"]))),
                                .init(condition(&random, depth: 0), integer(&random)),
                            ], otherwise: random.chance(50) ? .path("j") : nil)), integer(&random)),
                .comparison(
                    operation,
                    .choice(
                        .init(
                            subject: random.pick([.path("t"), .noCase(.path("t"))]),
                            [
                                .init(.comparison(.equal, .subject(), text(&random)), text(&random)),
                                .init(.comparison(.equal, .subject(), .path("ref.n")), .path("t")),
                            ], otherwise: random.chance(50) ? text(&random) : nil)), text(&random)),
                .comparison(
                    operation, .condition(condition(&random, depth: depth)),
                    random.pick([
                        .condition(condition(&random, depth: 0)), literal(.integer(1)), literal(.integer(0)),
                        .arithmetic(.add, .path("j"), .condition(condition(&random, depth: 0))),
                    ])),
                .comparison(
                    operation, .function("coalesce", [.path("i"), .path("ref.v"), literal(.integer(1))]),
                    integer(&random)),
                .isIn(.noCase(.path("t")), [text(&random), text(&random)]),
                .comparison(operation, .negate(.path("i")), integer(&random)),
                .isIn(.path("t"), [text(&random), text(&random), literal(.null)]),
            ])
        }
    }
}
