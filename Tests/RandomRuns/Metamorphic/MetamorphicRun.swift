import MakoRecords
import MakoStorage
import MakoTestSupport

/// Runs one query in several forms whose results must agree: partitions by a condition, its negation and its being
/// unknown (TLP), a condition that is tested and one that is selected (NoREC), nested deep, with indexes and without,
/// as text and built by code.
package struct MetamorphicRun {
    /// The number of comparisons.
    package private(set) var checks = 0
    /// How many conditions some rows fulfil and others do not.
    package private(set) var divided = 0

    private let world: MetamorphicWorld
    private var draw: MetamorphicDraw
    private let seed: UInt64

    /// Runs one seed. A failure is a `Disagreement` that names it.
    package static func run(seed: UInt64, conditions: Int = 40) throws -> MetamorphicRun {
        var run = try MetamorphicRun(seed)
        for _ in 0..<conditions { try run.step() }
        return run
    }

    private init(_ seed: UInt64) throws {
        self.seed = seed
        var random = SplitMix(seed: seed &* 73 &+ 11)
        world = try MetamorphicWorld(&random)
        draw = MetamorphicDraw(world, random)
    }

    private mutating func step() throws {
        switch draw.random.below(10) {
        case 0...4: try rows(draw.random.pick(MetamorphicWorld.names))
        case 5...6: try joins()
        case 7: try groups(draw.random.pick(MetamorphicWorld.names))
        case 8: try differentRows(draw.random.pick(MetamorphicWorld.names))
        default: try orders(draw.random.pick(MetamorphicWorld.names))
        }
    }

    // MARK: Queries

    /// Conditions of one table.
    private mutating func rows(_ table: String) throws {
        let condition = draw.condition(table)
        let all = try same("SELECT id FROM \(table)")
        let parts = try partitions(condition.text).map { try same("SELECT id FROM \(table) WHERE \($0)") }
        try check(all, parts.flatMap { $0 }, "partitions of \(table) by \(condition.text)")
        if !parts[0].isEmpty && parts[0].count < all.count { divided += 1 }
        let shown = try same("SELECT id FROM \(table) WHERE \(table).id IN (SELECT id FROM \(table)) ORDER BY id")
        let flags = try same("SELECT id, CASE WHEN \(condition.text) THEN 1 ELSE 0 END FROM \(table)")
        try check(shown, all, "all rows of \(table)")
        let fulfilling = flags.filter { $0[1] == .integer(1) }.map { [$0[0]] }
        try check(parts[0], fulfilling, "\(condition.text), tested and shown")
        let count = try same("SELECT count(*) FROM \(table) WHERE \(condition.text)")
        try check(count, [[.integer(Int64(parts[0].count))]], "the number of rows with \(condition.text)")
        if draw.random.chance(10) {
            let deep = draw.nested(condition.text)
            try check(parts[0], try same("SELECT id FROM \(table) WHERE \(deep)"), "\(condition.text), and \(deep)")
        }
        guard let tree = condition.tree else { return }
        for side in [world.plain, world.indexed] {
            var keys: [[Value]] = []
            let plan = try Selection(table: table, condition: tree).plan(side.catalogue)
            try plan.forEachRow(in: side.view) { key, _ in
                keys.append([.integer(key.rowID ?? 0)])
                return true
            }
            try check(parts[0], keys, "\(condition.text), as text and built by code")
        }
    }

    private mutating func joins() throws {
        let (kind, link) = (draw.random.pick(["JOIN", "LEFT JOIN"]), draw.link())
        let on = draw.random.chance(30) ? "\(link) AND \(draw.condition("U", isJoined: true, depth: 1).text)" : link
        let condition = draw.condition(draw.random.pick(MetamorphicWorld.names), isJoined: true).text
        let from = "SELECT T.id, U.id FROM T \(kind) U ON \(on)"
        let all = try same(from)
        let parts = try partitions(condition).map { try same("\(from) WHERE \($0)") }
        try check(all, parts.flatMap { $0 }, "partitions of T \(kind) U ON \(on) by \(condition)")
        if kind == "JOIN" {
            let crossed = try same("SELECT T.id, U.id FROM T CROSS JOIN U WHERE \(on)")
            try check(all, crossed, "T JOIN U ON \(on), and all pairs with it")
            let flags = try same("SELECT T.id, U.id, CASE WHEN \(on) THEN 1 ELSE 0 END FROM T, U")
            try check(
                all, flags.filter { $0[2] == .integer(1) }.map { Array($0.prefix(2)) }, "\(on), tested and shown")
        } else {
            let inner = try same("SELECT T.id, U.id FROM T JOIN U ON \(on)")
            let met = Set(inner.map { $0[0] })
            let rest = try same("SELECT id FROM T").filter { !met.contains($0[0]) }.map { [$0[0], Value.null] }
            try check(all, inner + rest, "T LEFT JOIN U ON \(on), and JOIN with the rows that meet none")
        }
    }

    private mutating func groups(_ table: String) throws {
        let condition = draw.condition(table).text
        let column = draw.column(table)
        let collation =
            column.type == .text && draw.random.chance(30)
            ? draw.random.pick([" COLLATE NOCASE", " COLLATE BINARY"]) : ""
        let key = column.name + collation
        let having = draw.random.pick(["count(*) > 2", "max(w) > 2", "min(w) IS NULL", "count(w) = 1"])
        let all = try same(
            "SELECT count(*), count(w), min(id), max(id) FROM \(table) WHERE \(condition) GROUP BY \(key)")
        let parts = try partitions(having).flatMap {
            try same(
                "SELECT count(*), count(w), min(id), max(id) FROM \(table) WHERE \(condition) GROUP BY \(key) HAVING \($0)"
            )
        }
        try check(all, parts, "groups of \(table) by \(key), parted by \(having), with \(condition)")
        // The figures of all rows from those of the groups.
        let whole = try same("SELECT count(*), count(w) FROM \(table) WHERE \(condition)")
        let sums = [0, 1].map { place in Value.integer(all.reduce(0) { $0 + MetamorphicRun.number($1[place]) }) }
        try check(whole, [sums], "the counts of \(table) with \(condition), in all and by \(key)")
        let different = try same("SELECT count(DISTINCT \(key)) FROM \(table) WHERE \(condition)")
        let some = try same(
            "SELECT count(*) FROM \(table) WHERE \(condition) GROUP BY \(key) HAVING count(\(column.name)) > 0")
        try check(different, [[.integer(Int64(some.count))]], "different \(key) of \(table), counted and grouped")
    }

    private mutating func differentRows(_ table: String) throws {
        let condition = draw.condition(table).text
        let (first, second) = (draw.column(table), draw.column(table))
        let list = "\(first.name), \(second.name)"
        let all = try same("SELECT DISTINCT \(list) FROM \(table)", exactly: false)
        let parts = partitions(condition).map { "SELECT \(list) FROM \(table) WHERE \($0)" }
        let union = try same(parts.joined(separator: " UNION "), exactly: false)
        try check(sizes(all), sizes(union), "different \(list) of \(table), parted by \(condition)")
        let common = try same("SELECT \(list) FROM \(table) INTERSECT SELECT \(list) FROM \(table)", exactly: false)
        try check(
            sizes(all), sizes(common), "different \(list) of \(table), and what they have in common with themselves")
        let none = try same("SELECT \(list) FROM \(table) EXCEPT SELECT \(list) FROM \(table)")
        try check(none, [], "\(list) of \(table) but for themselves")
        let rows = try same("SELECT \(list) FROM \(table)")
        try check(rows, try same(parts.joined(separator: " UNION ALL ")), "\(list) of \(table), parted by \(condition)")
        let whole = try same("SELECT min(\(first.name)), max(\(first.name)) FROM \(table)", exactly: !first.isNoCase)
        let ends = try same(
            "SELECT \(first.name) FROM \(table) WHERE \(first.name) IS NOT NULL ORDER BY \(first.name)", exactly: false)
        if !first.isNoCase {
            try check(whole, [[ends.first?[0] ?? .null, ends.last?[0] ?? .null]], "the ends of \(first.name)")
        }
    }

    private mutating func orders(_ table: String) throws {
        let condition = draw.condition(table).text
        let column = draw.column(table)
        let collation = column.type == .text ? draw.random.pick(["", " COLLATE NOCASE", " COLLATE BINARY"]) : ""
        let direction = draw.random.pick(["", " DESC"])
        let order = "\(column.name)\(collation)\(direction), id"
        let query = "SELECT id FROM \(table) WHERE \(condition) ORDER BY \(order)"
        let all = try ordered(query)
        let (limit, offset) = (draw.random.below(12), draw.random.below(6))
        let part = try ordered("\(query) LIMIT \(limit) OFFSET \(offset)")
        checks += 1
        if part != Array(all.dropFirst(offset).prefix(limit)) {
            throw fault("a part of \(query) is not that of the whole")
        }
        // By the comparison of the order, each row but the last is not after the next.
        for (one, next) in zip(all, all.dropFirst()).prefix(4) {
            let sides = "x.\(column.name)\(collation) \(direction.isEmpty ? "<=" : ">=") y.\(column.name)"
            let found = try ordered(
                "SELECT x.id FROM \(table) x, \(table) y WHERE x.id = \(one[0]) AND y.id = \(next[0]) AND "
                    + "(\(sides) OR x.\(column.name) IS NULL OR y.\(column.name) IS NULL)")
            checks += 1
            if found.isEmpty { throw fault("rows \(one[0]) and \(next[0]) of \(query) are not in order") }
        }
    }

    // MARK: Answers

    private func partitions(_ condition: String) -> [String] {
        ["\(condition)", "NOT (\(condition))", "(\(condition)) IS NULL"]
    }

    /// The rows of a query, with indexes and without, which must be the same.
    ///
    /// - Parameter exactly: whether the values must be identical; of texts that are equal without regard to case any
    ///   may be returned.
    private mutating func same(_ query: String, exactly: Bool = true) throws -> [[Value]] {
        let plain = try answer(query, world.plain)
        let indexed = try answer(query, world.indexed)
        if exactly {
            try check(plain, indexed, "\(query), without indexes and with them")
        } else {
            try check(sizes(plain), sizes(indexed), "\(query), without indexes and with them")
        }
        return plain
    }

    private mutating func ordered(_ query: String) throws -> [[Value]] {
        let plain = try answer(query, world.plain)
        checks += 1
        if plain != (try answer(query, world.indexed)) { throw fault("\(query) comes otherwise by an index") }
        return plain
    }

    private func answer(_ query: String, _ side: MetamorphicWorld.Side) throws -> [[Value]] {
        do {
            return try Statement.parse(query).read(side.catalogue, view: side.view, named: draw.named).rows
        } catch { throw fault("\(query): \(error)") }
    }

    private func sizes(_ rows: [[Value]]) -> [[Value]] {
        rows.map { row in row.map { BruteForce.folded($0) } }
    }

    private static func number(_ value: Value) -> Int64 { if case .integer(let number) = value { number } else { 0 } }

    /// Whether the rows are the same in any order.
    private mutating func check(_ first: [[Value]], _ second: [[Value]], _ what: String) throws {
        checks += 1
        var counts: [[Value]: Int] = [:]
        for row in first { counts[row, default: 0] += 1 }
        for row in second { counts[row, default: 0] -= 1 }
        guard let (row, count) = counts.first(where: { $0.value != 0 }) else { return }
        throw fault("\(what): \(first.count) rows and \(second.count); \(row) is in the first \(count) times more")
    }

    private func fault(_ reason: String) -> Disagreement {
        let values = draw.named.sorted { $0.key < $1.key }.filter { reason.contains(":\($0.key)") }
        let list = values.map { ":\($0.key) = \($0.value)" }.joined(separator: ", ")
        return Disagreement("metamorphic, seed \(seed): \(reason) \(list.prefix(600))")
    }
}
