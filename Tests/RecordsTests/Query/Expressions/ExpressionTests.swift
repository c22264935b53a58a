import MakoStorage
import Testing

@testable import MakoRecords

/// The values of expressions and conditions, with columns and with constants in the same places. Where SQLite has the
/// same expression, its value is the same.
@Suite struct ExpressionTests {
    /// One row with a value of each type, and one NULL of each kind.
    private static let row: [(name: String, type: ColumnType, value: Value)] = [
        ("i", .integer, .integer(7)), ("u", .unsigned, .unsigned(.max)), ("d", .double, .double(2.5)),
        ("t", .text, .text(" Ada ")), ("word", .text, .text("Löwe_1")), ("low", .text, .text("lö%")),
        ("stars", .text, .text("L*[0-3]")), ("mark", .text, .text("!")), ("day", .text, .text("2001-01-02")),
        ("b", .bool, .bool(true)), ("no", .bool, .bool(false)), ("at", .date, .date(86_400)),
        ("bl", .blob, .blob([1, 2, 3])),
        ("uu", .uuid, .uuid(1, 2)), ("n", .integer, .null), ("m", .double, .null), ("nt", .text, .null),
        ("nat", .date, .null), ("nb", .bool, .null),
    ]

    private static func fixture() throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(name: "V", columns: row.map { ColumnSchema($0.name, $0.type, isOptional: true) }))
        try fixture.insert("V", row.map(\.value))
        return fixture
    }

    private static let constants = Dictionary(uniqueKeysWithValues: row.map { ($0.name, $0.value) })

    /// `$i` becomes a column in the first form, a parameter in the second.
    private func forms(_ text: String) -> [String] {
        [text.replacing("$", with: ""), text.replacing("$", with: ":")]
    }

    @Test(arguments: [
        ("$i / 2", Value.integer(3)), ("$i / 0", .null), ("$i % 4", .integer(3)), ("$i % 0", .null),
        ("$i - 10", .integer(-3)), ("$i * $i", .integer(49)),
        ("$d / 2", .double(1.25)), ("$d / 0", .null), ("$d % 2", .double(0.5)), ("$d % 0", .null),
        ("$d * 2", .double(5)), ("$d - 1", .double(1.5)),
        ("$d + $i", .double(9.5)), ("$u + 1", .double(0x1p64)), ("$u - 1", .unsigned(.max - 1)),
        ("$u * $u", .double(0x1p128)), ("$u + $d", .double(0x1p64)), ("-$i", .integer(-7)), ("-$d", .double(-2.5)),
        ("-$u", .double(-0x1p64)), ("-$n", .null),
        ("$n + 1", .null), ("1.5 * $m", .null), ("$n + NULL", .null), ("-NULL", .null),
        ("nullif(NULL, $i) + NULL", .null), ("coalesce(nullif(NULL, $i), NULL)", .null),
    ])
    func arithmetic(text: String, value: Value) throws { try expect(text, value) }

    @Test(arguments: [
        ("$at + 60", Value.date(86_460)), ("60 + $at", .date(86_460)), ("$at - 60.5", .date(86_339.5)),
        ("$at - $at", .double(0)), ("$at - date('2001-01-01')", .double(86_400)), ("$at + $n", .null),
        ("$m + $at", .null), ("$nat + 1", .null), ("($at + 60) - $at", .double(60)), ("date($day)", .date(86_400)),
        ("date($at)", .date(86_400)), ("date($day) + 1", .date(86_401)), ("date($nt)", .null),
        ("strftime('%Y-%m-%d %H:%M:%S', $at + 3723)", .text("2001-01-02 01:02:03")),
        ("strftime('%%%j', $at)", .text("%002")),
        ("strftime('%w %s', $at)", .text("2 978393600")), ("strftime('%f', $at + 59.9996)", .text("59.999")),
        ("strftime('%f', $at + 0.123)", .text("00.123")), ("strftime('%Y', $nat)", .null),
        ("strftime($nt, $at)", .null),
        ("strftime('%d', $at + 1e300)", .null), ("strftime('%Y', date('1969-12-31 23:59:59') - 0.5)", .text("1969")),
        ("strftime('%w', date('1969-12-28'))", .text("0")),
    ])
    func dates(text: String, value: Value) throws { try expect(text, value) }

    @Test(arguments: [
        ("$t || '!'", Value.text(" Ada !")), ("$t || $nt", .null), ("$nt || 'x'", .null), ("length($t)", .integer(5)),
        ("length($word)", .integer(6)), ("length($bl)", .integer(3)), ("lower($t)", .text(" ada ")),
        ("upper($word)", .text("LÖWE_1")), ("trim($t)", .text("Ada")), ("trim($nt)", .null),
        ("substr($t, 2)", .text("Ada ")), ("substr($word, 2, 2)", .text("öw")), ("substr($t, -3, 2)", .text("da")),
        ("substr($t, 1, -1)", .text("")), ("substr($t, $n)", .null),
        ("substr($t, 2, $n)", .null), ("substr($t, 9)", .text("")), ("length(substr($t, 2) || 'x')", .integer(5)),
        ("length($t) + 1", .integer(6)), ("ltrim($t)", .text("Ada ")), ("rtrim($t)", .text(" Ada")),
        ("ltrim($nt)", .null), ("instr($t, 'da')", .integer(3)), ("instr($word, 'w')", .integer(3)),
        ("instr($word, 'W')", .integer(0)), ("instr($word, '')", .integer(1)), ("instr('', $word)", .integer(0)),
        ("instr('aab', 'ab')", .integer(2)), ("instr($word, $nt)", .null),
        ("replace($word, 'w', 'vv')", .text("Lövve_1")), ("replace('aXbX', 'X', '')", .text("ab")),
        ("replace('aaa', 'aa', 'b')", .text("ba")), ("replace($t, '', 'x')", .text(" Ada ")),
        ("replace($t, 'z', 'x')", .text(" Ada ")), ("replace($t, $nt, 'x')", .null), ("replace($t, 'A', $nt)", .null),
    ])
    func texts(text: String, value: Value) throws { try expect(text, value) }

    @Test(arguments: [
        ("abs($i - 10)", Value.integer(3)), ("abs(-$d)", .double(2.5)), ("abs($u)", .unsigned(.max)),
        ("abs($n)", .null), ("round($d)", .double(3)), ("round(-$d)", .double(-3)), ("round($d / 2, 1)", .double(1.3)),
        ("round($i)", .double(7)), ("round($d, $n)", .null), ("round(1e300 * $d, 15)", .double(2.5e300)),
        ("coalesce($n, $i)", .integer(7)), ("ifnull($n, 3)", .integer(3)), ("coalesce($n, $m)", .null),
        ("coalesce($n, $d, 1)", .double(2.5)), ("coalesce($n, $d) + 1", .double(3.5)), ("nullif($i, 7)", .null),
        ("nullif($i, 8)", .integer(7)), ("nullif($d, 2.5)", .null), ("nullif($t, 'x') || 'y'", .text(" Ada y")),
        ("nullif($i, 8) * 2", .integer(14)), ("abs($i) + round($d)", .double(10)), ("$b", .bool(true)),
        ("$bl", .blob([1, 2, 3])), ("$uu", .uuid(1, 2)), ("$u", .unsigned(.max)), ("$nb", .null),
    ])
    func functionsAndPlainValues(text: String, value: Value) throws { try expect(text, value) }

    @Test(arguments: [
        ("CASE WHEN $i = 7 THEN $t ELSE $word END", Value.text(" Ada ")), ("CASE WHEN $n = 7 THEN 1 END", .null),
        ("CASE WHEN NOT $n = 7 THEN 1 ELSE 2 END", .integer(2)),
        ("CASE $i WHEN 6 THEN 'a' WHEN 7 THEN 'b' END", .text("b")),
        ("CASE $i WHEN 7.0 THEN $d ELSE $i END", .double(2.5)), ("CASE $d WHEN 7 THEN $d ELSE $i END", .integer(7)),
        ("CASE $n WHEN NULL THEN 1 ELSE 2 END", .integer(2)), ("CASE $n WHEN $n THEN 1 ELSE 2 END", .integer(2)),
        ("CASE $u WHEN $u THEN $bl END", .blob([1, 2, 3])), ("CASE $at WHEN '2001-01-02' THEN $uu END", .uuid(1, 2)),
        ("CASE $b WHEN 1 THEN $at ELSE $nat END", .date(86_400)), ("CASE $no WHEN $b THEN $b ELSE $nb END", .null),
        ("CASE $word COLLATE NOCASE WHEN 'LÖWE_1' THEN 1 END", .integer(1)),
        ("CASE $word WHEN 'LÖWE_1' COLLATE NOCASE THEN 1 END", .integer(1)),
        ("CASE $word WHEN 'LÖWE_1' THEN 1 END", .null),
        ("CASE WHEN $b THEN NULL ELSE $i END", .null), ("CASE WHEN $no THEN NULL ELSE $i END + 1", .integer(8)),
        ("CASE WHEN $b THEN CASE $i WHEN 7 THEN 'in' END ELSE 'out' END", .text("in")),
        ("CASE WHEN FALSE THEN $i END", .null), ("CASE WHEN TRUE THEN $i ELSE $d END", .integer(7)),
    ])
    func choices(text: String, value: Value) throws { try expect(text, value) }

    /// A constant that is no date is a mistake (`BinderTests`); of a row's text it is known too late.
    @Test func aTextThatIsNoDateGivesNone() throws {
        try expectTruth(["date(word) IS NULL", "date(t || day) IS NULL", "date(nt) IS NULL"], true)
        try expectTruth(["date(day) IS NULL"], false)
    }

    private func expect(_ text: String, _ value: Value) throws {
        let fixture = try Self.fixture()
        for form in forms(text) {
            let plan = try Selection(table: "V", namedParameters: Self.constants).plan(fixture.catalogue)
            #expect(try plan.rows([.parse(form)], in: fixture.store.snapshot()) == [[value]], "\(form)")
        }
    }

    /// True, false, or nil for unknown, which neither the condition nor its opposite finds.
    @Test(arguments: [
        ("$b", Optional(true)), ("$no", false), ("$i", true), ("$i - 7", false), ("$u", true), ("$nb", nil),
        ("$n", nil), ("$b = TRUE", true), ("$no < $b", true), ("$b <= $no", false), ("$b = 1", true),
        ("$uu = '00000000-0000-0001-0000-000000000002'", true),
        ("$uu < '00000000-0000-0002-0000-000000000000'", true),
        ("$bl < x'02'", true), ("$bl = x'010203'", true), ("$u > $d", true), ("$d >= $u", false), ("$i < $u", true),
        ("$u > $i", true), ("$u = $u", true), ("$i > $d", true), ("$d < $i", true), ("$i = 7.0", true),
        ("$i < 7.5", true), ("$i >= 6.5", true), ("$i > 6.5", true), ("$i <= 6.5", false), ("$i != 7.5", true),
        ("$i < 1e30", true), ("$i > 1e30", false), ("$i = $n", nil), ("$at = :day", true),
        ("$at < '2001-01-03'", true), ("$d = 2.5", true), ("$d != $d", false), ("$n IS NULL", true),
        ("$i IS NOT NULL", true), ("$i - 6 = TRUE", true), ("$i = TRUE", false), ("$d > FALSE", true),
        ("$u > 1.8e19", true), ("9223372036854775809 < 1.8e19", true),
    ])
    func comparisons(text: String, truth: Bool?) throws {
        try expectTruth(forms(text), truth)
    }

    @Test(arguments: [
        ("$i IN (1, 7)", Optional(true)), ("$i IN (1, $n)", nil), ("$i IN (7, NULL)", true), ("$n IN (1, 2)", nil),
        ("$n IN ()", false), ("$i IN (NULL)", nil), ("$i IN (1, 2, 3, 4, 5, 6, 8, 9, 10, 11)", false),
        ("$i IN (1, 2, 3, 4, 5, 6, 8, 9, 10, NULL)", nil), ("$i IN (1, 2, 3, 4, 5, 6, 7, 8, 9, NULL)", true),
        ("$n IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", nil),
        ("$t COLLATE NOCASE IN ('x', ' ADA ')", true), ("$i BETWEEN 7 AND 7", true),
        ("$i NOT BETWEEN 8 AND 9", true), ("$n BETWEEN 1 AND 2", nil), ("$t = ' ADA ' COLLATE NOCASE", true),
        ("' ADA ' COLLATE NOCASE = $t", true), ("$t COLLATE NOCASE = NULL", nil), ("NOT ($n = 1)", nil),
        ("$n = 1 OR $i = 7", true), ("$n = 1 OR $i = 8", nil), ("$n = 1 AND $i = 8", false),
        ("$n = 1 AND $i = 7", nil), ("NOT TRUE OR $i = 8", false), ("2", true), ("0", false), ("NULL", nil),
        ("9223372036854775808", true), ("$t COLLATE NOCASE = ' ADA ' COLLATE NOCASE", true),
        ("$t COLLATE NOCASE IN ('x' COLLATE NOCASE, ' ADA ' COLLATE NOCASE)", true),
        ("$i IN (1, 2, 3, 4, 5, 6, 8, 9, 10, $d + 4.5)", true), ("$i IN (1, 2, 3, 4, 5, 6, 8, 9, 10, $d)", false),
    ])
    func listsAndLogic(text: String, truth: Bool?) throws { try expectTruth(forms(text), truth) }

    @Test(arguments: [
        ("$word LIKE 'lö%'", Optional(true)), ("$word LIKE $low", true), ("$low LIKE $word", false),
        ("$word LIKE 'LöWE!_1' ESCAPE '!'", true), ("$word LIKE 'LöWE!_2' ESCAPE $mark", false),
        ("$t LIKE ' ada_' ESCAPE $mark", true), ("$word LIKE $low ESCAPE $mark", true),
        ("$word LIKE $low ESCAPE $nt", nil), ("$word LIKE $nt", nil), ("$nt LIKE '%'", nil), ("$nt LIKE $low", nil),
        ("$word GLOB $stars", true), ("$word GLOB 'L*[0-3]'", true), ("$word GLOB 'l*'", false),
        ("$word GLOB $nt", nil), ("$nt GLOB $stars", nil), ("$word NOT LIKE 'x%'", true),
        ("('L' || substr($word, 2)) LIKE 'löwe%'", true), ("$word COLLATE NOCASE LIKE 'LÖWE%'", false),
    ])
    func patterns(text: String, truth: Bool?) throws {
        try expectTruth(forms(text), truth)
    }

    private func expectTruth(_ forms: [String], _ truth: Bool?) throws {
        let fixture = try Self.fixture()
        for form in forms {
            for (condition, wanted) in [(form, true), ("NOT (\(form))", false)] {
                let count = try Selection(
                    table: "V", condition: .parse(condition), namedParameters: Self.constants
                ).plan(fixture.catalogue).count(in: fixture.store.snapshot())
                #expect(count == (truth == wanted ? 1 : 0), "\(condition)")
            }
        }
    }

    @Test(arguments: [
        ("*a*", "bab", true), ("[abc]", "b", true), ("[abc]", "d", false), ("[a-c]x", "bx", true),
        ("[^a-c]", "b", false), ("[!a-c]", "d", true), ("[]]", "]", true), ("[^]]", "]", false), ("[a-]", "-", true),
        ("[c-a]", "b", false), ("[a", "[a", true), ("x[", "x[", true), ("[", "[", true),
        ("?", "日", true), ("[あ-日]", "日", true), ("*日?", "x日本", true), ("*b?d", "abcabed", true),
        ("a*b*c", "aXXbXXbXXc", true), ("a*b*c", "aXXbXXb", false), ("\u{1F600}?", "\u{1F600}\u{1F601}", true),
        ("", "", true), ("*", "", true), ("?", "", false),
    ])
    func globMatches(pattern: String, text: String, isMatch: Bool) {
        let matches = Array(text.utf8).withUnsafeBytes { TextPattern(glob: pattern).matches($0) }
        #expect(matches == isMatch)
    }

    @Test(arguments: [
        ("a%", "ABC", true), ("50!%", "50%", true), ("50!%", "50x", false), ("50!", "50!", true), ("_é", "xé", true),
        ("É", "é", false), ("%%a", "banana", true), ("%an%an%", "banana", true), ("b_n%", "banana", true),
        ("_", "", false),
    ])
    func likeMatches(pattern: String, text: String, isMatch: Bool) {
        let matches = Array(text.utf8).withUnsafeBytes { TextPattern(like: pattern, escape: "!").matches($0) }
        #expect(matches == isMatch)
    }

    /// A search finds a run of letters at each position of a text, at any length of both.
    @Test func runsAreFoundAnywhere() {
        var random = Seeded(5)
        let letters = Array("aAbB[{`@zZ1Ää\u{1}")
        for _ in 0..<20_000 {
            let text = String((0..<Int.random(in: 0..<40, using: &random)).map { _ in random.pick(letters) })
            let run = String((0..<Int.random(in: 1..<5, using: &random)).map { _ in random.pick(letters) })
            let (foldedText, foldedRun) = (Self.lowercased(text), Self.lowercased(run))
            let bytes = Array(text.utf8)
            bytes.withUnsafeBytes { bytes in
                #expect(
                    TextPattern(like: "%\(run)%", escape: nil).matches(bytes) == Self.has(foldedRun, in: foldedText),
                    "\(text) LIKE \(run)")
                #expect(
                    TextPattern(glob: "*\(run.map { $0 == "[" ? "[[]" : String($0) }.joined())*").matches(bytes)
                        == Self.has(Array(run.utf8), in: Array(text.utf8)), "\(text) GLOB \(run)")
            }
        }
    }

    /// The letters of ASCII in one case.
    private static func lowercased(_ text: String) -> [UInt8] {
        text.utf8.map { $0 >= 65 && $0 <= 90 ? $0 + 32 : $0 }
    }

    private static func has(_ run: [UInt8], in text: [UInt8]) -> Bool {
        text.indices.contains { text[$0...].starts(with: run) }
    }

    @Test func patternsStepOverBytesThatAreNoText() {
        for bytes in [[0xFF, 0x61], [0xE2, 0x82], [0xC3, 0x28], [0x80, 0x80], [0xF0, 0x9F]] as [[UInt8]] {
            let (two, one) = bytes.withUnsafeBytes {
                (TextPattern(glob: "??").matches($0), TextPattern(glob: "?").matches($0))
            }
            #expect(two && !one, "\(bytes)")
        }
    }
}
