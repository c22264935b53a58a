import MakoStorage

/// An `ON CONFLICT` clause with its names resolved: finds the conflicting row, and updates it or leaves it.
struct Upsert {
    private enum Constraint {
        /// The key, and every unique index.
        case any, key
        case index(IndexHandle)
    }

    private let target: TableHandle
    private let constraint: Constraint
    /// The update; `nil` for DO NOTHING.
    private let change: Change?

    /// The update of the conflicting row.
    private struct Change {
        let columns: [ColumnSchema]
        let names: [ColumnName]
        let layout: RowLayout
        let values: ExpressionExecutor
        let condition: Evaluator?
        /// Supplies the new row, `excluded` in expressions.
        let supply: RowContext
        let ownsRows: Bool
    }

    init(_ clause: ConflictClause, _ target: TableHandle, _ run: StatementRun, _ view: Snapshot) throws(RecordError) {
        self.target = target
        constraint = try Upsert.constraint(clause, target)
        guard let assignments = clause.assignments else {
            change = nil
            return
        }
        let columns = try run.assigned(assignments, target)
        var binder = Binder(target, run.catalogue, run.parameters, run.named, joins: [.supplied(target, "excluded")])
        binder.references = ["excluded": 0]
        var bound: [BoundExpr] = []
        for assignment in assignments { bound.append(try binder.bind(assignment.value)) }
        let condition = try clause.condition.map { (condition) throws(RecordError) in
            Planner.plan(try binder.bind(condition), in: view)
        }
        let supply = try RowContext(rows: binder.joins.count, results: 0)
        let owned = run.ignoresReferences ? nil : try run.catalogue.ownedColumns(of: target)
        change = Change(
            columns: columns, names: assignments.map(\.column), layout: try target.layout(for: columns.map(\.name)),
            values: ExpressionExecutor(bound: Planner.plan(bound, in: view), target, binder.joins, view, supply),
            condition: condition.map { Evaluator(Program(target, $0, joins: binder.joins), view, supply) },
            supply: supply, ownsRows: owned.map { owned in columns.contains { owned.contains($0.name) } } ?? false)
    }

    /// The columns that an update sets; empty for DO NOTHING.
    var columns: [ColumnSchema] { change?.columns ?? [] }

    private static func constraint(_ clause: ConflictClause, _ target: TableHandle) throws(RecordError) -> Constraint {
        guard !clause.target.isEmpty else { return .any }
        var names: Set<String> = []
        for name in clause.target { names.insert(name.isID(of: target) ? "" : try name.find(in: target).name) }
        if target.isRowID ? names == [""] : names == Set(target.schema.keyNames) {
            // A NOCASE key has a unique index, too.
            if let index = target.schema.keyIndex,
                let handle = target.indexes.first(where: { $0.schema.name == index.name })
            {
                return .index(handle)
            }
            return .key
        }
        for index in target.indexes where index.isUnique && index.condition == nil {
            if Set(index.schema.columns.map(\.name)) == names { return .index(index) }
        }
        let list = clause.target.map(\.name).joined(separator: ", ")
        throw clause.at.error("\(target.schema.name) has neither a key nor a unique index over \(list)")
    }

    /// Returns the row that conflicts with the new one; `nil` if there is none.
    ///
    /// - Parameter id: the new row's id, if the statement has one.
    func conflict(_ writer: inout RowWriter, _ id: RowKey?, _ view: Snapshot) throws(RecordError) -> RowKey? {
        switch constraint {
        case .any: return try target.conflicting(&writer, key: id, view: view).first
        case .key:
            let own: RowKey? = if let id { id } else { target.isRowID ? nil : try target.keyOfDraft(&writer) }
            guard let own, try target.contains(own, in: view) else { return nil }
            return own
        case .index(let index):
            let new = try RowReader(try writer.finish(), target.layout)
            return try target.owner(of: new, key: nil, in: index, view)
        }
    }

    /// Whether the update sets columns that own rows.
    var changesOwned: Bool { change?.ownsRows == true }

    /// Returns the values for the conflicting row; `nil` if it is not changed.
    ///
    /// - Parameters:
    ///   - new: the row to be inserted.
    ///   - id: its id, if the statement has one.
    func values(
        for key: RowKey, _ new: inout RowWriter, _ id: RowKey?, _ view: Snapshot
    ) throws(RecordError) -> [Value]? {
        guard let change else { return nil }
        let excluded = try RowReader(try new.finish(), target.layout)
        var found: [Value] = []
        change.supply.rows[0] = RowContext.Place(row: excluded, id: id?.rowID ?? 0)
        defer { change.supply.rows[0] = RowContext.Place() }
        let isWanted = try recorded {
            try target.withRow(key, in: view) { row in
                guard try change.condition?.test(row, key) ?? true else { return false }
                try change.values.append(row, key, to: &found)
                return true
            }
        }
        return isWanted == true ? found : nil
    }

    /// Returns the row with the values of ``values(for:_:_:_:)``.
    func row(_ values: [Value], _ run: StatementRun) throws(RecordError) -> RowWriter {
        var writer = RowWriter()
        guard let change else { return writer }
        writer.begin(change.layout)
        for (position, column) in change.columns.enumerated() {
            try run.check(values[position], column, change.names[position], target)
            writer.set(position, values[position])
        }
        return writer
    }
}
