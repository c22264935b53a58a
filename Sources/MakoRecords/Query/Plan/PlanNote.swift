/// What the nodes of a plan say beside what it consists of. Made when a plan is printed: most plans run and never are.
struct PlanNote: Sendable {
    /// The conditions that its access answers.
    var conditions = ""
    /// The orders that the rows come in by themselves.
    var order = ""
    /// How many rows are expected to be examined, and what finding and sorting them is expected to cost.
    var rows: Double?
    var cost: Double?
}
