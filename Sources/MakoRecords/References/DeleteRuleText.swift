extension Catalogue {
    /// Returns the delete rules of a column as text: `cascade`, `nullify, owned`; for references to any table also
    /// those of single tables. Empty if the file has none: statements then delete no row to which the column refers.
    package func deleteRules(of column: String, in schema: EntitySchema) -> String {
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
