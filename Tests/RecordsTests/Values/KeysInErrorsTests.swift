import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// Errors and findings show the keys of rows as values, never as the bytes that are stored.
@Suite struct KeysInErrorsTests {
    private static let people = EntitySchema(
        name: "Person",
        columns: [
            ColumnSchema("name", .text), ColumnSchema("age", .integer), ColumnSchema("note", .text, isOptional: true),
        ], key: .columns(["name", "age"]), indexes: [IndexSchema("note", [IndexColumn("note")])])

    private func people() throws -> Fixture {
        let fixture = try Fixture(Self.people)
        try fixture.insertAll(
            "Person", [[.text("Ada"), .integer(36), .text("x")], [.text("Bob"), .integer(-4), .null]])
        return fixture
    }

    /// The message of the error that a migration ends with.
    private func failure(_ fixture: Fixture, _ schema: EntitySchema, _ steps: TableStep...) -> String {
        let error = Fixture.error {
            try fixture.store.write { tx in
                _ = try Catalogue.migrate([TableMigration(schema) { _ in (steps, steps.isEmpty ? 0 : 1) }], in: tx)
            }
        }
        return error.map { "\($0)" } ?? ""
    }

    @Test func aKeyIsShownByItsColumns() {
        let key = RowKey(values: [.text("Ada"), .integer(36)])
        #expect("\(NamedKey(key, in: Self.people))" == "('Ada', 36)")
        #expect("\(NamedKey(.rowID(7), in: Self.people))" == "7")
        let cities = EntitySchema(name: "City", columns: [ColumnSchema("name", .text)], key: .columns(["name"]))
        #expect("\(NamedKey(RowKey(values: [.text("a\u{0}'b")]), in: cities))" == "'a\u{0}''b'")
        // Bytes that are no such key, and a table that nothing is known of.
        #expect("\(NamedKey(.bytes([9, 9]), in: cities))" == "x'0909'")
        #expect("\(NamedKey(.bytes([2, 0x41, 0]), in: nil))" == "x'024100'")
        #expect(NamedKey(key, in: Self.people) == NamedKey(key, in: nil))
    }

    @Test func errorsOfMigrationsShowKeys() throws {
        let fixture = try people()
        var numbers = Self.people
        numbers.columns[2] = ColumnSchema("note", .integer, isOptional: true)
        numbers.indexes = []
        #expect(failure(fixture, numbers).contains(" ('Ada', 36))"))
        let wrong = failure(fixture, Self.people, .transform("note", nil) { _ in .blob([255]) })
        #expect(wrong.contains("fails at row ('Ada', 36)"), "\(wrong)")
        struct Refused: Error {}
        let thrown = failure(fixture, Self.people, .transform("note", nil) { _ in throw Refused() })
        #expect(thrown.contains("fails at row ('Ada', 36)"), "\(thrown)")
        var unique = Self.people
        unique.indexes.append(IndexSchema("one", [IndexColumn("other")], isUnique: true))
        unique.columns.append(ColumnSchema("other", .integer, default: .integer(1)))
        let twice = failure(fixture, unique)
        #expect(twice.contains("(key ('Ada', 36))") || twice.contains("(key ('Bob', -4))"), "\(twice)")
    }

    @Test func damagedRowsAndIndexesNameTheirRows() throws {
        let fixture = try people()
        let table = try fixture.table("Person")
        let key = RowKey(values: [.text("Ada"), .integer(36)])
        guard case .bytes(let bytes) = key else { return }
        try fixture.store.write { tx in
            let index = try #require(tx.view.trees.first { $0.name.hasPrefix("mako.index.") })
            try tx.deleteAll(in: index.tree)
        }
        try fixture.store.read { view in
            let findings = try table.verify(in: view)
            #expect(findings.contains("Person: row ('Ada', 36) is missing in index note"))
        }
        try fixture.store.write { tx in try tx.put([1, 2, 3], for: bytes, in: table.rows) }
        let damaged = Fixture.error { try fixture.store.read { view in _ = try table.withRow(key, in: view) { _ in } } }
        #expect(damaged.map { "\($0)" }?.hasPrefix("a row of Person (key ('Ada', 36)) is damaged") == true)
        var wanted = Self.people
        wanted.columns[2] = ColumnSchema("note", .integer, isOptional: true)
        wanted.indexes = []
        #expect(failure(fixture, wanted).hasPrefix("a row of Person (key ('Ada', 36)) is damaged"))
    }

    @Test func refusedStatementsShowKeys() throws {
        let session = try StatementSession(
            "CREATE TABLE City (name TEXT PRIMARY KEY)", "CREATE TABLE Trip (there TEXT REFERENCES City)",
            "INSERT INTO City VALUES ('Bergen')", "INSERT INTO Trip (there) VALUES ('Bergen')",
            "CREATE TABLE Seat (line INTEGER, place TEXT, guest TEXT UNIQUE, PRIMARY KEY (line, place))",
            "INSERT INTO Seat VALUES (3, 'b', 'Ada')")
        #expect(session.refusal("DELETE FROM City").hasPrefix("the row with key 'Bergen' of City cannot be deleted"))
        #expect(session.refusal("INSERT INTO Seat VALUES (3, 'c', 'Ada')").contains("(key (3, 'b'))"))
        try session.run("DELETE FROM City", ignoringReferences: true)
        let found = try Catalogue.verify(session.store).danglingReferences
        #expect(found.map(\.description) == ["Trip.there of the row with key 1 refers to a row that is not there"])
    }
}
