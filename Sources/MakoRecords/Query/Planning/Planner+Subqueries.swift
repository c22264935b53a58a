import MakoStorage

/// Plans the sub-queries of bound expressions: returns the same expressions with planned sub-queries.
struct SubqueryPlanner: BoundRewriting {
    /// The snapshot that sizes of joined tables are estimated from; `nil` if there is none.
    let view: Snapshot?

    func selection(_ bound: BoundSelection) -> BoundSelection {
        if bound.subqueries.allSatisfy({ $0.plan != nil }) { return bound }
        return bound.with(
            bound.condition.map { condition($0) }, bound.orders.map { order($0) }, limit: bound.limit,
            offset: bound.offset)
    }

    func planned(_ expr: BoundExpr) -> BoundExpr { expr.subqueries.isEmpty ? expr : self.expr(expr) }

    func planned(_ condition: BoundCondition) -> BoundCondition {
        condition.subqueries.isEmpty ? condition : self.condition(condition)
    }

    func planned(_ order: BoundOrder) -> BoundOrder { order.expr.subqueries.isEmpty ? order : self.order(order) }

    func subquery(_ subquery: BoundSubquery) -> BoundSubquery {
        subquery.plan == nil ? subquery.planned(by: plan(subquery)) : subquery
    }

    private func plan(_ subquery: BoundSubquery) -> SubqueryPlan {
        let output = subquery.output.map { planned($0) }
        switch subquery.query {
        case .rows(let selection):
            let plan = Planner.plan(selection, reading: output.map { [$0] } ?? [])
            let isGrouped = isGrouped(subquery, selection)
            // Ranks are of the rows of a search.
            let isLinked = subquery.isCorrelated && (isGrouped || selection.matches.isEmpty)
            let link =
                isLinked
                ? SubqueryLinks.link(plan.bound, output, subquery.aggregate, isGrouped: isGrouped) : nil
            return SubqueryPlan(subquery, .plan(plan), output: output, link: link)
        case .statement(let statement):
            return SubqueryPlan(subquery, .statement(Planner.plan(statement, in: view)), output: nil)
        case .held(let selection): return SubqueryPlan(subquery, .held(tested(selection)), output: output)
        case .holders(let selection, let column, let isRowID):
            return SubqueryPlan(
                subquery, .holders(tested(selection), column: column, isRowID: isRowID), output: output)
        }
    }

    /// Whether one result for each value of the linked columns answers it: whether there are rows, or an aggregate.
    private func isGrouped(_ subquery: BoundSubquery, _ selection: BoundSelection) -> Bool {
        let isFirst = subquery.form == .scalar && subquery.aggregate == nil
        return subquery.form != .list && !isFirst && selection.limit == nil && selection.offset == 0
    }

    /// Returns the plan of rows that come from elsewhere: only the condition and the outputs are left.
    private func tested(_ selection: BoundSelection) -> Plan {
        let bound = self.selection(selection)
        return Plan(bound, access: .nothing, residual: bound.condition, note: PlanNote())
    }
}

/// Finds the columns by which a sub-query is correlated with the outer query.
enum SubqueryLinks {
    static func link(
        _ selection: BoundSelection, _ output: BoundExpr?, _ aggregate: AggregateFunction?, isGrouped: Bool
    ) -> SubqueryPlan.Link? {
        let conjuncts = selection.condition?.conjuncts ?? []
        var columns: [BoundColumn] = []
        var outers: [Int] = []
        var linked: Set<Int> = []
        for (place, conjunct) in conjuncts.enumerated() {
            guard let (column, outer) = pair(conjunct), !columns.contains(column) else { continue }
            columns.append(column)
            outers.append(outer)
            linked.insert(place)
        }
        if columns.isEmpty { return nil }
        let rest = conjuncts.indices.filter { !linked.contains($0) }.map { conjuncts[$0] }
        let links = columns.map { BoundExpr.column($0) }
        var all: Plan?
        if isGrouped, output?.readsOuter != true, !rest.contains(where: \.readsOuter) {
            all = Planner.plan(selection.with(rest), reading: links + [output].compactMap { $0 })
        }
        var probe = probe(selection.table, columns, conjuncts, Array(linked.sorted()))
        if probe == nil, all == nil {
            let own = Planner.plan(selection.alone(rest.filter { !$0.readsOuter }), reading: links)
            let residual = BoundCondition.all(rest.filter(\.readsOuter))
            probe = SubqueryProbe(accessPath: .kept(own), order: Array(columns.indices), residual: residual)
        }
        let isCount = output == nil || aggregate == nil
        return SubqueryPlan.Link(
            columns: columns, outers: outers, probe: probe, all: all,
            counting: isCount ? all.flatMap { counting(columns, $0) } : nil)
    }

    private static func counting(_ columns: [BoundColumn], _ all: Plan) -> IndexHandle? {
        guard columns.count == 1, [.integer, .reference].contains(columns[0].type), !all.hasResidual, all.isWholeTable,
            let ordinal = columns[0].ordinal
        else { return nil }
        return all.table.indexes.first { index in
            guard index.isPlain, let first = index.parts.first else { return false }
            return Int(first.slot.ordinal) == ordinal && !first.descending
        }
    }

    /// Returns a column of the sub-query's table that equals a value of the outer row, and is encoded in the same form.
    private static func pair(_ condition: BoundCondition) -> (BoundColumn, Int)? {
        guard case .comparison(.equal, let left, let right) = condition else { return nil }
        switch (left, right) {
        case (.column(let column), .outer(let outer)), (.outer(let outer), .column(let column)):
            guard column.node < 0, column.kind == outer.kind else { return nil }
            return (column, outer.index)
        default: return nil
        }
    }

    private static func probe(
        _ table: TableHandle, _ columns: [BoundColumn], _ conjuncts: [BoundCondition], _ linked: [Int]
    ) -> SubqueryProbe? {
        func made(_ accessPath: SubqueryProbe.AccessPath, _ order: [Int]) -> SubqueryProbe {
            let answered = Set(order.map { linked[$0] })
            let rest = conjuncts.indices.filter { !answered.contains($0) }.map { conjuncts[$0] }
            return SubqueryProbe(
                accessPath: accessPath, order: order, residual: BoundCondition.all(rest))
        }
        if let place = columns.firstIndex(where: { $0.ordinal == nil }) { return made(.rowID, [place]) }
        func places(_ ordinals: [Int]) -> [Int] {
            var found: [Int] = []
            for ordinal in ordinals {
                guard let place = columns.firstIndex(where: { $0.ordinal == ordinal }) else { break }
                found.append(place)
            }
            return found
        }
        if !table.isRowID {
            let key = places(table.keySlots.map { Int($0.ordinal) })
            if key.count == table.keySlots.count { return made(.key, key) }
        }
        var best: SubqueryProbe?
        for index in table.indexes where index.isPlain {
            let plain = index.parts.prefix { !$0.descending && !$0.noCase }
            let order = places(plain.map { Int($0.slot.ordinal) })
            if order.count > best?.order.count ?? 0 { best = made(.index(index), order) }
        }
        return best
    }
}
