/// The tables to which columns refer, before and after a migration of several tables.
struct ReferenceTargets {
    let records: [TableRecord]
    /// The new names of tables that are renamed or merged into others, by their present ones.
    let newNames: [String: String]

    /// Returns whether a reference changes from one table to another.
    ///
    /// A target that is not there may have had another name when the column was stored: then nothing shows a change.
    func differ(_ old: String, _ new: String) -> Bool {
        if old == new || newNames[old] == new { return false }
        // The step that renames a table may have run already.
        let isKnown = newNames[old] != nil || newNames.values.contains(old)
        let isAny = old == AnyReference.anyTable || new == AnyReference.anyTable
        return isAny || isKnown || records.contains { $0.schema.name == old }
    }
}

extension ResolvedMigration {
    /// Gives each migration the names that tables get by all of them.
    static func shareNames(_ migrations: inout [ResolvedMigration], _ records: [TableRecord]) {
        var newNames: [String: String] = [:]
        let names = Set(records.map(\.schema.name))
        for migration in migrations {
            let stored = records.first { $0.id == migration.storedID }
            if let stored, stored.schema.name != migration.name { newNames[stored.schema.name] = migration.name }
            for source in migration.sources(names) { newNames[source] = migration.name }
        }
        if newNames.isEmpty { return }
        for place in migrations.indices { migrations[place].newNames = newNames }
    }
}
