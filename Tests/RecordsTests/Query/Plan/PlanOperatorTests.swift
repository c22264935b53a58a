import Foundation
import MakoStorage
import Testing

@testable import MakoRecords

/// Each shape of a plan is run, and the operators that report a run are compared with those that the plan prints.
@Suite struct PlanOperatorTests {
    /// Of the tables of `docs/plans.md`.
    private static let shapes = [
        // Access to the rows of a table.
        "SELECT 1 + 1", "SELECT count(*)", "SELECT name FROM Person WHERE age > 30 AND age < 20",
        "SELECT mail FROM Person", "SELECT mail FROM Person WHERE mail LIKE '%x'",
        "SELECT mail FROM Person WHERE age + 1 > 70 LIMIT 3",
        "SELECT mail FROM Person ORDER BY id DESC LIMIT 3 OFFSET 2",
        "SELECT name FROM Person WHERE id = 3", "SELECT name FROM Person WHERE id IN (3, 9, 70000) AND age > 1",
        "SELECT name FROM Person WHERE id > 5990",
        "SELECT name FROM Person WHERE id > 5990 AND age > 3 ORDER BY id DESC",
        "SELECT mail FROM Person WHERE name = 'p3'",
        "SELECT mail FROM Person WHERE age > 75 AND mail LIKE '%x' ORDER BY age",
        "SELECT mail FROM Person WHERE age = 30 ORDER BY name LIMIT 10 OFFSET 5",
        "SELECT mail FROM Person ORDER BY age LIMIT 5", "SELECT name FROM Person WHERE age > 78",
        "SELECT name FROM Person WHERE age > 77 AND name LIKE '%3'", "SELECT age FROM Person WHERE age = 30 LIMIT 2",
        "SELECT mail FROM Person WHERE bio MATCH 'steam'",
        "SELECT mail FROM Person WHERE bio MATCH 'steam' ORDER BY rank LIMIT 5",
        "SELECT mail FROM Person WHERE bio MATCH 'steam' AND age > 40 ORDER BY mail, id",
        "SELECT mail FROM Person WHERE id < 9 AND bio MATCH 'steam'",
        // Row ids that are gathered first.
        "SELECT mail FROM Person WHERE name = 'p3' OR age = 36",
        "SELECT mail FROM Person WHERE name = 'p3' OR id > 5998",
        "SELECT mail FROM Person WHERE name = 'p3' OR id = 7 OR bio MATCH 'steam'",
        "SELECT mail FROM Person WHERE age < 25 AND department = 2",
        "SELECT mail FROM Person WHERE age < 25 AND department = 2 AND mail LIKE 'm%' ORDER BY name LIMIT 3",
        "SELECT mail FROM Person WHERE department IN (SELECT id FROM Department WHERE name = 'd3')",
        "SELECT mail FROM Person WHERE id IN (SELECT department FROM Person WHERE age = 36)",
        "SELECT id FROM Department WHERE EXISTS (SELECT 1 FROM Person WHERE department = Department.id AND age = 36)",
        "SELECT id FROM Department WHERE (SELECT count(*) FROM Person WHERE department = Department.id) > 3",
        "SELECT title FROM Note WHERE ANY labels.name = 'l7'", "SELECT title FROM Note WHERE ANY labels = 7",
        "SELECT name FROM Label WHERE ANY notes.title = 'n8'",
        // Sorting and cutting.
        "SELECT mail FROM Person ORDER BY mail", "SELECT mail FROM Person ORDER BY mail, id LIMIT 5 OFFSET 1",
        "SELECT mail FROM Person LIMIT 3 OFFSET 5990", "SELECT name FROM Person ORDER BY length(name), name DESC",
        "SELECT name, age FROM Person WHERE age > 70 ORDER BY name",
        // Joins.
        "SELECT p.mail, d.name FROM Person p JOIN Department d ON d.id = p.department WHERE p.name = 'p3'",
        "SELECT p.mail FROM Person p JOIN Department d ON d.name = p.name",
        "SELECT p.mail FROM Person p JOIN Department d ON d.name = p.mail WHERE length(p.mail) + d.id > 3",
        "SELECT p.mail FROM Department d LEFT JOIN Person p ON p.department = d.id WHERE d.id < 3",
        "SELECT d.id FROM Department d LEFT JOIN Person p ON p.department = d.id AND p.age > 3 WHERE p.id IS NULL",
        "SELECT a.id, b.id FROM Department a JOIN Department b ON a.id < b.id WHERE a.id < 4 AND b.id < 6",
        "SELECT n.title FROM Note n JOIN Label l ON ANY n.labels = l.id WHERE l.name = 'l7'",
        "SELECT l.name FROM Note n JOIN Label l ON ANY n.labels = l.id WHERE n.id = 3",
        """
        SELECT d.name, count(*) FROM Department d JOIN Person p ON p.mail = d.name || 'x' OR p.department = d.id
        WHERE d.id < 3 GROUP BY d.name ORDER BY 2 LIMIT 1
        """,
        "SELECT a.name FROM Department a, Department b WHERE a.id = 1 AND b.id = 2 AND ? IS NULL",
        "SELECT p.id FROM Person p, Department WHERE 1 = 2",
        // Groups, aggregates, different rows.
        "SELECT count(*) FROM Person", "SELECT count(*) FROM Person LIMIT 1",
        "SELECT count(*) FROM Person WHERE age > 70",
        "SELECT count(*) FROM Person WHERE age > 70 AND mail LIKE '%x'", "SELECT count(*) FROM Person WHERE id < 9",
        "SELECT count(*) FROM Person WHERE bio MATCH 'steam'",
        "SELECT count(*) FROM Person WHERE age < 22 AND department = 2",
        "SELECT min(age), max(age) FROM Person", "SELECT max(id) FROM Person LIMIT 1",
        "SELECT sum(age) FROM Person", "SELECT sum(age), count(DISTINCT department) FROM Person WHERE mail > 'a'",
        "SELECT age, count(*) FROM Person GROUP BY age", "SELECT age, max(name) FROM Person GROUP BY age",
        "SELECT mail, count(*) FROM Person GROUP BY mail HAVING count(*) > 1 ORDER BY 2",
        "SELECT DISTINCT name FROM Person", "SELECT DISTINCT age FROM Person", "SELECT DISTINCT mail FROM Person",
        "SELECT DISTINCT mail, age FROM Person ORDER BY age LIMIT 3",
        "SELECT DISTINCT count(*) FROM Person GROUP BY mail",
        "SELECT DISTINCT mail FROM Person LIMIT 2 OFFSET 1",
        // Rows put together.
        "SELECT name FROM Person UNION SELECT name FROM Department ORDER BY 1 LIMIT 3",
        "SELECT age FROM Person UNION ALL SELECT id FROM Department UNION ALL SELECT id FROM Label LIMIT 5",
        "SELECT age FROM Person INTERSECT SELECT id FROM Department EXCEPT SELECT 3 FROM Label",
        "SELECT id FROM Label UNION SELECT sum(age) FROM Person GROUP BY department",
        // Queries in FROM.
        "SELECT n, count(*) FROM (SELECT age, count(*) AS n FROM Person GROUP BY age) x WHERE n > 3 GROUP BY n",
        "SELECT d.name, x.n FROM Department d JOIN (SELECT department, count(*) AS n FROM Person GROUP BY department) x "
            + "ON x.department = d.id",
        "SELECT max(name) FROM (SELECT name FROM Person UNION SELECT name FROM Department) x",
        "SELECT name FROM Department d WHERE d.id < 4 AND EXISTS "
            + "(SELECT 1 FROM Person p JOIN Label l ON l.id = p.age WHERE p.department = d.id)",
        // Sub-queries.
        "SELECT id FROM Person WHERE mail LIKE '%x' OR age = (SELECT max(id) FROM Department WHERE id < 30)",
        "SELECT id FROM Person WHERE age = (SELECT count(*) FROM Department WHERE id < 30)",
        "SELECT id FROM Label WHERE id IN (SELECT age FROM Person GROUP BY age HAVING count(*) > 3)",
        "SELECT name, (SELECT count(*) FROM Person WHERE department = Department.id) FROM Department",
        "SELECT name, (SELECT sum(age) FROM Person WHERE department = Department.id) FROM Department WHERE id < 5",
        "SELECT name FROM Department d WHERE EXISTS (SELECT 1 FROM Person WHERE id = d.id AND length(mail) > d.id)",
        "SELECT name FROM Department d WHERE EXISTS (SELECT 1 FROM Person WHERE mail = d.name)",
        "SELECT name FROM Department d WHERE EXISTS (SELECT 1 FROM Person WHERE mail = d.name AND age > d.id)",
        "SELECT name FROM Label l WHERE (SELECT max(age) FROM Person WHERE bio = l.name AND age > l.id AND id < 99) IS NULL",
        "SELECT name, (SELECT name FROM Department WHERE id = Person.department) FROM Person",
        "SELECT name, (SELECT mail FROM Person WHERE department = d.id) FROM Department d",
        "SELECT (SELECT mail FROM Person WHERE mail = d.name ORDER BY age DESC, id LIMIT 1 OFFSET 1) FROM Department d",
        "SELECT name FROM Department d WHERE d.id IN (SELECT age FROM Person WHERE department = d.id)",
        "SELECT name FROM Label l WHERE l.id IN (SELECT age FROM Person WHERE department = l.id ORDER BY name LIMIT 3)",
        "SELECT name FROM Label l WHERE l.id IN (SELECT age FROM Person WHERE bio = l.name LIMIT 2)",
        "SELECT name FROM Department d WHERE EXISTS (SELECT 1 FROM Person WHERE department = d.id AND age > 3 LIMIT 1)",
        "SELECT name FROM Department d WHERE EXISTS (SELECT 1 FROM Person WHERE department = d.id LIMIT 1 OFFSET 2)",
        "SELECT name FROM Department d WHERE d.id < 4 AND (SELECT max(age) FROM Person WHERE id > d.id + 5990) > 3",
        "SELECT name FROM Department d WHERE d.id < 4 AND d.id IN (SELECT age FROM Person WHERE id < d.id + 9)",
        "SELECT title FROM Note WHERE NONE labels.name = 'l7'", "SELECT name FROM Label WHERE NONE notes.title = 'n8'",
        "SELECT name FROM Department ORDER BY (SELECT count(*) FROM Person WHERE department = Department.id) LIMIT 2",
        "SELECT age, count(*) FROM Person GROUP BY age HAVING count(*) > (SELECT count(*) FROM Label WHERE id < 20)",
        "SELECT age, (SELECT max(id) FROM Label) FROM Person GROUP BY age ORDER BY 1 DESC LIMIT 2",
    ]

    /// Of tables with a key of their own and with places.
    private static let others = [
        "SELECT v FROM K", "SELECT v FROM K WHERE k = 'k3'", "SELECT v FROM K WHERE k > 'k3' ORDER BY k DESC",
        "SELECT w FROM K WHERE v = 3 OR w = 4", "SELECT count(*) FROM K", "SELECT k FROM K WHERE v = 3 AND w < 9",
        "SELECT w FROM K WHERE k IN (SELECT k FROM K WHERE v = 3)",
        "SELECT a.v FROM K a JOIN K b ON b.k = a.k WHERE a.v = 3",
        "SELECT v FROM K a WHERE EXISTS (SELECT 1 FROM K b WHERE b.k = a.k AND b.w = 3)",
        "SELECT n FROM P WHERE distance(place, 47, 8) < 2000000",
        "SELECT n FROM P WHERE place_latitude IS NOT NULL ORDER BY distance(place, 47, 8) LIMIT 3",
        "SELECT count(*) FROM P WHERE distance(place, 47, 8) < 2000000",
        "SELECT a.v FROM K a, K b WHERE a.v = b.w AND a.k < 'k2'",
        "SELECT a.v FROM K a JOIN K b ON b.v >= a.w AND b.v < a.w + 1 WHERE a.k < 'k2'",
        "SELECT a.v FROM K a JOIN K b ON b.k > a.k AND b.k < a.k || '~' AND b.w = 3 WHERE a.v = 3",
        "SELECT a.n FROM P a LEFT JOIN P b ON b.id > a.n AND b.id < a.n + 4 WHERE a.id < 9",
    ]

    /// The operators of a plan that did not run, but for those of two methods for a sub-query of which the second was not needed.
    private static func idle(_ node: PlanNode) -> [String] {
        let own = node.counts?.runs ?? 0 > 0 ? [] : [node.text]
        if node.operation == .adaptiveSubquery {
            return own + (node.children.allSatisfy { !idle($0).isEmpty } ? node.children.flatMap(idle) : [])
        }
        return own + node.children.flatMap(idle)
    }

    private static func check(_ catalogue: Catalogue, _ view: Snapshot, _ text: String) throws -> Set<PlanNode.Operator>
    {
        let statement = try SelectStatement.parse(text)
        let parameters: [Value] = text.contains("?") ? [.null] : []
        let printed = try statement.explanation(catalogue, parameters: parameters, view: view)
        let run = RunMeasure()
        let analysis = try statement.planned(catalogue, parameters, [:], view).analysis(in: view, run)
        #expect(analysis.plan.outline == printed.outline, "\(text)")
        #expect(run.unshown.isEmpty, "\(run.unshown) ran and are not printed: \(text)\n\(analysis)")
        #expect(idle(analysis.plan).isEmpty, "\(idle(analysis.plan)) did not run: \(text)\n\(analysis)")
        #expect(try analysis.rows == statement.run(catalogue, view: view, parameters: parameters).rows.count, "\(text)")
        // The output of an operator is the input of the next one.
        #expect(analysis.plan.counts?.passed == analysis.rows, "\(text)\n\(analysis)")
        return Set(analysis.plan.operators.map(\.operation))
    }

    @Test func whatRunsIsWhatIsPrinted() throws {
        let fixture = try PlanDocumentTests.fixture()
        let catalogue = fixture.catalogue.describing([
            "Label": TableRelations(inverses: ["notes": .init(table: "Note", column: "labels")])
        ])
        var met: Set<PlanNode.Operator> = []
        let view = try fixture.store.snapshot()
        for text in Self.shapes { met.formUnion(try Self.check(catalogue, view, text)) }
        met.formUnion(try results(catalogue, view))
        let session = try Self.session()
        try session.store.read { view in
            for text in Self.others { met.formUnion(try Self.check(try Catalogue.load(view: view), view, text)) }
        }
        let divided = try Self.divided()
        try divided.read { view in
            let catalogue = try Catalogue.load(view: view)
            for text in Self.gathered { met.formUnion(try Self.check(catalogue, view, text)) }
            met.formUnion(try results(catalogue, view, "L", ["k > 3", "id > 9", nil]))
        }
        // Of queries over several classes.
        let missing = Set(PlanNode.Operator.allCases).subtracting(met).subtracting([.append, .merge])
        #expect(missing.isEmpty, "no shape has \(missing)")
    }

    /// Of a large table that two threads read.
    private static let gathered = [
        "SELECT count(*) FROM L WHERE k > 3", "SELECT count(*) FROM L WHERE id > 9", "SELECT sum(d) FROM L",
        "SELECT k, sum(d), min(s) FROM L WHERE s > 's3' GROUP BY k HAVING count(*) > 2 ORDER BY 2 LIMIT 3",
        "SELECT sum(d + k), max(s) FROM L WHERE id > 9", "SELECT s, count(*) FROM L GROUP BY s",
        "SELECT count(*) FROM L WHERE k > 3 UNION SELECT sum(k) FROM L", "SELECT s FROM L WHERE k = 3",
        "SELECT a.id, b.s FROM L a LEFT JOIN L b ON b.d = a.k AND b.k > 2 WHERE a.k > 1",
        "SELECT a.k, count(*), sum(b.d) FROM L a JOIN L b ON b.d = a.k AND b.id < 40 JOIN L c ON c.id = a.k GROUP BY a.k",
        "SELECT a.id, count(*) FROM M a JOIN L b ON b.s = a.s AND b.k > a.id GROUP BY a.id",
        "SELECT id + 1 FROM L", "SELECT s FROM L WHERE k = 3 LIMIT 4",
    ]

    private static func divided() throws -> Store {
        var options = StoreOptions()
        options.background = .manual
        (options.queryThreads, options.parallelRows, options.partRows) = (2, 100, 50)
        let session = StatementSession(store: try Store.inMemory(options: options))
        try session.run("CREATE TABLE L (id INTEGER PRIMARY KEY, k INTEGER, d REAL, s TEXT)")
        for number in 0..<300 {
            try session.run(
                "INSERT INTO L VALUES (?, ?, ?, ?)",
                [
                    .integer(Int64(number)), .integer(Int64(number % 7)), .double(Double(number) / 3),
                    .text("s\(number % 90)"),
                ])
        }
        try session.run("CREATE TABLE M (id INTEGER PRIMARY KEY, s TEXT)")
        for number in 0..<5 {
            try session.run("INSERT INTO M VALUES (?, ?)", [.integer(Int64(number)), .text("s\(number)")])
        }
        return session.store
    }

    private static func session() throws -> StatementSession {
        let session = try StatementSession(
            "CREATE TABLE K (k TEXT PRIMARY KEY, v INTEGER, w INTEGER)", "CREATE INDEX K.v ON K (v)",
            "CREATE INDEX K.w ON K (w)", "CREATE TABLE P (place_latitude REAL, place_longitude REAL, n INTEGER)",
            "CREATE SPATIAL INDEX near ON P (place)")
        for number in 0..<200 {
            try session.run(
                "INSERT INTO K (k, v, w) VALUES (?, ?, ?)",
                [.text("k\(number)"), .integer(Int64(number % 7)), .integer(Int64(number % 11))])
            try session.run(
                "INSERT INTO P (place_latitude, place_longitude, n) VALUES (?, ?, ?)",
                [.double(Double(number % 90)), .double(Double(number % 70)), .integer(Int64(number))])
        }
        return session
    }

    /// Results of typed queries.
    private func results(_ catalogue: Catalogue, _ view: Snapshot) throws -> Set<PlanNode.Operator> {
        var met: Set<PlanNode.Operator> = []
        for (condition, order, limit) in [
            (nil, nil, nil), ("age > 70", nil, nil), ("age > 70", "name", 7), ("mail LIKE 'm%'", "mail", 5),
            ("id < 40", nil, nil), ("name = 'p3' OR age = 36", nil, nil), ("bio MATCH 'steam'", nil, nil),
            ("age = 36 AND department = 7", "id", 3), ("age > 70", nil, 7),
        ] as [(String?, String?, Int?)] {
            let selection = Selection(
                table: "Person", condition: try condition.map { try Condition.parse($0) },
                orderBy: try order.map { try Order.parse($0) } ?? [], limit: limit)
            for result in [
                .rows, .count, .exists, .aggregate(.minimum, of: .path("age")), .aggregate(.sum, of: .path("age")),
                .aggregate(.maximum, of: .path("mail")), .aggregate(.count, of: .path("bio")), .distinct(.path("age")),
                .distinct(.path("mail")), .groupCount(by: .path("age")), .groupCount(by: .path("department.name")),
            ] as [SelectionResult] {
                met.formUnion(try Self.check(selection, result, catalogue, view))
            }
        }
        return met
    }

    /// Results of a large table's rows.
    private func results(
        _ catalogue: Catalogue, _ view: Snapshot, _ table: String, _ conditions: [String?]
    ) throws -> Set<PlanNode.Operator> {
        var met: Set<PlanNode.Operator> = []
        for condition in conditions {
            let selection = Selection(
                table: table, condition: try condition.map { try Condition.parse($0) }, orderBy: [])
            for result in [
                .rows, .count, .exists, .aggregate(.minimum, of: .path("k")), .aggregate(.sum, of: .path("d")),
                .aggregate(.maximum, of: .path("s")), .aggregate(.count, of: .path("s")), .groupCount(by: .path("k")),
            ] as [SelectionResult] { met.formUnion(try Self.check(selection, result, catalogue, view)) }
        }
        return met
    }

    private static func check(
        _ selection: Selection, _ result: SelectionResult, _ catalogue: Catalogue, _ view: Snapshot
    ) throws -> Set<PlanNode.Operator> {
        let run = RunMeasure()
        let plan = try selection.plan(catalogue, in: view)
        let printed = try plan.node(of: result, in: view, nil)
        let analysis = try plan.analysis(of: result, in: view, run)
        let words = "\(selection.condition.map { "\($0)" } ?? "") \(result)\n\(analysis)"
        #expect(analysis.plan.outline == printed.outline, "\(words)")
        #expect(run.unshown.isEmpty, "\(run.unshown) ran and are not printed: \(words)")
        #expect(Self.idle(analysis.plan).isEmpty, "\(Self.idle(analysis.plan)) did not run: \(words)")
        return Set(analysis.plan.operators.map(\.operation))
    }

    /// The number of rows that an operator returns is the number that the next one gets.
    @Test func rowsGoFromOneOperatorToTheNext() throws {
        let session = try Self.session()
        try session.store.read { view in
            let found = try SelectStatement.parse(
                "SELECT v, count(*) FROM K WHERE w < 9 AND k > 'k1' GROUP BY v HAVING count(*) > 2 ORDER BY 2 DESC LIMIT 3"
            ).analysis(try Catalogue.load(view: view), view: view)
            let steps = found.steps
            for (step, next) in zip(steps, steps.dropFirst()) { #expect(step.passed == next.examinedRows, "\(found)") }
            #expect(steps.last?.passed == 3 && found.rows == 3)
        }
    }

    /// Sub-queries that are looked up first, and materialised after many look-ups.
    @Test func theMethodThatASubqueryTookIsMeasured() throws {
        let fixture = try PlanDocumentTests.fixture()
        func kept(_ ending: String) throws -> [Int] {
            let found = try SelectStatement.parse(
                "SELECT name FROM Department d WHERE (SELECT sum(age) FROM Person WHERE department = d.id) > 3" + ending
            ).analysis(fixture.catalogue, view: fixture.store.snapshot())
            let node = try #require(found.plan.operators.first { $0.operation == .adaptiveSubquery })
            return ([node] + node.children).map { $0.counts?.runs ?? -1 }
        }
        #expect(try kept("") == [1000, 32 + 6000 / 32, 1])
        #expect(try kept(" AND d.id < 20") == [19, 19, 0])
    }

    /// Without an index the rows are read once, not once for each outer row.
    @Test func keptRowsAreReadOnce() throws {
        let session = try Self.session()
        try session.run("CREATE TABLE G (k TEXT PRIMARY KEY, g TEXT, n INTEGER)")
        for number in 0..<200 {
            let group: Value = number % 10 == 0 ? .null : .text("g\(number % 17)")
            try session.run(
                "INSERT INTO G VALUES (?, ?, ?)", [.text("k\(number)"), group, .integer(Int64(number % 50))])
        }
        try session.store.read { view in
            let catalogue = try Catalogue.load(view: view)
            func analysis(_ equality: String) throws -> PlanAnalysis {
                try SelectStatement.parse(
                    "SELECT k FROM G a WHERE (SELECT sum(b.n) FROM G b WHERE \(equality) AND b.n < a.n AND b.n > 3) > 99"
                ).analysis(catalogue, view: view)
            }
            let found = try analysis("b.g = a.g")
            let scans = found.plan.operators.filter { $0.operation == .scan }.compactMap(\.counts)
            #expect(scans.count == 2 && scans.allSatisfy { $0.runs == 1 && $0.rows == 200 }, "\(found)")
            // The second equality is no link, so that each outer row scans the table.
            #expect(try found.rows > 20 && found.rows == analysis("b.g || '' = a.g").rows)
        }
    }

    @Test func nodesAreJSON() throws {
        let session = try Self.session()
        try session.store.read { view in
            let plan = try SelectStatement.parse("SELECT w FROM K WHERE v = 3 AND w > 2 ORDER BY k LIMIT 2")
                .explanation(
                    try Catalogue.load(view: view), view: view)
            #expect(plan.operation == .topN && plan.children.first?.operation == .filter, "\(plan)")
            let access = try #require(plan.children.first?.children.first)
            #expect(access.table == "K" && access.index == "K.v" && access.counts == nil)
            let json = try JSONSerialization.jsonObject(with: try JSONEncoder().encode(plan)) as? [String: Any]
            #expect(json?["operator"] as? String == "topN" && json?["text"] as? String == "sort by k limit 2")
            let filter = try #require((json?["inputs"] as? [[String: Any]])?.first)
            let scan = try #require((filter["inputs"] as? [[String: Any]])?.first)
            #expect(scan["operator"] as? String == "indexScan" && scan["index"] as? String == "K.v")
            #expect(scan["expectedRows"] as? Double == access.expectedRows && scan["counts"] == nil)
        }
    }
}
