import Foundation
import Mako
import TestHelpers
import Testing

/// Locations with all their measurements.
@Suite struct GeoLocationTests {
    @Entity final class Trackpoint {
        var name = ""
        var location: GeoLocation?
    }

    @Test func everyMeasurementComesBackAndIsQueried() throws {
        let db = try makeDatabase([Trackpoint.self])
        let time = Date(timeIntervalSince1970: 1_700_000_000.25)
        let location = GeoLocation(
            latitude: 60.4, longitude: -5.3, altitude: 12.5, horizontalAccuracy: 3, verticalAccuracy: 4, course: 271.5,
            speed: 31, timestamp: time)
        let plain = GeoLocation(latitude: 1, longitude: 2)
        try db.save([
            Trackpoint(name: "fast", location: location), Trackpoint(name: "plain", location: plain),
            Trackpoint(name: "none"),
        ])
        #expect(try db.find(Trackpoint.self, 1)?.location == location)
        #expect(try db.find(Trackpoint.self, 2)?.location == plain)
        #expect(try db.find(Trackpoint.self, 3)?.location == nil)
        #expect(plain.speed < 0 && plain.course < 0 && plain.verticalAccuracy < 0)
        #expect(location.coordinate == Coordinate(latitude: 60.4, longitude: -5.3))
        #expect(try db.query(Trackpoint.self).where(\.location.speed > 30).first()?.name == "fast")
        #expect(try db.query(Trackpoint.self).where("location_timestamp = \(time)").count() == 1)
        let columns = try #require(db.tables.first { $0.name == "Trackpoint" }).columns.map(\.name)
        #expect(columns.filter { $0.hasPrefix("location_") }.count == 8)
        let copy = try JSONDecoder().decode(GeoLocation.self, from: JSONEncoder().encode(location))
        #expect(copy == location)
    }
}
