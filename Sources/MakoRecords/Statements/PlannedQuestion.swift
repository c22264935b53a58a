import MakoStorage

/// A question that is planned, and whose rows are still to be found.
///
///     let rows = try statement.planned(catalogue, view: view)
///     try rows.give(in: view, rows: 256, bytes: 65_536) { batch in send(batch) }
public struct PlannedQuestion: Sendable {
    private enum Source {
        case plan(StatementPlan, isDeep: Bool)
        case found([[Value]])
    }

    /// The names of the columns.
    public let columns: [String]
    private let source: Source

    init(_ plan: StatementPlan, _ isDeep: Bool) {
        columns = plan.first.names
        source = .plan(plan, isDeep: isDeep)
    }

    init(_ found: QueryRows) {
        columns = found.columns
        source = .found(found.rows)
    }

    /// Finds the rows and hands them over, some at a time, where no read holds pages: who takes them may be slow.
    ///
    /// Rows of one table are found while they are taken. Those of joins, DISTINCT and groups in the order of an index wait, in memory and then in a
    /// file, until all are found.
    ///
    /// - Parameters:
    ///   - view: the one that it was planned on.
    ///   - cancellation: ends it, at the latest a thousand rows later.
    ///   - rows: how many rows are handed over together at most.
    ///   - bytes: or how many bytes of texts and blobs, give or take one row.
    ///   - take: gets the rows. False: no more are wanted.
    /// - Throws: `cancelled`; `storage` when a row cannot be read, or what memory does not hold cannot be written.
    public func give(
        in view: Snapshot, cancellation: Cancellation? = nil, rows: Int, bytes: Int,
        to take: @escaping ([[Value]]) throws(RecordError) -> Bool
    ) throws(RecordError) {
        switch source {
        case .found(let found): _ = try take(found)
        case .plan(let plan, let isDeep):
            try followingTree(isDeep) { () throws(RecordError) in
                try plan.ended(by: cancellation).give(
                    to: RowBatches(rows: rows, bytes: bytes, view, cancellation, take), in: view)
            }
        }
    }
}

extension Statement {
    /// Plans a question, whose rows are to be found later, on the same view. What is no SELECT is answered at once.
    ///
    /// - Throws: `syntax` pointing into the text, also for a statement that is no question.
    public func planned(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:]
    ) throws(RecordError) -> PlannedQuestion {
        guard case .select(let select) = self else {
            return PlannedQuestion(try read(catalogue, view: view, parameters: parameters, named: named))
        }
        return try followingTree(select.isDeep) { () throws(RecordError) in
            PlannedQuestion(try select.planned(catalogue, parameters, named, view), select.isDeep)
        }
    }
}
