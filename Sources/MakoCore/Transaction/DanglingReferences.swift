import MakoRecords
import MakoStorage

/// Removes dangling references after a migration. They arise when rows were deleted while a referring column was
/// retired, or when the target table was created anew: objects read them as nil, queries as a key, which a new row may
/// get.
struct DanglingReferences {
    /// A column that may hold dangling references after a migration.
    private struct Column {
        let table: String
        let name: String
        /// The target tables to check in a column that refers to rows of any table; empty: all.
        var targets: [String] = []
        /// Whether a value has several keys, of which any may lead to these tables.
        var holdsMany = false

        /// The rows to check.
        var rows: Selection {
            let column = Expr.column([name])
            if targets.isEmpty || holdsMany { return Selection(table: table, condition: .not(.isNull(column))) }
            // A stored reference starts with the table name and a colon; the semicolon is the next character after the
            // colon.
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
            guard let table = after.table(named: report.table) else { continue }
            let old = before.table(numbered: table.number)?.schema
            for column in table.schema.liveColumns where column.target != nil {
                if DanglingReferences.isRestored(column, old, report.steps) {
                    columns.append(Column(table: report.table, name: column.name))
                }
            }
        }
        if made.isEmpty { return }
        for table in before.handles {
            for stored in table.schema.liveColumns {
                guard let target = stored.target else { continue }
                let column = Column(table: table.schema.name, name: stored.name)
                if target == AnyReference.anyTable {
                    let holdsMany = stored.holdsAnyKeys
                    columns.append(
                        Column(table: column.table, name: column.name, targets: made, holdsMany: holdsMany))
                } else if made.contains(target) {
                    columns.append(column)
                }
            }
        }
    }

    /// Returns whether a migration shows a column again that was retired, under any name.
    private static func isRestored(
        _ column: ColumnSchema, _ old: EntitySchema?, _ steps: [MakoRecords.MigrationStep]
    ) -> Bool {
        if old?.retiredColumns.contains(where: { $0.ordinal == column.ordinal }) == true { return true }
        // A column whose values were converted has another ordinal.
        return steps.contains { step in
            switch step {
            case .restoreColumn(let name): name == column.name
            case .renameColumn(let from, let name):
                name == column.name && old?.liveColumns.contains { $0.name == from } == false
            default: false
            }
        }
    }

    /// Sets dangling references to NULL and removes them from collections.
    ///
    /// - Returns: the tables whose rows changed.
    func clear(_ schema: SchemaState, in transaction: Transaction) throws(MakoError) -> [String] {
        var changed: [String] = []
        // Watchers get these tables as a whole, not row by row.
        var unreported = transaction.changes.empty
        var writer = RowWriter()
        for column in columns {
            // A migration step may have removed the column.
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
                    try table.update(&writer, key: key, in: tx, changes: &unreported)
                }
            }
            if isChanged { changed.append(column.table) }
        }
        return changed
    }

    /// Looks up each row once.
    private struct RowsOfTables {
        let catalogue: Catalogue
        let view: Snapshot
        private var known: [String: [RowKey: Bool]] = [:]

        init(catalogue: Catalogue, view: Snapshot) {
            self.catalogue = catalogue
            self.view = view
        }

        /// The value without its dangling references; nil when it has none.
        mutating func existing(
            _ value: StoredValue, _ column: ColumnSchema, _ target: String
        ) throws(MakoError) -> StoredValue? {
            if target == AnyReference.anyTable {
                if column.holdsAnyKeys { return try existing(elements: value) }
                guard let reference = AnyReference(value), try !contains(reference) else { return nil }
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

        /// The value of a column of keys of any table without its dangling keys; nil when it has none.
        private mutating func existing(elements value: StoredValue) throws(MakoError) -> StoredValue? {
            guard case .blob(let bytes) = value, let tree = KeyTree(bytes) else { return nil }
            var gone: Set<RowKey> = []
            for key in tree.keys {
                if let reference = AnyReference(element: key), try !contains(reference) { gone.insert(key) }
            }
            if gone.isEmpty { return nil }
            return tree.removing { gone.contains($1) }.map { .blob($0.encoded) } ?? .null
        }

        private mutating func contains(_ reference: AnyReference) throws(MakoError) -> Bool {
            try contains(reference.key, reference.table)
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
