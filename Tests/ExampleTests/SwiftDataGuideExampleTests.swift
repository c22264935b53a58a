import Foundation
import Mako
import Testing

/// The examples of the article `FromSwiftData.md`.
enum SwiftDataGuide {
    // EXAMPLE FromSwiftData.md
    @Entity(observable: true) final class Trip {
        #Index<Trip>([\.start])
        @Attribute(.unique) var name = ""
        var start = Date(timeIntervalSince1970: 0)
        @Transient var isSelected = false
        @Relationship(inverse: \Stop.trip, deleteRule: .cascade) var stops: ToMany<Stop>
    }

    @Entity final class Stop {
        var place = ""
        var trip: Trip?
    }
    // EXAMPLE ends

    static func open(_ path: String) throws -> Database {
        // EXAMPLE FromSwiftData.md
        let db = try Database(at: path, entities: [Trip.self, Stop.self])
        Database.default = db  // what @Environment(\.modelContext) was for
        // EXAMPLE ends
        return db
    }

    static func edited(_ db: Database, _ start: Date) throws -> Trip {
        // EXAMPLE FromSwiftData.md
        let trip = Trip(name: "Norway", start: start)
        try db.save([Stop(place: "Bergen", trip: trip), Stop(place: "Voss", trip: trip)])  // the trip, too
        trip.name = "Western Norway"
        try db.save(trip)
        // EXAMPLE ends
        return trip
    }

    static func undone(_ db: Database, _ trip: Trip) throws {
        // EXAMPLE FromSwiftData.md
        let work = Workspace(db)
        work.add(trip)
        trip.name = "Fjords"
        try work.commit()  // what context.save() did
        // EXAMPLE ends
    }

    static func fetched(_ db: Database, _ start: Date) throws -> ([Trip], Int, [Stop]) {
        // EXAMPLE FromSwiftData.md
        let trips = try db.query(Trip.self).where(#Predicate { $0.start >= start }).orderBy(\.name).limit(20).fetch()
        let count = try db.query(Trip.self).where(\.start >= start).count()
        let stops = try db.query(Stop.self).where(\.trip.name ~= "%norway").orderBy(\.place).fetch()
        // EXAMPLE ends
        return (trips.array, count, stops.array)
    }

    static func live(_ db: Database, _ show: ([String]) -> Void) async throws {
        // EXAMPLE FromSwiftData.md
        for try await difference in db.query(Trip.self).orderBy(\.start).observe() {
            show(difference.results.map(\.name))
            if difference.results.count < 2 { break }
        }
        // EXAMPLE ends
    }

    static func removed(_ db: Database, _ trip: Trip, _ start: Date) throws -> Int {
        // EXAMPLE FromSwiftData.md
        try db.delete(trip)  // and its stops: .cascade
        let removed = try db.query(Trip.self).where(\.start < start).delete()
        // EXAMPLE ends
        return removed
    }

    static func background(_ db: Database) async throws -> Int {
        // EXAMPLE FromSwiftData.md
        let count = try await db.transaction { _ in
            for number in 1...100 { try db.save(Trip(name: "Trip \(number)")) }
            return try db.query(Trip.self).count()
        }
        // EXAMPLE ends
        return count
    }
}

@Suite struct SwiftDataGuideExampleTests {
    @Test func theGuideFromSwiftDataRuns() async throws {
        let start = Date(timeIntervalSince1970: 1_000_000)
        let db = try Database.inMemory(entities: [SwiftDataGuide.Trip.self, SwiftDataGuide.Stop.self])
        let trip = try SwiftDataGuide.edited(db, start)
        let (trips, count, stops) = try SwiftDataGuide.fetched(db, start)
        #expect(trips.map(\.name) == ["Western Norway"] && count == 1)
        #expect(stops.map(\.place) == ["Bergen", "Voss"])
        try SwiftDataGuide.undone(db, trip)
        #expect(try await db.query(SwiftDataGuide.Trip.self).where(\.name == "Fjords").count() == 1)
        var shown: [[String]] = []
        try await SwiftDataGuide.live(db) { shown.append($0) }
        #expect(shown == [["Fjords"]])
        #expect(try SwiftDataGuide.removed(db, trip, start) == 0)
        #expect(try await db.query(SwiftDataGuide.Stop.self).count() == 0)
        #expect(try await SwiftDataGuide.background(db) == 100)
    }
}
