#if Postgres
    import MakoRecords
    import MakoStorage

    extension Mirror {
        /// Runs a SELECT in PostgreSQL, on the tables of the mirror, with the result that the database gave at the
        /// mirrored commit.
        ///
        /// ```swift
        /// let rows = try mirror.query("SELECT city, count(*) FROM Person WHERE age > ? GROUP BY city", [.integer(18)])
        /// for row in rows.rows { print(row) }
        /// ```
        ///
        /// The statement is read and checked as in the database, and sent in PostgreSQL's SQL. Values come back as the
        /// mirror has them: dates rounded to microseconds, all NaN as one. Rows that are equal in ORDER BY come in
        /// any order.
        ///
        /// - Parameters:
        ///   - text: a SELECT of Mako's dialect.
        ///   - values: the values of its `?`.
        ///   - named: the values of its `:name`.
        /// - Throws: `PostgresError.query` for what has no form there: full-text search, collections, encrypted values,
        ///   comparisons of decimals, GLOB, functions of dates; `PostgresError.records` for a mistake in the text.
        public func query(
            _ text: String, _ values: [Value] = [], named: [String: Value] = [:]
        ) throws(PostgresError) -> QueryRows {
            let query = try rendered(text, values, named)
            if connection.isLost { try connection.reconnect() }
            var rows: [[Value]] = []
            for fields in try connection.rows(query.text) {
                var row: [Value] = []
                row.reserveCapacity(fields.count)
                for (field, kind) in zip(fields, query.kinds) {
                    guard let value = PostgresAnswer.value(field, kind) else {
                        throw .query(reason: "the server answers \(field ?? "NULL") where \(kind.name) is expected")
                    }
                    row.append(value)
                }
                rows.append(row)
            }
            return QueryRows(columns: query.names, rows: rows)
        }

        /// Returns a SELECT in PostgreSQL's SQL, as ``query(_:_:named:)`` sends it.
        ///
        /// - Throws: as ``query(_:_:named:)``.
        public func statement(
            _ text: String, _ values: [Value] = [], named: [String: Value] = [:]
        ) throws(PostgresError) -> String { try rendered(text, values, named).text }

        private func rendered(
            _ text: String, _ values: [Value], _ named: [String: Value]
        ) throws(PostgresError) -> RenderedQuery {
            let plan = try MakoPostgres.named { () throws -> LogicalPlan in
                guard case .select(let select) = try Statement.parse(text) else {
                    throw QueryRenderer.refused("the mirror is written by its steps alone, and this is no SELECT")
                }
                try store.refresh()
                return try store.read { view in try select.logicalPlan(Catalogue.load(view: view), values, named) }
            }
            return try QueryRenderer(place: { self.place($0) }).query(plan)
        }
    }
#endif
