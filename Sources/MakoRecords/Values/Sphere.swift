import CPlatform

/// The Earth as a sphere: places in degrees, distances in metres.
enum Sphere {
    /// The mean radius, as defined by the International Union of Geodesy and Geophysics.
    static let radius = 6_371_008.8
    /// The distance of antipodes.
    static let farthest = Double.pi * radius

    /// Returns the great-circle distance by the haversine formula, accurate to rounding for near places; `nil` for
    /// invalid places.
    static func distance(_ a: (latitude: Double, longitude: Double), _ b: (latitude: Double, longitude: Double))
        -> Double?
    {
        guard isPlace(a.latitude, a.longitude), isPlace(b.latitude, b.longitude) else { return nil }
        let (first, second) = (radians(a.latitude), radians(b.latitude))
        let north = sin((second - first) / 2)
        let east = sin(radians(b.longitude - a.longitude) / 2)
        let chord = north * north + cos(first) * cos(second) * east * east
        return 2 * radius * asin(min(1, chord.squareRoot()))
    }

    /// Returns whether the numbers are a valid place. Longitudes may exceed 180 degrees.
    @inline(__always)
    static func isPlace(_ latitude: Double, _ longitude: Double) -> Bool {
        latitude >= -90 && latitude <= 90 && longitude >= -1e9 && longitude <= 1e9
    }

    /// Returns the longitude in the range from -180 to 180.
    static func normalised(_ longitude: Double) -> Double {
        if longitude >= -180 && longitude <= 180 { return longitude }
        return longitude - 360 * ((longitude + 180) / 360).rounded(.down)
    }

    static func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }

    /// Returns the boxes that contain every place within a distance: two if the circle crosses the 180th meridian, a
    /// whole cap at a pole.
    static func boxes(around latitude: Double, _ longitude: Double, within distance: Double) -> [GeoBox] {
        guard isPlace(latitude, longitude), distance >= 0 else { return [] }
        // Slightly enlarged, against rounding errors.
        let angle = min(distance, farthest) / radius * (1 + 1e-9) + 1e-9
        let degrees = angle * 180 / .pi
        let south = latitude - degrees
        let north = latitude + degrees
        let ratio = sin(min(angle, .pi / 2)) / cos(radians(latitude))
        if !(angle < .pi / 2) || (south <= -90 || north >= 90 || !(ratio < 1)) {
            return [GeoBox(south: max(-90, south), north: min(90, north), west: -180, east: 180)]
        }
        let width = asin(min(1, ratio)) * 180 / .pi + 1e-9
        let centre = normalised(longitude)
        let (west, east) = (centre - width, centre + width)
        func box(_ west: Double, _ east: Double) -> GeoBox {
            GeoBox(south: max(-90, south), north: min(90, north), west: west, east: east)
        }
        if west < -180 { return [box(-180, east), box(west + 360, 180)] }
        if east > 180 { return [box(west, 180), box(-180, east - 360)] }
        return [box(west, east)]
    }
}

/// The places between two latitudes and two longitudes, in degrees, inclusive.
struct GeoBox: Sendable, Hashable {
    var south: Double
    var north: Double
    var west: Double
    var east: Double

    /// The share of the map's area.
    var share: Double { max(0, north - south) * max(0, east - west) / (180 * 360) }
}
