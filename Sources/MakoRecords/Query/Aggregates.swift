import MakoStorage

/// Counts and adds numbers. NULLs are left out.
struct Tally {
    private(set) var count: Int64 = 0
    private var whole: Int128 = 0
    private var broken = 0.0
    private var isWhole = true

    @inline(__always)
    mutating func addRow() { count &+= 1 }

    @inline(__always)
    mutating func add(_ operand: Operand) {
        if let number = operand.asWhole {
            whole += number
        } else if let number = operand.asDouble {
            broken += number
            isWhole = false
        }
    }

    /// Nil for functions that need a value, not a tally.
    func result(_ function: AggregateFunction) -> Operand? {
        switch function {
        case .count: return .integer(count)
        case .total: return .double(broken + Double(whole))
        case .average: return count == 0 ? .null : .double((broken + Double(whole)) / Double(count))
        case .sum:
            if count == 0 { return .null }
            return isWhole ? Operand(whole: whole) : .double(broken + Double(whole))
        case .minimum, .maximum: return nil
        }
    }
}

/// One aggregate in the making. NULLs are left out.
struct Accumulator {
    let function: AggregateFunction
    private var tally = Tally()
    private var best: Value = .null
    /// Whether texts are compared without regard to case.
    private let isNoCase: Bool

    init(_ function: AggregateFunction, isNoCase: Bool = false) {
        self.function = function
        self.isNoCase = isNoCase
    }

    mutating func add(_ operand: Operand) {
        if operand.isNull { return }
        tally.addRow()
        switch function {
        case .count: break
        case .sum, .average, .total: tally.add(operand)
        case .minimum, .maximum:
            guard let order = Accumulator.compare(operand, best, isNoCase) else {
                if best.isNull { best = operand.value }
                return
            }
            if function == .minimum ? order < 0 : order > 0 { best = operand.value }
        }
    }

    /// Counts what has no value of its own.
    mutating func addRow() { tally.addRow() }

    /// Against a kept value, without making one of the operand.
    private static func compare(_ operand: Operand, _ value: Value, _ isNoCase: Bool) -> Int? {
        switch (operand, value) {
        case (.integer(let a), .integer(let b)): KeyOrder.compare(a, b)
        case (.double(let a), .double(let b)): KeyOrder.compare(KeyOrder.bits(a), KeyOrder.bits(b))
        case (.text(let a), .text(var b)):
            b.withUTF8 {
                isNoCase
                    ? Folding.compare(a, UnsafeRawBufferPointer($0))
                    : KeyOrder.compareRaw(a, UnsafeRawBufferPointer($0))
            }
        default: operand.value.compare(value)
        }
    }

    var result: Value { tally.result(function)?.value ?? best }
}

extension Plan {
    /// An aggregate of an expression over the rows, limit and offset observed.
    ///
    /// Sums of whole numbers are exact, and doubles only beyond 64 bits.
    /// - Throws: `RecordError.syntax` when the expression does not bind, or does not give numbers where they are needed.
    public func aggregate(
        _ function: AggregateFunction, of expr: Expr, in view: Snapshot
    ) throws(RecordError) -> Value {
        let values = try ExpressionRun([expr], self, view)
        if values.kinds[0] == .decimal, function == .minimum || function == .maximum {
            return try extremeDecimal(function, values, in: view)
        }
        try function.check(values.kinds[0], expr)
        let isNoCase = Plan.isNoCase(expr, values.bound(0))
        if case .column = expr,
            var found = Planner.extreme(function, of: values.bound(0), isNoCase: isNoCase, bound)
        {
            found.cancellation = cancellation
            return try found.firstValue(of: values.bound(0), in: view)
        }
        if let tallies = ColumnTallies([(function, values.bound(0))], table) {
            if try recorded({ try tallies.addRows(of: self, in: view) }) == nil {
                try covered(reading: values.program).forEachResult(in: view) { (_, row) in tallies.add(row) }
            }
            return tallies.result(0).value
        }
        var accumulator = Accumulator(function, isNoCase: isNoCase)
        try covered(reading: values.program).forEachResult(in: view) { (key, row) throws(RecordError) in
            accumulator.add(try values.operand(0, row, key))
        }
        return accumulator.result
    }

    private func extremeDecimal(
        _ function: AggregateFunction, _ values: ExpressionRun, in view: Snapshot
    ) throws(RecordError) -> Value {
        var best: (value: Value, order: [UInt8])?
        try forEachResult(in: view) { (key, row) throws(RecordError) in
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
        if let found = try indexedValues(expr, counting: true, in: view) { return found }
        let values = try ExpressionRun([expr], self, view)
        let isDecimal = values.kinds[0] == .decimal
        let isNoCase = Plan.isNoCase(expr, values.bound(0))
        var groups: [[UInt8]: (value: Value, count: Int)] = [:]
        var coding = KeyBuffer()
        try covered(reading: values.program).forEachResult(in: view) { (key, row) throws(RecordError) in
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
        return groups.sorted { KeyOrder.precedes($0.key, $1.key) }.map(\.value)
    }

    /// Whether the texts of an expression of one table are compared without regard to case.
    private static func isNoCase(_ source: Expr, _ bound: BoundExpr) -> Bool {
        if let explicit = source.explicitCollation { return explicit }
        if case .column(let column) = bound { return column.isNoCase }
        return false
    }

    /// Every row of the result, in any order.
    func forEachResult(in view: Snapshot, _ body: (RowKey, RowReader) throws(RecordError) -> Void) throws(RecordError) {
        try recorded {
            if bound.limit == nil && bound.offset == 0 {
                try RowScan(self, view).forEachRow(table.layout, expecting: 1 << 20) { key, row in
                    try body(key, row)
                    return true
                }
            } else {
                try forEachRow(in: view) { key, row in
                    try body(key, row)
                    return true
                }
            }
        }
    }

    /// The value of a column in the first row; NULL where there is none.
    func firstValue(
        of column: BoundExpr, in view: Snapshot, _ measure: StepMeasure? = nil
    ) throws(RecordError) -> Value {
        let run = ExpressionRun(bound: [column], table, bound.joins, view)
        let scan = RowScan(self, view)
        scan.measure = measure
        var value = Value.null
        try recorded {
            try forEachRow(table.layout, scan, view) { key, row in
                measure?.passed += 1
                value = try run.operand(0, row, key).value
                return false
            }
        }
        return value
    }
}

extension Planner {
    /// A plan whose first row has the smallest or largest value of a column; nil: no order serves, so that all rows must be looked at.
    static func extreme(
        _ function: AggregateFunction, of column: BoundExpr, isNoCase: Bool, _ bound: BoundSelection
    ) -> Plan? {
        guard function == .minimum || function == .maximum, bound.limit == nil, bound.offset == 0,
            case .column(let name) = column, name.node < 0
        else { return nil }
        let order = BoundOrder(expr: column, descending: function == .maximum, noCase: isNoCase)
        let conditions = (bound.condition.map { [$0] } ?? []) + [.not(.isNull(column))]
        let plan = Planner.plan(bound.with(.all(conditions), [order], limit: 1, offset: 0), reading: [column])
        return plan.orders.isEmpty ? plan : nil
    }
}
