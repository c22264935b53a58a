import MakoStorage
import MakoTestSupport
import Testing

import MakoRecords

/// Queries in FROM that are run by themselves, views, and correlated sub-queries with joins and groups.
///
/// Their results are checked by `Tests/SQLLogic/derived.test`, with another engine's answers; here is what that engine does not have.
@Suite struct DerivedTableTests {
    private struct Files {
        let store: Store
        var catalogue: Catalogue { get throws { try Catalogue.load(view: try store.snapshot()) } }

        init() throws { store = try Store.inMemory() }

        @discardableResult
        func run(_ text: String, _ parameters: [Value] = [], named: [String: Value] = [:]) throws -> [[Value]] {
            let statement = try Statement.parse(text)
            let catalogue = try catalogue
            if statement.isReadOnly {
                return try statement.read(
                    catalogue, view: try store.snapshot(), parameters: parameters, named: named
                ).rows
            }
            return try store.write { tx in
                var changes = ChangeSet()
                return try statement.run(catalogue, in: tx, changes: &changes, parameters: parameters, named: named)
                    .rows
                    .rows
            }
        }
    }

    private static func fill(_ files: Files) throws {
        try files.run("CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE)")
        try files.run(
            "CREATE TABLE pet (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES owner, born DATE, tag UUID, big UNSIGNED, ok BOOLEAN, w REAL)"
        )
        try files.run("INSERT INTO owner VALUES (1, 'Ada'), (2, 'bob'), (3, 'ADA')")
        for (number, owner) in [1, 1, 2, 3].enumerated() {
            try files.run(
                "INSERT INTO pet VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    .integer(Int64(number + 1)), .integer(Int64(owner)), .date(Double(number) * 86_400),
                    .uuid(7, UInt64(number)), .unsigned(.max - UInt64(number)), .bool(number % 2 == 0),
                    .double(Double(number) + 0.5),
                ])
        }
    }

    @Test func columnsKeepTheirTypes() throws {
        let files = try Files()
        try Self.fill(files)
        let plain = try files.run("SELECT born, tag, big, ok, w FROM pet ORDER BY id LIMIT 3")
        #expect(
            try files.run("SELECT * FROM (SELECT born, tag, big, ok, w FROM pet ORDER BY id LIMIT 3) x WHERE w < 9")
                == plain)
        // As columns of a table are compared: with dates, keys and numbers beyond 63 bits.
        #expect(
            try files.run(
                "SELECT x.w FROM (SELECT DISTINCT born, tag, big, w FROM pet) x WHERE born < '2001-01-03' AND big > 18446744073709551614"
            ) == [[.double(0.5)]])
        #expect(
            try files.run("SELECT max(big), min(ok) FROM (SELECT big, ok FROM pet ORDER BY id LIMIT 2) x")
                == [[.unsigned(.max), .bool(false)]])
        // A path goes on from a reference.
        #expect(
            try files.run(
                "SELECT x.owner.name, n FROM (SELECT owner, count(*) AS n FROM pet GROUP BY owner LIMIT 5) x WHERE n = 2"
            )
                == [[.text("Ada"), .integer(2)]])
        // Texts keep their collation, and the value its case.
        #expect(
            try files.run(
                "SELECT name, count(*) FROM (SELECT name FROM owner ORDER BY id LIMIT 3) x GROUP BY name ORDER BY name"
            ).map(\.last)
                == [.integer(2), .integer(1)])
    }

    @Test func parametersAreBoundByTheirPlaceInTheText() throws {
        let files = try Files()
        try Self.fill(files)
        let text =
            "SELECT x.owner, ? FROM (SELECT owner, count(*) AS n FROM pet WHERE id < ? GROUP BY owner LIMIT ?) x WHERE n > ? ORDER BY 1"
        #expect(
            try files.run(text, [.text("t"), .integer(4), .integer(9), .integer(1)]) == [[.integer(1), .text("t")]])
        #expect(
            try files.run(
                "SELECT p.id FROM pet p WHERE p.w < (SELECT max(q.w) FROM pet q JOIN owner o ON o.id = q.owner WHERE o.id = p.owner AND q.w > :low) AND id > :from",
                named: ["low": .double(1), "from": .integer(0)]) == [[.integer(1)]])
    }

    @Test func plansShowTheQuery() throws {
        let files = try Files()
        try Self.fill(files)
        let plan = try files.run(
            "EXPLAIN SELECT n, count(*) FROM (SELECT owner, count(*) AS n FROM pet GROUP BY owner) x GROUP BY n")
        #expect("\(plan)".contains("group by owner") && "\(plan)".contains("group by x.n"))
        let measured = try files.run(
            "EXPLAIN ANALYZE SELECT n FROM (SELECT owner, count(*) AS n FROM pet GROUP BY owner LIMIT 2) x WHERE n > 1")
        #expect("\(measured)".contains("2 rows examined, 1 passed"))
        let correlated = try files.run(
            "EXPLAIN SELECT id FROM owner WHERE EXISTS (SELECT 1 FROM pet p JOIN pet q ON q.id = p.id WHERE p.owner = owner.id)"
        )
        #expect("\(correlated)".contains("outer row (owner.id)") && !"\(correlated)".contains("\u{0}"))
    }

    /// Each query reads the one before it twice.
    @Test(arguments: [10, 30, 49]) func queriesThatReadOthersEndInTime(_ depth: Int) throws {
        let files = try Files()
        try Self.fill(files)
        var text = "WITH x0 AS (SELECT id AS a FROM pet LIMIT 1)"
        for number in 1..<depth {
            text += ", x\(number) AS (SELECT l.a FROM x\(number - 1) l JOIN x\(number - 1) r ON l.a = r.a LIMIT 1)"
        }
        let error = #expect(throws: RecordError.self) { try files.run(text + " SELECT a FROM x\(depth - 1)") }
        #expect("\(try #require(error))".contains("the limit is 500"))
        #expect(try files.run(text + " SELECT a FROM x6") == [[.integer(1)]])
        // Each reads the two before it.
        text = "WITH x0 AS (SELECT id AS a FROM pet LIMIT 1), x1 AS (SELECT a FROM x0 LIMIT 1)"
        for number in 2..<depth {
            text += ", x\(number) AS (SELECT l.a FROM x\(number - 1) l JOIN x\(number - 2) r ON l.a = r.a LIMIT 1)"
        }
        if depth > 20 { #expect(throws: RecordError.self) { try files.run(text + " SELECT a FROM x0") } }
    }

    @Test func cancellationEndsTheQuery() throws {
        let files = try Files()
        try Self.fill(files)
        let cancellation = Cancellation()
        cancellation.cancel()
        let statement = try SelectStatement.parse(
            "SELECT n FROM (SELECT count(*) AS n FROM pet a, pet b, pet c, pet d, pet e, pet f GROUP BY a.id LIMIT 3) x"
        )
        #expect(throws: RecordError.cancelled) {
            try statement.run(files.catalogue, view: files.store.snapshot(), cancellation: cancellation)
        }
    }

    // MARK: Views

    @Test func viewsAreKeptInTheFile() throws {
        let disk = SimulatedDisk()
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        let made = try Store(at: "d/views.mako", options: options)
        _ = try made.write { tx in
            var changes = ChangeSet()
            for text in [
                "CREATE TABLE t (a INTEGER, b TEXT)", "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (2, 'z')",
                "CREATE VIEW counts (a, n) AS SELECT a, count(*) FROM t GROUP BY a",
                "CREATE VIEW few AS SELECT a FROM counts WHERE n < 2",
            ] {
                _ = try Statement.parse(text).run(try Catalogue.load(view: tx.view), in: tx, changes: &changes)
            }
        }
        try made.close()
        let store = try Store(at: "d/views.mako", options: options)
        defer { try? store.close() }
        let catalogue = try Catalogue.load(view: store.snapshot())
        #expect(catalogue.views.map(\.name) == ["counts", "few"])
        #expect(catalogue.views.first?.columns == ["a", "n"])
        func rows(_ text: String) throws -> [[Value]] {
            try Statement.parse(text).read(catalogue, view: store.snapshot()).rows
        }
        #expect(
            try rows("SELECT * FROM COUNTS ORDER BY n") == [[.integer(1), .integer(1)], [.integer(2), .integer(2)]])
        #expect(try rows("SELECT t.b FROM few JOIN t ON t.a = few.a") == [[.text("x")]])
        #expect(try rows("SELECT b FROM t WHERE a IN few") == [[.text("x")]])
    }

    @Test func viewsFollowTheirTables() throws {
        let files = try Files()
        try files.run("CREATE TABLE t (a INTEGER)")
        try files.run("CREATE VIEW v AS SELECT a FROM t WHERE a > 1")
        try files.run("INSERT INTO t VALUES (1), (2)")
        #expect(try files.run("SELECT * FROM v") == [[.integer(2)]])
        try files.run("DROP TABLE t")
        let error = #expect(throws: RecordError.self) { try files.run("SELECT * FROM v") }
        #expect("\(try #require(error))".contains("there is no table t"))
        try files.run("CREATE TABLE t (a TEXT, b INTEGER)")
        try files.run("INSERT INTO t VALUES ('9', 1)")
        #expect(throws: RecordError.self) { try files.run("SELECT * FROM v") }
        // A view that leads to itself, once another is made in the place of one that it reads.
        try files.run("CREATE VIEW w AS SELECT b FROM t")
        try files.run("CREATE VIEW over AS SELECT b FROM w")
        try files.run("DROP VIEW w")
        try files.run("CREATE VIEW w AS SELECT 1 AS b")
        try files.run("DROP VIEW w")
        let broken = #expect(throws: RecordError.self) { try files.run("CREATE VIEW w AS SELECT b FROM over") }
        #expect("\(try #require(broken))".contains("there is no table w"))
    }

    @Test func aWriteToAViewIsRefused() throws {
        let files = try Files()
        try files.run("CREATE TABLE t (a INTEGER)")
        try files.run("CREATE VIEW v AS SELECT a FROM t")
        for text in [
            "INSERT INTO v VALUES (1)", "UPDATE v SET a = 1", "DELETE FROM v", "CREATE INDEX i ON v (a)",
            "DROP TABLE v",
        ] {
            let error = #expect(throws: RecordError.self) { try files.run(text) }
            #expect("\(try #require(error))".contains("v is a view"))
        }
        for text in ["DROP TABLE v", "DROP TABLE IF EXISTS v"] {
            let error = #expect(throws: RecordError.self) { try files.run(text) }
            #expect("\(try #require(error))".contains("DROP VIEW"))
        }
        try files.run("CREATE VIEW IF NOT EXISTS v AS SELECT 3 AS b")
        #expect(try files.run("SELECT a FROM v").isEmpty)
        try files.run("DROP VIEW v")
        #expect(try files.catalogue.views.isEmpty)
    }

    @Test func damagedViewsAreReported() throws {
        let files = try Files()
        try files.run("CREATE TABLE t (a INTEGER)")
        try files.run("CREATE VIEW v (x, y) AS SELECT a, a FROM t")
        for bytes: [UInt8] in [
            [], [2], [1, 255, 255, 255, 255], [1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 1, 0, 0, 0, 65, 9],
        ] {
            try files.store.write { tx in
                let tree = try #require(tx.view.tree(named: Catalogue.treeName))
                try tx.put(bytes, for: [2] + Array("v".utf8), in: tree)
            }
            #expect(throws: RecordError.self) { try files.catalogue }
        }
    }

    /// A type that is to be stored under the name of a view would hide it.
    @Test func aTableDoesNotTakeTheNameOfAView() throws {
        let files = try Files()
        try files.run("CREATE TABLE t (a INTEGER)")
        try files.run("CREATE VIEW v AS SELECT a FROM t")
        for name in ["v", "V"] {
            let error = #expect(throws: RecordError.self) {
                try files.store.write { tx in
                    _ = try Catalogue.migrate(
                        to: EntitySchema(name: name, columns: [ColumnSchema("a", .integer)]), in: tx)
                }
            }
            #expect("\(try #require(error))".contains("there is a view v"))
        }
        let renamed = #expect(throws: RecordError.self) {
            try files.store.write { tx in
                _ = try Catalogue.migrate(
                    to: EntitySchema(name: "v", columns: [ColumnSchema("a", .integer)], originalName: "t"), in: tx)
            }
        }
        #expect("\(try #require(renamed))".contains("there is a view v"))
    }

    /// A column of the outer row keeps its kind in a correlated sub-query, also where it is NULL.
    @Test func aValueOfTheRowAroundKeepsItsKindWhereItIsNull() throws {
        let files = try Files()
        try Self.fill(files)
        try files.run("INSERT INTO pet (id, owner) VALUES (9, 1)")
        for (column, test) in [
            ("big", "z.v > 3"), ("born", "z.v > '2001-01-02'"), ("w", "z.v < 1"), ("ok", "z.v = TRUE"),
            ("owner", "z.v = 1"), ("tag", "z.v = '00000000-0000-0007-0000-000000000000'"),
        ] {
            let inner = "SELECT count(*) FROM (SELECT p.\(column) AS v FROM pet LIMIT 1) z WHERE \(test)"
            let plain = "CASE WHEN \(test.replacing("z.v", with: "p.\(column)")) THEN 1 ELSE 0 END"
            #expect(
                try files.run("SELECT p.id, (\(inner)) FROM pet p ORDER BY p.id")
                    == files.run("SELECT p.id, \(plain) FROM pet p ORDER BY p.id"), "\(column)")
            #expect(
                try files.run(
                    "SELECT p.id, (SELECT max(q.id) FROM pet q JOIN owner o ON o.id = q.owner WHERE q.\(column) = p.\(column)) FROM pet p WHERE p.id = 9"
                )
                    == [[.integer(9), column == "owner" ? .integer(9) : .null]], "\(column)")
        }
    }

    @Test func salvageLeavesOutAViewThatCannotBeRead() throws {
        let disk = SimulatedDisk()
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        let store = try Store(at: "d/a.mako", options: options)
        _ = try store.write { tx in
            var changes = ChangeSet()
            for text in [
                "CREATE TABLE t (a INTEGER)", "CREATE VIEW v AS SELECT a FROM t", "CREATE VIEW w AS SELECT 1 AS b",
            ] {
                _ = try Statement.parse(text).run(try Catalogue.load(view: tx.view), in: tx, changes: &changes)
            }
            let tree = try #require(tx.view.tree(named: Catalogue.treeName))
            try tx.put([9], for: [2] + Array("v".utf8), in: tree)
        }
        try store.close()
        let report = try Catalogue.salvage(from: "d/a.mako", to: "d/b.mako", options: options)
        #expect(report.findings.contains { $0.contains("view v") })
        let salvaged = try Store(at: "d/b.mako", options: options)
        #expect(try Catalogue.load(view: salvaged.snapshot()).views.map(\.name) == ["w"])
        try salvaged.close()
    }
}
