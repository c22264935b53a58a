import MakoStorage

/// The property lock, which identifies the database's encryption key, in the catalogue's tree under the key 00 01. See
/// `ValueCipher`.
extension Catalogue {
    private static let lockKey: [UInt8] = [0, 1]

    package static func propertyLock(in view: Snapshot) throws(RecordError) -> [UInt8]? {
        guard let tree = view.tree(named: treeName) else { return nil }
        return try engine { () throws(StorageError) in try view.get(lockKey, in: tree) }
    }

    /// Stores the property lock. It never changes: values encrypted before could not be decrypted with another key.
    package static func setPropertyLock(_ lock: [UInt8], in tx: borrowing WriteTransaction) throws(RecordError) {
        let tree = try StoredCatalogue.trees(tx).catalogue
        try engine { () throws(StorageError) in try tx.put(lock, for: lockKey, in: tree) }
    }
}
