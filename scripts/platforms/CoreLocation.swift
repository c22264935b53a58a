// The parts of CoreLocation that Mako's bridges use.
@_exported import Foundation

public struct CLLocationCoordinate2D: Sendable {
    public var latitude: Double
    public var longitude: Double
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

open class CLLocation {
    public init(latitude: Double, longitude: Double) {}
    open var coordinate: CLLocationCoordinate2D { CLLocationCoordinate2D(latitude: 0, longitude: 0) }
}
