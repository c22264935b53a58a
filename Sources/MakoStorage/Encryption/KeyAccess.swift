/// What an encrypted file is read with.
enum KeyAccess {
    /// What the user gave; nil for nothing.
    case secret(Encryption?)
    /// The keys of a file that was opened before, to look at it again.
    case known(DatabaseKeys?)

    /// The keys of the database with this header. Nil for one that is not encrypted.
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
