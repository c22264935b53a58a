public import Observation

/// An object whose properties `withObservationTracking` and SwiftUI follow. `@Entity(observable: true)` writes the conformance.
///
/// ```swift
/// @Entity(observable: true) final class Person {
///     var name = ""
/// }
/// ```
///
/// Observers are told of assignments, and of whatever else changes an object in memory: a rollback, a refresh, what a domain takes over from
/// a commit, the key of a first save. Reading and assigning cost some ten nanoseconds more. A property that is a query,
/// such as a ``ToMany``, is not followed: its objects are other objects.
public protocol ObservableEntity: ObjectEntity, Observable {
    var _$observation: ObservationRegistrar { get }
    /// Tells observers that properties changed otherwise than by assignment, bit 0 being the first column, and that the key did. The object
    /// is not locked.
    func _$tellObservers(_ properties: UInt64)
}

extension EntityCoding {
    /// What an observable object keeps its observers in, under a name that needs no import.
    public typealias Registrar = ObservationRegistrar
    /// The protocol of observable objects, under a name that needs no import.
    public typealias Observed = Observable
}

extension ObjectEntity {
    /// Tells whoever observes the object that some of its properties, and its key, have other values now.
    func tellObservers(_ properties: UInt64 = .max) {
        guard type(of: self).entityModel.isObservable else { return }
        (self as? any ObservableEntity)?._$tellObservers(properties)
    }
}
