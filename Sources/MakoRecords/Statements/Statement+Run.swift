import MakoStorage

extension Statement {
    /// Runs a query over a snapshot or a transaction's view.
    ///
    /// - Parameter cancellation: ends a SELECT within a thousand rows.
    /// - Throws: `syntax` pointing into the text, also for a statement without a result; `cancelled`.
    package func read(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:],
        cancellation: Cancellation? = nil
    ) throws(RecordError) -> QueryRows {
        switch self {
        case .select(let statement):
            return try statement.run(
                catalogue, view: view, parameters: parameters, named: named, cancellation: cancellation)
        case .explain(let statement, true):
            let analysis = try statement.analysis(catalogue, view: view, parameters: parameters, named: named)
            return QueryRows(columns: ["plan"], rows: [[.text(analysis.description)]])
        case .explain(let statement, false):
            let plan = try statement.explanation(catalogue, parameters: parameters, named: named, view: view)
            return QueryRows(columns: ["plan"], rows: [[.text(plan.description)]])
        case .tableInfo(let table):
            return try table.find(in: catalogue).schema.information
        case .analyze(let table):
            let found = try table.map { (table) throws(RecordError) in try table.find(in: catalogue) }
            catalogue.statistics.forget(found)
            catalogue.plans.forget()
            return QueryRows(columns: [], rows: [])
        case .foreignKeys(_, let at):
            throw at.error("PRAGMA foreign_keys is for the shell, whose later statements it concerns")
        case .transaction(let step, let at):
            throw at.error(
                "\(step.rawValue) is for the shell and mako query; in Swift db.transaction { … } is a transaction, which commits at its end"
            )
        default:
            throw SourcePosition.none.error("the statement changes the database and needs a transaction for writing")
        }
    }

    /// Runs the statement inside a transaction. A statement that fails changes nothing, and the transaction may
    /// continue.
    ///
    /// - Parameters:
    ///   - catalogue: the catalogue of the transaction's view; to be loaded again if the outcome has changed the
    ///     schema.
    ///   - changes: records the changed rows.
    ///   - cancellation: ends a SELECT, UPDATE, DELETE or INSERT within a thousand rows.
    ///   - ignoringReferences: whether to store dangling references, and to delete rows without applying the delete
    ///     rules.
    ///   - check: validates each row that an INSERT or UPDATE stores, beyond the column types.
    /// - Throws: `cancelled`; `syntax` before anything is done; `duplicateKey`, `uniqueViolation`, `nullViolation`,
    ///   `typeMismatch`, `danglingReference`, `valueRefused` for rows that cannot be stored; `referenced` for rows that
    ///   cannot be deleted; `incompatibleSchema` for tables that cannot be created.
    package func run(
        _ catalogue: Catalogue, in tx: borrowing WriteTransaction, changes: inout ChangeSet, parameters: [Value] = [],
        named: [String: Value] = [:], cancellation: Cancellation? = nil, ignoringReferences: Bool = false,
        check: (any RowCheck)? = nil
    ) throws(RecordError) -> StatementOutcome {
        let given = StatementRun(
            catalogue: catalogue, parameters: parameters, named: named, cancellation: cancellation,
            ignoresReferences: ignoringReferences, rowCheck: check)
        return try run(given, in: tx, &changes)
    }

    func run(
        _ given: StatementRun, in tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) -> StatementOutcome {
        try followingTree(isDeep) { () throws(RecordError) in try runTree(given, in: tx, &changes) }
    }

    private func runTree(
        _ given: StatementRun, in tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) -> StatementOutcome {
        var run = given
        if isReadOnly {
            var outcome = StatementOutcome()
            outcome.rows = try read(
                run.catalogue, view: tx.view, parameters: run.parameters, named: run.named,
                cancellation: run.cancellation)
            return outcome
        }
        if run.parameters.count > parameterCount {
            throw SourcePosition.valuesLeftOver(run.parameters.count, places: parameterCount, in: text)
        }
        // A single row needs no savepoint, which would copy each page that is changed next.
        if isSingleRow { return try run.perform(self, &changes, tx) }
        let savepoint = tx.savepoint()
        var own = changes.empty
        own.defersUnique = passesValuesOn
        let outcome: StatementOutcome
        do throws(RecordError) {
            outcome = try run.perform(self, &own, tx)
            try own.settleUnique(tx.view)
        } catch {
            StatementRun.rollBack(savepoint, tx)
            throw error
        }
        changes.append(own)
        StatementRun.release(savepoint, tx)
        return outcome
    }

    /// Whether unique values may move between rows, so that uniqueness is checked at the end of the statement.
    private var passesValuesOn: Bool {
        switch self {
        case .update, .delete: true
        default: false
        }
    }

    private var isSingleRow: Bool {
        guard case .insert(let statement) = self, statement.conflict == .refuse, statement.onConflict == nil,
            statement.returning.isEmpty
        else { return false }
        switch statement.source {
        case .values(let rows): return rows.count == 1
        case .defaults: return true
        case .select: return false
        }
    }

    /// The text, for errors without a position.
    private var text: String {
        switch self {
        case .insert(let statement): statement.table.at.text
        case .update(let statement): statement.table.at.text
        case .delete(let statement): statement.table.at.text
        default: ""
        }
    }
}

extension DeleteStatement {
    /// Returns the rows that a DELETE would delete.
    ///
    /// - Throws: `syntax`, pointing into the text.
    package func rows(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:],
        cancellation: Cancellation? = nil
    ) throws(RecordError) -> [RowKey] {
        if parameters.count > parameterCount {
            throw SourcePosition.valuesLeftOver(parameters.count, places: parameterCount, in: table.at.text)
        }
        let target = try table.findWritable(in: catalogue)
        var plan = try Selection(
            table: target.schema.name, condition: condition, parameters: parameters, namedParameters: named
        ).plan(catalogue, in: view)
        plan.cancellation = cancellation
        return try plan.keys(in: view)
    }
}

/// The execution of a statement inside a transaction.
struct StatementRun {
    let catalogue: Catalogue
    let parameters: [Value]
    let named: [String: Value]
    let cancellation: Cancellation?
    let ignoresReferences: Bool
    let rowCheck: (any RowCheck)?
    /// An INSERT with its names resolved.
    var prepared: PreparedInsert?

    /// Throws if the statement is cancelled.
    ///
    /// - Throws: `cancelled`.
    func lookAtCancellation() throws(RecordError) {
        if cancellation?.isCancelled == true { throw .cancelled }
    }

    /// The number of rows for which an UPDATE computes values before it writes them.
    static var batchSize: Int { 1024 }

    mutating func perform(
        _ statement: Statement, _ changes: inout ChangeSet, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> StatementOutcome {
        switch statement {
        case .insert(let statement): return try insert(statement, &changes, tx)
        case .update(let statement): return try update(statement, &changes, tx)
        case .delete(let statement): return try delete(statement, &changes, tx)
        case .createTable(let statement): return try create(statement, tx)
        case .dropTable(let statement): return try drop(statement, &changes, tx)
        case .createIndex(let statement): return try create(statement, tx)
        case .dropIndex(let statement): return try drop(statement, tx)
        case .createView(let statement): return try create(statement, tx)
        case .dropView(let statement): return try drop(statement, tx)
        case .select, .explain, .tableInfo, .analyze, .foreignKeys, .transaction: return StatementOutcome()
        }
    }

    /// Rolls back to before the statement. If that fails, the transaction must not be committed.
    static func rollBack(_ savepoint: Savepoint, _ tx: borrowing WriteTransaction) {
        do throws(StorageError) { try tx.rollback(to: savepoint) } catch { return tx.breakOff(error) }
        release(savepoint, tx)
    }

    /// Releases a savepoint, because a transaction of many statements would accumulate them.
    static func release(_ savepoint: Savepoint, _ tx: borrowing WriteTransaction) {
        do throws(StorageError) { try tx.release(savepoint) } catch { tx.breakOff(error) }
    }

    private func delete(
        _ statement: DeleteStatement, _ changes: inout ChangeSet, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> StatementOutcome {
        let target = try statement.table.findWritable(in: catalogue)
        var outcome = StatementOutcome()
        var removal = RowRemoval(catalogue, cancellation)
        var returned = try returned(statement.returning, of: target, tx.view)
        let isAlone = ignoresReferences ? true : try removal.concernsRowsAlone(target, tx.view)
        if statement.condition == nil, isAlone, returned == nil {
            outcome.changed = try target.deleteAll(in: tx, changes: &changes)
            return outcome
        }
        let keys = try statement.rows(
            catalogue, view: tx.view, parameters: parameters, named: named, cancellation: cancellation)
        try lookAtCancellation()
        let takesSet = isAlone ? true : try removal.takesSet(target, tx.view)
        if takesSet {
            for key in keys { try returned?.add(key, tx.view) }
            outcome.changed =
                isAlone
                ? try target.delete(keys, in: tx, changes: &changes, cancellation: cancellation)
                : try removal.delete(keys, of: target, tx, &changes)
        } else {
            for key in keys {
                try lookAtCancellation()
                let count = returned?.rows.rows.count ?? 0
                try returned?.add(key, tx.view)
                if try removal.delete(key, of: target, tx, &changes) {
                    outcome.changed += 1
                } else {
                    returned?.forget(after: count)
                }
            }
        }
        try removal.finish(tx, &changes)
        if let returned { outcome.rows = returned.rows }
        return outcome
    }

    private func update(
        _ statement: UpdateStatement, _ changes: inout ChangeSet, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> StatementOutcome {
        let target = try statement.table.findWritable(in: catalogue)
        let columns = try assigned(statement.assignments, target)
        var returned = try returned(statement.returning, of: target, tx.view)
        let names = columns.map(\.name)
        let view = tx.view
        var plan = try Selection(
            table: target.schema.name, condition: statement.condition, parameters: parameters, namedParameters: named
        ).plan(catalogue, in: view)
        plan.cancellation = cancellation
        let values = try ExpressionExecutor(statement.assignments.map(\.value), plan, view)
        var batches = try BatchedCursor(of: plan, changing: names, in: view)
        let layout = try target.layout(for: names)
        var references = ReferenceCheck(ignoresReferences ? [] : columns, of: target, catalogue)
        var removal = RowRemoval(catalogue)
        let owned = ignoresReferences ? nil : try catalogue.ownedColumns(of: target)
        let changesOwned = owned.map { owned in names.contains { owned.contains($0) } } ?? false
        // Rows that have been updated would show their new values to the expressions of later ones.
        let isAllAtOnce = values.readsOtherRows
        var writer = RowWriter()
        // Nothing reads the indexes before the end, except the outputs of RETURNING.
        let batch = IndexBatch()
        var outcome = StatementOutcome()
        outcome.setColumns = names
        while !batches.isAtEnd {
            var keys: [RowKey] = []
            var found: [Value] = []
            try recorded {
                try batches.next(isAllAtOnce ? .max : StatementRun.batchSize, in: view) { key, row in
                    keys.append(key)
                    try values.append(row, key, to: &found)
                }
            }
            for (place, key) in keys.enumerated() {
                try lookAtCancellation()
                if !references.isEmpty {
                    try references.note(found[place * columns.count..<(place + 1) * columns.count], view)
                }
                if changesOwned { try removal.noteOwned(by: [key], target, view) }
                writer.begin(layout)
                for (position, assignment) in statement.assignments.enumerated() {
                    let value = found[place * columns.count + position]
                    try check(value, columns[position], assignment.column, target)
                    writer.set(position, value)
                }
                if try target.update(&writer, key: key, in: tx, changes: &changes, batch: batch, check: rowCheck) {
                    outcome.changed += 1
                    if returned != nil { try batch.flush(in: tx, changes: &changes) }
                    try returned?.add(key, view)
                }
            }
        }
        try batch.flush(in: tx, changes: &changes)
        try references.finish(view)
        try removal.finish(tx, &changes)
        if let returned { outcome.rows = returned.rows }
        return outcome
    }

    func assigned(
        _ assignments: [UpdateStatement.Assignment], _ target: TableHandle
    ) throws(RecordError) -> [ColumnSchema] {
        var columns: [ColumnSchema] = []
        for assignment in assignments {
            let name = assignment.column
            if name.isID(of: target) { throw StatementRun.keyIsKept(name, target) }
            let column = try name.find(in: target)
            if case .columns(let keys) = target.schema.key, keys.contains(column.name) {
                throw StatementRun.keyIsKept(name, target)
            }
            if columns.contains(where: { $0.ordinal == column.ordinal }) {
                throw name.at.error("\(column.name) is set twice")
            }
            columns.append(column)
        }
        return columns
    }

    private static func keyIsKept(_ name: ColumnName, _ target: TableHandle) -> RecordError {
        name.at.error(
            "\(target.schema.name).\(name.name) is the key, which an UPDATE cannot change; insert a new row and delete the old one"
        )
    }

    /// Checks for values that SQL cannot write: encrypted ones, and keys of several rows.
    func check(
        _ value: Value, _ column: ColumnSchema, _ name: ColumnName, _ target: TableHandle
    ) throws(RecordError) {
        if value.isNull { return }
        if column.sealedType != nil {
            throw name.at.error("\(target.schema.name).\(column.name) is encrypted; only objects can write it")
        }
        if column.type == .keys {
            throw name.at.error("\(target.schema.name).\(column.name) holds many rows; only objects can write it")
        }
    }
}
