/// How a statement is run.
///
/// It holds no snapshot: it may be run over any number of them, from any thread.
enum StatementPlan: Sendable {
    case select(SelectPlan)
    case compound(CompoundSelect<SelectPlan>)

    /// The one that says what the columns are.
    var first: SelectPlan {
        switch self {
        case .select(let plan): plan
        case .compound(let plan): plan.first
        }
    }

    /// About how many rows it gives.
    var expectedRows: Double {
        switch self {
        case .select(let plan): plan.expectedRows
        case .compound(let plan): plan.parts.reduce(0) { $0 + $1.expectedRows }
        }
    }

    /// The same, which a cancellation ends.
    func ended(by cancellation: Cancellation?) -> StatementPlan {
        switch self {
        case .select(let plan): .select(plan.ended(by: cancellation))
        case .compound(let plan): .compound(plan.map { $0.ended(by: cancellation) })
        }
    }
}
