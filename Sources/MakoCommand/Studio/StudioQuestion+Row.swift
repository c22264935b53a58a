import MakoRecords
import MakoStorage

extension StudioQuestion {
    func row() throws -> JSONValue {
        try read { view, catalogue in
            let table = try table(catalogue)
            let key = try table.key(try givenKey())
            let pinned = comparison(table)
            let cells = try table.handle.withRow(key, in: view) { row in
                (
                    shown: try table.cells(key, row, isWhole: true, in: view),
                    change: try pinned?.members(key, row, of: table) ?? []
                )
            }
            guard let cells else { return try gone(key, pinned) }
            let lists = try table.lists.map { try counted($0, table, key, view) }
            return .object(
                [
                    ("name", try table.title(of: key, in: view).map(JSONValue.string) ?? .null),
                    ("cells", .array(cells.shown)), ("lists", .array(lists)),
                    ("history", .array(try history(of: key, table, view))),
                ] + cells.change)
        }
    }

    /// The row of a key that only the pinned snapshot has.
    private func gone(_ key: RowKey, _ pinned: StudioComparison?) throws -> JSONValue {
        let cells = try pinned.flatMap { pinned in
            try pinned.table.handle.withRow(key, in: pinned.pin.view) {
                try pinned.table.cells(key, $0, isWhole: true, in: pinned.pin.view)
            }
        }
        guard let pinned, let cells else {
            throw StudioRefusal("There is no row \(try givenKey()) in \(try text("table")).", status: 404)
        }
        let name = try pinned.table.title(of: key, in: pinned.pin.view).map(JSONValue.string) ?? .null
        return .object([
            ("name", name), ("cells", .array(cells)), ("lists", .array([])), ("history", .array([])),
            ("change", .string("delete")),
        ])
    }

    /// The limit for counting the rows of a list.
    private static let countLimit = 10_000

    private func counted(
        _ list: StudioList, _ table: StudioTable, _ key: RowKey, _ view: Snapshot
    ) throws -> JSONValue {
        let count = try count(of: list, table, key, view)
        return .object([
            ("name", .string(list.name)), ("table", .string(list.table)),
            ("count", count.map(JSONValue.number) ?? .null),
            ("exact", .bool(count.map { $0 < Self.countLimit } ?? false)),
        ])
    }

    /// The number of rows in a list of a row, up to the limit; nil when counting takes too long.
    func count(of list: StudioList, _ table: StudioTable, _ key: RowKey, _ view: Snapshot) throws -> Int? {
        switch list.content {
        case .keys(let position): return try keys(table, key, position, view).count
        case .referrers(let column):
            let selection = Selection(
                table: list.table, condition: try condition(column, table, key, view), limit: Self.countLimit)
            do {
                return try database.limited(nil, database.limits.counting) { cancellation in
                    var plan = try selection.plan(table.catalogue, in: view)
                    plan.cancellation = cancellation
                    return try plan.keys(in: view).count
                }
            } catch RecordError.cancelled { return nil }
        }
    }

    /// Returns the bytes of one value.
    func blob() throws -> StudioAnswer {
        try read { view, catalogue in
            let table = try table(catalogue)
            let key = try table.key(try givenKey())
            let column = try text("column")
            let value = try table.handle.withRow(key, in: view) { table.value(column, key, $0) }
            guard case .blob(let bytes)? = value else {
                throw StudioRefusal("There are no bytes in \(column) of this row.", status: 404)
            }
            if let media = StudioCell.mediaType(of: bytes) { return StudioAnswer(mediaType: media, body: bytes) }
            return StudioAnswer(mediaType: "application/octet-stream", body: bytes, fileName: "value.bin")
        }
    }

    /// Finds rows whose title begins with a text, or whose key is the text.
    func find() throws -> JSONValue {
        try read { view, catalogue in
            let table = try table(catalogue)
            let typed = optional("text") ?? ""
            var rows: [JSONValue] = []
            func add(_ key: RowKey, _ row: RowReader) throws {
                let name = try table.title(of: key, in: view).map(JSONValue.string) ?? .null
                rows.append(.object([("key", .string(table.keyText(key, row))), ("name", name)]))
            }
            if let key = try? table.key(typed) { _ = try table.handle.withRow(key, in: view) { try add(key, $0) } }
            var condition: Condition?
            if let title = table.titleColumn, !typed.isEmpty {
                let pattern = typed.replacing("\\", with: "\\\\").replacing("%", with: "\\%").replacing(
                    "_", with: "\\_")
                let literal = SchemaText.literal(.text(pattern + "%"))
                condition = try Condition.parse("\(SchemaText.name(title)) LIKE \(literal) ESCAPE '\\'")
            }
            try database.limited(nil) { cancellation in
                var plan = try Selection(table: table.name, condition: condition, limit: 20).plan(catalogue, in: view)
                plan.cancellation = cancellation
                try plan.forEachRow(in: view) { key, row in
                    try add(key, row)
                    return true
                }
            }
            return .object([("rows", .array(rows))])
        }
    }
}
