import Foundation
import Mako
import MakoObjectReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport

@Entity final class Note {
    var text = ""
    var stars = 0
}

@Entity final class Label {
    var name = ""
}

/// A writer and a replica with a disk each, and the object store between them.
struct Machines {
    let objects = SimulatedObjectStore()
    let disk = SimulatedDisk()
    let other = SimulatedDisk()

    func options(_ disk: SimulatedDisk) -> DatabaseOptions {
        var storage = StoreOptions()
        storage.fileSystem = disk
        storage.background = .manual
        storage.logSegmentBytes = 256 << 10
        storage.logArchiveBytes = 4 << 20
        storage.diskReserveBytes = 0
        return DatabaseOptions(storage: storage)
    }

    func writer() throws -> Database {
        try Database(at: "notes.mako", entities: [Note.self], options: options(disk))
    }

    func replica(
        every interval: Duration? = nil,
        _ onStep: @escaping @Sendable (Result<Follower.Report, any Error>) -> Void = { _ in }
    ) throws -> Database {
        var replica = ReplicaOptions()
        replica.database = options(other)
        replica.interval = interval
        replica.onStep = onStep
        return try Database(replicaOf: objects, at: "replica.mako", entities: [Note.self], options: replica)
    }
}

extension Database {
    /// Saves a note by its text.
    func set(_ text: String, _ stars: Int) throws {
        let note = try query(Note.self).where(\.text == text).first() ?? Note(text: text)
        note.stars = stars
        try save(note)
    }

    /// The notes in the order of their texts.
    func notes() throws -> String { try query(Note.self).orderBy(\.text).fetch().described }
}

extension Sequence<Note> {
    var described: String { map { "\($0.text.prefix(4)) \($0.stars)" }.joined(separator: ", ") }
}

/// Waits for something that another thread does.
func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<6000 {
        if try condition() { return true }
        Thread.sleep(forTimeInterval: 0.01)
    }
    return false
}
