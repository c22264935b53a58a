/// A pushed-down predicate, tested on the bytes of a row before anything is decoded: whether numbers and dates are
/// within the bounds of a condition. It rejects most rows of a scan.
final class PushedPredicate {
    /// The bounds, in allocated memory: an array would be retained for each row.
    let tests: Tests

    /// - Returns: `nil` if the condition has no such bounds.
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

    /// A range of one column, in the order of the type's values.
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
            // No value is less than the smallest one; the evaluator finds that no row passes.
            case .less where bound > 0: high = bound - 1
            case .greater where bound < .max: low = bound + 1
            default: return nil
            }
        }

        /// Returns whether a row in the usual format has NULL in the column, or a number out of range.
        @inline(__always)
        func reject(_ row: UnsafeRawBufferPointer) -> Bool {
            if row[nullByte] & nullBit != 0 { return true }
            let word = UInt64(littleEndian: row.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            let value = isDouble ? KeyOrder.bits(Double(bitPattern: word)) : word ^ 1 << 63
            return value < low || value > high
        }
    }

    struct Tests {
        // Separate from `others`: most conditions have one range, which stays in registers of the scan.
        let first: Bounds
        let others: UnsafeMutableBufferPointer<Bounds>
        /// The header of a row that has every column.
        let head: UInt32
        let least: Int
        let isWhole: Bool

        /// Returns whether a row is in the usual format and fails the condition. A row that is not rejected passes only
        /// if it is in the usual format and the condition consists of such bounds; otherwise it needs further tests.
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
