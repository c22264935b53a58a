import MakoRecords
import MakoStorage

/// One page of rows, and where it lies.
private struct StudioPage {
    var rows: [JSONValue] = []
    var isStart = true
    var isEnd = true

    func json(total: Int?) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("rows", .array(rows)), ("start", .bool(isStart)), ("end", .bool(isEnd)),
        ]
        if let total { members += [("total", .number(total)), ("exact", .bool(true))] }
        return .object(members)
    }
}

/// The order of a grid: by the values that the user chose, then by the key, so that each row has one place.
private struct StudioOrder {
    private let orders: [Order]
    /// The columns behind the order; nil: it is by other values than columns, and rows are found by their number.
    private let columns: [(name: String, isDescending: Bool)]?
    /// The columns that may hold NULL: for others a condition says nothing of it, so that an index leads to the rows.
    private let optional: Set<String>

    init(_ text: String?, _ table: StudioTable) throws {
        let chosen = try text.map { try Order.parse($0) } ?? []
        var columns: [(name: String, isDescending: Bool)]? = []
        for order in chosen {
            let name = order.expr.writtenPath.flatMap { path in table.columns.first { $0.name == path }?.name }
            if let name, !order.noCase { columns?.append((name, order.descending)) } else { columns = nil }
        }
        var orders = chosen
        for key in table.handle.schema.keyColumns where columns?.contains(where: { $0.name == key }) != true {
            orders.append(Order(.column([key])))
            columns?.append((key, false))
        }
        self.orders = orders
        self.columns = columns
        optional = Set(table.columns.filter { $0.schema?.isOptional == true }.map(\.name))
    }

    /// Whether rows are found by their values, and not by their number.
    var isByValue: Bool { columns != nil }

    func orders(isBackward: Bool) -> [Order] {
        isBackward ? orders.map { Order($0.expr, descending: !$0.descending, noCase: $0.noCase) } : orders
    }

    func cursor(_ table: StudioTable, _ key: RowKey, _ row: RowReader) -> String {
        JSONValue.texts((columns ?? []).map { SchemaText.literal(table.value($0.name, key, row)) }).text
    }

    private func below(_ column: String, _ literal: String) -> String {
        let name = SchemaText.name(column)
        return optional.contains(column) ? "(\(name) < \(literal) OR \(name) IS NULL)" : "\(name) < \(literal)"
    }

    /// The rows behind a cursor, or before it: those whose first different value is beyond the cursor's.
    func condition(from cursor: String, isBackward: Bool) throws -> Condition {
        var scanner = JSONScanner(ByteInput(cursor))
        guard let columns, case .array(let parts) = try scanner.value(), parts.count == columns.count else {
            throw StudioRefusal("The cursor belongs to another order.")
        }
        var alternatives: [String] = []
        var equal: [String] = []
        for (column, part) in zip(columns, parts) {
            guard case .string(let literal) = part else { throw StudioRefusal("The cursor is none.") }
            let name = SchemaText.name(column.name)
            let isUp = column.isDescending == isBackward
            // NULL comes before all values.
            let beyond: String? =
                literal == "NULL"
                ? (isUp ? "\(name) IS NOT NULL" : nil)
                : isUp ? "\(name) > \(literal)" : below(column.name, literal)
            if let beyond { alternatives.append((equal + [beyond]).joined(separator: " AND ")) }
            equal.append(literal == "NULL" ? "\(name) IS NULL" : "\(name) = \(literal)")
        }
        if alternatives.isEmpty { alternatives = ["FALSE"] }
        return try Condition.parse(alternatives.map { "(\($0))" }.joined(separator: " OR "))
    }
}

extension StudioQuestion {
    // MARK: Grid

    func rows() throws -> JSONValue {
        try read { view, catalogue in
            let table = try table(catalogue)
            let filter = try optional("where").map { try Condition.parse($0) }
            let isWhole = filter == nil
            if isWhole, optional("order") == nil, let place = optional("at").flatMap(Double.init) {
                return try page(at: place, table, view)
            }
            let page = try page(table, filter, view)
            return page.json(total: isWhole ? try table.handle.count(in: view) : nil)
        }
    }

    func related() throws -> JSONValue {
        try read { view, catalogue in
            let owner = try table(catalogue)
            let key = try owner.key(try text("key"))
            let name = try text("list")
            guard let list = owner.lists.first(where: { $0.name == name }) else {
                throw StudioRefusal("\(owner.name) has no list \(name).", status: 404)
            }
            let target = StudioTable(try catalogue.requireTable(list.table), catalogue)
            switch list.content {
            case .referrers(let column):
                let filter = try condition(column, owner, key, view)
                return try page(target, filter, view).json(total: nil)
            case .keys(let position):
                return try page(ofKeys: keys(owner, key, position, view), target, view)
            }
        }
    }

    /// The rows of a table that refer to one row.
    func condition(_ column: String, _ owner: StudioTable, _ key: RowKey, _ view: Snapshot) throws -> Condition {
        if let id = key.rowID { return try Condition.parse("\(SchemaText.name(column)) = \(id)") }
        let values = try owner.handle.withRow(key, in: view) { row in
            owner.handle.schema.keyColumns.map { owner.value($0, key, row) }
        }
        guard let value = values?.first else { throw StudioRefusal("The row is gone.", status: 404) }
        return try Condition.parse("\(SchemaText.name(column)) = \(SchemaText.literal(value))")
    }

    /// The keys in a list of a row, in the order in which it holds them.
    func keys(_ owner: StudioTable, _ key: RowKey, _ position: Int, _ view: Snapshot) throws -> [RowKey] {
        var keys: [RowKey] = []
        _ = try owner.handle.withRow(key, in: view) { row in
            guard case .blob(let bytes) = row.value(position), let tree = KeyTree(bytes) else { return }
            tree.forEachKey { _, key in keys.append(key) }
        }
        return keys
    }

    private func page(ofKeys keys: [RowKey], _ table: StudioTable, _ view: Snapshot) throws -> JSONValue {
        let limit = try limit()
        var first = 0
        if let after = try number("after") { first = Int(clamping: after) + 1 }
        if let before = try number("before") { first = max(0, Int(clamping: before) - limit) }
        first = min(first, keys.count)
        let last = min(first + limit, keys.count)
        var page = StudioPage(isStart: first == 0, isEnd: last == keys.count)
        for index in first..<last {
            let row = try table.handle.withRow(keys[index], in: view) {
                try table.json(keys[index], $0, cursor: String(index), in: view)
            }
            if let row { page.rows.append(row) }
        }
        return page.json(total: keys.count)
    }

    private func page(_ table: StudioTable, _ filter: Condition?, _ view: Snapshot) throws -> StudioPage {
        let order = try StudioOrder(optional("order"), table)
        let limit = try limit()
        guard order.isByValue else { return try numberedPage(table, filter, order, view) }
        let isBackward = optional("before") != nil || optional("at").flatMap(Double.init).map { $0 >= 1 } == true
        let cursor = optional("after") ?? optional("before")
        var condition = filter
        if let cursor {
            let bound = try order.condition(from: cursor, isBackward: isBackward)
            condition = condition.map { $0 && bound } ?? bound
        }
        let selection = Selection(
            table: table.name, condition: condition, orderBy: order.orders(isBackward: isBackward), limit: limit + 1)
        var rows = try found(selection, table, view) { key, row, _ in order.cursor(table, key, row) }
        let isCut = rows.count > limit
        if isCut { rows.removeLast() }
        if isBackward { rows.reverse() }
        return StudioPage(
            rows: rows, isStart: isBackward ? !isCut : cursor == nil, isEnd: isBackward ? cursor == nil : !isCut)
    }

    /// A page of rows in an order of computed values, whose cursor is the number of a row.
    private func numberedPage(
        _ table: StudioTable, _ filter: Condition?, _ order: StudioOrder, _ view: Snapshot
    ) throws -> StudioPage {
        var limit = try limit()
        var first = 0
        if let after = try number("after") { first = Int(clamping: after) + 1 }
        if let before = try number("before") {
            let before = Int(clamping: before)
            first = max(0, before - limit)
            limit = min(limit, before - first)
        }
        let selection = Selection(
            table: table.name, condition: filter, orderBy: order.orders(isBackward: false), limit: limit + 1,
            offset: first)
        var rows = try found(selection, table, view) { _, _, index in String(first + index) }
        let isCut = rows.count > limit
        if isCut { rows.removeLast() }
        return StudioPage(rows: rows, isStart: first == 0, isEnd: !isCut)
    }

    private func found(
        _ selection: Selection, _ table: StudioTable, _ view: Snapshot,
        cursor: (RowKey, RowReader, Int) -> String
    ) throws -> [JSONValue] {
        try database.limited(optional("id")) { cancellation in
            var plan = try selection.plan(table.catalogue, in: view)
            plan.cancellation = cancellation
            var rows: [JSONValue] = []
            try plan.forEachRow(in: view) { key, row in
                rows.append(try table.json(key, row, cursor: cursor(key, row, rows.count), in: view))
                return true
            }
            return rows
        }
    }

    /// The page that begins at a share of the ids of a table: near the row at that share, where few rows were deleted.
    private func page(at place: Double, _ table: StudioTable, _ view: Snapshot) throws -> JSONValue {
        let total = try table.handle.count(in: view)
        guard case .rowID(let id) = table.handle.schema.key, place > 0, place < 1,
            let low = try edge(table, isLast: false, view), let high = try edge(table, isLast: true, view)
        else { return try page(table, nil, view).json(total: total) }
        let span = Double(high) - Double(low)
        let first = Int64(exactly: (Double(low) + span * place).rounded(.down)) ?? low
        let limit = try limit()
        let name = SchemaText.name(id)
        let order = try StudioOrder(nil, table)
        let selection = Selection(
            table: table.name, condition: try Condition.parse("\(name) >= \(first)"),
            orderBy: order.orders(isBackward: false), limit: limit + 1)
        var rows = try found(selection, table, view) { key, row, _ in order.cursor(table, key, row) }
        let isCut = rows.count > limit
        if isCut { rows.removeLast() }
        return StudioPage(rows: rows, isStart: first <= low, isEnd: !isCut).json(total: total)
    }

    /// The first id of a table, or the last one.
    private func edge(_ table: StudioTable, isLast: Bool, _ view: Snapshot) throws -> Int64? {
        let order = try StudioOrder(nil, table).orders(isBackward: isLast)
        var id: Int64?
        try Selection(table: table.name, orderBy: order, limit: 1).plan(table.catalogue, in: view)
            .forEachRow(in: view) { key, _ in
                id = key.rowID
                return false
            }
        return id
    }

    // MARK: One row

    func row() throws -> JSONValue {
        try read { view, catalogue in
            let table = try table(catalogue)
            let key = try table.key(try text("key"))
            let cells = try table.handle.withRow(key, in: view) {
                try table.cells(key, $0, isWhole: true, in: view)
            }
            guard let cells else {
                throw StudioRefusal("There is no row \(try text("key")) in \(table.name).", status: 404)
            }
            let lists = try table.lists.map { try counted($0, table, key, view) }
            return .object([
                ("name", try table.title(of: key, in: view).map(JSONValue.string) ?? .null),
                ("cells", .array(cells)), ("lists", .array(lists)),
                ("history", .array(try history(of: key, table, view))),
            ])
        }
    }

    /// So many rows of a list are counted.
    private static let countLimit = 10_000

    private func counted(
        _ list: StudioList, _ table: StudioTable, _ key: RowKey, _ view: Snapshot
    ) throws -> JSONValue {
        var count = 0
        switch list.content {
        case .keys(let position): count = try keys(table, key, position, view).count
        case .referrers(let column):
            let selection = Selection(
                table: list.table, condition: try condition(column, table, key, view), limit: Self.countLimit)
            try database.limited(nil) { cancellation in
                var plan = try selection.plan(table.catalogue, in: view)
                plan.cancellation = cancellation
                try plan.forEachRow(in: view) { _, _ in
                    count += 1
                    return true
                }
            }
        }
        return .object([
            ("name", .string(list.name)), ("table", .string(list.table)), ("count", .number(count)),
            ("exact", .bool(count < Self.countLimit)),
        ])
    }

    /// The bytes of one value.
    func blob() throws -> StudioAnswer {
        try read { view, catalogue in
            let table = try table(catalogue)
            let key = try table.key(try text("key"))
            let column = try text("column")
            let value = try table.handle.withRow(key, in: view) { table.value(column, key, $0) }
            guard case .blob(let bytes)? = value else {
                throw StudioRefusal("There are no bytes in \(column) of this row.", status: 404)
            }
            if let media = StudioCell.mediaType(of: bytes) { return StudioAnswer(mediaType: media, body: bytes) }
            return StudioAnswer(mediaType: "application/octet-stream", body: bytes, fileName: "value.bin")
        }
    }

    /// Rows whose name begins with a text, or that have it as their key.
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
