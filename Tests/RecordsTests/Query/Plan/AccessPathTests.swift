import MakoRecords
import MakoStorage
import Testing

/// Plans at the limits of ids and keys: the largest number, no row, a limit above the number of rows.
@Suite struct AccessPathTests {
    private func plan(
        _ fixture: Fixture, _ table: String, _ condition: String, order: String = "", limit: Int? = nil,
        offset: Int? = nil
    ) throws -> Plan {
        try Selection(
            table: table, condition: .parse(condition), orderBy: order.isEmpty ? [] : Order.parse(order), limit: limit,
            offset: offset
        ).plan(fixture.catalogue)
    }

    // MARK: - Ids and keys

    @Test(arguments: [
        ("id > 9223372036854775807", 0), ("id >= 9223372036854775807", 0), ("id < -9223372036854775808", 0),
        ("id > 18446744073709551615", 0), ("id <= 18446744073709551615", 20), ("id > -9223372036854775808", 20),
        ("id IS NULL", 0), ("id IS NOT NULL", 20), ("id > 5 AND id < 3", 0), ("id IN (18446744073709551615, 4)", 1),
    ])
    func idsEndSomewhere(condition: String, count: Int) throws {
        let fixture = try QueryFixture.small()
        let view = try fixture.store.snapshot()
        let found = try plan(fixture, "A", condition)
        #expect(try found.count(in: view) == count && found.keys(in: view).count == count)
        #expect(try plan(fixture, "A", "NOT (NOT (\(condition)))").count(in: view) == count)
    }

    /// A batched cursor resumes at any position, also behind its last row.
    @Test(arguments: [
        ("id <= 6", ""), ("id <= 6", "id DESC"), ("id >= 3 AND id <= 8", "id DESC"), ("id IN (3, 5, 9, 70)", ""),
        ("id IN (3, 5, 9, 70)", "id DESC"), ("id IN (3, 5, 9)", "i"), ("id > 5 AND id < 3", ""),
        ("i = 3 OR j = 2", ""), ("i > 0", "i DESC"),
    ])
    func batchesTogetherHaveAllRows(condition: String, order: String) throws {
        let fixture = try QueryFixture.small()
        let view = try fixture.store.snapshot()
        let whole = try plan(fixture, "A", condition, order: order)
        for size in [1, 2, 3, 6, 50] {
            var batches = BatchedCursor(of: whole)
            var found: [RowKey] = []
            while !batches.isAtEnd { try batches.next(size, in: view) { key, _ in found.append(key) } }
            // A cursor at its end gives no further rows.
            try batches.next(size, in: view) { key, _ in found.append(key) }
            #expect(try found == whole.keys(in: view), "\(condition) \(order) \(size)")
        }
    }

    @Test func rowsAreFetchedInTheOrderOfTheirKeys() throws {
        let fixture = try QueryFixture.small()
        let fetching = try plan(fixture, "A", "i > 0").fetching([.rowID(7), .rowID(2), .rowID(99)])
        #expect(fetching.description == "search A by key (3 rows)")
        #expect(try fetching.keys(in: fixture.store.snapshot()) == [.rowID(7), .rowID(2)])
    }

    // MARK: - Explanations

    @Test func explanationsNameIndexesOfEachKind() throws {
        let fixture = try QueryFixture.small()
        let view = try fixture.store.snapshot()
        func explained(_ table: String, _ condition: String) throws -> PlanExplanation {
            try Selection(table: table, condition: .parse(condition)).explanation(fixture.catalogue, in: view)
        }
        #expect(try explained("A", "id IN (SELECT v FROM B)").chosen.indexes.isEmpty)
        let listed = try explained("A", "u IN (SELECT v FROM B WHERE n = 'one')")
        #expect(!listed.usesIndex("A.u"))
        let listing = try explained("A", "i IN (SELECT v FROM B WHERE n = 'one')")
        #expect(listing.usesIndex("A.i") || listing.rejected.contains { $0.indexes == ["A.i"] })
        // The explanation of a scan proposes an index, whatever the key of its table is.
        for (table, condition, column) in [("C", "ref = 1", "ref"), ("B", "id IS NOT NULL AND v > 1", "v")] {
            let missing = try explained(table, condition).missingIndexes
            #expect(missing.map(\.table) == [table] && missing.map(\.columns) == [[column]])
        }
        let library = try MatchTests.library()
        let words = try Selection(table: "Article", condition: .parse("body MATCH 'steam'")).explanation(
            library.catalogue, in: library.store.snapshot())
        #expect(words.usesIndex("words"))
    }

    @Test func unionsAreMeasured() throws {
        let fixture = try QueryFixture.small()
        let view = try fixture.store.snapshot()
        func analysis(_ table: String, _ condition: String) throws -> PlanAnalysis {
            let selection = Selection(table: table, condition: try .parse(condition))
            return try #require(try selection.explanation(fixture.catalogue, in: view, analyzing: true).analysis)
        }
        let union = try analysis("A", "i = 3 OR id > 15")
        #expect(try union.rows == plan(fixture, "A", "i = 3 OR id > 15").count(in: view))
        #expect(union.steps.last?.examinedRows ?? 0 >= 5)
        let keyed = try plan(fixture, "C", "k > 'x' OR w = 1")
        #expect(try analysis("C", "k > 'x' OR w = 1").rows == 3)
        #expect(try keyed.keys(in: view) == plan(fixture, "C", "NOT (NOT (k > 'x' OR w = 1))").keys(in: view))
    }

    // MARK: - Words

    @Test func wordsBesideKeys() throws {
        let fixture = try MatchTests.library()
        let view = try fixture.store.snapshot()
        func ids(_ condition: String, order: String = "", limit: Int? = nil, offset: Int? = nil) throws -> [Int64] {
            try plan(fixture, "Article", condition, order: order, limit: limit, offset: offset).ids(in: view)
        }
        #expect(try ids("body MATCH 'steam' AND id > 5 AND id < 3") == [])
        #expect(try ids("body MATCH 'steam' AND id = 2") == [2])
        #expect(try ids("body MATCH 'steam'", limit: .max, offset: 1) == [2])
        #expect(try ids("body MATCH 'steam'", order: "id DESC", limit: .max, offset: 1) == [1])
        #expect(try ids("body MATCH 'steam'", order: "year DESC") == [2, 1])
        #expect(try ids("body MATCH 'steam'", order: "rank, id DESC").count == 2)
        let twice = "(body MATCH 'steam' AND year > 1801) OR (body MATCH 'steam' AND title LIKE 'steam%')"
        #expect(try ids(twice, order: "id") == [1, 2])
    }

    // MARK: - Places

    @Test func theNearestOfAFew() throws {
        let session = try StatementSession(
            "CREATE TABLE P (place_latitude REAL, place_longitude REAL, n INTEGER)",
            "CREATE SPATIAL INDEX near ON P (place)",
            """
            INSERT INTO P (place_latitude, place_longitude, n) VALUES (47.5, 8.5, 1), (-33.9, 18.4, 2), (0, 179.9, 3),
                (NULL, 8, 4), (90, 0, 5)
            """)
        try session.store.read { view in
            let catalogue = try Catalogue.load(view: view)
            func nearest(_ condition: String?, limit: Int) throws -> Selection {
                Selection(
                    table: "P", condition: try condition.map { try Condition.parse($0) },
                    orderBy: try Order.parse("distance(place, 47, 8)"), limit: limit)
            }
            let some = "place_latitude IS NOT NULL"
            for (condition, limit, ids) in [
                (some, 9, [1, 5, 2, 3]), (some, 2, [1, 5]), (nil, 9, [4, 1, 5, 2, 3]), (nil, 2, [4, 1]),
                ("n != 1", 9, [4, 5, 2, 3]), ("n != 1 AND distance(place, 47, 8) < 10000000", 9, [5, 2]),
                (some, 200_000, [1, 5, 2, 3]), (some, .max, [1, 5, 2, 3]),
            ] as [(String?, Int, [Int64])] {
                let selection = try nearest(condition, limit: limit)
                let plan = try selection.plan(catalogue)
                #expect(("\(plan)".contains("nearest in P")) == (limit <= 100_000), "\(plan)")
                #expect(try plan.ids(in: view) == ids, "\(plan)")
                let analysis = try selection.explanation(catalogue, in: view, analyzing: true).analysis
                #expect(analysis?.rows == ids.count && analysis?.steps.last?.passed == ids.count)
            }
        }
        for (centre, count) in [("18446744073709551615, 8", 0), ("NULL, 8", 0), ("47, 8", 1)] {
            #expect(
                try session.rows("SELECT id FROM P WHERE distance(place, \(centre)) < 100000").count == count,
                "\(centre)")
        }
        #expect(try session.rows("SELECT id FROM P WHERE distance(place, 47, 8) < 18446744073709551615").count == 4)
        #expect(try session.rows("SELECT id FROM P WHERE distance(place, 47, 8) < NULL").isEmpty)
    }
}
