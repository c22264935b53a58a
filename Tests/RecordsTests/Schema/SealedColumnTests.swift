import MakoStorage
import Testing

@testable import MakoRecords

/// The record layer's part of encrypted columns, without any cipher: their description, and what is refused.
@Suite struct SealedColumnTests {
    private static let secret = ColumnSchema("secret", .blob, isOptional: true, sealing: .text)

    private static func schema(
        _ column: ColumnSchema = secret, key: KeySchema = .rowID(column: "id"), indexes: [IndexSchema] = []
    ) -> EntitySchema {
        EntitySchema(name: "T", columns: [ColumnSchema("name", .text), column], key: key, indexes: indexes)
    }

    @Test func theDescriptionComesBack() throws {
        for type in ColumnType.allCases where type != .keys && type != .reference {
            var column = Self.secret
            column.sealedType = type
            column.ordinal = 1
            var name = ColumnSchema("name", .text)
            name.ordinal = 0
            let record = TableRecord(
                id: 7, schema: EntitySchema(name: "T", columns: [name, column]), columns: [name, column], indexes: [],
                nextIndexID: 1)
            let bytes = record.encoded()
            let read = try TableRecord(name: "T", bytes: bytes)
            #expect(read.columns[1].sealedType == type && read.columns[1].type == .blob && read.columns[1].isOptional)
            #expect(read.encoded() == bytes)
            // As in `docs/format.md`: the name, 16, and the type of the encrypted value.
            let described = [6, 0, 0, 0] + Array("secret".utf8) + [16, type.rawValue, 1]
            #expect(bytes.indices.contains { bytes[$0...].starts(with: described) })
        }
    }

    @Test func columnsThatCannotBeSealedAreRefused() {
        var wrong: [EntitySchema] = [
            Self.schema(ColumnSchema("secret", .text, isOptional: true, sealing: .text)),
            Self.schema(ColumnSchema("secret", .blob, sealing: .text)),
            Self.schema(ColumnSchema("secret", .blob, isOptional: true, default: .blob([1]), sealing: .blob)),
            Self.schema(ColumnSchema("secret", .blob, isOptional: true, sealing: .reference)),
            Self.schema(ColumnSchema("secret", .blob, isOptional: true, sealing: .keys)),
            Self.schema(indexes: [IndexSchema("i", [IndexColumn("secret")])]),
            Self.schema(indexes: [IndexSchema("i", [IndexColumn("name"), IndexColumn("secret")], isUnique: true)]),
        ]
        wrong.append(Self.schema(ColumnSchema("secret", .blob, sealing: .text), key: .columns(["secret"])))
        for schema in wrong {
            do throws(RecordError) {
                try schema.validate()
                Issue.record("\(schema.columns[1]) was taken")
            } catch { #expect("\(error)".contains("encrypted"), "\(error)") }
        }
        #expect(throws: Never.self) { try Self.schema().validate() }
    }

    @Test func nothingPlainGoesIntoIt() throws {
        let store = try Store.inMemory()
        try store.write { tx in
            _ = try Catalogue.migrate(to: Self.schema(), in: tx)
            let table = try Catalogue.load(view: tx.view).requireTable("T")
            var changes = ChangeSet()
            var writer = RowWriter()
            writer.begin(table.layout)
            writer.set(0, "Ada")
            writer.set(1, Value.null)
            _ = try table.insert(&writer, in: tx, changes: &changes)
            for value in [Value.text("plain"), .blob([1, 2])] {
                writer.begin(table.layout)
                writer.set(0, "Bob")
                writer.set(1, value)
                #expect(throws: RecordError.valueSealed(table: "T", column: "secret", .missing)) {
                    try table.insert(&writer, in: tx, changes: &changes)
                }
                #expect(throws: RecordError.valueSealed(table: "T", column: "secret", .missing)) {
                    try writer.set(1, .text("plain"), sealing: .none)
                }
            }
            let catalogue = try Catalogue.load(view: tx.view)
            let rows = try SelectStatement.parse("SELECT name FROM T WHERE secret IS NULL").run(
                catalogue, view: tx.view)
            #expect(rows.rows == [[.text("Ada")]])
            for text in ["SELECT name FROM T WHERE secret = x''", "SELECT name FROM T ORDER BY secret"] {
                let statement = try SelectStatement.parse(text)
                do throws(RecordError) {
                    _ = try statement.run(catalogue, view: tx.view)
                    Issue.record("\(text) was answered")
                } catch {
                    #expect("\(error)".contains("secret is encrypted") && "\(error)".contains("^~~~"), "\(error)")
                }
            }
        }
    }
}
