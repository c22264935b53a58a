// Name resolution of statements.

extension TableName {
    /// Returns the table of the name.
    ///
    /// - Throws: `syntax`, with the nearest existing name.
    package func find(in catalogue: Catalogue) throws(RecordError) -> TableHandle {
        try catalogue.requireTable(name, at)
    }

    /// Returns a table that statements may change; views, and tables of keyed stores, are refused.
    func findWritable(in catalogue: Catalogue) throws(RecordError) -> TableHandle {
        if let view = catalogue.findView(name), catalogue.findTable(name) == nil {
            throw at.error("\(view.name) is a view; what it shows is changed in the tables that it reads")
        }
        let table = try find(in: catalogue)
        if TableName.isReserved(table.schema.name) {
            throw at.error("\(table.schema.name) belongs to the keyed stores; change them by their own calls")
        }
        return table
    }
}

extension ColumnName {
    /// Returns a live column; in another case only if it is unambiguous.
    func find(in table: TableHandle) throws(RecordError) -> ColumnSchema {
        if let exact = table.schema.column(named: name) { return exact }
        let folded = Folding.folded(name)
        let alike = table.schema.liveColumns.filter { Folding.folded($0.name) == folded }
        if alike.count == 1 { return alike[0] }
        throw at.error(
            "\(table.schema.name) has no column \(name)",
            nearest: Spelling.nearest(to: name, in: table.schema.visibleNames))
    }

    /// Returns whether the name denotes the row id.
    func isID(of table: TableHandle) -> Bool { table.schema.column(named: name) == nil && table.schema.isIDName(name) }
}
