import MakoRecords
import MakoStorage

/// References to rows that are not there. They come about where a column was out of sight while rows went, or its target's table was made
/// anew: objects would show nil, and queries a key, which another row may get.
struct DanglingReferences {
    /// A column that a migration may have left with some.
    private struct Column {
        let table: String
        let name: String
        /// The tables that they lead to, where the column leads to rows of any; empty: all.
        var targets: [String] = []

        /// The rows that are looked at.
        var rows: Selection {
            let column = Expr.column([name])
            if targets.isEmpty { return Selection(table: table, condition: .not(.isNull(column))) }
            // The text of a reference begins with the table's name and a colon, behind which the semicolon comes next.
            let ranges = targets.map { target in
                MakoRecords.Condition.and([
                    .comparison(.greaterOrEqual, column, .literal(.text(target + ":"), at: .none)),
                    .comparison(.less, column, .literal(.text(target + ";"), at: .none)),
                ])
            }
            return Selection(table: table, condition: .or(ranges))
        }
    }
    private var columns: [Column] = []

    /// - Parameter before: the catalogue before the migration.
    init(_ reports: [MigrationReport], before: Catalogue, after: Catalogue) {
        var made: [String] = []
        for report in reports {
            for case .createTable(let name) in report.steps { made.append(name) }
            let table = after.table(named: report.table)
            for case .restoreColumn(let name) in report.steps where table?.schema.column(named: name)?.target != nil {
                columns.append(Column(table: report.table, name: name))
            }
        }
        if made.isEmpty { return }
        for table in before.handles {
            for column in table.schema.liveColumns {
                guard let target = column.target else { continue }
                let column = Column(table: table.schema.name, name: column.name)
                if target == AnyReference.anyTable {
                    columns.append(Column(table: column.table, name: column.name, targets: made))
                } else if made.contains(target) {
                    columns.append(column)
                }
            }
        }
    }

    /// Makes them NULL, and takes them out of collections.
    ///
    /// - Returns: the tables with rows that were changed.
    func clear(_ schema: SchemaState, in transaction: Transaction) throws(MakoError) -> [String] {
        var changed: [String] = []
        // The tables are told of as a whole.
        var untold = transaction.changes.empty
        var writer = RowWriter()
        for column in columns {
            // A step by hand may have taken it away.
            guard let table = schema.catalogue.table(named: column.table),
                let stored = table.schema.column(named: column.name), let target = stored.target
            else { continue }
            var rows = RowsOfTables(catalogue: schema.catalogue, view: transaction.view)
            let layout = try records { () throws(RecordError) in try table.layout(for: [column.name]) }
            var isChanged = false
            for key in try records({ () throws(RecordError) in
                try column.rows.plan(schema.catalogue).keys(in: transaction.view)
            }) {
                let found = try translated {
                    try table.withRow(key, layout: layout, in: transaction.view) { $0.value(0) } ?? .null
                }
                guard let rest = try rows.existing(found, stored, target) else { continue }
                isChanged = true
                writer.begin(layout)
                if rest.isNull { writer.setNull(0) } else { writer.set(0, rest) }
                _ = try transaction.tableAlone(table) { (table, tx) throws(RecordError) in
                    try table.update(&writer, key: key, in: tx, changes: &untold)
                }
            }
            if isChanged { changed.append(column.table) }
        }
        return changed
    }

    /// Which rows there are, each looked up once.
    private struct RowsOfTables {
        let catalogue: Catalogue
        let view: Snapshot
        private var known: [String: [RowKey: Bool]] = [:]

        init(catalogue: Catalogue, view: Snapshot) {
            self.catalogue = catalogue
            self.view = view
        }

        /// What a column is to hold in place of a value with references to rows that are not there; nil: the value.
        mutating func existing(
            _ value: StoredValue, _ column: ColumnSchema, _ target: String
        ) throws(MakoError) -> StoredValue? {
            if target == AnyReference.anyTable {
                guard let reference = AnyReference(value), try !contains(reference.key, reference.table) else {
                    return nil
                }
                return .null
            }
            guard column.type == .keys else {
                var key = RowKey(values: [value])
                if case .rowID? = catalogue.table(named: target)?.schema.key, case .integer(let id) = value {
                    key = .rowID(id)
                }
                return try contains(key, target) ? nil : .null
            }
            guard case .blob(let bytes) = value, let tree = KeyTree(bytes) else { return nil }
            var gone: Set<RowKey> = []
            var keys: [RowKey] = []
            tree.forEachKey { table, key in if table == 0 { keys.append(key) } }
            for key in keys where try !contains(key, target) { gone.insert(key) }
            if gone.isEmpty { return nil }
            return tree.removing { $0 == 0 && gone.contains($1) }.map { .blob($0.encoded) } ?? .null
        }

        private mutating func contains(_ key: RowKey, _ name: String) throws(MakoError) -> Bool {
            if let known = known[name]?[key] { return known }
            guard let table = catalogue.table(named: name) else { return false }
            let isThere = try records { () throws(RecordError) in try table.contains(key, in: view) }
            known[name, default: [:]][key] = isThere
            return isThere
        }
    }
}
