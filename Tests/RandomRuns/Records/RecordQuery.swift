import MakoRecords
import MakoStorage
import MakoTestSupport

/// A random query of a table, and its result by plain Swift.
struct RecordQuery {
    var selection: Selection
    private let table: ModelTable
    private let model: RecordModel

    init(_ table: ModelTable, of model: RecordModel, _ random: inout SplitMix) {
        self.table = table
        self.model = model
        selection = Selection(table: table.schema.name)
        if random.chance(80) { selection.condition = condition(&random, depth: random.below(3)) }
        selection.orderBy = order(&random)
        if random.chance(25) { selection.limit = random.below(12) }
        if random.chance(15) { selection.offset = random.below(8) }
    }

    /// The rows in the order of an index: what the index holds must be what the rows give.
    init(_ table: ModelTable, of model: RecordModel, inOrderOf index: IndexSchema, isReversed: Bool) {
        self.table = table
        self.model = model
        selection = Selection(
            table: table.schema.name,
            orderBy: index.columns.map {
                Order($0.name, descending: $0.descending != isReversed, noCase: $0.noCase)
            })
    }

    // MARK: Drawing

    private func order(_ random: inout SplitMix) -> [Order] {
        if random.chance(40) { return [] }
        if random.chance(40), !table.schema.indexes.isEmpty {
            let turned = random.chance(50)
            return random.pick(table.schema.indexes).columns.map {
                Order($0.name, descending: $0.descending != turned, noCase: $0.noCase)
            }
        }
        return (0..<(1 + random.below(2))).map { _ in
            let column = random.pick(table.schema.columns)
            return Order(
                column.name, descending: random.chance(50), noCase: column.type == .text && random.chance(30))
        }
    }

    private func condition(_ random: inout SplitMix, depth: Int) -> Condition {
        if depth > 0, random.chance(65) {
            let parts = (0..<(2 + random.below(2))).map { _ in condition(&random, depth: depth - 1) }
            return random.chance(60) ? .and(parts) : random.chance(60) ? .or(parts) : .not(parts[0])
        }
        let column = random.pick(table.schema.columns)
        if table.isRowID, random.chance(12) { return test(.path("id"), .integer, &random) }
        if column.type == .reference, let target = column.target.flatMap({ model.tables[$0] }), target.isRowID,
            random.chance(60)
        {
            let other = random.pick(target.schema.columns)
            return test(.path("\(column.name).\(other.name)"), other.type, &random)
        }
        return test(.path(column.name), column.type, &random)
    }

    private func test(_ expr: Expr, _ type: ColumnType, _ random: inout SplitMix) -> Condition {
        let operations: [ComparisonOperator] = [
            .equal, .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
        ]
        func literal(_ random: inout SplitMix) -> Expr {
            // Half of the time a value that a row has.
            if random.chance(50), case .column(let path, _) = expr, path.count == 1, let place = table.place(path[0]),
                let row = table.rows.randomElement(using: &random)
            {
                return .literal(row.values[place])
            }
            return .literal(random.value(type))
        }
        switch random.below(10) {
        case 0: return .isNull(expr)
        case 1:
            let items = (0..<random.pick([0, 1, 2, 4, 12])).map { _ in literal(&random) }
            return random.chance(50) ? .isIn(expr, items) : .isAmong(expr, items.values)
        case 2: return .between(expr, literal(&random), literal(&random))
        case 3 where type == .text:
            return .like(
                expr, .literal(.text(random.pick(["a%", "%", "A_", "%b", "1%", "long%x", "é%"]))), escape: nil)
        case 4 where type == .text: return .comparison(random.pick(operations), .noCase(expr), literal(&random))
        case 5 where type == .bool: return .truth(expr)
        case 6 where type == .integer:
            return .comparison(random.pick(operations), expr, .literal(.double(random.pick([1.5, 2, -0.5, .nan]))))
        default: return .comparison(random.pick(operations), expr, literal(&random))
        }
    }

    // MARK: Answering

    /// The expected rows, in one of the permitted orders.
    private func answer() -> [ModelTable.Row] {
        let matching = matching()
        if selection.orderBy.isEmpty { return matching }
        return matching.map { (row: $0, key: sortKey($0)) }.sorted { compare($0.key, $1.key) < 0 }.map(\.row)
    }

    func matching() -> [ModelTable.Row] {
        guard let condition = selection.condition else { return table.rows }
        let oracle = BruteForce { name, value in
            guard let target = table.schema.column(named: name)?.target.flatMap({ model.tables[$0] }),
                case .integer(let id) = value
            else { return nil }
            return target.row(.rowID(id)).map { named($0, target) }
        }
        return table.rows.filter { oracle.truth(condition, named($0, table)) == true }
    }

    private func named(_ row: ModelTable.Row, _ table: ModelTable) -> BruteForce.Row {
        var values: BruteForce.Row = [:]
        for place in table.live { values[table.columns[place].name] = row.values[place] }
        if let id = row.key.rowID { values["id"] = .integer(id) }
        return values
    }

    private func sortKey(_ row: ModelTable.Row) -> [Value] {
        selection.orderBy.map { order in
            guard case .column(let path, _) = order.expr, let place = table.place(path[0]) else { return .null }
            return order.noCase ? BruteForce.folded(row.values[place]) : row.values[place]
        }
    }

    private func compare(_ a: [Value], _ b: [Value]) -> Int {
        for (place, order) in selection.orderBy.enumerated() {
            let (x, y) = (a[place], b[place])
            let result = x.isNull || y.isNull ? (x.isNull ? 0 : 1) - (y.isNull ? 0 : 1) : x.compare(y) ?? 0
            if result != 0 { return order.descending ? -result : result }
        }
        return 0
    }

    /// Runs the query in the record layer and compares: which rows, in which order, how many, and their values.
    func check(_ catalogue: Catalogue, _ view: Snapshot) throws {
        let plan = try selection.plan(catalogue)
        let all = answer()
        let start = min(selection.offset ?? 0, all.count)
        let expected = all[start..<min(all.count, start + min(selection.limit ?? .max, all.count))]
        func differs(_ what: String) -> Disagreement { Disagreement("\(what): \(plan)") }
        let keys = try plan.keys(in: view)
        guard keys.count == expected.count else { throw differs("\(keys.count) rows, not \(expected.count)") }
        guard Set(keys).count == keys.count else { throw differs("a row comes twice") }
        guard try plan.count(in: view) == expected.count else { throw differs("the count is wrong") }
        guard try plan.exists(in: view) == !expected.isEmpty else { throw differs("whether there are any is wrong") }
        let rows = Dictionary(uniqueKeysWithValues: all.map { ($0.key, $0) })
        for (key, row) in zip(keys, expected) {
            guard let found = rows[key] else { throw differs("row \(key) does not fulfil it") }
            guard compare(sortKey(found), sortKey(row)) == 0 else { throw differs("row \(key) is out of order") }
        }
        var scanned: [RowKey] = []
        try plan.forEachRow(in: view) { key, row in
            let values = (0..<plan.table.layout.count).map { row.value($0) }
            guard let model = rows[key], table.shown(model) == values else { throw differs("row \(key) is \(values)") }
            scanned.append(key)
            return true
        }
        guard scanned == keys else { throw differs("rows and keys come in different orders") }
    }
}

extension [Expr] {
    /// Those that are literals.
    fileprivate var values: [Value] { compactMap { if case .literal(let value, _) = $0 { value } else { nil } } }
}
