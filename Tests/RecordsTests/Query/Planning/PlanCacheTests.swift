import MakoStorage
import Testing

@testable import MakoRecords

/// A cached plan is used only where it is right for the values of the query.
@Suite struct PlanCacheTests {
    private static func index(_ name: String, _ columns: [String]) -> IndexSchema {
        IndexSchema(name, columns.map { IndexColumn($0) })
    }

    private static let columns: [ColumnSchema] = [
        ColumnSchema("word", .text), ColumnSchema("number", .integer, isOptional: true), ColumnSchema("size", .double),
        ColumnSchema("kind", .text), ColumnSchema("day", .date), ColumnSchema("isOld", .bool),
    ]

    private static let indexes = [
        index("T.word", ["word"]), index("T.number", ["number"]), index("T.kind.size", ["kind", "size"]),
    ]

    /// Most rows are of one kind; each number is that of ten rows, each word of one.
    private func filled(_ count: Int, _ indexes: [IndexSchema] = PlanCacheTests.indexes) throws -> Fixture {
        let fixture = try Fixture(EntitySchema(name: "T", columns: Self.columns, indexes: indexes))
        try fixture.insertAll(
            "T",
            (0..<count).map { number in
                let kind = number % 50 == 0 ? "rare\(number)" : "common"
                return [
                    .text("Word\(number)"), number % 7 == 0 ? .null : .integer(Int64(number / 10)),
                    .double(Double(number % 100)), .text(kind), .date(Double(number)), .bool(number % 3 == 0),
                ]
            })
        return fixture
    }

    private func keys(
        _ fixture: Fixture, _ text: String, _ values: [Value], orderBy: [Order] = [], limit: Int? = nil
    ) throws -> (kept: [RowKey], fresh: [RowKey], text: String) {
        let selection = Selection(
            table: "T", condition: try Condition.parse(text), parameters: values, orderBy: orderBy, limit: limit)
        let view = try fixture.store.snapshot()
        let plan = try selection.plan(fixture.catalogue, in: view)
        return (try plan.keys(in: view), try selection.plan(fixture.catalogue).keys(in: view), plan.description)
    }

    /// More than keys and indexes hold.
    private static let long = String(repeating: "Word5", count: 1000)

    private static let queries: [(text: String, values: [[Value]])] = [
        ("word = ?", [[.text("Word5")], [.text("Word77")], [.text("none")], [.null]]),
        ("word > ? AND word <= ?", [[.text("Word5"), .text("Word6")], [.text(long), .text(long + "x")]]),
        ("word = ? COLLATE NOCASE", [[.text("word5")], [.text("WORD7")]]),
        ("word COLLATE NOCASE = ?", [[.text("word5")], [.text("WORD7")]]),
        ("number = ?", [[.integer(3)], [.integer(40)], [.double(4)], [.double(4.5)], [.null]]),
        ("? < number AND number <= ?", [[.integer(3), .integer(5)], [.integer(40), .integer(39)]]),
        ("number BETWEEN ? AND ?", [[.integer(3), .integer(5)], [.integer(9), .integer(10)], [.integer(9), .null]]),
        ("id = ?", [[.integer(3)], [.integer(1)], [.integer(-1)]]),
        ("id > ? AND isOld", [[.integer(90)], [.integer(95)]]),
        (
            "id > ? AND id < ?",
            [[.integer(5), .integer(9)], [.integer(9), .integer(5)], [.integer(140), .integer(160)]]
        ),
        ("kind = ? AND size >= ?", [[.text("rare0"), .double(0)], [.text("common"), .double(97)]]),
        ("isOld = ? AND number IS NULL", [[.bool(true)], [.bool(false)], [.integer(1)]]),
        ("day = ? AND number IS NOT NULL", [[.date(17)], [.date(18)], [.text("1970-01-01")]]),
        ("size > ?", [[.double(98)], [.double(50)], [.integer(98)]]),
        ("number = ? AND word > ?", [[.integer(3), .text("Word32")], [.integer(4), .text("Word47")]]),
        ("number = ? AND day < ?", [[.integer(3), .date(35)], [.integer(4), .date(43)]]),
        ("number = ? AND isOld = ?", [[.integer(3), .bool(true)], [.integer(4), .bool(false)]]),
        ("number = ? AND kind = ? COLLATE NOCASE", [[.integer(5), .text("RARE50")], [.integer(10), .text("rare9")]]),
        ("size < ? AND kind = ?", [[.double(50), .text("rare100")], [.double(150), .text("common")]]),
    ]

    @Test(arguments: [150, 3000]) func eachSelectionHasItsOwnRows(count: Int) throws {
        let fixture = try filled(count)
        for _ in 0..<2 {
            for (text, lists) in Self.queries {
                for values in lists {
                    for (orders, limit) in [([], nil), ([Order("word")], nil), ([Order("id", descending: true)], 3)] {
                        let (kept, fresh, _) = try keys(fixture, text, values, orderBy: orders, limit: limit)
                        if orders.isEmpty {
                            #expect(Set(kept) == Set(fresh), "\(text) \(values)")
                        } else {
                            #expect(kept == fresh, "\(text) \(values)")
                        }
                    }
                }
            }
        }
    }

    /// The same of a table with a key of its own, by all and by the first of its columns.
    @Test func keysOfColumnsHaveTheirOwnRows() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "T", columns: [ColumnSchema("word", .text), ColumnSchema("number", .integer)],
                key: .columns(["word", "number"])))
        try fixture.insertAll("T", (0..<300).map { [.text("w\($0 / 10)"), .integer(Int64($0))] })
        for _ in 0..<2 {
            for number in [7, 25, 133, 400] {
                let values: [Value] = [.text("w\(number / 10)"), .integer(Int64(number))]
                for text in ["word = ? AND number = ?", "word = ? AND number > ?", "word >= ? AND number < ?"] {
                    let (kept, fresh, _) = try keys(fixture, text, values)
                    #expect(kept == fresh, "\(text) \(values)")
                }
            }
            for (low, high) in [("w1", "w12"), ("w2", "w1"), ("w3", "w4"), ("w1", Self.long), (Self.long, "w2")] {
                let (kept, fresh, _) = try keys(fixture, "word > ? AND word < ?", [.text(low), .text(high)])
                #expect(kept == fresh, "\(low.prefix(8)) \(high.prefix(8))")
            }
        }
    }

    @Test(
        arguments: ["number = ? AND size > ?", "size > ?", "number > ? AND number < ? AND kind = 'common'", "id = ?"])
    func aPlanIsKept(text: String) throws {
        let fixture = try filled(3000, Array(Self.indexes.prefix(2)))
        let parsed = try Condition.parse(text)
        let values: [Value] =
            switch text {
            case "size > ?": [.double(5)]
            case "number = ? AND size > ?": [.integer(3), .double(5)]
            default: [.integer(3), .integer(5)]
            }
        let selection = Selection(table: "T", condition: parsed, parameters: values)
        let view = try fixture.store.snapshot()
        let first = try selection.plan(fixture.catalogue, in: view)
        let shape = try #require(QueryFingerprint(selection))
        let kept = try #require(
            try fixture.catalogue.plans[shape.key]?.plan(shape.values, values, [:], fixture.catalogue, view))
        #expect(kept.description == first.description)
        #expect(kept.residual == first.residual)
        #expect(kept.bound.condition == first.bound.condition)
    }

    @Test func thePlanSaysWhatItIsOf() throws {
        let fixture = try filled(100)
        for number in [3, 4] {
            #expect(
                try keys(fixture, "number = ? AND size > ?", [.integer(Int64(number)), .double(1.5)]).text
                    == "search T using index T.number (number = \(number)), then filter size > 1.5")
        }
    }

    @Test func theValueDecidesTheIndex() throws {
        let fixture = try filled(3000)
        let text = "kind = ? AND number = ?"
        #expect(try keys(fixture, text, [.text("rare50"), .integer(5)]).text.contains("T.kind.size"))
        #expect(try keys(fixture, text, [.text("rare100"), .integer(10)]).text.contains("T.kind.size"))
        #expect(try keys(fixture, text, [.text("common"), .integer(10)]).text.contains("T.number"))
    }

    @Test func aTableThatHasGrownIsLookedAtAnew() throws {
        let fixture = try filled(900, Array(Self.indexes.prefix(1)))
        let text = "word >= ? AND word < ?"
        // Few rows are scanned as fast as they are searched.
        _ = try keys(fixture, text, [.text("Word1"), .text("Word2")])
        let shape = try #require(
            QueryFingerprint(
                Selection(
                    table: "T", condition: try Condition.parse(text), parameters: [.text("Word1"), .text("Word2")])))
        let kept = try #require(fixture.catalogue.plans[shape.key])
        #expect(try kept.plan(shape.values, [], [:], fixture.catalogue, fixture.store.snapshot()) != nil)
        try fixture.insertAll(
            "T",
            (0..<5000).map { [.text("w\($0)"), .null, .double(0), .text("common"), .date(0), .bool(false)] })
        #expect(try kept.plan(shape.values, [], [:], fixture.catalogue, fixture.store.snapshot()) == nil)
    }

    /// A table so small that no statistics were read, and one for which another plan may be better by now.
    @Test func aTableThatIsNoLongerSmallIsLookedAt() throws {
        let fixture = try filled(900)
        let selection = Selection(
            table: "T", condition: try Condition.parse("id > ? AND number > ?"), parameters: [.integer(2), .integer(3)])
        let first = try selection.plan(fixture.catalogue, in: fixture.store.snapshot())
        #expect(first.description.hasPrefix("search T by key range (id > 2)"))
        let shape = try #require(QueryFingerprint(selection))
        let kept = try #require(fixture.catalogue.plans[shape.key])
        #expect(try kept.plan(shape.values, [], [:], fixture.catalogue, fixture.store.snapshot()) != nil)
        try fixture.insertAll(
            "T",
            (0..<600).map { [.text("w\($0)"), .null, .double(0), .text("common"), .date(0), .bool(false)] })
        let view = try fixture.store.snapshot()
        #expect(try kept.plan(shape.values, [], [:], fixture.catalogue, view) == nil)
        #expect(
            try selection.plan(fixture.catalogue, in: view).ids(in: view)
                == selection.plan(fixture.catalogue).ids(in: view))
    }

    /// Queries of many different shapes do not fill the memory.
    @Test func plansOfManyShapesAreForgotten() throws {
        let fixture = try filled(150)
        func shape(_ limit: Int) throws -> QueryFingerprint.Key? {
            QueryFingerprint(
                Selection(
                    table: "T", condition: try Condition.parse("number = ?"), parameters: [.integer(3)], limit: limit))?
                .key
        }
        for limit in 1...300 {
            let (kept, fresh, _) = try keys(fixture, "number = ?", [.integer(3)], limit: limit)
            #expect(kept == fresh)
        }
        let held = try (1...300).filter { limit in
            let key = try #require(try shape(limit))
            return fixture.catalogue.plans[key] != nil
        }
        #expect(held.count <= 256 && held.contains(300) && !held.contains(1))
    }

    @Test func aNewIndexIsUsed() throws {
        var fixture = try filled(100, [])
        #expect(try keys(fixture, "number = ?", [.integer(3)]).text.hasPrefix("scan"))
        try fixture.migrate(EntitySchema(name: "T", columns: Self.columns, indexes: Self.indexes))
        #expect(try keys(fixture, "number = ?", [.integer(3)]).text.contains("T.number"))
    }

    @Test func aCatalogueIsReleased() throws {
        var fixture = try filled(100)
        weak let catalogue = fixture.catalogue
        _ = try keys(fixture, "number = ?", [.integer(3)])
        try fixture.migrate(EntitySchema(name: "T", columns: Self.columns, indexes: []))
        #expect(catalogue == nil)
    }

    /// Queries that differ in more than the values have different fingerprints.
    @Test func shapesDiffer() throws {
        func key(
            _ text: String, _ values: [Value] = [], orderBy: [Order] = [], limit: Int? = nil, offset: Int? = nil
        ) throws -> QueryFingerprint.Key? {
            QueryFingerprint(
                Selection(
                    table: "T", condition: try Condition.parse(text), parameters: values, orderBy: orderBy,
                    limit: limit,
                    offset: offset))?
                .key
        }
        let keys = [
            try key("a = 1"), try key("a = 'x'"), try key("a = 1.5"), try key("a < 1"), try key("1 < a"),
            try key("b = 1"), try key("a = 1 AND b = 1"), try key("a.b = 1"), try key("ab = 1"),
            try key("a = 'x' COLLATE NOCASE"), try key("a COLLATE NOCASE = 'x'"), try key("a IS NULL"),
            try key("a IS NOT NULL"),
            try key("a BETWEEN 1 AND 2"), try key("a = 1", limit: 1), try key("a = 1", limit: 0),
            try key("a = 1", offset: 1), try key("a = 1", orderBy: [Order("a")]),
            try key("a = 1", orderBy: [Order("a", descending: true)]),
            try key("a = 1", orderBy: [Order("a", noCase: true)]), try key("a = TRUE"),
            try key("a = ?", [.unsigned(.max)]), try key("a = ?", [.uuid(1, 2)]), try key("a = ?", [.date(1)]),
        ]
        #expect(!keys.contains(nil))
        #expect(Set(keys).count == keys.count)
        #expect(try key("a = 1") == key("a = 2"))
        #expect(try key("a = ?", [.uuid(1, 2)]) == key("a = ?", [.uuid(3, 4)]))
        #expect(try key("a = NULL") == nil)
        var deep = try Condition.parse("a = 1")
        for _ in 0..<30 { deep = .and([deep]) }
        #expect(QueryFingerprint(Selection(table: "T", condition: deep)) == nil)
        #expect(try key("a LIKE 'x'") == nil)
        #expect(try key("a = 1 OR b = 2") == nil)
        #expect(try key("a + 1 = 2") == nil)
    }

    private static let numbers: [Int64] = [
        0, 1, -1, 2, -2, 254, 255, 256, -255, -256, -257, 65_535, .max, .max - 1, .min, .min + 1,
    ]

    @Test(arguments: numbers) func theRangeOfANumberIsThatOfItsCoding(number: Int64) {
        var coded = KeyBuffer()
        coded.append(number)
        #expect(KeyRange(of: number) == KeyRange(prefix: coded.bytes))
    }
}
