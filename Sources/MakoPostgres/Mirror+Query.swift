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
        ///   comparisons of decimals, GLOB, functions of dates; `.outdated` where the tables of the mirror are not
        ///   those of the database; `.inUse` from the `progress` of a step; `.records` for a mistake in the text.
        public func query(
            _ text: String, _ values: [Value] = [], named: [String: Value] = [:]
        ) throws(PostgresError) -> QueryRows {
            let (plan, catalogue) = try planned(text, values, named)
            return try rows(plan, catalogue)
        }

        /// Returns a SELECT in PostgreSQL's SQL, as ``query(_:_:named:)`` sends it.
        ///
        /// - Throws: as ``query(_:_:named:)``.
        public func statement(
            _ text: String, _ values: [Value] = [], named: [String: Value] = [:]
        ) throws(PostgresError) -> String { try rendered(try planned(text, values, named).0).text }

        private func planned(
            _ text: String, _ values: [Value], _ named: [String: Value]
        ) throws(PostgresError) -> (LogicalPlan, Catalogue) {
            try MakoPostgres.named { () throws -> (LogicalPlan, Catalogue) in
                guard case .select(let select) = try Statement.parse(text) else {
                    throw QueryRenderer.refused("the mirror is written by its steps alone, and this is no SELECT")
                }
                try store.refresh()
                return try store.read { view in
                    let catalogue = try Catalogue.load(view: view)
                    return (try select.logicalPlan(catalogue, values, named), catalogue)
                }
            }
        }

        private func rendered(_ plan: LogicalPlan) throws(PostgresError) -> RenderedQuery {
            try QueryRenderer(place: { self.place($0) }).query(plan)
        }

        // MARK: - Rows

        /// Runs the logical plan of a query.
        ///
        /// - Parameter catalogue: the one that the plan was made with.
        /// - Throws: as ``query(_:_:named:)``.
        package func rows(_ plan: LogicalPlan, _ catalogue: Catalogue) throws(PostgresError) -> QueryRows {
            let query = try rendered(plan)
            let tables = plan.tables.compactMap { catalogue.table(named: $0) }.sorted { $0.number < $1.number }
            return try connection.exclusively { () throws(PostgresError) in try rows(query, tables) }
        }

        private func rows(_ query: RenderedQuery, _ tables: [TableHandle]) throws(PostgresError) -> QueryRows {
            if connection.isLost { try connection.reconnect() }
            if tables.isEmpty { return try values(query) }
            do throws(PostgresError) {
                try begin(tables)
                let rows = try values(query)
                try connection.execute("COMMIT")
                return rows
            } catch {
                if !connection.isLost { try? connection.execute("ROLLBACK") }
                throw error
            }
        }

        /// Begins a transaction in which the mirror has these tables.
        private func begin(_ tables: [TableHandle]) throws(PostgresError) {
            let names = tables.map(\.schema.name)
            let numbers = tables.map { "\($0.number)" }.joined(separator: ", ")
            do throws(PostgresError) {
                // The lock comes before the snapshot: a table that a step replaces behind it is empty in it.
                try connection.execute(
                    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
                        + "LOCK TABLE \(names.map { place($0) }.joined(separator: ", ")) IN ACCESS SHARE MODE")
            } catch .refused(let state, _, _) where Mirror.missingTable.contains(state.code) {
                throw .outdated(table: names.joined(separator: ", "))
            }
            let mirrored = try connection.rows(
                "SELECT \(MirroredTable.columns) FROM \(place("mako_mirror_tables")) WHERE number IN (\(numbers))"
            ).compactMap { MirroredTable($0) }
            for handle in tables {
                let definition = try PostgresTable(handle.schema).definition()
                let isCurrent = mirrored.contains {
                    $0.number == handle.number && $0.name == handle.schema.name && $0.definition == definition
                }
                if !isCurrent { throw .outdated(table: handle.schema.name) }
            }
        }

        /// What the server says about a table, and a schema, that does not exist.
        static let missingTable: Set<String> = ["42P01", "3F000"]

        private func values(_ query: RenderedQuery) throws(PostgresError) -> QueryRows {
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
    }
#endif
