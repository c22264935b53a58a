import MakoRecords
import MakoStorage

/// A program whose type has one more property: opens a file and adds its column to a table, in a commit that the history does not record.
enum AddedColumn {
    static func add(_ column: String, to table: String, of path: String, value: Int64) throws {
        let store = try Store(at: path)
        try store.write { tx in
            var schema = try Catalogue.load(view: tx.view).requireTable(table).schema
            schema.columns.append(ColumnSchema(column, .integer, isOptional: true, default: .integer(value)))
            _ = try Catalogue.migrate(to: schema, in: tx)
        }
        try store.close()
    }
}
