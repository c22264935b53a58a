import MakoRecords

/// A place on the Earth, in degrees: `@Entity final class Harbour { var place = Coordinate(latitude: 60.4, longitude: 5.3) }` has the columns
/// `place_latitude` and `place_longitude`.
public struct Coordinate: CompositeValue, Hashable, Codable {
    /// Degrees to the north of the equator; those to the south are negative.
    public var latitude: Double
    /// Degrees to the east of Greenwich; those to the west are negative.
    public var longitude: Double

    /// Creates the coordinate of its parts.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// The columns `latitude` and `longitude`.
    public static let valueParts = [
        ValuePart("latitude", \Coordinate.latitude), ValuePart("longitude", \Coordinate.longitude),
    ]

    /// Creates the coordinate of its parts.
    public init(parts: ValueParts<Coordinate>) throws(MakoError) {
        self.init(latitude: try parts.value(0), longitude: try parts.value(1))
    }

    /// Writes the parts to their fields.
    public func write(to writer: inout RowWriter, _ position: Int) {
        latitude.write(to: &writer, position)
        longitude.write(to: &writer, writer.position(ofPart: 1, at: position))
    }
}
