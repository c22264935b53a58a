import Mako
import MakoObjectReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

// The same table as three generations of a program see it.
enum FirstEdition {
    @Entity("Book") final class Book {
        var title = ""
        var pages = 0
    }
}
enum SecondEdition {
    @Entity("Book") final class Book {
        var title = ""
        var pages = 0
        var shelf = "hall"
    }
}
enum ThirdEdition {
    @Entity("Book") final class Book {
        var title = ""
        var pages = ""
        var shelf = "hall"
    }
}

/// Migrations by the writer, and by a promotion, of a table that replicas have open.
@Suite struct MigratedReplicaTests {
    private let machines = Machines()

    private func writer(_ entity: any Entity.Type) throws -> Database {
        try Database(at: "notes.mako", entities: [entity], options: machines.options(machines.disk))
    }

    private func replica(_ entity: any Entity.Type) throws -> Database {
        var options = ReplicaOptions()
        options.database = machines.options(machines.other)
        options.interval = nil
        return try Database(replicaOf: machines.objects, at: "replica.mako", entities: [entity], options: options)
    }

    private func first(_ db: Database) throws -> [String] {
        try db.query(FirstEdition.Book.self).orderBy(\.title).fetch().map { "\($0.title.prefix(6)) \($0.pages)" }
    }

    private func second(_ db: Database) throws -> [String] {
        try db.query(SecondEdition.Book.self).orderBy(\.title).fetch()
            .map { "\($0.title.prefix(6)) \($0.pages) \($0.shelf)" }
    }

    private func third(_ db: Database) throws -> [String] {
        try db.query(ThirdEdition.Book.self).orderBy(\.title).fetch()
            .map { "\($0.title.prefix(6)) p\($0.pages) \($0.shelf)" }
    }

    /// Restores a commit and opens it with the type that it was written with.
    private func restored<R>(
        _ commit: UInt64, _ entity: any Entity.Type, _ read: (Database) throws -> R
    ) throws -> R {
        let options = machines.options(SimulatedDisk())
        try Replica(machines.objects).restore(
            to: "restored.mako", at: commit, beginsBranch: false, options: options.storage)
        let db = try Database(at: "restored.mako", entities: [entity], options: options)
        #expect(db.migrations.isEmpty)
        #expect(try db.verify().isClean)
        defer { try? db.close() }
        return try read(db)
    }

    /// Expects the error of a type that does not fit the table.
    private func misfit(_ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
        #expect(sourceLocation: location) {
            try body()
        } throws: { error in
            guard case MakoError.migration(entity: "Book", let reason) = error else { return false }
            return reason.contains("pages is of type text, not integer, in the file")
        }
    }

    /// As many books as make the rewrite of their table too large for the log.
    private static let books = 3000

    @Test func theWriterMigratesWhatReplicasRead() throws {
        var db = try writer(FirstEdition.Book.self)
        var replicator = try Replicator(db, to: machines.objects)
        let padding = String(repeating: "x", count: 600)
        let saved = (0..<MigratedReplicaTests.books).map { number in
            FirstEdition.Book(title: "\(10_000 + number) \(padding)", pages: number)
        }
        try db.save(saved)
        let former = try replicator.ship().commit
        let replica = try replica(FirstEdition.Book.self)
        let books = try first(replica)
        #expect(books.count == MigratedReplicaTests.books)
        try db.close()
        // A column more: those who do not know it read on.
        db = try writer(SecondEdition.Book.self)
        #expect(!db.migrations.isEmpty)
        replicator = try Replicator(db, to: machines.objects)
        #expect(replicator.branch == 1)
        let shelved = try replicator.ship().commit
        #expect(shelved > former)
        misfitOfShelves(replica)
        try replica.follow()
        #expect(try first(replica) == books)
        #expect(try second(replica) == books.map { "\($0) hall" })
        try db.close()
        // Another type: the table is rewritten, which no frame has.
        db = try writer(ThirdEdition.Book.self)
        replicator = try Replicator(db, to: machines.objects)
        let typed = try replicator.ship().commit
        #expect(try first(replica) == books)
        #expect(try replica.follow().restart == .backup)
        misfit { _ = try first(replica) }
        misfit { _ = try second(replica) }
        let last = try third(replica)
        #expect(last == (0..<MigratedReplicaTests.books).map { "\(10_000 + $0)  p\($0) hall" })
        #expect(try third(db) == last)
        try replica.close()
        // A replica that opens now: its follower goes on all the same, and lets go of the file.
        misfit { _ = try self.replica(FirstEdition.Book.self) }
        let next = try self.replica(ThirdEdition.Book.self)
        #expect(next.follower?.firstRestart == nil)
        #expect(try third(next) == last)
        try db.save(ThirdEdition.Book(title: "20000", pages: "new"))
        try replicator.ship()
        try next.follow()
        #expect(try third(next) == last + ["20000 pnew hall"])
        // What was there is restored as it was, for the program of that time.
        #expect(try restored(former, FirstEdition.Book.self, first) == books)
        #expect(try restored(shelved, SecondEdition.Book.self, second) == books.map { "\($0) hall" })
        #expect(try restored(typed, ThirdEdition.Book.self, third) == last)
        // The promotion finds the table as its type wants it.
        let promoted = try next.promote(entities: [ThirdEdition.Book.self], options: machines.options(machines.other))
        #expect(promoted.migrations.isEmpty)
        #expect(try third(promoted) == last + ["20000 pnew hall"])
        try promoted.close()
        try db.close()
    }

    private func misfitOfShelves(_ replica: Database) {
        #expect {
            _ = try second(replica)
        } throws: { error in
            guard case MakoError.migration(entity: "Book", let reason) = error else { return false }
            return reason.contains("there is no Book.shelf in the file")
        }
    }

    @Test func aPromotionMigratesAndShipsTheTable() throws {
        let db = try writer(FirstEdition.Book.self)
        let replicator = try Replicator(db, to: machines.objects)
        try db.save([FirstEdition.Book(title: "a", pages: 1), FirstEdition.Book(title: "b", pages: 2)])
        let former = try replicator.ship().commit
        let replica = try replica(FirstEdition.Book.self)
        let promoted = try replica.promote(
            entities: [ThirdEdition.Book.self], options: machines.options(machines.other))
        #expect(!promoted.migrations.isEmpty)
        #expect(try third(promoted) == ["a p1 hall", "b p2 hall"])
        let next = try Replicator(promoted, to: machines.objects)
        #expect(next.branch == 1)
        let newest = try next.ship().commit
        #expect(try restored(former, FirstEdition.Book.self, first) == ["a 1", "b 2"])
        #expect(try restored(newest, ThirdEdition.Book.self, third) == ["a p1 hall", "b p2 hall"])
        #expect(throws: ReplicationError.self) {
            try db.save(FirstEdition.Book(title: "c"))
            try replicator.ship()
        }
        try promoted.close()
        try db.close()
    }
}
