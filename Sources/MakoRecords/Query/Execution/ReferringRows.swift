import MakoStorage

/// Rows related to the outer row through a column of keys, in either direction.
final class ReferringRows {
    private let plan: Plan
    private let source: SubqueryPlan.Source
    private let view: Snapshot
    private let outers: CorrelatedParameters
    private let cancellation: Cancellation?
    /// Counts the rows looked up and those that pass, if the run is measured.
    private let measure: PlanMeasure?
    private let members: OperatorMeasure?
    private let evaluator: Evaluator?

    /// - Returns: `nil` if the sub-query's rows are found in another way.
    init?(
        _ subquery: SubqueryPlan, _ view: Snapshot, _ outers: CorrelatedParameters, _ cancellation: Cancellation?,
        _ measure: PlanMeasure?
    ) {
        switch subquery.source {
        case .held(let plan), .holders(let plan, _, _): self.plan = plan
        case .plan, .statement: return nil
        }
        source = subquery.source
        self.view = view
        self.outers = outers
        self.cancellation = cancellation
        self.measure = measure
        if case .held = subquery.source { members = measure?.at(.heldKeys) } else { members = measure?.at(.keyHolders) }
        evaluator = !plan.hasResidual ? nil : Evaluator(plan.program, view, outers: outers, cancellation)
    }

    func forEachRow(_ body: (RowKey, RowReader) throws(RecordError) -> Bool) throws(RecordError) {
        guard let measure, let members else { return try lookUp(body) }
        members.counts.runs += 1
        let examined = members.counts.rows
        var passed = 0
        let before = measure.run.turn(to: members)
        defer { measure.run.turn(to: before) }
        try lookUp { (key, row) throws(RecordError) in
            passed += 1
            measure.run.turn(to: before)
            defer { measure.run.turn(to: members) }
            return try body(key, row)
        }
        let found = members.counts.rows - examined
        members.counts.passed += evaluator == nil ? passed : found
        if evaluator != nil { measure.note(.filter, rows: found, passed: passed) }
    }

    private func lookUp(_ body: (RowKey, RowReader) throws(RecordError) -> Bool) throws(RecordError) {
        if cancellation?.isCancelled == true { throw .cancelled }
        switch source {
        case .held:
            guard case .blob(let bytes) = outers.values[0] else { return }
            try recorded {
                try HeldKeys.forEach(in: bytes) { table, key in table == 0 ? try visit(key, body) : true }
            }
        case .holders(_, let column, let isRowID):
            guard let key = key(isRowID) else { return }
            let keys = try plan.table.keys(holding: key, in: column, view: view)
            members?.counts.entries += keys.count
            try recorded {
                for key in keys { guard try visit(key, body) else { return } }
            }
        case .plan, .statement: return
        }
    }

    /// Returns the key of the outer row; `nil` if there is none.
    private func key(_ isRowID: Bool) -> RowKey? {
        if isRowID {
            guard case .integer(let id)? = outers.values.first else { return nil }
            return .rowID(id)
        }
        var buffer = KeyBuffer()
        for value in outers.values {
            if value.isNull { return nil }
            buffer.append(value)
        }
        return .bytes(buffer.bytes)
    }

    private func visit(_ key: RowKey, _ body: (RowKey, RowReader) throws(RecordError) -> Bool) throws -> Bool {
        // A key of another kind matches no row of this table.
        guard (key.rowID != nil) == plan.table.isRowID else { return true }
        if case .bytes(let bytes) = key, bytes.count > TableHandle.longestKey { return true }
        return try plan.table.withRow(key, in: view) { row in
            members?.counts.rows += 1
            if let evaluator, !(try evaluator.test(row, key)) { return true }
            return try body(key, row)
        } ?? true
    }
}
