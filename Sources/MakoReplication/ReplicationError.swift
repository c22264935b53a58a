import MakoStorage

/// Why a log could not be shipped, or a database not be restored.
public enum ReplicationError: Error, Sendable, Hashable, CustomStringConvertible {
    case objects(ObjectStoreError)
    case storage(StorageError)
    /// An object is not what was put there, or does not belong to what is before it.
    case damaged(object: String, reason: String)
    /// Another database extends the branch. This one must not ship to it any more.
    case fenced(branch: UInt64, reason: String)
    /// The log no longer says whether this database continues a branch.
    case logGone(branch: UInt64, commit: UInt64)
    /// The commit is on no object. The nearest ones that can be restored, where there are any.
    case noRestorePoint(commit: UInt64, before: UInt64?, after: UInt64?)
    /// No database, or none of this identity, was shipped there; or there are several and none was named.
    case noDatabase(reason: String)
    case noBranch(UInt64)

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
        case .noDatabase(let reason): "\(reason); name the database by its identity"
        case .noBranch(let branch): "there is no branch \(branch)"
        }
    }
}

/// Runs calls of the object store, or of the engine, and gives their failures in the terms of replication.
func objects<R>(_ body: () throws(ObjectStoreError) -> R) throws(ReplicationError) -> R {
    do throws(ObjectStoreError) { return try body() } catch { throw .objects(error) }
}

func storage<R>(_ body: () throws(StorageError) -> R) throws(ReplicationError) -> R {
    do throws(StorageError) { return try body() } catch { throw .storage(error) }
}
