import MakoStorage

public enum AggregateFunction: String, Sendable, Hashable {
    case count
    /// NULL when there is nothing to add.
    case sum
    case average = "avg"
    case minimum = "min"
    case maximum = "max"
    /// As a double; 0 when there is nothing to add.
    case total
}

/// One aggregate in the making. NULLs are left out.
struct Accumulator {
    let function: AggregateFunction
    private var count: Int64 = 0
    private var whole: Int128 = 0
    private var broken = 0.0
    private var isWhole = true
    private var best: Value = .null

    init(_ function: AggregateFunction) { self.function = function }

    mutating func add(_ operand: Operand) {
        if operand.isNull && !sabotaged("nullsCounted") { return }
        count += 1
        switch function {
        case .count: break
        case .sum, .average, .total:
            if let number = operand.asWhole {
                whole += number
            } else if let number = operand.asDouble {
                broken += number
                isWhole = false
            }
        case .minimum, .maximum:
            guard let order = Accumulator.compare(operand, best) else {
                if best.isNull { best = operand.value }
                return
            }
            if function == .minimum ? order < 0 : order > 0 { best = operand.value }
        }
    }

    mutating func addRow() { count += 1 }

    /// Against a kept value, without making one of the operand.
    private static func compare(_ operand: Operand, _ value: Value) -> Int? {
        switch (operand, value) {
        case (.integer(let a), .integer(let b)): KeyOrder.compare(a, b)
        case (.double(let a), .double(let b)): KeyOrder.compare(KeyOrder.bits(a), KeyOrder.bits(b))
        case (.text(let a), .text(var b)): b.withUTF8 { KeyOrder.compareRaw(a, UnsafeRawBufferPointer($0)) }
        default: operand.value.compare(value)
        }
    }

    var result: Value {
        switch function {
        case .count: return .integer(count)
        case .total: return .double(broken + Double(whole))
        case .average: return count == 0 ? .null : .double((broken + Double(whole)) / Double(count))
        case .sum:
            if count == 0 { return .null }
            return isWhole ? Operand(whole: whole).value : .double(broken + Double(whole))
        case .minimum, .maximum: return best
        }
    }
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
        try Plan.check(function, values.kinds[0], expr)
        if let value = try extreme(function, expr, view) { return value }
        var accumulator = Accumulator(function)
        try forEachResult(in: view) { (key, row) throws(RecordError) in accumulator.add(try values.operand(0, row, key))
        }
        return accumulator.result
    }

    /// How many rows there are for each value of an expression, ordered by value; limit and offset count rows, not groups.
    public func groupCount(by expr: Expr, in view: Snapshot) throws(RecordError) -> [(value: Value, count: Int)] {
        if let found = try indexedValues(expr, counting: true, in: view) { return found }
        let values = try ExpressionRun([expr], self, view)
        var groups: [[UInt8]: (value: Value, count: Int)] = [:]
        var coding = KeyBuffer()
        try forEachResult(in: view) { (key, row) throws(RecordError) in
            let operand = try values.operand(0, row, key)
            coding.clear()
            coding.append(operand)
            let place = coding.bytes
            if (groups[place]?.count += 1) == nil { groups[place] = (operand.value, 1) }
        }
        return groups.sorted { KeyOrder.precedes($0.key, $1.key) }.map(\.value)
    }

    static func check(_ function: AggregateFunction, _ kind: ValueKind, _ expr: Expr) throws(RecordError) {
        guard [.sum, .average, .total].contains(function), !kind.isNumber, kind != .null else { return }
        throw expr.position.error("\(function.rawValue) needs numbers, and this is \(kind.name)")
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

    /// The smallest or largest value of a column, where rows come in its order without being sorted.
    func extreme(_ function: AggregateFunction, _ expr: Expr, _ view: Snapshot) throws(RecordError) -> Value? {
        guard function == .minimum || function == .maximum, bound.limit == nil, bound.offset == 0, case .column = expr
        else {
            return nil
        }
        var binder = Binder(bound.table, bound.catalogue, bound.parameters, bound.namedParameters, joins: bound.joins)
        let column = try binder.bind(expr)
        let condition = BoundCondition.and((bound.condition.map { [$0] } ?? []) + [.not(.isNull(column))])
        let plan = Planner.plan(
            BoundSelection(
                table: bound.table, catalogue: bound.catalogue, joins: binder.joins, condition: condition,
                orders: [BoundOrder(expr: column, descending: function == .maximum, noCase: false)], limit: 1,
                offset: 0,
                parameters: bound.parameters, namedParameters: bound.namedParameters))
        guard plan.orders.isEmpty else { return nil }
        return try plan.rows([expr], in: view).first?.first ?? .null
    }
}
