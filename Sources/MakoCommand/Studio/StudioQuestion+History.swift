import MakoRecords
import MakoStorage

/// The commits of a history.
struct StudioHistory {
    /// The number of newest commits that are searched.
    static let searched = 1_000

    let records: [HistoryRecord]
    let isKept: Bool
    private let handles: [UInt32: TableHandle]
    private let catalogue: Catalogue

    /// - Parameter newest: the number of records to read.
    init(_ view: Snapshot, _ catalogue: Catalogue, newest: Int = searched) throws {
        self.catalogue = catalogue
        handles = Dictionary(catalogue.handles.map { ($0.number, $0) }) { first, _ in first }
        isKept = try StoredHistory.head(in: view)?.isKept == true
        records = try StoredHistory.newest(newest, in: view)
    }

    func table(_ table: HistoryRecord.Table) -> StudioTable? {
        handles[table.number].map { StudioTable($0, catalogue) }
    }

    func name(_ table: HistoryRecord.Table) -> String { handles[table.number]?.schema.name ?? table.name }

    /// The date of a commit to the second, in UTC.
    static func date(_ record: HistoryRecord) -> JSONValue {
        .string(String(PlainText.of(.date(record.date)).prefix(19)).replacing("T", with: " "))
    }

    static func rows(_ record: HistoryRecord) -> Int { record.spans.reduce(0) { $0 + Int($1.count) } }
}

extension StudioQuestion {
    func commits() throws -> JSONValue {
        try read { view, catalogue in
            let history = try StudioHistory(view, catalogue)
            guard history.isKept else {
                return .object([
                    ("kept", .bool(false)), ("commits", .array([])), ("end", .bool(true)),
                    ("advice", .string("Open the database with options.history to keep what each commit changes.")),
                ])
            }
            let before = try number("before") ?? .max
            let earlier = history.records.filter { $0.number < before }
            let shown = earlier.suffix(try limit()).reversed().map { record -> JSONValue in
                var tables: [String] = []
                for table in record.tables where !tables.contains(history.name(table)) {
                    tables.append(history.name(table))
                }
                return .object([
                    ("commit", .number(record.number)), ("date", StudioHistory.date(record)),
                    ("rows", .number(StudioHistory.rows(record))), ("tables", .texts(tables)),
                ])
            }
            return .object([
                ("kept", .bool(true)), ("commits", .array(shown)), ("end", .bool(shown.count == earlier.count)),
            ])
        }
    }

    /// The number of rows of one commit that are shown.
    private static let changeLimit = 500

    func commit() throws -> JSONValue {
        try read { view, catalogue in
            let history = try StudioHistory(view, catalogue)
            let number = try number("number") ?? 0
            guard let record = history.records.first(where: { $0.number == number }) else {
                throw StudioRefusal(
                    "Commit \(number) is not kept, or older than the last \(StudioHistory.searched).", status: 404)
            }
            var changes: [JSONValue] = []
            for span in record.spans {
                for key in Self.keys(of: span).prefix(Self.changeLimit - changes.count) {
                    changes.append(try change(span, key, record, history, view))
                }
            }
            return .object([
                ("commit", .number(number)), ("date", StudioHistory.date(record)), ("changes", .array(changes)),
                ("cut", .bool(changes.count < StudioHistory.rows(record))),
                ("pin", database.pinned.withLock { $0?.json } ?? .null),
            ])
        }
    }

    /// The keys of a span of rows with the same change.
    static func keys(of span: HistoryRecord.Span) -> [RowKey] {
        guard let id = span.key.rowID else { return [span.key] }
        return (0..<min(Int64(span.count), Int64(changeLimit))).map { .rowID(id &+ $0) }
    }

    /// The change of one row. The history records the changed columns; their values are those of the newest commit and,
    /// where one is pinned, of a pinned snapshot.
    private func change(
        _ span: HistoryRecord.Span, _ key: RowKey, _ record: HistoryRecord, _ history: StudioHistory, _ view: Snapshot
    ) throws -> JSONValue {
        let entry = record.tables[span.table]
        let table = history.table(entry)
        var columns: [JSONValue] = []
        if let table {
            let names = span.columns >= 0 ? record.columnLists[span.columns] : table.columns.map(\.name)
            columns = try changed(names, key, table, view)
            // A deleted row has values in the pinned snapshot alone.
            if span.kind == .delete { columns.removeAll { $0["pinned"] == nil } }
        }
        let kind =
            switch span.kind {
            case .insert: "insert"
            case .update: "update"
            case .delete: "delete"
            }
        return .object([
            ("table", .string(history.name(entry))), ("key", .string(try table?.keyText(key, in: view) ?? "\(key)")),
            ("kind", .string(kind)), ("columns", .array(columns)),
        ])
    }

    /// The values of columns of a row now and in the pinned snapshot, or only the names for a row in neither.
    private func changed(
        _ names: [String], _ key: RowKey, _ table: StudioTable, _ view: Snapshot
    ) throws -> [JSONValue] {
        let pinned = comparison(table)
        let cells = try table.handle.withRow(key, in: view) { row in
            try table.columns.map { try table.cell($0, table.value($0, key, row), in: view) }
        }
        return try table.columns.enumerated().filter { names.contains($1.name) }.map { index, column in
            var members: [(key: String, value: JSONValue)] = [("name", .string(column.name))]
            if let cells { members.append(("is", cells[index])) }
            if let was = try pinned?.cell(of: column.name, key) { members.append(("pinned", was)) }
            return .object(members)
        }
    }

    /// The commits that changed one row, newest first.
    func history(of key: RowKey, _ table: StudioTable, _ view: Snapshot) throws -> [JSONValue] {
        let history = try StudioHistory(view, table.catalogue)
        var found: [JSONValue] = []
        for record in history.records.reversed() where found.count < 100 {
            for span in record.spans where record.tables[span.table].number == table.handle.number {
                guard Self.contains(span, key) else { continue }
                let names = span.columns >= 0 ? record.columnLists[span.columns] : table.columns.map(\.name)
                found.append(
                    .object([
                        ("commit", .number(record.number)), ("date", StudioHistory.date(record)),
                        ("changed", .texts(names)),
                    ]))
            }
        }
        return found
    }

    private static func contains(_ span: HistoryRecord.Span, _ key: RowKey) -> Bool {
        guard let first = span.key.rowID, let id = key.rowID else { return span.key == key }
        return id >= first && id - first < Int64(span.count)
    }
}
