import Foundation
import Mako
import MakoTestSupport
import Testing

/// Chains of objects that are longer than a stack of 512 KB is deep: `MAKO_TEST_CHAIN=1000000` makes them longer.
@Suite struct LongChainTests {
    private static let length = ProcessInfo.processInfo.environment["MAKO_TEST_CHAIN"].flatMap(Int.init) ?? 20_000

    /// A chain that the head holds, each object by one reference.
    private static func chain(_ length: Int, _ link: (Knot, Knot) -> Void) -> Knot {
        var head = Knot(mark: length)
        for mark in (1..<length).reversed() {
            let knot = Knot(mark: mark)
            link(knot, head)
            head = knot
        }
        return head
    }

    @Test(arguments: [SaveForm.save, .insert, .array, .transaction, .structure])
    func newChainIsSaved(form: SaveForm) async throws {
        let db = try makeDatabase(graphClasses)
        let found = try await onSmallStack {
            try form.save(Self.chain(Self.length) { $0.next = $1 }, in: db)
            return try db.query(Knot.self).count()
        }
        #expect(found == Self.length)
        #expect(try await db.query(Knot.self).where("next.mark = mark + 1").count() == Self.length - 1)
    }

    @Test func chainIsLoadedChangedAndSaved() async throws {
        let db = try makeDatabase(graphClasses)
        let steps = try await onSmallStack {
            try db.save(Self.chain(Self.length) { $0.next = $1 })
            let head = try #require(try db.query(Knot.self).where(\.mark == 1).first())
            var (last, steps) = (head, 1)
            while let next = last.next { (last, steps) = (next, steps + 1) }
            last.n = 7
            try db.save(head)
            return steps
        }
        #expect(steps == Self.length)
        #expect(try await db.query(Knot.self).where(\.n == 7).first()?.mark == Self.length)
    }

    @Test func chainIsCopiedToAnotherDatabase() async throws {
        let (old, new) = (try makeDatabase(graphClasses), try makeDatabase(graphClasses))
        try await onSmallStack {
            try old.save(Self.chain(Self.length) { $0.list = [$1] })
            let head = try #require(try old.query(Knot.self).where(\.mark == 1).first())
            try new.insert(copyOf: head)
        }
        #expect(try await new.query(Knot.self).count() == Self.length)
        #expect(try await new.verify().isClean)
    }

    @Test func chainOfMixedReferencesIsSavedAndReleased() async throws {
        let db = try makeDatabase(graphClasses)
        try await onSmallStack {
            var head = Link(n: 0)
            for n in 1..<Self.length {
                switch n % 3 {
                case 0: head = Link(n: n, thing: head)
                case 1: head = Link(n: n, links: [head])
                // It holds an object without a row.
                default: head = Link(n: n, loose: head)
                }
            }
            // Never saved: the objects end unsaved.
            withExtendedLifetime(head) {}
            var bead = Bead(mark: 0)
            for mark in 1..<Self.length {
                let next = mark % 2 == 0 ? Bead() : Pearl()
                next.mark = mark
                next.shining = bead
                bead = next
            }
            try db.save(bead)
        }
        #expect(try await db.query(Bead.self).count() == Self.length / 2)
        #expect(try await db.query(Pearl.self).count() == Self.length / 2)
    }

    @Test func chainThatFailsAtItsEndLeavesNothing() async throws {
        let db = try makeDatabase(graphClasses)
        let left = try await onSmallStack {
            let head = Self.chain(Self.length) { $0.next = $1 }
            try db.save(Clasp(code: "taken"))
            var last = head
            while let next = last.next { last = next }
            let stranger = try makeDatabase(graphClasses)
            let foreign = Clasp(code: "foreign")
            try stranger.save(foreign)
            last.clasp = foreign
            #expect(throws: MakoError.foreignObject(entity: "Clasp")) { try db.save(head) }
            let left = try db.query(Knot.self).count()
            last.clasp = nil
            try db.save(head)
            return left
        }
        #expect(left == 0)
        #expect(try await db.query(Knot.self).count() == Self.length)
    }

    @Test func everyObjectOfAChainEndsWithItsHead() async throws {
        let isLeft = try await onSmallStack {
            var head: Knot? = Self.chain(Self.length) { $0.next = $1 }
            var last = head
            while let next = last?.next { last = next }
            weak let end = last
            last = nil
            guard end != nil else { return true }
            head = nil
            return end != nil
        }
        #expect(!isLeft)
    }

    /// A part that something else holds stays.
    @Test func heldRestOfAChainStays() async throws {
        let count = try await onSmallStack {
            var head: Knot? = Self.chain(Self.length) { $0.list = [$1] }
            var middle = head
            for _ in 0..<Self.length / 2 { middle = middle?.list.first }
            head = nil
            var count = 0
            while let next = middle?.list.first { (middle, count) = (next, count + 1) }
            return count
        }
        #expect(count == Self.length / 2 - 1)
    }

    @Test func objectsOfAClassWithItsOwnDeinitEndWithTheirHead() async throws {
        let counter = EndCounter()
        try await onSmallStack {
            var head = Ending(counter: counter)
            for number in 1..<Self.length {
                let next = Ending(counter: counter)
                switch number % 3 {
                case 0: next.next = head
                case 1: next.list = [head]
                default: next.other = head
                }
                head = next
            }
        }
        #expect(counter.count == Self.length)
        let db = try makeDatabase([Ending.self])
        try await onSmallStack {
            var head = Ending(counter: counter)
            for _ in 1..<Self.length {
                let next = Ending(counter: counter)
                next.next = head
                head = next
            }
            try db.save(head)
            let read = try #require(try db.find(Ending.self, head.id ?? 0))
            read.next = read.next?.next
            try db.save(read)
            #expect(try db.find(Ending.self, head.id ?? 0)?.next?.isSame(as: head.next?.next ?? head) == true)
        }
        #expect(counter.count == 2 * Self.length)
        #expect(try await db.query(Ending.self).count() == Self.length)
    }

    @Test func cascadeRemovesAChain() async throws {
        let db = try makeDatabase([Rung.self])
        try await onSmallStack {
            var last = Rung(number: 1)
            for number in 2...Self.length { last = Rung(number: number, before: last) }
            try db.save(last)
            let first = try #require(try db.query(Rung.self).where(\.number == 1).first())
            try db.delete(first)
        }
        #expect(try await db.query(Rung.self).count() == 0)
    }
}

final class EndCounter: @unchecked Sendable {
    var count = 0
}

@Entity final class Ending {
    @Transient var counter: EndCounter?
    var next: Ending?
    var list: [Ending] = []
    var other: (any ObjectEntity)?

    convenience init(counter: EndCounter) {
        self.init()
        self.counter = counter
    }

    deinit { counter?.count += 1 }
}
