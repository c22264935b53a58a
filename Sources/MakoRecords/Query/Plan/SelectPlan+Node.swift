extension StatementPlan {
    /// Returns the operators of the plan.
    ///
    /// - Parameter measure: the measure of a run.
    func node(_ measure: PlanMeasure?) -> PlanNode {
        switch self {
        case .select(let plan): plan.node(measure)
        case .compound(let plan): plan.node(measure)
        }
    }
}

extension CompoundSelect<SelectPlan> {
    /// - Parameter measure: the measure of a run, with one part for each SELECT.
    func node(_ measure: PlanMeasure?) -> PlanNode {
        var node = first.node(measure?.part(0))
        var place = 0
        while place < rest.count {
            let operation = rest[place].operation
            let end = end(ofRunAt: place)
            let parts = (place..<end).map { rest[$0].part.node(measure?.part($0 + 1)) }
            node = PlanNode(
                operation.planOperator, operation.rawValue, [node] + parts,
                measure?.part(place + 1).part(-1).counts(operation.planOperator))
            place = end
        }
        if !terms.isEmpty {
            let names = terms.map { first.names[$0.place] + BoundOrder.direction($0.descending, $0.reversesNulls) }
            node = PlanNode(.sort, "sort by \(names.joined(separator: ", "))", [node], measure?.counts(.sort))
        }
        return node.cut(limit, offset, measure)
    }

    /// Returns the end of the parts that one set operator combines.
    func end(ofRunAt place: Int) -> Int {
        rest[place...].firstIndex { $0.operation != rest[place].operation } ?? rest.count
    }
}

extension SetOperator {
    var planOperator: PlanNode.Operator {
        switch self {
        case .union: .setUnion
        case .unionAll: .setUnionAll
        case .intersect: .setIntersect
        case .except: .setExcept
        }
    }
}

extension SelectPlan {
    /// Returns the operators: those of the tables, then grouping, then what processes rows or groups.
    ///
    /// - Parameter measure: the measure of a run, with one part for each plan of the feed.
    func node(_ measure: PlanMeasure?) -> PlanNode {
        func made(_ operation: PlanNode.Operator, _ text: String, _ input: PlanNode, _ inside: [BoundSubquery] = [])
            -> PlanNode
        {
            PlanNode(operation, text, [input] + inside.nodes(measure), measure?.counts(operation))
        }
        var node = feedNode(measure)
        if let group {
            node = made(groupOperator(group), groupText(group), node, group.read.flatMap(\.subqueries))
            if let plan = dividedRows { node = plan.gathered(node, measure) }
            if let having = group.having { node = made(.filter, "having \(having)", node, having.subqueries) }
        }
        if let plan = gatheredRows { node = plan.gathered(node, measure) }
        let projected = (group?.outputs ?? outputs).filter { !$0.subqueries.isEmpty }
        if !projected.isEmpty, givesRows {
            let names = projected.map { "\($0)" }.joined(separator: ", ")
            node = made(.project, "project \(names)", node, projected.flatMap(\.subqueries))
        }
        if isDistinct, givesRows {
            let isSorted = isInOrder && group == nil
            node = made(isSorted ? .sortedDistinct : .distinct, isSorted ? "distinct in order" : "distinct", node)
        }
        let terms = sortTerms
        if !terms.isEmpty { return node.sorted(by: terms, limit, offset, measure) }
        return isCut ? node : node.cut(limit, offset, measure)
    }

    /// The order that a sort of rows or groups is left to produce.
    var sortTerms: [BoundOrder] { orders.filter { $0.expr.constant == nil } }

    /// Whether rows or groups are processed one by one.
    private var givesRows: Bool {
        switch feed {
        case .table, .join: true
        case .count, .extremes: false
        }
    }

    private func feedNode(_ measure: PlanMeasure?) -> PlanNode {
        switch feed {
        case .table(let plan): return plan.node(measure?.part(0))
        case .join(let plan): return plan.node(measure?.part(0))
        case .count(let plan): return plan.countNode(measure?.part(0))
        case .extremes(let extremes):
            let names = extremes.map(\.text).joined(separator: ", ")
            return PlanNode(
                .extremes, "\(names) by index order",
                extremes.enumerated().map { $1.plan.node(measure?.part($0)) }, measure?.counts(.extremes))
        }
    }

    func groupOperator(_ group: BoundGroups) -> PlanNode.Operator {
        group.keys.isEmpty ? .aggregate : isInOrder ? .sortedAggregate : .hashAggregate
    }

    private func groupText(_ group: BoundGroups) -> String {
        if let text = group.keyText { return isInOrder ? "\(text) in order" : text }
        let functions = group.aggregates.map { aggregate in
            let argument = aggregate.argument.map { "\($0)" } ?? "*"
            return "\(aggregate.function.rawValue)(\(aggregate.isDistinct ? "DISTINCT " : "")\(argument))"
        }
        return functions.isEmpty ? "aggregate" : "aggregate \(functions.joined(separator: ", "))"
    }
}
