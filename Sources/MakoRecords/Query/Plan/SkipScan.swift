/// A skip scan: which entries of an index add nothing to the result. Of a long run of entries with equal first columns,
/// the scan reads the first ones, and those with the smallest and the largest value of the next column.
struct SkipScan: Sendable {
    /// The number of entries of a run after which the scan seeks the next run.
    static let patience = 32

    /// The columns that the entries of a run share.
    let parts: [CoveringIndex.Part]
    /// The next column, if its smallest and largest values are needed.
    let next: CoveringIndex.Part?

    /// - Parameters:
    ///   - keys: the columns of GROUP BY or DISTINCT.
    ///   - aggregates: the aggregates over each group.
    /// - Returns: `nil` if every entry is needed.
    init?(_ plan: Plan, keys: [BoundExpr], _ aggregates: [BoundAggregate]) {
        guard case .index(let index, _) = plan.access, plan.cover != nil, !plan.hasResidual else { return nil }
        func place(_ expr: BoundExpr) -> Int? {
            guard case .column(let column) = expr, column.node < 0, let ordinal = column.ordinal else { return nil }
            return index.parts.firstIndex { Int($0.slot.ordinal) == ordinal && !$0.noCase }
        }
        var count = 0
        for key in keys {
            guard let place = place(key) else { return nil }
            count = max(count, place + 1)
        }
        var next: CoveringIndex.Part?
        for aggregate in aggregates {
            guard aggregate.function == .minimum || aggregate.function == .maximum, let argument = aggregate.argument,
                !aggregate.isNoCase, let place = place(argument), place <= count
            else { return nil }
            if place == count { next = SkipScan.part(index.parts[place]) }
        }
        parts = index.parts[..<count].map(SkipScan.part)
        self.next = next
    }

    private static func part(_ part: IndexHandle.Part) -> CoveringIndex.Part {
        CoveringIndex.Part(slot: part.slot, descending: part.descending, isSkipped: true)
    }

    /// Returns the entries of a run that have a value in the next column.
    func values(behind prefix: [UInt8]) -> KeyRange {
        // NULL sorts first, and last in a descending column.
        guard next?.descending == true else {
            return KeyRange(lower: prefix + [1], upper: KeyRange.successor(prefix))
        }
        return KeyRange(lower: prefix, upper: prefix + [0xFF])
    }
}
