import Testing

@testable import MakoCommand

@Suite struct StatementReaderTests {
    private func read(_ lines: String...) -> [String] {
        var reader = StatementReader()
        var statements = lines.flatMap { reader.take($0).map(\.text) }
        if let rest = reader.takeRest() { statements.append("rest:" + rest.text) }
        return statements
    }

    @Test func statementsEndWithSemicolons() {
        #expect(read("a; b", "c;") == ["a", " b\nc"])
        #expect(read("a", "b") == ["rest:a\nb\n"])
        #expect(read(";;", " ; ", "") == [])
    }

    @Test(arguments: [
        "'a;''b;'", "\"a;\"\"b\"", "`a;``b`", "[a;]];b]", "'\n;'", "-- a; 'b", "/* a;\n'b; */ c", "/***;**/ c",
        "'a\u{301};'",
        "1 - 2 / 3", "a/b - -c",
    ])
    func quotesAndCommentsHoldSemicolons(_ text: String) {
        #expect(read("x " + text, ";") == ["x " + text + "\n"])
    }

    /// A quote, a comment and a semicolon are what their bytes are, whatever combines with them.
    @Test func combiningMarksHideNothing() {
        #expect(read("a = '\u{301};'; b") == ["a = '\u{301};'", "rest: b\n"])
        #expect(read("a;\u{301} b;") == ["a", "\u{301} b"])
    }

    @Test func commentsAloneAreNoStatement() {
        #expect(read("-- a;", "/* b;", "*/ ; -- c") == [])
        #expect(read("/* open", "; ") == ["rest:/* open\n; \n"])
        #expect(read("'open", ";") == ["rest:'open\n;\n"])
    }

    @Test func statementsKnowTheirLines() {
        var reader = StatementReader()
        #expect(reader.take("-- first") == [])
        reader.skipLine()
        #expect(reader.take("a; b") == [StatementReader.Statement(text: "a", line: 3)])
        #expect(!reader.isBetweenStatements)
        #expect(reader.take("; c") == [StatementReader.Statement(text: " b\n", line: 3)])
        #expect(reader.takeRest() == StatementReader.Statement(text: " c\n", line: 4))
        #expect(reader.isBetweenStatements && reader.line == 4)
    }
}
