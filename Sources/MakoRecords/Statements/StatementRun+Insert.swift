import MakoStorage

extension StatementRun {
    /// The number of rows from which on index entries are buffered and inserted in order.
    private static var fewestBatched: Int { 64 }

    func insert(
        _ statement: InsertStatement, _ changes: inout ChangeSet, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> StatementOutcome {
        let insert = if let prepared { prepared } else { try PreparedInsert(statement, catalogue) }
        let (target, places) = (insert.target, insert.places)
        let rows = try rows(statement, target, places.count, tx.view)
        let isBatched =
            rows.count >= StatementRun.fewestBatched && statement.conflict == .refuse && statement.onConflict == nil
        let batch = isBatched ? IndexBatch() : nil
        var writer = RowWriter()
        var outcome = StatementOutcome()
        var references = ReferenceCheck(
            ignoresReferences ? [] : places.map(\.column), of: target, catalogue, insertsRows: !ignoresReferences)
        var removal = RowRemoval(catalogue)
        let upsert = try statement.onConflict.map { (clause) throws(RecordError) in
            try Upsert(clause, target, self, tx.view)
        }
        var changed = ReferenceCheck(ignoresReferences ? [] : upsert?.columns ?? [], of: target, catalogue)
        var returned = try returned(statement.returning, of: target, tx.view)
        for row in rows {
            try lookAtCancellation()
            let noted = references.count
            writer.begin(target.layout)
            var id: RowKey?
            for (place, value) in zip(places, row) {
                guard let column = place.column else {
                    id = try target.rowID(of: value, named: place.name.name)
                    continue
                }
                try check(value, column, place.name, target)
                writer.set(place.position, value)
            }
            if statement.conflict != .replace {
                try note(row, id, &writer, target, &references, tx.view)
                // A single row needs no savepoint, unless it may be skipped.
                if rows.count == 1, statement.conflict == .refuse, statement.onConflict == nil {
                    try references.finish(tx.view)
                }
            }
            if let upsert, let other = try upsert.conflict(&writer, id, tx.view) {
                references.forget(after: noted)
                guard let found = try upsert.values(for: other, &writer, id, tx.view) else { continue }
                if !changed.isEmpty { try changed.note(found[...], tx.view) }
                if upsert.changesOwned { try removal.noteOwned(by: [other], target, tx.view) }
                var update = try upsert.row(found, self)
                if try target.update(&update, key: other, in: tx, changes: &changes, check: rowCheck) {
                    outcome.changed += 1
                    try returned?.add(other, tx.view)
                }
                continue
            }
            if statement.conflict == .replace {
                // References to the row with the same key stay; other conflicting rows are deleted by the delete rules.
                let own = try ownKey(id, &writer, target)
                for other in try target.conflicting(&writer, key: id, view: tx.view) {
                    if ignoresReferences || other == own {
                        if !ignoresReferences { try removal.noteOwned(by: [other], target, tx.view) }
                        try target.delete(other, in: tx, changes: &changes)
                    } else {
                        _ = try removal.delete(other, of: target, tx, &changes)
                    }
                }
                // After the removal, because a removed row is no target any more.
                try note(row, id, &writer, target, &references, tx.view)
            }
            let key: RowKey
            do throws(RecordError) {
                key = try target.insert(&writer, key: id, in: tx, changes: &changes, batch: batch, check: rowCheck)
            } catch {
                guard statement.conflict == .ignore, error.isConflict else { throw error }
                references.forget(after: noted)
                continue
            }
            outcome.changed += 1
            outcome.lastKey = key
            try returned?.add(key, tx.view)
        }
        try batch?.flush(in: tx)
        if let returned { outcome.rows = returned.rows }
        try references.finish(tx.view)
        try changed.finish(tx.view)
        try removal.finish(tx, &changes)
        return outcome
    }

    /// Records the missing targets of a row's references; the row itself is none of them.
    private func note(
        _ row: [Value], _ id: RowKey?, _ writer: inout RowWriter, _ target: TableHandle,
        _ references: inout ReferenceCheck, _ view: Snapshot
    ) throws(RecordError) {
        if references.isEmpty { return }
        let noted = references.count
        try references.note(row, view)
        if references.count > noted, let own = try ownKey(id, &writer, target) {
            references.forget(ownKey: own, after: noted)
        }
    }

    /// Returns the key of the new row; `nil` if the table must assign one.
    private func ownKey(
        _ id: RowKey?, _ writer: inout RowWriter, _ target: TableHandle
    ) throws(RecordError) -> RowKey? {
        if let id { return id }
        return target.isRowID ? nil : try target.keyOfDraft(&writer)
    }

    /// Returns the values of all rows, computed before the first one is stored, so that a SELECT does not read what it
    /// inserts.
    private func rows(
        _ statement: InsertStatement, _ target: TableHandle, _ width: Int, _ view: Snapshot
    ) throws(RecordError) -> [[Value]] {
        func check(_ found: Int) throws(RecordError) {
            if found == width { return }
            throw statement.table.at.error(
                "\(found) \(found == 1 ? "value is" : "values are") given for \(width) \(width == 1 ? "column" : "columns") of \(target.schema.name)"
            )
        }
        switch statement.source {
        case .defaults: return [[]]
        case .values(let rows):
            try check(rows.first?.count ?? 0)
            var binder = Binder(target, catalogue, parameters, named)
            var values: [[Value]] = []
            values.reserveCapacity(rows.count)
            for row in rows {
                var found: [Value] = []
                found.reserveCapacity(width)
                for expr in row { found.append(try value(of: expr, &binder)) }
                values.append(found)
            }
            return values
        case .select(let select):
            let found = try select.run(
                catalogue, view: view, parameters: parameters, named: named, cancellation: cancellation)
            try check(found.columns.count)
            return found.rows
        }
    }

    private func value(of expr: Expr, _ binder: inout Binder) throws(RecordError) -> Value {
        if case .literal(let value, _) = expr { return value }
        if case .column(let path, let at) = expr, path.count == 1 {
            throw at.error("there is no row yet whose columns could be named here" + at.textHint(path[0]))
        }
        let bound = try binder.bind(expr)
        guard let value = bound.constant else {
            throw expr.position.error("there is no row yet whose columns could be named here")
        }
        return value
    }
}

extension RecordError {
    /// Whether an INSERT OR IGNORE skips the row.
    fileprivate var isConflict: Bool {
        switch self {
        case .duplicateKey, .uniqueViolation, .nullViolation: true
        default: false
        }
    }
}
