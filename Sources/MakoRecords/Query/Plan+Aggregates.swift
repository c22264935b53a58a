import MakoStorage

extension Plan {
    /// Returns the values of some expressions for each row, in order.
    ///
    /// - Parameter compared: whether the caller compares the values; then none may be encrypted.
    package func rows(
        _ columns: [Expr], compared: Bool = false, in view: Snapshot
    ) throws(RecordError) -> [[Value]] {
        let values = try ExpressionExecutor(columns, self, view, areCompared: compared)
        var rows: [[Value]] = []
        try recorded {
            try covered(reading: values.program).forEachRow(in: view) { key, row in
                rows.append(try values.all(row, key))
                return true
            }
        }
        return rows
    }

    /// Returns an aggregate of an expression over the rows, within limit and offset.
    ///
    /// Sums of integers are exact, and doubles only beyond 64 bits.
    ///
    /// - Throws: `RecordError.syntax` if the expression does not bind, or is not numeric where it must be.
    package func aggregate(
        _ function: AggregateFunction, of expr: Expr, in view: Snapshot
    ) throws(RecordError) -> Value { try aggregate(function, of: expr, in: view, nil) }

    func aggregate(
        _ function: AggregateFunction, of expr: Expr, in view: Snapshot, _ measure: PlanMeasure?
    ) throws(RecordError) -> Value {
        let values = try ExpressionExecutor([expr], self, view)
        if let first = try firstRow(of: function, expr, values) {
            return try measure.during(.extremes) { (found) throws(RecordError) in
                found?.counts.passed += 1
                return try first.firstValue(of: values.bound(0), in: view, measure?.part(0))
            }
        }
        return try measure.during(.aggregate) { (found) throws(RecordError) in
            let value = try aggregate(function, of: expr, values, in: view, measure?.part(0))
            found?.counts.rows += measure?.part(0).found ?? 0
            found?.counts.passed += 1
            if isGathered, addsParts(function, values) { measure?.note(.gather, rows: 1, passed: 1) }
            return value
        }
    }

    /// Returns the plan whose first row has the smallest or largest value of a column; `nil` if all rows must be read.
    ///
    /// - Throws: `syntax` for an expression without that aggregate.
    func firstRow(
        of function: AggregateFunction, _ expr: Expr, _ values: ExpressionExecutor
    ) throws(RecordError) -> Plan? {
        if values.kinds[0] == .decimal, function == .minimum || function == .maximum { return nil }
        try function.check(values.kinds[0], expr)
        guard case .column = expr else { return nil }
        let isNoCase = Plan.isNoCase(expr, values.bound(0))
        let first = bound.first(function, of: values.bound(0), isNoCase: isNoCase)
        var found = first.flatMap { Planner.plan($0, reading: [values.bound(0)]).unsorted }
        found?.cancellation = cancellation
        return found
    }

    private func aggregate(
        _ function: AggregateFunction, of expr: Expr, _ values: ExpressionExecutor, in view: Snapshot,
        _ measure: PlanMeasure?
    ) throws(RecordError) -> Value {
        if values.kinds[0] == .decimal, function == .minimum || function == .maximum {
            return try extremeDecimal(function, values, in: view, measure)
        }
        let isNoCase = Plan.isNoCase(expr, values.bound(0))
        let aggregate = RowAggregate(function, values, isNoCase, table)
        guard addsParts(function, values) else {
            try aggregate.addRows(of: self, in: view, measure)
            return aggregate.result
        }
        let parts = try parts(in: view)
        if isGathered {
            let (argument, table, joins) = (values.bound(0), table, bound.joins)
            try forEachPart(
                parts, in: view, measure,
                { (part, measure) throws(RecordError) in
                    let values = ExpressionExecutor(bound: [argument], table, joins, view)
                    let aggregate = RowAggregate(function, values, isNoCase, table)
                    try aggregate.addRows(of: part, in: view, measure)
                    return aggregate
                }
            ) { (part) in
                aggregate.add(part)
                return true
            }
        } else {
            for part in parts {
                aggregate.beginPart()
                try measure.ofPart { (measure) throws(RecordError) in
                    try aggregate.addRows(of: part, in: view, measure)
                }
            }
        }
        return aggregate.result
    }

    /// Returns whether the aggregate is combined from those of the parts of a parallel scan.
    func addsParts(_ function: AggregateFunction, _ values: ExpressionExecutor) -> Bool {
        guard threads != nil else { return false }
        if VectorAggregates([(function, values.bound(0))], table) != nil { return true }
        return function != .minimum && function != .maximum && values.program.subqueries.isEmpty
            && values.program.matches.isEmpty
    }

    private func extremeDecimal(
        _ function: AggregateFunction, _ values: ExpressionExecutor, in view: Snapshot, _ measure: PlanMeasure?
    ) throws(RecordError) -> Value {
        var best: (value: Value, order: [UInt8])?
        try forEachResult(in: view, measure) { (key, row) throws(RecordError) in
            let value = try values.operand(0, row, key).value
            guard let order = DecimalText(value)?.order else { return }
            if let known = best {
                let isSmaller = KeyOrder.precedes(order, known.order)
                if function == .minimum ? !isSmaller : isSmaller || order == known.order { return }
            }
            best = (value, order)
        }
        return best?.value ?? .null
    }

    /// Returns the number of rows of each value of an expression, ordered by value. Limit and offset count rows, not
    /// groups.
    package func groupCount(by expr: Expr, in view: Snapshot) throws(RecordError) -> [(value: Value, count: Int)] {
        try groupCount(by: expr, in: view, nil)
    }

    func groupCount(
        by expr: Expr, in view: Snapshot, _ measure: PlanMeasure?
    ) throws(RecordError) -> [(value: Value, count: Int)] {
        if let found = try indexedValues(expr, counting: true, in: view, measure) { return found }
        return try measure.during(.hashAggregate) { (found) throws(RecordError) in
            let groups = try hashedCounts(by: expr, in: view, measure?.part(0))
            found?.counts.rows += measure?.part(0).found ?? 0
            found?.counts.passed += groups.count
            found?.hold(groups.reduce(0) { $0 + $1.key.count + MemoryLayout<(value: Value, count: Int)>.stride })
            return groups.sorted { KeyOrder.precedes($0.key, $1.key) }.map(\.value)
        }
    }

    private func hashedCounts(
        by expr: Expr, in view: Snapshot, _ measure: PlanMeasure?
    ) throws(RecordError) -> [[UInt8]: (value: Value, count: Int)] {
        let values = try ExpressionExecutor([expr], self, view)
        let isDecimal = values.kinds[0] == .decimal
        let isNoCase = Plan.isNoCase(expr, values.bound(0))
        var groups: [[UInt8]: (value: Value, count: Int)] = [:]
        var coding = KeyBuffer()
        try covered(reading: values.program).forEachResult(in: view, measure) { (key, row) throws(RecordError) in
            let operand = try values.operand(0, row, key)
            coding.clear()
            if isDecimal, let decimal = DecimalText(operand.value) {
                coding.append(Value.blob(decimal.order))
            } else {
                coding.append(operand, noCase: isNoCase)
            }
            let place = coding.bytes
            if (groups[place]?.count += 1) == nil { groups[place] = (operand.value, 1) }
        }
        return groups
    }

    /// Returns whether the texts of an expression of one table are compared without case.
    private static func isNoCase(_ source: Expr, _ bound: BoundExpr) -> Bool {
        if let explicit = source.explicitCollation { return explicit }
        if case .column(let column) = bound { return column.isNoCase }
        return false
    }
}

/// One aggregate of an expression over rows, which may come in parts.
private final class RowAggregate {
    private let values: ExpressionExecutor
    /// The vectorised aggregate, where the expression is a numeric column.
    private let vectorAggregates: VectorAggregates?
    private var accumulator: Accumulator
    /// The number of the part, from 1 on; 0 if rows do not come in parts.
    private var part: Int32 = 0

    init(_ function: AggregateFunction, _ values: ExpressionExecutor, _ isNoCase: Bool, _ table: TableHandle) {
        self.values = values
        vectorAggregates = VectorAggregates([(function, values.bound(0))], table)
        accumulator = Accumulator(function, isNoCase: isNoCase)
    }

    func addRows(of plan: Plan, in view: Snapshot, _ measure: PlanMeasure?) throws(RecordError) {
        if let vectorAggregates {
            if try recorded({ try vectorAggregates.addRows(of: plan, in: view, measure) }) == nil {
                try plan.covered(reading: values.program).forEachResult(in: view, measure) { (_, row) in
                    vectorAggregates.add(row)
                }
            }
            return
        }
        var accumulator = accumulator
        let part = part
        try plan.covered(reading: values.program).forEachResult(in: view, measure) { (key, row) throws(RecordError) in
            accumulator.add(try values.operand(0, row, key), of: part)
        }
        self.accumulator = accumulator
    }

    /// Starts the next part.
    func beginPart() {
        if part > 0 { vectorAggregates?.endPart() }
        part += 1
    }

    /// Adds the aggregate of the next part.
    func add(_ other: RowAggregate) {
        part += 1
        if let vectorAggregates, let others = other.vectorAggregates { return vectorAggregates.add(others) }
        accumulator.add(other.accumulator, of: part)
    }

    var result: Value {
        guard let vectorAggregates else { return accumulator.result }
        vectorAggregates.endPart()
        return vectorAggregates.result(0).value
    }
}
