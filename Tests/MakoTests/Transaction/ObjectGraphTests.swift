import Foundation
import Mako
import MakoTestSupport
import TestHelpers
import Testing

/// Which objects a save stores beside the one that it is given.
@Suite struct ObjectGraphTests {
    /// Three knots in a row that were loaded, the middle one unchanged.
    private func loadedRow(_ db: Database) throws -> (Knot, Knot, Knot) {
        let c = Knot(mark: 3)
        let b = Knot(mark: 2, next: c)
        try db.save(Knot(mark: 1, next: b))
        let a = try #require(try db.query(Knot.self).where(\.mark == 1).first())
        let next = try #require(a.next)
        return (a, next, try #require(next.next))
    }

    @Test(arguments: SaveForm.allCases) func changesBehindAnUnchangedObjectAreSaved(form: SaveForm) async throws {
        let db = try makeDatabase(graphClasses)
        let (a, _, c) = try loadedRow(db)
        c.n = 77
        try await onSmallStack { try form.save(a, in: db) }
        #expect(try await db.query(Knot.self).where(\.mark == 3).first()?.n == 77)
        #expect(!c.isDirty)
    }

    @Test(arguments: SaveForm.allCases) func newObjectsBehindAnUnchangedObjectAreSaved(form: SaveForm) async throws {
        let db = try makeDatabase(graphClasses)
        let (a, _, c) = try loadedRow(db)
        c.list = [Knot(mark: 4), Knot(mark: 5, next: Knot(mark: 6))]
        try await onSmallStack { try form.save(a, in: db) }
        let read = try #require(try await db.query(Knot.self).where(\.mark == 3).first())
        #expect(read.list.map(\.mark) == [4, 5] && read.list.last?.next?.mark == 6)
    }

    @Test(arguments: SaveForm.allCases) func newRootSavesChangesBehindUnchangedObjects(form: SaveForm) async throws {
        let db = try makeDatabase(graphClasses)
        let (a, b, c) = try loadedRow(db)
        c.n = 5
        let root = Knot(mark: 9, list: [a, b])
        try await onSmallStack { try form.save(root, in: db) }
        #expect(try await db.query(Knot.self).where(\.mark == 3).first()?.n == 5)
        #expect(try await db.query(Knot.self).where(\.mark == 9).first()?.list.map(\.mark) == [1, 2])
    }

    /// The transaction goes on without the call that failed.
    @Test func nothingOfASaveStaysThatFailsBehindAnUnchangedObject() throws {
        let db = try makeDatabase(graphClasses)
        let middle = Rivet(mark: 1, next: Rivet(mark: 2))
        try db.save([middle, Rivet(mark: 3)])
        let root = Rivet(mark: 4, next: middle)
        middle.next?.mark = 3
        let changes = Collected<ObjectChange<Rivet>>()
        let token = try Rivet.onChange(in: db) { changes.append($0) }
        try db.transaction { _ in
            #expect(throws: MakoError.self) { try db.save(root) }
        }
        #expect(try db.query(Rivet.self).orderBy(\.mark).fetch().map(\.mark) == [1, 2, 3])
        #expect(changes.all.isEmpty && root.isDirty && middle.next?.isDirty == true)
        token.cancel()
    }

    @Test func aChangedObjectBehindAnUnchangedOneRefersToTheNewOne() throws {
        let db = try makeDatabase(graphClasses)
        let (a, _, c) = try loadedRow(db)
        let root = Knot(mark: 9, next: a)
        c.next = root
        try db.save(root)
        #expect(try db.query(Knot.self).where(\.mark == 3).first()?.next?.mark == 9)
    }

    @Test func everyKindOfReferenceIsFollowed() throws {
        let db = try makeDatabase(graphClasses)
        let pearl = Pearl()
        (pearl.mark, pearl.twin) = (1, Pearl())
        let bead = Bead(mark: 2)
        (bead.named, bead.shining) = (["x": Bead(mark: 3)], pearl)
        let clasp = Clasp(code: "c", anything: bead)
        let knot = Knot(mark: 4, clasp: clasp, list: [Knot(mark: 5, bead: Bead(mark: 6), tag: KnotTag(n: 1))])
        try db.save(knot)
        let read = try #require(try db.query(Knot.self).where(\.mark == 4).first())
        let other = try #require(read.clasp?.anything as? Bead)
        other.shining?.n = 1
        (other.shining as? Pearl)?.twin?.lustre = 2
        other.named["x"]?.n = 3
        let listed = try #require(read.list.first)
        listed.bead?.n = 4
        listed.tag?.n = 5
        try db.save(read)
        let all = try #require(try db.query(Knot.self).where(\.mark == 4).first())
        let stored = try #require(all.clasp?.anything as? Bead)
        #expect(stored.shining?.n == 1 && (stored.shining as? Pearl)?.twin?.lustre == 2)
        #expect(stored.named["x"]?.n == 3 && all.list.first?.bead?.n == 4 && all.list.first?.tag?.n == 5)
    }

    @Test func nothingIsLoadedToLookBehindIt() throws {
        let db = try makeDatabase(graphClasses)
        _ = try loadedRow(db)
        let a = try #require(try db.query(Knot.self).where(\.mark == 1).first())
        a.n = 1
        let before = db.metrics.lazyLoads
        try db.save(a)
        #expect(db.metrics.lazyLoads == before)
    }

    /// Objects that are left alone end the search, and so do those that only a weak reference leads to.
    @Test func nothingBehindObjectsThatAreLeftAloneIsSaved() throws {
        let db = try makeDatabase(graphClasses)
        let (a, b, c) = try loadedRow(db)
        c.n = 1
        b.commitOptions.ignoredEntities = [c]
        try db.save(a)
        #expect(try db.query(Knot.self).where(\.mark == 3).first()?.n == 0)
        b.commitOptions.ignoredEntities = []
        try db.save(a)
        #expect(try db.query(Knot.self).where(\.mark == 3).first()?.n == 1)
        let last = Link(n: 1)
        let middle = Link(n: 2, loose: last)
        try db.save([last, middle])
        let first = Link(n: 3, links: [middle])
        try db.save(first)
        last.n = 9
        try db.save(first)
        #expect(try db.query(Link.self).where(\.n == 9).count() == 0)
        withExtendedLifetime(last) {}
    }

    @Test func failureBehindAnUnchangedObjectTakesEverythingBack() throws {
        let db = try makeDatabase(graphClasses + [UniqueEnd.self, UniqueStart.self])
        try db.save(UniqueEnd(code: 1))
        let start = UniqueStart(n: 1, middle: Link(n: 1, thing: UniqueEnd(code: 2)))
        try db.save(start)
        start.n = 2
        let end = try #require(start.middle?.thing as? UniqueEnd)
        end.code = 1
        #expect(throws: MakoError.self) { try db.save(start) }
        #expect(try db.query(UniqueStart.self).first()?.n == 1)
        end.code = 3
        try db.save(start)
        #expect(try db.query(UniqueStart.self).first()?.n == 2)
        #expect(try db.query(UniqueEnd.self).where(\.code == 3).count() == 1)
    }

    /// The references of an unchanged graph are visited once in a call, however many objects lead to it.
    @Test func sharedGraphIsVisitedOnceInACall() throws {
        let db = try makeDatabase(graphClasses)
        let members = (0..<300).map { Knot(mark: $0) }
        let hub = Knot(mark: 1000, list: members)
        for member in members { member.next = hub }
        try db.save(hub)
        members[299].n = 4
        try db.save(members)
        #expect(try db.query(Knot.self).where(\.n == 4).count() == 1)
        hub.list = []
    }
}

@Entity final class UniqueStart {
    var n = 0
    var middle: Link?
}

@Entity final class UniqueEnd {
    @Attribute(.unique) var code = 0
}
