import MakoRecords

/// A position on the Earth in degrees:
/// `@Entity final class Harbour { var place = Coordinate(latitude: 60.4, longitude: 5.3) }` has the columns
/// `place_latitude` and `place_longitude`.
///
/// Any numbers are stored. The distance from or to a latitude beyond a pole is nil (NULL in texts), so that no condition on
/// a distance finds such a place: check what a user has typed before it is saved.
public struct Coordinate: CompositeValue, Hashable, Codable {
    /// Degrees north of the equator; negative to the south.
    public var latitude: Double
    /// Degrees east of Greenwich; negative to the west.
    public var longitude: Double

    /// Creates a coordinate of degrees.
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
