import MakoRecords
import Testing

@testable import MakoCommand

@Suite struct OutputTests {
    private let columns = ["name", "age"]
    private let rows: [[Value]] = [[.text("Ada"), .integer(36)], [.null, .double(1.5)], [.text("a,\"b\"\n"), .null]]

    private func print(_ format: RowFormat, columns: [String]? = nil, _ rows: [[Value]]? = nil, width: Int? = nil)
        -> String
    {
        var text = ""
        var printer = RowPrinter(columns: columns ?? self.columns, format: format, width: width) { text += $0 }
        for row in rows ?? self.rows { printer.row(row) }
        printer.finish()
        return text
    }

    @Test func aTable() {
        #expect(
            print(.table) == """
                 name    │ age
                ─────────┼──────
                 Ada     │   36
                 NULL    │  1.5
                 a,"b"\\n │ NULL

                """)
    }

    /// A list of JSON without its end is no JSON.
    @Test(arguments: [RowFormat.table, .line, .csv, .tsv, .json, .jsonl])
    func rowsBeforeAnErrorAreWrittenAsLines(_ format: RowFormat) {
        var text = ""
        var printer = RowPrinter(columns: columns, format: format) { text += $0 }
        for row in rows { printer.row(row) }
        #expect(text.isEmpty)
        printer.interrupt()
        let complete = print(format)
        #expect(text == (format == .json ? String(complete.dropLast(2)) : complete))
        #expect(text.hasSuffix("\n"))

        text = ""
        printer = RowPrinter(columns: columns, format: format) { text += $0 }
        printer.interrupt()
        #expect(text.isEmpty)
    }

    @Test func aTableIsFittedToTheTerminal() {
        let text = print(
            .table, columns: ["a", "b"], [[.text(String(repeating: "x", count: 50)), .integer(1)]], width: 20)
        #expect(text.split(separator: "\n").allSatisfy { DisplayText.width(String($0)) <= 20 })
        #expect(text.contains("…"))
    }

    @Test func numbersAreNeverCut() {
        let rows: [[Value]] = (0..<1005).map {
            [.integer($0), .text($0 < 1000 ? "x" : String(repeating: "y", count: 50))]
        }
        for width in [nil, 20] as [Int?] {
            let text = print(.table, columns: ["n", "t"], rows, width: width)
            #expect(text.contains("\n 1004 │ "), "\(width ?? 0)")
            #expect(text.contains("…") == (width != nil))
        }
        let wide = print(.table, columns: ["a", "b"], [[.integer(.max), .integer(.min)]], width: 20)
        #expect(wide.contains("9223372036854775807") && wide.contains("-9223372036854775808"))
    }

    @Test func aColumnWithoutANameIsShown() {
        let rows: [[Value]] = [[.text(""), .null]] + (0..<1001).map { [.text("text"), .integer($0)] }
        for width in [nil, 10] as [Int?] {
            #expect(print(.table, columns: ["", ""], rows, width: width).hasPrefix("  "))
        }
        #expect(DisplayText.cut("abc", to: 0) == "abc")
    }

    @Test func controlCharactersAreWrittenOut() {
        #expect(
            DisplayText.visible("a\u{1B}[2J\u{7}\u{9B}1m\r\n\tz\u{7F}\u{202E}")
                == "a\\x1b[2J\\x07\\x9b1m\\x0d\n\tz\\x7f\\u{202e}")
        #expect(DisplayText.visible("é 東京 👩‍🚀 ─") == "é 東京 👩‍🚀 ─")
    }

    @Test func wideCharactersTakeTwoPlaces() {
        #expect(
            print(.table, columns: ["a", "b"], [[.text("東京"), .text("x")], [.text("Rome"), .text("y")]]) == """
                 a    │ b
                ──────┼───
                 東京 │ x
                 Rome │ y

                """)
        #expect(DisplayText.width("e\u{301}") == 1)
        #expect(DisplayText.width("😀") == 2)
    }

    @Test func lines() {
        #expect(print(.line) == "name = Ada\n age = 36\n\nname = NULL\n age = 1.5\n\nname = a,\"b\"\\n\n age = NULL\n")
    }

    @Test func CSV() {
        #expect(print(.csv) == "name,age\nAda,36\n,1.5\n\"a,\"\"b\"\"\n\",\n")
        #expect(print(.csv, columns: ["a", "b"], [[.text(""), .null]]) == "a,b\n\"\",\n")
        // A combining mark does not hide a quote.
        #expect(print(.csv, columns: ["a"], [[.text("\"\u{301},")]]) == "a\n\"\"\"\u{301},\"\n")
        #expect(
            print(.csv, columns: ["a"], [[.double(3)], [.double(.nan)], [.double(-.infinity)]])
                == "a\n3.0\nNaN\n-Infinity\n")
    }

    @Test func TSV() {
        #expect(print(.tsv) == "name\tage\nAda\t36\n\\N\t1.5\na,\"b\"\\n\t\\N\n")
    }

    @Test func JSON() {
        #expect(
            print(.json)
                == "[\n  {\"name\": \"Ada\", \"age\": 36},\n  {\"name\": null, \"age\": 1.5},\n"
                + "  {\"name\": \"a,\\\"b\\\"\\n\", \"age\": null}\n]\n")
        #expect(print(.json, []) == "[]\n")
        #expect(print(.jsonl, [[.bool(true), .date(0)]]) == "{\"name\": true, \"age\": \"2001-01-01\"}\n")
    }

    @Test(arguments: [RowFormat.csv, .tsv, .json, .jsonl])
    func whatIsWrittenReadsBack(_ format: RowFormat) throws {
        let values: [[Value]] = [
            [.text("plain"), .integer(.min), .double(0.1), .bool(true), .date(12.5)],
            [.text(" tab\t,quote\"back\\slash\r\n é "), .integer(.max), .double(-1e300), .bool(false), .date(-1)],
            [.text(""), .null, .null, .null, .null],
        ]
        let types: [ColumnType] = [.text, .integer, .double, .bool, .date]
        let text = print(format, columns: ["a", "b", "c", "d", "e"], values)
        let input = try #require(InputFormat(rawValue: format.rawValue))
        var reader = try input.reader(ByteInput(text))
        var back: [[Value]] = []
        while let row = try reader.next() {
            back.append(
                types.indices.map { FieldConversion.value(row[$0], as: types[$0]) ?? .text("does not convert") })
        }
        #expect(back == values)
    }

    @Test func numbersForPeople() {
        #expect(DisplayText.grouped(1_234_567) == "1,234,567")
        #expect(DisplayText.grouped(-12) == "-12")
        #expect(DisplayText.bytes(999) == "999 bytes")
        #expect(DisplayText.bytes(1_500_000) == "1.5 MB")
        #expect(DisplayText.duration(.microseconds(820)) == "820 µs")
        #expect(DisplayText.duration(.milliseconds(4200)) == "4.2 s")
    }

    /// Ten times a second on a terminal, once a second with the option, else never.
    @Test func progressIsDrawnOnATerminalOnly() {
        for (isTerminal, isForced, early, later) in [
            (true, false, 99, 100), (false, true, 999, 1000), (false, false, 5000, 9000),
        ] {
            nonisolated(unsafe) var text = ""
            nonisolated(unsafe) var now = ContinuousClock.now
            let start = now
            var progress = ProgressReporter(
                "work", total: 10, isForced: isForced, isTerminal: isTerminal, now: { now }, output: { text += $0 })
            now = start + .milliseconds(early)
            progress.update(5, note: "x")
            #expect(text == "")
            now = start + .milliseconds(later)
            progress.update(5, note: "x")
            let isDrawn = isTerminal || isForced
            #expect(text.contains("work 50%, x") == isDrawn && text.hasPrefix("\r") == isTerminal)
            #expect(text.hasSuffix("\n") == (isForced && !isTerminal))
            progress.finish()
        }
    }
}
