import MakoStorage
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What runs on this thread: a transaction, or a read that pins one snapshot. Scopes nest; the innermost of a database counts.
@usableFromInline
final class ThreadScope {
    let database: Database
    let transaction: Transaction?
    private var snapshot: Snapshot
    private var pinnedSchema: SchemaState
    /// Whether anything was read on the pinned snapshot.
    var hasRead = false
    let outer: ThreadScope?

    init(database: Database, transaction: Transaction?, view: Snapshot, schema: SchemaState, outer: ThreadScope?) {
        self.database = database
        self.transaction = transaction
        snapshot = view
        pinnedSchema = schema
        self.outer = outer
    }

    /// What reads see.
    var view: Snapshot { transaction?.view ?? snapshot }
    var schema: SchemaState { transaction?.schema ?? pinnedSchema }

    /// Ties a type to its table at its first use. A migration that this brings moves the snapshot forward while nothing was read on it.
    func bind(_ model: EntityModel) throws(MakoError) -> Binding {
        if let transaction { return try transaction.binding(model) }
        let schema = try database.bound(model)
        if database.migrations.contains(where: { $0.entity == model.table }) {
            if hasRead {
                throw .migration(
                    entity: model.name,
                    reason:
                        "it is used for the first time inside a read that has begun; list it when the database is opened"
                )
            }
            snapshot = try storage { () throws(StorageError) in try database.store.snapshot() }
        }
        pinnedSchema = schema
        hasRead = true
        guard let binding = schema.binding(model) else {
            throw .migration(entity: model.name, reason: "its table could not be bound")
        }
        return binding
    }

    // The key is made once; the scope is owned by the stack frame that pushed it.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    static var current: ThreadScope? {
        guard let pointer = pthread_getspecific(key) else { return nil }
        return Unmanaged<ThreadScope>.fromOpaque(pointer).takeUnretainedValue()
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

    /// Runs a closure with a scope on top.
    static func with<R, E: Error>(_ scope: ThreadScope, _ body: () throws(E) -> R) throws(E) -> R {
        pthread_setspecific(key, Unmanaged.passUnretained(scope).toOpaque())
        defer {
            pthread_setspecific(key, scope.outer.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) })
        }
        return try withExtendedLifetime(scope) { () throws(E) -> R in try body() }
    }
}

/// How many transactions run in this process: none is what a write to a property asks first.
enum RunningTransactions {
    private static let count = Atomic<Int>(0)

    static var any: Bool { count.load(ordering: .relaxed) != 0 }
    static func begin() { count.add(1, ordering: .relaxed) }
    static func end() { count.subtract(1, ordering: .relaxed) }
}
