import MakoRecords
import MakoStorage

/// Tables as a script that `psql` runs: one transaction of CREATE TABLE and COPY.
package enum PostgresScript {
    /// Writes tables as of a snapshot. Indexes except the primary key, foreign keys and views are left out.
    ///
    /// - Parameters:
    ///   - tables: the tables, in any order.
    ///   - output: receives pieces of text; returns `false` to end early.
    /// - Returns: the number of rows.
    /// - Throws: `PostgresError.name` and `.value`, which name what PostgreSQL has no form for.
    package static func write(
        _ tables: [TableHandle], in view: Snapshot, to output: (String) throws -> Bool
    ) throws -> Int {
        let definitions = try tables.map { handle in try PostgresTable(handle.schema) }
        var text = "-- Mako, commit \(view.commitNumber): psql -v ON_ERROR_STOP=1 -f FILE\n"
        text += "BEGIN;\nSET LOCAL client_encoding = 'UTF8';\n"
        var rows = 0
        for (handle, table) in zip(tables, definitions) {
            let place = PostgresText.name(table.name)
            text += "\n\(table.create(place, keyName: table.keyName));\n\(table.copy(place));\n"
            var goesOn = true
            try handle.scan(in: view) { key, row in
                text += PostgresText.copyLine(try table.fields(key, row, of: handle))
                rows += 1
                if text.utf8.count < pieceBytes { return true }
                goesOn = try output(text)
                text = ""
                return goesOn
            }
            guard goesOn else { return rows }
            text += "\\.\n"
        }
        _ = try output(text + "\nCOMMIT;\n")
        return rows
    }

    private static let pieceBytes = 64 << 10
}
