import MakoRecords
import Testing

@Suite struct ParserTests {
    private func column(_ name: String) -> Expr { .path(name) }
    private func number(_ number: Int64) -> Expr { .literal(.integer(number)) }

    @Test func comparisonsAndTheirSpellings() throws {
        for (text, operation) in [
            ("=", ComparisonOperator.equal), ("==", .equal), ("!=", .notEqual), ("<>", .notEqual), ("<", .less),
            ("<=", .lessOrEqual),
            (">", .greater), (">=", .greaterOrEqual),
        ] {
            #expect(try Condition.parse("age \(text) 35") == .comparison(operation, column("age"), number(35)))
        }
    }

    @Test func precedenceIsThatOfSQL() throws {
        let a = Condition.comparison(.equal, column("a"), number(1))
        let b = Condition.comparison(.equal, column("b"), number(2))
        let c = Condition.comparison(.equal, column("c"), number(3))
        #expect(try Condition.parse("a = 1 OR b = 2 AND c = 3") == .or([a, .and([b, c])]))
        #expect(try Condition.parse("(a = 1 or b = 2) and not c = 3") == .and([.or([a, b]), .not(c)]))
        #expect(try Condition.parse("a = 1 || b = 2 && !c = 3") == .or([a, .and([b, .not(c)])]))
        #expect(
            try Condition.parse("a + 2 * 3 = 1")
                == .comparison(
                    .equal, .arithmetic(.add, column("a"), .arithmetic(.multiply, number(2), number(3))), number(1)))
        #expect(
            try Condition.parse("a - 1 - 2 = 1")
                == .comparison(
                    .equal, .arithmetic(.subtract, .arithmetic(.subtract, column("a"), number(1)), number(2)), number(1)
                ))
    }

    @Test func twoBarsJoinTextsOrConditions() throws {
        let left = Condition.comparison(.greater, column("a"), number(3))
        let right = Condition.comparison(.less, column("b"), number(2))
        #expect(try Condition.parse("a > 3 || b < 2") == .or([left, right]))
        #expect(try Condition.parse("a > 3 || (b < 2)") == .or([left, right]))
        #expect(try Condition.parse("(a > 3) || (b < 2)") == .or([left, right]))
        let joined = Expr.arithmetic(.concatenate, .literal(.text("x")), column("c"))
        #expect(try Condition.parse("a = 'x' || c") == .comparison(.equal, column("a"), joined))
        #expect(try Condition.parse("'x' || c = a") == .comparison(.equal, joined, column("a")))
        #expect(
            try Condition.parse("a = 'x' || c AND b < 2") == .and([.comparison(.equal, column("a"), joined), right]))
    }

    @Test func literalsOfEveryKind() throws {
        for (text, value) in [
            ("'it''s'", Value.text("it's")), ("''", .text("")), ("1.5", .double(1.5)), (".5", .double(0.5)),
            ("1e3", .double(1000)),
            ("2.e1", .double(20)), ("18446744073709551615", .unsigned(.max)), ("x'00fF'", .blob([0, 255])),
            ("TRUE", .bool(true)),
            ("false", .bool(false)), ("NULL", .null), ("99999999999999999999", .double(1e20)),
        ] {
            #expect(try Expr.parse(text) == .literal(value), "\(text)")
        }
        #expect(try Expr.parse("-9223372036854775808") == .literal(.integer(.min)))
        #expect(try Expr.parse("- 1.5") == .literal(.double(-1.5)))
    }

    @Test func wordsThatAreNamesElsewhereStayNames() throws {
        #expect(
            try Condition.parse("order = 1 AND group = 2 AND \"not\" = 3 AND [limit] = 4 AND `in` = 5")
                == .and([
                    .comparison(.equal, column("order"), number(1)), .comparison(.equal, column("group"), number(2)),
                    .comparison(.equal, column("not"), number(3)), .comparison(.equal, column("limit"), number(4)),
                    .comparison(.equal, column("in"), number(5)),
                ]))
        #expect(try Expr.parse("Größe.日本") == .column(["Größe", "日本"]))
    }

    @Test func parametersAreCountedAndNamed() throws {
        #expect(
            try Condition.parse("a = ? AND b = ?3 AND c = :name AND d = ?")
                == .and([
                    .comparison(.equal, column("a"), .parameter(.position(0))),
                    .comparison(.equal, column("b"), .parameter(.position(2))),
                    .comparison(.equal, column("c"), .parameter(.name("name"))),
                    .comparison(.equal, column("d"), .parameter(.position(1))),
                ]))
        #expect(
            try Condition.parse("a = %@ AND b % d = %ld")
                == .and([
                    .comparison(.equal, column("a"), .parameter(.position(0))),
                    .comparison(.equal, .arithmetic(.remainder, column("b"), column("d")), .parameter(.position(1))),
                ]))
    }

    @Test func predicates() throws {
        let a = column("a")
        for (text, condition) in [
            ("a IS NULL", Condition.isNull(a)), ("a IS NOT NULL", .not(.isNull(a))),
            ("a IN (1, 2)", .isIn(a, [number(1), number(2)])),
            ("a NOT IN ()", .not(.isIn(a, []))), ("a BETWEEN 1 AND 2", .between(a, number(1), number(2))),
            ("a NOT BETWEEN 1 AND 2", .not(.between(a, number(1), number(2)))),
            ("a LIKE 'x%'", .like(a, .literal(.text("x%")), escape: nil)),
            ("a NOT LIKE 'x' ESCAPE '!'", .not(.like(a, .literal(.text("x")), escape: .literal(.text("!"))))),
            ("a GLOB 'x*'", .glob(a, .literal(.text("x*")))), ("a", .truth(a)), ("NOT a", .not(.truth(a))),
            ("TRUE", .constant(true)),
            ("a = 'x' COLLATE NOCASE", .comparison(.equal, a, .noCase(.literal(.text("x"))))),
            ("a = 'x' COLLATE NOCASE COLLATE NOCASE", .comparison(.equal, a, .noCase(.literal(.text("x"))))),
            ("a = 1 -- the rest is a comment", .comparison(.equal, a, number(1))),
            ("/* a; */ a /**/ = /* '\n -- */ 1", .comparison(.equal, a, number(1))),
            ("(a = 1) = 2", .comparison(.equal, .condition(.comparison(.equal, a, number(1))), number(2))),
            ("(a IS NULL) + 1", .truth(.arithmetic(.add, .condition(.isNull(a)), number(1)))),
            ("a IN (a > 1, 2)", .isIn(a, [.condition(.comparison(.greater, a, number(1))), number(2)])),
            ("((a))", .truth(a)), ("(a = 1)", .comparison(.equal, a, number(1))),
        ] {
            #expect(try Condition.parse(text) == condition, "\(text)")
        }
    }

    @Test(arguments: [
        ("", 0), ("a =", 3), ("a = 1 b", 6), ("a = (1", 6), ("a = 'x", 4), ("a IN 1", 5), ("a NOT 1", 6),
        ("a = 1 = 2", 6),
        ("a = 1 + (2", 10), ("a = 1x", 4), ("a = x'0'", 4), ("a ~ 1", 2), ("a BETWEEN 1", 11), ("a. = 1", 3),
        ("?0 = 1", 0),
        ("a IS DISTINCT 3", 14), ("AND", 0), ("a COLLATE x = 1", 10), ("a = %", 4), ("f(", 2),
    ])
    func faultsPointIntoTheText(text: String, offset: Int) throws {
        let error = #expect(throws: RecordError.self) { try Condition.parse(text) }
        guard case .syntax(let fault) = error else { return }
        #expect(fault.text == text && fault.offset == offset, "\(fault)")
        #expect("\(fault)".contains(text.isEmpty ? "expected" : "^"))
    }

    @Test func theCaretIsUnderTheFault() throws {
        let error = #expect(throws: RecordError.self) { try Condition.parse("größe = 1 AND\n  alter >< 3") }
        #expect("\(try #require(error))" == "a value is expected here\n    alter >< 3\n           ^")
    }

    /// An error for a missing end of a text is placed after its last word, whatever line breaks follow.
    @Test(arguments: ["", "\n", "\r\n", "\n \t\n"]) func aTextThatEndsTooEarlyIsShownWithItsLastLine(
        end: String
    ) throws {
        let error = #expect(throws: RecordError.self) { try Statement.parse("SELECT a\nFROM" + end) }
        let lines = "\(try #require(error))".split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.dropFirst() == ["  FROM", "      ^"], "\(lines)")
    }

    @Test func aLineThatEndsAsWindowsDoesIsShownWithoutItsEnd() throws {
        let error = #expect(throws: RecordError.self) { try Statement.parse("SELECT a\r\nFROM t WHERE\r\nORDER BY a") }
        #expect(!"\(try #require(error))".contains("\r"))
    }

    @Test func deepNestingIsAnError() throws {
        let deep = 100_000
        let texts = [
            String(repeating: "(", count: deep), String(repeating: "NOT ", count: deep) + "a",
            String(repeating: "-", count: deep) + "1",
            String(repeating: "! ", count: deep) + "a", "a = " + String(repeating: "1 + ", count: deep) + "1",
            String(repeating: "lower(", count: deep), "a = " + String(repeating: "'x' || ", count: deep) + "'y'",
            String(repeating: "a = 1 || (", count: 300),
        ]
        for text in texts { #expect(throws: RecordError.self) { try Condition.parse(text) } }
        let path = Array(repeating: "a", count: 32).joined(separator: ".")
        #expect(try Expr.parse(path) == .column(Array(repeating: "a", count: 32)))
        #expect(throws: RecordError.self) { try Expr.parse(path + ".a") }
        // Long without being deep is no fault.
        let wide = Array(repeating: "a = 1", count: 20_000).joined(separator: " OR ")
        guard case .or(let parts) = try Condition.parse(wide) else {
            Issue.record("not an OR")
            return
        }
        #expect(parts.count == 20_000)
        let nested = String(repeating: "(", count: 45) + "a = 1" + String(repeating: ")", count: 45)
        #expect(try Condition.parse(nested) == .comparison(.equal, column("a"), number(1)))
    }

    /// Each text is parsed, bound and run, or refused with an error that has a description; any other error fails the test.
    @Test func randomTextsAreRunOrRefused() throws {
        let words = [
            "a", "name", "dep", ".", "=", "<", ">=", "!=", "(", ")", ",", "'x'", "'", "1", "2.5", "?", "?1", ":p",
            "AND", "OR", "NOT", "IN",
            "BETWEEN", "LIKE", "GLOB", "IS", "NULL", "ESCAPE", "COLLATE", "NOCASE", "||", "&&", "!", "+", "-", "*", "/",
            "%", "@", "x'00'",
            "lower", "date", "\"", "[", "é", "\u{0}", "--", "/*", "/**", ";", "9999999999999999999999", "1e999", "%d",
            "SELECT",
            "FROM", "A", "ORDER",
            "BY", "LIMIT", "count", "GROUP", "id", "TRUE", "substr", "-1",
        ]
        let fixture = try QueryFixture.small()
        var random = Seeded(2024)
        var bound = 0
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1...12, using: &random)).map { _ in random.pick(words) }
                .joined(separator: random.chance(80) ? " " : "")
            do {
                let condition = try Condition.parse(text)
                let plan = try Selection(
                    table: "A", condition: condition, parameters: [.integer(1), .text("x")],
                    namedParameters: ["p": .double(2)]
                ).plan(fixture.catalogue)
                _ = try plan.count(in: fixture.store.snapshot())
                bound += 1
            } catch let error as RecordError { #expect(!"\(error)".isEmpty) }
            do { _ = try SelectStatement.parse("SELECT " + text) } catch { #expect(!"\(error)".isEmpty) }
            do { _ = try Order.parse(text) } catch { #expect(!"\(error)".isEmpty) }
        }
        #expect(bound > 100)
    }
}
