/// The access to the keys of a file.
enum KeyAccess {
    /// The user's encryption; nil for none.
    case secret(Encryption?)
    /// The keys of a file that was opened before.
    case known(DatabaseKeys?)

    /// Returns the keys of the database with this header; nil for an unencrypted database.
    func keys(of header: FileHeader, path: String) throws(StorageError) -> DatabaseKeys? {
        guard let record = header.key else {
            if case .secret(_?) = self { throw .notEncrypted(path: path) }
            return nil
        }
        switch self {
        case .secret(let encryption):
            return try DatabaseKeys(opening: record, of: header.id, with: encryption, path: path)
        case .known(let keys):
            guard let keys else { throw .encrypted(path: path) }
            return keys
        }
    }
}
