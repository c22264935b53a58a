/// What the bytes of a row tell before anything else of it is looked at: whether numbers and dates lie within the bounds that a
/// condition sets them. Most rows of an unindexed search go no further.
final class RowPrefilter {
    /// The bounds, without the counting that an array would cost for each row.
    let tests: Tests

    /// - Returns: nil: the condition sets no such bounds.
    init?(_ program: Program, _ layout: RowLayout) {
        var found: [Bounds] = []
        var isWhole = true
        for part in program.conjuncts {
            guard let bounds = Bounds(program.conditions[Int(part)], layout) else {
                isWhole = false
                continue
            }
            if let place = found.firstIndex(where: { $0.place == bounds.place }) {
                found[place].low = max(found[place].low, bounds.low)
                found[place].high = min(found[place].high, bounds.high)
            } else {
                found.append(bounds)
            }
        }
        if found.isEmpty { return nil }
        let columns = layout.columnCount
        let others = UnsafeMutableBufferPointer<Bounds>.allocate(capacity: found.count - 1)
        _ = others.initialize(from: found.dropFirst())
        tests = Tests(
            first: found[0], others: others, head: UInt32(truncatingIfNeeded: columns) << 16 | 1,
            least: Int(layout.slotEnds[columns]) + (columns + 7) / 8, isWhole: isWhole)
    }

    deinit { tests.others.deallocate() }

    /// What is asked of one column: a place among all of its type's values, in their order.
    struct Bounds {
        let place: Int
        let nullByte: Int
        let nullBit: UInt8
        let isDouble: Bool
        var low: UInt64 = 0
        var high: UInt64 = .max

        init?(_ condition: ConditionNode, _ layout: RowLayout) {
            let (slot, operation, bound): (ColumnSlot, ComparisonOperator, UInt64)
            switch condition {
            case .integerColumn(let column, let test, let number):
                (slot, operation, bound) = (column, test, UInt64(bitPattern: number) ^ 1 << 63)
                isDouble = false
            case .doubleColumn(let column, let test, let bits):
                (slot, operation, bound) = (column, test, bits)
                isDouble = true
            default: return nil
            }
            place = Int(slot.offset)
            nullByte = Int(layout.slotEnds[layout.columnCount]) + Int(slot.ordinal) / 8
            nullBit = 1 << UInt8(slot.ordinal % 8)
            switch operation {
            case .equal: (low, high) = (bound, bound)
            case .lessOrEqual: high = bound
            case .greaterOrEqual: low = bound
            // Nothing is less than the least: that no row fulfils it is for the evaluator to find.
            case .less where bound > 0: high = bound - 1
            case .greater where bound < .max: low = bound + 1
            default: return nil
            }
        }

        /// Whether a row of the usual form has no number there, or one that lies outside.
        @inline(__always)
        func reject(_ row: UnsafeRawBufferPointer) -> Bool {
            if row[nullByte] & nullBit != 0 { return true }
            let word = UInt64(littleEndian: row.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            let value = isDouble ? KeyOrder.bits(Double(bitPattern: word)) : word ^ 1 << 63
            return value < low || value > high
        }
    }

    struct Tests {
        // Apart from the others: most conditions have one, and it stays where the loop over the rows needs it.
        let first: Bounds
        let others: UnsafeMutableBufferPointer<Bounds>
        /// How a row begins that has every column.
        let head: UInt32
        let least: Int
        let isWhole: Bool

        /// Whether a row is of the usual form and does not fulfil the condition. One that is not rejected fulfils it when the condition is
        /// nothing but such bounds and the row is of the usual form; else there is more to be tested.
        @inline(__always)
        func rejects(_ row: UnsafeRawBufferPointer) -> Bool {
            guard isUsual(row) else { return false }
            if first.reject(row) { return true }
            for bounds in others where bounds.reject(row) { return true }
            return false
        }

        @inline(__always)
        func isUsual(_ row: UnsafeRawBufferPointer) -> Bool {
            row.count >= least && UInt32(littleEndian: row.loadUnaligned(as: UInt32.self)) == head
        }
    }
}
