import MakoStorage

extension StatementRun {
    func create(_ statement: CreateViewStatement, _ tx: borrowing WriteTransaction) throws(RecordError)
        -> StatementOutcome
    {
        let name = statement.table
        if TableName.isReserved(name.name) {
            throw name.at.error("tables of this name belong to the keyed stores")
        }
        if let known = catalogue.findView(name.name) {
            if statement.allowsExisting { return StatementOutcome() }
            throw name.at.error("there is a view \(known.name) already")
        }
        if let known = catalogue.findTable(name.name) {
            throw name.at.error("there is a table \(known.schema.name) already")
        }
        if name.name.isEmpty || name.name.utf8.count > EntitySchema.nameLimit {
            throw name.at.error("a view's name is empty or longer than \(EntitySchema.nameLimit) bytes")
        }
        if statement.query.parameterCount > 0 {
            throw statement.queryAt.error("the query of a view is written out, without parameters")
        }
        let query = CommonTable(
            name: name.name, columns: statement.columns, statement: try statement.query.flattened(catalogue),
            at: name.at)
        _ = try query.source(name.name, catalogue, [], [:], SubqueryBudget())
        try ViewSchema(name: name.name, columns: statement.columns, text: statement.queryAt.words).store(in: tx)
        return changed
    }

    func drop(_ statement: DropViewStatement, _ tx: borrowing WriteTransaction) throws(RecordError) -> StatementOutcome
    {
        guard let view = catalogue.findView(statement.table.name) else {
            if statement.allowsMissing { return StatementOutcome() }
            throw statement.table.at.error(
                "there is no view \(statement.table.name)",
                nearest: Spelling.nearest(to: statement.table.name, in: catalogue.views.map(\.name)))
        }
        try view.remove(in: tx)
        return changed
    }
}
