#if canImport(CoreLocation)
    public import CoreLocation
    import MakoRecords

    /// A property of the type `CLLocationCoordinate2D` has the columns of a ``Coordinate``.
    extension CLLocationCoordinate2D: CompositeValue {
        /// The columns `latitude` and `longitude`.
        public static let valueParts = [
            ValuePart("latitude", \CLLocationCoordinate2D.latitude),
            ValuePart("longitude", \CLLocationCoordinate2D.longitude),
        ]

        /// Creates the coordinate of its parts.
        public init(parts: ValueParts<CLLocationCoordinate2D>) throws(MakoError) {
            self.init(latitude: try parts.value(0), longitude: try parts.value(1))
        }
    }

    extension GeoLocation {
        /// Creates the location of a `CLLocation`, with all its measurements.
        public init(_ location: CLLocation) {
            self.init(
                latitude: location.coordinate.latitude, longitude: location.coordinate.longitude,
                altitude: location.altitude, horizontalAccuracy: location.horizontalAccuracy,
                verticalAccuracy: location.verticalAccuracy, course: location.course, speed: location.speed,
                timestamp: location.timestamp)
        }

        /// The location as a `CLLocation`.
        public var location: CLLocation {
            CLLocation(
                coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: altitude,
                horizontalAccuracy: horizontalAccuracy, verticalAccuracy: verticalAccuracy, course: course,
                speed: speed, timestamp: timestamp)
        }
    }

    extension Coordinate {
        /// Creates the coordinate of a `CLLocationCoordinate2D`.
        public init(_ coordinate: CLLocationCoordinate2D) {
            self.init(latitude: coordinate.latitude, longitude: coordinate.longitude)
        }

        /// Creates the coordinate of a location, without its altitude, time and accuracy.
        public init(_ location: CLLocation) { self.init(location.coordinate) }

        /// The coordinate as a location.
        public var location: CLLocation { CLLocation(latitude: latitude, longitude: longitude) }
    }
#endif
