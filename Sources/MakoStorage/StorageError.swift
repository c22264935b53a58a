/// The errors of the storage engine, grouped by when they occur.
///
/// Each case says what happened and where; `description` adds what to do.
public enum StorageError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    // Opening a file.
    /// There is no database at the path.
    case notFound(path: String)
    /// The file is not a Mako database.
    case notADatabase(path: String, reason: String)
    /// The file has another version of the format.
    case unsupportedVersion(path: String, found: UInt32, supported: UInt32)
    /// The file uses features of the format that this version does not support.
    case unsupportedFeatures(path: String, bits: UInt64)
    /// Another process, or another store of this one, has the file open.
    case alreadyOpen(path: String)
    /// The database is encrypted, and no key was given.
    case encrypted(path: String)
    /// The database is encrypted with another key or passphrase.
    case wrongKey(path: String, reason: String)
    /// A key was given, but the database is not encrypted.
    case notEncrypted(path: String)
    /// This build has no cipher.
    case encryptionUnavailable(path: String)
    /// Salvage only: the identity of the database is lost, so that its pages cannot be verified.
    case identityLost(path: String)
    /// The log does not continue the state of the data file, or is damaged before its end.
    case logDamaged(path: String, reason: String)

    /// An incremental backup does not fit its base.
    case wrongBase(path: String, reason: String)

    // Reading and writing.
    /// A page failed a check: of its checksum, place, write id or inner bounds.
    case corrupted(page: UInt64, reason: String)
    /// A file operation failed.
    case io(FileError)
    /// The device, or the user's quota, is full.
    case diskFull(path: String)
    /// The system refuses access to the file's contents for now; see ``FileProtection``. The transaction was rolled
    /// back.
    case protected(path: String)
    /// The store is read-only: opened so, or since a write or sync of the log failed.
    case readOnly(reason: String)

    /// The commit is durable in this store, but the object store did not confirm it within the timeout. It is published
    /// when it is confirmed, and must not be repeated.
    case unconfirmed(commit: UInt64)
    /// The commits that wait for confirmation take more log than the limit; or the transaction is too large for the log,
    /// and they were not confirmed within the timeout. Nothing was kept of the transaction.
    case unconfirmedLimit(bytes: UInt64)

    // Using the store.
    /// A key exceeds the limit.
    case keyTooLong(bytes: Int, limit: Int)
    /// A value exceeds the limit.
    case valueTooLarge(bytes: Int, limit: Int)
    /// The tree does not exist.
    case treeNotFound(String)
    /// A tree has the name already.
    case treeExists(String)
    /// The tree has keys of the other kind.
    case wrongKeyKind(tree: String, expected: KeyKind)
    /// Other writers did not end within the timeout.
    case writerTimeout(seconds: Double)
    /// The snapshot exceeded the age limit.
    case snapshotExpired(limitSeconds: Double)
    /// The store, or the snapshot of it, is closed.
    case closed(path: String)
    /// The store is suspended, or was when the snapshot was open; see ``Store/suspend(timeout:)``.
    case suspended(path: String)
    /// Another file, or an older state of the database, has taken the place of the file of a suspended store.
    case replaced(path: String)
    /// The process is the child of a fork whose parent opened the store.
    case inherited(path: String)
    /// An argument is invalid.
    case invalidArgument(String)

    public var description: String {
        switch self {
        case .notFound(let path):
            "no database at \(path); check the path, or open it for writing to create it"
        case .notADatabase(let path, let reason):
            "\(path) is not a Mako database: \(reason)"
        case .unsupportedVersion(let path, let found, let supported):
            "\(path) has format version \(found), this build reads version \(supported); open it with the version of Mako that wrote it"
        case .unsupportedFeatures(let path, let bits):
            "\(path) uses features of the file format (bits \(bits)) that this build does not know; open it with the version of Mako that wrote it"
        case .alreadyOpen(let path):
            "\(path) is in use elsewhere, and a writer needs it alone; close it there first"
        case .encrypted(let path):
            "\(path) is encrypted; open it with its key or passphrase"
        case .wrongKey(let path, let reason):
            "\(path) does not open with this key: \(reason); the database itself is as it was"
        case .notEncrypted(let path):
            "\(path) is not encrypted, though a key was given; open it without one, and copy it with one to encrypt it"
        case .encryptionUnavailable(let path):
            "\(path) needs encryption, which this build of Mako was made without; build it with the package trait Encryption"
        case .identityLost(let path):
            "both copies of the header of \(path) are lost, and no log file beside it has the database's identity, without which its pages cannot be checked; put its log files beside it, or restore a backup"
        case .logDamaged(let path, let reason):
            "the log of \(path) cannot be used: \(reason); restore the log files beside the database, or a backup, or salvage what can be read"
        case .wrongBase(let path, let reason):
            "\(path) does not fit the backup it is to build on: \(reason); use the backups in the order in which they were made, unchanged"
        case .corrupted(let page, let reason):
            "page \(page) is damaged: \(reason); run a check, then restore a backup or salvage what can be read"
        case .io(let error) where error.operation == "create" && error.isNotFound && error.hasTilde:
            "\(error.path) cannot be created: its directory does not exist, since '~' means the home directory in shells alone; write the path in full"
        case .io(let error) where error.operation == "create" && error.isNotFound:
            "\(error.path) cannot be created: its directory does not exist; make the directory first"
        case .io(let error) where error.isDenied:
            "\(error); a database that is written needs a writable file in a writable directory; one that is opened with readOnly needs a readable file only"
        case .io(let error):
            "\(error)"
        case .diskFull(let path):
            "no space left on the device of \(path), and nothing was kept of what failed; free some space there, or, where the database itself is full, "
                + "drop or empty a table, or delete rows a few at a time, at worst one by one: some pages are kept back for that"
        case .protected(let path):
            "the system does not permit to read or write \(path) now, as it does with protected files while a device is locked; try again when it is unlocked; nothing of the failed transaction was kept"
        case .readOnly(let reason):
            "the store is read-only: \(reason)"
        case .unconfirmed(let commit):
            "commit \(commit) is durable here, but the object store did not confirm it in time; it becomes visible when it is confirmed, so do not repeat it"
        case .unconfirmedLimit(let bytes):
            "\(bytes) bytes of log wait for the object store, too many for this transaction, of which nothing was kept; try again when it answers"
        case .keyTooLong(let bytes, let limit):
            "a key of \(bytes) bytes is longer than the limit of \(limit) bytes"
        case .valueTooLarge(let bytes, let limit):
            "a value of \(bytes) bytes is larger than the limit of \(limit) bytes"
        case .treeNotFound(let name):
            "there is no tree \(name) in this snapshot"
        case .treeExists(let name):
            "a tree named \(name) exists already"
        case .wrongKeyKind(let tree, let expected):
            "the keys of tree \(tree) are \(expected == .integer ? "64-bit integers" : "bytes")"
        case .writerTimeout(let seconds):
            "another write transaction held the writer lock for more than \(seconds) seconds"
        case .snapshotExpired(let limit):
            "the snapshot is older than the limit of \(limit) seconds and was ended; take a new one"
        case .closed(let path):
            "the store or snapshot of \(path) is closed"
        case .suspended(let path):
            "the store of \(path) is suspended, or was while the snapshot was open; call resume(), and take new snapshots"
        case .replaced(let path):
            "\(path) was replaced by another file, or by an older state, while its store was suspended; close the store and open the file again"
        case .inherited(let path):
            "the store of \(path) was opened by the parent of this process, before the fork, and is the parent's alone; open it in the child, once the parent has closed it"
        case .invalidArgument(let what):
            what
        }
    }

    /// Converts a file error: a full disk, a protected file, and a path that is no file have cases of their own.
    init(_ error: FileError) {
        if error.isOfNoFile {
            self = .notADatabase(path: error.path, reason: "it is a device, a pipe or a socket")
        } else if error.isNoSpace {
            self = .diskFull(path: error.path)
        } else {
            self = error.isRefusal ? .protected(path: error.path) : .io(error)
        }
    }

    static func timedOut(after timeout: Duration) -> StorageError {
        .writerTimeout(seconds: timeout.seconds)
    }

    static func expired(after limit: Duration) -> StorageError { .snapshotExpired(limitSeconds: limit.seconds) }
}

/// Runs a file operation, and throws its failure as a storage error.
@inline(__always)
func storage<R>(_ body: () throws(FileError) -> R) throws(StorageError) -> R {
    do { return try body() } catch { throw StorageError(error) }
}

/// Wraps a throwing body in a result, to pass a typed error through closures that rethrow untyped.
@inline(__always)
func result<R>(_ body: () throws(StorageError) -> R) -> Result<R, StorageError> {
    do { return .success(try body()) } catch { return .failure(error) }
}
