#if Postgres
    import MakoRecords
    import MakoStorage

    /// A mirror of a database in PostgreSQL: its tables, as of one of its commits.
    ///
    /// ```swift
    /// let mirror = Mirror(store, to: try PostgresConnection("postgres://mirror@db/events"))
    /// while true {
    ///     print(try mirror.step())
    ///     try await Task.sleep(for: .seconds(1))
    /// }
    /// ```
    ///
    /// A step brings all rows that changed since the stored token, with the values of one snapshot, and the new token, in
    /// one transaction of PostgreSQL: every state that it shows is one that the database had. A step that fails, or a
    /// process that ends, leaves the state before it. Steps of several mirrors take turns. The database must keep a history.
    public final class Mirror {
        /// The settings of a mirror.
        public struct Options: Sendable {
            /// The schema with the tables; it is created if it does not exist.
            public var schema = "public"
            /// Whether the first step loads all tables, and replaces the mirror of another database.
            public var reloads = false
            /// The number of changed rows that a step holds in memory; tables with more of them are loaded whole.
            public var keyLimit = 1_000_000

            /// Makes the default settings.
            public init() {}
        }

        /// Why all tables were loaded.
        public enum Load: Sendable, Hashable {
            /// The schema had no mirror.
            case first
            /// The history no longer has the commits after the token, or the database was restored to an earlier one.
            case missed
            /// ``Options/reloads`` was set.
            case requested
        }

        /// What a step did.
        public struct Report: Sendable, Hashable {
            /// The commit that PostgreSQL shows.
            public internal(set) var commit: UInt64 = 0
            /// Why all tables were loaded; `nil` if only changes were applied.
            public internal(set) var load: Load?
            /// The number of rows that were loaded with whole tables.
            public internal(set) var loadedRows = 0
            /// The number of rows that were inserted or updated.
            public internal(set) var changedRows = 0
            /// The number of rows that were deleted, where they existed.
            public internal(set) var deletedRows = 0
            /// The number of tables that were created, changed, renamed or dropped.
            public internal(set) var changedTables = 0
            /// Whether there was something to do.
            public internal(set) var hasChanged = false
        }

        package let connection: PostgresConnection
        package let store: Store
        private var options: Options
        private var isPrepared = false
        /// Is called with the table and the report as it grows; `false` ends the step.
        var progress: (String, Report) -> Bool = { _, _ in true }
        var report = Report()

        /// Makes a mirror; nothing is sent before the first step.
        ///
        /// - Parameters:
        ///   - store: the database, also one that was opened read-only beside the process that writes it.
        ///   - connection: an open connection, which only this mirror uses.
        ///   - options: the schema of the tables, and the number of changed rows that a step holds in memory.
        public init(_ store: Store, to connection: PostgresConnection, options: Options = Options()) {
            self.store = store
            self.connection = connection
            self.options = options
        }

        /// Brings PostgreSQL to the newest commit.
        ///
        /// - Parameter progress: is called with the table in work and the report as it grows; `false` ends the step. It must
        ///   not use the connection: a query of this mirror throws `PostgresError.inUse`.
        /// - Throws: `PostgresError`; PostgreSQL then shows what it showed before, or, after
        ///   `PostgresError.connectionLost`, the newest commit.
        @discardableResult
        public func step(
            progress: @escaping (_ table: String, Report) -> Bool = { _, _ in true }
        ) throws(PostgresError) -> Report {
            try connection.exclusively { () throws(PostgresError) in
                report = Report()
                self.progress = progress
                defer { self.progress = { _, _ in true } }
                if connection.isLost { try connection.reconnect() }
                let wasPrepared = isPrepared
                do throws(PostgresError) { try transact() } catch .refused(let state, _, _)
                    where wasPrepared && Mirror.missingTable.contains(state.code)
                {
                    // The tables of the mirror, or its schema, were dropped since they were found.
                    (isPrepared, report) = (false, Report())
                    try transact()
                }
                options.reloads = false
                return report
            }
        }

        // MARK: - The transaction

        private func transact() throws(PostgresError) {
            do throws(PostgresError) {
                try prepare()
                try connection.execute("BEGIN")
                try run()
                if report.hasChanged { try connection.requireTransaction() }
                try connection.execute(report.hasChanged ? "COMMIT" : "ROLLBACK")
            } catch {
                if !connection.isLost { try? connection.execute("ROLLBACK") }
                throw error
            }
        }

        private var lockStatement: String {
            "SELECT \(MirrorToken.columns) FROM \(place("mako_mirror")) FOR UPDATE"
        }

        private func insertRow() throws(PostgresError) {
            try connection.execute(
                "INSERT INTO \(place("mako_mirror")) (one) VALUES (true) ON CONFLICT (one) DO NOTHING")
        }

        private func run() throws(PostgresError) {
            // The row is locked before the snapshot is pinned, so that of two mirrors the later one sees the later commit.
            var rows = try connection.rows(lockStatement)
            if rows.isEmpty {
                // It was deleted: without the row no token is stored, and each step would load all tables.
                try insertRow()
                rows = try connection.rows(lockStatement)
            }
            let stored = rows.first.flatMap { MirrorToken($0) }
            try named {
                try store.refresh()
                try store.read { view in try mirror(view, since: stored) }
            }
        }

        private func mirror(_ view: Snapshot, since stored: MirrorToken?) throws {
            guard let head = try StoredHistory.head(in: view), head.isKept, let end = try StoredHistory.end(in: view)
            else { throw PostgresError.historyNotKept }
            let token = MirrorToken(head, commit: view.commitNumber, point: end)
            report.commit = token.commit
            if let stored, stored.history != token.history, !options.reloads {
                throw PostgresError.foreign(schema: options.schema)
            }
            if token == stored, !options.reloads { return }
            report.hasChanged = true
            let changes = try changes(since: stored, in: view)
            let catalogue = try Catalogue.load(view: view)
            let isSame = stored?.history == token.history
            try apply(changes, catalogue, view, keepsTables: isSame)
            try store(token)
        }

        /// Returns the changes; `nil` if all tables must be loaded.
        private func changes(since stored: MirrorToken?, in view: Snapshot) throws(PostgresError) -> MirrorChanges? {
            guard let stored, !options.reloads else {
                report.load = options.reloads ? .requested : .first
                return nil
            }
            var changes = MirrorChanges()
            var point = stored.point
            while true {
                let page: HistoryPage?
                do throws(RecordError) {
                    page = try HistoryPage(after: point, limit: Mirror.pageRecords, in: view)
                } catch { throw .records(error) }
                guard let page else { throw .historyNotKept }
                if page.isMissed {
                    report.load = .missed
                    return nil
                }
                for record in page.records {
                    changes.add(record, limit: options.keyLimit)
                    point = record.point
                }
                if page.isLast { return changes }
            }
        }

        private static let pageRecords = 256

        // MARK: - Tables of the mirror itself

        /// The quoted name of a table.
        func place(_ table: String) -> String {
            "\(PostgresText.name(options.schema)).\(PostgresText.name(table))"
        }

        private func prepare() throws(PostgresError) {
            if isPrepared { return }
            try PostgresTable.check(options.schema)
            let found = try connection.rows(
                "SELECT 1 FROM pg_tables WHERE schemaname = \(PostgresText.literal(options.schema)) "
                    + "AND tablename IN ('mako_mirror', 'mako_mirror_tables')")
            if found.count < 2 {
                do throws(PostgresError) { try makeTables() } catch .refused(let state, _, _)
                    where Mirror.createdMeanwhile.contains(state.code)
                { try makeTables() }
            }
            try insertRow()
            isPrepared = true
        }

        /// What the server says when another mirror creates the same tables: IF NOT EXISTS does not see them yet.
        private static let createdMeanwhile: Set<String> = ["23505", "42P06", "42P07", "42710"]

        private func makeTables() throws(PostgresError) {
            if options.schema != "public" {
                try connection.execute("CREATE SCHEMA IF NOT EXISTS \(PostgresText.name(options.schema))")
            }
            try connection.execute(
                "CREATE TABLE IF NOT EXISTS \(place("mako_mirror_tables")) (number bigint PRIMARY KEY, "
                    + "name text NOT NULL, definition text NOT NULL, ordinal bigint NOT NULL)")
            // One row, to be locked; NULL before the first step.
            try connection.execute(
                "CREATE TABLE IF NOT EXISTS \(place("mako_mirror")) (one boolean PRIMARY KEY CHECK (one), "
                    + "history text, commit numeric(20), point numeric(20), mark numeric(20))")
        }

        private func store(_ token: MirrorToken) throws(PostgresError) {
            try connection.requireTransaction()
            try connection.execute(
                "UPDATE \(place("mako_mirror")) SET (\(MirrorToken.columns)) = (\(token.values))")
        }
    }
#endif
