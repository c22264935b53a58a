import MakoStorage

/// An error of shipping or restoring.
public enum ReplicationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The object store failed.
    case objects(ObjectStoreError)
    /// The database failed.
    case storage(StorageError)
    /// An object is damaged, or does not continue the object before.
    case damaged(object: String, reason: String)
    /// Another database extends the branch, which was this one's. This one must never ship to it again.
    case fenced(branch: UInt64, reason: String)
    /// The log no longer proves that this database continues a branch: it was not kept (``/MakoStorage/StoreOptions/logArchiveBytes``), or files of it are
    /// missing. Ship to a new branch.
    case logGone(branch: UInt64, commit: UInt64)
    /// The commit cannot be restored. `before` and `after` are the nearest ones that can.
    case noRestorePoint(commit: UInt64, before: UInt64?, after: UInt64?)
    /// Retention has deleted the commit. `oldest` is the oldest one that can be restored.
    case notKept(commit: UInt64, oldest: UInt64)
    /// The object store contains no such database, or several and the call names none.
    case noDatabase(reason: String)
    /// The object store has no branch of this number.
    case noBranch(UInt64)
    /// The file is no follower's, or of another database or branch. It is left alone.
    case notFollowing(path: String, reason: String)

    public var description: String {
        switch self {
        case .objects(let error): "\(error)"
        case .storage(let error): "\(error)"
        case .damaged(let object, let reason):
            "the object \(object) cannot be used: \(reason); restore a commit that does not need it, or ship to a new branch"
        case .fenced(let branch, let reason):
            "branch \(branch) is extended by another database: \(reason); stop one of them, or ship this one to a new branch"
        case .logGone(let branch, let commit):
            "the log behind commit \(commit), where branch \(branch) ends, is gone, so that nothing says whether this database continues it; ship it to a new branch"
        case .noRestorePoint(let commit, let before, let after):
            "commit \(commit) cannot be restored by itself; the nearest ones are "
                + [before, after].map { $0.map { "\($0)" } ?? "none" }.joined(separator: " before and ") + " after it"
        case .notKept(let commit, let oldest):
            "commit \(commit) is no longer kept; the oldest one that can be restored is \(oldest)"
        case .noDatabase(let reason): "\(reason); name the database by its identity"
        case .noBranch(let branch): "there is no branch \(branch)"
        case .notFollowing(let path, let reason):
            "\(path) cannot follow: \(reason); it is left as it is: choose another name, or move it away"
        }
    }
}

extension ReplicationError {
    /// The error for an object of a format that a later version of Mako writes.
    static func later(_ object: String, _ found: UInt64, _ supported: UInt64) -> ReplicationError {
        .storage(
            .unsupportedVersion(path: object, found: UInt32(clamping: found), supported: UInt32(clamping: supported)))
    }

    /// Whether an object is of a format that a later version of Mako writes.
    var isOfLaterFormat: Bool {
        guard case .storage(.unsupportedVersion) = self else { return false }
        return true
    }

    /// Whether an object that is there cannot be used: it is damaged, or of a later format.
    var isOfUnusableObject: Bool {
        guard case .damaged = self else { return isOfLaterFormat }
        return true
    }
}

/// Converts errors of the object store and of the engine into errors of replication.
func objects<R>(_ body: () throws(ObjectStoreError) -> R) throws(ReplicationError) -> R {
    do throws(ObjectStoreError) { return try body() } catch { throw .objects(error) }
}

func storage<R>(_ body: () throws(StorageError) -> R) throws(ReplicationError) -> R {
    do throws(StorageError) { return try body() } catch { throw .storage(error) }
}
