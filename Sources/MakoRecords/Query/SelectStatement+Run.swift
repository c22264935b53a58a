import MakoStorage

extension SelectStatement {
    /// Returns the plan of a statement over one table; its description is the explanation.
    ///
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text, also for a join: see
    ///   ``explanation(_:parameters:named:view:)``.
    package func plan(
        _ catalogue: Catalogue, parameters: [Value] = [], named: [String: Value] = [:]
    ) throws(RecordError) -> Plan {
        try followingTree(isDeep) { () throws(RecordError) in try treePlan(catalogue, parameters, named) }
    }

    private func treePlan(
        _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value]
    ) throws(RecordError) -> Plan {
        guard case .select(let select) = try planned(catalogue, parameters, named, nil) else {
            throw tableAt.error("this takes several plans")
        }
        switch select.feed {
        case .table(let plan), .count(let plan): return plan
        case .join, .extremes: throw tableAt.error("this takes several plans")
        }
    }

    /// Returns the operators of the statement.
    ///
    /// - Parameter view: the snapshot that table sizes are read from.
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text.
    package func explanation(
        _ catalogue: Catalogue, parameters: [Value] = [], named: [String: Value] = [:], view: Snapshot? = nil
    ) throws(RecordError) -> PlanNode {
        try followingTree(isDeep) { () throws(RecordError) in
            try planned(catalogue, parameters, named, view).node(nil)
        }
    }

    /// Runs the statement once, discards its rows, and returns what each operator did.
    ///
    /// - Parameter cancellation: ends the run within a thousand rows.
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text; `cancelled`.
    package func analysis(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:],
        cancellation: Cancellation? = nil
    ) throws(RecordError) -> PlanAnalysis {
        try followingTree(isDeep) { () throws(RecordError) in
            try planned(catalogue, parameters, named, view).ended(by: cancellation).analysis(in: view, RunMeasure())
        }
    }

    /// Runs the statement over a snapshot or a transaction's view.
    ///
    /// - Parameter cancellation: ends the run within a thousand rows.
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text; `cancelled`.
    package func run(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:],
        cancellation: Cancellation? = nil
    ) throws(RecordError) -> QueryRows {
        try followingTree(isDeep) { () throws(RecordError) in
            let plan = try planned(catalogue, parameters, named, view).ended(by: cancellation)
            return QueryRows(columns: plan.first.names, rows: try plan.rows(in: view))
        }
    }

    /// Binds and plans the statement. Without a view, tables are assumed to be large.
    func planned(
        _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value], _ view: Snapshot?
    ) throws(RecordError) -> StatementPlan {
        func plan(_ part: SelectStatement) throws(RecordError) -> SelectPlan {
            try part.prepared(catalogue, parameters, named, view)
        }
        let whole = try counted(parameters, named).flattened(catalogue)
        return whole.compounds.isEmpty ? .select(try plan(whole)) : .compound(try whole.compound(plan))
    }

    /// Binds and plans one SELECT.
    func prepared(
        _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value], _ view: Snapshot?,
        _ budget: SubqueryBudget = SubqueryBudget()
    ) throws(RecordError) -> SelectPlan {
        let binder = try binder(catalogue, parameters, named, budget)
        guard let view, var selection = try binder.selection else {
            let plan = Planner.plan(.select(try binder.bound()), in: view).first
            return view.map { plan.divided(in: $0) } ?? plan
        }
        // A cached plan of its rows saves binding the condition.
        let plan = try selection.plan(catalogue, in: view, budget)
        var made = Planner.plan(.select(try binder.bound(plan.bound)), rows: plan, in: view).first
        if !made.isDistinct {
            (selection.parameters, selection.namedParameters) = ([], [:])
            made.selection = selection
        }
        return made.divided(in: view)
    }
}
