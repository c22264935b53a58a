import CPlatform
import MakoRecords
import MakoStorage
import Synchronization

/// The context of this thread: a transaction, or a read on one snapshot. Scopes nest; the innermost scope of a database
/// applies.
@usableFromInline
final class ThreadScope {
    let database: Database
    let transaction: Transaction?
    private var snapshot: Snapshot
    private var pinnedSchema: SchemaState
    /// Whether a read used the pinned snapshot.
    var hasRead = false
    let outer: ThreadScope?
    private let number: UInt32
    /// The row arena for rows that are found one at a time.
    @exclusivity(unchecked) private var keeper = RowArena(firstChunk: 256)
    /// The table of the last lookup. The pinned schema keeps its binding alive.
    @exclusivity(unchecked) private var known: Known?

    private struct Known {
        let model: ObjectIdentifier
        let lookup: RowLookup
        unowned(unsafe) let view: Snapshot
    }

    init(database: Database, transaction: Transaction?, view: Snapshot, schema: SchemaState, outer: ThreadScope?) {
        self.database = database
        self.transaction = transaction
        snapshot = view
        pinnedSchema = schema
        self.outer = outer
        number = database.number
    }

    /// The snapshot for reads.
    var view: Snapshot { transaction?.view ?? snapshot }
    var schema: SchemaState { transaction?.schema ?? pinnedSchema }

    /// Binds a type to its table at its first use. If that migrates the table, or another thread changed one meanwhile,
    /// the snapshot moves forward, as long as no read used it.
    func bind(_ model: EntityModel) throws(MakoError) -> Binding {
        if let transaction { return try transaction.binding(model) }
        if database.options.readOnly {
            pinnedSchema = try database.reading(pinnedSchema, with: model)
        } else {
            let newest = try database.moment(model)
            if hasRead {
                pinnedSchema = try pinnedSchema(with: model, orOf: newest)
            } else {
                (snapshot, pinnedSchema) = newest
            }
        }
        known = nil
        hasRead = true
        guard let binding = schema.binding(model) else {
            throw .migration(entity: model.name, reason: "its table could not be bound")
        }
        return binding
    }

    /// The schema of the snapshot with a type bound: the newest one, if the tables are still those of the snapshot.
    private func pinnedSchema(
        with model: EntityModel, orOf newest: (view: Snapshot, schema: SchemaState)
    ) throws(MakoError) -> SchemaState {
        if try records({ () throws(RecordError) in try Catalogue.isSame(snapshot, newest.view) }) {
            return newest.schema
        }
        do throws(MakoError) {
            try model.checkReading(of: pinnedSchema.catalogue)
            return try SchemaState(
                catalogue: pinnedSchema.catalogue, models: pinnedSchema.models + [model], version: pinnedSchema.version)
        } catch {
            throw .migration(
                entity: model.name,
                reason:
                    "it is used for the first time inside a read that has begun; list it when the database is opened")
        }
    }

    /// Finds a row by number and copies it.
    func foundRow(_ model: EntityModel, _ id: Int64) throws(MakoError) -> FoundRow? {
        if let known, known.model == ObjectIdentifier(model) { return try copy(known.lookup, id, known.view) }
        guard let binding = schema.binding(model), !model.hasColumnKey else {
            let key = model.hasColumnKey ? RowKey(values: [.integer(id)]) : .rowID(id)
            return try database.foundRow(model, key: key, context: nil)
        }
        hasRead = true
        if !keeper.holds(binding.layout) { keeper = RowArena(firstChunk: 256) }
        let lookup = binding.table.lookup(binding.layout)
        // A transaction may rebind its tables.
        if transaction == nil { known = Known(model: ObjectIdentifier(model), lookup: lookup, view: snapshot) }
        return try copy(lookup, id, view)
    }

    @inline(__always)
    private func copy(_ lookup: RowLookup, _ id: Int64, _ view: Snapshot) throws(MakoError) -> FoundRow? {
        try translated {
            try lookup.withRow(id: id, in: view) { FoundRow(.rowID(id), $0, &keeper, number, nil) } ?? nil
        }
    }

    // The stack frame that pushed a scope owns it.
    static var current: ThreadScope? {
        guard let pointer = mako_get_thread_scope() else { return nil }
        return Unmanaged<ThreadScope>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Runs a closure with the innermost scope if it is of a database, without retaining the scope.
    @inline(__always)
    static func withCurrent<R>(
        of database: Database, _ body: (ThreadScope) throws(MakoError) -> R?
    ) throws(MakoError) -> R?? {
        guard let pointer = mako_get_thread_scope() else { return nil }
        return try translated {
            try Unmanaged<ThreadScope>.fromOpaque(pointer)._withUnsafeGuaranteedRef { scope in
                scope.database === database ? .some(try body(scope)) : nil
            }
        }
    }

    /// The innermost transaction of this thread.
    static var transaction: Transaction? {
        var scope = current
        while let each = scope {
            if let transaction = each.transaction { return transaction }
            scope = each.outer
        }
        return nil
    }

    static func current(of database: Database) -> ThreadScope? {
        var scope = current
        while let each = scope {
            if each.database === database { return each }
            scope = each.outer
        }
        return nil
    }

    /// Runs a closure with a scope pushed.
    static func with<R, E: Error>(_ scope: ThreadScope, _ body: () throws(E) -> R) throws(E) -> R {
        mako_set_thread_scope(Unmanaged.passUnretained(scope).toOpaque())
        defer { mako_set_thread_scope(scope.outer.map { Unmanaged.passUnretained($0).toOpaque() }) }
        return try withExtendedLifetime(scope) { () throws(E) -> R in try body() }
    }
}

/// The number of running transactions in the process. Each property write checks it first.
enum RunningTransactions {
    private static let count = Atomic<Int>(0)

    static var any: Bool { count.load(ordering: .relaxed) != 0 }
    static func begin() { count.add(1, ordering: .relaxed) }
    static func end() { count.subtract(1, ordering: .relaxed) }
}
