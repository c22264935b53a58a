/// What a plan prints beside its structure. Made on demand, because most plans run and are never printed.
struct PlanNote: Sendable {
    /// The conditions that the access path answers.
    var conditions = ""
    /// The order in which the access path delivers the rows.
    var order = ""
    /// The expected number of rows examined, and the expected cost of finding and sorting them.
    var rows: Double?
    var cost: Double?
}
