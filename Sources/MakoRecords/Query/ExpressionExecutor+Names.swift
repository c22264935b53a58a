import MakoStorage

extension ExpressionExecutor {
    /// Prepares expressions over a plan's rows.
    ///
    /// - Throws: `syntax` for names and types that do not fit.
    package init(
        _ expressions: [Expr], _ plan: Plan, _ view: Snapshot, areCompared: Bool = true
    ) throws(RecordError) {
        var binder = Binder(plan.bound)
        var resolved: [BoundExpr] = []
        for expression in expressions {
            resolved.append(try areCompared ? binder.bind(expression) : binder.bindUnseen(expression))
        }
        self.init(bound: Planner.plan(resolved, in: view), plan.table, binder.joins, view)
    }
}
