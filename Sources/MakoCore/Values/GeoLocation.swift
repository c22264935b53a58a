import Foundation
import MakoRecords

/// A place with the height, the movement and the time of its measurement, as a positioning system gives it.
///
/// ```swift
/// @Entity final class Trackpoint { var location = GeoLocation(latitude: 60.4, longitude: 5.3) }
/// let fast = try db.query(Trackpoint.self).where(\.location.speed > 30).fetch()
/// ```
///
/// It has one column for each property, such as `location_latitude` and `location_speed`. Where only the place matters,
/// ``Coordinate`` needs two.
public struct GeoLocation: CompositeValue, Hashable, Codable {
    /// Degrees north of the equator; negative to the south.
    public var latitude: Double
    /// Degrees east of Greenwich; negative to the west.
    public var longitude: Double
    /// Metres above the sea.
    public var altitude: Double
    /// The radius of uncertainty of the place in metres; negative if the place is unknown.
    public var horizontalAccuracy: Double
    /// The uncertainty of the altitude in metres; negative if the altitude is unknown.
    public var verticalAccuracy: Double
    /// The direction of the movement in degrees from north, clockwise; negative if it is unknown.
    public var course: Double
    /// The speed in metres per second; negative if it is unknown.
    public var speed: Double
    /// The time of the measurement.
    public var timestamp: Date

    /// Creates a location. Without the other parameters its altitude, movement and accuracy are unknown.
    public init(
        latitude: Double, longitude: Double, altitude: Double = 0, horizontalAccuracy: Double = 0,
        verticalAccuracy: Double = -1, course: Double = -1, speed: Double = -1, timestamp: Date = Date()
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.altitude = altitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.course = course
        self.speed = speed
        self.timestamp = timestamp
    }

    /// The place alone.
    public var coordinate: Coordinate { Coordinate(latitude: latitude, longitude: longitude) }

    /// One column for each property.
    public static let valueParts = [
        ValuePart("latitude", \GeoLocation.latitude), ValuePart("longitude", \GeoLocation.longitude),
        ValuePart("altitude", \GeoLocation.altitude), ValuePart("horizontalAccuracy", \GeoLocation.horizontalAccuracy),
        ValuePart("verticalAccuracy", \GeoLocation.verticalAccuracy), ValuePart("course", \GeoLocation.course),
        ValuePart("speed", \GeoLocation.speed), ValuePart("timestamp", \GeoLocation.timestamp),
    ]

    /// Creates the location of its parts.
    public init(parts: ValueParts<GeoLocation>) throws(MakoError) {
        self.init(
            latitude: try parts.value(0), longitude: try parts.value(1), altitude: try parts.value(2),
            horizontalAccuracy: try parts.value(3), verticalAccuracy: try parts.value(4), course: try parts.value(5),
            speed: try parts.value(6), timestamp: try parts.value(7))
    }
}
