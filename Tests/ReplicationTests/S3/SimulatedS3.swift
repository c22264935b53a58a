#if Replication
    import Foundation
    import MakoStorage

    @testable import MakoReplication

    /// An S3 service in memory with injected faults.
    final class SimulatedS3: S3Transport, @unchecked Sendable {
        enum Fault: Sendable {
            /// The service is busy, and does nothing.
            case busy
            /// The request takes effect, and the answer is lost.
            case answerLost
            /// The request takes effect twice, as if a proxy repeats it; the second answer counts.
            case doubled
            /// The service answers with another status and body, and does nothing.
            case answer(status: Int, code: String, extra: String = "", headers: [String: String] = [:])
        }

        private struct State {
            var objects: [String: [UInt8]] = [:]
            var uploads: [String: [Int: [UInt8]]] = [:]
            var requests: [S3Message] = []
            var faults: [Int: Fault] = [:]
            var always: Fault?
            var pauses: [Double] = []
        }

        static let bucket = "bucket"
        private let lock = Lock()
        // Guarded by `lock`.
        private var state = State()
        /// Whether the service ignores conditions, of all requests or of ends of uploads.
        let ignoresConditions: Bool
        let ignoresConditionsOfParts: Bool

        init(ignoresConditions: Bool = false, ignoresConditionsOfParts: Bool = false) {
            self.ignoresConditions = ignoresConditions
            self.ignoresConditionsOfParts = ignoresConditionsOfParts
        }

        var requests: [S3Message] { lock.withLock { state.requests } }
        var keys: [String] { lock.withLock { state.objects.keys.sorted() } }
        var uploads: Int { lock.withLock { state.uploads.count } }
        var pauses: [Double] { lock.withLock { state.pauses } }

        func inject(_ fault: Fault, atRequest index: Int) { lock.withLock { state.faults[index] = fault } }
        func inject(always fault: Fault?) { lock.withLock { state.always = fault } }
        func set(_ key: String, _ bytes: [UInt8]) { lock.withLock { state.objects[key] = bytes } }

        /// A store in the bucket.
        func store(
            prefix: String = "", for access: S3ObjectStore.Access = .writing, attempts: Int = 4,
            partBytes: UInt64 = 1 << 24
        ) throws(ObjectStoreError) -> S3ObjectStore {
            var options = S3Options(bucket: SimulatedS3.bucket, prefix: prefix, endpoint: "http://s3.test:80")
            options.credentials = S3Credentials(keyID: "AKID", secretKey: "secret")
            let environment = S3Environment(variables: [:]) { _ in nil }
            return try S3ObjectStore(options, for: access, environment, partBytes: partBytes) { place in
                S3Client(
                    place: place, transport: self, bucket: SimulatedS3.bucket, attempts: attempts,
                    now: { 1_700_000_000 },
                    pause: { seconds in self.lock.withLock { self.state.pauses.append(seconds) } })
            }
        }

        // MARK: Requests

        func send(_ message: S3Message) throws(S3TransportFailure) -> S3Response {
            let outcome: Result<S3Response, S3TransportFailure> = lock.withLock {
                let fault = state.faults[state.requests.count] ?? state.always
                state.requests.append(message)
                switch fault {
                case .busy: return .success(SimulatedS3.error(503, "SlowDown"))
                case .answerLost:
                    _ = answer(message)
                    return .failure(S3TransportFailure(reason: "the connection was lost"))
                case .doubled:
                    _ = answer(message)
                    return .success(answer(message))
                case .answer(let status, let code, let extra, let headers):
                    var response = SimulatedS3.error(status, code, extra)
                    response.headers.merge(headers) { $1 }
                    return .success(response)
                case nil: return .success(answer(message))
                }
            }
            return try outcome.get()
        }

        private static func error(_ status: Int, _ code: String, _ extra: String = "") -> S3Response {
            let text = "<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>a &amp; b</Message>\(extra)</Error>"
            return S3Response(status: status, headers: [:], body: code.isEmpty ? [] : Array(text.utf8))
        }

        private func answer(_ message: S3Message) -> S3Response {
            guard let url = URLComponents(string: message.url), url.host == "s3.test",
                url.path.hasPrefix("/\(SimulatedS3.bucket)")
            else { return SimulatedS3.error(404, "NoSuchBucket") }
            var query: [String: String] = [:]
            for item in url.queryItems ?? [] { query[item.name] = item.value ?? "" }
            var headers: [String: String] = [:]
            for header in message.headers { headers[header.name] = header.value }
            let key = String(url.path.dropFirst(SimulatedS3.bucket.utf8.count + 2))
            switch message.method {
            case .get where query["list-type"] == "2": return list(query)
            case .get: return get(key, headers["range"])
            case .put:
                if let part = query["partNumber"].flatMap({ Int($0) }), let id = query["uploadId"] {
                    return putPart(id, part, message.body)
                }
                if let refused = refusal(key, headers, ignoresConditions) { return refused }
                return put(key, message.body)
            case .post:
                if query["uploads"] != nil { return begin() }
                if let refused = refusal(key, headers, ignoresConditions || ignoresConditionsOfParts) { return refused }
                return end(key, query["uploadId"] ?? "")
            case .delete:
                if let id = query["uploadId"] { state.uploads[id] = nil } else { state.objects[key] = nil }
                return S3Response(status: 204)
            }
        }

        private static func tag(_ bytes: [UInt8]) -> String {
            "\"\(bytes.count)-\(bytes.reduce(UInt64(7)) { $0 &* 31 &+ UInt64($1) })\""
        }

        private func refusal(_ key: String, _ headers: [String: String], _ isIgnored: Bool) -> S3Response? {
            if isIgnored { return nil }
            let old = state.objects[key]
            if headers["if-none-match"] == "*" && old != nil { return SimulatedS3.error(412, "PreconditionFailed") }
            guard let tag = headers["if-match"] else { return nil }
            guard let old else { return SimulatedS3.error(404, "NoSuchKey") }
            return SimulatedS3.tag(old) == tag ? nil : SimulatedS3.error(412, "PreconditionFailed")
        }

        private func put(_ key: String, _ bytes: [UInt8]) -> S3Response {
            state.objects[key] = bytes
            return S3Response(status: 200, headers: ["etag": SimulatedS3.tag(bytes)])
        }

        private func get(_ key: String, _ range: String?) -> S3Response {
            guard let bytes = state.objects[key] else { return SimulatedS3.error(404, "NoSuchKey") }
            guard let range else {
                return S3Response(status: 200, headers: ["etag": SimulatedS3.tag(bytes)], body: bytes)
            }
            let bounds = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
            guard bounds.count == 2, bounds[0] < bytes.count else {
                var refused = SimulatedS3.error(416, "InvalidRange")
                refused.headers["content-range"] = "bytes */\(bytes.count)"
                return refused
            }
            let piece = bytes[bounds[0]...min(bounds[1], bytes.count - 1)]
            return S3Response(
                status: 206,
                headers: ["content-range": "bytes \(bounds[0])-\(piece.endIndex - 1)/\(bytes.count)"],
                body: Array(piece))
        }

        private func list(_ query: [String: String]) -> S3Response {
            let prefix = query["prefix"] ?? ""
            let after = query["continuation-token"] ?? query["start-after"] ?? ""
            let found = state.objects.keys.filter { $0.hasPrefix(prefix) && $0 > after }.sorted()
            // Pages are smaller than the request permits, as those of S3 may be.
            let page = found.prefix(min(query["max-keys"].flatMap { Int($0) } ?? 1000, 7))
            let isTruncated = page.count < found.count
            let escaped = page.map { $0.replacingOccurrences(of: "&", with: "&amp;") }
            let keys = escaped.map { "<Contents><Key>\($0)</Key><Size>1</Size></Contents>" }
            let next = isTruncated ? "<NextContinuationToken>\(escaped.last ?? "")</NextContinuationToken>" : ""
            let text =
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3\"><Prefix/>"
                + "\(keys.joined())<IsTruncated>\(isTruncated)</IsTruncated>\(next)</ListBucketResult>"
            return S3Response(status: 200, headers: [:], body: Array(text.utf8))
        }

        // MARK: Uploads in parts

        private func begin() -> S3Response {
            let id = "upload-\(state.requests.count)"
            state.uploads[id] = [:]
            let text = "<InitiateMultipartUploadResult><UploadId>\(id)</UploadId></InitiateMultipartUploadResult>"
            return S3Response(status: 200, headers: [:], body: Array(text.utf8))
        }

        private func putPart(_ id: String, _ number: Int, _ bytes: [UInt8]) -> S3Response {
            guard state.uploads[id] != nil else { return SimulatedS3.error(404, "NoSuchUpload") }
            state.uploads[id]?[number] = bytes
            return S3Response(status: 200, headers: ["etag": SimulatedS3.tag(bytes)])
        }

        private func end(_ key: String, _ id: String) -> S3Response {
            guard let parts = state.uploads.removeValue(forKey: id) else {
                return SimulatedS3.error(404, "NoSuchUpload")
            }
            let bytes = parts.sorted { $0.key < $1.key }.flatMap(\.value)
            _ = put(key, bytes)
            let text =
                "<CompleteMultipartUploadResult><ETag>\(SimulatedS3.tag(bytes))</ETag></CompleteMultipartUploadResult>"
            return S3Response(status: 200, headers: [:], body: Array(text.utf8))
        }
    }
#endif
