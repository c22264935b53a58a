import Foundation
import Mako
import MakoObjectReplication
import TestHelpers
import Testing

/// The examples of the article `BeyondOneMachine.md`.
enum BeyondOneMachineExample {
    @Entity final class Reading {
        var value = 0
    }

    static func written(
        _ path: String, _ objects: any ObjectStore
    ) throws -> (Database, Replicator) {
        // EXAMPLE BeyondOneMachine.md
        var options = DatabaseOptions()
        options.storage.logArchiveBytes = 256 << 20
        let db = try Database(at: path, entities: [Reading.self], options: options)
        let replicator = try Replicator(db, to: objects)
        try replicator.start(interval: .seconds(1))
        // EXAMPLE ends
        return (db, replicator)
    }

    static func confirmed(
        _ db: Database, _ replicator: Replicator, _ reading: Reading, _ warn: (String) -> Void
    ) throws {
        // EXAMPLE BeyondOneMachine.md
        try replicator.confirmCommits(timeout: .seconds(10))
        do {
            try db.save(reading)
        } catch .storage(.unconfirmed) {
            warn("stored here, not there yet")  // and not again: it is stored
        }
        // EXAMPLE ends
    }

    static func followed(
        _ objects: any ObjectStore, _ copy: String, _ show: ([Int]) -> Void
    ) async throws -> Database {
        // EXAMPLE BeyondOneMachine.md
        let replica = try Database(replicaOf: objects, at: copy, entities: [Reading.self])
        for try await difference in replica.query(Reading.self).orderBy(\.value).observe() {
            show(difference.results.map(\.value))
            if difference.results.isEmpty { break }
        }
        // EXAMPLE ends
        return replica
    }

    static func stepped(_ objects: any ObjectStore, _ copy: String, _ log: (String) -> Void) throws {
        // EXAMPLE BeyondOneMachine.md
        var manual = ReplicaOptions()
        manual.interval = nil
        let report = try Database(replicaOf: objects, at: copy, options: manual)
        let step = try report.follow()
        log("\(step.commits) commits, shipped until \(step.shipped)")
        // EXAMPLE ends
        try report.close()
    }

    static func promoted(
        _ replica: Database, _ objects: any ObjectStore, _ options: DatabaseOptions
    ) throws -> (Database, Replicator) {
        // EXAMPLE BeyondOneMachine.md
        let writer = try replica.promote(entities: [Reading.self], options: options)
        let next = try Replicator(writer, to: objects)
        // EXAMPLE ends
        return (writer, next)
    }
}

@Suite struct BeyondOneMachineExampleTests {
    @Test func theExamplesOfTheArticle() async throws {
        try await withTemporaryFile { path in
            let objects = try FolderObjectStore(at: path + "-objects")
            let (db, replicator) = try BeyondOneMachineExample.written(path, objects)
            let warnings = Collected<String>()
            let reading = BeyondOneMachineExample.Reading(value: 7)
            try BeyondOneMachineExample.confirmed(db, replicator, reading) { warnings.append($0) }
            #expect(warnings.all.isEmpty)
            let copy = path + "-replica"
            let lines = Collected<String>()
            try BeyondOneMachineExample.stepped(objects, copy) { lines.append($0) }
            #expect(lines.all.first?.hasPrefix("0 commits, shipped until ") == true)
            // The article ends its loop with the last reading.
            let shown = Collected<[Int]>()
            let replica = try await BeyondOneMachineExample.followed(objects, copy) { values in
                shown.append(values)
                if !values.isEmpty { _ = try? db.delete(reading) }
            }
            #expect(shown.all == [[7], []])
            try await db.save(BeyondOneMachineExample.Reading(value: 8))
            let (writer, next) = try BeyondOneMachineExample.promoted(replica, objects, db.options)
            let readings = try await writer.query(BeyondOneMachineExample.Reading.self).fetch()
            #expect(readings.map(\.value) == [8])
            replicator.stop()
            replicator.stopConfirming()
            try await db.save(BeyondOneMachineExample.Reading(value: 9))
            #expect(throws: ReplicationError.self) { try replicator.ship() }
            try next.ship()
            try await writer.close()
        }
    }
}
