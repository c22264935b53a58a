import MakoStorage

// The catalogue's entry of a view, under the key 02 + name; texts and numbers are encoded as in TableRecord:
//
//   format (1) = 1, column count (4), names of the columns (none for those of the query), the text of the SELECT
//
// Programs without support for views ignore these entries.

extension ViewSchema {
    private static let format: UInt8 = 1

    private var key: [UInt8] { [2] + Array(name.utf8) }

    /// Returns all views of the file, sorted by name.
    static func stored(in view: Snapshot) throws(RecordError) -> [ViewSchema] {
        guard let tree = view.tree(named: Catalogue.treeName) else { return [] }
        var found: [ViewSchema] = []
        for (key, bytes) in try StoredCatalogue.entries(tree, from: [2], to: [3], view) {
            found.append(try ViewSchema(String(decoding: key.dropFirst(), as: UTF8.self), bytes))
        }
        return found
    }

    /// Returns the view of a name, in any case.
    static func stored(named name: String, in view: Snapshot) throws(RecordError) -> ViewSchema? {
        let folded = Folding.folded(name)
        return try stored(in: view).first { Folding.folded($0.name) == folded }
    }

    private init(_ name: String, _ bytes: [UInt8]) throws(RecordError) {
        var source = ByteSource(bytes, what: "view \(name)")
        guard try source.byte() == ViewSchema.format else {
            throw .catalogueDamaged(reason: "view \(name) has another format")
        }
        var names: [String] = []
        for _ in 0..<(try source.count()) { names.append(try source.text()) }
        self.init(name: name, columns: names.isEmpty ? nil : names, text: try source.text())
        if !source.isAtEnd { throw source.damaged }
    }

    /// Removes views that cannot be decoded, so that the rest of the catalogue is usable.
    ///
    /// - Returns: the fault of each.
    static func removeUnreadable(in tx: borrowing WriteTransaction) throws(RecordError) -> [String] {
        guard let tree = tx.view.tree(named: Catalogue.treeName) else { return [] }
        var findings: [String] = []
        for (key, bytes) in try StoredCatalogue.entries(tree, from: [2], to: [3], tx.view) {
            let name = String(decoding: key.dropFirst(), as: UTF8.self)
            do throws(RecordError) { _ = try ViewSchema(name, bytes) } catch {
                findings.append("view \(name) is left out: \(error)")
                _ = try engine { () throws(StorageError) in try tx.delete(key, in: tree) }
            }
        }
        return findings
    }

    func store(in tx: borrowing WriteTransaction) throws(RecordError) {
        let tree = try StoredCatalogue.trees(tx).catalogue
        var sink = ByteSink()
        sink.byte(ViewSchema.format)
        sink.number(UInt32(columns?.count ?? 0))
        for column in columns ?? [] { sink.text(column) }
        sink.text(text)
        let bytes = sink.bytes
        try engine { () throws(StorageError) in try tx.put(bytes, for: key, in: tree) }
    }

    func remove(in tx: borrowing WriteTransaction) throws(RecordError) {
        let tree = try StoredCatalogue.trees(tx).catalogue
        _ = try engine { () throws(StorageError) in try tx.delete(key, in: tree) }
    }
}
