import MakoRecords
import MakoTestSupport

/// A random question in both languages: the same text, but for paths, which SQLite spells as sub-queries.
///
/// Queries never contain what the two define differently. The rules:
/// - arithmetic on numbers near the ends of 64 bits (Mako goes on to unsigned numbers, SQLite to doubles);
/// - whole and broken numbers in one column of several questions put together (which of two equal ones is left);
/// - folding of letters outside ASCII (`lower`, `upper`, `NOCASE`: Mako folds all letters, SQLite those of ASCII);
/// - what `ESCAPE` names at the end of a pattern, `[` without a `]`, `[!a]` and `[b-a]` (in Mako the first two stand for
///   themselves, `!` is `^` there, and no letter is from b to a);
/// - `substr` from place 0 or of a negative length (Mako counts from the first letter and answers nothing);
/// - NaN (SQLite has none), and comparisons of different types (Mako refuses them before anything runs);
/// - dates as texts (SQLite has none: they are bound as numbers of seconds);
/// - `||` outside parentheses (in Mako it is also OR);
/// - what SQLite 3.40 gets wrong: an OR of one column's comparisons by different collations, equations of three columns by
///   different collations, NULL among the values of a sub-query that it reads
///   from a descending index, a pattern with ESCAPE that tests the rows of a LEFT JOIN, an order by what is always false.
struct RandomQuery {
    var mako = ""
    var sqlite = ""
    private(set) var parameters: [Value] = []

    let world: World
    var random: SplitMix
    /// The names of the tables that have the columns of `T`, where several are joined; none: there is no other.
    var tables: [String] = []
    /// How many sub-queries are around.
    var nesting = 0
    /// Whether a common table expression `W` replaces `T`.
    private(set) var isNamed = false
    /// Whether the text is used several times, so that it can have no parameters.
    var isWrittenOut = false

    static func make(_ world: World, _ random: inout SplitMix) -> RandomQuery {
        var query = RandomQuery(world: world, random: random.fork())
        query.write()
        return query
    }

    init(world: World, random: SplitMix) {
        self.world = world
        self.random = random
    }

    // MARK: Statements

    private mutating func write() {
        if random.chance(25) { named() }
        switch random.below(33) {
        case 17..<20: compound()
        case 20..<23: groupsOfExpressions()
        case 23..<26: orderOfExpressions()
        case 26: differentExpressions()
        case 27: totalsWithACondition()
        case 28, 29: derived()
        case 30..<33: derivedBeside()
        case 0..<5: plain()
        case 5..<7: totals()
        case 7..<9: groups()
        case 9: distinct()
        case 10: groupsWithAName()
        default: joined()
        }
    }

    /// Adds a common table expression that replaces `T` from here on. Joined conditions have no sub-queries.
    private mutating func named() {
        add("WITH W AS (SELECT * FROM T")
        nesting += 10
        condition(percent: 90)
        nesting -= 10
        add(") ")
        isNamed = true
    }

    /// The item of FROM for `T`, with an alias or under its own name.
    func source(_ name: String? = nil) -> String { isNamed ? "W AS \(name ?? "T")" : name.map { "T AS \($0)" } ?? "T" }

    private mutating func groupsWithAName() {
        let keys = Array(Set((0...random.below(2)).map { _ in random.pick(world.columns).name })).sorted()
        let names = keys.indices.map { "k\($0)" }
        add(isNamed ? "SELECT " : "WITH G AS (SELECT ")
        for (key, name) in zip(keys, names) { add("\(key) AS \(name), ") }
        add("count(*) AS n, max(")
        column(.integer)
        add(") AS m FROM \(source())")
        condition(percent: 50)
        add(" GROUP BY \(keys.joined(separator: ", "))")
        if !isNamed {
            add(") SELECT \(random.chance(50) ? "*" : "m, n + 1, \(names[0])") FROM G")
            if random.chance(60) {
                add(" WHERE n > \(random.below(4)) \(random.pick(["AND", "OR"])) ")
                add(random.pick(["m < \(random.below(5))", "m IS NULL", "\(names[0]) IS NOT NULL"]))
            }
        }
        add(" ORDER BY \(names.joined(separator: ", "))")
        limit()
    }

    private mutating func plain() {
        add("SELECT id")
        for _ in 0..<random.below(3) {
            add(", ")
            anyValue(2)
        }
        add(" FROM \(source())")
        condition(percent: 90)
        add(" ORDER BY ")
        for _ in 0..<random.below(3) {
            orderKey()
            add(", ")
        }
        add(random.chance(30) ? "id DESC" : "id")
        limit()
    }

    private mutating func totals() {
        add("SELECT ")
        for place in 0...random.below(4) {
            if place > 0 { add(", ") }
            aggregate()
        }
        add(" FROM \(source())")
        condition(percent: 70)
    }

    private mutating func groups() {
        let keys = Array(Set((0...random.below(2)).map { _ in random.pick(world.columns).name })).sorted()
        add("SELECT \(keys.joined(separator: ", ")), ")
        for place in 0...random.below(3) {
            if place > 0 { add(", ") }
            aggregate()
        }
        add(" FROM \(source())")
        condition(percent: 50)
        add(" GROUP BY \(keys.joined(separator: ", "))")
        having()
        add(" ORDER BY \(keys.joined(separator: ", "))")
        limit()
    }

    private mutating func distinct() {
        let keys = Array(Set((0...random.below(2)).map { _ in random.pick(world.columns).name })).sorted()
        add("SELECT DISTINCT \(keys.joined(separator: ", ")) FROM \(source())")
        condition(percent: 50)
        add(" ORDER BY \(keys.joined(separator: ", "))")
        limit()
    }

    /// Of counts and whole sums: those of broken numbers depend on the order of adding.
    mutating func having() {
        guard random.chance(40) else { return }
        add(" HAVING ")
        switch random.below(5) {
        case 0: add("count(*) > \(random.below(4))")
        case 1:
            add("sum(")
            column(.integer)
            add(") \(random.pick([">", "<=", "="])) \(random.below(7) - 3)")
        case 2:
            add("min(")
            column(.ascii)
            add(random.chance(50) ? ") IS NULL" : ") >= 'a'")
        case 3:
            add("count(DISTINCT ")
            column(random.pick(World.Kind.allCases))
            add(") > \(random.below(3))")
        default:
            add("NOT (max(")
            column(.integer)
            add(") - min(")
            column(.integer)
            add(") < \(random.below(5))) OR count(*) = 1")
        }
    }

    mutating func condition(percent: Int) {
        guard random.chance(percent) else { return }
        add(" WHERE ")
        truth(3)
    }

    mutating func orderKey() {
        if random.chance(70) {
            let column = random.pick(world.columns)
            add(spelled(column))
            if column.kind == .ascii && random.chance(30) { add(" COLLATE NOCASE") }
        } else {
            path()
        }
        if random.chance(40) { add(" DESC") }
    }

    mutating func limit() {
        guard random.chance(40) else { return }
        add(" LIMIT \(random.below(12))")
        if random.chance(50) { add(" OFFSET \(random.below(6))") }
    }

    mutating func aggregate() {
        switch random.below(6) {
        case 0: add("count(*)")
        case 1:
            add(random.chance(50) ? "count(" : "count(DISTINCT ")
            add(spelled(random.pick(world.columns)))
            add(")")
        case 2, 3:
            add(random.pick(["sum", "avg", "total"]) + "(")
            number(1)
            add(")")
        default:
            add(random.pick(["min", "max"]) + "(")
            add(spelled(random.pick(world.columns.filter { $0.kind != .bool })))
            add(")")
        }
    }

    // MARK: Conditions

    mutating func truth(_ depth: Int) {
        if depth > 0 && random.chance(45) {
            switch random.below(5) {
            case 0:
                add("NOT (")
                truth(depth - 1)
                add(")")
            default:
                let word = random.chance(50) ? " AND " : " OR "
                add("(")
                truth(depth - 1)
                for _ in 0...random.below(2) {
                    add(word)
                    truth(depth - 1)
                }
                add(")")
            }
            return
        }
        predicate()
    }

    private mutating func predicate() {
        let kind = random.pick(World.Kind.allCases)
        switch random.below(nesting < 2 ? 18 : 16) {
        case 16, 17: subquery()
        case 13: exactNumbers()
        case 14:
            liked(.ascii)
            add(random.chance(30) ? " NOT LIKE " : " LIKE ")
            if random.chance(50) {
                column(.ascii)
            } else {
                add(random.pick(["'a%%' ESCAPE '%'", "'%a__c' ESCAPE '_'", "'aa%' ESCAPE 'a'", "'%a%_%' ESCAPE '%'"]))
            }
        case 15:
            let name = spelled(random.pick(world.columns.filter { $0.kind == .ascii }))
            mako += name
            // As below.
            sqlite += "+\(name)"
            add(random.pick([" COLLATE NOCASE IN (", " COLLATE NOCASE NOT IN ("]))
            constant(.ascii)
            add(", ")
            constant(.ascii)
            add(")")
        case 10:
            identity()
            comparison()
            add("\(random.below(42) - 1)")
        case 11:
            identity()
            add(
                random.pick([
                    " IN (3, 1, 40, 7, 3)", " BETWEEN 4 AND 19", " NOT BETWEEN -3 AND 20", " IN ()",
                    " NOT IN (2, NULL)",
                ]))
        case 12:
            let name = spelled(random.pick(world.columns.filter { $0.kind == .ascii }))
            mako += name
            // The sign keeps SQLite 3.40 from joining this with another comparison of the column by OR, which forgets the collation.
            sqlite += "+\(name)"
            add(" COLLATE NOCASE")
            comparison()
            constant(.ascii)
        case 0:
            anyValue(1)
            add(random.chance(50) ? " IS NULL" : " IS NOT NULL")
        case 1:
            column(kind)
            add(random.chance(30) ? " NOT IN (" : " IN (")
            for place in 0...random.below(4) {
                if place > 0 { add(", ") }
                if random.chance(5) { add("NULL") } else { constant(kind) }
            }
            add(")")
        case 2:
            column(kind)
            add(random.chance(30) ? " NOT BETWEEN " : " BETWEEN ")
            constant(kind)
            add(" AND ")
            constant(kind)
        case 3: pattern()
        case 4:
            column(.bool)
            if random.chance(50) { add(random.pick([" = TRUE", " = FALSE", " <> TRUE"])) }
        case 5:
            number(2)
            comparison()
            number(1)
        case 6:
            words(2)
            comparison()
            words(1)
        case 7:
            add(prefix() + "ref")
            comparison()
            add("\(random.below(7))")
        case 8:
            let name = path()
            comparison()
            constant(name == "v" ? .integer : .ascii)
        default:
            column(kind)
            comparison()
            if random.chance(15) { column(kind) } else { constant(kind) }
        }
    }

    /// Compares whole numbers with doubles, beyond the range in which each whole number has an equal double.
    private mutating func exactNumbers() {
        let far = [
            "9007199254740992.0", "9007199254740993", "9223372036854775807.0", "-9223372036854775808.0", "9.3e18",
            "-9.3e18",
            "0.5", "-0.0", "1e300", "9007199254740992.5", "-1.0",
        ]
        switch random.below(6) {
        case 0:
            column(.large)
            comparison()
            add(random.pick(far))
        case 1:
            add("\(random.pick(far))")
            comparison()
            column(.large)
        case 2:
            column(.large)
            comparison()
            column(.double)
        case 3:
            column(random.chance(50) ? .large : .integer)
            add(random.pick([" IN (", " NOT IN ("]))
            add((0...random.below(3)).map { _ in random.pick(far) }.joined(separator: ", "))
            add(")")
        case 4:
            column(.double)
            add(" BETWEEN ")
            column(.integer)
            add(" AND ")
            column(random.chance(50) ? .large : .integer)
        default:
            identity()
            comparison()
            add(random.pick(["2.5", "3.0", "-0.5", "1e10", "39.5", "9.3e18"]))
        }
    }

    /// The sign keeps SQLite 3.40 from looking for a pattern with ESCAPE in an order, by which it loses rows of a LEFT JOIN.
    private mutating func liked(_ kind: World.Kind) {
        let name = spelled(random.pick(world.columns.filter { $0.kind == kind }))
        mako += name
        sqlite += "+\(name)"
    }

    private mutating func pattern() {
        if random.chance(75) {
            liked(random.chance(50) ? .ascii : .text)
            add(random.chance(25) ? " NOT LIKE " : " LIKE ")
            let pattern = random.pick([
                "a%", "%b", "%a%", "a_c", "_", "__", "%", "", "A%", "ab", "é%", "%é", "日_", "a!%", "%!_%", "!a",
                "!!", "%%", "%_%", "_%", "%_", "!a%",
            ])
            text(pattern)
            if pattern.contains("!") || random.chance(10) { add(" ESCAPE '!'") }
        } else {
            column(random.chance(50) ? .ascii : .text)
            add(random.chance(25) ? " NOT GLOB " : " GLOB ")
            text(
                random.pick([
                    "a*", "*b", "*a*", "a?c", "?", "*", "", "A*", "ab", "[ab]*", "[^a]*", "[a-c]b*", "é*",
                    "[]a]*", "[^]a]*", "[a-]*", "[-a]*", "**", "?*", "*?", "*[%]", "[a-c-z]",
                ]))
        }
    }

    mutating func comparison() {
        add(random.pick([" = ", " == ", " <> ", " != ", " < ", " <= ", " > ", " >= "]))
    }

    // MARK: Values

    mutating func anyValue(_ depth: Int) {
        switch random.below(4) {
        case 0: number(depth)
        case 1: words(depth)
        case 2: path()
        default: add(spelled(random.pick(world.columns)))
        }
    }

    mutating func column(_ kind: World.Kind) {
        add(spelled(random.pick(world.columns.filter { $0.kind == kind })))
    }

    /// The name of one of the tables with the columns of `T`, before its columns.
    mutating func prefix() -> String { tables.isEmpty ? "" : random.pick(tables) + "." }

    mutating func spelled(_ column: World.Column) -> String { prefix() + column.name }

    private mutating func identity() { add(prefix() + "id") }

    /// A property of the row that is referred to.
    @discardableResult
    private mutating func path() -> String {
        let name = random.pick(World.parent).name
        let table = tables.isEmpty ? "T" : random.pick(tables)
        mako += tables.isEmpty ? "ref.\(name)" : "\(table).ref.\(name)"
        sqlite += "(SELECT \(name) FROM P WHERE P.id = \(table).ref)"
        return name
    }

    private mutating func number(_ depth: Int) {
        guard depth > 0, random.chance(60) else {
            if random.chance(60) {
                column(random.chance(60) ? .integer : .double)
            } else {
                constant(random.chance(70) ? .integer : .double)
            }
            return
        }
        switch random.below(12) {
        case 11: counted()
        case 10:
            choice { query in
                if query.random.chance(50) { query.column(.integer) } else { query.constant(.integer) }
            }
        case 8:
            add("-(")
            number(depth - 1)
            add(")")
        case 9:
            add("round(")
            column(.integer)
            add(")")
        case 0..<4:
            add("(")
            number(depth - 1)
            add(random.pick([" + ", " - ", " * ", " / "]))
            number(depth - 1)
            add(")")
        case 4:
            // The remainder of doubles is that of whole numbers there.
            add("(")
            column(.integer)
            add(" % ")
            constant(.integer)
            add(")")
        case 5:
            add("abs(")
            number(depth - 1)
            add(")")
        case 6:
            add("length(")
            words(depth - 1)
            add(")")
        default:
            add(random.pick(["coalesce(", "ifnull(", "nullif("]))
            column(.integer)
            add(", ")
            constant(.integer)
            add(")")
        }
    }

    mutating func words(_ depth: Int) {
        guard depth > 0, random.chance(60) else {
            if random.chance(60) { column(.ascii) } else { constant(.ascii) }
            return
        }
        switch random.below(8) {
        case 7:
            add("replace(")
            words(depth - 1)
            add(random.pick([", 'a', 'bb')", ", 'b', '')", ", '', 'x')", ", 'ab', 'a%')"]))
        case 6:
            add(random.pick(["ltrim(", "rtrim("]))
            words(depth - 1)
            add(")")
        case 5: choice { query in query.words(depth - 1) }
        case 0:
            add(random.pick(["lower(", "upper(", "trim("]))
            words(depth - 1)
            add(")")
        case 1:
            add("substr(")
            words(depth - 1)
            add(", \(random.pick([-4, -3, -2, -1, 1, 2, 3]))")
            if random.chance(60) { add(", \(random.below(4))") }
            add(")")
        case 2:
            add("(")
            words(depth - 1)
            add(" || ")
            words(depth - 1)
            add(")")
        default:
            add(random.pick(["coalesce(", "ifnull(", "nullif("]))
            column(.ascii)
            add(", ")
            constant(.ascii)
            add(")")
        }
    }

    /// `CASE`, with values that a closure writes.
    private mutating func choice(_ value: (inout RandomQuery) -> Void) {
        let kind = random.pick([World.Kind.integer, .ascii])
        let hasSubject = random.chance(50)
        add("CASE ")
        if hasSubject {
            column(kind)
            add(" ")
        }
        for _ in 0...random.below(2) {
            add("WHEN ")
            if hasSubject {
                constant(kind)
            } else {
                column(kind)
                if random.chance(20) {
                    add(" IS NULL")
                } else {
                    comparison()
                    constant(kind)
                }
            }
            add(" THEN ")
            value(&self)
            add(" ")
        }
        if random.chance(60) {
            add("ELSE ")
            value(&self)
            add(" ")
        }
        add("END")
    }

    /// Adds a condition in the place of a number.
    private mutating func counted() {
        let kind = random.pick([World.Kind.integer, .ascii])
        add(random.chance(30) ? "(NOT " : "(")
        column(kind)
        if random.chance(20) {
            add(" IS NULL")
        } else {
            comparison()
            constant(kind)
        }
        if random.chance(30) {
            add(random.pick([" AND ", " OR "]))
            column(.integer)
            comparison()
            constant(.integer)
        }
        add(")")
    }

    private mutating func text(_ text: String) {
        if !isWrittenOut && random.chance(30) { bind(.text(text)) } else { add(Value.text(text).description) }
    }

    mutating func constant(_ kind: World.Kind) {
        let value = World.constant(kind, &random)
        if !isWrittenOut, kind == .date || random.chance(30) { return bind(value) }
        if case .integer(.min) = value, !isWrittenOut { return bind(value) }
        add(value.description)
    }

    private mutating func bind(_ value: Value) {
        parameters.append(value)
        add("?")
    }

    mutating func add(_ text: String) {
        mako += text
        sqlite += text
    }
}
