import MakoStorage

/// Migrates one stored table to its planned form.
struct TableRewrite {
    private let plan: TablePlan
    private var program: CompiledSteps? { plan.program }
    /// The tables whose rows move to this one.
    var merged: [TableMerge] = []
    /// The move of the table to itself, if its primary key changes.
    var rekeyed: TableMerge?
    /// The new values of references; `nil` to convert values to another type.
    var following: ForeignKeyRewrite?
    var meter: ProgressMeter?
    private let record: TableRecord
    private let trees: (catalogue: Tree, ids: Tree)
    private let sequences: RowIDSequences
    private let access: CipherAccess
    /// The number of rows from which on the table is filled by a bulk load.
    private let fewestLoaded: Int

    /// - Parameter plan: the plan, with the number that the table gets.
    init(
        _ plan: TablePlan, _ trees: (catalogue: Tree, ids: Tree), _ sequences: RowIDSequences,
        _ access: CipherAccess, loadingFrom fewestLoaded: Int
    ) {
        self.access = access
        self.plan = plan
        record = plan.record
        self.trees = trees
        self.sequences = sequences
        self.fewestLoaded = fewestLoaded
    }

    func run(_ tx: borrowing WriteTransaction) throws(RecordError) {
        let view = tx.view
        if let old = plan.stored {
            if old.schema.name != record.schema.name {
                _ = try engine { () throws(StorageError) in
                    try tx.delete(StoredCatalogue.key(old.schema.name), in: trees.catalogue)
                }
            }
        }
        if plan.stored == nil || rekeyed != nil {
            let kind: KeyKind = record.schema.idColumn != nil ? .integer : .bytes
            let name = record.rowsTree
            _ = try engine { () throws(StorageError) in try tx.createTree(named: name, keys: kind) }
        }
        // Indexes are dropped before rows are rewritten, and built afterwards.
        for index in plan.droppedIndexes {
            if let tree = view.tree(named: record.indexTree(index)) {
                try engine { () throws(StorageError) in try tx.dropTree(tree) }
            }
        }
        let splits = TableSplit(trees.ids, sequences, access)
        if plan.rows > 0, rewritesRows { try rewriteRows(splits, tx) }
        if let program, !program.merges.isEmpty { try mergeRows(program, splits, tx) }
        try splits.flush(tx)
        try buildIndexes(tx)
        try StoredCatalogue.store(record, trees.catalogue, tx)
        if rekeyed != nil, let old = plan.stored {
            try StoredCatalogue.forget(old, inFavourOf: record.id, trees, tx)
        }
        meter?.finish()
    }

    private var rewritesRows: Bool {
        !plan.conversions.isEmpty || program?.rewritesRows == true || rekeyed != nil || plan.columnOfIDs != nil
    }

    private func buildIndexes(_ tx: borrowing WriteTransaction) throws(RecordError) {
        // Opening the handle validates index conditions, which may name a removed column.
        if plan.addedIndexes.isEmpty && !record.indexes.contains(where: { $0.schema.condition != nil }) { return }
        for index in record.indexes where plan.addedIndexes.contains(index.id) {
            let name = record.indexTree(index.id)
            _ = try engine { () throws(StorageError) in try tx.createTree(named: name, keys: .bytes) }
        }
        let handle = try StoredCatalogue.handle(record, trees.ids, RowIDSequence(), tx.view)
        for index in handle.indexes where plan.addedIndexes.contains(index.id) {
            try IndexBuild.run(index, handle, tx)
        }
        for index in handle.elementIndexes where plan.addedIndexes.contains(index.id) {
            try handle.build(index, in: tx)
        }
        for index in handle.textIndexes where plan.addedIndexes.contains(index.id) {
            try TextBuild.run(index, handle, tx)
        }
    }

    // MARK: Existing rows

    private func rewriteRows(_ splits: TableSplit, _ tx: borrowing WriteTransaction) throws(RecordError) {
        guard var stored = plan.stored else { return }
        // Kept indexes read unchanged columns only, so that their entries stay valid.
        stored.indexes = []
        let table = try StoredCatalogue.handle(stored, trees.ids, RowIDSequence(), tx.view)
        var rows = RowRewrite(plan, stored, isRenumbered: rekeyed != nil, following: following, access)
        // No other tree can be changed in the transaction during a bulk load.
        if rekeyed == nil && plan.rows >= fewestLoaded && program?.splitsRows != true {
            try loadRows(&rows, table, tx)
        } else {
            try putRows(&rows, table, splits, tx)
        }
    }

    /// Writes each row in place, or under its new key.
    private func putRows(
        _ rows: inout RowRewrite, _ table: TableHandle, _ splits: TableSplit, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        guard let target = rekeyed == nil ? table.rows : tx.view.tree(named: record.rowsTree) else { return }
        var keys = KeyBuffer()
        var pieces = try RowPieces(table, tx.view)
        while try pieces.next() {
            for place in 0..<pieces.count {
                let key = pieces.keys[place]
                let new = rekeyed.map { $0.keys?[key] ?? key }
                let isMade = try rows.make(try pieces.row(place, rows.before), { key }, as: new) {
                    (target, rows) throws(RecordError) in try splits.store(rows, target, tx)
                }
                if isMade { try put(&rows.writer, new ?? key, &keys, target, tx) }
            }
            meter?.add(pieces.count)
        }
        try rows.check()
    }

    private func put(
        _ writer: inout RowWriter, _ key: RowKey, _ keys: inout KeyBuffer, _ rows: Tree,
        _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        let bytes = try writer.finish()
        do throws(StorageError) {
            switch key {
            case .rowID(let id): try tx.put(bytes, for: KeyOrder.treeKey(id), in: rows)
            case .bytes(let keyBytes):
                keys.replace(with: keyBytes)
                try tx.put(bytes, for: keys.raw, in: rows)
            }
        } catch { throw .storage(error) }
    }

    // MARK: Bulk load

    /// Loads the rows into a new tree, which replaces the old one.
    private func loadRows(
        _ rows: inout RowRewrite, _ table: TableHandle, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        let name = record.rowsTree
        let tree = try engine { () throws(StorageError) in
            try tx.createTree(named: "\(name).new", keys: table.rows.keys)
        }
        // A cursor stays valid when the engine moves rows that were written before in this transaction.
        var cursor = try engine { () throws(StorageError) in try tx.view.cursor(in: table.rows) }
        _ = try recorded {
            try tx.bulkLoad(into: tree) { loader in
                var isThere = try cursor.first()
                var count = 0
                while isThere {
                    try load(&rows, from: cursor, isRowID: table.isRowID, into: &loader)
                    count &+= 1
                    if count & 511 == 0 { meter?.add(512) }
                    isThere = try cursor.next()
                }
                meter?.add(count & 511)
            }
        }
        try rows.check()
        try engine { () throws(StorageError) in
            try tx.dropTree(table.rows)
            try tx.renameTree(tree, to: name)
        }
    }

    private func load(
        _ rows: inout RowRewrite, from cursor: borrowing Cursor, isRowID: Bool, into loader: inout BulkLoader
    ) throws {
        let value = try cursor._currentValue()
        defer { cursor._deallocate(value) }
        let row = try RowReader(.init(start: value.start, count: value.count), rows.before)
        if isRowID {
            let key = cursor.integerKey
            if try rows.make(row, { .rowID(KeyOrder.rowID(key)) }, split: TableRewrite.noSplit) {
                try loader.append(try rows.writer.finish(), for: key)
            }
        } else if try rows.make(row, { .bytes([UInt8](cursor._currentKey())) }, split: TableRewrite.noSplit) {
            try loader.append(try rows.writer.finish(), for: cursor._currentKey())
        }
    }

    /// For a program without splits.
    private static func noSplit(_ table: String, _ rows: [[String: Value]]) throws(RecordError) -> Value? { nil }

    // MARK: Merged rows

    /// Returns the present record of the table, whose rows may refer to each other.
    private func current(_ source: TableRecord, _ view: Snapshot) throws(RecordError) -> TableRecord {
        try StoredCatalogue.records(in: view).first { $0.id == source.id } ?? source
    }

    private func mergeRows(
        _ program: CompiledSteps, _ splits: TableSplit, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        var kept = record
        kept.indexes.removeAll { plan.addedIndexes.contains($0.id) }
        let table = try StoredCatalogue.handle(kept, trees.ids, sequences[record.id], tx.view)
        let after = RowLayout(ofAllColumns: record, table: record.schema.name)
        let names = program.finalNames
        // A converted column has its values in the slot of the original one.
        let slots = record.schema.liveColumns.map { column in
            (column.ordinal, names.slots[plan.namesBefore[column.name] ?? column.name])
        }
        var writer = RowWriter()
        let batch = IndexBatch()
        var changes = ChangeSet()
        for (merge, source) in zip(program.merges, merged) {
            var machine = RowTransform(program, of: source.record.schema, access)
            let reader = try MergedRows(
                try current(source.record, tx.view), merge, into: record.schema.name, access, tx.view)
            var pieces = try RowPieces(reader.table, tx.view)
            while try pieces.next() {
                for place in 0..<pieces.count {
                    let old = pieces.keys[place]
                    let given: [String: Value]
                    do { given = try reader.values(try pieces.row(place, reader.layout), old) } catch {
                        throw machine.failure(merge.step, old, error)
                    }
                    let id = table.isRowID ? given[record.schema.idColumn ?? ""] : nil
                    let key = try source.key(of: old, given: id, table: record.schema.name)
                    try machine.begin(given, merge, old)
                    try machine.run(old, as: key, nil, from: merge.start) { (target, rows) throws(RecordError) in
                        try splits.store(rows, target, tx)
                    }
                    writer.begin(after)
                    for (ordinal, slot) in slots {
                        let value = slot.flatMap { machine.value($0) }
                        let fitting = try plan.fitting(value, ordinal, old, of: source.record.schema, merge.step)
                        try writer.set(ordinal, fitting, sealing: access)
                    }
                    let new = try table.insert(&writer, key: key, in: tx, changes: &changes, batch: batch)
                    try source.check(old, new, table: record.schema.name)
                }
                changes.removeAll()
                meter?.add(pieces.count)
            }
            try batch.flush(in: tx)
            _ = try Catalogue.dropTable(source.record.schema.name, in: tx)
        }
    }
}

extension TablePlan {
    /// Returns a value computed by manual steps in its column's type.
    ///
    /// - Parameter source: the source table of the row, for the key in an error.
    func fitting(
        _ value: Value?, _ ordinal: Int, _ row: RowKey, of source: EntitySchema?, _ step: Int?
    ) throws(RecordError) -> Value {
        let column = record.columns[ordinal]
        let value = value ?? column.defaultValue
        if column.isRetired { return column.type.coerced(value) ?? .null }
        if let fitting = RowConversion.convert(value, to: column) { return fitting }
        let reason =
            value.isNull
            ? "nothing is given for \(column.name), which must have a value"
            : column.sealedType.map {
                "a value of type \(value.typeName) is given for \(column.name), which holds encrypted \($0.name)"
            } ?? "\(value) is given for \(column.name), which holds \(column.type.name)"
        let text = step.flatMap { program?.steps[$0].step.description } ?? "adding \(column.name)"
        throw .stepFailed(table: record.schema.name, step: text, row: NamedKey(row, in: source), reason: reason)
    }
}

/// Reports from time to time how many rows have been migrated.
final class ProgressMeter {
    private static let interval = 4096
    private let table: String
    private let total: Int
    private let report: (MigratedRows) -> Void
    private var done = 0
    private var lastReported = 0

    init(_ table: String, total: Int, _ report: @escaping (MigratedRows) -> Void) {
        self.table = table
        self.total = total
        self.report = report
    }

    func add(_ rows: Int) {
        done += rows
        if done - lastReported >= ProgressMeter.interval { reportProgress() }
    }

    func finish() { if done > lastReported { reportProgress() } }

    private func reportProgress() {
        lastReported = done
        report(MigratedRows(table: table, done: done, total: total))
    }
}

/// The progress of a table's rewrite.
package struct MigratedRows: Sendable, Hashable {
    /// The name of the table.
    package let table: String
    /// The number of rows migrated.
    package let done: Int
    /// The number of rows of the table.
    package let total: Int
}
