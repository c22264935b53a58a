import Foundation
import Mako
import MakoObjectReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// Objects whose commits wait for the object store.
@Suite struct ConfirmedObjectTests {
    private let machines = Machines()

    /// A database whose commits wait, for long while the object store answers.
    private func confirming() throws -> (db: Database, replicator: Replicator) {
        let db = try machines.writer()
        let replicator = try Replicator(db, to: machines.objects)
        try replicator.confirmCommits(timeout: .seconds(60))
        return (db, replicator)
    }

    /// Lets the object store be silent. Commits wait for a moment only.
    private func silence(_ db: Database) {
        machines.objects.isDown = true
        db.store.awaitConfirmation(timeout: .milliseconds(5))
    }

    /// Expects that a commit is in the file, and not confirmed.
    private func unconfirmed(_ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
        do {
            try body()
            Issue.record("it was confirmed", sourceLocation: location)
        } catch MakoError.storage(.unconfirmed) {} catch { Issue.record(error, sourceLocation: location) }
    }

    @Test func aSaveThatReturnsIsInTheObjectStore() throws {
        let (db, replicator) = try confirming()
        defer { replicator.stop() }
        for number in 1...5 { try db.set("a", number) }
        #expect(replicator.unconfirmedCommits == nil)
        let replica = try machines.replica()
        #expect(try replica.notes() == "a 5")
    }

    @Test func anUnconfirmedSaveKeepsItsObjectsAndIsSeenLater() throws {
        let (db, replicator) = try confirming()
        defer { replicator.stop() }
        let kept = Note(text: "a", stars: 1)
        try db.save(kept)
        silence(db)
        kept.stars = 2
        let new = Note(text: "b", stars: 1)
        unconfirmed { try db.save(kept) }
        unconfirmed { try db.save(new) }
        // The objects are stored, in a file that readers see later.
        #expect(kept.stars == 2 && !kept.isDirty && !new.isDirty)
        #expect(try db.notes() == "a 1")
        // The next transaction goes on from there.
        new.stars = 7
        unconfirmed { try db.save(new) }
        machines.objects.isDown = false
        try replicator.ship()
        #expect(try db.notes() == "a 2, b 7")
        let replica = try machines.replica()
        #expect(try replica.notes() == "a 2, b 7")
    }

    @Test func handlersAndLiveQueriesWaitForTheConfirmation() async throws {
        let (db, replicator) = try confirming()
        defer { replicator.stop() }
        try db.set("a", 1)
        let seen = Guarded<[String]>([])
        let note: @Sendable (String) -> Void = { line in seen.withLock { $0.append(line) } }
        let tokens = [
            try Note.onChange(in: db) { note("\($0.kind) \($0.object?.stars ?? 0)") },
            db.onTransaction(end: { outcome in
                if case .committed = outcome { note("committed") } else { note("rolled back") }
            }),
        ]
        var live = db.query(Note.self).orderBy(\.text).observe().makeAsyncIterator()
        #expect(try await live.next()?.results.described == "a 1")
        silence(db)
        unconfirmed { try db.set("b", 2) }
        unconfirmed { try db.set("c", 3) }
        // A live query that begins meanwhile shows what readers see.
        var later = db.query(Note.self).orderBy(\.text).observe().makeAsyncIterator()
        #expect(try await later.next()?.results.described == "a 1")
        #expect(seen.withLock { $0 } == [])
        machines.objects.isDown = false
        try replicator.ship()
        #expect(eventually { seen.withLock { $0.count } == 4 })
        #expect(seen.withLock { $0 } == ["insert 2", "committed", "insert 3", "committed"])
        // In one difference or in two.
        var (first, second): (String?, String?)
        while first != "a 1, b 2, c 3" { first = try await live.next()?.results.described }
        while second != "a 1, b 2, c 3" { second = try await later.next()?.results.described }
        for token in tokens { token.cancel() }
    }

    /// A commit that does not wait itself is seen behind those that do.
    @Test func aCommitThatDoesNotWaitIsDeliveredInItsOrder() async throws {
        let (db, replicator) = try confirming()
        defer { replicator.stop() }
        let seen = Guarded<[String]>([])
        let token = try Note.onChange(in: db) { change in
            seen.withLock { $0.append("\(change.kind) \(change.object?.text ?? "")") }
        }
        silence(db)
        unconfirmed { try db.set("a", 1) }
        try await db.transaction(durability: .async) { _ in try db.set("b", 2) }
        var live = db.query(Note.self).orderBy(\.text).observe().makeAsyncIterator()
        #expect(try await live.next()?.results.described == "")
        #expect(seen.withLock { $0 } == [])
        machines.objects.isDown = false
        try replicator.ship()
        #expect(eventually { seen.withLock { $0.count } == 2 })
        #expect(seen.withLock { $0 } == ["insert a", "insert b"])
        var last: String?
        while last != "a 1, b 2" { last = try await live.next()?.results.described }
        token.cancel()
    }

    @Test func aTransactionBehindAnUnconfirmedOneIsRolledBackWhenItIsNotInTheFile() throws {
        let (db, replicator) = try confirming()
        defer { replicator.stop() }
        silence(db)
        let first = Note(text: "a", stars: 1)
        unconfirmed { try db.save(first) }
        // It is too large for the log, and needs all before it.
        let notes = (0..<3000).map { Note(text: "\($0) " + String(repeating: "x", count: 600), stars: $0) }
        let error = #expect(throws: MakoError.self) { try db.save(notes) }
        if case .storage(.unconfirmedLimit) = error {} else { Issue.record("\(error as Any)") }
        #expect(!first.isDirty && notes.allSatisfy(\.isDirty))
        machines.objects.isDown = false
        try replicator.ship()
        db.store.awaitConfirmation(timeout: .seconds(60))
        #expect(try db.notes() == "a 1")
        try db.save(notes)
        #expect(try db.query(Note.self).count() == 3001)
    }

    @Test func aTableOfAnUnconfirmedTransactionIsThereLater() throws {
        let (db, replicator) = try confirming()
        defer { replicator.stop() }
        silence(db)
        let label = Label(name: "new")
        unconfirmed { try db.save(label) }
        // No reader waits for its table, and writers have it.
        unconfirmed { _ = try db.query(Label.self).count() }
        unconfirmed { try db.save(Label(name: "next")) }
        machines.objects.isDown = false
        try replicator.ship()
        #expect(eventually { (try? db.query(Label.self).count()) == 2 })
        #expect(db.migrations.contains { $0.entity == "Label" })
    }

    @Test func aFencedDatabaseDeliversNothingOfItsTail() throws {
        let (db, replicator) = try confirming()
        defer { replicator.stop() }
        try db.set("a", 1)
        let seen = Guarded<[String]>([])
        let tokens = [
            try Note.onChange(in: db) { change in seen.withLock { $0.append("\(change.kind)") } },
            db.onTransaction(end: { outcome in
                if case .rolledBack(let error) = outcome { seen.withLock { $0.append("\(error)") } }
            }),
        ]
        silence(db)
        unconfirmed { try db.set("b", 2) }
        machines.objects.isDown = false
        let replica = try machines.replica()
        let next = try replica.promote(entities: [Note.self], options: machines.options(machines.other))
        #expect(throws: ReplicationError.self) { try replicator.ship() }
        #expect(eventually { seen.withLock { $0.count } == 1 })
        #expect(seen.withLock { $0.first?.contains("confirmed") } == true)
        #expect(try db.notes() == "a 1")
        #expect(try next.notes() == "a 1")
        #expect(throws: MakoError.self) { try db.set("c", 1) }
        for token in tokens { token.cancel() }
    }

    /// The commit is in the log, and the next opening shows it.
    @Test func aClosedDatabaseHasItsTailWhenItOpensAgain() throws {
        let (db, replicator) = try confirming()
        silence(db)
        unconfirmed { try db.set("a", 1) }
        replicator.stop()
        try db.close()
        machines.objects.isDown = false
        let next = try machines.writer()
        #expect(try next.notes() == "a 1")
        let second = try Replicator(next, to: machines.objects)
        try second.confirmCommits()
        #expect(second.unconfirmedCommits == nil)
        second.stop()
    }
}
