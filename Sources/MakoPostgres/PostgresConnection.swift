#if Postgres
    import CPostgres

    /// A connection to PostgreSQL by libpq. For one thread at a time.
    ///
    /// ```swift
    /// let connection = try PostgresConnection("postgres://mirror@db.example.com/events?sslmode=verify-full")
    /// ```
    public final class PostgresConnection {
        private var connection: OpaquePointer?
        /// Whether a transaction runs, in which no other one may begin.
        private var isInUse = false
        /// Is called before each statement with its text; what it throws is thrown instead of running the statement.
        package var beforeStatement: ((String) throws(PostgresError) -> Void)?

        /// Connects.
        ///
        /// - Parameter url: `postgres://user@host:port/database?option=value`, or libpq's `host=… dbname=…`. What it does
        ///   not say comes from the `PG…` variables and `~/.pgpass`, as in `psql`.
        /// - Throws: `PostgresError.unreachable`; `.encoding` where the encoding of the database is not UTF8.
        public init(_ url: String) throws(PostgresError) {
            guard let connection = PQconnectdb(url) else { throw .unreachable(reason: "there is no memory") }
            self.connection = connection
            guard PQstatus(connection) == CONNECTION_OK else {
                // The message of libpq has no password.
                throw .unreachable(reason: message)
            }
            try prepare()
        }

        deinit { cut() }

        /// Whether the connection has ended; ``reconnect()`` makes it anew.
        package var isLost: Bool { PQstatus(connection) != CONNECTION_OK }

        /// Connects again; an open transaction is rolled back.
        package func reconnect() throws(PostgresError) {
            PQreset(connection)
            if isLost { throw .unreachable(reason: message) }
            try prepare()
        }

        /// Ends the connection at once, as the end of the process does.
        package func cut() {
            PQfinish(connection)
            connection = nil
        }

        private func prepare() throws(PostgresError) {
            PQsetNoticeProcessor(connection, { _, _ in }, nil)
            // Others count and compare texts by bytes, or by letters that Mako has not.
            let encoding = PQparameterStatus(connection, "server_encoding").map { String(cString: $0) }
            if let encoding, encoding != "UTF8" { throw .encoding(encoding) }
            try execute("SET standard_conforming_strings = on")
            try execute("SET client_encoding = 'UTF8'")
            try execute("SET bytea_output = 'hex'")
            try execute("SET extra_float_digits = 1")
        }

        private var message: String {
            let text = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
            return PostgresConnection.oneLine(text.isEmpty ? "the server gives no reason" : text)
        }

        private static func oneLine(_ text: String) -> String {
            var line = text.split { $0.isNewline || $0 == "\t" }.joined(separator: " ")
            // The description goes on behind it.
            while line.last == "." || line.last == " " { line.removeLast() }
            return line
        }

        // MARK: Transactions

        /// Runs a transaction.
        ///
        /// - Throws: `PostgresError.inUse` inside of another one, whose end the `ROLLBACK` of this one would be: a query
        ///   from the `progress` of a step.
        func exclusively<R>(_ body: () throws(PostgresError) -> R) throws(PostgresError) -> R {
            if isInUse { throw .inUse }
            isInUse = true
            defer { isInUse = false }
            return try body()
        }

        /// Throws unless a transaction is open, and no statement of it has failed: what is sent next would commit by itself.
        func requireTransaction() throws(PostgresError) {
            guard PQtransactionStatus(connection) == PQTRANS_INTRANS else {
                throw .refused(
                    state: SQLState("25P01"), reason: "the transaction of the step has ended before it",
                    statement: "COMMIT")
            }
        }

        // MARK: Statements

        /// Runs a statement.
        package func execute(_ statement: String) throws(PostgresError) { _ = try rows(statement) }

        /// Runs a query.
        ///
        /// - Returns: the rows as text; `nil` is NULL.
        package func rows(_ statement: String) throws(PostgresError) -> [[String?]] {
            try beforeStatement?(statement)
            let result = PQexec(connection, statement)
            defer { PQclear(result) }
            let status = PQresultStatus(result)
            guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else { throw failure(result, statement) }
            return (0..<PQntuples(result)).map { row in
                (0..<PQnfields(result)).map { column in
                    if PQgetisnull(result, row, column) != 0 { return nil }
                    return PQgetvalue(result, row, column).map { String(cString: $0) }
                }
            }
        }

        /// Runs COPY … FROM STDIN.
        ///
        /// - Parameter body: calls its argument with pieces of the text format.
        func copy(
            _ statement: String, _ body: ((String) throws(PostgresError) -> Void) throws(PostgresError) -> Void
        ) throws(PostgresError) {
            try beforeStatement?(statement)
            let begin = PQexec(connection, statement)
            defer { PQclear(begin) }
            guard PQresultStatus(begin) == PGRES_COPY_IN else { throw failure(begin, statement) }
            do throws(PostgresError) {
                try body { (piece) throws(PostgresError) in
                    guard PQputCopyData(connection, piece, Int32(piece.utf8.count)) == 1 else {
                        throw .connectionLost(reason: message)
                    }
                }
            } catch {
                // The server leaves the state of COPY, and the transaction has failed.
                _ = PQputCopyEnd(connection, "the client could not go on")
                try? finishCopy(statement)
                throw error
            }
            guard PQputCopyEnd(connection, nil) == 1 else { throw .connectionLost(reason: message) }
            try finishCopy(statement)
        }

        private func finishCopy(_ statement: String) throws(PostgresError) {
            var failed: PostgresError?
            while let result = PQgetResult(connection) {
                if PQresultStatus(result) != PGRES_COMMAND_OK, failed == nil { failed = failure(result, statement) }
                PQclear(result)
                if isLost { break }
            }
            if let failed { throw failed }
        }

        private func failure(_ result: OpaquePointer?, _ statement: String) -> PostgresError {
            let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) } ?? ""
            // 57P01 and its like come with the end of the connection.
            if isLost { return .connectionLost(reason: message) }
            let reason = PQresultErrorMessage(result).map { PostgresConnection.oneLine(String(cString: $0)) } ?? message
            return .refused(state: SQLState(state), reason: reason, statement: String(statement.prefix(80)))
        }
    }
#endif
