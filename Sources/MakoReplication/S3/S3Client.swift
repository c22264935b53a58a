#if Replication
    import Foundation

    /// Signs and sends requests, repeats them when the service is busy, and names the causes of failures.
    struct S3Client: Sendable {
        let place: S3Place
        let transport: any S3Transport
        let bucket: String
        let attempts: Int
        /// Seconds since 1970.
        var now: @Sendable () -> UInt64 = { UInt64(max(0, Date().timeIntervalSince1970)) }
        var pause: @Sendable (_ seconds: Double) -> Void = { Thread.sleep(forTimeInterval: $0) }

        /// The delay before the first repetition; it doubles up to the longest one, and a random share of it is waited.
        private static let firstDelay = 0.1
        private static let longestDelay = 5.0
        /// What the caller decides about.
        private static let expected: Set<Int> = [404, 412, 416]

        /// Sends a request until there is an answer that repeating does not change.
        ///
        /// - Parameter path: behind the host, encoded.
        /// - Returns: a success, or one of the statuses 404 (except for a missing bucket), 412 and 416.
        func send(
            _ method: S3Request.Method, _ path: String, query: [(name: String, value: String)] = [],
            headers: [(name: String, value: String)] = [], body: [UInt8] = []
        ) throws(ObjectStoreError) -> S3Response {
            var request = S3Request(method: method, host: place.host, path: path, query: query, headers: headers)
            request.body = body
            if method == .put || method == .post {
                request.headers.append(("content-type", "application/octet-stream"))
            }
            var reason = ""
            for attempt in 1...max(1, attempts) {
                if attempt > 1 {
                    let delay = min(S3Client.longestDelay, S3Client.firstDelay * Double(1 << min(attempt - 2, 10)))
                    pause(delay * Double.random(in: 0.5...1))
                }
                let response: S3Response
                do throws(S3TransportFailure) { response = try transport.send(signed(request)) } catch {
                    guard error.isTransient else {
                        throw .setup(.unreachable, reason: "\(place.host): \(error.reason)")
                    }
                    reason = error.reason
                    continue
                }
                let answer = S3Answer(response)
                if answer.isTransient {
                    reason = answer.text
                    continue
                }
                if answer.isSuccess || (S3Client.expected.contains(response.status) && answer.code != "NoSuchBucket") {
                    return response
                }
                throw failure(answer, request)
            }
            throw .unavailable(reason: "\(place.host): \(reason), \(attempts) times")
        }

        private func signed(_ request: S3Request) -> S3Message {
            let signer = S3Signer(credentials: place.credentials, region: place.region)
            let query = request.encodedQuery
            return S3Message(
                method: request.method,
                url: "\(place.scheme)://\(request.host)\(request.path)" + (query.isEmpty ? "" : "?\(query)"),
                headers: signer.headers(for: request, at: now()), body: request.body)
        }

        // MARK: Failures

        private func failure(_ answer: S3Answer, _ request: S3Request) -> ObjectStoreError {
            switch answer.code {
            case "NoSuchBucket":
                return .setup(.noBucket, reason: "there is no bucket '\(bucket)' at \(place.host)")
            case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "TokenRefreshRequired":
                return .setup(
                    .invalidCredentials, reason: "the key \(place.credentials.keyID) was refused: \(answer.text)")
            case "RequestTimeTooSkewed", "RequestExpired":
                return .setup(.clockSkew, reason: skew(answer.response) ?? answer.text)
            case "NotImplemented" where request.headers.contains { $0.name.hasPrefix("if-") }:
                return .setup(.ignoresConditions, reason: "\(place.host) does not implement them: \(answer.text)")
            default: break
            }
            if let region = answer.otherRegion(than: place.region) {
                let reason = "bucket '\(bucket)' is not in \(place.region)"
                return .setup(.wrongRegion(region.isEmpty ? nil : region), reason: reason)
            }
            if answer.response.status == 401 || answer.response.status == 403 {
                let permission = S3Client.permission(request)
                return .setup(
                    .accessDenied,
                    reason: "\(place.credentials.keyID) may not \(permission) in bucket '\(bucket)': \(answer.text)")
            }
            return .refused(reason: "\(request.method.rawValue) \(request.path): \(answer.text)")
        }

        private func skew(_ response: S3Response) -> String? {
            guard let server = response.headers["date"].flatMap({ S3Date.seconds(httpDate: $0) }) else { return nil }
            let own = now()
            let difference = own > server ? "\(own - server) seconds ahead of" : "\(server - own) seconds behind"
            return "the clock of this machine is \(difference) that of \(place.host)"
        }

        /// The action of a policy that a request needs.
        private static func permission(_ request: S3Request) -> String {
            switch request.method {
            case .get: request.query.contains { $0.name == "list-type" } ? "s3:ListBucket" : "s3:GetObject"
            case .put, .post: "s3:PutObject"
            case .delete: "s3:DeleteObject"
            }
        }
    }

    /// A response and the error that its body describes.
    struct S3Answer {
        let response: S3Response
        /// Empty where the body says none.
        let code: String
        private let message: String
        private let document: S3Document.Element?

        init(_ response: S3Response) {
            self.response = response
            // An upload in parts answers 200 before it has succeeded, and may name an error behind that.
            let isDocument = response.body.count < 1 << 16 && response.body.first == UInt8(ascii: "<")
            let root = isDocument ? S3Document.parse(response.body) : nil
            document = root?.name == "Error" ? root : nil
            code = document?.child("Code")?.text ?? ""
            message = document?.child("Message")?.text ?? ""
        }

        var isSuccess: Bool { (200..<300).contains(response.status) && document == nil }

        private static let transientStatuses: Set<Int> = [408, 429, 500, 502, 503, 504]
        private static let transientCodes: Set<String> = [
            "SlowDown", "InternalError", "ServiceUnavailable", "RequestTimeout", "Throttling", "ThrottlingException",
            "RequestLimitExceeded", "OperationAborted", "ConditionalRequestConflict",
        ]

        var isTransient: Bool {
            S3Answer.transientStatuses.contains(response.status) || S3Answer.transientCodes.contains(code)
        }

        var text: String {
            let detail = [code, message].filter { !$0.isEmpty }.joined(separator: ": ")
            return detail.isEmpty ? "HTTP status \(response.status)" : "\(detail) (HTTP status \(response.status))"
        }

        /// The region that the service names, empty where it names none; nil when the region is not the cause.
        func otherRegion(than region: String) -> String? {
            let named = document?.child("Region")?.text ?? response.headers["x-amz-bucket-region"] ?? ""
            let isRedirection = [301, 307, 308].contains(response.status)
            let isMalformed = code == "AuthorizationHeaderMalformed" || code == "IllegalLocationConstraintException"
            guard isRedirection || (isMalformed && named != region) else { return nil }
            return named
        }
    }
#endif
