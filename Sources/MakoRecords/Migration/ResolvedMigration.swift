import MakoStorage

/// A migration of one table, resolved against the stored tables.
struct ResolvedMigration {
    let request: TableMigration
    /// The number of the stored table that becomes this one, whatever its name.
    private(set) var storedID: UInt32?
    private(set) var steps: [TableStep] = []
    /// The version to store; `nil` for none.
    private(set) var version: UInt64?
    private(set) var storedVersion: UInt64 = 0
    /// The new names of tables, by the present ones, of all migrations of the run.
    var newNames: [String: String] = [:]

    var name: String { request.schema.name }

    /// - Throws: `migrationFailed` for invalid versions, and errors of the closure that returns the steps.
    init(_ request: TableMigration, _ records: [TableRecord], _ view: Snapshot) throws(RecordError) {
        self.request = request
        let name = request.schema.name
        let own = records.first { $0.schema.name == name }
        guard let list = request.steps else {
            let former = request.schema.originalName
            guard let stored = own ?? records.first(where: { $0.schema.name == former }) else { return }
            storedID = stored.id
            if request.keepsVersion { return }
            let version = try StoredCatalogue.stepVersion(of: stored.id, in: view)
            if version > 0 { throw ResolvedMigration.newer(name, version, than: 0) }
            return
        }
        let all = try list(0)
        version = all.version
        steps = all.steps
        if let own { storedID = own.id } else { storedID = try ResolvedMigration.former(all, list, records, view) }
        guard let storedID else { return }
        storedVersion = try StoredCatalogue.stepVersion(of: storedID, in: view)
        if storedVersion > all.version {
            throw ResolvedMigration.newer(name, storedVersion, than: all.version)
        }
        if storedVersion >= all.version {
            steps = []
            version = nil
            return
        }
        if storedVersion == 0 { return }
        let rest = try list(storedVersion)
        guard rest.version == all.version else {
            throw .migrationFailed(
                table: name,
                reason:
                    "its steps lead from version \(storedVersion) to \(rest.version), and from 0 to \(all.version); let each version be followed by the next"
            )
        }
        steps = rest.steps
    }

    private static func newer(_ table: String, _ stored: UInt64, than known: UInt64) -> RecordError {
        .migrationFailed(
            table: table,
            reason:
                "the file is at version \(stored) of its migration, and this program knows \(known == 0 ? "none" : "\(known) at most"); use a newer one"
        )
    }

    /// Returns the table under its former name, if its version precedes the step that renames it.
    private static func former(
        _ all: (steps: [TableStep], version: UInt64), _ list: TableMigration.Steps, _ records: [TableRecord],
        _ view: Snapshot
    ) throws(RecordError) -> UInt32? {
        for case .renameTable(let old) in all.steps.reversed() {
            guard let record = records.first(where: { $0.schema.name == old }) else { continue }
            let version = try StoredCatalogue.stepVersion(of: record.id, in: view)
            if version >= all.version { continue }
            for case .renameTable(old) in try list(version).steps { return record.id }
        }
        return nil
    }

    /// Returns the tables whose rows move here, if they exist.
    func sources(_ names: Set<String>) -> [String] {
        steps.compactMap { step in
            if case .merge(let source, _) = step, source != name, names.contains(source) { source } else { nil }
        }
    }

    /// The tables that must be migrated before this one.
    private var targets: [String] {
        steps.compactMap { if case .split(let target, _, _) = $0 { target } else { nil } }
    }

    /// Returns the tables that must be migrated after this one.
    private func taken(_ records: [TableRecord]) -> [String] {
        let former = records.first { $0.id == storedID }.map { $0.schema.name }
        return sources(Set(records.map(\.schema.name))) + [former].compactMap { $0 }.filter { $0 != name }
    }

    /// Returns the migrations in dependency order.
    static func ordered(
        _ migrations: [ResolvedMigration], _ records: [TableRecord]
    ) throws(RecordError) -> [ResolvedMigration] {
        var before: [String: Set<String>] = [:]
        for migration in migrations {
            before[migration.name, default: []].formUnion(migration.targets.filter { $0 != migration.name })
            for name in migration.taken(records) { before[name, default: []].insert(migration.name) }
        }
        var ordered: [ResolvedMigration] = []
        var waiting = migrations
        while !waiting.isEmpty {
            let names = Set(waiting.map(\.name))
            guard let next = waiting.firstIndex(where: { before[$0.name, default: []].isDisjoint(with: names) }) else {
                throw .migrationFailed(
                    table: waiting[0].name,
                    reason: "its steps and those of other tables wait for each other: \(names.sorted())")
            }
            ordered.append(waiting.remove(at: next))
        }
        return ordered
    }
}
