import Foundation
import Testing

@testable import MakoCommand

@Suite struct DelimitedReaderTests {
    private func read(
        _ text: String, _ dialect: DelimitedReader.Dialect = .csv, header: Bool = true
    ) throws -> (columns: [String], rows: [InputRow]) {
        var reader = try DelimitedReader(ByteInput(text, name: "a.csv"), dialect: dialect, header: header)
        var rows: [InputRow] = []
        while let row = try reader.next() { rows.append(row) }
        return (reader.columns, rows)
    }

    private func message(_ text: String, _ dialect: DelimitedReader.Dialect = .csv) -> String {
        do {
            _ = try read(text, dialect)
            return "no error"
        } catch { return "\(error)" }
    }

    @Test func readsAHeaderAndRowsWithTheirLines() throws {
        let (columns, rows) = try read("name,age\nAda,36\nBob,7\n")
        #expect(columns == ["name", "age"])
        #expect(
            rows == [
                InputRow(line: 2, fields: [.raw("Ada"), .raw("36")]),
                InputRow(line: 3, fields: [.raw("Bob"), .raw("7")]),
            ])
    }

    @Test func theLastLineNeedsNoLineBreak() throws {
        #expect(try read("a\n1\n2").rows.map(\.fields) == [[.raw("1")], [.raw("2")]])
    }

    @Test func quotesHoldDelimitersQuotesAndLineBreaks() throws {
        let (_, rows) = try read("a,b\n\"x, y\",\"he said \"\"no\"\"\"\n\"one\ntwo\r\nthree\",z\nlast,row\n")
        #expect(rows[0].fields == [.raw("x, y"), .raw("he said \"no\"")])
        #expect(rows[1].fields == [.raw("one\ntwo\r\nthree"), .raw("z")])
        #expect(rows.map(\.line) == [2, 3, 6])
    }

    @Test(arguments: ["a,b\r\n1,2\r\n3,4\r\n", "a,b\r1,2\r3,4", "\u{FEFF}a,b\n1,2\n3,4\n", "a,b\n\n1,2\n\r\n3,4\n\n"])
    func lineEndsByteOrderMarkAndEmptyLinesMakeNoDifference(_ text: String) throws {
        let (columns, rows) = try read(text)
        #expect(columns == ["a", "b"])
        #expect(rows.map(\.fields) == [[.raw("1"), .raw("2")], [.raw("3"), .raw("4")]])
    }

    @Test func anEmptyFieldIsMissingAndAQuotedOneIsEmptyText() throws {
        #expect(try read("a,b,c\n,\"\",\n").rows[0].fields == [.missing, .raw(""), .missing])
    }

    /// Otherwise an empty line of one column would look like an empty field.
    @Test func emptyLinesOfOneColumnAreRows() throws {
        #expect(try read("a\n\n\"\"\nx\n").rows.map(\.fields) == [[.missing], [.raw("")], [.raw("x")]])
        #expect(try read("a\n\n\\N\n\n", .tabs).rows.map(\.fields) == [[.raw("")], [.missing], [.raw("")]])
        #expect(try read("a\tb\n\nx\ty\n\n", .tabs).rows.map(\.fields) == [[.raw("x"), .raw("y")]])
    }

    @Test func withoutAHeaderColumnsAreCounted() throws {
        let (columns, rows) = try read("1,2\n3,4\n", header: false)
        #expect(columns == ["column1", "column2"])
        #expect(rows.map(\.line) == [1, 2])
    }

    @Test func anotherDelimiter() throws {
        #expect(
            try read("a;b\n1;2,5\n", .quoted(delimiter: UInt8(ascii: ";"))).rows[0].fields == [.raw("1"), .raw("2,5")])
    }

    @Test func tabSeparatedFieldsKnowEscapesAndNoQuotes() throws {
        let (_, rows) = try read("a\tb\tc\n\"x\"\tone\\ttwo\\n\\\\\t\\N\nC:\\x\t\tz\n", .tabs)
        #expect(rows[0].fields == [.raw("\"x\""), .raw("one\ttwo\n\\"), .missing])
        #expect(rows[1].fields == [.raw("C:\\x"), .raw(""), .raw("z")])
    }

    @Test func everyFaultIsNamedWithItsLine() {
        #expect(message("a,b\n1,2\n\n1,2,3\n") == "a.csv, line 4: expected 2 fields, as in the first line, and found 3")
        #expect(message("a,b\n1\n") == "a.csv, line 2: expected 2 fields, as in the first line, and found 1")
        #expect(message("a\n\"x\ny\n") == "a.csv, line 2: the quote that opens a field on this line is never closed")
        #expect(message("a\n\"x\"y\n").hasPrefix("a.csv, line 2: text after the quote that closes a field"))
        #expect(message("a\nx\"y\n").hasPrefix("a.csv, line 2: a quote inside a field that does not begin with one"))
        #expect(message("a,a\n") == "a.csv, line 1: the header names column 'a' twice")
        #expect(message("a,,c\n") == "a.csv, line 1: column 2 of the header has no name")
        #expect(message("") == "a.csv: is empty: a header with the column names is needed")
    }

    @Test func bytesThatAreNotUTF8AreRefused() throws {
        var reader = try DelimitedReader(ByteInput(bytes: Array("a\nok\n".utf8) + [0xE9, 10], name: "latin.csv"))
        _ = try reader.next()
        #expect(
            throws: InputError(
                source: "latin.csv", line: 3, message: "a field is not UTF-8 text; convert the file to UTF-8 first")
        ) { try reader.next() }
    }

    @Test func aFileLargerThanOnePieceIsReadWhole() throws {
        let path = try temporaryPath("large.csv")
        let cell = String(repeating: "é\"\"\n", count: 1000)
        var text = "n,cell\n"
        for n in 0..<300 { text += "\(n),\"\(cell)\"\n" }
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        var reader = try DelimitedReader(ByteInput(path: path))
        var count = 0
        while let row = try reader.next() {
            #expect(row.fields == [.raw("\(count)"), .raw(String(repeating: "é\"\n", count: 1000))])
            count += 1
        }
        #expect(count == 300)
        #expect(reader.consumed == text.utf8.count)
    }

    @Test func aFileThatIsNotThereSaysSo() {
        #expect(
            throws: InputError(
                source: "/no/such.csv", line: nil, message: "cannot be opened: No such file or directory",
                isMissing: true)
        ) {
            try ByteInput(path: "/no/such.csv")
        }
    }
}
