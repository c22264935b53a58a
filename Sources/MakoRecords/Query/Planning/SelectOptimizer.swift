import MakoStorage

/// Optimizes a SELECT over one table: chooses an order or a covering index that saves operators above the access path.
struct SelectOptimizer {
    var plan: Plan
    /// The groups and aggregates; `nil` if each row, or each distinct row, is a row of the result.
    var group: BoundGroups?
    /// The orders that a sort is left to produce.
    var orders: [BoundOrder]
    /// Whether duplicates are removed.
    let isDistinct: Bool
    /// Whether rows of one group, or equal rows, are adjacent.
    private(set) var isInOrder = false
    /// Whether the access path applies LIMIT and OFFSET.
    private(set) var isCut: Bool

    private let expressions: [BoundExpr]
    private let areNoCase: [Bool]
    private let view: Snapshot?
    private let reads: ColumnSet?

    init(_ plan: Plan, _ bound: BoundSelect, orders: [BoundOrder], _ view: Snapshot?) {
        self.plan = plan
        group = bound.group
        self.orders = orders
        isDistinct = bound.isDistinct
        isCut = bound.group == nil && !isDistinct
        expressions = bound.group?.read ?? bound.outputs
        areNoCase = bound.group?.areNoCase ?? bound.collations.map { $0?.isNoCase == true }
        let table = plan.table
        let sorting = orders + plan.bound.orders
        reads = Planner.Input.reads(expressions + sorting.map(\.expr), table, bound.nodes)
        self.view = view
        switch plan.access {
        // Few rows, given by their keys: nothing is cheaper.
        case .nothing, .keys: break
        default: if !lookForOrder() { lookForCover() }
        }
    }

    /// Looks for a covering index, for an index-only scan.
    private mutating func lookForCover() {
        let bound = plan.bound
        // The table stores its number of rows.
        if let reads, reads.isEmpty, plan.isWholeTable, !plan.hasResidual { return }
        guard let reads, bound.table.indexes.contains(where: { CoveringIndex($0, bound.table, reading: reads) != nil }),
            let found = planned(bound), found.cover != nil
        else { return }
        if found.orders.isEmpty {
            plan = found
        } else if isCut, bound.limit == nil, bound.offset == 0,
            let unsorted = planned(bound.ordered([])), unsorted.cover != nil
        {
            // Rows that a sort reads are looked up afterwards; their values are not needed before. Not for one batch of
            // a batched cursor: rows equal in the order are then sorted by key, so that the next batch continues after
            // the last row.
            (plan, orders, isCut) = (unsorted, bound.orders, false)
        }
    }

    /// Looks for an access path on which rows of one group are adjacent, so that one group at a time is in memory.
    private mutating func lookForOrder() -> Bool {
        let bound = plan.bound
        if bound.table.indexes.isEmpty && bound.table.isRowID { return false }
        guard bound.orders.isEmpty, let sequence,
            let found = planned(bound.ordered(sequence.orders), isGrouping: true),
            found.orders.isEmpty
        else { return false }
        plan = found
        plan.skip = SkipScan(found, keys: group?.keys ?? expressions, group?.aggregates ?? [])
        isInOrder = true
        if sequence.serves {
            orders = []
            group?.orders = []
        }
        return true
    }

    private var sequence: RowSequence? {
        if let group {
            return RowSequence(group.keys, areNoCase, wanted: group.orders) { expr in
                guard case .result(let number, _, _) = expr, number < group.keys.count else { return nil }
                return number
            }
        }
        return isDistinct ? RowSequence(expressions, areNoCase, wanted: orders) { expressions.firstIndex(of: $0) } : nil
    }

    private func planned(_ bound: BoundSelection, isGrouping: Bool = false) -> Plan? {
        var input = Planner.Input(bound, .known(bound.table, view))
        input.reads = reads
        input.isGrouping = isGrouping
        return Planner.choice(input)?.plan()
    }
}
