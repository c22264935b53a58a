public import Observation

/// An object whose properties `withObservationTracking` and SwiftUI observe. `@Entity(observable: true)` generates the
/// conformance.
///
/// ```swift
/// @Entity(observable: true) final class Person {
///     var name = ""
/// }
/// ```
///
/// Observers are notified of assignments and of all other changes of an object in memory: a rollback, a refresh, values
/// that a domain takes over, the key of a first save. Observation adds about ten nanoseconds to each read and
/// assignment. A property that is a query, such as a ``ToMany``, is not observed.
public protocol ObservableEntity: ObjectEntity, Observable {
    /// The registrar of the object's observers.
    var _$observation: ObservationRegistrar { get }
    /// Notifies observers that properties and the key changed other than by assignment. The object is not locked.
    func _$notifyObservers(_ properties: EntityCoding.PropertySet)
}

extension EntityCoding {
    /// The registrar of observers, under a name that needs no import.
    public typealias Registrar = ObservationRegistrar
    /// The protocol of observable objects, under a name that needs no import.
    public typealias Observed = Observable
}

extension ObjectEntity {
    /// Notifies observers that some properties, and the key, changed.
    func notifyObservers(_ properties: PropertySet = .all) {
        guard type(of: self).entityModel.isObservable else { return }
        (self as? any ObservableEntity)?._$notifyObservers(properties)
    }
}
