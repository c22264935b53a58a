import MakoRecords
import MakoStorage

/// A table as PostgreSQL has it.
struct PostgresTable: Sendable {
    /// A column.
    struct Column: Sendable {
        let name: String
        let type: PostgresType
        let isRequired: Bool
        /// The number of the column in the table of Mako, which is never reused; -1 for the row id.
        let ordinal: Int

        /// As in CREATE TABLE.
        var definition: String {
            "\(PostgresText.name(name)) \(type.name)\(isRequired ? " NOT NULL" : "")"
        }
    }

    let name: String
    /// In the order of values: the row id, then the live columns.
    let columns: [Column]
    /// The columns of the primary key.
    let key: [Column]
    /// The largest number of a column that the table has, or had and may show again.
    let lastOrdinal: Int

    private let hasID: Bool

    /// - Throws: `PostgresError.name`.
    init(_ schema: EntitySchema) throws(PostgresError) {
        name = schema.name
        try PostgresTable.check(name)
        var columns: [Column] = []
        var keyNames: [String] = []
        switch schema.key {
        case .rowID(let id):
            hasID = true
            keyNames = [id]
            columns.append(Column(name: id, type: .bigint, isRequired: true, ordinal: -1))
        case .columns(let names):
            hasID = false
            keyNames = names
        }
        for column in schema.liveColumns {
            columns.append(
                Column(
                    name: column.name, type: PostgresType(column.type, isKey: keyNames.contains(column.name)),
                    isRequired: !column.isOptional, ordinal: column.ordinal))
        }
        for column in columns {
            try PostgresTable.check(column.name)
            if PostgresTable.systemColumns.contains(column.name) {
                throw .name("\(name).\(column.name)", reason: "each table has a system column of that name")
            }
        }
        if columns.count > PostgresTable.columnLimit {
            throw .name(name, reason: "a table has at most \(PostgresTable.columnLimit) columns")
        }
        self.columns = columns
        key = keyNames.compactMap { name in columns.first { $0.name == name } }
        lastOrdinal = schema.columns.map(\.ordinal).max() ?? -1
    }

    private static let systemColumns: Set<String> = ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"]
    private static let columnLimit = 1600
    /// The longest name, in bytes; PostgreSQL cuts longer ones.
    static let nameLimit = 63

    static func check(_ name: String) throws(PostgresError) {
        if name.isEmpty { throw .name(name, reason: "it is empty") }
        if name.utf8.count > nameLimit { throw .name(name, reason: "it is longer than \(nameLimit) bytes") }
        if name.utf8.contains(0) { throw .name(name, reason: "it has the character U+0000") }
    }

    /// The definition as text, to be compared: columns in the order in which the table got them, and the key.
    ///
    /// - Parameter last: leaves out the columns that were added after this ordinal.
    func definition(until last: Int = .max) -> String {
        let lines = columns.filter { $0.ordinal <= last }.sorted { $0.ordinal < $1.ordinal }
            .map { "\($0.ordinal) \($0.definition)" }
        return (lines + ["PRIMARY KEY (\(names(key)))"]).joined(separator: "\n")
    }

    /// CREATE TABLE.
    ///
    /// - Parameters:
    ///   - place: the quoted name of the table.
    ///   - keyName: the name of the primary key and its index. PostgreSQL would call it `<table>_pkey`, and tables and indexes
    ///     share their names: another table may have that one.
    func create(_ place: String, keyName: String) -> String {
        let lines = columns.map(\.definition) + ["CONSTRAINT \(PostgresText.name(keyName)) PRIMARY KEY (\(names(key)))"]
        return "CREATE TABLE \(place) (\n    \(lines.joined(separator: ",\n    "))\n)"
    }

    /// A name of the primary key that no other table of a script has; for long names it ends with a number made of the name.
    var keyName: String {
        let whole = PostgresTable.keyPrefix + name
        if whole.utf8.count <= PostgresTable.nameLimit { return whole }
        let hash = name.utf8.reduce(14_695_981_039_346_656_037 as UInt64) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        return PostgresTable.keyPrefix + String(hash, radix: 16)
    }

    private static let keyPrefix = "mako_mirror_key_"

    /// COPY from the client.
    func copy(_ place: String) -> String { "COPY \(place) (\(names(columns))) FROM STDIN" }

    /// INSERT of rows, or UPDATE where they exist.
    ///
    /// - Parameter rows: each in parentheses, divided by commas.
    func upsert(_ place: String, rows: String) -> String {
        let changes = columns.map { "\(PostgresText.name($0.name)) = EXCLUDED.\(PostgresText.name($0.name))" }
        return "INSERT INTO \(place) (\(names(columns))) VALUES \(rows) "
            + "ON CONFLICT (\(names(key))) DO UPDATE SET \(changes.joined(separator: ", "))"
    }

    /// DELETE of rows.
    ///
    /// - Parameter keys: each in parentheses, divided by commas.
    func delete(_ place: String, keys: String) -> String {
        "DELETE FROM \(place) WHERE (\(names(key))) IN (\(keys))"
    }

    private func names(_ columns: [Column]) -> String {
        columns.map { PostgresText.name($0.name) }.joined(separator: ", ")
    }

    /// The values of a row as text, in the order of ``columns``.
    func fields(_ key: RowKey, _ row: RowReader, of handle: TableHandle) throws(PostgresError) -> [String?] {
        var fields: [String?] = []
        fields.reserveCapacity(columns.count)
        if hasID { fields.append(String(key.rowID ?? 0)) }
        for position in 0..<row.layout.count {
            let column = columns[fields.count]
            do throws(PostgresType.Refusal) { fields.append(try column.type.text(row.value(position))) } catch {
                throw .value(table: name, column: column.name, key: handle.keyText(key), reason: error.reason)
            }
        }
        return fields
    }

    /// The values of a key as text, in the order of ``key``; `nil` if the key is of another form than the table's.
    func keyFields(_ key: RowKey, of handle: TableHandle) throws(PostgresError) -> [String?]? {
        guard let values = handle.keyValues(of: key), values.count == self.key.count else { return nil }
        var fields: [String?] = []
        for (column, value) in zip(self.key, values) {
            do throws(PostgresType.Refusal) { fields.append(try column.type.text(value)) } catch {
                throw .value(table: name, column: column.name, key: handle.keyText(key), reason: error.reason)
            }
        }
        return fields
    }
}
