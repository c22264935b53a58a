import MakoRecords
import MakoTestSupport

/// Groups, orders and distinct rows of expressions, not of columns.
extension RandomQuery {
    mutating func groupsOfExpressions() {
        add("SELECT ")
        let keys = written { query in
            for place in 0...query.random.below(2) {
                if place > 0 { query.add(", ") }
                query.key()
            }
        }
        add(keys)
        for _ in 0...random.below(2) {
            add(", ")
            result()
        }
        add(" FROM \(source())")
        condition(percent: 50)
        add(" GROUP BY ")
        add(keys)
        having()
        // Groups differ in their keys, and so these order them wholly.
        add(" ORDER BY ")
        if random.chance(40) {
            result()
            add(random.chance(50) ? " DESC, " : ", ")
        }
        add(keys)
        limit()
    }

    mutating func orderOfExpressions() {
        add("SELECT id")
        let isNamed = random.chance(30)
        if isNamed {
            add(", ")
            key()
            add(" AS fit")
        }
        add(" FROM \(source())")
        condition(percent: 70)
        add(" ORDER BY ")
        if isNamed { add(random.pick(["fit, ", "fit DESC, ", "2, ", "2 DESC, "])) }
        for _ in 0..<(isNamed ? random.below(2) : 1 + random.below(2)) {
            if random.chance(25) {
                // In SQLite a condition that is always false is a number, which ORDER BY takes for a column's.
                add("coalesce(")
                truth(1)
                add(", FALSE)")
            } else {
                key()
            }
            add(random.chance(50) ? " DESC, " : ", ")
        }
        add("id")
        limit()
    }

    mutating func differentExpressions() {
        add("SELECT DISTINCT ")
        let keys = written { query in
            for place in 0...query.random.below(2) {
                if place > 0 { query.add(", ") }
                query.key()
            }
        }
        add(keys)
        add(" FROM \(source())")
        condition(percent: 60)
        add(" ORDER BY ")
        add(keys)
        limit()
    }

    /// Aggregates without groups, of which a condition may leave nothing.
    mutating func totalsWithACondition() {
        add("SELECT ")
        result()
        add(", count(*) FROM \(source())")
        condition(percent: 60)
        having()
    }

    /// Adds a query whose FROM has a sub-query.
    mutating func derived() {
        let first = random.pick(world.columns)
        add("SELECT q.i, q.a, ")
        add(random.pick(["q.a IS NULL", "q.n + 1", "q.n * q.n", "coalesce(q.n, 0)", "max(q.n, q.i, 3)"]))
        add(" FROM (SELECT id AS i, \(first.name) AS a, ")
        wholeNumber(1)
        add(" AS n FROM \(source())")
        condition(percent: 70)
        add(") q")
        if random.chance(70) {
            add(" WHERE ")
            add(
                random.pick([
                    "q.n > 0", "q.a IS NOT NULL", "q.n IN (1, 2, NULL)", "NOT q.n < 2", "q.n IS NULL OR q.i > 5",
                    "q.n IS 2", "q.n IS NOT q.i",
                ]))
        }
        add(" ORDER BY ")
        if random.chance(50) { add(random.pick(["q.n, ", "q.a DESC, ", "q.n - q.i, ", "q.n NULLS LAST, "])) }
        add("q.i")
        limit()
    }

    /// Adds a query whose FROM has a sub-query beside a table; some of its rows may be missing.
    mutating func derivedBeside() {
        let first = random.pick(world.columns)
        add("SELECT t.id, q.i, q.a, q.n, ")
        add(random.pick(["q.a IS NULL", "q.n + t.id", "coalesce(q.n, t.id)", "q.m", "min(q.n, t.id)"]))
        add(
            " FROM T AS t \(random.pick(["LEFT JOIN", "LEFT JOIN", "JOIN"])) (SELECT id AS i, ref AS r, \(first.name) AS a, "
        )
        nesting += 10
        wholeNumber(2)
        add(" AS n, ")
        if random.chance(50) { add("\(random.below(5))") } else { wholeNumber(1) }
        add(" AS m FROM T")
        condition(percent: 50)
        nesting -= 10
        add(") q ON ")
        add(random.pick(["q.r = t.id", "q.i = t.ref", "q.r = t.ref", "q.n = t.id", "q.i = t.ref AND q.n > 1"]))
        if random.chance(60) {
            add(" WHERE ")
            add(
                random.pick([
                    "q.n > 0", "q.a IS NULL", "q.n IS NULL OR t.id < 9", "q.m = 2", "NOT q.n = 3", "q.m IS NOT NULL",
                    "q.n IS q.m", "q.m IS NOT 2", "q.n IS NOT DISTINCT FROM t.ref",
                ]))
        }
        add(
            " ORDER BY \(random.pick(["", "", "q.n, ", "q.m DESC, ", "q.n IS NULL, ", "q.m DESC NULLS FIRST, "]))t.id, q.i"
        )
        limit()
    }

    /// Adds the expression of a group or an order. Whole numbers and texts: of doubles the last digit may differ.
    private mutating func key() {
        switch random.below(6) {
        case 0: words(2)
        case 1, 2:
            // A number by itself would be that of a column.
            add("coalesce(")
            wholeNumber(2)
            add(random.chance(50) ? ", 0)" : ", NULL)")
        case 3: add(spelled(random.pick(world.columns)))
        case 4:
            column(random.pick(World.Kind.allCases))
            add(" IS NULL")
        default:
            add(
                "(SELECT \(random.pick(["max", "min", "count"]))(k.v) FROM P AS k WHERE k.id = \(tables.first ?? "T").ref)"
            )
        }
    }

    /// An aggregate, or something worked out of aggregates.
    private mutating func result() {
        switch random.below(5) {
        case 0:
            add("count(*) - count(")
            column(random.pick(World.Kind.allCases))
            add(")")
        case 1:
            add("coalesce(max(")
            column(.integer)
            add("), -1) + count(*)")
        case 2:
            add(random.pick(["sum", "min", "max", "avg", "count"]) + "(DISTINCT ")
            column(.integer)
            add(")")
        case 3:
            add(random.pick(["sum", "min", "max", "count"]) + "(")
            wholeNumber(2)
            add(")")
        default: aggregate()
        }
    }

    /// A whole number, or none.
    mutating func wholeNumber(_ depth: Int) {
        guard depth > 0, random.chance(70) else {
            if random.chance(75) { column(.integer) } else { constant(.integer) }
            return
        }
        switch random.below(9) {
        case 0..<3:
            add("(")
            wholeNumber(depth - 1)
            add(random.pick([" + ", " - ", " * ", " / ", " % "]))
            wholeNumber(depth - 1)
            add(")")
        case 3:
            add("abs(")
            wholeNumber(depth - 1)
            add(")")
        case 4:
            add("-(")
            wholeNumber(depth - 1)
            add(")")
        case 5:
            add("length(")
            words(depth - 1)
            add(")")
        case 6:
            add("instr(")
            words(depth - 1)
            add(random.pick([", 'a')", ", 'b')", ", '')", ", 'ab')"]))
        case 7:
            add("coalesce(")
            wholeNumber(depth - 1)
            add(", ")
            wholeNumber(depth - 1)
            add(")")
        default:
            add("CASE WHEN ")
            column(.ascii)
            comparison()
            constant(.ascii)
            add(" THEN ")
            wholeNumber(depth - 1)
            add(random.chance(60) ? " ELSE 7 END" : " END")
        }
    }

    /// Returns the text that a closure adds, without adding it, so that it can be used several times.
    private mutating func written(_ write: (inout RandomQuery) -> Void) -> Spelling {
        let (makoBefore, sqliteBefore) = (mako, sqlite)
        (mako, sqlite) = ("", "")
        isWrittenOut = true
        write(&self)
        isWrittenOut = false
        let spelling = Spelling(mako: mako, sqlite: sqlite)
        (mako, sqlite) = (makoBefore, sqliteBefore)
        return spelling
    }

    private mutating func add(_ spelling: Spelling) {
        mako += spelling.mako
        sqlite += spelling.sqlite
    }

    private struct Spelling {
        let mako: String
        let sqlite: String
    }
}
