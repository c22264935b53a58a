import Foundation
import MakoRecords
import MakoStorage

/// A request of the page, or of another tool: a path and its parameters.
package struct StudioRequest: Sendable {
    package enum Method: String, Sendable { case get = "GET", post = "POST", delete = "DELETE" }

    package var method: Method
    /// The name of the request, such as `rows`.
    package var path: String
    /// For GET and DELETE: the query parameters of the URL.
    package var values: [String: String]
    /// For POST: JSON.
    package var body: [UInt8]

    package init(_ method: Method, _ path: String, values: [String: String] = [:], body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.values = values
        self.body = body
    }
}

/// The response to a ``StudioRequest``.
package struct StudioAnswer: Sendable {
    /// The HTTP status.
    package var status = 200
    package var mediaType = "application/json"
    package var body: [UInt8]
    /// The name for saving the response as a file; nil: it is displayed.
    package var fileName: String?
}

/// A database file for Mako Studio and `mako mcp`. Thread-safe.
package final class StudioDatabase: Sendable {
    /// The limits of one query.
    struct Limits {
        var rows = 1_000
        var bytes = 4 << 20
        var time = Duration.seconds(10)
        /// The time for counting one list of a row, or for finding whether other rows refer to it, which read whole tables
        /// where no index serves them.
        var counting = Duration.seconds(1)
        /// The number of rows of one grid page.
        var page = 500
    }

    let file: DatabaseFile
    let isWritable: Bool
    /// The key for reading pages of the file; nil: it is not encrypted.
    let encryption: Encryption?
    let limits: Limits
    /// The running queries, by the names that the page gave them.
    private let running = Guarded<[String: Cancellation]>([:])
    /// Locked during a save, so that saves come one after the other.
    let saves = Guarded(StudioSaves())

    /// What pages remember for the next start.
    let memory: Guarded<StudioMemory>
    /// The snapshot that the page pinned, beside the newest commit.
    let pinned = Guarded<StudioPin?>(nil)

    var isEncrypted: Bool { encryption != nil }

    init(_ file: DatabaseFile, isWritable: Bool, encryption: Encryption? = nil, limits: Limits = Limits()) {
        self.file = file
        self.encryption = encryption
        self.isWritable = isWritable
        self.limits = limits
        memory = Guarded(StudioMemory(of: file.path, isKept: encryption == nil))
    }

    /// Returns the response to a request; errors are responses too.
    package func answer(_ request: StudioRequest) -> StudioAnswer {
        do { return try StudioQuestion(request, self).answer() } catch {
            let refusal = StudioRefusal(error)
            return StudioAnswer(status: refusal.status, body: Array(refusal.json.text.utf8))
        }
    }

    /// Advances a database that another process writes to its newest commit.
    ///
    /// - Returns: the number of the newest commit.
    @discardableResult package func refresh() -> UInt64 {
        if !isWritable { _ = try? file.store.refresh() }
        return (try? file.store.read { $0.commitNumber }) ?? 0
    }

    /// Cancels running queries and closes the file.
    package func close() {
        running.withLock { running in for query in running.values { query.cancel() } }
        unpin()
        try? file.store.close()
    }

    /// Runs the body until a time limit, by default that of a query, or until `cancel` names it.
    func limited<R>(_ name: String?, _ time: Duration? = nil, _ body: (Cancellation) throws -> R) throws -> R {
        let cancellation = Cancellation()
        let key = name ?? UUID().uuidString
        running.withLock { $0[key] = cancellation }
        let (seconds, attoseconds) = (time ?? limits.time).components
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.schedule(deadline: .now() + Double(seconds) + Double(attoseconds) / 1e18)
        timer.setEventHandler { cancellation.cancel() }
        timer.resume()
        defer {
            timer.cancel()
            _ = running.withLock { $0.removeValue(forKey: key) }
        }
        return try body(cancellation)
    }

    /// Pins the newest commit in place of what was pinned before.
    func pin() throws -> StudioPin {
        let pin = try StudioPin(file.store)
        pinned.withLock { $0 = pin }
        return pin
    }

    /// Compares rows with those of an earlier copy of the database, until it is released.
    func compare(with copy: DatabaseFile) throws {
        let pin = try StudioPin(copy: copy)
        pinned.withLock { $0 = pin }
    }

    /// Releases the pinned snapshot when the requests that read it have ended.
    func unpin() { pinned.withLock { $0 = nil } }

    func cancel(_ name: String) { running.withLock { $0[name]?.cancel() } }
}

/// An error response.
struct StudioRefusal: Error {
    var message: String
    var status = 400
    /// The position in the sent text, in UTF-16 units.
    var position: Int?
    var advice: String?

    init(_ message: String, status: Int = 400, advice: String? = nil) {
        (self.message, self.status, self.advice) = (message, status, advice)
    }

    init(_ error: any Error) {
        switch error {
        case let refusal as StudioRefusal: self = refusal
        case RecordError.syntax(let error):
            self.init(error.message + (error.nearest.map { "; did you mean \($0)?" } ?? ""))
            position = String(decoding: Array(error.text.utf8).prefix(max(0, error.offset)), as: UTF8.self).utf16.count
        case RecordError.cancelled:
            self.init(
                "The query was cancelled, or took longer than its limit.", status: 408,
                advice: "Ask for fewer rows, or create an index that leads to them: Explain says which.")
        case RecordError.tableNotFound, RecordError.columnNotFound: self.init(Failure(error).message, status: 404)
        case let error as RecordError: self.init(error.description, status: 400)
        default: self.init(Failure(error).message, status: 500)
        }
    }

    var json: JSONValue {
        var members: [(key: String, value: JSONValue)] = [("message", .string(message))]
        if let position { members.append(("position", .integer(Int64(position)))) }
        if let advice { members.append(("advice", .string(advice))) }
        return .object([("error", .object(members))])
    }
}

/// The saves of all pages, of which the last one can be undone.
struct StudioSaves {
    /// The number of the last save.
    private(set) var last = 0
    /// The statement that reverts it, or the reason why there is none; nil: it was undone.
    private var undo: Result<String, StudioRefusal>?

    mutating func add(_ undo: Result<String, StudioRefusal>) {
        last += 1
        self.undo = undo
    }

    /// The statement that reverts the last save.
    ///
    /// - Parameter save: the number of the save that a page shows; nil: the last one.
    func inverse(of save: UInt64?) throws -> String {
        guard let undo else { throw StudioRefusal("There is no save to undo.", status: 409) }
        if let save, save != last {
            throw StudioRefusal("Another save followed: only the last one can be undone.", status: 409)
        }
        return try undo.get()
    }

    mutating func isUndone() { undo = nil }
}
