import MakoStorage

/// Which database a call means that names none.
extension Database {
    @TaskLocal private static var taskDefault: Database?
    private static let processDefault = Protected<Database?>(nil)
    private static let named = Protected<[TextKey: Database]>([:])

    /// What `person.commit()` and `Person.query()` fall back to.
    public static var `default`: Database? {
        get { processDefault.with { $0 } }
        set { processDefault.with { $0 = newValue } }
    }

    /// Gives the entities that name a database theirs; nil takes it away again.
    ///
    /// ```swift
    /// @Entity(database: "log") final class Entry { var text = "" }
    /// Database.register(try Database(at: "log.mako"), as: "log")
    /// try Entry(text: "begun").commit()
    /// ```
    public static func register(_ database: Database?, as name: String) { named.with { $0[TextKey(name)] = database } }

    /// Runs a closure with another default, for this task and its children.
    public static func withDefault<R>(_ database: Database, _ body: () throws -> R) rethrows -> R {
        try $taskDefault.withValue(database, operation: body)
    }

    /// Runs a closure with another default, for this task and its children.
    public static func withDefault<R>(
        _ database: Database, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> R
    ) async rethrows -> R {
        try await $taskDefault.withValue(database, operation: body)
    }

    /// The database that the entity names, else the running transaction's or read's, else the task's default, else the process's.
    @usableFromInline
    static func current(for model: EntityModel) throws(MakoError) -> Database {
        if let name = model.databaseName {
            if let database = named.with({ $0[TextKey(name)] }) { return database }
            throw .noDatabase(entity: "\(model.name), which is of the database \"\(name)\"")
        }
        if let scope = ThreadScope.current { return scope.database }
        if let database = taskDefault ?? Database.default { return database }
        throw .noDatabase(entity: model.name)
    }

    /// The database with a number, which an object carries; 0: the current one.
    static func resolve(number: UInt32, for model: EntityModel) throws(MakoError) -> Database {
        if number == 0 { return try current(for: model) }
        if let scope = ThreadScope.current, scope.database.number == number { return scope.database }
        if let database = DatabaseRegistry.database(number) { return database }
        throw .closed(path: "of this \(model.name)")
    }

    /// The database an object belongs to; nil when it was never saved.
    static func of(_ object: any ObjectEntity) -> Database? {
        let number = object.lockedState { $0.database }
        return number == 0 ? nil : DatabaseRegistry.database(number)
    }
}
