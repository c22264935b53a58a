#if Postgres
    import MakoCore
    import MakoPostgres
    import MakoRecords

    extension Mirror {
        /// Makes a mirror of a database of objects; see ``init(_:to:options:)``.
        ///
        /// - Parameters:
        ///   - database: a database with a history, `DatabaseOptions.history`, and `FileLocking.whileOpen`.
        ///   - connection: an open connection, which only this mirror uses.
        ///   - options: the schema of the tables, and the number of changed rows that a step holds in memory.
        public convenience init(
            _ database: Database, to connection: PostgresConnection, options: Options = Options()
        ) {
            self.init(database.store, to: connection, options: options)
        }

        /// Returns a typed query that runs in PostgreSQL, on the tables of the mirror, with the results that the
        /// database gave at the mirrored commit.
        ///
        /// ```swift
        /// let adults = db.query(Person.self).where(\.age > 35).orderBy(\.name)
        /// let people = try mirror.query(adults.limit(10)).fetch()
        /// let mean = try mirror.query(adults).avg(\.age)
        /// ```
        ///
        /// - Parameter query: a query of the mirrored database. Its table is created or migrated with the first use of
        ///   its type; the next step brings that to the mirror.
        public func query<T: Entity>(_ query: Query<T>) -> MirrorQuery<T> { MirrorQuery(query, self) }
    }

    /// A typed query on the mirror; see `Mirror.query(_:)`. For one thread at a time, as the mirror.
    ///
    /// All calls throw `MirrorQueryError`: what has no form in PostgreSQL, `.mirror(.query)`, as `Mirror.query(_:_:named:)`
    /// does, and `referencing(_:)` and `referenced(by:)`, which look rows up in the database; `.mirror(.outdated)` where
    /// the tables have changed since the last step; `.database` for an invalid query.
    public struct MirrorQuery<T: Entity> {
        private let query: Query<T>
        private let mirror: Mirror

        init(_ query: Query<T>, _ mirror: Mirror) {
            self.query = query
            self.mirror = mirror
        }

        // MARK: - Running

        /// The query for PostgreSQL.
        fileprivate func remote() throws(MirrorQueryError) -> RemoteQuery<T> {
            let remote = try MirrorQueryError.translated { () throws(MakoError) in try RemoteQuery(query) }
            guard remote.database.store === mirror.store else { throw .otherDatabase(entity: "\(T.self)") }
            if remote.isLookedUp { throw .refused("it looks up which rows refer to others, in the database") }
            return remote
        }

        fileprivate func rows(
            _ remote: RemoteQuery<T>, _ plan: (RemoteQuery<T>) throws(MakoError) -> LogicalPlan
        ) throws(MirrorQueryError) -> [[StoredValue]] {
            let plan = try MirrorQueryError.translated { () throws(MakoError) in try plan(remote) }
            do throws(PostgresError) { return try mirror.rows(plan, remote.catalogue).rows } catch {
                throw .mirror(error)
            }
        }

        private func aggregate(
            _ function: AggregateFunction, of argument: () throws(MakoError) -> Expr?
        ) throws(MirrorQueryError) -> StoredValue {
            let found = try rows(try remote()) { (remote) throws(MakoError) in
                try remote.aggregate(function, of: try argument())
            }
            return found.first?.first ?? .null
        }

        /// A computed value in the result type.
        private func fitting<V: StorableValue>(
            _ value: StoredValue, _ function: AggregateFunction
        ) throws(MirrorQueryError) -> V {
            if let fitting = V(stored: value) { return fitting }
            throw .database(
                .typeMismatch(
                    entity: "\(T.self)", property: function.rawValue, expected: "\(V.self)", found: value.description))
        }

        private func extreme<V: StorableValue>(
            _ function: AggregateFunction, of argument: () throws(MakoError) -> Expr?
        ) throws(MirrorQueryError) -> V? {
            let value = try aggregate(function, of: argument)
            return value.isNull ? nil : try fitting(value, function)
        }

        private func sum<V: StorableValue & Numeric>(
            of argument: () throws(MakoError) -> Expr?
        ) throws(MirrorQueryError) -> V {
            let value = try aggregate(.sum, of: argument)
            return value.isNull ? .zero : try fitting(value, .sum)
        }

        // MARK: - Results

        /// Returns the number of objects.
        public func count() throws(MirrorQueryError) -> Int {
            try fitting(try aggregate(.count) { () throws(MakoError) in nil }, .count)
        }

        /// Returns whether there is an object.
        public func exists() throws(MirrorQueryError) -> Bool {
            try !rows(try remote()) { (remote) throws(MakoError) in try remote.existence() }.isEmpty
        }

        /// Returns the row numbers of the objects, in the query's order, by which the database finds them; empty for
        /// entities with another key.
        ///
        /// ```swift
        /// for id in try mirror.query(db.query(Person.self).where(\.age > 35)).ids() {
        ///     if let person = try db.find(Person.self, id) { greet(person) }
        /// }
        /// ```
        public func ids() throws(MirrorQueryError) -> [Int] {
            let remote = try remote()
            guard let plan = try MirrorQueryError.translated({ () throws(MakoError) in try remote.rowNumbers() }) else {
                return []
            }
            var ids: [Int] = []
            for row in try rows(remote, { (_) throws(MakoError) in plan }) {
                if case .integer(let id)? = row.first { ids.append(Int(id)) }
            }
            return ids
        }

        /// Returns the sum of a property; 0 without values.
        public func sum<V: StorableValue & Numeric>(
            _ property: KeyPath<Row<T>, Column<V>>
        ) throws(MirrorQueryError) -> V {
            try sum { () throws(MakoError) in try Query.argument(property) }
        }
        /// Returns the sum of the values of an optional property; 0 without values.
        public func sum<V: StorableValue & Numeric>(
            _ property: KeyPath<Row<T>, Column<V?>>
        ) throws(MirrorQueryError) -> V {
            try sum { () throws(MakoError) in try Query.argument(property) }
        }

        /// Returns the mean of a property; nil without values.
        public func avg<V: StorableValue>(_ property: KeyPath<Row<T>, Column<V>>) throws(MirrorQueryError) -> Double? {
            try extreme(.average) { () throws(MakoError) in try Query.argument(property) }
        }

        /// Returns the smallest value of a property; nil without values.
        public func min<V: StorableValue>(_ property: KeyPath<Row<T>, Column<V>>) throws(MirrorQueryError) -> V? {
            try extreme(.minimum) { () throws(MakoError) in try Query.argument(property) }
        }
        /// Returns the smallest value of an optional property; nil without values.
        public func min<V: StorableValue>(_ property: KeyPath<Row<T>, Column<V?>>) throws(MirrorQueryError) -> V? {
            try extreme(.minimum) { () throws(MakoError) in try Query.argument(property) }
        }
        /// Returns the largest value of a property; nil without values.
        public func max<V: StorableValue>(_ property: KeyPath<Row<T>, Column<V>>) throws(MirrorQueryError) -> V? {
            try extreme(.maximum) { () throws(MakoError) in try Query.argument(property) }
        }
        /// Returns the largest value of an optional property; nil without values.
        public func max<V: StorableValue>(_ property: KeyPath<Row<T>, Column<V?>>) throws(MirrorQueryError) -> V? {
            try extreme(.maximum) { () throws(MakoError) in try Query.argument(property) }
        }
    }

    // MARK: - Values

    extension MirrorQuery where T._$Kind == EntityKind.Value {
        /// Returns the structs, as the mirror has them: dates rounded to microseconds, all NaN as one.
        ///
        /// They have their ids, and belong to no database: saving one, or loading the object of a `ToOne`, throws
        /// `MakoError.foreignObject`. Read a struct to change in the database, by its id.
        ///
        /// - Throws: `MirrorQueryError.mirror(.query)` for structs with collections of objects, encrypted properties or
        ///   structs of other rows.
        public func fetch() throws(MirrorQueryError) -> [T] {
            let remote = try remote()
            if let property = remote.holdingProperty {
                throw .refused("\(T.self).\(property) has the values of other rows")
            }
            var decoder = remote.decoder()
            var values: [T] = []
            for row in try rows(remote, { (remote) throws(MakoError) in try remote.rows() }) {
                do throws(MakoError) { values.append(try decoder.value(row)) } catch { throw .database(error) }
            }
            return values
        }

        /// Returns the first struct; nil if there is none.
        ///
        /// - Throws: as ``fetch()``.
        public func first() throws(MirrorQueryError) -> T? { try limited(1).fetch().first }

        private func limited(_ count: Int) -> MirrorQuery { MirrorQuery(query.limit(count), mirror) }
    }

    extension MirrorQuery where T: ObjectEntity {
        /// Unavailable: an object belongs to a database, which loads its references and stores its changes.
        @available(
            *, unavailable,
            message: "objects belong to a database: find them there by ids(), or query a struct of the same table"
        )
        public func fetch() throws(MirrorQueryError) -> [T] { [] }

        /// Unavailable, as ``fetch()``.
        @available(
            *, unavailable,
            message: "objects belong to a database: find them there by ids(), or query a struct of the same table"
        )
        public func first() throws(MirrorQueryError) -> T? { nil }
    }

    extension MirrorQueryError {
        fileprivate static func refused(_ reason: String) -> MirrorQueryError { .mirror(.query(reason: reason)) }

        fileprivate static func translated<R>(_ body: () throws(MakoError) -> R) throws(MirrorQueryError) -> R {
            do throws(MakoError) { return try body() } catch { throw .database(error) }
        }
    }
#endif
