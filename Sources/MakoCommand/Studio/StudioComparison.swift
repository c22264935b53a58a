import MakoRecords
import MakoStorage

/// The rows of a table in the pinned snapshot, compared with those of the newest commit.
struct StudioComparison {
    let pin: StudioPin
    /// The table in the pinned snapshot.
    let table: StudioTable

    /// Nil without a pinned snapshot, and for a table that has another key there or does not exist.
    init?(_ pin: StudioPin?, _ now: StudioTable) {
        guard let pin, let handle = pin.catalogue.table(named: now.name),
            handle.number == now.handle.number, handle.schema.key == now.handle.schema.key
        else { return nil }
        (self.pin, table) = (pin, StudioTable(handle, pin.catalogue))
    }

    /// Returns what differs, as members of the row's JSON: `change`, and `was` with the pinned cells of the changed
    /// columns by name.
    func members(_ key: RowKey, _ row: RowReader, of now: StudioTable) throws -> [(key: String, value: JSONValue)] {
        let was = try table.handle.withRow(key, in: pin.view) { pinned -> [(key: String, value: JSONValue)] in
            var was: [(key: String, value: JSONValue)] = []
            for column in now.columns {
                let old = table.value(column.name, key, pinned)
                if old == now.value(column, key, row) { continue }
                was.append((column.name, try cell(column.name, old)))
            }
            return was
        }
        guard let was else { return [("change", .string("insert"))] }
        return was.isEmpty ? [] : [("change", .string("update")), ("was", .object(was))]
    }

    /// Returns the pinned cell of one column; nil without the row or the column.
    func cell(of column: String, _ key: RowKey) throws -> JSONValue? {
        guard table.columns.contains(where: { $0.name == column }) else { return nil }
        return try table.handle.withRow(key, in: pin.view) { try cell(column, table.value(column, key, $0)) }
    }

    /// Returns the JSON of a pinned row that was deleted since, with the columns of the newest commit.
    func json(_ key: RowKey, _ row: RowReader, _ cursor: String, of now: StudioTable) throws -> JSONValue {
        let cells = try now.columns.map { try cell($0.name, table.value($0.name, key, row)) }
        return .object([
            ("key", .string(table.keyText(key, row))), ("cursor", .string(cursor)), ("cells", .array(cells)),
            ("change", .string("delete")),
        ])
    }

    private func cell(_ column: String, _ value: Value) throws -> JSONValue {
        guard let found = table.columns.first(where: { $0.name == column }) else { return .null }
        return try table.cell(found, value, in: pin.view)
    }
}
