#if canImport(SwiftUI)
    import MakoCore
    import SwiftUI

    /// A stored object in a view, which is drawn again after each commit that changes or deletes it.
    ///
    /// ```swift
    /// struct PersonView: View {
    ///     @LiveObject private var person: Person?
    ///
    ///     init(_ id: EntityID<Person>) { _person = LiveObject(id) }
    ///
    ///     var body: some View {
    ///         if let person { Text(person.name) } else if $person.isLoaded { Text("Deleted") }
    ///     }
    /// }
    /// ```
    ///
    /// The database is the one given, that of the environment (`View.database(_:)`), or `Database.default`, in this
    /// order. The view follows another object as soon as it is made with another identity.
    @propertyWrapper public struct LiveObject<T: Entity>: DynamicProperty {
        @State private var model = LiveObjectModel<T>()
        @Environment(\.database) private var environment: Database?
        private let identity: AnyHashable
        private let database: Database?
        private let id: () throws(MakoError) -> EntityID<T>

        /// Creates the object with an identity.
        ///
        /// ```swift
        /// _person = LiveObject(id)
        /// ```
        ///
        /// - Parameters:
        ///   - id: the identity of the object.
        ///   - database: the database; nil: that of the environment.
        public init(_ id: EntityID<T>, in database: Database? = nil) {
            identity = AnyHashable(id)
            self.database = database
            self.id = { () throws(MakoError) in id }
        }

        /// Creates the object with a key.
        ///
        /// ```swift
        /// @LiveObject(key: 42) private var person: Person?
        /// ```
        ///
        /// - Parameters:
        ///   - key: the primary key of the object.
        ///   - database: the database; nil: that of the environment.
        public init<K: StorableValue & Hashable>(key: K, in database: Database? = nil) {
            identity = AnyHashable(key)
            self.database = database
            id = { () throws(MakoError) in try EntityID(T.self, key) }
        }

        /// The object as of the newest commit; nil while there is no such row or it cannot be read.
        @MainActor public var wrappedValue: T? { model.object }

        /// The model, which has the error and whether the row was looked up: `$person.isLoaded`.
        @MainActor public var projectedValue: LiveObjectModel<T> { model }

        /// Follows the object, and another when the identity or the database changed. SwiftUI calls it before each
        /// body.
        public func update() {
            // The protocol does not say that its caller is the main actor, as SwiftUI is.
            nonisolated(unsafe) let property = self
            MainActor.assumeIsolated {
                property.model.follow(property.identity, in: property.database ?? property.environment, property.id)
            }
        }
    }
#endif
