import MakoStorage
import Testing

@testable import MakoRecords

/// Stored forms of values: references to any table, decimals, date patterns, encrypted values, rows of many columns.
@Suite struct ValueFormTests {
    @Test(arguments: ["T", "T:", "T:five", "T:x1", "T:xzz", "T:x0z", "T:99999999999999999999"])
    func textsThatAreNoReferences(text: String) {
        #expect(AnyReference(.text(text)) == nil)
    }

    @Test func referencesWithKeysOfBytes() {
        let reference = AnyReference(table: "A:%B", key: .bytes([0, 0xAB, 255]))
        #expect(reference.stored == .text("A%3A%25B:x00abff"))
        #expect(AnyReference(reference.stored) == reference)
        #expect(AnyReference(.text("T:x")) == AnyReference(table: "T", key: .bytes([])))
        #expect(AnyReference(.integer(1)) == nil)
    }

    @Test(
        arguments: [
            ("1e5", "100000"), ("-1.50E-1", "-0.15"), ("+12.e1", "120"), (".5", "0.5"), ("000", "0"), ("-0.0", "0"),
            ("1e", nil), ("1x", nil), ("1e10001", nil), ("1e-10001", nil), ("1e+-1", nil), ("", nil), (".", nil),
        ] as [(String, String?)])
    func decimalsAreReadOrNot(text: String, plain: String?) {
        #expect(DecimalText(text.utf8)?.plain == plain)
    }

    /// Digits are as many as a text may have; how far they are from the point has an end.
    @Test func decimalsEndFarFromThePoint() {
        #expect(DecimalText((String(repeating: "1", count: 15_000) + "e9999").utf8) == nil)
        #expect(DecimalText((String(repeating: "1", count: 9_000) + "e9999").utf8) != nil)
        #expect(DecimalText(Value.unsigned(.max))?.plain == "18446744073709551615")
        #expect(DecimalText(Value.double(2.5))?.plain == "2.5")
        #expect(DecimalText(Value.bool(true)) == nil)
    }

    @Test func patternsThatNoDateFits() {
        #expect(DateText.format(0, "%Y%%") == "2001%")
        for pattern in ["%Q", "%", "%Y-%"] {
            #expect(DateText.format(0, pattern) == nil)
            #expect(DateText.unknownMark(pattern) != nil)
        }
        #expect(DateText.format(.infinity, "%Y") == nil)
    }

    /// A pattern that comes with each row is looked at then.
    @Test func patternsOfRowsMayBeWrong() throws {
        let session = try StatementSession(
            "CREATE TABLE T (day DATE, form TEXT)",
            "INSERT INTO T (day, form) VALUES (date('2026-01-31'), '%Y'), (date('2026-01-31'), '%Q'), (NULL, '%Y'), (date('2026-01-31'), '%')"
        )
        #expect(
            try session.rows("SELECT strftime(form, day) FROM T ORDER BY id") == [
                [.text("2026")], [.null], [.null], [.null],
            ])
    }

    @Test func keysOfOtherTablesAreTakenOutOfLists() {
        let tree = KeyTree.list([
            .key(.rowID(1)), .foreign(table: 7, .rowID(1)), .foreign(table: 8, .rowID(1)),
            .named([.init(name: .text("n"), tree: .foreign(table: 7, .rowID(1)))]),
        ])
        let left = tree.removing { table, key in table == 7 && key == .rowID(1) }
        #expect(left == .list([.key(.rowID(1)), .foreign(table: 8, .rowID(1)), .named([])]))
        #expect(KeyTree.foreign(table: 7, .rowID(1)).removing { table, _ in table == 7 } == nil)
    }

    // MARK: Encrypted values

    private static let sealed = EntitySchema(
        name: "T",
        columns: [ColumnSchema("name", .text), ColumnSchema("secret", .blob, isOptional: true, sealing: .text)])

    @Test func onlyValuesOfTheTypeAreSealed() throws {
        let fixture = try Fixture(Self.sealed)
        var row = RowWriter()
        row.begin(try fixture.table("T").layout)
        let error = Fixture.error { try row.set(1, .bool(true), sealing: .none) }
        #expect(error == .typeMismatch(table: "T", column: "secret", expected: .text, found: "bool"))
    }

    /// Bytes that the right key decrypts to something that is not a value.
    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) func whatWasSealedMustBeAValue() throws {
        let fixture = try Fixture(Self.sealed)
        let table = try fixture.table("T")
        let key = PropertyKey.key([UInt8](repeating: 7, count: 32))
        let cipher = try ValueCipher.make(for: key, entropy: SystemEntropy()).cipher
        // The numbers of table and column.
        let context: [UInt8] = [1, 0, 0, 0, 1, 0, 0, 0]
        var good = ByteSink()
        good.value(.text("word"))
        for (plain, value) in [(good.bytes, Value.text("word")), ([99], nil), ([], nil), (good.bytes + [0], nil)]
            as [([UInt8], Value?)]
        {
            var row = RowWriter()
            row.begin(table.layout)
            row.set(0, "a")
            row.set(1, cipher.seal(plain, context: context))
            let reader = try RowReader(row.finish(), table.layout)
            if let value {
                #expect(try reader.value(1, opening: { () throws(PropertyKeyProblem) in cipher }) == value)
            } else {
                let error = Fixture.error {
                    _ = try reader.value(1, opening: { () throws(PropertyKeyProblem) in cipher })
                }
                #expect(error == .valueSealed(table: "T", column: "secret", .damaged))
            }
        }
    }

    // MARK: Rows

    @Test func aWriterThatWasNotBegunKnowsNoColumns() throws {
        var writer = RowWriter()
        #expect(writer.position(ofPart: 0, at: 0) == -1)
        writer.setNullParts(0)
        writer.unsetNulls(1)
        writer.set(0, "text")
        writer.set(0, Int64(1))
        #expect(throws: RecordError.self) { _ = try writer.finish() }
    }

    /// A column far behind the first 64 whose position is one of the first.
    @Test func nullsOfManyColumnsAreUnsetAgain() throws {
        let fixture = try Fixture(
            EntitySchema(name: "W", columns: (0..<80).map { ColumnSchema("c\($0)", .integer, isOptional: true) }))
        let table = try fixture.table("W")
        let key = try fixture.insert("W", (0..<80).map { .integer(Int64($0)) })
        let layout = try table.layout(for: ["c70", "c3", "c75"], further: [["c71"], [], []])
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            row.begin(layout)
            row.setNullParts(0)
            row.setNullParts(1)
            row.setNullParts(2)
            row.unsetNulls(0b011)
            _ = try table.update(&row, key: key, in: tx, changes: &changes)
        }
        let values = try #require(try fixture.values("W", key))
        #expect([70, 71, 3].map { values[$0] } == [.integer(70), .integer(71), .integer(3)])
        #expect(values[75] == .null && values[76] == .integer(76))
    }

    /// Values that were put off and never made do not become a row.
    @Test func valuesPutOffMustBeMade() throws {
        let fixture = try Fixture(Self.sealed)
        let table = try fixture.table("T")
        var row = RowWriter()
        row.begin(table.layout)
        row.writeLater { $0.set(0, "later") }
        #expect(throws: RecordError.invalidKey(table: "T", reason: "values of the row were put off and not written")) {
            _ = try row.finish()
        }
        try row.writeRest()
        #expect(try RowReader(row.finish(), table.layout).value(0) == .text("later"))
        row.begin(table.layout)
        row.writeLater { $0.set(0, "later") }
        row.set(0, Int64(3))
        #expect(throws: RecordError.typeMismatch(table: "T", column: "name", expected: .text, found: "integer 3")) {
            _ = try row.finish()
        }
    }

    @Test func whatIsCancelledSaysSo() { #expect("\(RecordError.cancelled)" == "the query was cancelled") }
}
