#if Replication
    import Dispatch
    import Foundation
    import MakoStorage
    import Testing

    @testable import MakoReplication

    /// A service at `MAKO_S3_SERVERS`, which `scripts/services` sets.
    struct S3Server: Sendable, CustomTestStringConvertible {
        let name: String
        let url: String

        static let all: [S3Server] = (ProcessInfo.processInfo.environment["MAKO_S3_SERVERS"] ?? "")
            .split(separator: ",").compactMap {
                let parts = $0.split(separator: "=", maxSplits: 1)
                return parts.count == 2 ? S3Server(name: String(parts[0]), url: String(parts[1])) : nil
            }

        var testDescription: String { name }
        static let bucket = "mako-tests"

        func options(_ prefix: String) -> S3Options {
            var options = S3Options(bucket: S3Server.bucket, prefix: prefix, endpoint: url)
            options.credentials = S3Credentials(keyID: "makokey", secretKey: "makosecret")
            return options
        }

        /// A store under a new prefix.
        func store(partBytes: UInt64 = 16 << 20, pageNames: Int = 1000) throws -> S3ObjectStore {
            let options = options("tests/\(UInt64.random(in: .min ... .max))")
            let environment = S3Environment(variables: [:]) { _ in nil }
            let client = S3Client(
                place: try S3Place(options, environment), transport: S3URLTransport(timeout: 30),
                bucket: options.bucket,
                attempts: 3)
            do throws(ObjectStoreError) {
                _ = try client.send(.put, client.place.bucketPath)
            } catch { guard "\(error)".contains("BucketAlready") else { throw error } }
            return try S3ObjectStore(
                options, for: .writing, environment, partBytes: partBytes, pageNames: pageNames)
        }
    }

    /// Writers of one object at the same time.
    @Suite(.enabled(if: !S3Server.all.isEmpty, "needs a server: make test-services"))
    struct S3ServerConcurrencyTests {
        @Test(arguments: S3Server.all) func oneOfManyWritersCreatesAnObject(_ server: S3Server) throws {
            let objects = try server.store()
            for round in 0..<10 {
                let created = Guarded(0)
                DispatchQueue.concurrentPerform(iterations: 4) { writer in
                    let content = ObjectContent([UInt8](repeating: UInt8(writer), count: 500))
                    if (try? objects.put("race/\(round)", content, .ifAbsent)) != nil { created.withLock { $0 += 1 } }
                }
                // The server of moto checks and writes in two steps.
                let count = created.withLock { $0 }
                if server.name == "moto" { #expect(count >= 1) } else { #expect(count == 1) }
            }
        }
    }
#endif
