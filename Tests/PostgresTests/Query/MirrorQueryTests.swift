#if Postgres
    import Foundation
    import MakoRecords
    import MakoStorage
    import MakoTestSupport
    import Synchronization
    import Testing

    import MakoPostgres
    import RandomRuns

    extension MirrorTests {
        /// Queries that run on a real server, and in the database: the answers must be the same. One after the other with
        /// the tests that restart the server.
        @Suite struct MirrorQueryTests {
            /// Random tables, mirrored.
            private struct World {
                let side: MetamorphicWorld.Side
                let schema: ServerSchema
                let mirror: Mirror
                var draw: MetamorphicDraw
                var refusals: [String: Int] = [:]
                var answered = 0

                init(seed: UInt64) throws {
                    var random = SplitMix(seed: seed)
                    let world = try MetamorphicWorld(&random) { value in
                        // What PostgreSQL has no form for.
                        switch value {
                        case .text(let text): !text.utf8.contains(0)
                        case .date(let seconds): !seconds.isNaN
                        default: true
                        }
                    }
                    draw = MetamorphicDraw(world, random)
                    side = world.plain
                    try side.store.write { tx in
                        try HistoryWriter(SystemEntropy()).begin(HistoryLimits(), date: 0, in: tx)
                    }
                    schema = try ServerSchema()
                    var options = Mirror.Options()
                    options.schema = schema.name
                    mirror = Mirror(side.store, to: try PostgresConnection(PostgresServer.url), options: options)
                    try mirror.step()
                }

                /// Runs a query in both.
                ///
                /// - Parameters:
                ///   - isOrdered: whether the order of the rows counts.
                ///   - isExact: whether texts that are equal without case are different.
                mutating func check(_ query: String, isOrdered: Bool = false, isExact: Bool = true) throws {
                    let wanted = try Statement.parse(query).read(
                        side.catalogue, view: side.view, named: used(query))
                    let found: QueryRows
                    do throws(PostgresError) { found = try mirror.query(query, named: used(query)) } catch {
                        guard case .query(let reason) = error else {
                            Issue.record("\(query) \(used(query)): \(error)")
                            return
                        }
                        refusals[reason, default: 0] += 1
                        return
                    }
                    answered += 1
                    var (mine, theirs) = (canonical(wanted.rows, isExact), canonical(found.rows, isExact))
                    if !isOrdered { (mine, theirs) = (mine.sorted(), theirs.sorted()) }
                    let sent = try mirror.statement(query, named: used(query))
                    #expect(mine == theirs, "\(query) \(used(query))\n\(sent)")
                    #expect(wanted.columns == found.columns)
                }

                /// The parameters in the text; more than that are refused.
                private func used(_ query: String) -> [String: Value] {
                    draw.named.filter { name, _ in
                        query.contains(":\(name) ") || query.contains(":\(name))") || query.contains(":\(name),")
                            || query.hasSuffix(":\(name)")
                    }
                }

                private func canonical(_ rows: [[Value]], _ isExact: Bool) -> [String] {
                    rows.map { row in
                        row.map { Self.canonical(isExact ? $0 : BruteForce.folded($0)) }.joined(separator: "|")
                    }
                }

                /// Numbers are compared as such, whatever their type.
                private static func canonical(_ value: Value) -> String {
                    switch value {
                    case .double(let number):
                        if number.isNaN { return "NaN" }
                        return Int64(exactly: number).map { "\($0)" } ?? "\(number)"
                    case .integer(let number)
                    where Int64(Double(number).magnitude < 0x1p63 ? Double(number) : 0) != number:
                        return "\(number)"
                    case .date(let seconds): return "\((seconds * 1e6).rounded())"
                    default: return "\(value)"
                    }
                }
            }

            @Test(arguments: 1...10 as ClosedRange<UInt64>) func randomQueriesHaveTheAnswersOfTheDatabase(
                _ seed: UInt64
            )
                throws
            {
                var world = try World(seed: seed)
                for _ in 0..<20 {
                    try rows(&world)
                    try joins(&world)
                    try groups(&world)
                    try sets(&world)
                    try subqueries(&world)
                }
                let refused = world.refusals.values.reduce(0, +)
                #expect(world.answered > 2 * refused, "\(world.refusals)")
            }

            private func rows(_ world: inout World) throws {
                let table = world.draw.random.pick(MetamorphicWorld.names)
                let condition = world.draw.condition(table).text
                let (first, second) = (world.draw.column(table), world.draw.column(table))
                try world.check("SELECT id, \(first.name), \(second.name) FROM \(table) WHERE \(condition)")
                try world.check("SELECT id, CASE WHEN \(condition) THEN 1 ELSE 0 END AS x FROM \(table)")
                try world.check("SELECT count(*) FROM \(table) WHERE NOT (\(condition))")
                let collation =
                    first.type == .text ? world.draw.random.pick(["", " COLLATE NOCASE", " COLLATE BINARY"]) : ""
                let order =
                    "\(first.name)\(collation)\(world.draw.random.pick(["", " DESC", " NULLS LAST", " DESC NULLS FIRST"])), id"
                let (limit, offset) = (world.draw.random.below(12), world.draw.random.below(6))
                try world.check(
                    "SELECT id FROM \(table) WHERE \(condition) ORDER BY \(order) LIMIT \(limit) OFFSET \(offset)",
                    isOrdered: true)
            }

            private func joins(_ world: inout World) throws {
                let (kind, link) = (world.draw.random.pick(["JOIN", "LEFT JOIN"]), world.draw.link())
                let on = "\(link) AND \(world.draw.condition("U", isJoined: true, depth: 1).text)"
                let condition = world.draw.condition(world.draw.random.pick(MetamorphicWorld.names), isJoined: true)
                    .text
                try world.check("SELECT T.id, U.id, U.w FROM T \(kind) U ON \(on)")
                try world.check("SELECT T.id, U.id FROM T \(kind) U ON \(link) WHERE \(condition)")
                try world.check("SELECT T.id, max(T.id, U.id) FROM T \(kind) U ON \(link) WHERE U.w IS T.r.w")
                try world.check("SELECT id, r.w, r.id FROM T WHERE r.w > 0 ORDER BY r.w DESC, id", isOrdered: true)
                try world.check("SELECT T.id, T.r.w, x.id FROM T LEFT JOIN T x ON x.r.w < T.r.w")
            }

            private func groups(_ world: inout World) throws {
                let table = world.draw.random.pick(MetamorphicWorld.names)
                let condition = world.draw.condition(table).text
                let (key, value) = (world.draw.column(table), world.draw.column(table))
                let having = world.draw.random.pick(["", " HAVING count(*) > 2", " HAVING max(w) > 2"])
                let ends = value.isNoCase ? "" : ", min(\(value.name)), max(\(value.name))"
                try world.check(
                    "SELECT \(key.name), count(*), count(\(value.name)), count(DISTINCT \(value.name)), sum(w), avg(w)"
                        + "\(ends) FROM \(table) WHERE \(condition) GROUP BY \(key.name)\(having)", isExact: false)
                try world.check(
                    "SELECT sum(w), total(w), avg(DISTINCT w), count(DISTINCT \(key.name))\(ends) FROM \(table) WHERE \(condition)"
                )
            }

            private func sets(_ world: inout World) throws {
                let table = world.draw.random.pick(MetamorphicWorld.names)
                let (first, second) = (world.draw.column(table), world.draw.column(table))
                let list = "\(first.name), \(second.name)"
                let (one, other) = (world.draw.condition(table).text, world.draw.condition(table).text)
                try world.check("SELECT DISTINCT \(list) FROM \(table) WHERE \(one)", isExact: false)
                let word = world.draw.random.pick(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
                try world.check(
                    "SELECT \(list) FROM \(table) WHERE \(one) \(word) SELECT \(list) FROM \(table) WHERE \(other)",
                    isExact: false)
                let three = [one, other, world.draw.condition(table).text].map { "SELECT id FROM \(table) WHERE \($0)" }
                try world.check("\(three[0]) UNION \(three[1]) INTERSECT \(three[2])")
                try world.check("\(three[0]) EXCEPT \(three[1]) ORDER BY id DESC LIMIT 3", isOrdered: true)
                try world.check(
                    "WITH d AS (SELECT \(list), id FROM \(table) WHERE \(one)) SELECT d.id, d.\(first.name), T.w FROM d JOIN T ON T.w = d.id"
                )
            }

            private func subqueries(_ world: inout World) throws {
                let condition = world.draw.condition("U").text
                try world.check("SELECT id, (SELECT max(s.w) FROM U s WHERE s.id < T.w) AS m FROM T")
                try world.check("SELECT id FROM T WHERE w IN (SELECT w FROM U WHERE \(condition))")
                try world.check("SELECT id FROM T WHERE (SELECT count(*) FROM U s WHERE s.w = T.w) > 1")
                try world.check("SELECT id FROM T WHERE NOT EXISTS (SELECT 1 FROM U s WHERE s.id = T.r AND s.w > 2)")
            }

            @Test func whatPostgresHasNoFormForIsRefused() throws {
                let world = try World(seed: 1)
                for (query, reason) in [
                    ("SELECT id FROM T WHERE CAST(id AS TEXT) GLOB '1*'", "GLOB"),
                    ("SELECT characters(CAST(id AS TEXT)) FROM T", "characters"),
                    ("DELETE FROM T", "no SELECT"),
                ] {
                    #expect("\(query)") {
                        try world.mirror.query(query)
                    } throws: { error in
                        if case PostgresError.query(let found) = error { found.contains(reason) } else { false }
                    }
                }
                #expect(throws: PostgresError.self) { try world.mirror.query("SELECT nothing FROM T") }
            }

            /// PostgreSQL would round integers beyond 53 bits to doubles.
            @Test func integersBesideDoublesInOneExpressionAreRefused() throws {
                let fixture = try MirrorFixture(
                    EntitySchema(
                        name: "T", columns: [ColumnSchema("n", .integer), ColumnSchema("x", .double, isOptional: true)])
                )
                let large = (1 << 53) + 1 as Int64
                try fixture.run("INSERT INTO T (n, x) VALUES (?, ?)", [.integer(large), .null])
                let schema = try ServerSchema()
                let mirror = try schema.mirror(fixture)
                try mirror.step()
                for refused in [
                    "COALESCE(x, n)", "CASE WHEN n > 1 THEN n ELSE x END", "CASE WHEN n > 1 THEN x ELSE n END",
                    "COALESCE(x, \(large))",
                ] {
                    #expect("\(refused)") {
                        try mirror.query("SELECT \(refused) AS v FROM T")
                    } throws: { error in
                        if case PostgresError.query(let reason) = error {
                            reason.contains("integers and doubles")
                        } else {
                            false
                        }
                    }
                }
                for (answered, wanted) in [
                    ("COALESCE(x, 0) = 0", 1), ("COALESCE(NULL, n) = \(large)", 1),
                    ("CASE WHEN n > 1 THEN n ELSE 0 END = \(large)", 1), ("CASE WHEN n > 1 THEN 1 ELSE x END > 1", 0),
                ] as [(String, Int64)] {
                    let rows = try mirror.query("SELECT count(*) FROM T WHERE \(answered)").rows
                    #expect(rows == [[.integer(wanted)]], "\(answered)")
                }
            }

            /// A part has NULL in a column, and another one values.
            @Test func columnsOfACompoundHaveTheKindOfAnyPart() throws {
                let fixture = try MirrorFixture(
                    EntitySchema(
                        name: "T",
                        columns: [
                            ColumnSchema("n", .integer), ColumnSchema("x", .double), ColumnSchema("d", .date),
                            ColumnSchema("f", .bool), ColumnSchema("b", .blob), ColumnSchema("u", .uuid),
                        ]))
                for number in [3, 20] as [Int64] {
                    try fixture.run(
                        "INSERT INTO T (n, x, d, f, b, u) VALUES (?, ?, ?, ?, ?, ?)",
                        [
                            .integer(number), .double(Double(number) / 2), .date(Double(number)), .bool(number == 3),
                            .blob([UInt8(number)]), .uuid(1, UInt64(number)),
                        ])
                }
                let schema = try ServerSchema()
                let mirror = try schema.mirror(fixture)
                try mirror.step()
                let (store, catalogue) = (fixture.store, fixture.catalogue)
                for column in ["n", "x", "d", "f", "b", "u"] {
                    for parts in [
                        "SELECT NULL AS v UNION ALL SELECT \(column) FROM T ORDER BY v DESC",
                        "SELECT NULL AS v UNION SELECT NULL UNION SELECT \(column) FROM T ORDER BY v",
                        "SELECT NULL AS v UNION ALL SELECT \(column) FROM T EXCEPT SELECT NULL ORDER BY v",
                    ] {
                        let wanted = try store.read { view in try Statement.parse(parts).read(catalogue, view: view) }
                        #expect(try mirror.query(parts).rows == wanted.rows, "\(parts)")
                    }
                }
                for other in ["x", "d", "u"] {
                    #expect(other == "x" ? "doubles" : "other kinds") {
                        try mirror.query("SELECT NULL AS v UNION ALL SELECT n FROM T UNION ALL SELECT \(other) FROM T")
                    } throws: { error in
                        switch error {
                        case PostgresError.query, PostgresError.records: true
                        default: false
                        }
                    }
                }
            }

            @Test func tablesThatChangedSinceTheStepAreRefused() throws {
                var person = EntitySchema(name: "Person", columns: [ColumnSchema("city", .text)])
                let fixture = try MirrorFixture(person)
                let schema = try ServerSchema()
                let mirror = try schema.mirror(fixture)
                func isOutdated() {
                    #expect(throws: PostgresError.outdated(table: "Person")) {
                        try mirror.query("SELECT count(*) FROM Person")
                    }
                }
                isOutdated()
                try mirror.step()
                #expect(try mirror.query("SELECT count(*) FROM Person").rows == [[.integer(0)]])
                person.columns.append(ColumnSchema("age", .integer, isOptional: true))
                try fixture.migrate(person)
                isOutdated()
                try mirror.step()
                #expect(try mirror.query("SELECT count(age) FROM Person").rows == [[.integer(0)]])
            }

            /// On a small stack, as deep as a statement may be.
            @Test func deepConditionsNeedNoDeepStack() throws {
                let fixture = try MirrorFixture(EntitySchema(name: "T", columns: [ColumnSchema("n", .integer)]))
                let schema = try ServerSchema()
                let mirror = try schema.mirror(fixture)
                let open = String(repeating: "CASE WHEN n > (", count: 24)
                let cases = "\(open)n\(String(repeating: ") THEN 1 ELSE 0 END", count: 24))"
                for value in [cases, "n" + String(repeating: " + n", count: 95)] {
                    let query = "SELECT id FROM T WHERE \(value) = 1"
                    let outcome = Guarded<Bool?>(nil)
                    nonisolated(unsafe) let onThread = mirror
                    let thread = Thread {
                        var isRendered = false
                        do { isRendered = try onThread.statement(query).utf8.count > query.utf8.count } catch {
                            Issue.record("\(error)")
                        }
                        let isDone = isRendered
                        outcome.withLock { $0 = isDone }
                    }
                    thread.stackSize = 256 << 10
                    thread.start()
                    while outcome.withLock({ $0 }) == nil { Thread.sleep(forTimeInterval: 0.01) }
                    let isRendered = outcome.withLock { $0 }
                    #expect(isRendered == true)
                }
            }

            @Test func theExampleOfTheDocumentationRuns() throws {
                let fixture = try MirrorFixture(
                    EntitySchema(name: "Person", columns: [ColumnSchema("city", .text), ColumnSchema("age", .integer)]))
                for (city, age) in [("Ulm", 36), ("Ulm", 12), ("Bonn", 50)] as [(String, Int64)] {
                    try fixture.run("INSERT INTO Person (city, age) VALUES (?, ?)", [.text(city), .integer(age)])
                }
                let schema = try ServerSchema()
                let mirror = try schema.mirror(fixture)
                try mirror.step()
                let rows = try mirror.query(
                    "SELECT city, count(*) FROM Person WHERE age > ? GROUP BY city ORDER BY city", [.integer(18)])
                #expect(rows.columns == ["city", "count(*)"])
                #expect(rows.rows == [[.text("Bonn"), .integer(1)], [.text("Ulm"), .integer(1)]])
            }
        }
    }
#endif
