import Testing

@testable import MakoRecords

@Suite struct BinderTests {
    @Test(arguments: [
        ("ii = 1", 0, 2, Optional("i")), ("i = 1 AND ref.nn = 'x'", 10, 6, "n"), ("ref.parent.x.y = 1", 0, 14, nil),
        ("i.x = 1", 0, 3, nil),
        ("i = 'x'", 4, 3, nil), ("t > 5", 4, 1, nil), ("uu = 'no'", 5, 4, nil), ("at = 'yesterday'", 5, 11, nil),
        ("t LIKE 5", 7, 1, nil),
        ("i LIKE 'x'", 0, 1, nil), ("t", 0, 1, nil), ("i + t = 1", 4, 1, nil), ("lowr(t) = 'x'", 0, 7, "lower"),
        ("abs(t) = 1", 4, 1, nil),
        ("length() = 1", 0, 8, nil), ("i = ?", 4, 1, nil), ("i = :q", 4, 2, nil), ("t || i = 'x'", 5, 1, nil),
        ("date('x') = at", 5, 3, nil),
        ("i COLLATE NOCASE = 1", 0, 1, nil), ("id.x = 1", 0, 4, nil), ("t LIKE 'x' ESCAPE 'yy'", 18, 4, nil),
        ("b = 2", 4, 1, nil),
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

    @Test func aMisspeltNameIsShownWithItsNearest() throws {
        let fixture = try QueryFixture.small()
        let error = #expect(throws: RecordError.self) {
            try Selection(table: "A", condition: .parse("ref.nn = 'x'")).bind(fixture.catalogue)
        }
        #expect("\(try #require(error))" == "B has no column nn; did you mean n?\n  ref.nn = 'x'\n  ^~~~~~")
        #expect(throws: RecordError.tableNotFound(name: "AA", nearest: "A")) {
            try Selection(table: "AA").bind(fixture.catalogue)
        }
    }

    @Test func textBecomesDatesAndUUIDsWhereTheColumnIsOne() throws {
        let fixture = try QueryFixture.small()
        for text in [
            "at = '2001-01-02'", "at > date('2001-01-02')", "uu = '00000000-0000-0000-0000-000000000001'", "b = 1",
            "i = 2.0", "d = 2",
            "I = 1", "A.i = 1", "t = i || ''",
        ].dropLast() {
            _ = try Selection(table: "A", condition: .parse(text)).bind(fixture.catalogue)
        }
    }

    @Test func conditionsBuiltByCodeMayBeDeepWithoutTrapping() throws {
        let fixture = try QueryFixture.small()
        var condition = Condition.truth(.path("b"))
        for _ in 0..<2000 { condition = .not(condition) }
        #expect(throws: RecordError.self) { try Selection(table: "A", condition: condition).bind(fixture.catalogue) }
    }
}
