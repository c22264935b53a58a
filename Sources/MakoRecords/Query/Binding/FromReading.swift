/// The queries and views in FROM clauses, while a statement is rewritten to read the tables behind them.
final class FromReading {
    private static let limit = 500
    private var left = limit
    /// The names of the views that are being exchanged for their queries, each inside the one before it.
    private var open: [String] = []

    /// The query behind a name in FROM, itself rewritten; nil: the name is a table's.
    ///
    /// - Parameter common: what the statement itself calls so.
    /// - Throws: `syntax` for views that read themselves, for too many queries, and where a view's query is wrong by now.
    func query(
        _ name: String, _ at: SourcePosition, _ common: CommonTable?, _ catalogue: Catalogue
    ) throws(RecordError) -> CommonTable? {
        if let common {
            try take(common.at)
            return common.asking(try common.statement.flattened(catalogue, self))
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

    /// Queries that read the one before them twice would be millions.
    private func take(_ at: SourcePosition) throws(RecordError) {
        left -= 1
        if left < 0 { throw at.error("there are too many queries in FROM; the limit is \(FromReading.limit)") }
    }
}
