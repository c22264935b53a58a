import ArgumentParser
import Foundation
import MakoReplication
import MakoStorage

/// Where a database is shipped to: a folder, or a prefix of a bucket.
struct ReplicaLocation {
    enum Access { case reading, writing }

    let url: String
    let endpoint: String?
    let region: String?

    /// Whether an argument can only be a location: a URL, or a folder.
    static func isLocation(_ text: String) -> Bool {
        if text.hasPrefix("s3://") || text.hasPrefix("file://") { return true }
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: text, isDirectory: &isFolder) && isFolder.boolValue
    }

    /// Opens the object store.
    func open(for access: Access) throws -> any ObjectStore {
        if url.hasPrefix("s3://") { return try bucket(for: access) }
        guard endpoint == nil, region == nil else {
            throw Failure("--endpoint and --region belong to s3:// URLs, and '\(url)' is none", .usage)
        }
        let path = try folder()
        guard access == .writing || FileManager.default.fileExists(atPath: path) else {
            throw Failure("there is no folder \(path)", .noInput)
        }
        return try FolderObjectStore(at: path)
    }

    private func folder() throws -> String {
        guard url.hasPrefix("file://") else {
            guard !url.contains("://") else {
                throw Failure("'\(url)' is neither s3://bucket/prefix nor file:///folder nor a folder", .usage)
            }
            return url
        }
        guard let parsed = URL(string: url), parsed.isFileURL, parsed.host ?? "" == "" else {
            throw Failure("'\(url)' is not the URL of a folder: file:///folder", .usage)
        }
        return parsed.path
    }

    private func bucket(for access: Access) throws -> any ObjectStore {
        #if Replication
            var options = try S3Options(url: url)
            options.endpoint = endpoint
            options.region = region
            return try S3ObjectStore(options, for: access == .writing ? .writing : .reading)
        #else
            throw Failure(
                "this program was built without S3; build it with 'swift build -c release --traits Replication --product mako-cli'",
                .usage)
        #endif
    }
}

/// The options of commands that use an object store.
struct ReplicaOptions: ParsableArguments {
    @Option(help: "The URL of a service that speaks the protocol of S3, for s3:// URLs.")
    var endpoint: String?

    @Option(help: "The region of the bucket.")
    var region: String?

    func location(_ url: String) -> ReplicaLocation { ReplicaLocation(url: url, endpoint: endpoint, region: region) }
}

/// An object store whose requests and bytes are counted.
final class MeteredObjectStore: ObjectStore {
    struct Count: Sendable {
        var requests = 0
        var bytes = 0

        var text: String { "\(DisplayText.bytes(bytes)), \(DisplayText.grouped(requests)) requests" }
    }

    private let base: any ObjectStore
    private let total = Guarded(Count())
    /// Called after each request.
    private let show: @Sendable (Count) -> Void

    init(_ base: any ObjectStore, show: @escaping @Sendable (Count) -> Void = { _ in }) {
        self.base = base
        self.show = show
    }

    var count: Count { total.withLock { $0 } }

    private func note(_ bytes: Int) {
        show(
            total.withLock { count in
                count.requests += 1
                count.bytes += bytes
                return count
            })
    }

    func put(
        _ name: String, _ content: ObjectContent, _ condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectTag {
        let tag = try base.put(name, content, condition)
        note(Int(content.bytes))
        return tag
    }

    func get(_ name: String, _ range: Range<UInt64>?) throws(ObjectStoreError) -> ObjectBytes {
        let found = try base.get(name, range)
        note(found.bytes.count)
        return found
    }

    func list(_ prefix: String, after name: String?, limit: Int) throws(ObjectStoreError) -> [String] {
        let names = try base.list(prefix, after: name, limit: limit)
        note(0)
        return names
    }

    func delete(_ name: String) throws(ObjectStoreError) {
        try base.delete(name)
        note(0)
    }

    /// An object store that shows its progress.
    static func showing(_ title: String, _ base: any ObjectStore, isForced: Bool) -> (MeteredObjectStore, () -> Void) {
        let reporter = Guarded(ProgressReporter(title, total: nil, isForced: isForced))
        let store = MeteredObjectStore(base) { count in
            reporter.withLock { $0.update(count.requests, note: count.text) }
        }
        return (store, { reporter.withLock { $0.finish() } })
    }
}
