import MakoRecords
import MakoStorage

// A snapshot is read by the tables that it has. In a database that is written both go on together. One that is only read gets newer commits from
// another process, and so the tables of its state are right for some snapshots and not for others.

/// The commits of one opening of a file that have the same tables.
struct ShownCommits {
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

    /// A later snapshot has the same tables.
    mutating func extend(to view: Snapshot) {
        if opening == view.opening { newest = max(newest, view.commitNumber) } else { self = ShownCommits(view) }
    }
}

extension Database {
    /// A snapshot of the moment and the tables that it has, with a type among them.
    ///
    /// - Throws: `MakoError.migration` for a type that does not fit what another process has made of its table.
    func moment(_ model: EntityModel? = nil) throws(MakoError) -> (view: Snapshot, schema: SchemaState) {
        guard options.readOnly else {
            // In this order: a table that is known now must be there to be read, while one that comes later is not asked for.
            let schema = if let model { try bound(model) } else { schema }
            return (try storage { () throws(StorageError) in try store.snapshot() }, schema)
        }
        try requireOpen()
        let view = try storage { () throws(StorageError) in try store.snapshot() }
        let tables = try tables(of: view)
        return (view, try model.map { (model) throws(MakoError) in try reading(tables, with: model) } ?? tables)
    }

    /// The tables that a snapshot of a database has that is only read.
    private func tables(of view: Snapshot) throws(MakoError) -> SchemaState {
        let (known, isRight) = state.with { ($0.schema, $0.shown.contain(view)) }
        if isRight { return known }
        // Somebody is moving on just now, or has done so past the database, with its store.
        let tables = try readTables(of: view, known.models)
        state.with { state in
            // What everybody uses goes on, and never back.
            guard state.schema === known, view.commitNumber > state.shown.newest else { return }
            (state.schema, state.shown) = (tables, ShownCommits(view))
        }
        return tables
    }

    /// Tables of a database that is only read, with a type among them.
    func reading(_ tables: SchemaState, with model: EntityModel) throws(MakoError) -> SchemaState {
        if tables.binding(model) != nil { return tables }
        try naming.settle(tables.missing(from: [model]))
        try model.checkReading(of: tables.catalogue)
        let bound = try SchemaState(
            catalogue: tables.catalogue, models: tables.models + [model], version: nextVersion())
        state.with { if $0.schema === tables { $0.schema = bound } }
        return bound
    }

    /// Goes on to a later snapshot, for everybody. The tables are read anew where they are others.
    func goOn(
        from before: (view: Snapshot, schema: SchemaState), to view: Snapshot
    ) throws(MakoError) -> SchemaState {
        let isSame = try records { () throws(RecordError) in try Catalogue.isSame(before.view, view) }
        if isSame {
            return state.with { state in
                // A type may have come meanwhile.
                if !state.shown.contain(before.view) && !state.shown.contain(view) {
                    (state.schema, state.shown) = (before.schema, ShownCommits(view))
                }
                state.shown.extend(to: view)
                return state.schema
            }
        }
        let tables = try readTables(of: view, before.schema.models)
        state.with { ($0.schema, $0.shown) = (tables, ShownCommits(view)) }
        return tables
    }

    /// Those of the types that fit are bound; the others say what is wrong at their next use.
    private func readTables(of view: Snapshot, _ models: [EntityModel]) throws(MakoError) -> SchemaState {
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

    private func nextVersion() -> Int {
        state.with { state in
            state.lastVersion += 1
            return state.lastVersion
        }
    }
}
