import Foundation
import Mako
import MakoObjectReplication
import MakoStorage
import TestHelpers
import Testing

/// The examples of `docs/replication.md`.
enum ReplicationExample {
    @Entity final class Person {
        var name = ""
    }

    static func restored(
        _ path: String, _ backups: String, _ restored: String, _ commit: UInt64, _ print: ([RestorePoints]) -> Void
    ) throws -> (Store, FolderObjectStore, Replicator) {
        // EXAMPLE replication.md
        var options = StoreOptions()
        options.logArchiveBytes = 256 << 20
        let store = try Store(at: path, options: options)
        let objects = try FolderObjectStore(at: backups)  // a folder on another disk
        let replicator = try Replicator(store, to: objects)
        try replicator.ship()  // a full backup the first time, then what is new

        let replica = try Replica(objects)
        print(try replica.restorePoints())
        try replica.restore(to: restored, at: commit)
        // EXAMPLE ends
        return (store, objects, replicator)
    }

    static func confirmed(_ store: Store, _ replicator: Replicator) throws {
        // EXAMPLE replication.md
        try replicator.confirmCommits(timeout: .seconds(10))
        try store.write { _ = try $0.createTree(named: "events", keys: .integer) }  // returns when it is there
        // EXAMPLE ends
    }

    static func retaining() -> Replicator.Options {
        // EXAMPLE replication.md
        var options = Replicator.Options()
        options.retention = Retention(age: .seconds(30 * 86_400))
        // EXAMPLE ends
        return options
    }

    static func followed(
        _ objects: any ObjectStore, _ copy: String, _ log: @escaping @Sendable (String) -> Void
    ) throws -> Follower {
        // EXAMPLE replication.md
        let follower = try Follower(objects, at: copy)
        try follower.start(interval: .seconds(1)) { result in log("\(result)") }  // or call follow() yourself
        // EXAMPLE ends
        return follower
    }

    static func opened(_ objects: any ObjectStore, _ copy: String) throws -> Database {
        // EXAMPLE replication.md
        let database = try Database(replicaOf: objects, at: copy, entities: [Person.self])
        // EXAMPLE ends
        return database
    }

    static func read(_ copy: String) throws -> Database {
        // EXAMPLE replication.md
        let database = try Database(at: copy, entities: [Person.self], options: DatabaseOptions(readOnly: true))
        try database.refresh()  // notifies live queries and observers as a commit does
        // EXAMPLE ends
        return database
    }

    static func promoted(_ follower: Follower, _ objects: any ObjectStore) throws -> (Store, Replicator) {
        // EXAMPLE replication.md
        var options = StoreOptions()
        options.logArchiveBytes = 256 << 20
        let store = try follower.promote(options: options)
        let replicator = try Replicator(store, to: objects)  // ships to the same branch
        // EXAMPLE ends
        return (store, replicator)
    }

    #if Replication
        /// Not run: it needs a bucket.
        static func shippedToS3(_ store: Store) throws -> Replicator {
            // EXAMPLE replication.md
            var options = try S3Options(url: "s3://backups/mako")
            options.region = "eu-central-1"
            let replicator = try Replicator(store, to: S3ObjectStore(options))
            // EXAMPLE ends
            return replicator
        }
    #endif
}

@Suite struct ReplicationExampleTests {
    @Test func aStoreIsShippedRestoredAndFollowed() throws {
        try withTemporaryFile { path in
            let first = try Store(at: path)
            try first.write { _ = try $0.createTree(named: "before", keys: .bytes) }
            let commit = try first.snapshot().commitNumber
            try first.close()
            let points = Collected<Int>()
            let (store, objects, replicator) = try ReplicationExample.restored(
                path, path + "-objects", path + "-restored", commit
            ) { points.append($0.count) }
            #expect(points.all == [1])
            let restored = try Store(at: path + "-restored")
            #expect(try restored.snapshot().trees.map(\.name) == ["before"])
            try restored.close()

            try ReplicationExample.confirmed(store, replicator)
            replicator.stopConfirming()
            #expect(ReplicationExample.retaining().retention?.age == .seconds(30 * 86_400))
            let follower = try ReplicationExample.followed(objects, path + "-copy") { _ in }
            follower.stop()
            try follower.follow()
            let (promoted, next) = try ReplicationExample.promoted(follower, objects)
            #expect(Set(try promoted.snapshot().trees.map(\.name)) == ["before", "events"])
            try next.ship()
            try promoted.close()
            try store.close()
        }
    }

    @Test func aReplicaHasObjectsHereAndInReaders() async throws {
        try await withTemporaryFile { path in
            var options = DatabaseOptions()
            options.storage.logArchiveBytes = 256 << 20
            let db = try Database(at: path, entities: [ReplicationExample.Person.self], options: options)
            try await db.save(ReplicationExample.Person(name: "Ada"))
            let objects = try FolderObjectStore(at: path + "-objects")
            try Replicator(db, to: objects).ship()
            let replica = try ReplicationExample.opened(objects, path + "-copy")
            #expect(try await replica.query(ReplicationExample.Person.self).fetch().map(\.name) == ["Ada"])
            try await replica.close()
            let reader = try ReplicationExample.read(path + "-copy")
            #expect(try await reader.query(ReplicationExample.Person.self).count() == 1)
            try await reader.close()
            try await db.close()
        }
    }
}
