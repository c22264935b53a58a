import MakoStorage

/// The tables of a migration whose primary keys change.
struct KeyChanges {
    private(set) var plans: [String: TablePlan] = [:]
    /// The old and new names of tables whose rows get other keys.
    private(set) var moving: Set<String> = []

    var isEmpty: Bool { plans.isEmpty }

    init() {}

    init(_ migrations: [ResolvedMigration], _ records: [TableRecord], _ view: Snapshot) throws(RecordError) {
        for migration in migrations { try add(migration, among: migrations, records, view) }
    }

    mutating func add(
        _ migration: ResolvedMigration, among all: [ResolvedMigration], _ records: [TableRecord], _ view: Snapshot
    ) throws(RecordError) {
        guard let stored = records.first(where: { $0.id == migration.storedID }) else { return }
        if !KeyChanges.isPossible(migration, stored) { return }
        let names = Set(records.map(\.schema.name))
        let merged = Set(all.flatMap { $0.sources(names) })
        if merged.contains(stored.schema.name) { return }
        let plan = try TablePlan(migration, from: stored, records, view)
        if plan.newKey == nil { return }
        plans[migration.name] = plan
        moving.formUnion([migration.name, stored.schema.name])
        moving.formUnion(merged)
    }

    /// Returns whether the key may change; most migrations leave it.
    private static func isPossible(_ migration: ResolvedMigration, _ stored: TableRecord) -> Bool {
        let (old, new) = (stored.schema, migration.request.schema)
        guard old.key == new.key, migration.steps.isEmpty, case .columns(let names) = new.key else {
            return old.key != new.key || !migration.steps.isEmpty
        }
        return names.contains { old.column(named: $0)?.type != new.column(named: $0)?.type }
    }

    /// Returns the tables after the rewrite of foreign keys.
    func outlook(_ records: [TableRecord]) -> ForeignKeyRewrite.Outlook {
        let tables = plans.values.compactMap { TableMerge(planning: $0) }
        return ForeignKeyRewrite(tables, renamed: [:]).outlook(records)
    }
}
