import Foundation
import MakoCore
import MakoStorage

/// A child forked from a process with an open database: its calls are refused, also through objects, cursors, results
/// and a transaction from before, and closing or releasing them leaves the parent's files unchanged.
struct DatabaseForkTrial {
    let folder: String

    private var path: String { folder + "/fleet.mako" }

    func run() throws {
        let db = try Database(at: path, entities: [Ship.self])
        try db.save(Ship(name: "a", next: Ship(name: "b")))
        try db.save((0..<600).map { Ship(name: "ship \($0)") })
        try db.store("settings").set(7, for: "speed")
        let ship = try found(db.query(Ship.self).where("name = 'a'").first())
        let cursor = try db.query(Ship.self).cursor()
        let batches = try db.query(Ship.self).batch(10)
        guard try cursor.next() != nil, try batches.object(at: 0).id != nil else { throw failure("nothing is there") }
        let calls = Counter()
        let watching = try Ship.onChange(.insert, in: db) { _ in calls.add() }
        try ForkTrial.child("calls") { try refusedCalls(db) }
        try ForkTrial.child("reads what was begun") {
            for _ in 0..<300 where try ForkTrial.isRefused(path, { _ = try cursor.next() }) { return }
            throw failure("a cursor of the parent's goes on in the child")
        }
        try ForkTrial.child("follows references") {
            try ForkTrial.refused(path) { _ = try batches.object(at: 500) }
            guard ship.next == nil, let error = ship.loadError, "\(error)".contains("before the fork") else {
                throw failure("a reference was followed in the child")
            }
        }
        try ForkTrial.child("closes") {
            watching.cancel()
            try db.close()
            try ForkTrial.refused(path) { try db.save(Ship(name: "closed")) }
        }
        try transaction(db)
        try grandchild()
        // The parent goes on, and its handlers are called for what it does itself.
        guard ship.next?.name == "b", try batches.object(at: 500).id != nil else {
            throw failure("the parent reads anew")
        }
        try db.save(Ship(name: "last"))
        guard calls.count == 2 else { throw failure("the handler was called \(calls.count) times") }
        watching.cancel()
        try checkEnd(db)
        print("forked, and nothing of the parent's touched")
    }

    private func refusedCalls(_ db: Database) throws {
        let refused: [() throws -> Void] = [
            { try db.save(Ship(name: "child")) },
            { try db.save([Ship(name: "child")]) },
            { _ = try db.query(Ship.self).fetch() },
            { _ = try db.query(Ship.self).count() },
            { _ = try db.query(Ship.self).first() },
            { _ = try db.query(Ship.self).cursor() },
            { _ = try db.query(Ship.self).delete() },
            { _ = try db.find(Ship.self, 1) },
            { _ = try db.rawQuery("SELECT * FROM Ship") },
            { _ = try db.rawQuery("UPDATE Ship SET name = 'child'") },
            { try db.transaction { _ in } },
            { try db.read { _ = try db.query(Ship.self).count() } },
            { _ = try Ship.onChange(in: db) { _ in } },
            { _ = try db.store("settings").value(Int.self, for: "speed") },
            { try db.store("settings").set(8, for: "speed") },
            { _ = try db.backup(to: folder + "/copy.mako") },
            { _ = try db.verify() },
        ]
        for (number, call) in refused.enumerated() where try !ForkTrial.isRefused(path, call) {
            throw failure("call \(number) of the child was not refused")
        }
        // The file is locked by the parent still.
        do {
            _ = try Database(at: path, entities: [Ship.self])
            throw failure("the child opened what its parent has open")
        } catch MakoError.alreadyOpen {}
    }

    /// The child forks off in the middle of a transaction: what it does there is not the parent's to find, and is refused.
    private func transaction(_ db: Database) throws {
        try db.transaction { _ in
            try db.save(Ship(name: "in a transaction"))
            try ForkTrial.child("goes on with a transaction") {
                try ForkTrial.refused(path) { try db.save(Ship(name: "child")) }
                try ForkTrial.refused(path) { _ = try db.query(Ship.self).count() }
                try ForkTrial.refused(path) { _ = try db.transaction { _ in try db.save(Ship(name: "child")) } }
            }
        }
        guard try db.query(Ship.self).where("name = 'child'").count() == 0,
            try db.query(Ship.self).where("name = 'in a transaction'").count() == 1
        else { throw failure("the parent's transaction is not its own") }
    }

    /// Databases that only the child has references to end there.
    private func grandchild() throws {
        let other = folder + "/other.mako"
        var db: Database? = try Database(at: other, entities: [Ship.self])
        var sandbox: Database? = try Database(at: other + "-trial", mode: .sandbox, entities: [Ship.self])
        try db?.save(Ship(name: "before"))
        try sandbox?.save(Ship(name: "before"))
        let before = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        try ForkTrial.child("lets go") {
            (db, sandbox) = (nil, nil)
        }
        guard try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == before else {
            throw failure("a database that ended in the child removed files of its parent's")
        }
        for each in [db, sandbox] {
            try each?.save(Ship(name: "after"))
            guard try each?.query(Ship.self).count() == 2, try each?.verify().isClean == true else {
                throw failure("a commit is lost")
            }
            try each?.close()
        }
    }

    private func checkEnd(_ db: Database) throws {
        try db.close()
        let again = try Database(at: path, entities: [Ship.self])
        let count = try again.query(Ship.self).count()
        guard count == 604, try again.verify().isClean else { throw failure("\(count) ships are there, not 604") }
        try again.close()
    }

    private func found<T>(_ value: T?) throws -> T {
        guard let value else { throw failure("what was stored is not there") }
        return value
    }

    private func failure(_ text: String) -> Referee.Failure { Referee.Failure(description: text) }
}

/// How often a handler was called, on whichever thread.
private final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private var calls = 0

    func add() { lock.withLock { calls += 1 } }
    var count: Int { lock.withLock { calls } }
}
