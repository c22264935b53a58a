/// Expands the queries and views in FROM clauses while a statement is rewritten to read their tables.
final class FromReading {
    private static let limit = 500
    private var left = limit
    /// The views being expanded, outermost first.
    private var open: [String] = []

    /// Returns the rewritten query behind a name in FROM; `nil` for a table.
    ///
    /// - Parameter common: the statement's own CTE of that name.
    /// - Throws: `syntax` for views that read themselves, for too many queries, and for a view whose query is no longer
    ///   valid.
    func query(
        _ name: String, _ at: SourcePosition, _ common: CommonTable?, _ catalogue: Catalogue
    ) throws(RecordError) -> CommonTable? {
        if let common {
            try take(common.at)
            return common.with(try common.statement.flattened(catalogue, self))
        }
        guard let view = catalogue.findView(name), catalogue.findTable(name) == nil else { return nil }
        if open.contains(view.name) { throw at.error("the view \(view.name) reads itself") }
        try take(at)
        open.append(view.name)
        defer { open.removeLast() }
        return CommonTable(
            name: name, columns: view.columns,
            statement: try SelectStatement.parse(view.text).flattened(catalogue, self), at: at)
    }

    /// Counts an expansion. Queries that each read the one before twice would grow exponentially.
    private func take(_ at: SourcePosition) throws(RecordError) {
        left -= 1
        if left < 0 { throw at.error("there are too many queries in FROM; the limit is \(FromReading.limit)") }
    }
}
