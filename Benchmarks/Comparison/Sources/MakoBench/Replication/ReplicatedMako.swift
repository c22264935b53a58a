import MakoReplication
import MakoStorage

/// A store of Mako, whose `Replicator` ships it from within.
final class ReplicatedMako: ReplicatedDatabase {
    static let name = "Mako"

    private let store: Store
    private let tree: Tree
    private let maker = ValueMaker()
    private var replicator: Replicator?

    convenience init(_ directory: String, _ place: ReplicationPlace, prefix: String?, records: Int, interval: Int)
        throws
    {
        try self.init(
            directory, to: prefix == nil ? nil : place.objects, prefix: prefix ?? "", records: records,
            interval: interval)
    }

    init(_ directory: String, to objects: (any ObjectStore)?, prefix: String, records: Int, interval: Int) throws {
        var options = StoreOptions()
        options.durability = .full
        options.logArchiveBytes = 256 << 20
        store = try Store(at: directory + "/data.mako", options: options)
        let maker = maker
        tree = try store.write { transaction in
            let tree = try transaction.createTree(named: "data", keys: .integer)
            for key in IntegerKeys.ordered(records) {
                maker.make(key)
                try transaction.put(maker.value, for: key, in: tree)
            }
            return tree
        }
        try store.checkpoint()
        guard let objects else { return }
        let replicator = try Replicator(store, to: objects, prefix: prefix)
        try replicator.ship()
        try replicator.start(interval: .milliseconds(interval))
        self.replicator = replicator
    }

    func update(_ key: UInt64, _ version: UInt64) throws {
        maker.make(versioned(key, version))
        let (tree, value) = (tree, maker.value)
        try store.write { try $0.put(value, for: key, in: tree) }
    }

    func ship() throws { try replicator?.ship() }

    func close() throws {
        replicator?.stop()
        replicator = nil
        try store.close()
    }

    static func restore(_ directory: String, _ place: ReplicationPlace, prefix: String) throws {
        try Replica(place.objects, prefix: prefix).restore(to: directory + "/restored.mako")
    }

    static func checksum(_ directory: String) throws -> UInt64 {
        let store = try Store(at: directory + "/restored.mako", options: StoreOptions())
        var sum: UInt64 = 0
        try store.read { snapshot in
            guard let tree = snapshot.tree(named: "data") else { throw BenchmarkError("there is no tree") }
            try snapshot.forEach(in: tree) { key, value in
                sum &+= key &+ touch(value)
                return true
            }
        }
        try store.close()
        return sum
    }

    static func follow(
        _ directory: String, _ place: ReplicationPlace, prefix: String, interval: Int
    ) throws -> any ReplicatedCopy {
        try MakoFollower(directory, place, prefix: prefix, interval: interval)
    }
}

/// A follower, and a reader of its file as any other process would be.
private final class MakoFollower: ReplicatedCopy {
    private let follower: Follower
    private let reader: Store
    private let maker = ValueMaker()

    init(_ directory: String, _ place: ReplicationPlace, prefix: String, interval: Int) throws {
        let path = directory + "/copy.mako"
        follower = try Follower(place.objects, prefix: prefix, at: path)
        try follower.start(interval: .milliseconds(interval))
        var options = StoreOptions()
        options.readOnly = true
        reader = try Store(at: path, options: options)
    }

    func has(_ key: UInt64, _ version: UInt64) throws -> Bool {
        try reader.refresh()
        maker.make(versioned(key, version))
        let wanted = touch(maker.value)
        return try reader.read { snapshot in
            guard let tree = snapshot.tree(named: "data") else { return false }
            return try snapshot.withValue(of: key, in: tree) { touch($0) } == wanted
        }
    }

    func close() throws {
        follower.stop()
        try reader.close()
        follower.close()
    }
}
