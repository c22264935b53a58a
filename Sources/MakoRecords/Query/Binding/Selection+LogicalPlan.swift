extension Selection {
    /// Returns the logical plan of expressions over the rows, for another program that runs it. The selection has no
    /// parameters.
    ///
    /// - Throws: `tableNotFound`, or `syntax` pointing into the condition's text.
    package func logicalPlan(_ outputs: [Expr], _ catalogue: Catalogue) throws(RecordError) -> LogicalPlan {
        try statement(outputs.map { (expr: $0, name: "") }).logicalPlan(catalogue, [], [:])
    }

    /// Returns the logical plan of an aggregate over the rows within limit and offset.
    ///
    /// - Parameter argument: `nil` for COUNT(*).
    package func logicalPlan(
        _ function: AggregateFunction, of argument: Expr?, _ catalogue: Catalogue
    ) throws(RecordError) -> LogicalPlan {
        if limit == nil, offset ?? 0 <= 0 {
            // An order has no effect, and must be valid.
            if !orderBy.isEmpty { _ = try logicalPlan([.literal(.integer(1))], catalogue) }
            var unordered = self
            unordered.orderBy = []
            return try unordered.logicalPlan([SelectStatement.aggregate(function, argument)], catalogue)
        }
        // The limit of a SELECT counts its results, and an aggregate is one.
        let rows = statement([(expr: argument ?? .literal(.integer(1)), name: Selection.valueName)])
        let value = argument.map { _ in Expr.column([Selection.valueName]) }
        var whole = SelectStatement(allOf: Selection.rowsName, at: .none)
        whole.outputs = [.init(expr: SelectStatement.aggregate(function, value), name: "")]
        whole.commonTables = [CommonTable(name: Selection.rowsName, columns: nil, statement: rows, at: .none)]
        return try whole.logicalPlan(catalogue, [], [:])
    }

    // Names that no table and no column of a text has.
    private static let rowsName = "(rows)"
    private static let valueName = "(value)"

    private func statement(_ outputs: [(expr: Expr, name: String)]) -> SelectStatement {
        SelectStatement(
            self, outputs: outputs, groupBy: [], having: nil, orderBy: orderBy, limit: limit, offset: offset)
    }
}
