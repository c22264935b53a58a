import MakoRecords

/// The columns of an existing table for the fields of an input, by name.
///
/// Equal names match first, then names that differ in case, then the names that ``ColumnNames`` derives, as in the
/// import that created the table. Each column matches one field, because a second one would replace its values.
struct ColumnMatches {
    /// The column of each field.
    private(set) var columns: [String] = []

    init(_ fields: [String], in schema: EntitySchema, source: String) throws {
        let derived = ColumnNames(fields).names
        let candidates = [fields, fields.map { $0.lowercased() }, derived.map { $0.lowercased() }]
        var found = [String?](repeating: nil, count: fields.count)
        var owners: [String: String] = [:]
        for (step, names) in candidates.enumerated() {
            for (field, name) in names.enumerated() where found[field] == nil {
                let match = schema.shownColumns.first { column in
                    owners[column] == nil && (step == 0 ? column : column.lowercased()) == name
                }
                guard let match else { continue }
                found[field] = match
                owners[match] = fields[field]
            }
        }
        for (field, match) in found.enumerated() {
            guard let match else {
                let names = [fields[field].lowercased(), derived[field].lowercased()]
                let taken = schema.shownColumns.first { names.contains($0.lowercased()) }
                throw Self.failure(fields[field], taken.map { ($0, owners[$0] ?? "") }, schema, source)
            }
            columns.append(match)
        }
    }

    private static func failure(
        _ field: String, _ taken: (column: String, owner: String)?, _ schema: EntitySchema, _ source: String
    ) -> Failure {
        if let taken {
            return Failure(
                "\(source) has two columns for column \(taken.column) of table \(schema.name), '\(taken.owner)' and "
                    + "'\(field)'; rename one of them",
                .badInput)
        }
        return Failure(
            "table \(schema.name) has no column \(field), which \(source) has; its columns are "
                + schema.shownColumns.joined(separator: ", ") + ". Import into another table, or --replace this one",
            .badInput)
    }
}
