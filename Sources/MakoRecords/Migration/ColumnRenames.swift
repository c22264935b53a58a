/// Determines which stored columns are renamed, for all declared columns together, because a name given up by one
/// column may be taken by another.
///
/// A declared column with an original name takes over that column if no stored column has its own name, or if another
/// column takes over the one that has; a column declared with the name given up is then a new one. Applying the same
/// schema again therefore renames nothing.
struct ColumnRenames {
    /// The original names of the renamed columns, by their new names.
    private(set) var originals: [String: String] = [:]
    /// The new names of the renamed columns, by their stored names.
    private(set) var names: [String: String] = [:]

    /// - Parameters:
    ///   - isLive: returns whether the table has a live column of a name.
    ///   - isRetired: returns whether it has a retired one.
    /// - Throws: `RecordError.incompatibleSchema` if original names form a cycle, because nothing stored shows whether
    ///   the names have been exchanged, or if two columns have one original name.
    init(
        _ wanted: EntitySchema, isLive: (String) -> Bool, isRetired: (String) -> Bool
    ) throws(RecordError) {
        try ColumnRenames.refuseCircles(in: wanted)
        var waiting = wanted.liveColumns.filter { !isLive($0.name) }
        var place = 0
        while place < waiting.count {
            let column = waiting[place]
            place += 1
            guard let old = column.originalName, old != column.name else { continue }
            let owner = wanted.column(named: old)
            guard isLive(old) || (owner == nil && isRetired(old)) else { continue }
            if let other = names[old] {
                throw .incompatibleSchema(
                    table: wanted.name,
                    reason:
                        "\(old) is the original name of both \(other) and \(column.name); it can be that of one only")
            }
            originals[column.name] = old
            names[old] = column.name
            if isLive(old), let owner { waiting.append(owner) }
        }
    }

    private static func refuseCircles(in wanted: EntitySchema) throws(RecordError) {
        var checked: Set<String> = []
        for column in wanted.liveColumns where checked.insert(column.name).inserted {
            var path = [column.name]
            var next = column.originalName
            while let name = next, let original = wanted.column(named: name), original.name != path[path.count - 1] {
                if let start = path.firstIndex(of: name) {
                    let circle = path[start...].joined(separator: ", ")
                    throw .incompatibleSchema(
                        table: wanted.name,
                        reason:
                            "the original names of \(circle) form a circle, and the file does not tell whether they have "
                            + "been exchanged; remove them, and rename in the steps of a Migratable type")
                }
                if !checked.insert(name).inserted { break }
                path.append(name)
                next = original.originalName
            }
        }
    }
}
