import Dispatch
import MakoRecords
import MakoStorage

/// The history of a database; see ``Database/changes(since:)``. Each iteration starts at the same token.
public struct HistorySequence: AsyncSequence, Sendable {
    /// One commit, or a gap.
    public typealias Element = HistoryEvent
    /// The errors of the iterator.
    public typealias Failure = MakoError

    let database: Database
    let token: HistoryToken?
    let model: EntityModel?

    /// Returns an iterator that starts at the sequence's token.
    public func makeAsyncIterator() -> Iterator { Iterator(database: database, token: token, model: model) }

    /// Reads the history and waits for new commits at its end.
    public struct Iterator: AsyncIteratorProtocol {
        let database: Database
        let token: HistoryToken?
        let model: EntityModel?
        private var stream: HistoryStream?
        private var hasEnded = false

        init(database: Database, token: HistoryToken?, model: EntityModel?) {
            self.database = database
            self.token = token
            self.model = model
        }

        /// Returns the next event after waiting for it; nil when the database closes or the task is cancelled.
        public mutating func next() async throws(MakoError) -> HistoryEvent? { try await next(isolation: nil) }

        /// Returns the next event after waiting for it; nil when the database closes or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(MakoError) -> HistoryEvent? {
            if hasEnded { return nil }
            do throws(MakoError) {
                if stream == nil {
                    try database.requireOpen()
                    stream = HistoryStream(database, token, model)
                }
                if let event = try await stream?.next() { return event }
            } catch {
                end()
                throw error
            }
            end()
            return nil
        }

        private mutating func end() {
            hasEnded = true
            stream = nil
        }
    }
}

/// One iteration of a history. Reads it in pages, and waits at its end for a commit.
final class HistoryStream: Sendable {
    /// The number of commits per page, and the number of unrelated commits after which an empty batch is sent.
    private static let pageLimit = 256

    private struct State {
        var events: [HistoryEvent] = []
        /// The number of events returned so far.
        var head = 0
        var token: HistoryToken?
        var tables: HistoryTables
        /// The number of commits passed since the last event.
        var passed: UInt64 = 0
    }

    private let database: Database
    private let bell = HistoryNotifier()
    private let follower: Int
    // Sequential use; the lock is for copies of an iterator.
    private let state: Guarded<State>

    init(_ database: Database, _ token: HistoryToken?, _ model: EntityModel?) {
        self.database = database
        state = Guarded(State(token: token, tables: HistoryTables(of: model)))
        let bell = bell
        follower = database.hub.add(
            EventHub.Follower(tables: { [] }, notify: { bell.ring($0) }, finish: { bell.finish() }))
    }

    deinit { database.hub.removeFollower(follower) }

    func next() async throws(MakoError) -> HistoryEvent? {
        // Other processes do not notify this one.
        let hasOtherWriters = database.options.readOnly || database.turns != nil
        let poll: DispatchTimeInterval? = hasOtherWriters ? .seconds(1) : nil
        var isUnavailable = false
        while true {
            if Task.isCancelled { return nil }
            if let event = take() { return event }
            // The end of a suspension does not ring either.
            let wait = isUnavailable ? poll ?? .milliseconds(100) : poll
            guard await bell.isRung(poll: wait) else { return nil }
            isUnavailable = false
            do throws(MakoError) {
                try await database.onOwnThread(writes: false) { () throws(MakoError) in try self.read() }
            } catch {
                if database.endsObservation(error) { return nil }
                // What was not read is read after the resumption.
                guard database.isUnavailable(error) else { throw error }
                isUnavailable = true
            }
        }
    }

    private func take() -> HistoryEvent? {
        state.withLock { state in
            guard state.head < state.events.count else { return nil }
            defer { state.head += 1 }
            return state.events[state.head]
        }
    }

    private func read() throws(MakoError) {
        if database.options.readOnly { try database.refresh() }
        if let model = state.withLock({ $0.tables.model }) { try database.naming.settle([model]) }
        try state.withLock { (state) throws(MakoError) in
            if state.head < state.events.count { return }
            let (view, schema) = try database.moment()
            let page = try database.historyPage(
                after: state.token, limit: HistoryStream.pageLimit, &state.tables, view, schema)
            state.head = 0
            state.events = page.events
            let before = state.token
            state.token = page.token
            if page.events.isEmpty, let token = page.token, state.tables.model != nil {
                state.passed += token.commit - (before?.commit ?? 0)
                if state.passed >= HistoryStream.pageLimit {
                    state.events = [.batch(HistoryBatch(passing: token))]
                }
            }
            if !state.events.isEmpty { state.passed = 0 }
            bell.hasRead(upTo: view.commitNumber, isLast: page.isLast)
        }
    }
}
