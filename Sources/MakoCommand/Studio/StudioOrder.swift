import MakoRecords
import MakoStorage

/// One page of rows, and whether it is the first or the last.
struct StudioPage {
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

/// The order of a grid: the columns that the user chose, then the key, so that the order is total.
struct StudioOrder {
    private let orders: [Order]
    /// The columns of the order; nil: it has other expressions, and cursors are row positions.
    private let columns: [(name: String, isDescending: Bool)]?
    /// The columns that may be NULL. Conditions on other columns omit NULL, so that they can use an index.
    private let optional: Set<String>

    init(_ text: String?, _ table: StudioTable) throws {
        let chosen = try text.map { try Order.parse($0) } ?? []
        var columns: [(name: String, isDescending: Bool)]? = []
        for order in chosen {
            let name = order.expr.writtenPath.flatMap { path in table.columns.first { $0.name == path }?.name }
            if let name, !order.noCase, order.nullsFirst == nil {
                columns?.append((name, order.descending))
            } else {
                columns = nil
            }
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

    /// Whether cursors are values, not row positions.
    var isByValue: Bool { columns != nil }

    func orders(isBackward: Bool) -> [Order] {
        isBackward ? orders.map(\.reversed) : orders
    }

    func cursor(_ table: StudioTable, _ key: RowKey, _ row: RowReader) -> String {
        JSONValue.texts((columns ?? []).map { SchemaText.literal(table.value($0.name, key, row)) }).text
    }

    /// The place of a row among others, as bytes in their order.
    ///
    /// - Parameter orders: the columns and directions that ``orders(isBackward:)`` gave.
    func place(_ table: StudioTable, _ key: RowKey, _ row: RowReader, _ orders: [Order]) -> [UInt8] {
        zip(columns ?? [], orders).flatMap { column, order -> [UInt8] in
            guard case .bytes(let bytes) = RowKey(values: [table.value(column.name, key, row)]) else { return [] }
            return order.descending ? bytes.map { ~$0 } : bytes
        }
    }

    private func below(_ column: String, _ literal: String) -> String {
        let name = SchemaText.name(column)
        return optional.contains(column) ? "(\(name) < \(literal) OR \(name) IS NULL)" : "\(name) < \(literal)"
    }

    /// The condition for the rows after a cursor, or before it: their first different value is beyond the cursor's.
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
            // NULL sorts before all values.
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
