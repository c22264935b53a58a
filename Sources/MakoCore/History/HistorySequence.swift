import MakoRecords
import MakoStorage

/// A database's history over time; see ``Database/changes(since:)``. Each iteration begins anew, at the same token.
public struct HistorySequence: AsyncSequence, Sendable {
    public typealias Element = HistoryEvent
    public typealias Failure = MakoError

    let database: Database
    let token: HistoryToken?
    let model: EntityModel?

    public func makeAsyncIterator() -> Iterator { Iterator(database: database, token: token, model: model) }

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

        public mutating func next() async throws(MakoError) -> HistoryEvent? { try await next(isolation: nil) }

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

/// One iteration of a history: reads pages of it, and waits at its end for the bell that commits ring.
final class HistoryStream: Sendable {
    /// So many commits are read at a time, and so many that do not concern an entity are passed without a word.
    private static let pageLimit = 256

    private struct State {
        var events: [HistoryEvent] = []
        /// How many of the events were handed out.
        var head = 0
        var token: HistoryToken?
        var tables: HistoryTables
        /// How many commits were passed since something was told.
        var passed: UInt64 = 0
    }

    private let database: Database
    private let bell = HistoryBell()
    private let follower: Int
    // Used by one caller after the other; the lock is for those who copy an iterator.
    private let state: Protected<State>

    init(_ database: Database, _ token: HistoryToken?, _ model: EntityModel?) {
        self.database = database
        state = Protected(State(token: token, tables: HistoryTables(of: model)))
        let bell = bell
        follower = database.hub.add(
            EventHub.Follower(tables: { [] }, tell: { bell.ring($0) }, finish: { bell.finish() }))
    }

    deinit { database.hub.removeFollower(follower) }

    func next() async throws(MakoError) -> HistoryEvent? {
        while true {
            if Task.isCancelled { return nil }
            if let event = take() { return event }
            guard await bell.isRung(poll: database.options.readOnly ? .seconds(1) : nil) else { return nil }
            do throws(MakoError) {
                try await database.onOwnThread(writes: false) { () throws(MakoError) in try self.read() }
            } catch {
                if case .cancelled = error { return nil }
                if case .closed = error, bell.isFinished { return nil }
                throw error
            }
        }
    }

    private func take() -> HistoryEvent? {
        state.with { state in
            guard state.head < state.events.count else { return nil }
            defer { state.head += 1 }
            return state.events[state.head]
        }
    }

    private func read() throws(MakoError) {
        if database.options.readOnly { try database.refresh() }
        if let model = state.with({ $0.tables.model }) { try database.naming.settle([model]) }
        try state.with { (state) throws(MakoError) in
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
