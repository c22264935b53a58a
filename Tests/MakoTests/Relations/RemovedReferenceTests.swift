import Foundation
import Mako
import Observation
import TestHelpers
import Testing

/// References in memory to removed objects: a save stores nil, and afterwards the property is nil, too (decision 71).
@Suite struct RemovedReferenceTests {
    private let db: Database

    init() throws {
        db = try makeDatabase(graphClasses + [Watched.self])
    }

    /// A link that refers to one object by each kind of reference, and to another one that stays.
    private func link() throws -> (link: Link, gone: Link, stays: Link) {
        let (gone, stays) = (Link(n: 1), Link(n: 2))
        let link = Link(n: 0, loose: gone, thing: gone, links: [gone, stays, gone])
        try db.save([gone, stays, link])
        return (link, gone, stays)
    }

    @Test func allKindsOfReferencesReleaseObjectsWhenTheirOwnerIsSaved() throws {
        let (link, gone, stays) = try link()
        try db.delete(gone)
        #expect(try db.save(link))
        #expect(link.loose == nil && link.thing == nil && link.links.count == 1 && link.links.first === stays)
        #expect(!link.isDirty)
        let read = try #require(try db.query(Link.self).where(\.n == 0).first())
        #expect(read.loose == nil && read.thing == nil && read.links.map(\.n) == [2])
        let (bead, other, pearl) = (Bead(), Bead(), Pearl())
        (bead.shining, bead.named) = (pearl, ["a": other, "b": bead])
        try db.save(bead)
        try db.delete(pearl)
        try db.delete(other)
        try db.save(bead)
        #expect(bead.shining == nil && bead.named.keys.sorted() == ["b"])
        #expect(try db.verify().danglingReferences.isEmpty)
    }

    /// An object that is set after it was removed is one that is not there, too.
    @Test func aRemovedObjectThatIsSetIsNilAfterTheSave() throws {
        let (link, gone, _) = try link()
        try db.delete(gone)
        (link.thing, link.links, link.n) = (gone, [gone], 5)
        try db.save(link)
        #expect(link.thing == nil && link.links.isEmpty && !link.isDirty)
        #expect(try db.query(Link.self).where(\.n == 5).first()?.links.isEmpty == true)
        let new = Link(n: 7, loose: gone, thing: gone)
        try db.save(new)
        #expect(new.thing == nil && new.loose == nil && !new.isDirty)
        var handle = KnotHandle(mark: 1)
        let knot = Knot(mark: 3)
        try db.save(knot)
        handle.knot = ToOne(knot)
        try db.delete(knot)
        try db.save(&handle)
        #expect(handle.knot.isEmpty)
    }

    /// An object whose row was deleted by a query is not removed itself: it is stored again with the one that was set to
    /// refer to it.
    @Test func anObjectWhoseRowIsGoneIsStoredAgainWithTheOneThatRefersToIt() throws {
        let (link, gone, stays) = try link()
        try db.query(Link.self).where(\.n == 1).delete()
        let new = Link(n: 7, loose: gone, thing: gone, links: [gone, stays])
        try db.save(new)
        #expect(try db.query(Link.self).where(\.n == 7).first()?.links.map(\.n) == [1, 2])
        #expect(try db.verify().danglingReferences.isEmpty)
        // A reference that was not set since does not bring it back.
        try db.query(Link.self).where(\.n == 1).delete()
        link.n = 8
        try db.save(link)
        #expect(try db.query(Link.self).where(\.n == 1).count() == 0)
        #expect(try db.verify().danglingReferences.isEmpty)
    }

    /// References that were not set lead to the object before the one that was.
    @Test func anObjectIsStoredAgainWhateverReferredToItBefore() throws {
        let (link, gone, _) = try link()
        try db.query(Link.self).where(\.n == 1).delete()
        let new = Link(n: 7, thing: gone)
        try db.save([link, new])
        #expect(try db.query(Link.self).where(\.n == 1).count() == 1)
        #expect(try db.verify().danglingReferences.isEmpty)
    }

    /// The save of an unchanged object reaches one that was set to refer to it.
    @Test func anUnchangedObjectIsStoredAgainByTheOneItLeadsTo() throws {
        let (link, gone, _) = try link()
        try db.query(Link.self).where(\.n == 0).delete()
        gone.thing = link
        try db.save(link)
        let read = try #require(try db.query(Link.self).where(\.n == 1).first())
        #expect((read.thing as? Link)?.n == 0)
        #expect(try db.verify().danglingReferences.isEmpty)
    }

    /// A row that was deleted with its targets is stored again with them: its references count as set.
    @Test func targetsOfARowThatIsStoredAgainAreStoredAgain() throws {
        let (link, _, stays) = try link()
        try db.query(Link.self).where(\.n < 2).delete()
        link.n = 8
        #expect(try db.save(link))
        let read = try #require(try db.query(Link.self).where(\.n == 8).first())
        #expect(read.links.map(\.n) == [1, 2, 1] && (read.thing as? Link)?.n == 1)
        #expect(try db.query(Link.self).where(\.n == 2).first()?.isSame(as: stays) == true)
        #expect(try db.verify().danglingReferences.isEmpty)
    }

    /// While the first object waits, one behind it finds that its row is gone, after the object between was passed.
    @Test func whatAnObjectLedToBeforeItsRowWasFoundGoneIsStoredAgain() throws {
        let last = Link(n: 2)
        let middle = Link(n: 1, thing: last)
        let first = Link(n: 0, thing: middle)
        try db.save(first)
        try db.query(Link.self).where(\.n < 2).delete()
        last.thing = first
        try db.save(first)
        #expect(try db.query(Link.self).count() == 3)
        #expect(try db.verify().danglingReferences.isEmpty)
    }

    /// A new row under a changed key, and an insert, write all references.
    @Test func anotherKeyAndAnInsertStoreTargetsAgain() throws {
        let (link, gone, _) = try link()
        try db.query(Link.self).where(\.n < 2).delete()
        try db.insert(link)
        #expect(try db.query(Link.self).where(\.n == 1).count() == 1)
        #expect(try db.verify().danglingReferences.isEmpty)
        try db.query(Link.self).where(\.n == 1).delete()
        let knot = Knot(mark: 5)
        try db.save(knot)
        var handle = KnotHandle(mark: 1)
        handle.knot = ToOne(knot)
        try db.query(Knot.self).delete()
        try db.save(&handle)
        #expect(try db.query(Knot.self).count() == 1 && gone.n == 1)
        #expect(try db.verify().danglingReferences.isEmpty)
    }

    /// A rollback brings the row back, of which another object may change columns.
    @Test func anObjectWhoseRowReturnsIsClean() throws {
        struct Stop: Error {}
        let (_, gone, _) = try link()
        #expect(throws: Stop.self) {
            try db.transaction {
                try db.query(Link.self).where(\.n == 1).delete()
                try db.save(Link(n: 7, thing: gone))
                throw Stop()
            }
        }
        #expect(!gone.isDirty)
        try db.update(Link.self).set(\.n, to: 11).where(\.n == 1).run()
        try db.save(Link(n: 8, thing: gone))
        #expect(try db.query(Link.self).where(\.n == 11).count() == 1)
    }

    @Test func aRollbackLeavesTheReferenceAsItWas() throws {
        struct Stop: Error {}
        let (link, gone, _) = try link()
        #expect(throws: Stop.self) {
            try db.transaction { _ in
                try db.delete(gone)
                link.n = 9
                try db.save(link)
                throw Stop()
            }
        }
        #expect(link.thing === gone && link.loose === gone && link.links.count == 3)
        try db.transaction { _ in
            // The same in a savepoint, and nothing of it outside.
            #expect(throws: Stop.self) {
                try db.transaction { _ in
                    try db.delete(gone)
                    try db.save(link)
                    throw Stop()
                }
            }
            link.n = 10
            try db.save(link)
        }
        #expect(link.thing === gone && link.links.count == 3)
        let read = try #require(try db.query(Link.self).where(\.n == 10).first())
        #expect(read.links.count == 3 && read.thing?.isSame(as: gone) == true)
    }

    @Test func observersSeeWhatBecameNil() throws {
        let (owner, other) = (Watched(), Watched())
        owner.next = other
        try db.save(owner)
        try db.delete(other)
        let changes = Collected<Bool>()
        withObservationTracking {
            _ = owner.next
        } onChange: {
            changes.append(true)
        }
        try db.save(owner)
        #expect(changes.all.count == 1 && owner.next == nil)
    }

    /// The work grows with the collection, not with its square.
    @Test func manyRemovedMembersLeaveAtOnce() throws {
        let list = Link(n: -1, links: (0..<1000).map { Link(n: $0) })
        try db.save(list)
        let members = list.links
        try db.delete(Array(members.dropFirst()))
        try db.save(list)
        #expect(list.links.map(\.n) == [0])
    }
}

@Entity(observable: true) final class Watched {
    var next: Watched?
}
