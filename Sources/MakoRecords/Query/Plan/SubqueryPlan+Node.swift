extension SubqueryPlan {
    /// Returns its text in conditions and values: `(count(*) of Person)`, `(department of Person)`, `(rows of Person)`.
    func words() -> String {
        let tables: String
        switch source {
        case .plan(let plan), .held(let plan), .holders(let plan, _, _): tables = plan.table.schema.name
        case .statement: tables = query.tables.sorted().joined(separator: ", ")
        }
        if let aggregateText { return "(\(aggregateText) of \(tables))" }
        if query.form == .exists { return "(rows of \(tables))" }
        if case .statement(let plan) = source { return "(\(plan.first.names.first ?? "rows") of \(tables))" }
        return "(\(output.map { "\($0)" } ?? "rows") of \(tables))"
    }

    /// The columns that correlate its rows with the outer row.
    var keyText: String { link?.columns.map(\.path).joined(separator: ", ") ?? "" }

    private var aggregateText: String? {
        aggregate.map { "\($0.rawValue)(\(output.map { "\($0)" } ?? "*"))" }
    }

    /// The height of nested sub-queries above which their operators are omitted.
    private static let greatestHeight = 100

    /// Returns the operator that runs the sub-query, over the operators that find its rows.
    ///
    /// - Parameter run: the measure of the outer run.
    func node(_ run: RunMeasure?) -> PlanNode {
        // The recursion of nested sub-queries passes through here.
        withDeepRoom(false) { nodeInPlace(run) }
    }

    private func nodeInPlace(_ run: RunMeasure?) -> PlanNode {
        let measure = run?.measure(of: self)
        func made(_ how: String, _ inputs: [PlanNode]) -> PlanNode {
            let isShown = inputs.allSatisfy { $0.height < SubqueryPlan.greatestHeight }
            return PlanNode(
                operation, "sub-query \(description), \(how)\(isShown ? "" : ", …")", isShown ? inputs : [],
                measure?.counts(operation))
        }
        switch source {
        case .held(let plan):
            let column = query.outers.first.map { "\($0)" } ?? ""
            return made("for each row", [members(plan, .heldKeys, "by keys in \(column)", measure)])
        case .holders(let plan, let column, _):
            return made("for each row", [members(plan, .keyHolders, "holding the key in \(column)", measure)])
        case .statement(let plan): return made(isCorrelated ? "for each row" : "once", [plan.node(measure?.part(0))])
        case .plan(let plan):
            guard let link else {
                return made(isCorrelated ? "for each row" : "once", [rowsNode(plan, measure?.part(0))])
            }
            let lookup = link.probe.map { lookupNode($0, link, plan, measure) }
            let kept = link.all == nil ? [] : linkNodes(measure)
            guard let lookup else { return made("kept for all rows", kept) }
            if kept.isEmpty { return made("for each row", [lookup]) }
            return made(
                "kept for all rows after 32 look-ups and one for each \(link.rowsPerLookup) rows", [lookup] + kept)
        }
    }

    /// The operator: correlated sub-queries run for each outer row.
    var operation: PlanNode.Operator {
        if !isCorrelated { return .subquery }
        return link?.probe != nil && link?.all != nil ? .adaptiveSubquery : .correlatedSubquery
    }

    /// Returns the operators of the hash table of all linked rows, or of an index whose entries give their counts.
    ///
    /// - Parameter isKept: whether these counts are cached, too.
    func linkNodes(_ measure: PlanMeasure?, isKept: Bool = true) -> [PlanNode] {
        guard let link, let all = link.all else { return [] }
        if let index = link.counting {
            let entries = isKept ? measure?.part(1) : measure
            var node = PlanNode(
                .coveringIndexScan, "scan \(all.table.schema.name) using covering index \(index.schema.name)", [],
                entries?.counts(.coveringIndexScan))
            (node.table, node.index) = (all.table.schema.name, index.schema.name)
            return isKept ? [kept([node], measure)] : [node]
        }
        return [kept([all.node(measure?.part(1))], measure)]
    }

    private func kept(_ inputs: [PlanNode], _ measure: PlanMeasure?) -> PlanNode {
        PlanNode(.subqueryHash, "keep by \(keyText)", inputs, measure?.counts(.subqueryHash))
    }

    private func rowsNode(_ plan: Plan, _ measure: PlanMeasure?) -> PlanNode {
        if !isCorrelated, aggregate == .count, output == nil { return plan.countNode(measure) }
        guard let aggregateText, aggregatesRows else { return plan.node(measure) }
        return PlanNode(
            .aggregate, "aggregate \(aggregateText)", [plan.node(measure)], measure?.counts(.aggregate))
    }

    /// Whether it computes an aggregate from the rows of its plan, one by one.
    var aggregatesRows: Bool {
        guard case .plan = source, link == nil else { return false }
        return aggregate != nil
    }

    private func lookupNode(
        _ probe: SubqueryProbe, _ link: Link, _ plan: Plan, _ measure: PlanMeasure?
    ) -> PlanNode {
        let name = plan.table.schema.name
        let columns = probe.order.map { link.columns[$0].path }.joined(separator: ", ")
        var how = "by key"
        var inputs: [PlanNode] = []
        switch probe.accessPath {
        case .rowID, .key: break
        case .index(let index): how = "using index \(index.schema.name)"
        case .kept(let rows):
            how = "in the kept rows"
            inputs = [kept([rows.node(measure?.part(1))], measure)]
        }
        let text = "look up \(name) \(how) (\(columns))"
        var node = PlanNode(.subqueryLookup, text, inputs, measure?.counts(.subqueryLookup))
        node.table = name
        if case .index(let index) = probe.accessPath { node.index = index.schema.name }
        node = tested(node, probe.residual, measure)
        let bound = plan.bound
        return bound.orders.isEmpty
            ? node.cut(bound.limit, bound.offset, measure)
            : node.sorted(by: bound.orders, bound.limit, bound.offset, measure)
    }

    /// Returns the operators of the rows on the other side of a column of keys.
    private func members(
        _ plan: Plan, _ operation: PlanNode.Operator, _ how: String, _ measure: PlanMeasure?
    ) -> PlanNode {
        var node = PlanNode(operation, "look up \(plan.table.schema.name) \(how)", [], measure?.counts(operation))
        node.table = plan.table.schema.name
        return tested(node, plan.residual, measure)
    }

    private func tested(_ node: PlanNode, _ condition: BoundCondition?, _ measure: PlanMeasure?) -> PlanNode {
        guard let condition else { return node }
        return PlanNode(
            .filter, "filter \(condition)", [node] + condition.subqueries.nodes(measure), measure?.counts(.filter))
    }
}

extension [BoundSubquery] {
    /// Returns the operators of the sub-queries, each once.
    func nodes(_ measure: PlanMeasure?) -> [PlanNode] {
        var known: [SubqueryPlan] = []
        for case let plan as SubqueryPlan in map(\.plan) where !known.contains(where: { $0 === plan }) {
            known.append(plan)
        }
        return known.map { $0.node(measure?.run) }
    }
}
