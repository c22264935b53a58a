import Mako
import Testing

/// A fetch, with all that is loaded from its objects later, has one object for each row.
@Suite struct FetchIdentityTests {
    private static let count = 300

    /// Knots in a circle, each with a list of three others, beads and clasps that lead back to them.
    private func filled() throws -> Database {
        let db = try makeDatabase(graphClasses)
        let knots = (0..<Self.count).map { Knot(mark: $0) }
        let clasps = (0..<Self.count).map { Clasp(code: "\($0)") }
        for (place, knot) in knots.enumerated() {
            knot.next = knots[(place * 7 + 1) % Self.count]
            knot.list = (1...3).map { knots[(place + $0 * 50) % Self.count] }
            knot.clasp = clasps[(place * 11 + 3) % Self.count]
            clasps[place].knot = knots[(place * 13 + 5) % Self.count]
            clasps[place].anything = place % 2 == 0 ? knots[place] : clasps[(place + 9) % Self.count]
        }
        try db.save(knots)
        for knot in knots { (knot.next, knot.list, knot.clasp) = (nil, [], nil) }
        return db
    }

    /// Counts the objects whose row another object has already.
    private func seconds(_ objects: [any GraphObject]) -> Int {
        var known: [String: any GraphObject] = [:]
        var seconds = 0
        func note(_ object: any GraphObject) {
            let name = "\(type(of: object)) \(object.graphMark)"
            if let first = known[name] { seconds += first === object ? 0 : 1 } else { known[name] = object }
        }
        for object in objects { note(object) }
        for object in objects {
            for edge in type(of: object).edges { for (_, held) in edge.read(object) { note(held) } }
        }
        for object in Array(known.values) {
            for edge in type(of: object).edges { for (_, held) in edge.read(object) { note(held) } }
        }
        return seconds
    }

    @Test func lazyLoadsFindTheResultsOfTheFetch() throws {
        let db = try filled()
        #expect(seconds(try db.query(Knot.self).fetch().array) == 0)
        #expect(seconds(try db.query(Knot.self).orderBy(\.mark, .descending).fetch().array) == 0)
        #expect(seconds(try db.query(Knot.self).where(\.mark > 100).fetch().array) == 0)
        #expect(seconds(try db.query(Clasp.self).fetch().array) == 0)
        #expect(seconds(try db.find(Knot.self, Array(1...Self.count))) == 0)
        let before = db.metrics.lazyLoads
        for knot in try db.query(Knot.self).fetch() { #expect(knot.next != nil && knot.list.count == 3) }
        #expect(db.metrics.lazyLoads == before)
    }

    @Test func prefetchesFindTheResultsOfTheFetch() throws {
        let db = try filled()
        #expect(seconds(try db.query(Knot.self).prefetch(\.next).fetch().array) == 0)
        #expect(seconds(try db.query(Knot.self).prefetch(\.list).prefetch(\.clasp.knot).fetch().array) == 0)
        #expect(seconds(try db.query(Clasp.self).prefetch(\.knot.next).fetch().array) == 0)
    }

    @Test func cursorsAndBatchesFindTheirOwnResults() throws {
        let db = try filled()
        let cursor = try db.query(Knot.self).where(\.mark < 200).cursor()
        var knots: [Knot] = []
        while let knot = try cursor.next() { knots.append(knot) }
        #expect(seconds(knots) == 0)
    }

    @Test func subclassesAreFoundByReferencesThatTakeThem() throws {
        let db = try makeDatabase(graphClasses)
        let pearls = (0..<40).map { mark in
            let pearl = Pearl()
            pearl.mark = mark
            return pearl
        }
        for (place, pearl) in pearls.enumerated() {
            (pearl.shining, pearl.twin) = (pearls[(place + 3) % 40], pearls[(place + 7) % 40])
        }
        try db.save(pearls)
        for pearl in pearls { (pearl.shining, pearl.twin) = (nil, nil) }
        #expect(seconds(try db.query(Pearl.self).fetch().array) == 0)
        // The classes of one query are one fetch.
        let bead = Bead(mark: 100, shining: pearls[5])
        pearls[6].shining = bead
        try db.save([bead, pearls[6]])
        let both = try db.query(Bead.self).includingSubclasses().fetch().array
        #expect(both.count == 41 && seconds(both) == 0)
        #expect(seconds(try db.query(Bead.self).includingSubclasses().orderBy(\.mark).fetch().array) == 0)
        pearls[6].shining = nil
    }

    /// An object that nothing holds any more is read again.
    @Test func objectThatEndedIsReadAgain() throws {
        let db = try filled()
        var knots = try db.query(Knot.self).orderBy(\.mark).fetch().array
        let first = knots[0]
        knots = []
        #expect(first.next?.mark == 1 && first.list.map(\.mark) == [50, 100, 150])
    }
}
