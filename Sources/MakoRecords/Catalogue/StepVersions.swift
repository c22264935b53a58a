import MakoStorage

/// The version of each table's manual steps: 8 bytes in the catalogue's tree, under the key 00 and the table's number
/// (4, big endian); a table without an entry is at version 0. Separate from the table's entry, because older programs
/// could not decode it there; they leave versions unchanged.
extension StoredCatalogue {
    private static func versionKey(_ table: UInt32) -> [UInt8] {
        [0] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: table >> $0) }
    }

    static func stepVersion(of table: UInt32, in view: Snapshot) throws(RecordError) -> UInt64 {
        guard let tree = view.tree(named: Catalogue.treeName) else { return 0 }
        let bytes = try engine { () throws(StorageError) in try view.get(versionKey(table), in: tree) }
        guard let bytes else { return 0 }
        var source = ByteSource(bytes, what: "the version of table \(table)")
        let version: UInt64 = try source.number()
        guard source.isAtEnd else { throw source.damaged }
        return version
    }

    static func setStepVersion(
        _ version: UInt64, of table: UInt32, _ catalogue: Tree, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        var sink = ByteSink()
        sink.number(version)
        let bytes = sink.bytes
        try engine { () throws(StorageError) in try tx.put(bytes, for: versionKey(table), in: catalogue) }
    }

    static func forgetStepVersion(
        of table: UInt32, _ catalogue: Tree, _ tx: borrowing WriteTransaction
    ) throws(StorageError) {
        _ = try tx.delete(versionKey(table), in: catalogue)
    }
}
