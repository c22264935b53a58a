import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// Statements over tables whose names, columns and aliases are keywords, each other's, and texts outside ASCII, against ``NameModel``.
@Suite struct RandomNameTests {
    @Test(arguments: 0..<RandomSeeds.parts) func namesMeanWhatTheModelSays(part: Int) {
        #expect(RandomSeeds.failures(part: part) { seed, log in try NameRun(seed, log).run() } == [])
    }

    /// Every kind of answer occurs: paths, names of tables around, refusals.
    @Test func runsMeetEveryRule() throws {
        var met = NameRun.Met()
        for seed in 0..<60 as Range<UInt64> {
            let run = try NameRun(seed, .silent)
            try run.run()
            met.add(run.met)
        }
        #expect(
            met.answered > 200 && met.refused > 20 && met.rows > 500 && met.outer > 20 && met.deleted > 20, "\(met)")
    }
}

/// One seed: three tables and some statements.
final class NameRun {
    struct Met {
        var answered = 0
        var refused = 0
        var rows = 0
        var outer = 0
        var deleted = 0

        mutating func add(_ other: Met) {
            answered += other.answered
            refused += other.refused
            rows += other.rows
            outer += other.outer
            deleted += other.deleted
        }
    }

    private var random: SplitMix
    private var model: NameModel
    private let session: StatementSession
    private let log: StepLog
    private(set) var met = Met()

    init(_ seed: UInt64, _ log: StepLog) throws {
        random = SplitMix(seed: seed &+ 0x9a)
        model = NameModel(&random)
        self.log = log
        session = try StatementSession()
        for statement in model.creation(&random) {
            log(statement)
            // A reference may be dangling.
            try session.run(statement, ignoringReferences: true)
        }
    }

    func run() throws {
        for _ in 0..<8 { try random.chance(30) ? group() : select() }
        try random.chance(50) ? delete() : update()
    }

    // MARK: Parts of statements

    private typealias Source = NameModel.Source
    /// A test of the rows of some scopes, as text and in Swift.
    private typealias Test = (text: String, holds: ([[[Value]]]) throws -> Bool?)

    private func sources(_ count: Int) -> [Source] {
        var taken: Set<String> = []
        var result: [Source] = []
        while result.count < count {
            let table = random.below(3)
            var name = model.tables[table].name
            let isNamed = random.chance(50)
            if isNamed {
                name =
                    random.chance(50)
                    ? model.tables[random.below(3)].columns[random.below(5)].name
                    : NameModel.names[random.below(NameModel.names.count)]
            }
            if taken.insert(name.lowercased()).inserted {
                result.append(Source(name: name, table: table, isNamed: isNamed))
            }
        }
        return result
    }

    /// A plausible name, valid or not.
    private func path(_ scopes: [[Source]]) -> [String] {
        let scope = scopes.count > 1 && random.chance(40) ? 1 : 0
        let source = scopes[scope][random.below(scopes[scope].count)]
        let column = model.tables[source.table].columns[random.below(5)]
        var path = [column.name]
        if case .reference(let target) = column.kind, random.chance(50) {
            path.append(model.tables[target].columns[random.below(5)].name)
        }
        if scope > 0 || random.chance(60) { path.insert(source.name, at: 0) }
        return path
    }

    /// A path with values of a kind; nil if none was drawn.
    private func path(_ scopes: [[Source]], isText: Bool) -> [String]? {
        for _ in 0..<30 {
            let path = path(scopes)
            if (try? model.isText(path, scopes)) == isText { return path }
        }
        return nil
    }

    private func equality(_ scopes: [[Source]]) -> Test {
        let isText = random.chance(20)
        guard let left = path(scopes, isText: isText), let right = path(scopes, isText: isText) else {
            return ("1 = 1", { _ in true })
        }
        for side in [left, right] where scopes.count > 1 && side.count > 1 {
            if !scopes[0].contains(where: { NameModel.same($0.name, side[0]) }),
                scopes[1].contains(where: { NameModel.same($0.name, side[0]) })
            {
                met.outer += 1
            }
        }
        let model = model
        return (
            model.text(left, &random) + " = " + model.text(right, &random),
            { rows in
                let (a, b) = (try model.value(left, scopes, rows), try model.value(right, scopes, rows))
                return a.isNull || b.isNull ? nil : a == b
            }
        )
    }

    private func exists(_ scopes: [[Source]]) -> Test {
        let inner = sources(1)
        let (text, holds) = equality([inner] + scopes)
        let model = model
        return (
            "EXISTS (SELECT 1 FROM \(model.text(inner[0], &random)) WHERE \(text))",
            { rows in try model.tables[inner[0].table].rows.contains { try holds([[$0]] + rows) == true } }
        )
    }

    private func condition(_ scopes: [[Source]]) -> Test {
        let (first, second) = (exists(scopes), equality(scopes))
        switch random.below(4) {
        case 0: return first
        case 1: return ("NOT \(first.text)", { try first.holds($0).map { !$0 } })
        case 2: return second
        default:
            return (
                "\(first.text) OR \(second.text)",
                { rows in
                    let (a, b) = (try first.holds(rows), try second.holds(rows))
                    return a == true || b == true ? true : a == nil || b == nil ? nil : false
                }
            )
        }
    }

    /// The FROM clause and the rows that it and a condition leave.
    private func rows() throws -> (text: String, scope: [Source], rows: [[[Value]]]) {
        let scope = sources(1 + random.below(2))
        var text = model.text(scope[0], &random)
        var rows = model.tables[scope[0].table].rows.map { [$0] }
        if scope.count > 1 {
            let on = equality([scope])
            text += " JOIN " + model.text(scope[1], &random) + " ON " + on.text
            var joined: [[[Value]]] = []
            for row in rows {
                for other in model.tables[scope[1].table].rows where try on.holds([row + [other]]) == true {
                    joined.append(row + [other])
                }
            }
            rows = joined
        }
        if random.chance(70) {
            let test = condition([scope])
            text += " WHERE " + test.text
            rows = try rows.filter { try test.holds([$0]) == true }
        }
        return (text, scope, rows)
    }

    // MARK: Statements

    private func select() throws {
        let (from, scope, rows) = try self.rows()
        let paths = [path([scope]), path([scope])]
        let order = path([scope])
        let text =
            "SELECT \(model.text(paths[0], &random)), \(model.text(paths[1], &random)) FROM \(from) ORDER BY "
            + model.text(order, &random)
        try expect(text, paths + [order], scope) {
            try rows.map { row in try paths.map { try model.value($0, [scope], [row]) } }
        }
    }

    private func group() throws {
        let (from, scope, rows) = try self.rows()
        let key = path([scope])
        let name = model.text(key, &random)
        try expect("SELECT \(name), count(*) FROM \(from) GROUP BY \(name) HAVING count(*) > 1", [key], scope) {
            var counts: [Value: Int64] = [:]
            for row in rows { try counts[model.value(key, [scope], [row]), default: 0] += 1 }
            return counts.filter { $0.value > 1 }.map { [$0.key, .integer($0.value)] }
        }
    }

    private func expect(_ text: String, _ paths: [[String]], _ scope: [Source], _ rows: () throws -> [[Value]]) throws {
        log(text)
        let isMeant = paths.allSatisfy { (try? model.isText($0, [scope])) != nil }
        guard isMeant else {
            met.refused += 1
            if (try? session.rows(text)) != nil { throw Disagreement("not refused: \(text)") }
            return
        }
        let found = try session.rows(text)
        let wanted = try rows()
        met.answered += 1
        met.rows += found.count
        if NameRun.sorted(found) != NameRun.sorted(wanted) {
            throw Disagreement("\(text)\nfound \(found)\nnot \(wanted)")
        }
    }

    private static func sorted(_ rows: [[Value]]) -> [String] {
        rows.map { "\($0)" }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private func delete() throws {
        let table = random.below(3)
        try forgetReferences(to: table)
        let own = Source(name: model.tables[table].name, table: table, isNamed: false)
        let test = condition([[own]])
        let text = "DELETE FROM \(model.text(own, &random)) WHERE \(test.text)"
        log(text)
        let kept = try model.tables[table].rows.filter { try test.holds([[$0]]) != true }
        met.deleted += try session.run(text).changed
        try compare(table, kept, text)
    }

    /// So that every row may go.
    private func forgetReferences(to target: Int) throws {
        for table in model.tables.indices {
            for (place, column) in model.tables[table].columns.enumerated() {
                guard case .reference(target) = column.kind else { continue }
                let names = (model.quoted(model.tables[table].name, &random), model.quoted(column.name, &random))
                try session.run("UPDATE \(names.0) SET \(names.1) = NULL")
                for row in model.tables[table].rows.indices { model.tables[table].rows[row][place] = .null }
            }
        }
    }

    private func update() throws {
        let table = random.below(3)
        let own = Source(name: model.tables[table].name, table: table, isNamed: false)
        let test = condition([[own]])
        let number = model.tables[table].columns[2].name
        let text =
            "UPDATE \(model.text(own, &random)) SET \(model.quoted(number, &random)) = 77 WHERE \(test.text)"
        log(text)
        let changed = try model.tables[table].rows.map { row in
            guard try test.holds([[row]]) == true else { return row }
            var row = row
            row[2] = .integer(77)
            return row
        }
        met.deleted += try session.run(text).changed
        try compare(table, changed, text)
    }

    private func compare(_ table: Int, _ wanted: [[Value]], _ text: String) throws {
        let found = try session.rows("SELECT * FROM \(model.quoted(model.tables[table].name, &random))")
        if NameRun.sorted(found) != NameRun.sorted(wanted) {
            throw Disagreement("\(text)\nleaves \(found)\nnot \(wanted)")
        }
        let faults = try session.faults()
        if !faults.isEmpty { throw Disagreement("\(text)\n\(faults)") }
    }
}
