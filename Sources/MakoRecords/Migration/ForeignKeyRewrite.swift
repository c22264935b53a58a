import MakoStorage

/// Rewrites foreign keys after rows move to another table or get other keys, and after a table is renamed.
struct ForeignKeyRewrite {
    private let merged: [TableMerge]
    /// The new names of tables, by the old ones.
    private let renamed: [String: String]
    private let fewestLoaded: Int

    /// - Parameter fewestLoaded: the number of rows from which on a table is filled by a bulk load.
    init(_ merged: [TableMerge], renamed: [String: String], fewestLoaded: Int = BulkLoading.fewestEntries) {
        self.merged = merged
        self.renamed = renamed
        self.fewestLoaded = fewestLoaded
    }

    /// The changes of a table's columns.
    private struct Columns {
        var followed: [ColumnSchema] = []
        /// The new forms of columns that hold single keys of a table whose key changes.
        var rekeyed: [ColumnSchema] = []
        var steps: [MigrationStep] = []
        /// The table with the new names of its targets.
        var after: TableRecord
    }

    /// - Returns: the steps of each affected table, by its old name.
    func run(
        _ records: [TableRecord], _ trees: (catalogue: Tree, ids: Tree),
        progress: ((MigratedRows) -> Void)? = nil, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> [String: [MigrationStep]] {
        var steps: [String: [MigrationStep]] = [:]
        if merged.isEmpty && renamed.isEmpty { return steps }
        let rules = try ReferenceRules.stored(in: tx.view)
        let followed = rules.renamed(newName)
        if followed != rules { try followed.store(in: tx) }
        for record in records {
            let columns = columns(of: record)
            if !columns.steps.isEmpty { steps[record.schema.name] = columns.steps }
            if merged.contains(where: { $0.keys != nil }) {
                if try isConcerned(columns, record, tx.view) {
                    try rewrite(columns, record, trees, progress, tx)
                    continue
                }
            } else if !columns.followed.isEmpty {
                try follow(columns.followed, record, columns.after, trees.ids, tx)
            }
            if columns.after != record { try StoredCatalogue.store(columns.after, trees.catalogue, tx) }
        }
        return steps
    }

    /// The tables after the rewrite, before any row is changed.
    struct Outlook {
        var records: [TableRecord] = []
        var steps: [String: [MigrationStep]] = [:]
        /// The present ordinals of the values of new columns, by the tables' numbers.
        var origins: [UInt32: [Int: Int]] = [:]
    }

    func outlook(_ records: [TableRecord]) -> Outlook {
        var outlook = Outlook()
        for record in records {
            let columns = columns(of: record)
            if !columns.steps.isEmpty { outlook.steps[record.schema.name] = columns.steps }
            var after = record
            for column in columns.rekeyed where column.type != record.columns[column.ordinal].type {
                outlook.origins[record.id, default: [:]][after.replace(column)] = column.ordinal
            }
            outlook.records.append(after)
        }
        return outlook
    }

    private func columns(of record: TableRecord) -> Columns {
        var result = Columns(after: record)
        for column in record.columns where !column.isDead {
            let target = column.target.map { newName($0) }
            if target != column.target { result.after.retarget(column.ordinal, to: target) }
            let source = merged.first { $0.record.schema.name == column.target }
            if source != nil || column.target == AnyReference.anyTable || column.type == .keys && !merged.isEmpty {
                result.followed.append(column)
            }
            guard let source, source.keys != nil else { continue }
            if !column.isRetired {
                result.steps.append(.followKeys(column.name, of: source.record.schema.name))
            }
            if column.type == .keys { continue }
            var new = result.after.columns[column.ordinal]
            if let type = source.referenceType, type != column.type {
                new.type = type
                (new.defaultValue, new.fill) = (.null, .null)
            }
            result.rekeyed.append(new)
        }
        return result
    }

    private func newName(_ table: String) -> String {
        merged.first { $0.record.schema.name == table }?.targetName ?? renamed[table] ?? table
    }

    private func follow(
        _ columns: [ColumnSchema], _ record: TableRecord, _ after: TableRecord, _ idTree: Tree,
        _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        let table = try StoredCatalogue.handle(record, idTree, RowIDSequence(), tx.view)
        let layout = RowLayout(record, positions: columns)
        var writer = RowWriter()
        // A row may get a key that a later row gives up.
        var changes = ChangeSet()
        changes.defersUnique = true
        var pieces = try RowPieces(table, tx.view)
        while try pieces.next() {
            for place in 0..<pieces.count {
                let row = try pieces.row(place, layout)
                var values: [(Int, Value)] = []
                for (position, column) in columns.enumerated() where !row.isNull(position) {
                    let value = row.value(position)
                    let new = try followed(value, column, record.schema.name)
                    if new != value { values.append((position, new)) }
                }
                if values.isEmpty { continue }
                writer.begin(layout)
                for (position, value) in values { writer.set(position, value) }
                _ = try table.update(&writer, key: pieces.keys[place], in: tx, changes: &changes)
            }
            let clashes = changes.clashes
            changes.removeAll()
            changes.clashes = clashes
        }
        try changes.settleUnique(tx.view)
    }

    // MARK: Changed keys

    /// Returns whether a row of the table must be changed.
    private func isConcerned(
        _ columns: Columns, _ record: TableRecord, _ view: Snapshot
    ) throws(RecordError) -> Bool {
        if !columns.rekeyed.isEmpty { return true }
        if columns.followed.isEmpty { return false }
        let table = try StoredCatalogue.rows(of: record, view)
        let layout = RowLayout(record, positions: columns.followed)
        var isConcerned = false
        try recorded {
            try table.scan(layout: layout, in: view) { _, row in
                for (position, column) in columns.followed.enumerated() where !row.isNull(position) {
                    let value = row.value(position)
                    isConcerned = try isConcerned || followed(value, column, record.schema.name) != value
                }
                return !isConcerned
            }
        }
        return isConcerned
    }

    /// Rewrites the rows of a table with the new keys. Values may move between rows, so that indexes over them are
    /// rebuilt.
    private func rewrite(
        _ columns: Columns, _ record: TableRecord, _ trees: (catalogue: Tree, ids: Tree),
        _ progress: ((MigratedRows) -> Void)?, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        let replaced = columns.followed.map { column in
            columns.rekeyed.first { $0.ordinal == column.ordinal } ?? columns.after.columns[column.ordinal]
        }
        if case .columns(let names) = record.schema.key, !merged.contains(where: { $0.record.id == record.id }),
            let column = replaced.first(where: { !$0.isRetired && names.contains($0.name) })
        {
            throw .migrationFailed(
                table: record.schema.name,
                reason:
                    "its key \(column.name) refers to rows of another table, whose keys change; such keys do not follow"
            )
        }
        let plan = try TablePlan(record, as: columns.after, replacing: replaced, tx.view)
        var rewrite = TableRewrite(plan, trees, RowIDSequences(nil), .none, loadingFrom: fewestLoaded)
        rewrite.following = self
        rewrite.meter = progress.map { ProgressMeter(record.schema.name, total: plan.rows, $0) }
        try rewrite.run(tx)
    }

    func followed(_ value: Value, _ column: ColumnSchema, _ table: String) throws(RecordError) -> Value {
        if column.target == AnyReference.anyTable {
            if column.type == .keys { return try followedElements(value, column, table) }
            guard let reference = AnyReference(value) else { return value }
            return try followed(reference, column, table)?.stored ?? .null
        }
        guard column.type == .keys else {
            for source in merged where source.record.schema.name == column.target {
                return try source.followed(value, column, of: table)
            }
            return value
        }
        guard case .blob(let bytes) = value, var tree = KeyTree(bytes) else { return value }
        let target = column.target.map { newName($0) }
        let left = tree.removing { number, key in
            merged.contains { source in
                source.isWithoutRow(number, key, isTarget: source.record.schema.name == column.target)
            }
        }
        guard let left else { return .null }
        tree = left
        let new = try tree.mapped { (number, key) throws(RecordError) in
            for source in merged {
                let found = try source.followed(
                    number, key, column, willBeTarget: source.targetName == target, of: table)
                if let found { return found }
            }
            return (number, key)
        }
        return .blob(new.encoded)
    }

    /// Returns the new value of a column of keys of any table; its dangling keys are removed.
    private func followedElements(
        _ value: Value, _ column: ColumnSchema, _ table: String
    ) throws(RecordError) -> Value {
        guard case .blob(let bytes) = value, let tree = KeyTree(bytes) else { return value }
        var followed: [RowKey: RowKey] = [:]
        var gone: Set<RowKey> = []
        for key in tree.keys where followed[key] == nil && !gone.contains(key) {
            guard let reference = AnyReference(element: key) else { continue }
            if let new = try self.followed(reference, column, table) {
                followed[key] = new.element
            } else {
                gone.insert(key)
            }
        }
        let left = gone.isEmpty ? tree : tree.removing { gone.contains($1) }
        return try left.map { (tree) throws(RecordError) in
            .blob(try tree.mapped { ($0, followed[$1] ?? $1) }.encoded)
        } ?? .null
    }

    private func followed(
        _ reference: AnyReference, _ column: ColumnSchema, _ table: String
    ) throws(RecordError) -> AnyReference? {
        for source in merged where source.record.schema.name == reference.table {
            if source.isWithoutRow(0, reference.key, isTarget: true) { return nil }
            let found = try source.followed(
                source.record.id, reference.key, column, willBeTarget: true, of: table)
            return AnyReference(table: source.targetName, key: found?.1 ?? reference.key)
        }
        return AnyReference(table: newName(reference.table), key: reference.key)
    }
}

extension TableRecord {
    /// Replaces a column by a new one of the same name; the old values become unreachable. Returns the new ordinal.
    mutating func replace(_ column: ColumnSchema) -> Int {
        var new = column
        new.ordinal = columns.count
        columns.append(new)
        columns[column.ordinal].isRetired = true
        columns[column.ordinal].name = ""
        for place in schema.columns.indices where schema.columns[place].ordinal == column.ordinal {
            schema.columns[place] = new
        }
        return new.ordinal
    }

    /// Returns the table without its retired references to a table that is dropped: rows of a later one of the same name
    /// may have their keys.
    func withoutRetired(referringTo target: String) -> TableRecord {
        var result = self
        for column in columns where column.isRetired && !column.isDead && column.target == target {
            result.columns[column.ordinal].name = ""
            result.schema.columns.removeAll { $0.ordinal == column.ordinal }
        }
        return result
    }

    mutating func retarget(_ ordinal: Int, to target: String?) {
        columns[ordinal].target = target
        for place in schema.columns.indices where schema.columns[place].ordinal == ordinal {
            schema.columns[place].target = target
        }
    }
}

extension KeyTree {
    /// Returns the tree with mapped keys.
    func mapped(
        _ body: (_ table: UInt32, RowKey) throws(RecordError) -> (table: UInt32, RowKey)
    ) throws(RecordError) -> KeyTree {
        switch self {
        case .key(let key):
            let (table, new) = try body(0, key)
            return table == 0 ? .key(new) : .foreign(table: table, new)
        case .foreign(let number, let key):
            let (table, new) = try body(number, key)
            return table == 0 ? .key(new) : .foreign(table: table, new)
        case .list(let trees):
            var list: [KeyTree] = []
            for tree in trees { list.append(try tree.mapped(body)) }
            return .list(list)
        case .named(let entries):
            var list: [Entry] = []
            for entry in entries { list.append(Entry(name: entry.name, tree: try entry.tree.mapped(body))) }
            return .named(list)
        }
    }
}
