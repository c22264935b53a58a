import MakoStorage

/// What a sub-query reads of the row around, refilled for each. Operands are valid as long as that row is looked at.
final class OuterValues {
    var values: [Operand]

    init(_ count: Int) { values = Array(repeating: .null, count: count) }
}

/// A planned sub-query as expressions see it.
protocol RunnableSubquery: PlannedSubquery {
    /// Answers for one row after the other, over one snapshot; for one run and thread.
    func answers(_ view: Snapshot, _ cancellation: Cancellation?) -> SubqueryAnswers
}

/// What a sub-query answers for the row whose values stand in ``outers``. Without a plan there is nothing to be found.
class SubqueryAnswers {
    let outers: OuterValues

    init(_ outers: OuterValues) { self.outers = outers }

    /// Whether there is a row.
    func exists() throws(RecordError) -> Bool { false }

    /// Whether a value is among those of the rows, in SQL's three ways.
    func contains(_ value: Operand) throws(RecordError) -> Truth { .unknown }

    /// The value of the first row, or of the aggregate.
    func scalar() throws(RecordError) -> Operand { .null }
}
