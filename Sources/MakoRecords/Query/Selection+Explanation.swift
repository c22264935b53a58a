import MakoStorage

extension Selection {
    /// Returns the plan of the selection, with rejected access paths.
    ///
    /// - Parameters:
    ///   - view: the snapshot that sizes are estimated from; `nil` to plan without sizes.
    ///   - result: what is computed from the rows; needs a view.
    ///   - analyzing: whether to run the query once on the view, to measure its operators.
    /// - Throws: `tableNotFound`, or `syntax` pointing into the condition's text.
    package func explanation(
        _ catalogue: Catalogue, in view: Snapshot? = nil, of result: SelectionResult = .rows, analyzing: Bool = false,
        cancellation: Cancellation? = nil
    ) throws(RecordError) -> PlanExplanation {
        try followingTree(isDeep) { () throws(RecordError) in
            try treeExplanation(catalogue, in: view, result, analyzing, cancellation)
        }
    }

    private func treeExplanation(
        _ catalogue: Catalogue, in view: Snapshot?, _ result: SelectionResult, _ analyzing: Bool,
        _ cancellation: Cancellation?
    ) throws(RecordError) -> PlanExplanation {
        let bound = try bind(catalogue)
        var explanation = Planner.explanation(
            bound, try view.map { (view) throws(RecordError) in try TableEstimates(bound.table, view) } ?? .unknown)
        guard let view else { return explanation }
        var plan = try plan(catalogue, in: view)
        plan.cancellation = cancellation
        if analyzing {
            let analysis = try plan.analysis(of: result, in: view, RunMeasure())
            explanation.analysis = analysis
            explanation.plan = analysis.plan
        } else {
            explanation.plan = try plan.node(of: result, in: view, nil)
        }
        return explanation
    }
}

extension Plan {
    /// Runs the plan once and returns what its operators did.
    func analysis(
        of result: SelectionResult = .rows, in view: Snapshot, _ run: RunMeasure = RunMeasure()
    ) throws(RecordError) -> PlanAnalysis {
        let rows = try run.whole { (measure) throws(RecordError) -> Int in
            try self.run(result, in: view, measure)
        }
        return run.analysis(try node(of: result, in: view, run.root), rows: rows)
    }
}
