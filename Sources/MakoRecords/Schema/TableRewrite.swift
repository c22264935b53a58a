import MakoStorage

/// Brings one stored table to its planned form.
struct TableRewrite {
    /// Where the value of a column comes from when a row is written anew.
    private enum Source {
        case none, copy, id
        /// A sealed value opens under the number of its table alone.
        case reseal
        case slot(Int)
        case conversion(Int)
    }

    private let plan: MigrationPlan
    private let program: StepProgram?
    private let merged: [MergedTable]
    /// The table itself, where its key becomes another one.
    private let rekeyed: MergedTable?
    /// What converted columns are set to; nil: what their values are under another type.
    private let following: FollowedReferences?
    private var record: TableRecord
    private let trees: (catalogue: Tree, ids: Tree)
    private let sequences: RowIDSequences
    private let meter: ProgressMeter?
    private let access: CipherAccess

    init(
        _ plan: MigrationPlan, _ program: StepProgram?, merged: [MergedTable] = [], rekeyed: MergedTable? = nil,
        following: FollowedReferences? = nil, id: UInt32,
        _ trees: (catalogue: Tree, ids: Tree), _ sequences: RowIDSequences, _ access: CipherAccess,
        meter: ProgressMeter? = nil
    ) {
        self.access = access
        self.plan = plan
        self.program = program
        self.merged = merged
        self.rekeyed = rekeyed
        self.following = following
        record = plan.record
        record.id = id
        self.trees = trees
        self.sequences = sequences
        self.meter = meter
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
        // Indexes that go are dropped before rows are rewritten, those that come are built after it.
        for index in plan.droppedIndexes {
            if let tree = view.tree(named: record.indexTree(index)) {
                try engine { () throws(StorageError) in try tx.dropTree(tree) }
            }
        }
        let splits = SplitTables(trees.ids, sequences, access)
        if plan.rows > 0, rewritesRows { try rewriteRows(splits, tx) }
        if let program, !program.merges.isEmpty { try mergeRows(program, splits, tx) }
        try splits.flush(tx)
        try buildIndexes(tx)
        try StoredCatalogue.store(record, trees.catalogue, tx)
        if rekeyed != nil, let old = plan.stored, !sabotaged("rowsUnderOldKeysStay") {
            try StoredCatalogue.forget(old, inFavourOf: record.id, trees, tx)
        }
        meter?.finish()
    }

    private var rewritesRows: Bool {
        !plan.conversions.isEmpty || program?.rewritesRows == true || rekeyed != nil || plan.columnOfIDs != nil
    }

    private func buildIndexes(_ tx: borrowing WriteTransaction) throws(RecordError) {
        // A condition may name a column that is gone by now: the table's handle sees to that.
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
            try handle.build(index, in: tx)
        }
    }

    // MARK: Rows that are there

    private func layout(_ record: TableRecord) -> RowLayout {
        RowLayout(
            table: self.record.schema.name, tableID: record.id,
            version: UInt32(truncatingIfNeeded: record.schema.version), columns: record.columns,
            positions: record.columns)
    }

    private func sources(_ stored: TableRecord) -> [Source] {
        var sources: [Source] = record.columns.map { column in
            if column.isDead { return .none }
            if let slot = program?.added[column.ordinal] { return .slot(slot) }
            if column.ordinal == plan.columnOfIDs { return .id }
            if column.ordinal >= stored.columns.count { return .none }
            return rekeyed != nil && column.sealedType != nil && !sabotaged("sealedUnderOldNumber") ? .reseal : .copy
        }
        for (place, conversion) in plan.conversions.enumerated() { sources[conversion.to] = .conversion(place) }
        return sources
    }

    private func rewriteRows(_ splits: SplitTables, _ tx: borrowing WriteTransaction) throws(RecordError) {
        guard var stored = plan.stored else { return }
        // Kept indexes are over columns that do not change, so their entries stay.
        stored.indexes = []
        let table = try StoredCatalogue.handle(stored, trees.ids, RowIDSequence(), tx.view)
        guard let target = rekeyed == nil ? table.rows : tx.view.tree(named: record.rowsTree) else { return }
        let before = layout(stored)
        let after = layout(record)
        let sources = sources(stored)
        var machine = program.map { RowMachine($0, access) }
        var failures = ConversionFailures(stored, record, plan.conversions, access)
        var writer = RowWriter()
        var keys = KeyBuffer()
        var pieces = try RowPieces(table, tx.view)
        while try pieces.next() {
            for place in 0..<pieces.count {
                let key = pieces.keys[place]
                let new = rekeyed?.keys?[key] ?? key
                let row = try pieces.row(place, before)
                if !failures.isEmpty {
                    try failures.note(row, key)
                    continue
                }
                machine?.begin()
                try machine?.run(key, row) { (target, rows) throws(RecordError) in try splits.store(rows, target, tx) }
                writer.begin(after)
                for (ordinal, source) in sources.enumerated() {
                    switch source {
                    case .none: break
                    case .copy: writer.copy(ordinal, from: row)
                    case .reseal:
                        try writer.set(ordinal, try row.value(ordinal, opening: access), sealing: access)
                    case .id: try writer.set(ordinal, try column(ordinal, ofID: key), sealing: access)
                    case .slot(let slot):
                        let value = try record.fitting(
                            try keyValue(ordinal, new) ?? machine?.value(slot), ordinal, key,
                            program?.stepOfSlot[slot], program)
                        try writer.set(ordinal, value, sealing: access)
                    case .conversion(let number):
                        let from = plan.conversions[number].from
                        if let following {
                            writer.set(ordinal, try follow(row.value(from), following, from, ordinal, key))
                            continue
                        }
                        let old = try row.value(from, opening: access)
                        if let value = RowConversion.convert(old, to: record.columns[ordinal]) {
                            try writer.set(ordinal, value, sealing: access)
                        } else {
                            try failures.note(row, key, number)
                        }
                    }
                }
                if failures.isEmpty { try put(&writer, new, &keys, target, tx) }
            }
            meter?.add(pieces.count)
        }
        try failures.check()
    }

    /// What a column holds that takes the ids.
    private func column(_ ordinal: Int, ofID key: RowKey) throws(RecordError) -> Value {
        let column = record.columns[ordinal]
        guard let id = key.rowID, let value = RowConversion.convert(.integer(id), to: column) else {
            let type = column.sealedType ?? column.type
            throw .conversionFailed(
                table: record.schema.name, column: column.name, rows: [key],
                reason: "an id such as \(key) does not become a \(type.name)")
        }
        return value
    }

    /// The value that a computed column of the key has in the key already, so that both say the same, whatever the closure says a second time.
    private func keyValue(_ ordinal: Int, _ key: RowKey) throws(RecordError) -> Value? {
        guard case .columns(let ordinals)? = plan.newKey, let place = ordinals.firstIndex(of: ordinal),
            !sabotaged("keyComputedTwice")
        else { return nil }
        return try key.values(in: record.schema)[place]
    }

    private func follow(
        _ value: Value, _ following: FollowedReferences, _ from: Int, _ ordinal: Int, _ key: RowKey
    ) throws(RecordError) -> Value {
        guard let old = plan.stored?.columns[from] else { return value }
        let new = try following.followed(value, old, record.schema.name)
        let column = record.columns[ordinal]
        if new.isNull, !value.isNull, !column.isOptional, !column.isRetired {
            throw .migrationFailed(
                table: record.schema.name,
                reason: "\(column.name) of row \(key) must refer to a row, and refers to \(value), which is not there")
        }
        return new
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

    // MARK: Rows of other tables

    /// The table as it stands now: its rows may refer to each other.
    private func current(_ source: TableRecord, _ view: Snapshot) throws(RecordError) -> TableRecord {
        try StoredCatalogue.records(in: view).first { $0.id == source.id } ?? source
    }

    private func mergeRows(
        _ program: StepProgram, _ splits: SplitTables, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        var kept = record
        kept.indexes.removeAll { plan.addedIndexes.contains($0.id) }
        let table = try StoredCatalogue.handle(kept, trees.ids, sequences[record.id], tx.view)
        let after = layout(record)
        let names = program.finalNames
        // A column that is converted has its values in the slot of the one it was.
        let slots = record.schema.liveColumns.map { column in
            (column.ordinal, names.slots[plan.namesBefore[column.name] ?? column.name])
        }
        var machine = RowMachine(program, access)
        var writer = RowWriter()
        let batch = IndexBatch()
        var changes = ChangeSet()
        for (merge, source) in zip(program.merges, merged) {
            let reader = try MergedRows(
                try current(source.record, tx.view), merge, into: record.schema.name, access, trees.ids, tx.view)
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
                        let fitting = try record.fitting(value, ordinal, old, merge.step, program)
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

extension TableRecord {
    /// A value that steps by hand have made, as its column holds it.
    func fitting(
        _ value: Value?, _ ordinal: Int, _ row: RowKey, _ step: Int?, _ program: StepProgram?
    ) throws(RecordError) -> Value {
        let column = columns[ordinal]
        let value = value ?? column.defaultValue
        if column.isRetired { return column.type.coerced(value) ?? .null }
        if let fitting = RowConversion.convert(value, to: column) { return fitting }
        let reason =
            value.isNull
            ? "nothing is given for \(column.name), which must have a value"
            : column.sealedType.map {
                "a value of type \(value.typeName) is given for \(column.name), which holds encrypted \($0.name)"
            } ?? "\(value) is given for \(column.name), which holds \(column.type.name)"
        let text = step.flatMap { program?.steps[$0].description } ?? "adding \(column.name)"
        throw .stepFailed(table: schema.name, step: text, row: row, reason: reason)
    }
}

/// Tells from time to time how many rows were migrated.
final class ProgressMeter {
    private static let interval = 4096
    private let table: String
    private let total: Int
    private let report: (MigratedRows) -> Void
    private var done = 0
    private var told = 0

    init(_ table: String, total: Int, _ report: @escaping (MigratedRows) -> Void) {
        self.table = table
        self.total = total
        self.report = report
    }

    func add(_ rows: Int) {
        done += rows
        if done - told >= ProgressMeter.interval { tell() }
    }

    func finish() { if done > told { tell() } }

    private func tell() {
        told = done
        report(MigratedRows(table: table, done: done, total: total))
    }
}

/// How far the rows of a table have come.
public struct MigratedRows: Sendable, Hashable {
    public let table: String
    public let done: Int
    public let total: Int
}
