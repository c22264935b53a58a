import MakoRecords
import MakoStorage
import MakoTestSupport

/// The work of one transaction so far.
struct RecordTransactionRun {
    struct Mark {
        let savepoint: Savepoint
        let model: RecordModel
        let catalogue: Catalogue?
        let changes: ChangeSet
    }

    var changes = ChangeSet()
    var hasMigrated = false
    var marks: [Mark] = []
}

// The calls inside a transaction, each beside what the model does.
extension RecordSession {
    func act(_ tx: borrowing WriteTransaction, _ run: inout RecordTransactionRun) throws {
        operations += 1
        if model.tables.isEmpty || model.tables.count < 3 && random.chance(4) {
            return try migrate(random.schema(named: random.name("T")), dropsRetired: false, tx, &run)
        }
        let name = random.pick(model.names)
        guard let table = model.tables[name], let handle = try catalogue?.requireTable(name) else {
            throw Disagreement("table \(name) is missing")
        }
        switch random.below(100) {
        case 0..<26: try insert(table, handle, tx, &run)
        case 26..<36: try put(table, handle, tx, &run)
        case 36..<49: try update(table, handle, tx, &run)
        case 49..<54: try changeMany(table, handle, tx, &run)
        case 54..<62: try delete(table, handle, tx, &run)
        case 62..<66: try deleteMatching(table, handle, tx, &run)
        case 66..<70: try move(table, handle, tx, &run)
        case 70..<77: try insertMany(table, handle, tx, &run)
        case 77..<78:
            log("  clear \(name)")
            guard try handle.deleteAll(in: tx, changes: &run.changes) == table.rows.count else {
                throw Disagreement("another number of rows was deleted")
            }
            model.tables[name]?.deleteAll()
        case 78..<83:
            let wanted = random.migration(of: table, tables: model.names)
            try migrate(wanted, dropsRetired: random.chance(15), tx, &run)
        case 83..<84:
            log("  drop \(name)")
            guard try Catalogue.dropTable(name, in: tx) else { throw Disagreement("there was no table to drop") }
            model.tables[name] = nil
            try reload(tx, &run)
        case 84..<90:
            log("  savepoint \(run.marks.count)")
            run.marks.append(mark(tx, run))
        case 90..<94:
            guard !run.marks.isEmpty else { return }
            // An earlier savepoint ends those after it.
            let place = random.chance(70) ? run.marks.count - 1 : 0
            log("  rollback to \(place)")
            run.marks.removeLast(run.marks.count - place - 1)
            try restore(run.marks[place], tx, &run)
        default:
            guard let catalogue else { return }
            log("  queries")
            try runQueries(model, catalogue, tx.view, count: 2)
        }
    }

    func mark(_ tx: borrowing WriteTransaction, _ run: RecordTransactionRun) -> RecordTransactionRun.Mark {
        RecordTransactionRun.Mark(
            savepoint: tx.savepoint(), model: model, catalogue: catalogue, changes: run.changes)
    }

    func restore(
        _ mark: RecordTransactionRun.Mark, _ tx: borrowing WriteTransaction, _ run: inout RecordTransactionRun
    ) throws {
        try tx.rollback(to: mark.savepoint)
        model = mark.model
        catalogue = mark.catalogue
        run.changes = mark.changes
    }

    /// Makes a call that the model lets succeed, or refuses for a reason. Answers whether it succeeded.
    func expect(_ refusal: Refusal?, _ body: () throws -> Void) throws -> Bool {
        do { try body() } catch let error as RecordError {
            if error.isDiskFailure { throw error }
            guard let refusal, refusal.matches(error) else {
                throw Disagreement("refused, though the model has \(refusal.map { "\($0)" } ?? "no reason"): \(error)")
            }
            log("    refused: \(refusal)")
            return false
        }
        if let refusal { throw Disagreement("not refused, though the model says \(refusal)") }
        return true
    }

    func refusal(_ body: () throws(Refusal) -> Void) -> Refusal? {
        do throws(Refusal) { try body() } catch { return error }
        return nil
    }

    // MARK: Drafts

    /// Values for some of the live columns, by their places.
    func draft(_ table: ModelTable, key: Bool) -> [Int: Value] {
        var values: [Int: Value] = [:]
        let keys = Set(table.keyPlaces)
        for place in table.live {
            let column = table.columns[place]
            if keys.contains(place) {
                if key { values[place] = random.value(column.type, isKey: true) }
            } else if random.chance(88) {
                let isNull = random.chance(column.isOptional ? 20 : 1)
                values[place] = isNull ? .null : random.value(column.type)
            }
        }
        return values
    }

    func fill(_ row: inout RowWriter, _ values: [Int: Value], _ table: ModelTable, _ handle: TableHandle) {
        row.begin(handle.layout)
        for (position, place) in table.live.enumerated() {
            if let value = values[place] { row.set(position, value) }
        }
    }

    private func someKey(_ table: ModelTable) -> RowKey {
        if random.chance(92), let row = table.rows.randomElement(using: &random) { return row.key }
        if table.isRowID { return .rowID(Int64(random.below(40))) }
        return table.key(of: table.fresh(draft(table, key: true)))
    }

    private func newID(_ table: ModelTable) -> RowKey? {
        table.isRowID && random.chance(15) ? .rowID(Int64(random.below(60)) - 5) : nil
    }

    // MARK: Rows

    private func insert(
        _ table: ModelTable, _ handle: TableHandle, _ tx: borrowing WriteTransaction,
        _ run: inout RecordTransactionRun
    ) throws {
        for _ in 0..<(1 + random.below(3)) {
            guard let table = model.tables[table.schema.name] else { return }
            try insertOne(draft(table, key: true), newID(table), table, handle, tx, &run)
        }
    }

    private func insertOne(
        _ draft: [Int: Value], _ given: RowKey?, _ table: ModelTable, _ handle: TableHandle,
        _ tx: borrowing WriteTransaction, _ run: inout RecordTransactionRun
    ) throws {
        let values = table.fresh(draft)
        let key = table.isRowID ? given : table.key(of: values)
        let reason = refusal { () throws(Refusal) in
            if let key, table.row(key) != nil { throw .duplicateKey }
            try table.check(values, for: nil)
        }
        log("  insert \(table.schema.name) \(given.map { "\($0) " } ?? "")\(draft.sorted { $0.key < $1.key })")
        var stored = key
        let isDone = try expect(reason) {
            var row = RowWriter()
            fill(&row, draft, table, handle)
            stored = try handle.insert(&row, key: given, in: tx, changes: &run.changes)
        }
        guard isDone, let stored else { return }
        try note(stored, key, table)
        model.tables[table.schema.name]?.put(values, for: stored)
    }

    /// A row got the key that it had to get.
    func note(_ stored: RowKey, _ wanted: RowKey?, _ table: ModelTable) throws {
        if let wanted, wanted != stored { throw Disagreement("the row went to \(stored), not to \(wanted)") }
        if wanted == nil, (stored.rowID ?? .min) <= table.largestID {
            throw Disagreement("a new row got the id \(stored), the table has held \(table.largestID)")
        }
    }

    private func put(
        _ table: ModelTable, _ handle: TableHandle, _ tx: borrowing WriteTransaction,
        _ run: inout RecordTransactionRun
    ) throws {
        var draft = draft(table, key: true)
        var given: RowKey?
        if table.isRowID, random.chance(85) { given = someKey(table) }
        if !table.isRowID, random.chance(60), let row = table.rows.randomElement(using: &random) {
            for place in table.keyPlaces { draft[place] = row.values[place] }
        }
        var values = table.fresh(draft)
        let key = table.isRowID ? given : table.key(of: values)
        if let key, let old = table.row(key) {
            for place in table.columns.indices where draft[place] == nil { values[place] = old.values[place] }
        }
        let reason = refusal { () throws(Refusal) in try table.check(values, for: key) }
        log("  put \(table.schema.name) \(given.map { "\($0) " } ?? "")\(draft.sorted { $0.key < $1.key })")
        var stored = key
        let isDone = try expect(reason) {
            var row = RowWriter()
            fill(&row, draft, table, handle)
            stored = try handle.put(&row, key: given, in: tx, changes: &run.changes)
        }
        guard isDone, let stored else { return }
        try note(stored, key, table)
        model.tables[table.schema.name]?.put(values, for: stored)
    }

    private func update(
        _ table: ModelTable, _ handle: TableHandle, _ tx: borrowing WriteTransaction,
        _ run: inout RecordTransactionRun
    ) throws {
        let key = someKey(table)
        var draft = draft(table, key: false)
        let names = table.live.filter { draft[$0] != nil && random.chance(50) }.map { table.columns[$0].name }
        let isPartial = !names.isEmpty && random.chance(50)
        if isPartial { draft = draft.filter { names.contains(table.columns[$0.key].name) } }
        var values = table.row(key)?.values ?? []
        let reason = refusal { () throws(Refusal) in
            if values.isEmpty { return }
            for (place, value) in draft { values[place] = value }
            try table.check(values, for: key)
        }
        log("  update \(table.schema.name) \(key) \(draft.sorted { $0.key < $1.key })")
        var wasThere = false
        let isDone = try expect(reason) {
            var row = RowWriter()
            if isPartial {
                row.begin(try handle.layout(for: names))
                for (position, name) in names.enumerated() {
                    if let value = table.place(name).flatMap({ draft[$0] }) { row.set(position, value) }
                }
            } else {
                fill(&row, draft, table, handle)
            }
            wasThere = try handle.update(&row, key: key, in: tx, changes: &run.changes)
        }
        guard isDone else { return }
        guard wasThere == !values.isEmpty else { throw Disagreement("whether row \(key) was there is wrong") }
        if wasThere { model.tables[table.schema.name]?.put(values, for: key) }
    }

    private func delete(
        _ table: ModelTable, _ handle: TableHandle, _ tx: borrowing WriteTransaction,
        _ run: inout RecordTransactionRun
    ) throws {
        // The last row determines the next id.
        let last = random.chance(30) ? table.rows.last?.key : nil
        let key = last ?? someKey(table)
        log("  delete \(table.schema.name) \(key)")
        let wasThere = try handle.delete(key, in: tx, changes: &run.changes)
        guard model.tables[table.schema.name]?.delete(key) == wasThere else {
            throw Disagreement("whether row \(key) was there is wrong")
        }
    }

    private func deleteMatching(
        _ table: ModelTable, _ handle: TableHandle, _ tx: borrowing WriteTransaction,
        _ run: inout RecordTransactionRun
    ) throws {
        guard let catalogue else { return }
        var query = RecordQuery(table, of: model, &random)
        query.selection.limit = nil
        query.selection.offset = nil
        let plan = try query.selection.plan(catalogue)
        log("  delete by query: \(plan)")
        let keys = try plan.keys(in: tx.view)
        let expected = query.matching().map(\.key)
        guard Set(keys) == Set(expected), keys.count == expected.count else {
            throw Disagreement("other rows are to be deleted: \(plan)")
        }
        for key in keys {
            guard try handle.delete(key, in: tx, changes: &run.changes) else {
                throw Disagreement("row \(key) was not there")
            }
            model.tables[table.schema.name]?.delete(key)
        }
    }

    /// Gives a row another key: its values are entered under the new key and leave the old one.
    private func move(
        _ table: ModelTable, _ handle: TableHandle, _ tx: borrowing WriteTransaction,
        _ run: inout RecordTransactionRun
    ) throws {
        guard let old = table.rows.randomElement(using: &random) else { return }
        var draft = Dictionary(uniqueKeysWithValues: table.live.map { ($0, old.values[$0]) })
        for place in table.keyPlaces { draft[place] = random.value(table.columns[place].type, isKey: true) }
        let given = table.isRowID ? RowKey.rowID(Int64(random.below(80))) : nil
        log("  move \(table.schema.name) \(old.key)")
        let start = mark(tx, run)
        guard try handle.delete(old.key, in: tx, changes: &run.changes) else {
            throw Disagreement("row \(old.key) was not there")
        }
        model.tables[table.schema.name]?.delete(old.key)
        guard let without = model.tables[table.schema.name] else { return }
        let count = without.rows.count
        try insertOne(draft, given, without, handle, tx, &run)
        if model.tables[table.schema.name]?.rows.count == count { try restore(start, tx, &run) }
    }

    /// Inserts rows, and changes one now and then, with buffered index entries.
    private func insertMany(
        _ table: ModelTable, _ handle: TableHandle, _ tx: borrowing WriteTransaction,
        _ run: inout RecordTransactionRun
    ) throws {
        let start = mark(tx, run)
        let batch = IndexBatch(limit: random.chance(30) ? 200 : 16 << 20)
        var table = table
        var reason: Refusal?
        var row = RowWriter()
        log("  batch \(table.schema.name)")
        do {
            for _ in 0..<(2 + random.below(20)) {
                let draft = draft(table, key: true)
                let values = table.fresh(draft)
                if table.live.contains(where: { !table.columns[$0].isOptional && values[$0].isNull }) { continue }
                let key = table.isRowID ? nil : table.key(of: values)
                if let key, table.row(key) != nil { continue }
                reason = reason ?? refusal { () throws(Refusal) in try table.check(values, for: nil) }
                log("    \(draft.sorted { $0.key < $1.key })")
                fill(&row, draft, table, handle)
                let stored = try handle.insert(&row, in: tx, changes: &run.changes, batch: batch)
                try note(stored, key, table)
                table.put(values, for: stored)
            }
            try batch.flush(in: tx)
            if let reason { throw Disagreement("a batch was not refused, though the model says \(reason)") }
            model.tables[table.schema.name] = table
        } catch let error as RecordError where !error.isDiskFailure {
            guard let reason, reason.matches(error) else { throw Disagreement("a batch was refused: \(error)") }
            log("    refused: \(reason)")
            batch.removeAll()
            try restore(start, tx, &run)
        }
    }

    // MARK: Tables

    private func reload(_ tx: borrowing WriteTransaction, _ run: inout RecordTransactionRun) throws {
        run.hasMigrated = true
        catalogue = try Catalogue.load(view: tx.view, previous: catalogue)
    }

    private func migrate(
        _ wanted: EntitySchema, dropsRetired: Bool, _ tx: borrowing WriteTransaction,
        _ run: inout RecordTransactionRun
    ) throws {
        var after = model
        let reason = refusal { () throws(Refusal) in try after.migrate(to: wanted, dropsRetired: dropsRetired) }
        log(
            "  migrate \(wanted.name) \(wanted.columns.map(\.text)) \(wanted.key) \(wanted.indexes.map(\.text))"
                + " \(wanted.originalName ?? "") \(dropsRetired ? "dropping" : "")")
        let start = mark(tx, run)
        let isDone = try expect(reason) {
            let migration = TableMigration(wanted, dropsRetired: dropsRetired)
            let plan = try Catalogue.survey([migration], view: tx.view)[0]
            let report = try Catalogue.migrate([migration], loadingFrom: fewestLoaded, in: tx)[0]
            log("    \(report)")
            if plan.steps.map(\.step) != report.steps || plan.rows != report.rows {
                throw Disagreement("planned was \(plan), done \(report)")
            }
        }
        guard isDone else { return try restore(start, tx, &run) }
        model = after
        try reload(tx, &run)
        let again = try Catalogue.survey([TableMigration(wanted.withoutOldNames)], view: tx.view)[0]
        if !again.steps.isEmpty || again.refusal != nil {
            throw Disagreement("the same schema once more would change the table: \(again)")
        }
    }
}

extension ColumnSchema {
    fileprivate var text: String {
        "\(name):\(type.name)\(isOptional ? "?" : "")=\(defaultValue)" + (originalName.map { "<\($0)" } ?? "")
            + (target.map { "->\($0)" } ?? "")
    }
}

extension IndexSchema {
    fileprivate var text: String {
        (isUnique ? "unique " : fullText != nil ? "words " : isSpatial ? "places " : "") + name
            + columns.map { " \($0.name)\($0.descending ? "-" : "")\($0.noCase ? "~" : "")" }
            .joined() + (condition.map { " where \($0)" } ?? "")
    }
}
