import MakoRecords
import MakoStorage

// A snapshot must be read with its own schema. In a database open for writing, both advance together. A read-only
// database gets newer commits from another process, so that its current schema fits some snapshots and not others.

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
    /// A new snapshot and its schema, with a type bound.
    ///
    /// - Throws: `MakoError.migration` for a type that does not match its table after another process migrated it.
    func moment(
        _ model: EntityModel? = nil, in taken: FileTurn<Database>? = nil
    ) throws(MakoError) -> (view: Snapshot, schema: SchemaState) {
        // Before the schema is read, because taking the file may change it.
        let turn = if let taken { taken } else { try takeTurn() }
        guard options.readOnly else {
            // The schema before the snapshot: a table of the schema must be in the snapshot; one that appears later is
            // not needed.
            let schema = if let model { try bound(model) } else { schema }
            return (try newestView(in: turn), schema)
        }
        try requireOpen()
        let view = try newestView(in: turn)
        let tables = try tables(of: view)
        return (view, try model.map { (model) throws(MakoError) in try reading(tables, with: model) } ?? tables)
    }

    /// The schema of a snapshot of a read-only database.
    private func tables(of view: Snapshot) throws(MakoError) -> SchemaState {
        let (known, isRight) = state.with { ($0.schema, $0.shown.contain(view)) }
        if isRight { return known }
        // A refresh is running, or `store.refresh()` was called directly.
        let tables = try readTables(of: view, known.models)
        state.with { state in
            // The shared schema only moves forward.
            guard state.schema === known, view.commitNumber > state.shown.newest else { return }
            (state.schema, state.shown) = (tables, VisibleCommits(view))
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
        state.with { if $0.schema === tables { $0.schema = bound } }
        return bound
    }

    /// Advances the shared schema to a later snapshot. Reads the catalogue again only where it changed.
    func goOn(
        from before: (view: Snapshot, schema: SchemaState), to view: Snapshot
    ) throws(MakoError) -> SchemaState {
        let isSame = try records { () throws(RecordError) in try Catalogue.isSame(before.view, view) }
        if isSame {
            return state.with { state in
                // Another thread may have bound a type meanwhile.
                if !state.shown.contain(before.view) && !state.shown.contain(view) {
                    (state.schema, state.shown) = (before.schema, VisibleCommits(view))
                }
                state.shown.extend(to: view)
                return state.schema
            }
        }
        let tables = try readTables(of: view, before.schema.models)
        state.with { ($0.schema, $0.shown) = (tables, VisibleCommits(view)) }
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
        state.with { state in
            state.lastVersion += 1
            return state.lastVersion
        }
    }
}
