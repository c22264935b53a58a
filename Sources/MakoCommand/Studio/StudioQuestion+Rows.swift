import MakoRecords
import MakoStorage

extension StudioQuestion {
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
            let key = try owner.key(try givenKey())
            let name = try text("list")
            guard let list = owner.lists.first(where: { $0.name == name }) else {
                throw StudioRefusal("\(owner.name) has no list \(name).", status: 404)
            }
            if list.table == AnyReference.anyTable {
                throw StudioRefusal("\(name) holds rows of several tables, of which the page shows the number only.")
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

    /// The condition for rows that refer to a row.
    func condition(_ column: String, _ owner: StudioTable, _ key: RowKey, _ view: Snapshot) throws -> Condition {
        if let id = key.rowID { return try Condition.parse("\(SchemaText.name(column)) = \(id)") }
        let values = try owner.handle.withRow(key, in: view) { row in
            owner.handle.schema.keyColumns.map { owner.value($0, key, row) }
        }
        guard let value = values?.first else { throw StudioRefusal("The row is gone.", status: 404) }
        return try Condition.parse("\(SchemaText.name(column)) = \(SchemaText.literal(value))")
    }

    /// The keys in a to-many column of a row, in stored order.
    func keys(_ owner: StudioTable, _ key: RowKey, _ position: Int, _ view: Snapshot) throws -> [RowKey] {
        var keys: [RowKey] = []
        _ = try owner.handle.withRow(key, in: view) { row in
            guard case .blob(let bytes) = row.value(position), let tree = KeyTree(bytes) else { return }
            keys = tree.keys
        }
        return keys
    }

    private func page(ofKeys keys: [RowKey], _ table: StudioTable, _ view: Snapshot) throws -> JSONValue {
        let limit = try limit()
        var (first, last) = (0, keys.count)
        if let after = try place("after") { first = min(after, keys.count) + 1 }
        if let before = try place("before") { (first, last) = (max(0, before - limit), min(before, keys.count)) }
        first = min(first, keys.count)
        last = max(first, min(first + limit, last))
        var page = StudioPage(isStart: first == 0, isEnd: last == keys.count)
        let pinned = comparison(table)
        for index in first..<last {
            let key = keys[index]
            let row = try table.handle.withRow(key, in: view) { row in
                let differences = try pinned?.members(key, row, of: table) ?? []
                return try table.json(key, row, cursor: String(index), in: view, differences: differences)
            }
            if let row { page.rows.append(row) }
        }
        return page.json(total: keys.count)
    }

    private func page(_ table: StudioTable, _ filter: Condition?, _ view: Snapshot) throws -> StudioPage {
        let order = try StudioOrder(optional("order"), table)
        guard order.isByValue else { return try numberedPage(table, filter, order, view) }
        let isBackward = optional("before") != nil || optional("at").flatMap(Double.init).map { $0 >= 1 } == true
        let cursor = optional("after") ?? optional("before")
        var condition = filter
        if let cursor {
            let bound = try order.condition(from: cursor, isBackward: isBackward)
            condition = condition.map { $0 && bound } ?? bound
        }
        let selection = Selection(
            table: table.name, condition: condition, orderBy: order.orders(isBackward: isBackward))
        var (rows, isCut) = try sorted(selection, order, table, view)
        if isBackward { rows.reverse() }
        return StudioPage(
            rows: rows, isStart: isBackward ? !isCut : cursor == nil, isEnd: isBackward ? cursor == nil : !isCut)
    }

    /// A page of rows in an order of computed values, with row positions as cursors.
    private func numberedPage(
        _ table: StudioTable, _ filter: Condition?, _ order: StudioOrder, _ view: Snapshot
    ) throws -> StudioPage {
        var limit = try limit()
        var first = 0
        if let after = try place("after") { first = after + 1 }
        if let before = try place("before") {
            first = max(0, before - limit)
            limit = min(limit, before - first)
        }
        let selection = Selection(
            table: table.name, condition: filter, orderBy: order.orders(isBackward: false), limit: limit + 1,
            offset: first)
        let pinned = comparison(table)
        var rows = try found(selection, table, view) { key, row, index in
            let differences = try pinned?.members(key, row, of: table) ?? []
            return try table.json(key, row, cursor: String(first + index), in: view, differences: differences)
        }
        let isCut = rows.count > limit
        if isCut { rows.removeLast() }
        return StudioPage(rows: rows, isStart: first == 0, isEnd: !isCut)
    }

    /// Runs a selection within the limits.
    func found<R>(
        _ selection: Selection, _ table: StudioTable, _ view: Snapshot, _ body: (RowKey, RowReader, Int) throws -> R
    ) throws -> [R] {
        try database.limited(optional("id")) { cancellation in
            var plan = try selection.plan(table.catalogue, in: view)
            plan.cancellation = cancellation
            var rows: [R] = []
            try plan.forEachRow(in: view) { key, row in
                rows.append(try body(key, row, rows.count))
                return true
            }
            return rows
        }
    }

    /// The page at a fraction of the range of row numbers, which is near the row at that fraction if few rows were
    /// deleted.
    private func page(at place: Double, _ table: StudioTable, _ view: Snapshot) throws -> JSONValue {
        let total = try table.handle.count(in: view)
        guard case .rowID(let id) = table.handle.schema.key, place > 0, place < 1,
            let low = try edge(table, isLast: false, view), let high = try edge(table, isLast: true, view)
        else { return try page(table, nil, view).json(total: total) }
        let span = Double(high) - Double(low)
        let first = Int64(exactly: (Double(low) + span * place).rounded(.down)) ?? low
        let order = try StudioOrder(nil, table)
        let selection = Selection(
            table: table.name, condition: try Condition.parse("\(SchemaText.name(id)) >= \(first)"),
            orderBy: order.orders(isBackward: false))
        let (rows, isCut) = try sorted(selection, order, table, view)
        // Rows deleted since the pinned commit may come before the first of now.
        let isStart = first <= low && comparison(table) == nil
        return StudioPage(rows: rows, isStart: isStart, isEnd: !isCut).json(total: total)
    }

    /// The first or last row number of a table.
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
}
