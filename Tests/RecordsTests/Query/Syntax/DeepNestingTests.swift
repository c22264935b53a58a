import CPlatform
import MakoStorage
import MakoTestSupport
import Testing

@testable import MakoRecords

/// Statements that are nested deep, on threads with 512 KiB of stack, as Dispatch's have on Apple systems: each is answered, or refused with an
/// error that names the limit.
@Suite struct DeepNestingTests {
    /// A kind of nesting.
    struct Shape: Sendable, CustomTestStringConvertible {
        let name: String
        /// So many levels are answered.
        let answered: Int
        let text: @Sendable (Int) -> String

        init(_ name: String, answered: Int = 90, _ text: @escaping @Sendable (Int) -> String) {
            self.name = name
            self.answered = answered
            self.text = text
        }

        var testDescription: String { name }

        /// Something around something around something.
        static func around(
            _ name: String, _ middle: String, answered: Int = 90, _ statement: @escaping @Sendable (String) -> String,
            _ level: @escaping @Sendable (String, Int) -> String
        ) -> Shape {
            Shape(name, answered: answered) { levels in
                statement((0..<levels).reduce(middle) { level($0, $1) })
            }
        }

        static func chain(
            _ name: String, answered: Int, _ link: String, _ separator: String,
            _ statement: @escaping @Sendable (String) -> String
        ) -> Shape {
            Shape(name, answered: answered) { links in
                statement(Array(repeating: link, count: links + 1).joined(separator: separator))
            }
        }
    }

    private static func rows(where condition: String) -> String { "SELECT a FROM T WHERE \(condition)" }

    static let shapes = expressions + queries + chains + statements

    private static let expressions: [Shape] = [
        .around("parentheses", "a > 1", rows) { inner, _ in "(\(inner))" },
        .around("values in parentheses", "a", { "SELECT \($0) FROM T" }) { inner, _ in "(\(inner))" },
        .around("NOT", "a > 1", rows) { inner, _ in "NOT \(inner)" },
        .around("NOT of parentheses", "a > 1", answered: 45, rows) { inner, _ in "NOT (\(inner))" },
        .around("minus", "a", { rows(where: "\($0) < 9") }) { inner, _ in "- \(inner)" },
        .around("CASE", "a", { rows(where: "\($0) > 1") }) { inner, level in
            "CASE WHEN a > \(level) THEN \(inner) ELSE 0 END"
        },
        .around("CASE with a subject", "a", { rows(where: "\($0) > 1") }) { inner, level in
            "CASE \(inner) WHEN \(level) THEN 1 ELSE 2 END"
        },
        .around("functions", "a", { rows(where: "\($0) > 1") }) { inner, _ in "abs(\(inner))" },
        .around("functions of several values", "a", { rows(where: "\($0) > 1") }) { inner, level in
            "coalesce(\(inner), \(level))"
        },
        .around("sums in parentheses", "a", { rows(where: "\($0) > 1") }) { inner, _ in "(1 + \(inner))" },
        .around("chains in parentheses", "a", answered: 2, { rows(where: "\($0) > 1") }) { inner, _ in
            "(\(inner + String(repeating: " + 1", count: 90)))"
        },
        .around("AND in OR in AND", "a > 1", rows) { inner, level in
            "(\(inner) \(level % 2 == 0 ? "AND" : "OR") a > \(level % 3))"
        },
        .around("conditions as values", "a", answered: 45, { rows(where: "\($0) = 1") }) { inner, _ in
            "(\(inner) > 0)"
        },
        .around("lists in lists", "a", answered: 45, rows) { inner, _ in "(a IN (\(inner), 1))" },
        .around("LIKE", "'x%'", { rows(where: "b LIKE \($0)") }) { inner, _ in "(\(inner))" },
        .around("ANY", "a > 1", answered: 0, rows) { inner, _ in "ANY (\(inner))" },
    ]

    private static let queries: [Shape] = [
        .around("IN of queries", "SELECT a FROM T", answered: 45, { $0 }) { inner, _ in
            "SELECT a FROM T WHERE a IN (\(inner))"
        },
        .around("EXISTS", "a > 1", answered: 45, rows) { inner, _ in "EXISTS (SELECT 1 FROM T WHERE \(inner))" },
        .around("EXISTS of the row around", "a > 1", answered: 20, rows) { inner, level in
            "EXISTS (SELECT 1 FROM T AS T\(level) WHERE T\(level).id > 0 AND \(inner))"
        },
        .around("values of queries", "a", answered: 33, { rows(where: "a <= \($0)") }) { inner, _ in
            "(SELECT max(\(inner)) FROM T)"
        },
        .around("FROM", "T", answered: 40, { "SELECT a FROM \($0)" }) { inner, level in
            "(SELECT a FROM \(inner)) AS q\(level)"
        },
        Shape("WITH", answered: 45) { levels in
            let named = (0..<levels).map { "q\($0 + 1) AS (SELECT a FROM \($0 == 0 ? "T" : "q\($0)"))" }
            return (levels == 0 ? "" : "WITH " + named.joined(separator: ", "))
                + " SELECT a FROM \(levels == 0 ? "T" : "q\(levels)")"
        },
    ]

    private static let chains: [Shape] = [
        .chain("AND", answered: 1000, "a > 0", " AND ", rows),
        .chain("OR", answered: 1000, "a = 1", " OR ", rows),
        .chain("OR of differing tests", answered: 1000, "abs(a) = 1", " OR ", rows),
        .chain("||", answered: 100, "b", " || ", { rows(where: "\($0) != ''") }),
        .chain("|| among columns", answered: 100, "b", " || ", { "SELECT \($0) FROM T" }),
        .chain("+", answered: 100, "a", " + ", { rows(where: "\($0) > 1") }),
        .chain("IN", answered: 1000, "3", ", ", { rows(where: "a IN (\($0))") }),
        .chain("UNION", answered: 90, "SELECT a FROM T", " UNION ", { $0 }),
        .chain("LIKE with many %", answered: 1000, "%x", "", { rows(where: "b LIKE '\($0)'") }),
        .chain("GLOB", answered: 1000, "*x", "", { rows(where: "b GLOB '\($0)'") }),
    ]

    private static let statements: [Shape] = [
        .around("GROUP BY", "a", { "SELECT count(*) FROM T GROUP BY \($0)" }) { inner, _ in "abs(\(inner))" },
        .around("ORDER BY", "a", { "SELECT a FROM T ORDER BY \($0)" }) { inner, _ in "abs(\(inner))" },
        .around("HAVING", "count(*) > 0", answered: 45, { "SELECT a FROM T GROUP BY a HAVING \($0)" }) { inner, _ in
            "NOT (\(inner))"
        },
        .around("EXPLAIN", "a > 1", answered: 45, { "EXPLAIN \(rows(where: $0))" }) { inner, _ in "NOT (\(inner))" },
        .around("EXPLAIN ANALYZE", "a > 1", answered: 45, { "EXPLAIN ANALYZE \(rows(where: $0))" }) { inner, _ in
            "EXISTS (SELECT 1 FROM T WHERE \(inner))"
        },
        .around("UPDATE", "a", { "UPDATE T SET a = \($0) WHERE a = \($0)" }) { inner, _ in "abs(\(inner))" },
        .around("DELETE", "a > 99", answered: 44, { "DELETE FROM T WHERE \($0)" }) { inner, _ in "NOT (\(inner))" },
        .around("INSERT", "-1", { "INSERT INTO T (a, b) VALUES (\($0), 'y')" }) { inner, _ in "abs(\(inner))" },
        .around("CREATE INDEX", "a > 1", answered: 45, { "CREATE INDEX i ON T (b) WHERE \($0)" }) { inner, _ in
            "NOT (\(inner))"
        },
    ]

    private static func session() throws -> StatementSession {
        try StatementSession(
            "CREATE TABLE T (id INTEGER PRIMARY KEY, a INTEGER, b TEXT)",
            "INSERT INTO T (a, b) VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    }

    private enum Answer: Equatable {
        /// The result of the statement and, for a query, its plan, and the rows that exist afterwards.
        case rows([[[Value]]])
        case refused(String)
    }

    /// Runs a statement, explains it, and compares two trees of it.
    private static func answer(_ text: String) throws -> Answer {
        let session = try session()
        do {
            let (first, second) = (try Statement.parse(text), try Statement.parse(text))
            let isSame = try followingTree(first.isDeep) { () throws(RecordError) in
                first == second && first.hashValue == second.hashValue
            }
            #expect(isSame)
            var rows = [try session.run(text).rows.rows]
            if first.isReadOnly && !text.hasPrefix("EXPLAIN") { rows.append(try session.rows("EXPLAIN " + text)) }
            rows.append(try session.rows("SELECT a, b FROM T"))
            return text.hasPrefix("EXPLAIN ANALYZE") ? .rows([]) : .rows(rows)
        } catch let error as RecordError { return .refused("\(error)") }
    }

    private static func refusal(_ text: String) throws -> String? {
        if case .refused(let refusal) = try answer(text) { refusal } else { nil }
    }

    private static func namesLimit(_ refusal: String) -> Bool {
        ["the limit is", "at most", "ANY", "|| joins texts"].contains { refusal.contains($0) }
    }

    @Test(arguments: shapes)
    func isAnsweredOrRefusedOnASmallStack(shape: Shape) async throws {
        let levels = [1, 8, 9, 20, 45, 90, 99, 100, 101, 250, 1000, 3000]
        let refusals = try await onSmallStack {
            try levels.map { (levels: $0, refusal: try Self.refusal(shape.text($0))) }
        }
        for (levels, refusal) in refusals {
            if levels <= shape.answered { #expect(refusal == nil, "\(levels) levels") }
            if let refusal { #expect(Self.namesLimit(refusal), "\(levels) levels: \(refusal.prefix(200))") }
        }
    }

    /// The deepest text that is accepted, and the next one, on a small stack and on one that just suffices to traverse
    /// a tree without growing.
    @Test(arguments: shapes)
    func theDeepestIsAnsweredAlikeOnEachStack(shape: Shape) async throws {
        let (deepest, answer) = try await onSmallStack(bytes: 64 << 20) {
            var (answered, refused) = (shape.answered, 3000)
            if try Self.refusal(shape.text(refused)) == nil { return (refused, try Self.answer(shape.text(refused))) }
            while refused - answered > 1 {
                let middle = (answered + refused) / 2
                if try Self.refusal(shape.text(middle)) == nil { answered = middle } else { refused = middle }
            }
            return (answered, try Self.answer(shape.text(answered)))
        }
        for kilobytes in [512, 2304] {
            let (found, next) = try await onSmallStack(bytes: kilobytes << 10) {
                (try Self.answer(shape.text(deepest)), try Self.refusal(shape.text(deepest + 1)))
            }
            #expect(found == answer, "\(deepest) levels")
            if case .refused(let refusal) = answer { Issue.record("\(deepest) levels: \(refusal.prefix(200))") }
            #expect(deepest == 3000 || next.map(Self.namesLimit) == true, "\(deepest + 1) levels: \(next ?? "")")
        }
    }

    /// Nesting that does not change the result does not change it at any depth.
    @Test func deepTextsMeanWhatShallowOnesMean() async throws {
        let answers = try await onSmallStack {
            let session = try Self.session()
            return try Self.shapes.filter {
                ["parentheses", "functions", "NOT", "LIKE", "values in parentheses"].contains($0.name)
            }.map { shape in try [0, 2, 16, 90].map { try session.rows(shape.text($0)) } }
        }
        for answer in answers { #expect(answer.allSatisfy { $0 == answer[0] } && !answer[0].isEmpty) }
    }

    @Test func longChainsOfTextsAreJoinedInOrder() async throws {
        let texts: [String] = (0...100).map { number in number % 5 == 4 ? "b" : "'\(number)'" }
        let joined: [String] = (0...100).map { number in number % 5 == 4 ? "x" : "\(number)" }
        let sum = texts.joined(separator: " || ")
        let rows = try await onSmallStack { try Self.session().rows("SELECT \(sum) FROM T WHERE a = 1") }
        #expect(rows == [[.text(joined.joined())]])
    }

    /// 70 levels of parentheses with three links each are 210 levels of a tree.
    @Test func parenthesesMakeNoTreeTaller() async throws {
        let text = (0..<70).reduce("a") { inner, _ in "(\(inner) + 1 + 1 + 1)" }
        let rows = try await onSmallStack { try Self.session().rows("SELECT \(text) FROM T WHERE a = 1") }
        #expect(rows == [[.integer(211)]])
    }

    @Test func longListsAreAnswered() async throws {
        let found = try await onSmallStack {
            let list = (0..<10_000).map { "\($0 * 2)" }.joined(separator: ", ")
            return try Self.session().rows(Self.rows(where: "a IN (\(list)) AND abs(a) NOT IN (\(list), 3)"))
        }
        #expect(found == [])
    }

    /// A level and a chain within their limits make a tree that is deeper than either.
    @Test func chainsInsideEachOtherCountTogether() throws {
        let text = (0..<4).reduce("a") { inner, _ in "(\(inner + String(repeating: " + 1", count: 90)))" }
        let error = #expect(throws: RecordError.self) { try Expr.parse(text) }
        #expect("\(String(describing: error))".contains("nested too deeply; the limit is 250"))
        let wide = Array(repeating: "a" + String(repeating: " + 1", count: 90), count: 200)
        #expect(try Self.refusal(Self.rows(where: "a IN (\(wide.joined(separator: ", ")))")) == nil)
        #expect(try Self.refusal(Self.rows(where: wide.map { $0 + " > 1" }.joined(separator: " AND "))) == nil)
        #expect(try Self.refusal("SELECT coalesce(\(wide.prefix(90).joined(separator: ", "))) FROM T") == nil)
    }

    @Test func deepTreesGetEnoughStack() async throws {
        let text = (0..<45).reduce("a > 1") { inner, _ in "NOT (\(inner))" }
        let deep = try Condition.parse(text)
        let rooms = try await onSmallStack {
            try [deep, .parse("a > 1 AND NOT b = 'x'")].map { condition in
                (condition.isDeep, try followingTree(condition.isDeep) { () throws(RecordError) in mako_stack_room() })
            }
        }
        #expect(rooms[0].0 && rooms[0].1 > 2 << 20 && !rooms[1].0 && rooms[1].1 < 512 << 10)
    }

    /// Texts are read without a statement, too.
    @Test func partsOfStatementsAreReadOnASmallStack() async throws {
        let deep = String(repeating: "abs(", count: 90) + "a" + String(repeating: ")", count: 90)
        let (order, output) = try await onSmallStack {
            _ = try (Expr.parse(deep), Condition.parse(deep + " > 1"), ParameterPlaces.ofCondition(deep + " > ?"))
            return (try Order.parse(deep + " DESC"), try SelectStatement.output(deep + " AS x"))
        }
        #expect(order.first?.descending == true && output.name == "x")
    }
}
