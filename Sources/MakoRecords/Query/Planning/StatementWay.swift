import MakoStorage

/// The way to the rows of a statement over one table, and what it leaves to be done with them.
struct StatementWay {
    var plan: Plan
    /// What rows are put together to; nil: each is a row of the result, or those are that differ.
    var group: BoundGroups?
    /// What rows are sorted by when they are there.
    var orders: [BoundOrder]
    /// Whether equal rows are left out.
    let isDistinct: Bool
    /// Whether rows that are put together, or are equal, come one behind the other.
    private(set) var isInOrder = false
    /// Whether limit and offset are observed on the way.
    private(set) var isCut: Bool

    private let expressions: [BoundExpr]
    private let areNoCase: [Bool]
    private let view: Snapshot?
    private let reads: ColumnSet?

    /// - Parameters:
    ///   - outputs: what is worked out of each row, where rows are not put together.
    ///   - joins: what the paths in them lead to.
    init(
        _ plan: Plan, _ group: BoundGroups?, _ outputs: [BoundExpr], orders: [BoundOrder], isDistinct: Bool,
        _ collations: [Collation?], _ joins: [JoinNode], _ view: Snapshot?
    ) {
        self.plan = plan
        self.group = group
        self.orders = orders
        self.isDistinct = isDistinct
        isCut = group == nil && !isDistinct
        expressions = group?.read ?? outputs
        areNoCase = group?.areNoCase ?? collations.map { $0?.isNoCase == true }
        let table = plan.table
        let sorting = orders + plan.bound.orders
        reads = Planner.Question.reads(expressions + sorting.map(\.expr), table, joins)
        self.view = view
        switch plan.access {
        // Rows that are known by their keys are few, and known best.
        case .nothing, .keys: break
        default: if !lookForOrder() { lookForCover() }
        }
    }

    /// Looks for an index whose entries tell all that the statement reads: it leads to the rows without looking them up.
    private mutating func lookForCover() {
        let bound = plan.bound
        // The table knows how many rows it has.
        if let reads, reads.isEmpty, plan.isWholeTable, !plan.hasResidual { return }
        guard let reads, bound.table.indexes.contains(where: { IndexCover($0, bound.table, reading: reads) != nil }),
            let found = planned(bound), found.cover != nil
        else { return }
        if found.orders.isEmpty {
            plan = found
        } else if isCut, bound.limit == nil, bound.offset == 0,
            let unsorted = planned(bound.ordered([])), unsorted.cover != nil
        {
            // Rows that are sorted on the way are looked up when they are; their values need not be. Not where a part of them is
            // asked for: equal ones then stand by their keys, so that the next part goes on where the last one ended.
            (plan, orders, isCut) = (unsorted, bound.orders, false)
        }
    }

    /// Looks for a way on which rows that are put together come one behind the other, so that no more than one group is kept at a time.
    private mutating func lookForOrder() -> Bool {
        let bound = plan.bound
        if bound.table.indexes.isEmpty && bound.table.isRowID { return false }
        guard bound.orders.isEmpty, let sequence,
            let found = planned(bound.ordered(sequence.orders), isGrouping: true),
            found.orders.isEmpty
        else { return false }
        plan = found
        plan.skip = EntrySkip(found, keys: group?.keys ?? expressions, group?.aggregates ?? [])
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
        var question = Planner.Question(bound, .known(bound.table, view))
        question.reads = reads
        question.isGrouping = isGrouping
        return Planner.choice(question)?.plan()
    }
}
