/// Which stored columns get other names, found for all wanted columns together: a name that one gives up may be another's.
///
/// A column takes over the one of its original name where no stored column has its own name, or where another column takes that over: then
/// a column of the name that was given up is a new one. So the same schema once more renames nothing.
struct ColumnRenames {
    /// The original names of the columns that are renamed, by their new ones.
    private(set) var originals: [String: String] = [:]
    /// The new names of the stored columns that are renamed, by those that they have.
    private(set) var names: [String: String] = [:]

    /// - Parameters:
    ///   - isLive: whether the table has a column of a name.
    ///   - isRetired: whether it has one that was retired.
    /// - Throws: `RecordError.incompatibleSchema` where original names form a circle, since nothing stored tells whether such names have
    ///   been exchanged yet, or two columns have one.
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
