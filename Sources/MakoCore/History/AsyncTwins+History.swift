// Made by scripts/async-twins of the functions marked `// async`.

import MakoRecords

extension Database {
    /// The async form of `history(since:limit:)`. Runs on a thread outside Swift's cooperative pool.
    public func history(since token: HistoryToken?, limit: Int = .max) async throws(MakoError) -> [HistoryEvent] {
        try await away { (receiver) throws(MakoError) in try receiver.history(since: token, limit: limit) }
    }

    /// The async form of `historyToken()`. Runs on a thread outside Swift's cooperative pool.
    public func historyToken() async throws(MakoError) -> HistoryToken {
        try await away { (receiver) throws(MakoError) in try receiver.historyToken() }
    }

    /// The async form of `forgetHistory(before:)`. Runs on a thread outside Swift's cooperative pool.
    public func forgetHistory(before token: HistoryToken) async throws(MakoError) {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.forgetHistory(before: token) }
    }
}
