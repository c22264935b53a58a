import MakoRecords
import MakoStorage

// SQL statements that write, inside a transaction (decision 30).

extension Transaction {
    func run(
        _ kept: CachedStatement, _ values: [StoredValue], _ named: [String: StoredValue]
    ) throws(MakoError) -> RawResults {
        if isEncoding { throw .unsupported("a statement while an object is being written") }
        try settle()
        if let insert = try plainInserts.prepared(kept, schema.catalogue), insert.isPlain {
            if CurrentCancellation.current?.isCancelled == true { throw .cancelled }
            return try store(insert, try records { () throws(RecordError) in try insert.values(values, named) })
        }
        let statement = kept.statement
        switch statement {
        case .delete(let delete):
            let table = try records { () throws(RecordError) in try delete.table.find(in: schema.catalogue) }
            if let binding = schema.binding(ofTable: table.schema.name) {
                return try remove(delete, binding, values, named)
            }
        case .dropTable(let drop):
            try checkUnused(drop)
        case .dropIndex(let drop): try checkUnused(drop)
        default: break
        }
        let before = schema
        var done = changes.empty
        let check = try schema.check(of: statement)
        // Code of the types runs while rows are checked.
        if check != nil { isEncoding = true }
        defer { if check != nil { isEncoding = false } }
        let outcome = try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try records { () throws(RecordError) in
                try kept.run(
                    before.catalogue, in: tx, changes: &done, parameters: values, named: named,
                    cancellation: CurrentCancellation.current, check: check)
            }
        }
        noteChanged(done)
        changes.append(done)
        if outcome.changesSchema { try adoptTables(of: statement, before) }
        var results = RawResults(outcome)
        if let key = outcome.lastKey, case .insert(let insert) = statement {
            try results.note(
                key, of: try records { () throws(RecordError) in try insert.table.find(in: before.catalogue) })
        }
        return results
    }

    /// Deletes rows of a bound type's table, with its delete rules.
    private func remove(
        _ statement: DeleteStatement, _ binding: Binding, _ values: [StoredValue], _ named: [String: StoredValue]
    ) throws(MakoError) -> RawResults {
        let keys = try records { () throws(RecordError) in
            try statement.rows(schema.catalogue, view: view, parameters: values, named: named)
        }
        var outcome = StatementOutcome()
        outcome.rows = try records { () throws(RecordError) in
            try statement.returned(keys, schema.catalogue, view: view, parameters: values, named: named)
        }
        outcome.changed = try removeCallingHooks(keys, current(binding))
        return RawResults(outcome)
    }

    /// Refuses to drop a table of a type in use.
    private func checkUnused(_ statement: DropTableStatement) throws(MakoError) {
        let found: TableHandle
        // The statement itself reports a missing table.
        do throws(RecordError) { found = try statement.table.find(in: schema.catalogue) } catch { return }
        if let model = schema.models.first(where: { $0.table == found.schema.name }) {
            throw .tableInUse(
                table: found.schema.name, entity: model.name,
                remedy: "call db.drop(\(model.name).self), which removes its objects first")
        }
    }

    /// Refuses to drop an index that a type in use declares.
    private func checkUnused(_ statement: DropIndexStatement) throws(MakoError) {
        let owner = try records { () throws(RecordError) in try statement.owner(schema.catalogue) }
        guard let table = owner?.schema.name else { return }
        for model in schema.models where model.table == table && !model.isPartial {
            if try model.schema().indexes.contains(where: { $0.name == statement.index }) {
                throw .tableInUse(
                    table: table, entity: model.name,
                    remedy: "remove the index \(statement.index) from its declaration; it goes at the next opening")
            }
        }
    }

    /// Objects that this transaction saved before do not show the change, so observers must not get them.
    private func noteChanged(_ done: ChangeSet) {
        if events.isEmpty { return }
        for change in done.changes { events.noteChanged(change.table, change.key) }
    }

    /// Binds the types again to the tables that a statement created, changed or dropped.
    private func adoptTables(of statement: Statement, _ before: SchemaState) throws(MakoError) {
        func stored(_ name: TableName) throws(MakoError) -> String {
            try records { () throws(RecordError) in try name.find(in: before.catalogue).schema.name }
        }
        switch statement {
        case .createTable(let create): try adoptTables(create.table.name, "created by a statement", isRewritten: false)
        case .dropTable(let drop): try adoptTables(try stored(drop.table), "dropped by a statement", isRewritten: true)
        case .createIndex(let create):
            try adoptTables(
                try stored(create.table), "index \(create.index) added by a statement", isRewritten: false)
        case .dropIndex(let drop):
            let owner = try records { () throws(RecordError) in try drop.owner(before.catalogue) }
            try adoptTables(
                owner?.schema.name ?? drop.index, "index \(drop.index) dropped by a statement", isRewritten: false)
        case .createView(let create):
            try adoptTables(create.table.name, "view created by a statement", isRewritten: false)
        case .dropView(let drop):
            try adoptTables(drop.table.name, "view dropped by a statement", isRewritten: false)
        default: break
        }
    }
}
