extension SelectStatement {
    /// Makes a statement that groups a selection's rows, without the selection's order, limit and offset.
    package init(
        _ selection: Selection, outputs: [(expr: Expr, name: String)], groupBy: [Expr], having: Condition?,
        orderBy: [Order], limit: Int?, offset: Int?
    ) {
        table = selection.table
        alias = selection.alias
        references = selection.joins
        condition = selection.condition
        self.outputs = outputs.map { Output(expr: $0.expr, name: $0.name, isNamed: true) }
        self.groupBy = groupBy
        self.having = having
        self.orderBy = orderBy
        self.limit = limit
        self.offset = offset
    }
}
