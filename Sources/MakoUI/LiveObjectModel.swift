import MakoCore
import Observation

/// One stored object, kept up to date on the main actor: what ``LiveObject`` shows.
///
/// ```swift
/// let shown = LiveObjectModel<Person>()
/// shown.start(id, in: db)
/// // shown.object has the values of each commit, and is nil when the row was deleted
/// ```
///
/// Each commit that changes the row, by any instance, assigns another object with its values; the commits of another
/// process are shown when the read-only database is refreshed. An object of a subclass has a table of its own, and is
/// followed by a model of the subclass.
@MainActor public final class LiveObjectModel<T: Entity> {
    private let query = LiveQueryModel<T>(keepsResults: false)

    /// The object as of the newest commit; nil while there is no such row or it cannot be read.
    public var object: T? { query.results.first }
    /// Whether the row was looked up. Without an object there is no such row then.
    ///
    /// False before the first look: without an identity, while the database has been suspended since `start`, and after
    /// an error of the first read. An error later leaves it true, as it leaves the object: ``error`` says that it is not
    /// kept up to date any more.
    public var isLoaded: Bool { query.isLoaded }
    /// The error that ended the observation; nil while it runs.
    public var error: MakoError? { query.error }

    /// Creates a model without an object.
    public nonisolated init() {}

    /// Follows the row with an identity in place of the earlier one.
    ///
    /// ```swift
    /// if let id = person.entityID { shown.start(id, in: db) }
    /// ```
    ///
    /// An identity of another table sets ``error``.
    public func start(_ id: EntityID<T>, in database: Database? = nil) {
        start(in: database) { () throws(MakoError) in id }
    }

    /// Follows the row with a key in place of the earlier one.
    ///
    /// ```swift
    /// shown.start(key: 42, in: db)
    /// ```
    ///
    /// A key of another type than the entity's sets ``error``.
    public func start(key: some StorableValue, in database: Database? = nil) {
        start(in: database) { () throws(MakoError) in try EntityID(T.self, key) }
    }

    /// Ends the observation. The object stays.
    ///
    /// ```swift
    /// shown.stop()
    /// ```
    public func stop() { query.stop() }

    private func start(in database: Database?, _ id: () throws(MakoError) -> EntityID<T>) {
        query.stop()
        follow(AnyHashable(0), in: database, id)
    }

    /// Follows a row unless the model follows the one of this identity: views call it before each body.
    package func follow(
        _ identity: AnyHashable, in database: Database?, _ id: () throws(MakoError) -> EntityID<T>
    ) {
        query.start(id: identity, in: database) { () throws(MakoError) in
            let target = if let database { database } else { try T.query().target() }
            return target.query(for: try id())
        }
    }
}
