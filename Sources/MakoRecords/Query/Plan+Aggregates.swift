import MakoStorage

extension Plan {
    /// The rows' values of some expressions, in order.
    ///
    /// - Parameter compared: whether they are to be compared with each other; then none may be encrypted.
    public func rows(
        _ columns: [Expr], compared: Bool = false, in view: Snapshot
    ) throws(RecordError) -> [[Value]] {
        let values = try ExpressionRun(columns, self, view, areCompared: compared)
        var rows: [[Value]] = []
        try recorded {
            try covered(reading: values.program).forEachRow(in: view) { key, row in
                rows.append(try values.all(row, key))
                return true
            }
        }
        return rows
    }

    /// An aggregate of an expression over the rows, limit and offset observed.
    ///
    /// Sums of whole numbers are exact, and doubles only beyond 64 bits.
    /// - Throws: `RecordError.syntax` when the expression does not bind, or does not give numbers where they are needed.
    public func aggregate(
        _ function: AggregateFunction, of expr: Expr, in view: Snapshot
    ) throws(RecordError) -> Value { try aggregate(function, of: expr, in: view, nil) }

    func aggregate(
        _ function: AggregateFunction, of expr: Expr, in view: Snapshot, _ measure: PlanMeasure?
    ) throws(RecordError) -> Value {
        let values = try ExpressionRun([expr], self, view)
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
            return value
        }
    }

    /// The plan whose first row has the smallest or largest value of a column; nil: all rows are looked at.
    ///
    /// - Throws: `syntax` for an expression of which there is no such aggregate.
    func firstRow(
        of function: AggregateFunction, _ expr: Expr, _ values: ExpressionRun
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
        _ function: AggregateFunction, of expr: Expr, _ values: ExpressionRun, in view: Snapshot,
        _ measure: PlanMeasure?
    ) throws(RecordError) -> Value {
        if values.kinds[0] == .decimal, function == .minimum || function == .maximum {
            return try extremeDecimal(function, values, in: view, measure)
        }
        if let tallies = ColumnTallies([(function, values.bound(0))], table) {
            if try recorded({ try tallies.addRows(of: self, in: view, measure) }) == nil {
                try covered(reading: values.program).forEachResult(in: view, measure) { (_, row) in tallies.add(row) }
            }
            return tallies.result(0).value
        }
        var accumulator = Accumulator(function, isNoCase: Plan.isNoCase(expr, values.bound(0)))
        try covered(reading: values.program).forEachResult(in: view, measure) { (key, row) throws(RecordError) in
            accumulator.add(try values.operand(0, row, key))
        }
        return accumulator.result
    }

    private func extremeDecimal(
        _ function: AggregateFunction, _ values: ExpressionRun, in view: Snapshot, _ measure: PlanMeasure?
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

    /// How many rows there are for each value of an expression, ordered by value; limit and offset count rows, not groups.
    public func groupCount(by expr: Expr, in view: Snapshot) throws(RecordError) -> [(value: Value, count: Int)] {
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
        let values = try ExpressionRun([expr], self, view)
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

    /// Whether the texts of an expression of one table are compared without regard to case.
    private static func isNoCase(_ source: Expr, _ bound: BoundExpr) -> Bool {
        if let explicit = source.explicitCollation { return explicit }
        if case .column(let column) = bound { return column.isNoCase }
        return false
    }
}
