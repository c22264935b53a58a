import MakoRecords
import MakoTestSupport

/// Conditions that ask other rows, alone or by a value of the row around.
extension RandomQuery {
    mutating func subquery() {
        nesting += 1
        defer { nesting -= 1 }
        let around = tables.isEmpty ? "T" : random.pick(tables)
        let name = "s\(nesting)"
        switch random.below(11) {
        case 8: first(around, name)
        case 9, 10: whole(around, name)
        case 0:
            add("\(around).ref\(not()) IN (SELECT \(name).id FROM P AS \(name)")
            if random.chance(60) { add(" WHERE \(parentTest(name))") }
            add(")")
        case 1, 2: member(around, name)
        case 3:
            add("\(not())EXISTS (SELECT 1 FROM T AS \(name) WHERE \(link(around, name))")
            beyond(around, name)
            test(name, " AND ")
            add(")")
        case 4:
            add("\(not())EXISTS (SELECT \(name).n FROM P AS \(name) WHERE \(name).id = \(around).ref")
            if random.chance(60) { add(" AND \(parentTest(name))") }
            add(")")
        case 5:
            add("(SELECT count(*) FROM T AS \(name) WHERE \(link(around, name))")
            beyond(around, name)
            test(name, " AND ")
            add(")")
            comparison()
            add("\(random.below(4))")
        case 6:
            let value = column(of: .integer)
            add("(SELECT \(random.pick(["max", "min", "sum", "count"]))(\(name).\(value)) FROM T AS \(name)")
            if random.chance(50) {
                add(" WHERE \(link(around, name))")
                beyond(around, name)
            } else {
                test(name, " WHERE ")
            }
            add(")")
            comparison()
            if random.chance(50) { add("\(around).\(column(of: .integer))") } else { add("\(random.below(9) - 3)") }
        default:
            add("\(not())EXISTS (SELECT 1 FROM T AS \(name)")
            test(name, " WHERE ")
            add(")")
        }
    }

    /// A value among those of another row's column of the same kind, NULL among them.
    private mutating func member(_ around: String, _ name: String) {
        let kind = random.pick(World.Kind.allCases.filter { $0 != .text })
        add("\(around).\(column(of: kind))\(not()) IN (")
        if random.chance(30) {
            membersAlone(kind, name)
            return add(")")
        }
        add("SELECT ")
        // The sign keeps SQLite 3.40 from looking for NULL at the wrong end of a descending index.
        sqlite += "+"
        add("\(name).\(column(of: kind)) FROM T AS \(name)")
        switch random.below(4) {
        case 0:
            add(" WHERE \(link(around, name))")
            beyond(around, name)
            if random.chance(30) { add(" ORDER BY \(name).id LIMIT \(random.below(4))") }
        case 1: add(" ORDER BY \(name).id LIMIT \(random.below(6))")
        default: test(name, " WHERE ")
        }
        add(")")
    }

    /// A value of the first row, in an order, of those that belong to the row around.
    private mutating func first(_ around: String, _ name: String) {
        let kind = random.pick([World.Kind.integer, .double, .ascii])
        add("(SELECT \(name).\(column(of: kind)) FROM T AS \(name) WHERE \(link(around, name))")
        beyond(around, name)
        add(" ORDER BY \(name).\(column(of: .integer))\(random.chance(50) ? " DESC" : ""), \(name).id LIMIT 1")
        if random.chance(30) { add(" OFFSET \(random.below(3))") }
        add(")")
        comparison()
        add("\(around).\(column(of: kind))")
    }

    /// A condition on a sub-query with joins, groups or a set operation, which reads the row around.
    private mutating func whole(_ around: String, _ name: String) {
        let (parent, number) = ("p" + name, column(of: .integer))
        let join = "FROM T AS \(name) JOIN P AS \(parent) ON \(parent).id = \(name).ref"
        switch random.below(7) {
        case 0:
            add("(SELECT count(*) \(join) WHERE \(link(around, name))")
            beyond(around, name)
            test(name, " AND ")
            add(")")
            comparison()
            add("\(random.below(4))")
        case 1:
            add(
                "\(not())EXISTS (SELECT \(parent).n FROM T AS \(name) LEFT JOIN P AS \(parent) ON \(parent).id = \(name).ref"
            )
            if random.chance(60) { add(" AND \(parent).v < \(around).\(number)") }
            add(" WHERE \(link(around, name)) AND \(parent).id IS\(not()) NULL)")
        case 2:
            add("(SELECT coalesce(max(\(name).\(number)), \(around).\(number)) \(join) WHERE \(link(around, name))")
            beyond(around, name)
            add(")")
            comparison()
            add("\(around).\(column(of: .integer))")
        case 3:
            add("(SELECT count(*) + \(around).id FROM T AS \(name) WHERE \(link(around, name))")
            beyond(around, name)
            add(" GROUP BY \(name).\(number) HAVING count(*) > \(random.below(2)) ORDER BY 1 DESC LIMIT 1)")
            comparison()
            add("\(random.below(9))")
        case 4:
            add("\(around).\(number)\(not()) IN (SELECT ")
            sqlite += "+"
            add("\(name).\(number) FROM T AS \(name) WHERE \(link(around, name))")
            beyond(around, name)
            add(random.pick([" UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT "]))
            add("SELECT \(parent).v FROM P AS \(parent) WHERE \(parent).id = \(around).ref)")
        case 5:
            add("(SELECT max(z\(name).n) FROM (SELECT count(*) AS n FROM T AS \(name) WHERE \(link(around, name))")
            beyond(around, name)
            add(" GROUP BY \(name).\(number)) AS z\(name))")
            comparison()
            add("\(random.below(3))")
        default:
            add("(SELECT count(*) FROM P AS \(parent) JOIN T AS \(name) ON \(name).\(number) >= \(parent).v")
            add(" AND \(name).\(number) <= \(around).\(column(of: random.pick([.integer, .double]))))")
            comparison()
            add("\(random.below(5))")
        }
    }

    private mutating func not() -> String { random.chance(35) ? " NOT " : "" }

    private mutating func column(of kind: World.Kind) -> String {
        random.pick(world.columns.filter { $0.kind == kind }).name
    }

    /// How rows of the sub-query belong to the row around.
    private mutating func link(_ around: String, _ name: String) -> String {
        let number = column(of: .integer)
        return random.pick([
            "\(name).ref = \(around).id", "\(around).id = \(name).ref", "\(name).ref = \(around).ref",
            "\(name).\(number) = \(around).\(number)", "\(name).id < \(around).ref",
        ])
    }

    /// A second condition on the row around, which no look-up answers.
    private mutating func beyond(_ around: String, _ name: String) {
        guard random.chance(40) else { return }
        let kind = random.pick([World.Kind.integer, .double, .ascii])
        add(" AND \(name).\(column(of: kind)) \(random.pick(["<", ">=", "<>"])) \(around).\(column(of: kind))")
    }

    private mutating func parentTest(_ name: String) -> String {
        random.pick(["\(name).v > 0", "\(name).v IS NULL", "\(name).n >= 'b'", "\(name).id <> 2"])
    }

    /// A condition on the rows of the sub-query.
    private mutating func test(_ name: String, _ word: String) {
        guard random.chance(60) else { return }
        let all = tables
        tables = [name]
        add(word)
        truth(1)
        tables = all
    }
}
