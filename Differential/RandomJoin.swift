import MakoRecords
import MakoTestSupport

/// Queries over two or three tables: `T AS t` with `P`, with itself, or with both. All columns are qualified with their
/// tables.
extension RandomQuery {
    private enum Kind {
        /// Another `T`.
        case sibling
        case parent
    }

    private struct Member {
        let kind: Kind
        let name: String
        let isLeft: Bool
    }

    mutating func joined() {
        var members: [Member] = []
        let shapes: [[Kind]] = [[.parent], [.sibling], [.parent, .parent], [.parent, .sibling], [.sibling, .parent]]
        for (place, kind) in random.pick(shapes).enumerated() {
            members.append(Member(kind: kind, name: ["a", "b"][place], isLeft: random.chance(50)))
        }
        tables = ["t"] + members.filter { $0.kind == .sibling }.map(\.name)
        switch random.below(10) {
        case 0..<6: rows(members)
        case 6..<9: groups(members)
        default: different(members)
        }
        tables = []
    }

    private mutating func rows(_ members: [Member]) {
        let ids = (["t"] + members.map(\.name)).map { "\($0).id" }.joined(separator: ", ")
        add("SELECT \(ids)")
        for _ in 0..<random.below(3) {
            add(", ")
            if random.chance(50) { anyValue(1) } else { add(someColumn(members)) }
        }
        from(members)
        add(" ORDER BY ")
        for _ in 0..<random.below(3) {
            if random.chance(60) { orderKey() } else { add(someColumn(members)) }
            add(", ")
        }
        add(ids)
        limit()
    }

    private mutating func groups(_ members: [Member]) {
        let keys = Array(Set((0...random.below(2)).map { _ in someColumn(members) })).sorted()
        add("SELECT \(keys.joined(separator: ", "))")
        for _ in 0...random.below(3) {
            add(", ")
            aggregate()
        }
        from(members)
        add(" GROUP BY \(keys.joined(separator: ", "))")
        having()
        add(" ORDER BY \(keys.joined(separator: ", "))")
        limit()
    }

    private mutating func different(_ members: [Member]) {
        let keys = Array(Set((0...random.below(2)).map { _ in someColumn(members) })).sorted()
        add("SELECT DISTINCT \(keys.joined(separator: ", "))")
        from(members)
        add(" ORDER BY \(keys.joined(separator: ", "))")
        limit()
    }

    private mutating func someColumn(_ members: [Member]) -> String {
        let parents = members.filter { $0.kind == .parent }
        if !parents.isEmpty && random.chance(40) {
            return random.pick(parents).name + "." + random.pick(["id", "n", "v"])
        }
        return spelled(random.pick(world.columns))
    }

    private mutating func from(_ members: [Member]) {
        add(" FROM \(source("t"))")
        // Conditions name only the tables up to their own.
        let all = tables
        tables = ["t"]
        var before = ["t"]
        var parents: [String] = []
        for member in members {
            add(member.isLeft ? " LEFT JOIN " : random.pick([" JOIN ", " INNER JOIN "]))
            add(member.kind == .parent ? "P \(member.name)" : source(member.name))
            add(" ON ")
            meeting(member, before, parents)
            if member.kind == .sibling { tables.append(member.name) }
            if random.chance(30) {
                add(" AND ")
                truth(1)
            }
            if member.kind == .parent && random.chance(20) {
                add(random.pick([" AND \(member.name).v > 0", " AND \(member.name).n >= 'b'"]))
            }
            if member.kind == .parent { parents.append(member.name) } else { before.append(member.name) }
        }
        tables = all
        guard random.chance(60) else { return }
        add(" WHERE ")
        if let member = members.first(where: \.isLeft), random.chance(30) {
            add("\(member.name).id IS \(random.chance(70) ? "" : "NOT ")NULL")
            if random.chance(50) { return }
            add(random.chance(50) ? " AND " : " OR ")
        }
        truth(2)
    }

    /// The join condition of a table with those before it.
    private mutating func meeting(_ member: Member, _ before: [String], _ parents: [String]) {
        let other = random.pick(before)
        let name = member.name
        func first(_ kind: World.Kind) -> String { world.columns.first { $0.kind == kind }?.name ?? "id" }
        if member.kind == .parent {
            let meeting =
                random.pick([
                    "\(other).ref = \(name).id", "\(name).id = \(other).ref", "\(name).v = \(other).\(first(.integer))",
                    "\(other).\(first(.double)) = \(name).v", "\(name).n = \(other).\(first(.ascii))",
                    "\(name).n COLLATE NOCASE = \(other).\(first(.ascii))", "\(name).id < \(other).ref",
                    "\(name).id = \(other).\(first(.double))", "\(name).v + 1 = \(other).\(first(.integer))",
                    range("\(name).id", "\(other).ref"), range("\(name).v", "\(other).\(first(.double))"),
                ])
            mako += meeting
            // The sign keeps SQLite 3.40 from applying the collation of this equation to others of the column.
            sqlite += meeting.contains("NOCASE") ? "+" + meeting : meeting
            return
        }
        if let parent = parents.randomElement(using: &random), random.chance(50) {
            add(
                random.pick([
                    "\(name).ref = \(parent).id", "\(parent).v = \(name).\(first(.integer))",
                    "\(name).\(first(.ascii)) = \(parent).n",
                ]))
            return
        }
        let column = random.pick(world.columns)
        switch random.below(6) {
        case 0: add("\(name).id = \(other).ref")
        case 1: add(range("\(name).\(first(.integer))", "\(other).\(first(random.pick([.integer, .double])))"))
        case 2: add(range("\(name).\(column.name)", "\(other).\(column.name)", isNumber: false))
        case 3: add("\(name).\(first(.double)) = \(other).\(first(.integer))")
        default: add("\(other).\(column.name) = \(name).\(column.name)")
        }
    }

    /// A range of a column between values of another table, or on one side of one.
    private mutating func range(_ column: String, _ other: String, isNumber: Bool = true) -> String {
        switch random.below(isNumber ? 4 : 3) {
        case 0: "\(column) \(random.pick(["<", "<=", ">", ">="])) \(other)"
        case 1: "\(other) \(random.pick(["<", ">="])) \(column)"
        case 2: "\(column) >= \(other) AND \(column) <= \(other)"
        default: "\(column) > \(other) AND \(other) * 2 >= \(column)"
        }
    }
}
