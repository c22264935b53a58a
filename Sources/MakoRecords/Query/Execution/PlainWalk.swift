import MakoStorage

/// All rows between two ids, in their order: the plan of a query without a condition. Walking it costs no call for a row.
@frozen
public struct PlainWalk: Sendable {
    @usableFromInline let rows: Tree
    @usableFromInline let low: UInt64
    @usableFromInline let high: UInt64
    /// Whether these are all rows of the table.
    public let isWhole: Bool

    /// Lends the rows one after the other until the closure answers `false`. The closure must not change the table.
    @inlinable
    public func forEachRow(
        _ layout: RowLayout, in view: Snapshot, _ body: (Int64, RowReader) throws -> Bool
    ) throws {
        try view.forEach(in: rows, from: low) { key, bytes in
            if key > high { return false }
            return try body(Int64(bitPattern: key ^ (1 << 63)), RowReader(bytes, layout))
        }
    }

    /// Lends all rows, each until `finish` is called next.
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
    /// The plan as a walk; `nil` for one that tests, sorts, turns, skips or looks up.
    public var plainWalk: PlainWalk? {
        guard case .access(.rows(let range)) = way, orders.isEmpty, !hasResidual, !isReversed, bound.offset == 0,
            bound.limit == nil
        else { return nil }
        return PlainWalk(
            rows: table.rows, low: KeyOrder.treeKey(range.lowerBound), high: KeyOrder.treeKey(range.upperBound),
            isWhole: range == .min ... .max)
    }
}
