import Foundation
import Mako
import Observation
import TestHelpers
import Testing

enum ObservationModels {
    @Entity(observable: true) final class Gauge {
        var name = ""
        var level = 0
        var remark: String?
        var station: Station?
        @Attribute(.column("max")) var `default`: Double = 1
    }

    @Entity(observable: true) class Station {
        @Attribute(.primaryKey) var number: Int = 0
        var place = ""
        @Relationship(inverse: \Gauge.station) var gauges: ToMany<Gauge>
    }

    @Entity(observable: true) final class TidalStation: Station {
        var range = 0.0
    }

    @Entity final class Silent {
        var name = ""
    }
}

/// Objects that are followed as SwiftUI follows them.
@Suite struct ObservationTests {
    typealias Gauge = ObservationModels.Gauge
    typealias Station = ObservationModels.Station

    /// Whether a change notifies an observer that has read something.
    private func isNotified<R>(of change: () throws -> Void, whenReading read: () -> R) rethrows -> Bool {
        let notified = Collected<Bool>()
        _ = withObservationTracking(read) { notified.append(true) }
        try change()
        return !notified.all.isEmpty
    }

    private func database() throws -> Database {
        try Database.inMemory(entities: [Gauge.self, Station.self, ObservationModels.TidalStation.self])
    }

    @Test func assignmentsNotifyObserversOfThatProperty() throws {
        let gauge = Gauge(name: "North")
        #expect(isNotified(of: { gauge.name = "South" }, whenReading: { gauge.name }))
        #expect(!isNotified(of: { gauge.level = 3 }, whenReading: { gauge.name }))
        #expect(isNotified(of: { gauge.level += 1 }, whenReading: { gauge.level }))
        #expect(isNotified(of: { gauge.remark = "dry" }, whenReading: { gauge.remark }))
        #expect(isNotified(of: { gauge.station = Station(number: 7) }, whenReading: { gauge.station?.number }))
        #expect(isNotified(of: { gauge.default = 2 }, whenReading: { gauge.default }))
        #expect(gauge.name == "South" && gauge.level == 4 && gauge.station?.number == 7 && gauge.default == 2)
    }

    @Test func observersMayReadTheObject() throws {
        let gauge = Gauge(level: 1)
        let seen = Collected<Int>()
        withObservationTracking({ _ = gauge.level }, onChange: { seen.append(gauge.level) })
        gauge.level = 2
        // Observers are notified before the value changes, as Observation defines it.
        #expect(seen.all == [1] && gauge.level == 2)
    }

    @Test func aFirstSaveNotifiesOfTheKey() throws {
        let db = try database()
        let gauge = Gauge(name: "North")
        #expect(try isNotified(of: { try db.save(gauge) }, whenReading: { gauge.id }))
        gauge.level = 5
        #expect(try !isNotified(of: { try db.save(gauge) }, whenReading: { gauge.id }))
        let station = Station(number: 3)
        #expect(isNotified(of: { station.number = 4 }, whenReading: { station.id }))
        #expect(isNotified(of: { station.number = 5 }, whenReading: { station.number }))
    }

    @Test func rollbacksAndRefreshesAreNotified() throws {
        let db = try database()
        let gauge = Gauge(name: "North", level: 1)
        let fresh = Gauge(name: "New")
        try db.save(gauge)
        let notified = Collected<String>()
        try? db.transaction { transaction in
            gauge.level = 2
            try db.save(fresh)
            withObservationTracking({ _ = gauge.level }, onChange: { notified.append("level") })
            withObservationTracking({ _ = fresh.id }, onChange: { notified.append("key") })
            try transaction.rollback()
        }
        #expect(notified.all.sorted() == ["key", "level"] && gauge.level == 1 && fresh.id == nil)

        let other = try #require(try db.find(Gauge.self, 1))
        other.name = "West"
        try db.save(other)
        #expect(try isNotified(of: { try db.refresh(gauge) }, whenReading: { gauge.name }))
        #expect(gauge.name == "West")
    }

    @Test func changesThatADomainTakesOverAreNotified() throws {
        let db = try database()
        try db.save(Gauge(name: "North"))
        let domain = ObjectDomain(db)
        let shown = try #require(try db.query(Gauge.self).domain(domain).first())
        #expect(
            try isNotified(
                of: {
                    let other = try #require(try db.find(Gauge.self, 1))
                    other.name = "East"
                    try db.save(other)
                    let end = Date().addingTimeInterval(20)
                    while shown.name != "East", Date() < end { Thread.sleep(forTimeInterval: 0.001) }
                }, whenReading: { shown.name }))
        #expect(shown.name == "East")
        withExtendedLifetime(domain) {}
    }

    @Test func subclassesNotifyOfTheirOwnAndInheritedProperties() throws {
        let db = try database()
        let station = ObservationModels.TidalStation(range: 6)
        station.number = 1
        #expect(isNotified(of: { station.range = 7 }, whenReading: { station.range }))
        #expect(isNotified(of: { station.place = "Calais" }, whenReading: { station.place }))
        try db.save(station)
        let other = try #require(try db.find(ObservationModels.TidalStation.self, 1))
        other.range = 8
        other.place = "Dover"
        try db.save(other)
        #expect(try isNotified(of: { try db.refresh(station) }, whenReading: { station.range }))
        other.place = "Ostend"
        try db.save(other)
        #expect(try isNotified(of: { try db.refresh(station) }, whenReading: { station.place }))
        #expect(station.place == "Ostend" && station.range == 8)
    }

    @Test func onlyObservableEntitiesAreObservable() {
        #expect((Gauge() as Any) is any Observable)
        #expect(!((ObservationModels.Silent() as Any) is any Observable))
    }
}
