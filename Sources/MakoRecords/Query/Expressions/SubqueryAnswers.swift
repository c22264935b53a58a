import MakoStorage

/// The correlated parameters of a sub-query, set for each outer row. Operands are valid while that row is current.
final class CorrelatedParameters {
    var values: [Operand]

    init(_ count: Int) { values = Array(repeating: .null, count: count) }
}

/// A planned sub-query, as expressions evaluate it.
protocol RunnableSubquery: PlannedSubquery {
    /// Makes an executor over one snapshot, for one run and thread.
    func answers(_ view: Snapshot, _ cancellation: Cancellation?) -> SubqueryAnswers
}

/// Evaluates a sub-query for the outer row whose values ``outers`` holds. This base class is the empty result.
class SubqueryAnswers {
    let outers: CorrelatedParameters

    init(_ outers: CorrelatedParameters) { self.outers = outers }

    /// Returns whether there is a row.
    func exists() throws(RecordError) -> Bool { false }

    /// Returns whether a value is in the result, in SQL's three-valued logic.
    func contains(_ value: Operand) throws(RecordError) -> Truth { .unknown }

    /// Returns the value of the first row, or of the aggregate.
    func scalar() throws(RecordError) -> Operand { .null }
}
