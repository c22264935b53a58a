import MakoStorage

/// The tables that receive rows split off from other rows.
final class TableSplit {
    private final class Target {
        let table: TableHandle
        var writer = RowWriter()

        init(_ table: TableHandle) { self.table = table }
    }

    private let idTree: Tree
    private let sequences: RowIDSequences
    private let access: CipherAccess
    private var targets: [String: Target] = [:]
    private let batch = IndexBatch()
    private var changes = ChangeSet()

    init(_ idTree: Tree, _ sequences: RowIDSequences, _ access: CipherAccess) {
        self.access = access
        self.idTree = idTree
        self.sequences = sequences
    }

    /// Stores rows and returns the key of the first, as a referring column holds it: NULL if there are no rows, `nil`
    /// for a key of several columns, which no column can refer to.
    func store(
        _ rows: [[String: Value]], _ name: String, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> Value? {
        let target = try target(name, tx)
        var first: Value? = .null
        for (place, values) in rows.enumerated() {
            target.writer.begin(target.table.layout)
            let idColumn = target.table.schema.idColumn
            for (name, value) in values where name != idColumn {
                let (position, fitting) = try TableSplit.fit(name, value, target.table.schema)
                try target.writer.set(position, fitting, sealing: access)
            }
            let id = idColumn.flatMap { values[$0] }
            let key = try target.table.insert(
                &target.writer, key: try id.map { (value) throws(RecordError) in try rowKey(value, name) }, in: tx,
                changes: &changes, batch: batch)
            if changes.count > 4096 { changes.removeAll() }
            if place == 0 {
                let values = try key.values(in: target.table.schema)
                first = values.count == 1 ? values[0] : nil
            }
        }
        return first
    }

    /// Returns the index of a column in its table's order, and the value converted to its type.
    static func fit(_ name: String, _ value: Value, _ schema: EntitySchema) throws(RecordError) -> (Int, Value) {
        let columns = schema.liveColumns
        guard let position = columns.firstIndex(where: { $0.name == name }) else {
            throw .columnNotFound(
                table: schema.name, name: name, nearest: Spelling.nearest(to: name, in: columns.map(\.name)))
        }
        guard let fitting = RowConversion.convert(value, to: columns[position]) else {
            throw .typeMismatch(
                table: schema.name, column: name, expected: columns[position].type, found: "\(value)")
        }
        return (position, fitting)
    }

    private func rowKey(_ value: Value, _ name: String) throws(RecordError) -> RowKey {
        if case .integer(let id) = value { return .rowID(id) }
        throw .invalidKey(table: name, reason: "\(value) is no id")
    }

    private func target(_ name: String, _ tx: borrowing WriteTransaction) throws(RecordError) -> Target {
        if let target = targets[name] { return target }
        guard let record = try StoredCatalogue.records(in: tx.view).first(where: { $0.schema.name == name }) else {
            throw .tableNotFound(name: name, nearest: nil)
        }
        let target = Target(try StoredCatalogue.handle(record, idTree, sequences[record.id], tx.view))
        targets[name] = target
        return target
    }

    /// Inserts the buffered index entries.
    func flush(_ tx: borrowing WriteTransaction) throws(RecordError) { try batch.flush(in: tx) }
}

/// The row id counters by table number, including those of the session.
final class RowIDSequences {
    private var known: [UInt32: RowIDSequence] = [:]

    init(_ previous: Catalogue?) {
        for handle in previous?.handles ?? [] { known[handle.id] = handle.ids }
    }

    subscript(table: UInt32) -> RowIDSequence {
        if let sequence = known[table] { return sequence }
        let sequence = RowIDSequence()
        known[table] = sequence
        return sequence
    }
}
