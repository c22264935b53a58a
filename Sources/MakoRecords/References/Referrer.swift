import MakoStorage

/// A row of a database: the number of its table, and its key.
@usableFromInline
package struct RowPlace: Sendable, Hashable {
    /// The number of the table.
    package let table: UInt32
    /// The key of the row.
    package let key: RowKey

    /// Makes a row of a table.
    package init(_ table: TableHandle, _ key: RowKey) { self.init(table: table.number, key: key) }

    init(table: UInt32, key: RowKey) {
        self.table = table
        self.key = key
    }
}

extension RowPlace {
    /// Returns the keys of rows by table, each once, in the order of their first mention.
    package static func byTable(_ rows: [RowPlace]) -> [(table: UInt32, keys: [RowKey])] {
        var groups: [(table: UInt32, keys: [RowKey])] = []
        var places: [UInt32: Int] = [:]
        var seen: Set<RowPlace> = []
        for row in rows where seen.insert(row).inserted {
            if let place = places[row.table] {
                groups[place].keys.append(row.key)
            } else {
                places[row.table] = groups.count
                groups.append((row.table, [row.key]))
            }
        }
        return groups
    }
}

/// A column that may refer to rows of a table.
@usableFromInline
package struct Referrer: Sendable {
    /// The table of the column.
    package let table: TableHandle
    /// The name of the column.
    package let column: String
    /// The layout of the column alone.
    package let layout: RowLayout
    /// Whether the column holds several keys.
    package let holdsMany: Bool
    /// Whether the column can be set to NULL.
    let isOptional: Bool
    /// Whether comparisons of the column ignore case.
    let isNoCase: Bool
    /// Whether the column refers to rows of any table.
    let isAny: Bool
    private let type: ColumnType
    /// The referenced table.
    package let target: TableHandle
    /// The delete rule of its references; `nil` if the file has none.
    package let rule: ReferenceRule?
    /// Whether its rows own those to which they refer; `nil` if the file does not define it.
    package let isOwner: Bool?

    /// Makes a referrer.
    ///
    /// - Throws: `RecordError.columnNotFound`.
    package init(
        _ column: ColumnSchema, of table: TableHandle, to target: TableHandle, _ entry: ReferenceRules.Entry? = nil
    ) throws(RecordError) {
        self.table = table
        self.column = column.name
        self.target = target
        layout = try table.layout(for: [column.name])
        type = column.type
        holdsMany = column.type == .keys
        isOptional = column.isOptional
        isNoCase = column.isNoCase
        isAny = column.target == AnyReference.anyTable
        rule = entry?.rule
        isOwner = entry?.isOwned
    }

    /// Returns the element by which a column of keys refers to a row.
    func element(_ key: RowKey) -> RowKey {
        isAny ? AnyReference(table: target.schema.name, key: key).element : key
    }

    /// Returns the rows that refer to a row of the target.
    ///
    /// - Parameters:
    ///   - limit: the largest number of rows; `nil` for no limit.
    ///   - cancellation: ends a scan with `RecordError.cancelled`.
    /// - Complexity: a lookup if an index starts with the column, otherwise a scan of the table.
    package func rows(
        referringTo key: RowKey, _ catalogue: Catalogue, _ view: Snapshot, limit: Int? = nil,
        _ cancellation: Cancellation? = nil
    ) throws(RecordError) -> [RowKey] {
        if holdsMany { return try table.keys(holding: element(key), in: column, view: view, limit: limit) }
        guard let value = try stored(key) else { return [] }
        let selection = Selection(
            table: table.schema.name, condition: .comparison(.equal, .column([column]), .literal(value, at: .none)),
            limit: limit)
        var plan = try selection.plan(catalogue)
        plan.cancellation = cancellation
        return try plan.keys(in: view)
    }

    /// Returns the value by which a column that holds no list refers to a row.
    func stored(_ key: RowKey) throws(RecordError) -> Value? {
        if isAny { return AnyReference(table: target.schema.name, key: key).stored }
        let values = try key.values(in: target.schema)
        // A column holds a single value, and a value of another type is no key.
        return values.count == 1 ? type.coerced(values[0]) : nil
    }
}

extension Catalogue {
    /// Returns the columns of all tables that may refer to rows of a table, with their delete rules.
    package func referrers(of target: TableHandle) throws(RecordError) -> [Referrer] {
        var referrers: [Referrer] = []
        for table in handles {
            for column in table.schema.liveColumns
            where column.target == target.schema.name || column.target == AnyReference.anyTable {
                let entry = rules.entry(table.schema.name, column.name, target: target.schema.name)
                referrers.append(try Referrer(column, of: table, to: target, entry))
            }
        }
        return referrers
    }

    /// Returns the rows of a table that no other row owns, in the given order. If the file does not define owners, any
    /// referring row may be one.
    package func unowned(
        _ keys: [RowKey], of table: TableHandle, _ referrers: [Referrer], _ view: Snapshot
    ) throws(RecordError) -> [RowKey] {
        var rest = keys
        for referrer in referrers where referrer.isOwner != false {
            let isOwnTable = referrer.table.number == table.number
            var owned: Set<RowKey> = []
            for row in try referrer.rows(referringTo: rest, self, view) where !isOwnTable || row.holder != row.key {
                owned.insert(row.key)
            }
            rest.removeAll { owned.contains($0) }
        }
        return rest
    }

    /// Returns the columns by which rows of a table own others; `nil` if there are none.
    package func ownedColumns(of table: TableHandle) throws(RecordError) -> OwnedColumns? {
        let owned = table.schema.liveColumns.filter { column in
            guard let target = column.target else { return false }
            return rules.entry(table.schema.name, column.name, target: target)?.isOwned == true
        }
        return owned.isEmpty ? nil : try OwnedColumns(owned, of: table)
    }
}

/// The columns by which the rows of a table own others.
package struct OwnedColumns: Sendable {
    private let table: TableHandle
    private let columns: [ColumnSchema]
    private let layout: RowLayout

    fileprivate init(_ columns: [ColumnSchema], of table: TableHandle) throws(RecordError) {
        self.table = table
        self.columns = columns
        layout = try table.layout(for: columns.map(\.name))
    }

    func contains(_ name: String) -> Bool { columns.contains { $0.name == name } }

    /// Returns the rows that a stored row owns, in order; empty for a missing row.
    package func rows(
        ownedBy key: RowKey, _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) -> [RowPlace] {
        try recorded {
            var rows: [RowPlace] = []
            _ = try table.withRow(key, layout: layout, in: view) { row in
                for (position, column) in columns.enumerated() where !row.isNull(position) {
                    if column.target == AnyReference.anyTable {
                        rows += catalogue.rows(referredToBy: row.value(position), column).compactMap(\.self)
                        continue
                    }
                    guard let held = column.target.flatMap({ catalogue.table(named: $0) }) else { continue }
                    if column.type == .keys {
                        KeyTree(row.blob(position))?.forEachKey { number, key in
                            rows.append(RowPlace(table: number == 0 ? held.number : number, key: key))
                        }
                    } else if let key = held.key(referredToBy: row.value(position)) {
                        rows.append(RowPlace(held, key))
                    }
                }
            }
            return rows
        }
    }
}

extension Catalogue {
    /// Returns the rows to which a value of a column that refers to rows of any table refers; `nil` for a value that is no
    /// reference, or one to a table that does not exist. Values among the elements refer to no row.
    func rows(referredToBy value: Value, _ column: ColumnSchema) -> [RowPlace?] {
        func place(_ reference: AnyReference?) -> RowPlace? {
            reference.flatMap { found in table(named: found.table).map { RowPlace($0, found.key) } }
        }
        guard column.type == .keys else { return [place(AnyReference(value))] }
        guard case .blob(let bytes) = value, let tree = KeyTree(bytes) else { return [] }
        return tree.keys.filter { $0.elementValue == nil }.map { place(AnyReference(element: $0)) }
    }
}

extension TableHandle {
    /// Returns the key to which a value of a referring column refers; `nil` if it cannot be a key.
    func key(referredToBy value: Value) -> RowKey? {
        switch schema.key {
        case .rowID:
            guard case .integer(let id)? = ColumnType.integer.coerced(value) else { return nil }
            return .rowID(id)
        case .columns(let names):
            guard names.count == 1, let type = schema.column(named: names[0])?.type, let fitting = type.coerced(value),
                !fitting.isNull
            else { return nil }
            return RowKey(values: [fitting])
        }
    }
}
