import Dispatch
import MakoRecords
import Synchronization

extension Query {
    /// Returns the query's results and, after each commit that changes them, the difference, as an asynchronous
    /// sequence.
    ///
    /// ```swift
    /// for try await difference in Person.query().where(\.age > 30).orderBy(\.name).observe() {
    ///     table.reload(difference.results)    // or step by step: deletions, insertions, moves, updates
    /// }
    /// ```
    ///
    /// The first element has the results as they are. Each later one shows the complete state of one commit; a slow
    /// consumer gets the differences of several commits as one. A commit that cannot change the results costs little:
    /// its changed rows are tested, and the query runs again only where rows behind its paths changed, where a limit
    /// has to be filled, or where that is cheaper. Objects whose rows did not change stay the same instances.
    ///
    /// Objects that are equal in the query's order are in the order of their keys, descending where the last order is.
    /// The sequence ends when its task is cancelled or the database is closed. Commits of other processes are observed
    /// when the database, opened read-only, is refreshed: `Database.refresh()`. Changes of prefetched objects are not
    /// observed. More than 65,536 changed rows between two differences are not recorded one by one: every object that
    /// stays is then read again and counts as updated.
    ///
    /// - Throws: the iterator throws what ``fetch()`` would throw, and ends.
    public func observe() -> LiveResults<T> {
        do throws(MakoError) {
            return LiveResults(on(try target()), nil)
        } catch {
            return LiveResults(self, error)
        }
    }

    /// Calls a handler with the query's results, and again after each commit that changes them; see ``observe()``.
    ///
    /// ```swift
    /// let token = Person.query().observe(on: .main) { outcome in
    ///     if case .success(let difference) = outcome { show(difference.results) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - queue: the queue that runs the handler, one call at a time and in order.
    ///   - handler: called with each difference, or with the error when the query fails, which is the last call.
    /// - Returns: a token; the observation ends when it is released.
    public func observe(
        on queue: DispatchQueue, _ handler: @escaping @Sendable (Result<QueryDifference<T>, MakoError>) -> Void
    ) -> LiveToken {
        let live = observe()
        let isOver = LiveToken.End()
        let task = Task {
            func call(_ outcome: Result<QueryDifference<T>, MakoError>) async {
                await withCheckedContinuation { continuation in
                    queue.async {
                        if !isOver.isReached { handler(outcome) }
                        continuation.resume()
                    }
                }
            }
            var iterator = live.makeAsyncIterator()
            do throws(MakoError) {
                while let difference = try await iterator.next() { await call(.success(difference)) }
            } catch {
                await call(.failure(error))
            }
        }
        return LiveToken(task, isOver)
    }

    /// The query on a database, unless it has one of its own.
    package func on(default database: Database) -> Query { self.database == nil ? on(database) : self }
}

extension Database {
    /// Returns a query for the row with an identity, which fails for one of another table.
    package func query<T: Entity>(for id: EntityID<T>) -> Query<T> {
        let model = T.entityModel
        do throws(MakoError) {
            try naming.settle([model])
            guard id.table == model.table, model.hasColumnKey == (id.key.rowID == nil) else {
                throw .typeMismatch(
                    entity: model.name, property: model.rowNumberName, expected: "a key of table \(model.table)",
                    found: "one of table \(id.table)")
            }
            let schema = try model.schema()
            let values = try records { () throws(RecordError) in try id.key.values(in: schema) }
            return zip(model.keyColumns, values).reduce(query(T.self)) { query, key in
                query.adding(.parsed(.comparison(.equal, .column([key.0]), .literal(key.1))))
            }
        } catch {
            return query(T.self).adding(.failed(error))
        }
    }
}

/// Keeps the handler of a live query active: it ends when the token is released or cancelled.
public final class LiveToken: Sendable {
    /// Whether the handler must not be called any more.
    final class End: Sendable {
        private let flag = Atomic<Bool>(false)
        var isReached: Bool { flag.load(ordering: .acquiring) }
        func reach() { flag.store(true, ordering: .releasing) }
    }

    private let task: Task<Void, Never>
    private let end: End

    init(_ task: Task<Void, Never>, _ end: End) {
        self.task = task
        self.end = end
    }

    deinit { cancel() }

    /// Ends the observation. A running call of the handler completes.
    public func cancel() {
        end.reach()
        task.cancel()
    }
}

/// The results of a query over time; see ``Query/observe()``. Each iteration starts a new observation.
public struct LiveResults<T: Entity>: AsyncSequence, Sendable {
    /// The difference that a commit, or several, made to the results.
    public typealias Element = QueryDifference<T>
    /// The error type of the iterator.
    public typealias Failure = MakoError

    private let query: Query<T>
    private let fault: MakoError?

    init(_ query: Query<T>, _ fault: MakoError?) {
        self.query = query
        self.fault = fault
    }

    /// Returns an iterator that starts a new observation at its first element.
    public func makeAsyncIterator() -> Iterator { Iterator(query, fault) }

    /// Waits for the differences of one observation.
    public struct Iterator: AsyncIteratorProtocol {
        private let query: Query<T>
        private var fault: MakoError?
        private var live: LiveQuery<T>?
        private var hasEnded = false

        init(_ query: Query<T>, _ fault: MakoError?) {
            self.query = query
            self.fault = fault
        }

        public mutating func next() async throws(MakoError) -> QueryDifference<T>? {
            try await next(isolation: nil)
        }

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(MakoError) -> QueryDifference<T>? {
            if hasEnded { return nil }
            do throws(MakoError) {
                if let fault { throw fault }
                if live == nil { live = try LiveQuery(query, try query.target()) }
                if let difference = try await live?.next() { return difference }
            } catch {
                end()
                throw error
            }
            end()
            return nil
        }

        /// Returns the initial results, read on the calling thread, before the first call of `next()`, which then waits
        /// for a commit that changes them.
        ///
        /// - Returns: nil where `next()` returns the initial results: inside a transaction or read of the thread, and
        ///   while the database is suspended.
        package mutating func first() throws(MakoError) -> QueryDifference<T>? {
            do throws(MakoError) {
                if let fault { throw fault }
                let live = try LiveQuery(query, try query.target())
                self.live = live
                return try live.first()
            } catch {
                end()
                throw error
            }
        }

        private mutating func end() {
            hasEnded = true
            live = nil
        }
    }
}
