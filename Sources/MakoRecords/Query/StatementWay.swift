import MakoStorage

/// The way to the rows of a statement over one table, and what it leaves to be done with them.
struct StatementWay {
    var plan: Plan
    /// What rows are sorted by when they are there.
    var orders: [BoundOrder]
    /// Whether limit and offset are observed on the way.
    var isCut: Bool

    /// Looks for an index whose entries tell all that the statement reads: it leads to the rows without looking them up.
    ///
    /// - Parameters:
    ///   - expressions: what is worked out of each row.
    ///   - joins: what the paths in them lead to.
    mutating func lookForCover(
        reading expressions: [BoundExpr], _ joins: [JoinNode], _ view: Snapshot?
    ) throws(RecordError) {
        let bound = plan.bound
        let sorting = orders + bound.orders
        guard let reads = Planner.Question.reads(expressions + sorting.map(\.expr), bound.table, joins),
            bound.table.indexes.contains(where: { IndexCover($0, bound.table, reading: reads) != nil })
        else { return }
        let estimates = try view.map { (view) throws(RecordError) in try TableEstimates(bound.table, view) } ?? .unknown
        func planned(_ bound: BoundSelection) -> Plan? {
            var question = Planner.Question(bound, estimates)
            question.reads = reads
            guard let found = Planner.choice(question)?.plan(), found.cover != nil else { return nil }
            return found
        }
        guard let found = planned(bound) else { return }
        if found.orders.isEmpty {
            plan = found
        } else if isCut, let unsorted = planned(bound.asMet) {
            // Rows that are sorted on the way are looked up when they are; their values need not be.
            (plan, orders, isCut) = (unsorted, bound.orders, false)
        }
    }
}

extension BoundSelection {
    /// All rows that the condition leaves, in the order in which they are met.
    var asMet: BoundSelection { ordered([]) }

    /// All rows that the condition leaves, in another order.
    func ordered(_ orders: [BoundOrder]) -> BoundSelection {
        BoundSelection(
            table: table, catalogue: catalogue, joins: joins, condition: condition, orders: orders, limit: nil,
            offset: 0, parameters: parameters, namedParameters: namedParameters, references: references,
            matches: matches)
    }
}
