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
    public init(
        coordinate: CLLocationCoordinate2D, altitude: Double, horizontalAccuracy: Double, verticalAccuracy: Double,
        course: Double, speed: Double, timestamp: Date
    ) {}
    open var altitude: Double { 0 }
    open var horizontalAccuracy: Double { 0 }
    open var verticalAccuracy: Double { 0 }
    open var course: Double { 0 }
    open var speed: Double { 0 }
    open var timestamp: Date { Date() }
    open var coordinate: CLLocationCoordinate2D { CLLocationCoordinate2D(latitude: 0, longitude: 0) }
}
