import Mako
import TestHelpers
import Testing

/// A table as two types of one program have it.
private enum Grams {
    @Entity("Parcel") final class Parcel {
        var weight = 0
    }
}
private enum Kilograms {
    @Entity("Parcel") final class Parcel {
        var weight = 0
    }
}

extension Kilograms.Parcel: Migratable {
    fileprivate static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.transform("weight") { (old: Int) in old / 1000 }
            m.version = 1
        }
    }
}

/// The notifications of a table that the first use of another type rewrites.
@Suite struct MigrationWatchingTests {
    private func makeParcels() throws -> Database {
        let db = try makeDatabase([Grams.Parcel.self])
        try db.save([1000, 2000].map { Grams.Parcel(weight: $0) })
        return db
    }

    @Test func liveQueriesRunAgain() async throws {
        let db = try makeParcels()
        var live = db.query(Grams.Parcel.self).where(\.weight > 1).orderBy(\.weight).observe().makeAsyncIterator()
        let first = try #require(try await live.next())
        #expect(first.results.map(\.weight) == [1000, 2000])
        _ = try await db.query(Kilograms.Parcel.self).count()
        // A change of one row, which alone would leave the results of the others.
        try await db.save(Grams.Parcel(weight: 9))
        let second = try #require(try await live.next())
        #expect(second.results.map(\.weight) == [2, 9])
        #expect(second.deletions == [0])
        #expect(second.updates == [0])
    }

    @Test func handlersAndSequencesGetOneMissedEvent() async throws {
        let db = try makeParcels()
        let notes = Collected<String>()
        let tokens = [
            try Grams.Parcel.onChange(.delete, in: db) { notes.append("\($0.kind)") },
            db.onUpdate { notes.append("update \($0.entity)") },
        ]
        defer { for token in tokens { token.cancel() } }
        var changes = try Grams.Parcel.changes(.insert, in: db).makeAsyncIterator()
        _ = try await db.query(Kilograms.Parcel.self).count()
        _ = try await db.query(Kilograms.Parcel.self).count()
        #expect(notes.all == ["missed"])
        #expect(await changes.next()?.kind == .missed)
        try await db.save(Grams.Parcel(weight: 9))
        #expect(await changes.next()?.kind == .insert)
    }

    @Test func membersOfDomainsAreReadAgain() throws {
        let db = try makeParcels()
        let screen = ObjectDomain(db)
        let list = try db.query(Grams.Parcel.self).orderBy(\.weight).domain(screen).fetch()
        _ = try db.query(Kilograms.Parcel.self).count()
        #expect(list.map(\.weight) == [1, 2])
    }

    /// Observers know from the deletions that the objects are gone; reading the table anew would create it again.
    @Test func droppedTablesGiveTheirDeletionsOnly() throws {
        let db = try makeParcels()
        let notes = Collected<String>()
        let token = try Grams.Parcel.onChange(in: db) { notes.append("\($0.kind)") }
        defer { token.cancel() }
        try db.drop(Grams.Parcel.self)
        #expect(notes.all == ["delete", "delete"])
    }

    @Test func aMigrationThatIsRolledBackGivesNothing() throws {
        let db = try makeParcels()
        let notes = Collected<String>()
        let token = try Grams.Parcel.onChange(in: db) { notes.append("\($0.kind)") }
        defer { token.cancel() }
        try db.transaction { _ in
            struct Stop: Error {}
            do {
                try db.transaction { _ in
                    _ = try db.query(Kilograms.Parcel.self).count()
                    throw Stop()
                }
            } catch is Stop {}
            try db.save(Grams.Parcel(weight: 9))
        }
        #expect(notes.all == ["insert"])
    }
}
