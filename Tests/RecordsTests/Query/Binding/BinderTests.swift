import MakoRecords
import Testing

@Suite struct BinderTests {
    @Test(arguments: [
        ("ii = 1", 0, 2, Optional("i")), ("i = 1 AND ref.nn = 'x'", 10, 6, "n"), ("ref.parent.x.y = 1", 0, 14, nil),
        ("i.x = 1", 0, 3, nil),
        ("i = 'x'", 4, 3, nil), ("t > 5", 4, 1, nil), ("uu = 'no'", 5, 4, nil), ("at = 'yesterday'", 5, 11, nil),
        ("t LIKE 5", 7, 1, nil),
        ("i LIKE 'x'", 0, 1, nil), ("t", 0, 1, nil), ("i + t = 1", 4, 1, nil), ("lowr(t) = 'x'", 0, 7, "lower"),
        ("abs(t) = 1", 4, 1, nil),
        ("length() = 1", 0, 8, nil), ("i = ?", 4, 1, nil), ("i = :q", 4, 2, nil), ("i || d = 'x'", 0, 1, nil),
        ("date('x') = at", 5, 3, nil),
        ("i COLLATE NOCASE = 1", 0, 1, nil), ("id.x = 1", 0, 4, nil), ("t LIKE 'x' ESCAPE 'yy'", 18, 4, nil),
        ("b = 2", 4, 1, nil), ("t LIKE t ESCAPE 'yy'", 16, 4, nil), ("\"\" = 1", 0, 2, nil),
    ])
    func faultsAreFoundBeforeARowIsRead(text: String, offset: Int, length: Int, nearest: String?) throws {
        let fixture = try QueryFixture.small()
        let error = #expect(throws: RecordError.self) {
            try Selection(table: "A", condition: .parse(text)).bind(fixture.catalogue)
        }
        guard case .syntax(let fault) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.offset == offset && fault.nearest == nearest, "\(fault)")
        #expect(
            "\(fault)".hasSuffix(
                "\n  " + String(repeating: " ", count: offset) + "^" + String(repeating: "~", count: fault.length - 1)))
    }

    @Test(arguments: [
        ("length(t) = uu", "this is integer, which cannot be compared with uu, which holds uuid"),
        ("at + 1 = i", "this is date, which cannot be compared with i, which holds integer"),
        ("length(t) || 3 = 't'", "this is integer; || joins texts"),
        ("-bl = 1", "bl holds blob, which has no negative"),
        ("coalesce(bl, bl) = 1", "this is blob, which cannot be compared with integer 1"),
        ("coalesce(uu, uu) = 1", "this is uuid, which cannot be compared with integer 1"),
        ("coalesce(b, b) = 'x'", "this is bool, which cannot be compared with text 'x'"),
        ("i = ?", "parameter 1 has no value; 0 were given"), ("length(t, t) = 1", "length takes 1 value, not 2"),
        ("substr(t) = 'x'", "substr takes 2 to 3 values, not 1"),
        ("t LIKE 'x' ESCAPE ''", "ESCAPE takes one character"),
        ("strftime('%Q', at) = 'x'", "strftime knows no %Q; there are %Y %m %d"),
        ("strftime('%', at) = 'x'", "strftime knows no %; there are"),
        ("strftime('%Y', b) = 'x'", "b holds bool, which strftime does not take"),
        ("replace(t, 'x') = 'x'", "replace takes 3 values, not 2"),
    ])
    func faultsAreReported(text: String, message: String) throws {
        let fixture = try QueryFixture.small()
        let error = #expect(throws: RecordError.self) {
            try Selection(table: "A", condition: .parse(text)).bind(fixture.catalogue)
        }
        #expect("\(try #require(error))".hasPrefix(message), "\(String(describing: error))")
    }

    @Test func aMissingParameterIsReportedWithTheNumberOfValues() throws {
        let fixture = try QueryFixture.small()
        for (given, notified) in [([], "0 were"), ([.null], "1 was"), ([.null, .null], "2 were")] as [([Value], String)]
        {
            let error = #expect(throws: RecordError.self) {
                try Selection(table: "A", condition: .parse("i = ?3"), parameters: given).bind(fixture.catalogue)
            }
            #expect("\(try #require(error))".hasPrefix("parameter 3 has no value; \(notified) given"))
        }
    }

    @Test func conditionsOfOnePartOrNone() throws {
        let fixture = try QueryFixture.small()
        func ids(_ condition: Condition) throws -> [Int64] {
            try Selection(table: "A", condition: condition).plan(fixture.catalogue).ids(in: fixture.store.snapshot())
        }
        let part = try Condition.parse("i > 0")
        #expect(try ids(.and([part])) == ids(part) && ids(.or([part])) == ids(part))
        #expect(try ids(part).count > 3)
        #expect(try ids(.and([])).count == 20 && ids(.or([])).isEmpty)
        #expect(try ids(.not(.and([]))).isEmpty && ids(.not(.or([]))).count == 20)
    }

    @Test func conditionsAreJoinedAsTextsAre() throws {
        func parse(_ text: String) throws -> Condition { try .parse(text) }
        let (a, b, c) = (try parse("i = 1"), try parse("j = 2"), try parse("t = 'x'"))
        #expect(try (a && b) == parse("i = 1 AND j = 2"))
        #expect(try (a && b && c) == parse("i = 1 AND j = 2 AND t = 'x'"))
        #expect(try (a && (b && c)) == parse("i = 1 AND (j = 2 AND t = 'x')"))
        #expect(try ((a && b) && (b && c)) == parse("i = 1 AND j = 2 AND j = 2 AND t = 'x'"))
        #expect(try (a || b) == parse("i = 1 OR j = 2"))
        #expect(try (a || b || c) == parse("i = 1 OR j = 2 OR t = 'x'"))
        #expect(try (a || (b || c)) == parse("i = 1 OR (j = 2 OR t = 'x')"))
        #expect(try ((a || b) || (b || c)) == parse("i = 1 OR j = 2 OR j = 2 OR t = 'x'"))
        #expect(try !a == parse("NOT i = 1"))
        #expect(Set([a, try parse("  i  =  1")]).count == 1)
    }

    @Test func pathsBeginAtTheTableAndEndAtAColumn() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "P",
                columns: [
                    ColumnSchema("gone", .reference, isOptional: true, target: "Gone"),
                    ColumnSchema("two", .text, isOptional: true, target: "Two"),
                    ColumnSchema("self", .reference, isOptional: true, target: "P"), ColumnSchema("n", .integer),
                    ColumnSchema("number", .integer, isOptional: true, target: "P"),
                ]),
            EntitySchema(
                name: "Two", columns: [ColumnSchema("a", .text), ColumnSchema("b", .text), ColumnSchema("c", .text)],
                key: .columns(["a", "b"])))
        try fixture.insertAll(
            "P",
            [
                [.null, .null, .integer(2), .integer(5), .integer(1)],
                [.null, .null, .integer(9), .integer(6), .null],
            ])
        func ids(_ text: String) throws -> [Int64] {
            try Selection(table: "P", condition: .parse(text)).plan(fixture.catalogue).ids(in: fixture.store.snapshot())
        }
        #expect(try ids("P.n = 5") == [1])
        #expect(try ids("P.self.n = 6") == [1])
        #expect(try ids("self.ID = 2") == [1])
        #expect(try ids("number.n = 5") == [1], "a whole number holds the key of rows with ids too")
        #expect(try ids("self.self.id = 9") == [1])
        for (text, message) in [
            ("gone.n = 1", "P.gone refers to table Gone, which is not there"),
            ("two.c = 'x'", "P.two does not hold the key of Two"),
            ("two.C.d = 1", "P.two does not hold the key of Two"),
        ] {
            let error = #expect(throws: RecordError.self) { try ids(text) }
            #expect("\(try #require(error))".hasPrefix(message))
        }
    }

    @Test func aMisspeltNameIsShownWithItsNearest() throws {
        let fixture = try QueryFixture.small()
        let error = #expect(throws: RecordError.self) {
            try Selection(table: "A", condition: .parse("ref.nn = 'x'")).bind(fixture.catalogue)
        }
        #expect("\(try #require(error))" == "B has no column nn; did you mean n?\n  ref.nn = 'x'\n  ^~~~~~")
        let keyed = #expect(throws: RecordError.self) {
            try Selection(table: "C", condition: .parse("kk = 'x'")).bind(fixture.catalogue)
        }
        #expect("\(try #require(keyed))".hasPrefix("C has no column kk; did you mean k?"))
        #expect(throws: RecordError.tableNotFound(name: "AA", nearest: "A")) {
            try Selection(table: "AA").bind(fixture.catalogue)
        }
    }

    @Test func textBecomesDatesAndUUIDsWhereTheColumnIsOne() throws {
        let fixture = try QueryFixture.small()
        for text in [
            "at = '2001-01-02'", "at > date('2001-01-02')", "uu = '00000000-0000-0000-0000-000000000001'", "b = 1",
            "i = 2.0", "d = 2", "I = 1", "A.i = 1",
        ] {
            #expect(throws: Never.self, "\(text)") {
                try Selection(table: "A", condition: .parse(text)).bind(fixture.catalogue)
            }
        }
    }

    @Test func pathsWithoutANameAreRefused() throws {
        let fixture = try QueryFixture.small()
        for (path, message) in [([], "a name is expected here"), ([""], "A has no column ")] as [([String], String)] {
            let error = #expect(throws: RecordError.self) {
                try Selection(table: "A", orderBy: [Order(.column(path))]).bind(fixture.catalogue)
            }
            #expect("\(try #require(error))" == message)
        }
    }

    @Test func conditionsBuiltByCodeMayBeDeepWithoutTrapping() throws {
        let fixture = try QueryFixture.small()
        var expr = Expr.path("i")
        for _ in 0..<2000 { expr = .negate(expr) }
        #expect(throws: RecordError.self) { try Selection(table: "A", orderBy: [Order(expr)]).bind(fixture.catalogue) }
        var condition = Condition.truth(.path("b"))
        for _ in 0..<2000 { condition = .not(condition) }
        #expect(throws: RecordError.self) { try Selection(table: "A", condition: condition).bind(fixture.catalogue) }
    }
}
