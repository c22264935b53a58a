import MakoRecords

/// Columns of encrypted properties. This program reads and writes their bytes only, because it has no property key.
extension EntitySchema {
    private var encryptedColumns: [ColumnSchema] { liveColumns.filter { $0.sealedType != nil } }

    /// What a dump loses, a line for each encrypted column.
    var dumpLosses: [String] {
        encryptedColumns.map { column in
            DisplayText.onOneLine(
                "\(SchemaText.name(name)).\(SchemaText.name(column.name)) is encrypted: its bytes can be decrypted in this "
                    + "database only")
        }
    }

    /// Throws if the values of a column would be lost with the table.
    func refuseReplacement() throws(Failure) {
        guard let column = encryptedColumns.first else { return }
        throw Failure(
            "column \(column.name) of table \(name) is encrypted, and --replace would destroy its values; "
                + "append the rows without --replace, or import them into another table", .badInput)
    }

    /// The message for a value of an encrypted column.
    static func refusal(ofValuesFor column: String) -> String {
        "column \(column) is encrypted, and only a program with its key can store values there; "
            + "leave it empty, or out of the file"
    }
}
