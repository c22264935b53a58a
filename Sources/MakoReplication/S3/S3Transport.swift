#if Replication
    import Foundation
    import MakoStorage

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// The answer to a request.
    struct S3Response: Sendable {
        var status: Int
        /// By their names in lower case.
        var headers: [String: String] = [:]
        var body: [UInt8] = []
    }

    /// A request with all of its headers.
    struct S3Message: Sendable {
        var method: S3Request.Method
        var url: String
        var headers: [(name: String, value: String)]
        var body: [UInt8]
    }

    /// No answer came. The request may have had its effect.
    struct S3TransportFailure: Error {
        var reason: String
        /// Whether a repetition may succeed.
        var isTransient = true
    }

    /// Sends requests and waits for their answers.
    protocol S3Transport: Sendable {
        func send(_ message: S3Message) throws(S3TransportFailure) -> S3Response
    }

    /// Requests by Foundation's URL loading, without cache, cookies and redirections.
    final class S3URLTransport: S3Transport {
        private let session: URLSession
        private let delegate = Delegate()

        init(timeout: Double) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForRequest = timeout
            configuration.urlCache = nil
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.urlCredentialStorage = nil
            configuration.httpMaximumConnectionsPerHost = 16
            session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        }

        deinit { session.finishTasksAndInvalidate() }

        func send(_ message: S3Message) throws(S3TransportFailure) -> S3Response {
            guard let url = URL(string: message.url) else {
                throw S3TransportFailure(reason: "\(message.url) is no URL", isTransient: false)
            }
            var request = URLRequest(url: url)
            request.httpMethod = message.method.rawValue
            // The host is the URL's.
            for header in message.headers where header.name != "host" {
                request.setValue(header.value, forHTTPHeaderField: header.name)
            }
            if !message.body.isEmpty || message.method == .put || message.method == .post {
                request.httpBody = Data(message.body)
            }
            let task = session.dataTask(with: request)
            let exchange = Exchange()
            delegate.exchanges.withLock { $0[task.taskIdentifier] = exchange }
            task.resume()
            exchange.done.wait()
            let outcome = exchange.outcome.withLock { $0 }
            if let error = outcome.error { throw S3URLTransport.failure(error) }
            guard let head = outcome.head else { throw S3TransportFailure(reason: "the answer is not HTTP") }
            return S3Response(status: head.status, headers: head.headers, body: Array(outcome.body))
        }

        private static func failure(_ error: any Error) -> S3TransportFailure {
            guard let error = error as? URLError else { return S3TransportFailure(reason: "\(error)") }
            return switch error.code {
            case .timedOut: S3TransportFailure(reason: "the request timed out")
            case .cannotFindHost, .dnsLookupFailed: S3TransportFailure(reason: "the host is unknown")
            case .cannotConnectToHost: S3TransportFailure(reason: "no connection to the host")
            case .networkConnectionLost: S3TransportFailure(reason: "the connection was lost")
            case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
                .serverCertificateNotYetValid:
                S3TransportFailure(reason: "the certificate of the host is not trusted", isTransient: false)
            default: S3TransportFailure(reason: "\(error.localizedDescription) (code \(error.code.rawValue))")
            }
        }

        /// One request under way.
        private final class Exchange: Sendable {
            struct Outcome: Sendable {
                var head: (status: Int, headers: [String: String])?
                var body = Data()
                var error: (any Error)?
            }

            let done = DispatchSemaphore(value: 0)
            let outcome = Guarded(Outcome())
        }

        private final class Delegate: NSObject, URLSessionDataDelegate {
            let exchanges = Guarded<[Int: Exchange]>([:])

            func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
                let exchange = exchanges.withLock { $0[dataTask.taskIdentifier] }
                exchange?.outcome.withLock { $0.body.append(data) }
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                let exchange = exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
                var headers: [String: String] = [:]
                let response = task.response as? HTTPURLResponse
                for (name, value) in response?.allHeaderFields ?? [:] { headers["\(name)".lowercased()] = "\(value)" }
                let head = response.map { ($0.statusCode, headers) }
                exchange?.outcome.withLock { ($0.head, $0.error) = (head, error) }
                exchange?.done.signal()
            }

            // A redirected request would have the signature for another host.
            func urlSession(
                _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
                newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
            ) { completionHandler(nil) }
        }
    }
#endif
