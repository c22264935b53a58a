/// COUNT, SUM, AVG and TOTAL. NULLs are skipped.
struct VectorAggregate {
    private(set) var count: Int64 = 0
    private var whole: Int128 = 0
    private var broken = 0.0
    /// The sum of the closed parts, if the rows are read in parts.
    private var closed = 0.0
    private var part: Int32 = 0
    private var isWhole = true

    @inline(__always)
    mutating func addRow() { count &+= 1 }

    @inline(__always)
    mutating func add(_ operand: Operand, of part: Int32 = 0) {
        if let number = operand.asWhole {
            whole += number
        } else if let number = operand.asDouble {
            if part != self.part { enter(part) }
            broken += number
            isWhole = false
        }
    }

    /// Adds the aggregate of a part.
    mutating func add(_ other: VectorAggregate, of part: Int32) {
        count &+= other.count
        whole += other.whole
        if other.isWhole { return }
        enter(part)
        broken += other.sum
        isWhole = false
    }

    private mutating func enter(_ part: Int32) {
        closed += broken
        broken = 0
        self.part = part
    }

    private var sum: Double { closed + broken }

    /// Returns the result; `nil` for MIN and MAX.
    func result(_ function: AggregateFunction) -> Operand? {
        switch function {
        case .count: return .integer(count)
        case .total: return .double(sum + Double(whole))
        case .average: return count == 0 ? .null : .double((sum + Double(whole)) / Double(count))
        case .sum:
            if count == 0 { return .null }
            return isWhole ? Operand(whole: whole) : .double(sum + Double(whole))
        case .minimum, .maximum: return nil
        }
    }
}

/// The state of one aggregate. NULLs are skipped.
struct Accumulator {
    let function: AggregateFunction
    private var aggregate = VectorAggregate()
    private var best: Value = .null
    /// Whether texts are compared without case.
    private let isNoCase: Bool

    init(_ function: AggregateFunction, isNoCase: Bool = false) {
        self.function = function
        self.isNoCase = isNoCase
    }

    mutating func add(_ operand: Operand, of part: Int32 = 0) {
        if operand.isNull { return }
        aggregate.addRow()
        switch function {
        case .count: break
        case .sum, .average, .total: aggregate.add(operand, of: part)
        case .minimum, .maximum:
            guard let order = Accumulator.compare(operand, best, isNoCase) else {
                if best.isNull { best = operand.value }
                return
            }
            if function == .minimum ? order < 0 : order > 0 { best = operand.value }
        }
    }

    /// Adds the state of a part; for sums and counts only.
    mutating func add(_ other: Accumulator, of part: Int32) { aggregate.add(other.aggregate, of: part) }

    /// Adds a row to COUNT(*).
    mutating func addRow() { aggregate.addRow() }

    /// Compares an operand with the current value, without conversion.
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

    var result: Value { aggregate.result(function)?.value ?? best }
}
