import MakoStorage

extension Selection {
    /// Binds and plans the selection, or reuses the cached plan of a selection that differs in values only.
    ///
    /// - Parameter view: the snapshot that sizes are estimated from; `nil` to plan without sizes and without the cache.
    package func plan(_ catalogue: Catalogue, in view: Snapshot? = nil) throws(RecordError) -> Plan {
        try plan(catalogue, in: view, nil)
    }

    func plan(
        _ catalogue: Catalogue, in view: Snapshot?, _ budget: SubqueryBudget?
    ) throws(RecordError) -> Plan {
        guard let view else {
            return try followingTree(isDeep) { () throws(RecordError) in Planner.plan(try bind(catalogue)) }
        }
        let shape = QueryFingerprint(self)
        if let shape, let kept = catalogue.plans[shape.key],
            let plan = try kept.plan(shape.values, parameters, namedParameters, catalogue, view)
        {
            return plan.divided(in: view)
        }
        return try followingTree(isDeep) { () throws(RecordError) in
            try newPlan(catalogue, view, budget, shape).divided(in: view)
        }
    }

    private func newPlan(
        _ catalogue: Catalogue, _ view: Snapshot, _ budget: SubqueryBudget?, _ shape: QueryFingerprint?
    ) throws(RecordError) -> Plan {
        let bound = try bind(catalogue, budget ?? SubqueryBudget())
        let estimates = try TableEstimates(bound.table, view)
        let input = Planner.Input(bound, estimates)
        guard let choice = Planner.choice(input) else { return Planner.nothing(input.bound) }
        let plan = choice.plan()
        if let shape, let kept = CachedPlan(shape, choice, plan) { catalogue.plans.keep(kept, for: shape.key) }
        return plan
    }
}
