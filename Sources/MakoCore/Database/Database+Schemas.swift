import MakoRecords
import MakoStorage

// A snapshot must be read with the schema of its commit: an older one has roots of trees that are gone, a newer one
// columns that its rows lack. A commit becomes visible to snapshots first, in the store, and its schema is published
// after that. In between, and while a reader that has the schema still takes its snapshot, the two are of different
// commits; `Database.newest(in:)` notices it.
//
// A read-only database gets newer commits from another process, so that its current schema fits some snapshots and not
// others.

/// The range of commits, within one opening of a file, that have the same schema.
struct VisibleCommits {
    private let opening: ObjectIdentifier
    private let first: UInt64
    /// The number of the newest of them.
    private(set) var newest: UInt64

    init(_ view: Snapshot) {
        opening = view.opening
        (first, newest) = (view.commitNumber, view.commitNumber)
    }

    func contain(_ view: Snapshot) -> Bool {
        opening == view.opening && first <= view.commitNumber && view.commitNumber <= newest
    }

    /// Extends the range to a later snapshot with the same schema.
    mutating func extend(to view: Snapshot) {
        if opening == view.opening { newest = max(newest, view.commitNumber) } else { self = VisibleCommits(view) }
    }
}

extension Database {
    var schema: SchemaState { state.withLock { $0.schemas.published } }

    var writerSchema: SchemaState { state.withLock { $0.schemas.newest } }

    /// Changes the schemas, and wakes the threads that wait for that.
    func changeSchemas(_ change: (inout Schemas) -> Void) {
        state.withLock { state in
            change(&state.schemas)
            // Inside the lock, so that its order is that of the changes. Before a commit becomes visible, because a
            // reader compares it after it took its snapshot.
            schemaSequence.store(state.schemas.sequence, ordering: .releasing)
        }
        schemaChange.broadcast()
    }

    func publish(_ schema: SchemaState, _ steps: [MigrationStep]) {
        if !steps.isEmpty { state.withLock { $0.migrations += steps } }
        changeSchemas { $0.publish(schema) }
    }

    /// A new snapshot of a database that is open for writing, and its schema.
    @inline(__always)
    func newest(in turn: FileTurn<Database>?) throws(MakoError) -> (view: Snapshot, schema: SchemaState) {
        let before = schemaSequence.load(ordering: .acquiring)
        let schema = try openSchema
        let view = try newestView(in: turn)
        // No schema changed meanwhile, and none was about to: no commit between the two has another schema.
        if before & 1 == 0, schemaSequence.load(ordering: .acquiring) == before { return (view, schema) }
        return try newestWhileChanging(in: turn)
    }

    @inline(never)
    private func newestWhileChanging(
        in turn: FileTurn<Database>?
    ) throws(MakoError) -> (view: Snapshot, schema: SchemaState) {
        while true {
            let before = try openSchema
            let view = try newestView(in: turn)
            let schema = state.withLock { state in
                state.schemas.published === before ? state.schemas.schema(at: view.commitNumber) : nil
            }
            // Otherwise another schema was published meanwhile, and the snapshot may be older than its commit.
            if let schema { return (view, schema) }
        }
    }

    /// Binds a type for the readers of a database that is open for writing. The first use of a type migrates its table
    /// and those of the types it refers to.
    func bind(_ model: EntityModel) throws(MakoError) {
        if schema.binding(model) != nil { return }
        try requireOpen()
        _ = try writing { (transaction) throws(MakoError) in try transaction.binding(model) }
        // Another thread may have migrated first, and its commit may still be syncing: wait until it is published.
        state.wait(for: schemaChange) {
            $0.schemas.published.binding(model) == nil && $0.schemas.newest.binding(model) != nil
                && $0.schemas.unconfirmed == nil
        }
        let (bound, unconfirmed) = state.withLock { ($0.schemas.published, $0.schemas.unconfirmed) }
        if bound.binding(model) != nil { return }
        if let unconfirmed { throw .storage(.unconfirmed(commit: unconfirmed)) }
        throw .migration(entity: model.name, reason: "its table could not be made; try again")
    }

    /// A new snapshot and its schema, with a type bound.
    ///
    /// - Throws: `MakoError.migration` for a type that does not match its table after another process migrated it.
    func moment(
        _ model: EntityModel? = nil, in taken: FileTurn<Database>? = nil
    ) throws(MakoError) -> (view: Snapshot, schema: SchemaState) {
        // Before the schema is read, because taking the file may change it.
        let turn = if let taken { taken } else { try takeTurn() }
        guard options.readOnly else {
            if let model { try bind(model) }
            return try newest(in: turn)
        }
        try requireOpen()
        let view = try newestView(in: turn)
        let tables = try tables(of: view)
        return (view, try model.map { (model) throws(MakoError) in try reading(tables, with: model) } ?? tables)
    }

    // MARK: - Read-only databases

    /// The schema of a snapshot of a read-only database.
    private func tables(of view: Snapshot) throws(MakoError) -> SchemaState {
        let (known, isRight) = state.withLock { ($0.schemas.published, $0.shown.contain(view)) }
        if isRight { return known }
        // A refresh is running, or `store.refresh()` was called directly.
        let tables = try readTables(of: view, known.models)
        state.withLock { state in
            // The shared schema only moves forward.
            guard state.schemas.published === known, view.commitNumber > state.shown.newest else { return }
            state.schemas.replace(by: tables)
            state.shown = VisibleCommits(view)
        }
        return tables
    }

    /// A schema of a read-only database with a type bound.
    func reading(_ tables: SchemaState, with model: EntityModel) throws(MakoError) -> SchemaState {
        if tables.binding(model) != nil { return tables }
        try naming.settle(tables.missing(from: [model]))
        try model.checkReading(of: tables.catalogue)
        let bound = try SchemaState(
            catalogue: tables.catalogue, models: tables.models + [model], version: nextVersion())
        state.withLock { if $0.schemas.published === tables { $0.schemas.replace(by: bound) } }
        return bound
    }

    /// Advances the shared schema to a later snapshot. Reads the catalogue again only where it changed.
    func goOn(
        from before: (view: Snapshot, schema: SchemaState), to view: Snapshot
    ) throws(MakoError) -> SchemaState {
        let isSame = try records { () throws(RecordError) in try Catalogue.isSame(before.view, view) }
        if isSame {
            return state.withLock { state in
                // Another thread may have bound a type meanwhile.
                if !state.shown.contain(before.view) && !state.shown.contain(view) {
                    state.schemas.replace(by: before.schema)
                    state.shown = VisibleCommits(view)
                }
                state.shown.extend(to: view)
                return state.schemas.published
            }
        }
        let tables = try readTables(of: view, before.schema.models)
        state.withLock { state in
            state.schemas.replace(by: tables)
            state.shown = VisibleCommits(view)
        }
        return tables
    }

    /// Binds the types that match; the others throw at their next use.
    func readTables(of view: Snapshot, _ models: [EntityModel]) throws(MakoError) -> SchemaState {
        let catalogue = try records { () throws(RecordError) in try Catalogue.load(view: view) }
        let fitting = models.filter { model in
            do throws(MakoError) {
                try model.checkReading(of: catalogue)
                _ = try Binding(model: model, catalogue: catalogue)
                return true
            } catch { return false }
        }
        return try SchemaState(catalogue: catalogue, models: fitting, version: nextVersion())
    }

    func nextVersion() -> Int {
        state.withLock { state in
            state.lastVersion += 1
            return state.lastVersion
        }
    }
}
