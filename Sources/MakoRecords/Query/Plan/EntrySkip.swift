/// Which entries of an index say nothing new: of a long run of entries that begin alike only the first ones are read, and those that have
/// the smallest and the largest value of the column behind.
struct EntrySkip: Sendable {
    /// So many entries of a run are walked over before the next run is sought.
    static let patience = 32

    /// The columns that entries of a run share.
    let parts: [IndexCover.Part]
    /// The column behind these, where its smallest and largest values matter; nil: they do not.
    let next: IndexCover.Part?

    /// - Parameters:
    ///   - keys: the columns that make a row another one.
    ///   - aggregates: what is asked for of the rows that have the same.
    /// - Returns: nil: every entry matters.
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
        var next: IndexCover.Part?
        for aggregate in aggregates {
            guard aggregate.function == .minimum || aggregate.function == .maximum, let argument = aggregate.argument,
                !aggregate.isNoCase, let place = place(argument), place <= count
            else { return nil }
            if place == count { next = EntrySkip.part(index.parts[place]) }
        }
        parts = index.parts[..<count].map(EntrySkip.part)
        self.next = next
    }

    private static func part(_ part: IndexHandle.Part) -> IndexCover.Part {
        IndexCover.Part(slot: part.slot, descending: part.descending, isSkipped: true)
    }

    /// The entries of a run that have a value in the column behind.
    func values(behind prefix: [UInt8]) -> KeyRange {
        // NULL stands first, in a descending column last.
        guard next?.descending == true else {
            return KeyRange(lower: prefix + [1], upper: KeyRange.successor(prefix))
        }
        return KeyRange(lower: prefix, upper: prefix + [0xFF])
    }
}
