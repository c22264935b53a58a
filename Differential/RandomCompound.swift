import MakoRecords
import MakoTestSupport

/// Compound queries: `UNION`, `UNION ALL`, `INTERSECT` and `EXCEPT`, alone, with a name, and as the rows of a
/// sub-query.
extension RandomQuery {
    mutating func compound() {
        let kinds = (0...random.below(2)).map { _ in random.pick(World.Kind.allCases.filter { $0 != .bool }) }
        let isNamed = random.chance(20) && !self.isNamed
        if isNamed { add("WITH U AS (") }
        parts(kinds, named: "c")
        if isNamed { add(") SELECT * FROM U") }
        // All columns order, so that rows which are equal in them are equal.
        let places = kinds.indices.map { "\($0 + 1)\(random.chance(30) ? " DESC" : "")" }
        add(" ORDER BY \(places.joined(separator: ", "))")
        limit()
    }

    /// Two or three combined queries.
    private mutating func parts(_ kinds: [World.Kind], named name: String) {
        for part in 0...1 + random.below(2) {
            if part > 0 { add(random.pick([" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT "])) }
            add(random.chance(15) ? "SELECT DISTINCT " : "SELECT ")
            for (place, kind) in kinds.enumerated() {
                if place > 0 { add(", ") }
                value(of: kind)
                if part == 0 { add(" AS \(name)\(place)") }
            }
            add(" FROM \(source())")
            condition(percent: 70)
        }
    }

    private mutating func value(of kind: World.Kind) {
        switch kind {
        case .integer where random.chance(40): wholeNumber(1)
        case .ascii where random.chance(40): words(1)
        default: column(kind)
        }
    }

    /// The rows of a sub-query that nothing around is named in: one that groups, joins or puts together.
    mutating func membersAlone(_ kind: World.Kind, _ name: String) {
        let column = random.pick(world.columns.filter { $0.kind == kind }).name
        let other = random.pick(world.columns.filter { $0.kind == kind }).name
        switch random.below(3) {
        case 0:
            add("SELECT ")
            sqlite += "+"
            add("\(name).\(column) FROM T AS \(name) GROUP BY \(name).\(column) HAVING count(*) ")
            add(random.pick(["> 1", "= 1", "< 3"]))
        case 1:
            add("SELECT ")
            sqlite += "+"
            add("\(name).\(column) FROM T AS \(name) \(random.pick(["JOIN", "LEFT JOIN"])) P AS p\(name) ON ")
            add("p\(name).id = \(name).ref WHERE ")
            add(random.pick(["p\(name).v > 0", "p\(name).v IS NULL", "p\(name).n >= 'a'", "\(name).id > 3"]))
        default:
            add("SELECT ")
            sqlite += "+"
            add("\(name).\(column) FROM T AS \(name) WHERE \(name).id < \(random.below(30))")
            add(random.pick([" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT "]))
            add("SELECT ")
            sqlite += "+"
            add("\(name).\(other) FROM T AS \(name)")
            if random.chance(50) { add(" WHERE \(name).ref = \(random.below(6))") }
        }
    }
}
