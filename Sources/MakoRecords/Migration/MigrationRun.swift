import MakoStorage

extension Catalogue {
    /// Migrates stored tables to their declared schemas, inside the caller's transaction, after their manual steps.
    ///
    /// - Parameters:
    ///   - previous: the present catalogue of the session, whose row id counters are taken over.
    ///   - bound: tables with handles in use, which must not be removed.
    ///   - progress: is called from time to time for tables whose rows are rewritten.
    /// - Returns: the reports, in the order of the requests.
    /// - Throws: `incompatibleSchema`, `conversionFailed`, `migrationFailed`, `stepFailed`, `uniqueViolation`. The
    ///   caller must then roll back.
    package static func migrate(
        _ tables: [TableMigration], previous: Catalogue? = nil, bound: Set<String> = [],
        progress: ((MigratedRows) -> Void)? = nil, in tx: borrowing WriteTransaction
    ) throws(RecordError) -> [MigrationReport] {
        try migrate(
            tables, previous: previous, bound: bound, loadingFrom: BulkLoading.fewestEntries, progress: progress, in: tx
        )
    }

    /// Migrates with a lower threshold for bulk loads, for tests.
    ///
    /// - Parameter fewestLoaded: the number of rows from which on a table is filled by a bulk load.
    package static func migrate(
        _ tables: [TableMigration], previous: Catalogue? = nil, bound: Set<String> = [],
        loadingFrom fewestLoaded: Int, progress: ((MigratedRows) -> Void)? = nil, in tx: borrowing WriteTransaction
    ) throws(RecordError) -> [MigrationReport] {
        try MigrationRun(tables, RowIDSequences(previous), fewestLoaded, tx.view).run(bound, progress, tx)
    }
}

/// The migration of several tables in one transaction.
private struct MigrationRun {
    private let requests: [TableMigration]
    private let sequences: RowIDSequences
    private let fewestLoaded: Int
    private let records: [TableRecord]
    private let migrations: [ResolvedMigration]

    init(
        _ requests: [TableMigration], _ sequences: RowIDSequences, _ fewestLoaded: Int, _ view: Snapshot
    ) throws(RecordError) {
        self.requests = requests
        self.fewestLoaded = fewestLoaded
        self.sequences = sequences
        records = try StoredCatalogue.records(in: view)
        var migrations: [ResolvedMigration] = []
        for request in requests { migrations.append(try ResolvedMigration(request, records, view)) }
        ResolvedMigration.shareNames(&migrations, records)
        self.migrations = try ResolvedMigration.ordered(migrations, records)
    }

    func run(
        _ bound: Set<String>, _ progress: ((MigratedRows) -> Void)?, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> [MigrationReport] {
        var reports: [String: MigrationReport] = [:]
        var moves = Moves()
        let keys = try KeyChanges(migrations, records, tx.view)
        // The tables as they are now: read again after each change alone, because decoding them all takes long.
        var current = records
        if migrations.contains(where: { !$0.steps.isEmpty }) || !keys.isEmpty {
            moves = try prepare(keys, bound, progress, tx)
            current = try StoredCatalogue.records(in: tx.view)
        }
        for migration in migrations {
            let (report, isChanged) = try migrate(migration, current, moves, progress, tx)
            reports[migration.name] = report
            if isChanged { current = try StoredCatalogue.records(in: tx.view) }
        }
        var list = requests.compactMap { reports[$0.schema.name] }
        for (number, steps) in moves.followed.sorted(by: { $0.key < $1.key })
        where !migrations.contains(where: { $0.storedID == number }) {
            for record in records where record.id == number {
                let rows = try StoredCatalogue.rowCount(of: record, tx.view)
                list.append(MigrationReport(table: record.schema.name, steps: steps, rows: rows))
            }
        }
        return list
    }

    /// The tables whose rows move or get other keys, and the steps of tables that refer to them.
    private struct Moves {
        var merged: [String: [TableMerge]] = [:]
        /// Tables whose primary key changes.
        var rekeyed: [String: TableMerge] = [:]
        var ids: [String: UInt32] = [:]
        /// By the number of the table.
        var followed: [UInt32: [MigrationStep]] = [:]
    }

    /// Assigns new keys to the rows that change their table, and rewrites the references to them, before any table is
    /// changed.
    private func prepare(
        _ keys: KeyChanges, _ bound: Set<String>, _ progress: ((MigratedRows) -> Void)?,
        _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> Moves {
        let trees = try StoredCatalogue.trees(tx)
        let names = Set(records.map(\.schema.name))
        var taken: Set<String> = []
        var moves = Moves()
        var renamed: [String: String] = [:]
        func take(_ name: String, _ table: String) throws(RecordError) {
            if bound.contains(name) {
                throw .migrationFailed(
                    table: table, reason: "\(name) is in use already; name the type when the database is opened")
            }
            if !taken.insert(name).inserted {
                throw .migrationFailed(table: table, reason: "\(name) is taken over twice")
            }
        }
        for migration in migrations {
            let stored = records.first { $0.id == migration.storedID }
            if let stored, stored.schema.name != migration.name {
                try take(stored.schema.name, migration.name)
                renamed[stored.schema.name] = migration.name
            }
            if let plan = keys.plans[migration.name] {
                let number = try StoredCatalogue.takeTableID(trees.catalogue, tx)
                moves.ids[migration.name] = number
                moves.rekeyed[migration.name] = try TableMerge(
                    rekeying: plan, number, moving: keys.moving, migration.request.access, tx.view)
            }
            let sources = migration.sources(names)
            if sources.isEmpty { continue }
            let rekeyed = moves.rekeyed[migration.name]
            let id =
                if let rekeyed = moves.ids[migration.name] { rekeyed } else if let stored { stored.id } else {
                    try StoredCatalogue.takeTableID(trees.catalogue, tx)
                }
            moves.ids[migration.name] = id
            var next: Int64? = 1
            if let rekeyed {
                next = rekeyed.nextID
            } else if let stored {
                var bare = stored
                bare.indexes = []
                let table = try StoredCatalogue.handle(bare, trees.ids, sequences[id], tx.view)
                next = table.isRowID ? try sequences[id].peek(table, tx) : nil
            }
            if migration.request.schema.idColumn == nil { next = nil }
            for source in sources {
                try take(source, migration.name)
                for record in records where record.schema.name == source {
                    moves.merged[migration.name, default: []].append(
                        try TableMerge(record, into: migration.request, id, next: &next, tx.view))
                }
            }
        }
        let sources = moves.merged.values.flatMap { $0 } + moves.rekeyed.values
        let followed = try ForeignKeyRewrite(sources, renamed: renamed, fewestLoaded: fewestLoaded)
            .run(records, trees, progress: progress, tx)
        for record in records { moves.followed[record.id] = followed[record.schema.name] }
        return moves
    }

    /// - Returns: the report, and whether anything was stored.
    private func migrate(
        _ migration: ResolvedMigration, _ records: [TableRecord], _ moves: Moves,
        _ progress: ((MigratedRows) -> Void)?, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> (report: MigrationReport, isChanged: Bool) {
        let (merged, rekeyed) = (moves.merged[migration.name] ?? [], moves.rekeyed[migration.name])
        let schema = migration.request.schema
        let stored = records.first { $0.id == migration.storedID }
        if let stored, moves.followed[stored.id] == nil, migration.leavesUnchanged(stored) {
            assert(
                (try? TablePlan(migration, from: stored, records, tx.view))?.steps.isEmpty == true,
                "a table that is as declared has no steps")
            let rows = try StoredCatalogue.rowCount(of: stored, tx.view)
            return (MigrationReport(table: stored.schema.name, steps: [], rows: rows), false)
        }
        var plan = try TablePlan(migration, from: stored, records, tx.view)
        let report = plan.report(after: migration.storedID.flatMap { moves.followed[$0] })
        if plan.steps.isEmpty && migration.version == nil { return (report, false) }
        let trees = try StoredCatalogue.trees(tx)
        var number = rekeyed == nil ? plan.record.id : 0
        if number == 0 {
            number =
                if let id = moves.ids[migration.name] { id } else {
                    try StoredCatalogue.takeTableID(trees.catalogue, tx)
                }
        }
        if !plan.steps.isEmpty {
            plan.number(number)
            var rewrite = TableRewrite(
                plan, trees, sequences, migration.request.access, loadingFrom: fewestLoaded)
            (rewrite.merged, rewrite.rekeyed) = (merged, rekeyed)
            let rows = merged.reduce(plan.rows) { $0 + $1.rows }
            rewrite.meter = progress.map { ProgressMeter(schema.name, total: rows, $0) }
            try rewrite.run(tx)
        }
        if let version = migration.version, version > 0 {
            try StoredCatalogue.setStepVersion(version, of: number, trees.catalogue, tx)
        }
        return (report, true)
    }
}
