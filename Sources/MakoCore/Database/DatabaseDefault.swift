import Foundation
import MakoStorage

/// Selects the database of a call without a database argument.
extension Database {
    @TaskLocal private static var taskDefault: Database?
    private static let processDefault = Guarded<Database?>(nil)
    /// What opens the default database at its first use, and the thread that does so now.
    private static let opening = Guarded<(open: DefaultOpening?, thread: ObjectIdentifier?)>((nil, nil))
    private static let openingChange = ConditionVariable()
    private static let named = Guarded<[TextKey: Database]>([:])

    /// Opens the default database.
    public typealias DefaultOpening = @Sendable () throws(MakoError) -> Database

    /// The database that `person.commit()` and `Person.query()` use without another one: inside ``withDefault(_:_:)`` that
    /// of the closure, otherwise that of the process, which an assignment sets.
    public static var `default`: Database? {
        get { taskDefault ?? processDefault.withLock { $0 } }
        set { processDefault.withLock { $0 = newValue } }
    }

    /// Sets what opens the default database when it is needed for the first time.
    ///
    /// ```swift
    /// Database.setDefault(opening: { () throws(MakoError) in try Database(named: "people", entities: [Person.self]) })
    /// try Person(name: "Ada").commit()  // opens it
    /// ```
    ///
    /// The closure runs on the thread of the first call that needs the database, and other threads wait. If it
    /// throws, that call throws the error, and the next one tries again. ``default`` is nil until then. Nil removes it.
    public static func setDefault(opening open: DefaultOpening?) { opening.withLock { $0.open = open } }

    /// The default database, which is opened if ``setDefault(opening:)`` has set how.
    private static func openedDefault() throws(MakoError) -> Database? {
        let thread = ObjectIdentifier(Thread.current)
        while true {
            if let database = Database.default { return database }
            let (open, isOther) = opening.withLock { state -> (DefaultOpening?, Bool) in
                // The closure itself uses the default database: it has none.
                if let running = state.thread { return (nil, running != thread) }
                if state.open != nil { state.thread = thread }
                return (state.open, false)
            }
            if isOther {
                opening.wait(for: openingChange) { $0.thread != nil && $0.thread != thread }
                continue
            }
            guard let open else { return nil }
            defer {
                opening.withLock { $0.thread = nil }
                openingChange.broadcast()
            }
            // Another thread may have opened it since.
            if Database.default == nil { Database.default = try open() }
        }
    }

    /// Registers the database of the entities that name one; nil removes it.
    ///
    /// ```swift
    /// @Entity(database: "log") final class Entry { var text = "" }
    /// Database.register(try Database(at: "log.mako"), as: "log")
    /// try Entry(text: "begun").commit()
    /// ```
    public static func register(_ database: Database?, as name: String) {
        named.withLock { $0[TextKey(name)] = database }
    }

    /// Runs a closure with another default database, for this task and its children.
    public static func withDefault<R>(_ database: Database, _ body: () throws -> R) rethrows -> R {
        try $taskDefault.withValue(database, operation: body)
    }

    /// Runs a closure with another default database, for this task and its children.
    public static func withDefault<R>(
        _ database: Database, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> R
    ) async rethrows -> R {
        try await $taskDefault.withValue(database, operation: body)
    }

    /// The database that the entity names, otherwise that of the running transaction or read, the task's default, or
    /// the process's default.
    @usableFromInline
    static func current(for model: EntityModel) throws(MakoError) -> Database {
        if let name = model.databaseName {
            if let database = named.withLock({ $0[TextKey(name)] }) { return database }
            throw .noDatabase(entity: "\(model.name), which is of the database \"\(name)\"")
        }
        if let scope = ThreadScope.current { return scope.database }
        if let taskDefault { return taskDefault }
        if let database = try openedDefault() { return database }
        throw .noDatabase(entity: model.name)
    }

    /// The database with the number that an object has; 0: the current one.
    static func resolve(number: UInt32, for model: EntityModel) throws(MakoError) -> Database {
        if number == 0 { return try current(for: model) }
        if number == DatabaseRegistry.foreign { throw .foreignObject(entity: model.name) }
        if let scope = ThreadScope.current, scope.database.number == number { return scope.database }
        if let database = DatabaseRegistry.database(number) { return database }
        if let path = DatabaseRegistry.path(ofReleased: number) { throw .closed(path: path) }
        throw .noDatabase(entity: model.name)
    }

    /// The database of an object; nil when it was never saved.
    static func of(_ object: any ObjectEntity) -> Database? {
        let number = object.lockedState { $0.database }
        return number == 0 ? nil : DatabaseRegistry.database(number)
    }
}
