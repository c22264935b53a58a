import MakoStorage

/// The naming rule of the database's tables, in the catalogue's tree under the key 00 02; absent if tables have the
/// names of their types.
extension Catalogue {
    private static let namingKey: [UInt8] = [0, 2]

    package static func tableNaming(in view: Snapshot) throws(RecordError) -> String? {
        guard let tree = view.tree(named: treeName),
            let bytes = try engine({ () throws(StorageError) in try view.get(namingKey, in: tree) })
        else { return nil }
        guard bytes.first == 1 else { throw .catalogueDamaged(reason: "the naming of tables has an unknown format") }
        return String(decoding: bytes.dropFirst(), as: UTF8.self)
    }

    package static func setTableNaming(_ name: String, in tx: borrowing WriteTransaction) throws(RecordError) {
        let tree = try StoredCatalogue.trees(tx).catalogue
        try engine { () throws(StorageError) in try tx.put([1] + Array(name.utf8), for: namingKey, in: tree) }
    }
}
