#if Studio
    import FlyingFox
    import FlyingSocks
    import Foundation
    import MakoCommand

    /// Serves the page of Mako Studio and its requests.
    package struct StudioServer: Sendable {
        private let database: StudioDatabase
        private let access: StudioGuard
        /// Whether the link's token was exchanged for the cookie.
        private let exchange = Exchange()

        /// Serves until the process ends.
        package static func serve(_ launch: StudioLaunch) throws {
            let done = DispatchSemaphore(value: 0)
            let outcome = Outcome()
            Task.detached {
                do { try await run(launch) } catch { outcome.error.withLock { $0 = error } }
                done.signal()
            }
            done.wait()
            if let error = outcome.error.withLock({ $0 }) { throw error }
        }

        private final class Outcome: Sendable {
            let error = Guarded<(any Error)?>(nil)
        }

        private final class Exchange: Sendable {
            let isDone = Guarded(false)
        }

        private static func run(_ launch: StudioLaunch) async throws {
            let place = Place()
            let server = await serving(try sockaddr_in.inet(ip4: "127.0.0.1", port: launch.port ?? 0), place)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await server.run() }
                try await server.waitUntilListening()
                guard case .ip4(_, let port)? = await server.listeningAddress else { throw CancellationError() }
                let access = StudioGuard(port: port)
                place.studio.withLock { $0 = StudioServer(database: launch.database, access: access) }
                // Browsers may resolve `localhost` to ::1. A machine without IPv6, or with another program at this
                // port of it, has 127.0.0.1 alone.
                let second = await serving(sockaddr_in6.loopback(port: port), place)
                group.addTask { try? await second.run() }
                launch.announce("http://127.0.0.1:\(port)/?token=\(access.token)")
                try await group.waitForAll()
            }
        }

        /// The time for one answer, in seconds: beyond the limits of the two runs that a measured plan takes.
        private static let timeout = 60.0

        private static func serving(_ address: some SocketAddress, _ place: Place) async -> HTTPServer {
            let server = HTTPServer(address: address, timeout: timeout, logger: .disabled)
            await server.appendRoute("*") { request in
                guard let studio = place.studio.withLock({ $0 }) else {
                    return HTTPResponse(statusCode: .serviceUnavailable)
                }
                return await studio.answer(request)
            }
            return server
        }

        private final class Place: Sendable {
            let studio = Guarded<StudioServer?>(nil)
        }

        init(database: StudioDatabase, access: StudioGuard) {
            self.database = database
            self.access = access
        }

        // MARK: Requests

        private func answer(_ request: HTTPRequest) async -> HTTPResponse {
            let incoming = StudioGuard.Request(
                method: request.method.rawValue, host: request.headers[.host],
                origin: request.headers[HTTPHeader("Origin")], site: request.headers[HTTPHeader("Sec-Fetch-Site")],
                cookie: request.headers[.cookie], contentType: request.headers[.contentType])
            let values = Self.values(request.target.query(percentEncoded: true))
            // A link opened by another program has no origin site, or that of a web mail.
            let isLink = request.path == "/" && values["token"] != nil && request.method == .GET
            var checked = incoming
            if isLink { checked.site = nil }
            if let refusal = access.refusal(of: checked) { return Self.refused(.forbidden, refusal) }
            if isLink { return entered(values["token"] ?? "") }
            guard access.isKnown(incoming) else {
                return Self.refused(.unauthorized, "Open the link that mako studio printed: it lets this browser in.")
            }
            if request.path == "/api/live" { return live(since: values["since"].flatMap { UInt64($0) }) }
            if request.path.hasPrefix("/api/") { return await called(request, values) }
            return Self.asset(request)
        }

        /// Exchanges the token of the link for the cookie, once.
        private func entered(_ token: String) -> HTTPResponse {
            let isFirst = exchange.isDone.withLock { isDone in
                guard !isDone, access.isToken(token) else { return false }
                isDone = true
                return true
            }
            guard isFirst else {
                return Self.refused(
                    .unauthorized, "This link was used already, or is not of this session. Start mako studio again.")
            }
            let cookie = "\(access.cookieName)=\(access.session); HttpOnly; SameSite=Strict; Path=/"
            return Self.response(
                .seeOther, "text/plain; charset=utf-8", Data(), ["Set-Cookie": cookie, "Location": "/"])
        }

        /// The new and the shown value of the longest text that a form edits, and as much again for the escapes of JSON.
        private static let bodyLimit = 4 << 20

        private func called(_ request: HTTPRequest, _ values: [String: String]) async -> HTTPResponse {
            guard let method = StudioRequest.Method(rawValue: request.method.rawValue) else {
                return Self.refused(.methodNotAllowed, "The server knows GET, POST and DELETE.")
            }
            // A body without a length could be unbounded.
            guard let bytes = request.bodySequence.count, bytes <= Self.bodyLimit else {
                return Self.refused(
                    .payloadTooLarge, "A request says how long it is, and has at most \(Self.bodyLimit) bytes.")
            }
            let body = (try? await request.bodyData) ?? Data()
            let question = StudioRequest(
                method, String(request.path.dropFirst("/api/".count)), values: values, body: Array(body))
            let database = database
            let answer = await Self.onOtherThread {
                database.refresh()
                return database.answer(question)
            }
            var headers: [String: String] = [:]
            if let name = answer.fileName { headers["Content-Disposition"] = "attachment; filename=\"\(name)\"" }
            return Self.response(
                HTTPStatusCode(answer.status, phrase: answer.status == 200 ? "OK" : "Error"), answer.mediaType,
                Data(answer.body), headers)
        }

        /// Runs blocking file access on another thread, so that other requests and cancellations continue.
        static func onOtherThread<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(returning: body()) }
            }
        }

        private func live(since commit: UInt64?) -> HTTPResponse {
            var response = Self.response(.ok, "text/event-stream", Data(), [:])
            response.payload = .httpBody(HTTPBodySequence(from: StudioEvents(database: database, commit: commit)))
            return response
        }

        private static func asset(_ request: HTTPRequest) -> HTTPResponse {
            let name = request.path == "/" ? "index.html" : String(request.path.dropFirst())
            guard request.method == .GET, let asset = StudioAssets.files[name] else {
                return refused(.notFound, "There is no such page.")
            }
            return response(.ok, asset.mediaType, Data(asset.text.utf8), [:])
        }

        // MARK: Responses

        static func response(
            _ status: HTTPStatusCode, _ mediaType: String, _ body: Data, _ more: [String: String]
        ) -> HTTPResponse {
            var headers = HTTPHeaders()
            for (name, value) in StudioGuard.headers.merging(more, uniquingKeysWith: { $1 }) {
                headers[HTTPHeader(name)] = value
            }
            headers[.contentType] = mediaType
            return HTTPResponse(statusCode: status, headers: headers, body: body)
        }

        static func refused(_ status: HTTPStatusCode, _ message: String) -> HTTPResponse {
            let body = (try? JSONEncoder().encode(["error": ["message": message]])) ?? Data()
            return response(status, "application/json", body, [:])
        }

        /// The query parameters; `+` is a space, as pages encode it.
        static func values(_ query: String) -> [String: String] {
            var values: [String: String] = [:]
            for part in query.split(separator: "&") {
                let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let texts = pair.map { $0.replacing("+", with: " ").removingPercentEncoding ?? "" }
                if let name = texts.first { values[name] = texts.count > 1 ? texts[1] : "" }
            }
            return values
        }
    }

    /// Server-sent events: commits, at most twice per second, and periodic comments that detect a closed
    /// connection.
    struct StudioEvents: AsyncBufferedSequence {
        typealias Element = UInt8

        let database: StudioDatabase
        /// The commit that the page has read.
        let commit: UInt64?

        func makeAsyncIterator() -> Iterator { Iterator(database: database, commit: commit) }

        struct Iterator: AsyncBufferedIteratorProtocol {
            private static let interval = Duration.milliseconds(250)
            /// The pause after an event: each one takes processor time from a writer at full speed.
            private static let eventInterval = Duration.milliseconds(500)
            /// The number of intervals without an event before a comment.
            private static let silence = 20

            let database: StudioDatabase
            private let commit: UInt64?
            private var seen: StudioSeen?
            private var pause = Self.interval

            init(database: StudioDatabase, commit: UInt64?) {
                self.database = database
                self.commit = commit
            }

            mutating func next() async throws -> UInt8? { nil }

            mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
                let (database, commit) = (database, commit)
                guard let last = seen else {
                    seen = await StudioServer.onOtherThread { database.seen(commit) }
                    return Array(": hello\n\n".utf8)
                }
                for _ in 0..<Self.silence {
                    try await Task.sleep(for: pause)
                    pause = Self.interval
                    let found = await StudioServer.onOtherThread {
                        database.refresh() == last.commit ? nil : database.event(since: last)
                    }
                    guard let event = found else { continue }
                    seen = event.seen
                    pause = Self.eventInterval
                    return Array("data: \(event.json)\n\n".utf8)
                }
                return Array(": still here\n\n".utf8)
            }
        }
    }
#endif
