import MakoRecords
import MakoStorage

/// A column of a grid.
struct StudioColumn {
    let name: String
    /// nil: the row number.
    let schema: ColumnSchema?
    /// The position in the table's layout; nil: the row number.
    let position: Int?

    /// The kind of the column's cells.
    var kind: String {
        guard let schema else { return "int" }
        if schema.target != nil { return "link" }
        return StudioCell.kind(of: schema.type)
    }

    var type: ColumnType { schema?.type ?? .integer }
}

/// A list of a row: the keys in a to-many column, or the rows of a table that refer to it.
struct StudioList {
    enum Content {
        /// The keys in a column of the row.
        case keys(position: Int)
        case referrers(column: String)
    }

    let name: String
    let table: String
    let content: Content
}

/// A table with its columns as the page shows them: to-many columns are lists, not columns.
struct StudioTable {
    let handle: TableHandle
    let catalogue: Catalogue
    let columns: [StudioColumn]

    var name: String { handle.schema.name }

    init(_ handle: TableHandle, _ catalogue: Catalogue) {
        self.handle = handle
        self.catalogue = catalogue
        let live = handle.schema.liveColumns
        var columns = live.indices.filter { live[$0].type != .keys }.map {
            StudioColumn(name: live[$0].name, schema: live[$0], position: $0)
        }
        if case .rowID(let id) = handle.schema.key {
            columns.insert(StudioColumn(name: id, schema: nil, position: nil), at: 0)
        }
        self.columns = columns
    }

    /// The column whose text is the title of a row: the first text column that is neither a reference nor encrypted.
    private var title: StudioColumn? {
        columns.first { column in
            column.type == .text && column.schema?.target == nil && column.schema?.sealedType == nil
        }
    }

    var lists: [StudioList] {
        let live = handle.schema.liveColumns
        var lists = live.indices.filter { live[$0].type == .keys }.map {
            StudioList(name: live[$0].name, table: live[$0].target ?? "", content: .keys(position: $0))
        }
        for other in catalogue.handles {
            for column in other.schema.liveColumns where column.target == name && column.type != .keys {
                lists.append(
                    StudioList(
                        name: "\(other.schema.name).\(column.name)", table: other.schema.name,
                        content: .referrers(column: column.name)))
            }
        }
        return lists
    }

    // MARK: Keys

    /// Parses the key of a row.
    func key(_ text: String) throws -> RowKey {
        switch handle.schema.key {
        case .rowID:
            guard let id = Int64(text) else {
                throw StudioRefusal("'\(text)' is no key of \(name).", status: 404)
            }
            return .rowID(id)
        case .columns(let names):
            let texts = try names.count == 1 ? [text] : keyTexts(text)
            guard texts.count == names.count else {
                throw StudioRefusal("'\(text)' is no key of \(name).", status: 404)
            }
            return RowKey(values: try zip(names, texts).map { try value($1, of: $0) })
        }
    }

    private func keyTexts(_ text: String) throws -> [String] {
        var scanner = JSONScanner(ByteInput(text))
        guard case .array(let parts) = try scanner.value() else { return [] }
        return parts.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    /// Parses input as a value of a column.
    func value(_ text: String, of column: String) throws -> Value {
        let type = handle.schema.column(named: column)?.type ?? .integer
        guard let value = FieldConversion.value(.string(text), as: type) else {
            throw StudioRefusal(
                "'\(DisplayText.onOneLine(String(text.prefix(80))))' is no \(type.name), which \(column) holds.",
                advice: type == .date ? "Write a date as 2026-01-31 or 2026-01-31 10:00:00." : nil)
        }
        return value
    }

    func keyText(_ key: RowKey, _ row: RowReader) -> String {
        if let id = key.rowID { return String(id) }
        let texts = handle.schema.keyColumns.map { name in PlainText.of(value(name, key, row)) }
        return texts.count == 1 ? texts[0] : JSONValue.texts(texts).text
    }

    /// The text of a key, whose row may not exist.
    func keyText(_ key: RowKey, in view: Snapshot) throws -> String {
        if let id = key.rowID { return String(id) }
        return try handle.withRow(key, in: view) { keyText(key, $0) } ?? "\(key)"
    }

    func value(_ column: String, _ key: RowKey, _ row: RowReader) -> Value {
        guard let found = columns.first(where: { $0.name == column }) else { return .null }
        return value(found, key, row)
    }

    func value(_ column: StudioColumn, _ key: RowKey, _ row: RowReader) -> Value {
        column.position.map { row.value($0) } ?? .integer(key.rowID ?? 0)
    }

    /// A condition that selects one row.
    func condition(of key: RowKey, in view: Snapshot) throws -> String {
        let values = try handle.withRow(key, in: view) { row in
            handle.schema.keyColumns.map { ($0, value($0, key, row)) }
        }
        guard let values else { throw StudioRefusal("The row is not in \(name) any more.", status: 404) }
        return values.map { "\(SchemaText.name($0)) = \(SchemaText.literal($1))" }.joined(separator: " AND ")
    }

    /// The title of a row; nil without a title column.
    func title(of key: RowKey, in view: Snapshot) throws -> String? {
        guard let title else { return nil }
        return try handle.withRow(key, in: view) { row -> String? in
            guard case .text(let text) = value(title, key, row) else { return nil }
            return String(text.prefix(200))
        } ?? nil
    }

    var titleColumn: String? { title?.name }

    // MARK: Rows

    func json(
        _ key: RowKey, _ row: RowReader, cursor: String, in view: Snapshot,
        differences: [(key: String, value: JSONValue)] = []
    ) throws -> JSONValue {
        .object(
            [
                ("key", .string(keyText(key, row))), ("cursor", .string(cursor)),
                ("cells", .array(try cells(key, row, isWhole: false, in: view))),
            ] + differences)
    }

    func cells(_ key: RowKey, _ row: RowReader, isWhole: Bool, in view: Snapshot) throws -> [JSONValue] {
        try columns.map { try cell($0, value($0, key, row), isWhole: isWhole, in: view) }
    }

    func cell(_ column: StudioColumn, _ value: Value, isWhole: Bool = false, in view: Snapshot) throws -> JSONValue {
        guard let schema = column.schema, !value.isNull else { return StudioCell.json(value, isWhole: isWhole) }
        if schema.sealedType != nil { return StudioCell.sealed(value) }
        guard let target = schema.target else { return StudioCell.json(value, isWhole: isWhole) }
        return try link(value, to: target, in: view) ?? StudioCell.json(value, isWhole: isWhole)
    }

    private func link(_ value: Value, to target: String, in view: Snapshot) throws -> JSONValue? {
        if target == AnyReference.anyTable {
            guard let reference = AnyReference(value) else { return nil }
            // The value itself, by which a form sets a row of another table.
            return try link(reference.key, reference.table, text: PlainText.of(value), in: view)
        }
        if case .integer(let id) = value { return try link(.rowID(id), target, in: view) }
        return try link(RowKey(values: [value]), target, in: view)
    }

    private func link(_ key: RowKey, _ target: String, text: String? = nil, in view: Snapshot) throws -> JSONValue? {
        guard let handle = catalogue.table(named: target) else { return nil }
        let table = StudioTable(handle, catalogue)
        var members: [(key: String, value: JSONValue)] = [
            ("kind", .string("link")), ("table", .string(target)),
            ("key", .string(try table.keyText(key, in: view))),
        ]
        if let text { members.append(("text", .string(text))) }
        if let name = try? table.title(of: key, in: view) { members.append(("name", .string(name))) }
        return .object(members)
    }
}
