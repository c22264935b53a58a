import MakoPostgres
import MakoRecords
import MakoReplication
import MakoStorage

/// An error message of the program, and its exit status.
struct Failure: Error {
    /// The exit statuses; those from 64 on are of BSD's sysexits.
    enum Status: Int32 {
        case damaged = 1
        case usage = 64
        case badInput = 65
        case noInput = 66
        case other = 70
        case inputOutput = 74
        case inUse = 75
    }

    var message: String
    var status: Status

    init(_ message: String, _ status: Status) {
        self.message = message
        self.status = status
    }

    init(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as InputError: self.init(error.description, error.isMissing ? .noInput : .badInput)
        case let error as RecordError: self.init(error.description, Self.status(of: error))
        case let error as StorageError: self.init(error.description, Self.status(of: error))
        case let error as ReplicationError: self.init(error.description, Self.status(of: error))
        case let error as PostgresError: self.init(error.description, Self.status(of: error))
        case let error as ObjectStoreError: self.init(error.description, Self.status(of: error))
        default: self.init("\(error)", .other)
        }
    }

    private static func status(of error: ReplicationError) -> Status {
        switch error {
        case .storage(let error): status(of: error)
        case .objects(let error): status(of: error)
        case .damaged: .damaged
        case .noRestorePoint, .notKept, .noDatabase, .noBranch: .noInput
        case .fenced, .logGone, .notFollowing: .badInput
        }
    }

    private static func status(of error: PostgresError) -> Status {
        switch error {
        case .unreachable, .connectionLost: .inputOutput
        case .refused, .encoding, .value, .name, .query, .historyNotKept, .foreign, .outdated: .badInput
        case .inUse, .cancelled: .other
        case .records(let error): status(of: error)
        }
    }

    private static func status(of error: ObjectStoreError) -> Status {
        switch error {
        case .notFound: .noInput
        case .setup, .foreign, .invalidName: .usage
        case .unavailable, .refused, .source, .exists, .changed: .inputOutput
        }
    }

    private static func status(of error: RecordError) -> Status {
        switch error {
        case .storage(let error): status(of: error)
        case .rowDamaged, .indexDamaged, .catalogueDamaged: .damaged
        default: .badInput
        }
    }

    private static func status(of error: StorageError) -> Status {
        switch error {
        case .notFound: .noInput
        case .invalidArgument: .usage
        case .notADatabase, .unsupportedVersion, .unsupportedFeatures: .badInput
        case .corrupted, .logDamaged, .identityLost: .damaged
        case .wrongBase, .encrypted, .wrongKey, .notEncrypted, .encryptionUnavailable: .badInput
        case .alreadyOpen, .writerTimeout: .inUse
        case .io, .diskFull, .protected: .inputOutput
        default: .other
        }
    }
}
