extension Selection {
    /// Resolves names and checks types against the schema, before any row is read.
    ///
    /// - Throws: `tableNotFound`, or `syntax` pointing into the condition's text.
    package func bind(_ catalogue: Catalogue) throws(RecordError) -> BoundSelection {
        try bind(catalogue, SubqueryBudget())
    }

    func bind(_ catalogue: Catalogue, _ budget: SubqueryBudget) throws(RecordError) -> BoundSelection {
        try followingTree(isDeep) { () throws(RecordError) in try bindTree(catalogue, budget) }
    }

    private func bindTree(_ catalogue: Catalogue, _ budget: SubqueryBudget) throws(RecordError) -> BoundSelection {
        let table = try catalogue.requireTable(table)
        var binder = Binder(table, catalogue, parameters, namedParameters)
        binder.budget = budget
        binder.alias = alias
        var conditions: [BoundCondition] = []
        for join in joins { if let condition = try binder.add(join) { conditions.append(condition) } }
        if let condition { conditions.insert(try binder.bind(condition), at: 0) }
        let bound = BoundCondition.all(conditions)
        binder.leavesUnranked = binder.leavesUnranked(bound)
        var orders: [BoundOrder] = []
        for order in orderBy { orders.append(try binder.bind(order)) }
        return BoundSelection(binder, bound, orders, limit: limit.map { max(0, $0) }, offset: max(0, offset ?? 0))
    }
}
