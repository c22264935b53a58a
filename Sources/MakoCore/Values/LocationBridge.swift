#if canImport(CoreLocation)
    public import CoreLocation
    import MakoRecords

    /// A property may be a `CLLocationCoordinate2D`: it has the columns that a ``Coordinate`` has.
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

    extension Coordinate {
        /// Creates the coordinate of its parts.
        public init(_ coordinate: CLLocationCoordinate2D) {
            self.init(latitude: coordinate.latitude, longitude: coordinate.longitude)
        }

        /// Where a location is; of its height, its time and how exact it is nothing is kept.
        public init(_ location: CLLocation) { self.init(location.coordinate) }

        public var location: CLLocation { CLLocation(latitude: latitude, longitude: longitude) }
    }
#endif
