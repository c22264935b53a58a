import MakoRecords
import MakoStorage
import Testing

@testable import MakoPostgres

/// The type map, quoting, and the definitions of tables; needs no server.
@Suite struct PostgresTypeTests {
    private func text(_ type: ColumnType, _ value: Value, isKey: Bool = false) throws -> String? {
        try PostgresType(type, isKey: isKey).text(value)
    }

    @Test func valuesHaveTheTextOfTheirType() throws {
        #expect(try text(.bool, .bool(true)) == "t")
        #expect(try text(.integer, .integer(.min)) == "-9223372036854775808")
        #expect(try text(.unsigned, .unsigned(.max)) == "18446744073709551615")
        #expect(try text(.double, .double(-0.0)) == "-0.0")
        #expect(try text(.double, .double(.leastNonzeroMagnitude)) == "5e-324")
        #expect(try text(.double, .double(-.infinity)) == "-Infinity")
        #expect(try text(.double, .double(.nan)) == "NaN")
        #expect(try text(.blob, .blob([0, 171, 255])) == "\\x00abff")
        #expect(try text(.uuid, .uuid(0x0123_4567_89ab_cdef, 1)) == "0123456789abcdef0000000000000001")
        #expect(try text(.text, .null) == nil)
    }

    @Test func datesAreRoundedToMicroseconds() throws {
        #expect(try text(.date, .date(0)) == "2001-01-01 00:00:00+00")
        #expect(try text(.date, .date(1.2345678)) == "2001-01-01 00:00:01.234568+00")
        #expect(try text(.date, .date(59.9999999)) == "2001-01-01 00:01:00+00")
        #expect(try text(.date, .date(-0.25)) == "2000-12-31 23:59:59.750000+00")
        #expect(try text(.date, .date(-63_113_904_000)) == "0001-01-01 00:00:00+00")
        #expect(try text(.date, .date(-63_113_904_001)) == "0001-12-31 23:59:59+00 BC")
        #expect(try text(.date, .date(.infinity)) == "infinity")
        #expect(try text(.date, .date(0.1), isKey: true) == "0.1")
        for refused in [Double.nan, 1e13, 9.3e12, -2.2e11] {
            #expect(throws: PostgresType.Refusal.self, "\(refused)") { try text(.date, .date(refused)) }
        }
    }

    @Test func zeroCharactersAreRefusedWithTheirRow() throws {
        #expect(throws: PostgresType.Refusal.self) { try text(.text, .text("a\0")) }
        let tree = KeyTree.named([KeyTree.Entry(name: .text("\0"), tree: .key(.rowID(1)))])
        #expect(throws: PostgresType.Refusal.self) { try text(.keys, .blob(tree.encoded)) }
        let fixture = try MirrorFixture(MirrorFixture.keyed)
        try fixture.insert("K", [.text("it's"), .integer(2), .text("\0"), .null])
        let store = fixture.store
        #expect(
            throws: PostgresError.value(
                table: "K", column: "note", key: "('it''s', 2)",
                reason: "has the character U+0000, which PostgreSQL refuses")
        ) {
            try store.read { view in
                _ = try PostgresScript.write(try Catalogue.load(view: view).handles, in: view) { _ in true }
            }
        }
    }

    @Test func keysOfRowsAreJSON() throws {
        let tree = KeyTree.list([
            .key(.rowID(-7)), .key(.bytes([1, 255])), .foreign(table: 3, .rowID(9)),
            .named([.init(name: .text("a\"\\\n"), tree: .list([]))]),
        ])
        #expect(
            try text(.keys, .blob(tree.encoded))
                == #"[-7, "\\x01ff", {"table": 3, "key": 9}, [["a\"\\\u000a", []]]]"#)
    }

    @Test func namesAndLiteralsAreQuoted() {
        #expect(PostgresText.name("a\"b") == "\"a\"\"b\"")
        #expect(PostgresText.literal("it's\\") == "'it''s\\'")
        #expect(PostgresText.literal(nil) == "NULL")
        #expect(PostgresText.copyLine(["a\\b\tc\nd\re", nil, ""]) == "a\\\\b\\tc\\nd\\re\t\\N\t\n")
    }

    @Test func namesThatPostgreSQLWouldCutOrRefuseAreErrors() throws {
        func refusal(_ table: String, _ column: String) -> String? {
            do {
                _ = try PostgresTable(EntitySchema(name: table, columns: [ColumnSchema(column, .integer)]))
                return nil
            } catch { return "\(error)" }
        }
        #expect(refusal(String(repeating: "ä", count: 31), "n") == nil)
        #expect(refusal(String(repeating: "ä", count: 32), "n")?.contains("longer than 63 bytes") == true)
        #expect(refusal("T", "xmin")?.contains("system column") == true)
        #expect(refusal("T\0", "n")?.contains("U+0000") == true)
    }

    @Test func aDefinitionIsInTheOrderOfColumnNumbers() throws {
        let fixture = try MirrorFixture(MirrorFixture.keyed)
        try fixture.migrate(
            EntitySchema(
                name: "K",
                columns: [ColumnSchema("new", .double, default: .double(1))] + MirrorFixture.keyed.columns,
                key: MirrorFixture.keyed.key))
        let old = try PostgresTable(MirrorFixture(MirrorFixture.keyed).table("K").schema)
        let new = try PostgresTable(fixture.table("K").schema)
        #expect(new.definition(until: old.lastOrdinal) == old.definition())
        #expect(new.definition() != old.definition())
    }

    @Test func primaryKeysHaveNamesThatNoTableHas() throws {
        func keyName(_ table: String) throws -> String {
            try PostgresTable(EntitySchema(name: table, columns: [ColumnSchema("n", .integer)])).keyName
        }
        #expect(try keyName("K") == "mako_mirror_key_K")
        let long = String(repeating: "l", count: 62)
        let names = try [long + "a", long + "b"].map(keyName)
        #expect(Set(names).count == 2 && names.allSatisfy { $0.utf8.count <= 63 && $0.hasPrefix("mako_mirror_key_") })
        let fixture = try MirrorFixture(MirrorFixture.keyed)
        #expect(try !fixture.script().contains("_pkey"))
    }

    @Test func aScriptIsOneTransaction() throws {
        let fixture = try MirrorFixture(MirrorFixture.keyed)
        try fixture.insert("K", [.text("a"), .integer(1), .null, .date(0)])
        let commit = try fixture.store.read { $0.commitNumber }
        #expect(
            try fixture.script() == """
                -- Mako, commit \(commit): psql -v ON_ERROR_STOP=1 -f FILE
                BEGIN;
                SET LOCAL client_encoding = 'UTF8';

                CREATE TABLE "K" (
                    "code" text NOT NULL,
                    "n" bigint NOT NULL,
                    "note" text,
                    "at" timestamp with time zone,
                    CONSTRAINT "mako_mirror_key_K" PRIMARY KEY ("code", "n")
                );
                COPY "K" ("code", "n", "note", "at") FROM STDIN;
                a\t1\t\\N\t2001-01-01 00:00:00+00
                \\.

                COMMIT;

                """)
    }
}
