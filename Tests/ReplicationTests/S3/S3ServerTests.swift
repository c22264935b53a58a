#if Replication
    import Foundation
    import MakoReplication
    import MakoStorage
    import Testing

    /// Replication to servers that speak the protocol of S3.
    @Suite(.enabled(if: !S3Server.all.isEmpty, "needs a server: make test-services"), .serialized)
    struct S3ServerTests {
        @Test(arguments: S3Server.all) func objectsBehaveAsThoseOfAFolder(_ server: S3Server) throws {
            try ObjectStoreContract.check(try server.store(pageNames: 7))
        }

        @Test(arguments: S3Server.all) func largeObjectsAreUploadedInParts(_ server: S3Server) throws {
            let objects = try server.store(partBytes: 5 << 20)
            let bytes = (0..<5_300_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8 ^ $0 >> 16) }
            _ = try objects.put("large", ObjectContent(bytes), .ifAbsent)
            #expect(try objects.get("large", nil).bytes == bytes)
            #expect(try objects.get("large", 5_242_870..<5_242_890).bytes == Array(bytes[5_242_870..<5_242_890]))
            #expect(throws: ObjectStoreError.exists(name: "large")) {
                try objects.put("large", ObjectContent(bytes), .ifAbsent)
            }
        }

        @Test(arguments: S3Server.all) func everyShippedCommitIsRestoredAsItWas(_ server: S3Server) throws {
            try RestoreTests.check(try Ledger(seed: 1, place: try server.store()), 1, commits: 20)
        }

        @Test(arguments: S3Server.all, FenceTests.orders.filter { $0 % 10 == 1 })
        func oneOfTwoWritersIsFenced(_ server: S3Server, _ order: Int) throws {
            try FenceTests.check(order, try Ledger(seed: 31, place: try server.store()))
        }

        @Test(arguments: S3Server.all) func missingBucketsAndWrongKeysAreNamed(_ server: S3Server) throws {
            _ = try server.store()
            var options = server.options("a")
            options.bucket = "mako-nothing"
            #expect {
                _ = try S3ObjectStore(options)
            } throws: { error in
                if case ObjectStoreError.setup(.noBucket, _) = error { true } else { false }
            }
            // moto accepts any key.
            guard server.name != "moto" else { return }
            for (keyID, secret) in [("makokey", "wrong"), ("wrong", "makosecret")] {
                var options = server.options("a")
                options.credentials = S3Credentials(keyID: keyID, secretKey: secret)
                #expect {
                    _ = try S3ObjectStore(options)
                } throws: { error in
                    if case ObjectStoreError.setup(.invalidCredentials, _) = error { true } else { false }
                }
            }
        }
    }

    /// Requests that reach no server.
    @Suite struct S3TransportTests {
        @Test func aServerThatDoesNotAnswerIsUnavailable() throws {
            // No port of a service: connections are refused.
            var options = S3Options(bucket: "bucket", endpoint: "http://127.0.0.1:1")
            options.credentials = S3Credentials(keyID: "a", secretKey: "b")
            options.attempts = 2
            #expect {
                _ = try S3ObjectStore(options)
            } throws: { error in
                guard case ObjectStoreError.unavailable(let reason) = error else { return false }
                return reason.contains("127.0.0.1:1") && reason.contains("2 times")
            }
        }

        /// A socket of this machine that accepts connections and never answers.
        private final class SilentServer {
            let descriptor: Int32
            private(set) var port: UInt16 = 0

            init() {
                // A stream: the constant has another type on each system.
                descriptor = socket(AF_INET, numericCast(1), 0)
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_addr.s_addr = inet_addr("127.0.0.1")
                var size = socklen_t(MemoryLayout<sockaddr_in>.size)
                withUnsafeMutablePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        _ = bind(descriptor, $0, size)
                        _ = listen(descriptor, 4)
                        _ = getsockname(descriptor, $0, &size)
                    }
                }
                port = UInt16(bigEndian: address.sin_port)
            }

            deinit { close(descriptor) }
        }

        @Test func aServerThatIsSilentTimesOut() throws {
            let server = SilentServer()
            var options = S3Options(bucket: "bucket", endpoint: "http://127.0.0.1:\(server.port)")
            options.credentials = S3Credentials(keyID: "a", secretKey: "b")
            (options.attempts, options.timeout) = (2, 1)
            let start = ContinuousClock.now
            #expect {
                _ = try S3ObjectStore(options)
            } throws: { error in
                guard case ObjectStoreError.unavailable(let reason) = error else { return false }
                return reason.contains("the request timed out") && reason.contains("2 times")
            }
            #expect(.now - start < .seconds(60))
        }
    }
#endif
