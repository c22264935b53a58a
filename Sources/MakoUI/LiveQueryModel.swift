import MakoCore
import Observation

/// The results of a query, kept up to date on the main actor: what ``LiveQuery`` shows, for views without a wrapper
/// and for view models.
///
/// ```swift
/// let people = LiveQueryModel<Person>()
/// people.start(Person.query().where(\.age > 30).orderBy(\.name), in: db)
/// // people.results follows every commit until `people` is released
/// ```
///
/// Observation notifies of its properties. The first results are read at the start, on the main actor, so that the
/// first body of a view has them. After later commits the query runs on a thread of the database. Only the latest query
/// assigns results.
///
/// - Important: The first read blocks the main thread for as long as the query takes. For very many objects, or without
///   an index for the conditions and the order, set a `limit(_:)` and raise it as the user scrolls, or use
///   `for try await … in query.observe()` in a task, which reads on a thread of the database.
@MainActor @Observable public final class LiveQueryModel<T: Entity> {
    /// The results as of the newest commit that the query processed. An error does not remove them.
    public private(set) var results: [T] = []
    /// The error that ended the query; nil while it runs. The end of its database is `MakoError.closed`.
    public private(set) var error: MakoError?
    /// Whether ``results`` are those of the query that `start` was called with last.
    ///
    /// False before its first results: without a query, while the database has been suspended since `start`, and after an
    /// error of the first read. An error later leaves it true, as it leaves the results: a view that shows a list where
    /// this is true, and progress elsewhere, keeps its list, and ``error`` says that it is not kept up to date any more.
    public private(set) var isLoaded = false

    @ObservationIgnored private var task: Task<Void, Never>?
    @ObservationIgnored private var database: Database?
    @ObservationIgnored private var identity: (id: AnyHashable, given: Database?)?
    /// Whether the results of the earlier query stay until the first ones of the next.
    @ObservationIgnored private let keepsResults: Bool

    /// Creates a model without a query and without results.
    public nonisolated init() { keepsResults = true }

    nonisolated init(keepsResults: Bool) { self.keepsResults = keepsResults }

    deinit { task?.cancel() }

    /// Starts a query in place of the running one.
    ///
    /// ```swift
    /// people.start(Person.query().where(\.name ~= typed + "%"), in: db)
    /// ```
    ///
    /// The first results are read before the method returns, and an error of this read sets ``error``. A suspended
    /// database is read when it is resumed; so is, after its end, a transaction or read of which the call is a part. The
    /// earlier results stay until then, and after an error, unless they are of another database.
    ///
    /// - Parameters:
    ///   - query: the query. One of `db.query(…)` runs in its own database.
    ///   - database: the database of a query without one; nil: the current database, such as `Database.default`.
    public func start(_ query: Query<T>, in database: Database? = nil) {
        stop()
        let bound = database.map { query.on(default: $0) } ?? query
        do throws(MakoError) {
            let target = try bound.target()
            if !keepsResults || target !== self.database { results = [] }
            self.database = target
            follow(bound, path: target.path)
        } catch {
            results = []
            fail(error)
        }
    }

    /// Shows the first results, and in a task those of each later commit.
    private func follow(_ query: Query<T>, path: String) {
        var live = query.observe().makeAsyncIterator()
        do throws(MakoError) {
            if let first = try live.first() { show(first.results.array) }
        } catch {
            return fail(error)
        }
        task = Task { [weak self, live] in
            var live = live
            do throws(MakoError) {
                while let difference = try await live.next(isolation: #isolation) {
                    // A restart cancels on this actor, so that no later line can show an earlier query.
                    if Task.isCancelled { return }
                    self?.show(difference.results.array)
                }
                if !Task.isCancelled { self?.fail(.closed(path: path)) }
            } catch {
                if !Task.isCancelled { self?.fail(error) }
            }
        }
    }

    /// Ends the query. The results stay.
    ///
    /// ```swift
    /// people.stop()
    /// ```
    public func stop() {
        task?.cancel()
        task = nil
        identity = nil
        error = nil
        isLoaded = false
    }

    /// Starts a query unless the running one has the same identity and database: views call it before each body.
    package func start(
        id: AnyHashable, in database: Database?, _ query: () throws(MakoError) -> Query<T>
    ) {
        if let identity, identity.id == id, identity.given === database { return }
        do throws(MakoError) {
            start(try query(), in: database)
        } catch {
            stop()
            results = []
            fail(error)
        }
        identity = (id, database)
    }

    private func show(_ objects: [T]) {
        results = objects
        isLoaded = true
    }

    private func fail(_ error: MakoError) {
        self.error = error
        task = nil
    }
}
