import Dispatch
import Synchronization

extension Query {
    /// The query's results, and how they differ after each commit that changes them.
    ///
    /// ```swift
    /// for try await difference in Person.query().where(\.age > 30).orderBy(\.name).observe() {
    ///     table.reload(difference.results)    // or step by step: deletions, insertions, moves, updates
    /// }
    /// ```
    ///
    /// The first element has what there is. Each later one shows the state of one commit, whole; who is slow gets the
    /// differences of several commits as one. Commits that cannot matter cost little: what a commit changed is tested, and the query is run
    /// again only where rows behind its paths changed, where a limit has to be filled, or where that is cheaper. Objects whose rows did not
    /// change stay the same instances.
    ///
    /// Objects that are equal in the query's order stand in the order of their keys, descending where the last order is. The sequence ends
    /// when its task is cancelled or the database is closed. Commits of other processes are told when the database, opened for reading only, is
    /// refreshed: `Database.refresh()`. What happens to prefetched objects is not told.
    /// Of more than 65,536 changed rows at a time it is not kept which they were: every object that stays is then read anew and told as updated.
    ///
    /// - Throws: the iterator throws what ``fetch()-(())`` would, and ends.
    public func observe() -> LiveResults<T> {
        do throws(MakoError) {
            return LiveResults(on(try target()), nil)
        } catch {
            return LiveResults(self, error)
        }
    }

    /// Calls a handler with the query's results, and then after each commit that changes them; see ``observe()``.
    ///
    /// ```swift
    /// let token = Person.query().observe(on: .main) { outcome in
    ///     if case .success(let difference) = outcome { show(difference.results) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - queue: where the handler is called, once at a time and in order.
    ///   - handler: given the error when the query cannot be run, after which it is not called any more.
    /// - Returns: what keeps the handler going; it stops when this is released.
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
}

/// Keeps the handler of a live query going: it stops when the token goes, or is cancelled.
public final class LiveToken: Sendable {
    /// Whether the handler is not to be called any more.
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

    /// Stops the handler. A call that has begun goes on.
    public func cancel() {
        end.reach()
        task.cancel()
    }
}

/// The results of a query over time; see ``Query/observe()``. Each iteration begins anew.
public struct LiveResults<T: Entity>: AsyncSequence, Sendable {
    public typealias Element = QueryDifference<T>
    public typealias Failure = MakoError

    private let query: Query<T>
    private let fault: MakoError?

    init(_ query: Query<T>, _ fault: MakoError?) {
        self.query = query
        self.fault = fault
    }

    public func makeAsyncIterator() -> Iterator { Iterator(query, fault) }

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

        private mutating func end() {
            hasEnded = true
            live = nil
        }
    }
}
