import MakoStorage

/// The dangling references of a column.
public struct DanglingReferences: Sendable, Hashable, CustomStringConvertible {
    /// The name of the table.
    public var table: String
    /// The name of the column.
    public var column: String
    /// The number of dangling references.
    public var count: Int
    /// A row with one of them.
    public var row: NamedKey

    public var description: String {
        count == 1
            ? "\(table).\(column) of the row with key \(row) refers to a row that is not there"
            : "\(table).\(column) refers to rows that are not there, \(count) times; one is of the row with key \(row)"
    }
}

extension Catalogue {
    /// Calls a closure with each reference of a table's rows until it returns `false`: the row, the index of the live
    /// column, and the target row; `nil` if the value cannot be a key.
    func forEachReference(
        of table: TableHandle, in view: Snapshot, _ body: (RowKey, Int, RowPlace?) throws -> Bool
    ) throws(RecordError) {
        let columns = table.schema.liveColumns.enumerated().filter { $0.element.target != nil }
        if columns.isEmpty { return }
        let layout = try table.layout(for: columns.map(\.element.name))
        try recorded {
            try table.scan(layout: layout, in: view) { key, row in
                for (position, (place, column)) in columns.enumerated() where !row.isNull(position) {
                    for target in targets(of: row.value(position), column) {
                        guard try body(key, place, target) else { return false }
                    }
                }
                return true
            }
        }
    }

    /// Returns the rows to which a column's value refers.
    func targets(of value: Value, _ column: ColumnSchema) -> [RowPlace?] {
        if column.target == AnyReference.anyTable {
            return rows(referredToBy: value, column)
        }
        let target = column.target.flatMap { table(named: $0) }
        guard column.type == .keys else {
            return [target.flatMap { target in target.key(referredToBy: value).map { RowPlace(target, $0) } }]
        }
        var rows: [RowPlace?] = []
        guard case .blob(let bytes) = value else { return [] }
        KeyTree(bytes)?.forEachKey { number, key in
            rows.append(number == 0 ? target.map { RowPlace($0, key) } : RowPlace(table: number, key: key))
        }
        return rows
    }

    /// Returns whether a row exists.
    func contains(_ row: RowPlace, in view: Snapshot) throws(RecordError) -> Bool {
        guard let target = table(numbered: row.table), target.hasKeys(like: row.key) else { return false }
        return try target.contains(row.key, in: view)
    }

    /// Returns the dangling references of a table's rows, by column.
    func danglingReferences(of table: TableHandle, in view: Snapshot) throws(RecordError) -> [DanglingReferences] {
        var found: [Int: DanglingReferences] = [:]
        try forEachReference(of: table, in: view) { key, place, row in
            if let row, try contains(row, in: view) { return true }
            let name = table.schema.liveColumns[place].name
            found[
                place,
                default: .init(table: table.schema.name, column: name, count: 0, row: NamedKey(key, in: table.schema))
            ].count += 1
            return true
        }
        return found.sorted { $0.key < $1.key }.map(\.value)
    }
}
