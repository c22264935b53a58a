#if canImport(SwiftUI)
    import MakoCore
    import SwiftUI

    /// The results of a query in a view, which is drawn again after each commit that changes them.
    ///
    /// ```swift
    /// struct PeopleList: View {
    ///     @LiveQuery(Person.query().where(\.age > 30).orderBy(\.name))
    ///     private var people: [Person]
    ///
    ///     var body: some View {
    ///         List(people) { Text($0.name) }
    ///             .overlay { if let error = $people.error { Text(error.description) } }
    ///     }
    /// }
    /// ```
    ///
    /// The database is that of the query, the one given, that of the environment (`View.database(_:)`), or
    /// `Database.default`, in this order. The first results are read on the main thread, before the first body: a query
    /// with very many needs a `limit(_:)`, see ``LiveQueryModel``.
    ///
    /// A query with values of the view needs an `id`, because queries cannot be compared: it starts again when the `id`
    /// changes, and not otherwise.
    ///
    /// ```swift
    /// init(minimum: Int) {
    ///     _people = LiveQuery(id: minimum) { $0.where(\.age >= minimum).orderBy(\.name) }
    /// }
    /// ```
    @propertyWrapper public struct LiveQuery<T: Entity>: DynamicProperty {
        @State private var model = LiveQueryModel<T>()
        @Environment(\.database) private var environment: Database?
        private let id: AnyHashable
        private let database: Database?
        private let query: () -> Query<T>

        /// Creates the results of a query.
        ///
        /// ```swift
        /// @LiveQuery(Person.query().orderBy(\.name)) private var people: [Person]
        /// ```
        ///
        /// - Parameters:
        ///   - query: the query. One of `db.query(…)` runs in its own database.
        ///   - id: a value that differs whenever the query does.
        ///   - database: the database; nil: that of the environment.
        public init(_ query: Query<T>, id: some Hashable = 0, in database: Database? = nil) {
            self.init(id: id, database) { query }
        }

        /// Creates the results of a query that a closure builds.
        ///
        /// ```swift
        /// @LiveQuery({ $0.where(\.age > 30).orderBy(\.name) }) private var people: [Person]
        /// ```
        ///
        /// - Parameters:
        ///   - id: a value that differs whenever the query does.
        ///   - database: the database; nil: that of the environment.
        ///   - build: adds conditions, orders and limits to the query for all objects.
        public init(id: some Hashable = 0, in database: Database? = nil, _ build: @escaping (Query<T>) -> Query<T>) {
            self.init(id: id, database) { build(T.query()) }
        }

        private init(id: some Hashable, _ database: Database?, _ query: @escaping () -> Query<T>) {
            self.id = AnyHashable(id)
            self.database = database
            self.query = query
        }

        /// The results as of the newest commit, also in the first body; empty while they cannot be read.
        @MainActor public var wrappedValue: [T] { model.results }

        /// The model, which has the error and whether the results are loaded: `$people.error`.
        @MainActor public var projectedValue: LiveQueryModel<T> { model }

        /// Starts the query, and again when its `id` or the database changed. SwiftUI calls it before each body.
        public func update() {
            // The protocol does not say that its caller is the main actor, as SwiftUI is.
            nonisolated(unsafe) let property = self
            MainActor.assumeIsolated {
                property.model.start(id: property.id, in: property.database ?? property.environment) {
                    () throws(MakoError) in property.query()
                }
            }
        }
    }
#endif
