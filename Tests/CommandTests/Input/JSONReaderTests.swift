import MakoTestSupport
import Testing

@testable import MakoCommand

@Suite struct JSONReaderTests {
    private func read(_ text: String, _ layout: JSONReader.Layout = .array) throws -> (
        columns: [String], rows: [InputRow]
    ) {
        var reader = try JSONReader(ByteInput(text, name: "a.json"), layout: layout)
        var rows: [InputRow] = []
        while let row = try reader.next() { rows.append(row) }
        return (reader.columns, rows)
    }

    private func message(_ text: String, _ layout: JSONReader.Layout = .array) -> String {
        do {
            _ = try read(text, layout)
            return "no error"
        } catch { return "\(error)" }
    }

    @Test func anArrayOfObjects() throws {
        let (columns, rows) = try read(
            """
            [ {"name": "Ada", "age": 36},
              {"age": -1.5e3, "ok": true, "name": null},

              {}
            ]
            """)
        #expect(columns == ["name", "age", "ok"])
        #expect(rows.map(\.line) == [1, 2, 4])
        #expect(rows[0].fields == [.string("Ada"), .integer(36)])
        #expect(rows[1].fields == [.missing, .double(-1500), .bool(true)])
        #expect(rows[0][2] == .missing)
        #expect(rows[2].fields == [.missing, .missing, .missing])
    }

    @Test func anEmptyArrayAndASingleObject() throws {
        #expect(try read(" [ ] ").rows.isEmpty)
        #expect(try read("{\"a\": 1}").rows == [InputRow(line: 1, fields: [.integer(1)])])
    }

    @Test func oneObjectOnEachLine() throws {
        let (columns, rows) = try read("{\"a\": 1}\n\n  \r\n{\"b\": \"x\"}\r\n{\"a\": 2}", .lines)
        #expect(columns == ["a", "b"])
        #expect(rows.map(\.line) == [1, 4, 5])
        #expect(rows.map { $0[0] } == [.integer(1), .missing, .integer(2)])
    }

    @Test func nestedValuesStayText() throws {
        let (_, rows) = try read(#"[{"a": {"z": [1, 2.5, null, "q\""], "y": {}}, "b": []}]"#)
        #expect(rows[0].fields == [.json(#"{"z":[1,2.5,null,"q\""],"y":{}}"#), .json("[]")])
    }

    @Test func stringsWithEscapes() throws {
        let (_, rows) = try read(#"[{"a": "\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é"}]"#)
        #expect(rows[0].fields == [.string("\"\\/\u{8}\u{C}\n\r\té😀é")])
    }

    /// é as one scalar and as two.
    @Test func namesAreTheSameByTheirBytes() throws {
        let (columns, rows) = try read("[{\"\u{E9}\": 1, \"e\u{301}\": 2}]")
        #expect(columns.count == 2 && rows[0].fields == [.integer(1), .integer(2)])
    }

    @Test func numbersKeepTheirKind() throws {
        let (_, rows) = try read("[{\"a\": 9223372036854775807, \"b\": 18446744073709551615, \"c\": 1.0, \"d\": -0}]")
        #expect(rows[0].fields == [.integer(.max), .unsigned(.max), .double(1), .integer(0)])
    }

    @Test func numbersThatNoTypeRepresentsStayText() throws {
        let (_, rows) = try read(
            "[{\"a\": 1e400, \"b\": 18446744073709551616, \"c\": 0.12345678901234567890, \"d\": 1e-400}]")
        #expect(
            rows[0].fields == [
                .json("1e400"), .json("18446744073709551616"), .json("0.12345678901234567890"), .json("1e-400"),
            ])
        let nested = #"{"n":1.10,"big":12345678901234567890123,"z":[-0,1E5,0.12345678901234567890123,1e400]}"#
        #expect(try read("[{\"a\": \(nested)}]").rows[0].fields == [.json(nested)])
        #expect(try read("{\"a\": \(nested)}", .lines).rows[0].fields == [.json(nested)])
    }

    @Test func aRepeatedKeyIsRefused() throws {
        #expect(
            message("[{\"a\": 1},\n{\"a\": null, \"b\": 1, \"a\": 2}]")
                == "a.json, line 2: the object has the key \"a\" more than once")
        #expect(message("{\"a\": 1, \"a\": 1}", .lines).contains("line 1: the object has the key \"a\" more than once"))
    }

    @Test func everyFaultIsNamedWithItsLine() {
        #expect(message("[{\"a\": 1},\n{\"a\": }]") == "a.json, line 2: expected a value, found '}'")
        #expect(message("[{\"a\": 1}\n{\"a\": 2}]") == "a.json, line 2: expected ',' or ']' after an object, found '{'")
        #expect(message("[1]") == "a.json, line 1: each row must be an object {…}")
        #expect(message("[{\"a\": 01}]") == "a.json, line 1: '01' is not a number")
        #expect(message("[{\"a\": 1},]") == "a.json, line 1: expected a value, found ']'")
        #expect(message("[{\"a\" 1}]") == "a.json, line 1: expected ':' after the key \"a\", found '1'")
        #expect(message("[{\"a\": \"x\ny\"}]") == "a.json, line 1: a string is not closed on its line")
        #expect(message("[{\"a\": \"x") == "a.json, line 1: the input ends inside a string")
        #expect(message("[{\"a\": \"\\ud83d\"}]") == "a.json, line 1: half of a surrogate pair in a string")
        #expect(message("{\"a\": 1}\n{\"a\": 2}").contains("the format is jsonl"))
        #expect(
            message("{\"a\": 1}\n{\"a\": \n2}", .lines)
                == "a.json, line 2: expected a value, found the end of the input")
        #expect(message("{\"a\": 1}{\"a\": 2}", .lines) == "a.json, line 1: more than one value on the line")
        #expect(message("") == "a.json, line 1: is empty: an array of objects is needed")
    }

    @Test func deepNestingEndsInAnError() {
        let deep = "[{\"a\": " + String(repeating: "[", count: 100_000)
        #expect(message(deep) == "a.json, line 1: arrays and objects are nested more than 256 deep")
    }

    @Test func deepValuesAreReadOnASmallStack() async throws {
        let values = ["[", "{\"k\":"].map { open in
            let levels = 254
            let close = open == "[" ? "]" : "}"
            return String(repeating: open, count: levels) + "1" + String(repeating: close, count: levels)
        }
        let texts = try await onSmallStack {
            try values.map { value in
                var scanner = JSONScanner(ByteInput(value, name: "a.json"))
                return try scanner.value().text
            }
        }
        #expect(texts == values)
    }
}
