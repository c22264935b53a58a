/// An executable query.
///
/// It holds no snapshot, so that it may run over any number of them, from any thread.
enum StatementPlan: Sendable {
    case select(SelectPlan)
    case compound(CompoundSelect<SelectPlan>)

    /// The SELECT that determines the columns.
    var first: SelectPlan {
        switch self {
        case .select(let plan): plan
        case .compound(let plan): plan.first
        }
    }

    /// The expected number of rows.
    var expectedRows: Double {
        switch self {
        case .select(let plan): plan.expectedRows
        case .compound(let plan): plan.parts.reduce(0) { $0 + $1.expectedRows }
        }
    }

    /// Returns the same plan with a cancellation.
    func ended(by cancellation: Cancellation?) -> StatementPlan {
        switch self {
        case .select(let plan): .select(plan.ended(by: cancellation))
        case .compound(let plan): .compound(plan.map { $0.ended(by: cancellation) })
        }
    }
}
