import MakoStorage

/// Has the references of all tables follow rows that go over to another table, and tables that get another name.
struct FollowedReferences {
    private let merged: [MergedTable]
    /// New names by old ones.
    private let renamed: [String: String]

    init(_ merged: [MergedTable], renamed: [String: String]) {
        self.merged = merged
        self.renamed = renamed
    }

    func run(
        _ records: [TableRecord], _ trees: (catalogue: Tree, ids: Tree), _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        if merged.isEmpty && renamed.isEmpty { return }
        for record in records {
            var after = record
            var columns: [ColumnSchema] = []
            for column in record.columns where !column.isDead {
                let target = column.target.map { newName($0) }
                if target != column.target { after.retarget(column.ordinal, to: target) }
                let isMerged = merged.contains { $0.record.schema.name == column.target }
                if isMerged || column.target == AnyReference.anyTable || column.type == .keys && !merged.isEmpty {
                    columns.append(column)
                }
            }
            if !columns.isEmpty { try follow(columns, record, after, trees.ids, tx) }
            if after != record { try StoredCatalogue.store(after, trees.catalogue, tx) }
        }
    }

    private func newName(_ table: String) -> String {
        merged.first { $0.record.schema.name == table }?.targetName ?? renamed[table] ?? table
    }

    private func follow(
        _ columns: [ColumnSchema], _ record: TableRecord, _ after: TableRecord, _ idTree: Tree,
        _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        let table = try StoredCatalogue.handle(record, idTree, RowIDSequence(), tx.view)
        let layout = RowLayout(
            table: record.schema.name, tableID: record.id, version: UInt32(truncatingIfNeeded: record.schema.version),
            columns: record.columns, positions: columns)
        var writer = RowWriter()
        var changes = ChangeSet()
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
            changes.removeAll()
        }
    }

    private func followed(_ value: Value, _ column: ColumnSchema, _ table: String) throws(RecordError) -> Value {
        if column.target == AnyReference.anyTable {
            guard let reference = AnyReference(value), !sabotaged("anyReferencesNotFollowed") else { return value }
            return try followed(reference, column, table).stored
        }
        guard column.type == .keys else {
            for source in merged where source.record.schema.name == column.target {
                return try source.followed(value, column, of: table)
            }
            return value
        }
        guard case .blob(let bytes) = value, let tree = KeyTree(bytes) else { return value }
        let target = column.target.map { newName($0) }
        let new = try tree.mapped { (number, key) throws(RecordError) in
            for source in merged {
                let found = try source.followed(
                    number, key, column, isTarget: source.record.schema.name == column.target,
                    willBeTarget: source.targetName == target, of: table)
                if let found { return found }
            }
            return (number, key)
        }
        return .blob(new.encoded)
    }

    private func followed(
        _ reference: AnyReference, _ column: ColumnSchema, _ table: String
    ) throws(RecordError) -> AnyReference {
        for source in merged where source.record.schema.name == reference.table {
            let found = try source.followed(0, reference.key, column, isTarget: true, willBeTarget: true, of: table)
            return AnyReference(table: source.targetName, key: found?.1 ?? reference.key)
        }
        return AnyReference(table: newName(reference.table), key: reference.key)
    }
}

extension TableRecord {
    mutating func retarget(_ ordinal: Int, to target: String?) {
        columns[ordinal].target = target
        for place in schema.columns.indices where schema.columns[place].ordinal == ordinal {
            schema.columns[place].target = target
        }
    }
}

extension KeyTree {
    /// The same lists and dictionaries with other keys.
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
