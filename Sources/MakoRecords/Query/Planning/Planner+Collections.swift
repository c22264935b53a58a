import MakoStorage

// Access paths that start from the other side of a column of keys: `ANY labels.name = 'x'`.
extension Planner {
    struct CollectionAccess {
        let source: CollectionSource
        let rows: Double
        /// The cost of finding the other rows and the keys.
        let cost: Double
    }

    /// Returns the rows for which a member of a collection fulfils a condition that does not read the row itself; `nil`
    /// for other conditions.
    static func collection(_ condition: BoundCondition, _ input: Input) -> CollectionAccess? {
        guard case .exists(let bound) = condition, let subquery = bound.plan as? SubqueryPlan else { return nil }
        let table = input.bound.table
        switch subquery.source {
        case .held(let all):
            guard bound.outers.count == 1, case .column(let column) = bound.outers[0], column.node < 0,
                let index = table.elementIndexes.first(where: { Int($0.slot.ordinal) == column.ordinal }),
                let others = others(all, [], input)
            else { return nil }
            let rows = input.estimates.holders(of: others, of: all.table, index)
            return CollectionAccess(
                source: CollectionSource(subquery: subquery, others: others.plan(), link: .holders(index)),
                rows: min(input.estimates.rows, rows),
                cost: others.best.cost + min(others.rows, input.estimates.rows(of: all.table, share: 1))
                    * CostModel.stretch)
        case .holders(let all, let name, _):
            guard isOwnKey(bound.outers, table),
                let index = all.table.elementIndexes.first(where: { $0.schema.columns.first?.name == name }),
                let others = others(all, [index.slot], input)
            else { return nil }
            let rows = max(1, others.rows * input.estimates.perRow(index, of: all.table))
            return CollectionAccess(
                source: CollectionSource(subquery: subquery, others: others.plan(), link: .held(index)),
                rows: min(input.estimates.rows, rows), cost: others.best.cost)
        case .plan, .statement: return nil
        }
    }

    /// Returns the access path to the other side; `nil` if its condition reads the outer row.
    private static func others(_ all: Plan, _ reading: [ColumnSlot], _ input: Input) -> Choice? {
        guard let condition = all.bound.condition, !condition.readsOuter else { return nil }
        var request = Input(all.bound, input.estimates.of(all.table))
        let columns = reading.map {
            BoundExpr.column(BoundColumn(node: -1, ordinal: Int($0.ordinal), type: $0.type, path: ""))
        }
        request.reads = Input.reads(columns, all.table, all.bound.joins)
        return choice(request)
    }

    /// Returns whether these are exactly the key columns of a table.
    private static func isOwnKey(_ exprs: [BoundExpr], _ table: TableHandle) -> Bool {
        let ordinals: [Int?] = table.isRowID ? [nil] : table.keySlots.map { Int($0.ordinal) }
        guard exprs.count == ordinals.count else { return false }
        return zip(exprs, ordinals).allSatisfy { expr, ordinal in
            if case .column(let column) = expr { column.node < 0 && column.ordinal == ordinal } else { false }
        }
    }
}

extension Planner.Input {
    /// Returns the cost, for one row, of testing conditions on members of its collections.
    func membersCost(_ conditions: [BoundCondition]) -> Double {
        conditions.reduce(0) { $0 + estimates.membersCost($1, of: bound.table) }
    }
}

extension TableEstimates {
    fileprivate func membersCost(_ condition: BoundCondition, of table: TableHandle) -> Double {
        switch condition {
        case .exists(let subquery), .not(.exists(let subquery)): membersCost(subquery, of: table)
        case .and(let parts), .or(let parts): parts.reduce(0) { $0 + membersCost($1, of: table) }
        default: 0
        }
    }

    private func membersCost(_ subquery: BoundSubquery, of table: TableHandle) -> Double {
        /// Returns the cost of reading one member and testing its condition.
        func each(_ all: Plan) -> Double {
            let further = all.bound.condition.map { of(all.table).membersCost($0, of: all.table) } ?? 0
            return CostModel.indexRow + CostModel.filter + further
        }
        switch (subquery.plan as? SubqueryPlan)?.source {
        case .held(let all):
            guard case .column(let column)? = subquery.outers.first, column.node < 0,
                let index = table.elementIndexes.first(where: { Int($0.slot.ordinal) == column.ordinal })
            else { return each(all) }
            return each(all) * perRow(index, of: table)
        case .holders(let all, let name, _):
            guard let index = all.table.elementIndexes.first(where: { $0.schema.columns.first?.name == name }),
                let entries = entries(of: index.tree)
            else { return CostModel.stretch + each(all) }
            return CostModel.stretch + each(all) * entries / max(1, rows(of: table, share: 1))
        case .plan, .statement, nil: return 0
        }
    }
}

extension Planner.Choice {
    /// The expected number of rows.
    fileprivate var rows: Double {
        max(1, best.rows * (input.leavesResidual(best.answered) ? Selectivity.passing : 1))
    }
}

extension TableEstimates {
    /// Returns the average number of keys that a row holds in a column; 1 if unknown.
    func perRow(_ index: ElementIndex, of table: TableHandle) -> Double {
        guard let entries = entries(of: index.tree) else { return 1 }
        return entries / max(1, rows(of: table, share: 1))
    }

    /// Returns the number of rows that hold the keys of other rows: the average, or the counted number for a few given
    /// keys.
    fileprivate func holders(
        of others: Planner.Choice, of target: TableHandle, _ index: ElementIndex
    ) -> Double {
        if case .keys(let keys) = others.best.access, keys.count <= TableEstimates.looked,
            let found = entries(of: index.tree, beginning: keys.map { ElementIndex.element(0, $0) })
        {
            return max(1, found)
        }
        let entries = entries(of: index.tree) ?? rows
        // The estimate is bounded by the size of a small table.
        let targets = max(1, rows(of: target, share: 1))
        return max(1, min(others.rows, targets) * entries / targets)
    }
}
