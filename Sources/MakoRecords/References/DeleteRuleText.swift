extension Catalogue {
    /// The delete rules of a column in words: `cascade`, `nullify, owned`; for references to any table also those of single tables. Empty: the
    /// file has none, so that statements delete no row that the column refers to.
    public func deleteRules(of column: String, in schema: EntitySchema) -> String {
        guard let column = schema.column(named: column), let target = column.target else { return "" }
        guard let common = rules.entry(schema.name, column.name, target: target) else { return "" }
        var words = ["\(common.rule)"]
        if target == AnyReference.anyTable {
            for table in tables {
                guard let entry = rules.entry(schema.name, column.name, target: table.name), entry.rule != common.rule
                else { continue }
                words.append("\(entry.rule) of \(table.name)")
            }
        }
        if common.isOwned { words.append("owned") }
        return words.joined(separator: ", ")
    }
}
