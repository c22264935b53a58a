import MakoRecords
import MakoStorage
import Testing

/// Invalid schemas, and their errors.
@Suite struct SchemaTests {
    private static let long = String(repeating: "x", count: 501)

    private static func table(
        _ columns: [ColumnSchema] = [ColumnSchema("a", .text)], key: KeySchema = .rowID(column: "id"),
        indexes: [IndexSchema] = []
    ) -> EntitySchema { EntitySchema(name: "T", columns: columns, key: key, indexes: indexes) }

    private static func index(_ name: String = "i", _ columns: IndexColumn...) -> IndexSchema {
        IndexSchema(name, columns)
    }

    private static let faults: [(schema: EntitySchema, reason: String)] = [
        (EntitySchema(name: "", columns: []), "its name is empty or longer than 500 bytes"),
        (EntitySchema(name: long, columns: []), "its name is empty or longer than 500 bytes"),
        (table((0...2000).map { ColumnSchema("c\($0)", .bool) }), "it has more than 2000 columns"),
        (table([ColumnSchema("", .text)]), "a column's name is empty or longer than 500 bytes"),
        (table([ColumnSchema(long, .text)]), "a column's name is empty or longer than 500 bytes"),
        (table([ColumnSchema("a", .text), ColumnSchema("a", .bool)]), "it has two columns named a"),
        (table([ColumnSchema("id", .text)]), "it has two columns named id"),
        (table([ColumnSchema("a", .integer, default: .text("x"))]), "the default of a is not of type integer"),
        (table([ColumnSchema("a", .reference)]), "the reference a names no table"),
        (table(key: .columns([])), "its key has no columns, or one twice"),
        (table(key: .columns(["a", "a"])), "its key has no columns, or one twice"),
        (table(key: .columns(["b"])), "its key column b is not among its columns"),
        (table([ColumnSchema("a", .text, isOptional: true)], key: .columns(["a"])), "its key column a is optional"),
        (table(indexes: [index("", IndexColumn("a"))]), "an index's name is empty or longer than 500 bytes"),
        (
            table(indexes: [index("i", IndexColumn("a")), index("i", IndexColumn("a"))]),
            "it has two indexes named i"
        ),
        (table(indexes: [index()]), "index i has no columns or more than 64"),
        (
            table(indexes: [IndexSchema("i", Array(repeating: IndexColumn("a"), count: 65))]),
            "index i has no columns or more than 64"
        ),
        (table(indexes: [index("i", IndexColumn("b"))]), "index i names b, which is not among the columns"),
        (
            table([ColumnSchema("a", .integer)], indexes: [index("i", IndexColumn("a", noCase: true))]),
            "index i folds a, which is not text"
        ),
    ]

    @Test(arguments: faults.indices) func aFaultIsNamedAndNothingIsMade(number: Int) throws {
        let (schema, reason) = Self.faults[number]
        var fixture = try Fixture()
        let error = #expect(throws: RecordError.self) { try fixture.migrate(schema) }
        #expect(error == .incompatibleSchema(table: schema.name, reason: reason))
        #expect(fixture.catalogue.tables.isEmpty)
    }

    @Test func errorsSayWhatAndWhere() {
        let key = RowKey(values: [.text("a")])
        let sentences: [(RecordError, String)] = [
            (.storage(.closed(path: "a.mako")), "the store or snapshot of a.mako is closed"),
            (.tableNotFound(name: "Persn", nearest: "Person"), "there is no table Persn; did you mean Person?"),
            (.columnNotFound(table: "P", name: "q", nearest: nil), "P has no column q"),
            (
                .typeMismatch(table: "P", column: "a", expected: .double, found: "text 'x'"),
                "P.a holds double, not text 'x'"
            ),
            (.nullViolation(table: "P", column: "a"), "P.a must have a value"),
            (
                .uniqueViolation(
                    table: "P", columns: ["a", "b"], values: [.integer(1), .text("x")], existing: .rowID(7)),
                "P has a row (key 7) with the same a, b: 1, 'x'"
            ),
            (.invalidKey(table: "P", reason: "why"), "the key does not fit table P: why"),
            (.idsExhausted(table: "P"), "P holds a row with the largest possible id, so no further id can be given"),
            (
                .valueRefused(table: "P", column: "a", reason: "it has 9 bytes"),
                "P.a cannot be stored: it has 9 bytes"
            ),
            (.rowDamaged(table: "P", key: nil, reason: "why"), "a row of P is damaged: why"),
            (
                .rowDamaged(table: "P", key: NamedKey(key, in: nil), reason: "why"),
                "a row of P (key \(key)) is damaged: why"
            ),
            (
                .indexDamaged(table: "P", index: "i", reason: "why"),
                "index i of P is damaged: why; drop it and add it again"
            ),
            (.catalogueDamaged(reason: "why"), "the catalogue is damaged: why; restore a backup"),
        ]
        for (error, sentence) in sentences { #expect("\(error)" == sentence) }
    }

    /// The case of a table's name is forgiven where only one can be meant.
    @Test func tablesAreFoundInAnyCaseWhereThatIsClear() throws {
        let columns = [ColumnSchema("a", .text)]
        let catalogue = try Fixture(
            EntitySchema(name: "Éclair", columns: columns), EntitySchema(name: "Cake", columns: columns),
            EntitySchema(name: "CAKE", columns: columns)
        ).catalogue
        #expect(try catalogue.requireTable("éCLAIR").schema.name == "Éclair")
        #expect(try catalogue.requireTable("CAKE").schema.name == "CAKE")
        #expect(throws: RecordError.self) { try catalogue.requireTable("cake") }
    }
}
