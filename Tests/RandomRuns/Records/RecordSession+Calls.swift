import MakoRecords
import MakoStorage
import MakoTestSupport

// Calls that write many rows, at whose end unique indexes are checked.
extension RecordSession {
    /// Changes, new rows and deletions as one call: rows may share unique values until its end.
    func changeMany(
        _ table: ModelTable, _ handle: TableHandle, _ tx: borrowing WriteTransaction,
        _ run: inout RecordTransactionRun
    ) throws {
        let start = mark(tx, run)
        var changes = run.changes.empty
        changes.defersUnique = true
        let batch = random.chance(40) ? IndexBatch(limit: random.chance(30) ? 200 : 16 << 20) : nil
        var after = table
        log("  many \(table.schema.name)")
        if random.chance(60) {
            try permute(&after, handle, tx, &changes, batch)
        } else {
            for _ in 0..<(2 + random.below(15)) { try change(&after, handle, tx, &changes, batch) }
        }
        let reason = refusal { () throws(Refusal) in try after.checkUnique() }
        let isDone = try expect(reason) {
            try batch?.flush(in: tx, changes: &changes)
            try changes.settleUnique(tx.view)
        }
        guard isDone else { return try restore(start, tx, &run) }
        run.changes.append(changes)
        model.tables[table.schema.name] = after
    }

    /// Rows get the values of each other, those of one unique index where there is one.
    private func permute(
        _ table: inout ModelTable, _ handle: TableHandle, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet, _ batch: IndexBatch?
    ) throws {
        let keys = Set(table.keyPlaces)
        let indexed = table.schema.indexes.filter(\.isUnique).randomElement(using: &random)
        let names = indexed?.columns.map(\.name) ?? [random.pick(table.live.map { table.columns[$0].name })]
        let places = names.compactMap { table.place($0) }.filter { !keys.contains($0) }
        let chosen = table.rows.shuffled(using: &random).prefix(2 + random.below(20))
        for (row, other) in zip(chosen, chosen.shuffled(using: &random)) {
            let draft = Dictionary(uniqueKeysWithValues: places.map { ($0, other.values[$0]) })
            try update(row, draft, &table, handle, tx, &changes, batch)
            // Now and then a row is changed again before the others.
            if random.chance(10), let again = table.row(row.key) {
                try update(again, self.draft(table, key: false), &table, handle, tx, &changes, batch)
            }
        }
    }

    private func change(
        _ table: inout ModelTable, _ handle: TableHandle, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet, _ batch: IndexBatch?
    ) throws {
        switch random.below(10) {
        case 0..<6:
            guard let row = table.rows.randomElement(using: &random) else { return }
            var draft = draft(table, key: false)
            if random.chance(60), let other = table.rows.randomElement(using: &random) {
                for place in draft.keys { draft[place] = other.values[place] }
            }
            try update(row, draft, &table, handle, tx, &changes, batch)
        case 6..<8:
            guard let row = table.rows.randomElement(using: &random) else { return }
            log("    delete \(row.key)")
            try batch?.flush(in: tx, changes: &changes)
            guard try handle.delete(row.key, in: tx, changes: &changes) else {
                throw Disagreement("row \(row.key) was not there")
            }
            table.delete(row.key)
        default:
            let draft = draft(table, key: true)
            let values = table.fresh(draft)
            let key = table.isRowID ? nil : table.key(of: values)
            if table.live.contains(where: { !table.columns[$0].isOptional && values[$0].isNull }) { return }
            if let key, table.row(key) != nil { return }
            log("    insert \(draft.sorted { $0.key < $1.key })")
            var row = RowWriter()
            fill(&row, draft, table, handle)
            let stored = try handle.insert(&row, in: tx, changes: &changes, batch: batch)
            try note(stored, key, table)
            table.put(values, for: stored)
        }
    }

    private func update(
        _ row: ModelTable.Row, _ draft: [Int: Value], _ table: inout ModelTable, _ handle: TableHandle,
        _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet, _ batch: IndexBatch?
    ) throws {
        var values = row.values
        for (place, value) in draft { values[place] = value }
        if table.live.contains(where: { !table.columns[$0].isOptional && values[$0].isNull }) { return }
        log("    update \(row.key) \(draft.sorted { $0.key < $1.key })")
        var writer = RowWriter()
        fill(&writer, draft, table, handle)
        guard try handle.update(&writer, key: row.key, in: tx, changes: &changes, batch: batch) else {
            throw Disagreement("row \(row.key) was not there")
        }
        table.put(values, for: row.key)
    }
}
