import Foundation
import MakoReplication

/// The bucket that databases are shipped to, and the program litestream: `make bench-replication` starts the server and names both.
final class ReplicationPlace {
    private static let variables = ProcessInfo.processInfo.environment
    static var isThere: Bool { variables["MAKO_S3_SERVERS"] != nil && variables["BUCKET"] != nil }

    let endpoint: String
    let bucket: String
    let litestream: String
    /// The keys of `scripts/services`.
    let key = (id: "makokey", secret: "makosecret")
    let objects: S3ObjectStore
    private var prefixes = 0

    init() throws {
        guard let server = ReplicationPlace.variables["MAKO_S3_SERVERS"]?.split(separator: "=").last,
            let bucket = ReplicationPlace.variables["BUCKET"], let litestream = ReplicationPlace.variables["LITESTREAM"]
        else { throw BenchmarkError("a server, BUCKET and LITESTREAM are needed: make bench-replication") }
        endpoint = String(server)
        self.bucket = bucket
        self.litestream = litestream
        var options = S3Options(bucket: bucket, region: "us-east-1", endpoint: endpoint)
        options.credentials = S3Credentials(keyID: key.id, secretKey: key.secret)
        objects = try S3ObjectStore(options)
    }

    /// A prefix of the bucket that nothing has used.
    func newPrefix(_ name: String) -> String {
        prefixes += 1
        return "\(name.lowercased())-\(ProcessInfo.processInfo.processIdentifier)-\(prefixes)"
    }

    /// The bytes of all objects with a prefix.
    func bytes(_ prefix: String) throws -> UInt64 {
        var (sum, last): (UInt64, String?) = (0, nil)
        while true {
            let names = try objects.list(prefix + "/", after: last, limit: 1000)
            for name in names { sum += try objects.get(name, 0..<1).total }
            guard let name = names.last else { return sum }
            last = name
        }
    }

    func removeAll(_ prefix: String) throws {
        while true {
            let names = try objects.list(prefix + "/", after: nil, limit: 1000)
            guard !names.isEmpty else { return }
            for name in names { try objects.delete(name) }
        }
    }
}
