import MakoStorage

/// A planned query that has not run yet.
///
///     let rows = try statement.planned(catalogue, view: view)
///     try rows.give(in: view, rows: 256, bytes: 65_536) { batch in send(batch) }
package struct PlannedQuery: Sendable {
    private enum Source {
        case plan(StatementPlan, isDeep: Bool)
        case found([[Value]])
    }

    /// The names of the columns.
    package let columns: [String]
    private let source: Source

    init(_ plan: StatementPlan, _ isDeep: Bool) {
        columns = plan.first.names
        source = .plan(plan, isDeep: isDeep)
    }

    init(_ found: QueryRows) {
        columns = found.columns
        source = .found(found.rows)
    }

    /// Runs the query, and passes its rows in batches to a closure, which may be slow, because no page is pinned during
    /// the call.
    ///
    /// Rows of one table are found on demand. Those of joins, DISTINCT and groups in the order of an index wait, in
    /// memory and then in a file, until all are found.
    ///
    /// - Parameters:
    ///   - view: the view on which the query was planned.
    ///   - cancellation: ends the run within a thousand rows.
    ///   - rows: the largest number of rows of a batch.
    ///   - bytes: the approximate size of the texts and blobs of a batch.
    ///   - take: receives the batches; returns `false` if no more rows are wanted.
    /// - Throws: `cancelled`; `storage` if a row cannot be read, or a temporary file cannot be written.
    package func give(
        in view: Snapshot, cancellation: Cancellation? = nil, rows: Int, bytes: Int,
        to take: @escaping (RowBatch) throws(RecordError) -> Bool
    ) throws(RecordError) {
        switch source {
        case .found(let found):
            var batch = RowBatch(width: columns.count)
            for row in found { batch.append(row) }
            _ = try take(batch)
        case .plan(let plan, let isDeep):
            try followingTree(isDeep) { () throws(RecordError) in
                try plan.ended(by: cancellation).give(
                    to: RowBatches(width: columns.count, rows: rows, bytes: bytes, view, cancellation, take), in: view)
            }
        }
    }
}

extension Statement {
    /// Plans a query, which must run on the same view. A statement other than SELECT runs at once.
    ///
    /// - Throws: `syntax` pointing into the text, also for a statement without a result.
    package func planned(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:]
    ) throws(RecordError) -> PlannedQuery {
        guard case .select(let select) = self else {
            return PlannedQuery(try read(catalogue, view: view, parameters: parameters, named: named))
        }
        return try followingTree(select.isDeep) { () throws(RecordError) in
            PlannedQuery(try select.planned(catalogue, parameters, named, view), select.isDeep)
        }
    }
}
