import MakoRecords
import MakoStorage
import Testing

/// The elements of list columns, as conditions see them.
@Suite struct ListValueTests {
    private func matches(_ list: String, _ condition: String) throws -> Bool {
        let fixture = try Fixture(EntitySchema(name: "T", columns: [ColumnSchema("list", .text)]))
        try fixture.insert("T", [.text(list)])
        let catalogue = fixture.catalogue.describing(["T": TableRelations(lists: ["list"])])
        return try Selection(table: "T", condition: .parse(condition)).plan(catalogue)
            .count(in: fixture.store.snapshot()) == 1
    }

    @Test(arguments: [
        // Whole numbers are exact, however long they are.
        ("[1234567890123456789]", "ANY list = 1234567890123456789", true),
        ("[1234567890123456789]", "ANY list = 1234567890123456788", false),
        ("[1234567890123456789]", "list.@max = 1234567890123456789", true),
        ("[-9223372036854775807]", "ANY list = -9223372036854775807", true),
        ("[-9223372036854775807]", "ANY list < -9223372036854775807", false),
        (
            "[-9223372036854775808, 9223372036854775807]", "ALL list IN (-9223372036854775808, 9223372036854775807)",
            true
        ),
        ("[18446744073709551615]", "ANY list = 18446744073709551615", true),
        ("[18446744073709551615]", "ANY list > 9223372036854775807", true),
        ("[1.5, -2]", "list.@sum = -0.5", true), ("[1e2]", "ANY list = 100", true),
        // Values of other kinds.
        ("[true]", "ANY list = TRUE", true), ("[false]", "ANY list = FALSE", true),
        ("[true]", "ANY list = FALSE", false), ("[null, 1]", "ANY list IS NULL", true),
        // Texts.
        (#"["a\tb"]"#, "ANY list = 'a\tb'", true), (#"["a\rb"]"#, "ANY list = 'a\rb'", true),
        (#"["a\bb"]"#, "ANY list = 'a\u{8}b'", true), (#"["a\fb"]"#, "ANY list = 'a\u{C}b'", true),
        (#"["\u0041\/"]"#, "ANY list = 'A/'", true), (#"["\ud83d\ude00!"]"#, "ANY list = '😀!'", true),
        // An unpaired surrogate is read as U+FFFD.
        (#"["\ud83d"]"#, "ANY list = '\u{FFFD}'", true), (#"["\ud83dx"]"#, "ANY list = '\u{FFFD}x'", true),
        // Elements of a nested list are not elements of the list.
        (#"[["]", 3], 5]"#, "ANY list = 5", true), (#"[["]", 3], 5]"#, "ANY list = 3", false),
        (#"[["a\"]", 3], {"b": "}"}, 5]"#, "list.@count = 3", true), (#"[[1], 2]"#, "ANY list IS NULL", true),
        (#"{"a": "x", "b": 2}"#, "ANY list = 2", true), (#"{"a": "x", "b": 2}"#, "ANY list = 'a'", false),
        ("[ ]", "list.@count = 0", true), ("{ }", "ANY list IS NULL", false),
    ])
    func valuesAreWhatTheListSays(list: String, condition: String, isFound: Bool) throws {
        #expect(try matches(list, condition) == isFound)
    }

    /// A text that is no list, or ends in the middle of one, has the values before that place.
    @Test(arguments: [
        ("", 0), ("x", 0), ("[", 0), ("{", 0), ("[,1]", 0), ("[-]", 0), ("[nothing]", 0), ("{1: 2}", 0),
        (#"{"a" 2}"#, 0), ("[1", 1), ("[1 2]", 1), ("[1, 2", 2), (#"["a"#, 0), (#"["a\"#, 0), ("[1, [2", 2),
        (#"[1, ["a"#, 2), (#"[1, ["a\"#, 2), (#"["\u12"]"#, 1), (#"["\uzzzz"]"#, 1), (#"{"a": 1, "b"#, 1),
    ])
    func whatIsNoListHasNoMoreValues(list: String, count: Int) throws {
        #expect(try matches(list, "list.@count = \(count)"))
    }
}
