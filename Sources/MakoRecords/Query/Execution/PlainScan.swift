import MakoStorage

/// A scan of all rows between two ids, without a condition. Inlined: it costs no call for each row.
@frozen @usableFromInline
package struct PlainScan: Sendable {
    @usableFromInline let rows: Tree
    @usableFromInline let low: UInt64
    @usableFromInline let high: UInt64
    /// Whether these are all rows of the table.
    @usableFromInline package let isWhole: Bool

    /// Calls a closure with each row until it returns `false`. The closure must not change the table.
    @inlinable
    package func forEachRow(
        _ layout: RowLayout, in view: Snapshot, _ body: (Int64, RowReader) throws -> Bool
    ) throws {
        try view.forEach(in: rows, from: low) { key, bytes in
            if key > high { return false }
            return try body(Int64(bitPattern: key ^ (1 << 63)), RowReader(bytes, layout))
        }
    }

    /// Calls a closure with all rows; a row is valid until the next call of `finish`.
    func forEachRow(
        _ layout: RowLayout, in view: Snapshot, _ body: (RowReader) throws -> Void, finish: () throws -> Void
    ) throws {
        try view.forEach(
            in: rows, from: low,
            { key, bytes in
                if key > high { return false }
                try body(RowReader(bytes, layout))
                return true
            }, finish: finish)
    }
}

extension Plan {
    /// The plan as a plain scan; `nil` if it tests, sorts, reverses, skips or looks up rows.
    package var plainScan: PlainScan? {
        guard case .access(.rows(let range)) = accessPath, orders.isEmpty, !hasResidual, !isReversed, bound.offset == 0,
            bound.limit == nil
        else { return nil }
        return PlainScan(
            rows: table.rows, low: KeyOrder.treeKey(range.lowerBound), high: KeyOrder.treeKey(range.upperBound),
            isWhole: range == .min ... .max)
    }
}
