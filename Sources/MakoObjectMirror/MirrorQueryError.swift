import MakoCore
import MakoPostgres

/// An error of a typed query on the mirror.
public enum MirrorQueryError: Error, Sendable, Hashable {
    /// The query is invalid, or the database or a value cannot be read.
    case database(MakoError)
    /// PostgreSQL has no form for the query, or does not answer; the tables of the mirror are not those of the database.
    case mirror(PostgresError)
    /// The query is for another database than that of the mirror.
    case otherDatabase(entity: String)
}

extension MirrorQueryError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .database(let error): error.description
        case .mirror(let error): error.description
        case .otherDatabase(let entity):
            "the query is for the database of \(entity), and the mirror has another one: query by db.query(\(entity).self) of the mirrored database"
        }
    }
}
