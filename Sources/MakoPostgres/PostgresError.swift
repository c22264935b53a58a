import MakoRecords
import MakoStorage

/// An error of the PostgreSQL mirror or export; the description says what to do.
public enum PostgresError: Error, Sendable, Hashable {
    /// No connection could be made.
    case unreachable(reason: String)
    /// The database of the server has another encoding than UTF8, such as `SQL_ASCII`, in which functions of texts have other results.
    case encoding(String)
    /// The connection ended during a statement. The transaction was rolled back, or, if the statement was COMMIT, may
    /// have committed: the next step reads the token, and knows.
    case connectionLost(reason: String)
    /// The server refused a statement.
    case refused(state: SQLState, reason: String, statement: String)
    /// The server has no form for a value.
    case value(table: String, column: String, key: String, reason: String)
    /// The server has no form for a table or a column.
    case name(String, reason: String)
    /// The database keeps no history, without which the changes between two commits are not known.
    case historyNotKept
    /// The schema of the server has the mirror of another database, or of another history of this one.
    case foreign(schema: String)
    /// A table of the mirror is not that of the database, which has changed since the last step.
    case outdated(table: String)
    /// The connection has an open transaction, from whose `progress` it was used.
    case inUse
    /// The caller ended the step.
    case cancelled
    /// PostgreSQL has no form for a query, or for a part of it.
    case query(reason: String)
    /// The database could not be read.
    case records(RecordError)

    /// Whether repeating the step may succeed.
    public var isTransient: Bool {
        switch self {
        case .unreachable, .connectionLost: true
        case .refused(let state, _, _): state.isTransient
        case .encoding, .value, .name, .historyNotKept, .foreign, .outdated, .inUse, .cancelled, .query, .records: false
        }
    }
}

extension PostgresError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(let reason): "PostgreSQL cannot be reached: \(reason)"
        case .encoding(let encoding):
            "the database of the server has the encoding \(encoding), in which texts have other lengths and places than in Mako: use one that was made by CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        case .connectionLost(let reason):
            "the connection to PostgreSQL was lost: \(reason); try again, the next step goes on at the stored token"
        case .refused(let state, let reason, let statement):
            "PostgreSQL refused \(statement): \(reason) (SQLSTATE \(state.code))\(state.remedy.map { "; \($0)" } ?? "")"
        case .value(let table, let column, let key, let reason):
            "the value of \(table).\(column) in row \(key) \(reason); change the value, or leave the table out"
        case .name(let name, let reason): "'\(name)' cannot be a name in PostgreSQL: \(reason); rename it"
        case .historyNotKept:
            "the database keeps no history, which a mirror needs: begin one with 'mako history FILE --keep COMMITS', or DatabaseOptions.history"
        case .foreign(let schema):
            "the schema \(schema) has the mirror of another database or history: use another schema, or replace it with --reload"
        case .outdated(let table):
            "the mirror has other columns of \(table) than the database, or none: run a step of the mirror, and repeat the query"
        case .inUse:
            "the connection to PostgreSQL is in a step or a query of a mirror: run this after it, or on a mirror with a connection of its own"
        case .cancelled: "the step was cancelled; nothing of it was stored"
        case .query(let reason): "PostgreSQL has no form for the query: \(reason); run it in the database"
        case .records(let error): error.description
        }
    }
}

/// A code of PostgreSQL's table of errors.
public struct SQLState: Sendable, Hashable {
    /// Five digits and capital letters, such as `42P07`.
    public let code: String

    /// Makes a state of its code.
    public init(_ code: String) { self.code = code }

    /// Whether repeating the transaction may succeed: lost connections, conflicts, locks, full resources, a server that
    /// starts or ends.
    public var isTransient: Bool {
        ["08", "40", "53", "57"].contains(String(code.prefix(2))) || code == "55P03"
    }

    /// What to do, where the message of the server does not say it.
    public var remedy: String? {
        switch code {
        case "23505": "drop the unique index, which PostgreSQL has and Mako has not"
        case "25006": "use the primary server, not a standby"
        case "2BP01": "drop the views of the table, and create them again after the step"
        case "28000", "28P01": "check the user and the password"
        case "3D000": "create the database"
        case "42501": "grant the user the right, or use a schema that it owns"
        case "42P07": "the table is not of this mirror: rename it, or use another schema"
        default: code.hasPrefix("53") ? "free the resource, and try again" : isTransient ? "try again" : nil
        }
    }
}

/// Runs a body, and throws its errors as those of this module.
func named<R>(_ body: () throws -> R) throws(PostgresError) -> R {
    do { return try body() } catch let error as PostgresError { throw error } catch {
        throw .records(RecordError(any: error))
    }
}
