import MakoStorage
import Testing

@testable import MakoRecords

/// The order of a join's tables: the best one of few tables, a good one of many, at a bounded amount of work.
@Suite struct JoinOrderTests {
    // MARK: - Few tables

    /// Tables of random sizes, indexes and conditions.
    private struct RandomJoin {
        let planner: JoinPlanner

        init(_ seed: UInt64) throws {
            var random = Seeded(seed)
            let count = Int.random(in: 2...5, using: &random)
            var fixture = try Fixture()
            for number in 0..<count {
                let indexes = [
                    IndexSchema("a", [IndexColumn("a")], isUnique: random.chance(50)),
                    IndexSchema("b", [IndexColumn("b")]), IndexSchema("c", [IndexColumn("c"), IndexColumn("a")]),
                ].filter { _ in random.chance(40) }
                try fixture.migrate(
                    EntitySchema(
                        name: "T\(number)", columns: ["a", "b", "c"].map { ColumnSchema($0, .integer) },
                        indexes: indexes))
            }
            var parts: [JoinSource] = []
            var scoped: [JoinScope.Source] = []
            for number in 0..<count {
                let table = try fixture.catalogue.requireTable("T\(number)")
                scoped.append(JoinScope.Source(name: "T\(number)", table: table))
                parts.append(
                    JoinSource(
                        name: "T\(number)", table: table, left: nil,
                        size: random.pick([1, 10, 1000, 50_000, 1_000_000])))
            }
            var binder = Binder(
                scoped[0].table, fixture.catalogue, [], [:], joins: scoped.map { .supplied($0.table, $0.name) })
            binder.scope = JoinScope(scoped)
            func column(_ number: Int) -> String { "T\(number).\(random.pick(["id", "a", "b", "c"]))" }
            var conjuncts: [BoundCondition] = []
            for number in 1..<count {
                let other = Int.random(in: 0..<number, using: &random)
                var text = "\(column(number)) = \(column(other))"
                if random.chance(20) { text += " AND \(column(number)) = \(column(other))" }
                if random.chance(20) { text += " AND \(column(number)) < \(column(other))" }
                let bound = try binder.bind(Condition.parse(text))
                if random.chance(15) {
                    parts[number].left = bound.conjuncts
                } else if !random.chance(10) {
                    conjuncts.append(bound)
                }
            }
            for number in 0..<count where random.chance(30) {
                conjuncts.append(
                    try binder.bind(Condition.parse("\(column(number)) \(random.pick(["=", "<", "!="])) 3")))
            }
            var orders: [BoundOrder] = []
            if random.chance(30) {
                orders.append(try binder.bind(Order(random.pick(["T0.a", "T1.a"]))))
            }
            planner = JoinPlanner(
                JoinInput(
                    sources: parts, joins: binder.joins, conjuncts: conjuncts, orders: orders,
                    wanted: random.chance(30) ? random.pick([1, 10, 5000]) : nil, catalogue: fixture.catalogue))
        }
    }

    @Test(arguments: 0..<12) func noOrderOfFewTablesIsCheaper(round: Int) throws {
        for number in 0..<20 {
            let seed = UInt64(round * 20 + number)
            let order = JoinOrder(try RandomJoin(seed).planner)
            let found = order.best()
            let all = Self.permutations(Array(found.order.map(\.source).sorted())).compactMap { order.cost(of: $0) }
            let cheapest = try #require(all.min())
            #expect(found.cost <= cheapest * (1 + 1e-6), "seed \(seed)")
            #expect(order.cost(of: found.order.map(\.source)) == found.cost, "seed \(seed)")
        }
    }

    private static func permutations(_ items: [Int]) -> [[Int]] {
        if items.isEmpty { return [[]] }
        return items.indices.flatMap { place in
            var rest = items
            let item = rest.remove(at: place)
            return permutations(rest).map { [item] + $0 }
        }
    }

    // MARK: - Many tables

    private static let next: [Int64] = [4, 7, 1, 9, 2, 10, 3, 5, 8, 6]

    /// Tables whose rows refer to those of the next, with the text of a query that follows them.
    private func chain(_ tables: Int, seed: UInt64) throws -> (fixture: Fixture, text: String) {
        let fixture = try Fixture(EntitySchema(name: "Stop", columns: [ColumnSchema("next", .integer)]))
        try fixture.insertAll("Stop", Self.next.map { [.integer($0)] })
        var random = Seeded(seed)
        let names = (1...tables).map { "Stop s\($0)" }.shuffled(using: &random)
        var conditions = (1..<tables).map { number in
            random.chance(50) ? "s\(number).next = s\(number + 1).id" : "s\(number + 1).id = s\(number).next"
        }
        conditions.append("s1.id = 7")
        conditions.shuffle(using: &random)
        let text =
            "SELECT s\(tables).id FROM \(names.joined(separator: ", ")) WHERE \(conditions.joined(separator: " AND "))"
        return (fixture, text)
    }

    /// Work grows with the square of the number of tables: not with that of their orders, nor with that of conditions for each.
    @Test(arguments: [9, 20, 56]) func wideJoinsAreWeighedInFewSteps(tables: Int) throws {
        let (fixture, text) = try chain(tables, seed: UInt64(tables))
        let plan = try SizedQuery(SelectStatement.parse(text), fixture.catalogue, [], [:]) { _ in 10 }.plan()
        guard case .join(let join) = plan.feed else {
            Issue.record("no join")
            return
        }
        #expect(join.weighed <= 16 * tables * tables, "\(join.weighed)")
        // No table comes before one that it is joined with.
        #expect(!plan.node(nil).outline.contains("nested loop"))
        #expect(join.steps.count == tables && join.steps[0].own.description.contains("by key (s1.id = 7)"))
    }

    @Test(arguments: [15, 64]) func wideJoinsGiveTheirRows(tables: Int) throws {
        let (fixture, text) = try chain(tables, seed: 3)
        var stop: Int64 = 7
        for _ in 1..<tables { stop = Self.next[Int(stop) - 1] }
        let rows = try SelectStatement.parse(text).run(fixture.catalogue, view: fixture.store.snapshot()).rows
        #expect(rows == [[.integer(stop)]])
    }
}
