import MakoStorage

extension ReferenceRules {
    private static let storedKey: [UInt8] = [0, 3]

    static func stored(in view: Snapshot) throws(RecordError) -> ReferenceRules {
        guard let tree = view.tree(named: Catalogue.treeName),
            let bytes = try engine({ () throws(StorageError) in try view.get(storedKey, in: tree) })
        else { return ReferenceRules() }
        return try ReferenceRules(bytes).resolved(TargetNames(StoredCatalogue.entries(in: view).map(\.name)))
    }

    func store(in tx: borrowing WriteTransaction) throws(RecordError) {
        let tree = try StoredCatalogue.trees(tx).catalogue
        let bytes = encoded
        do throws(StorageError) {
            if isEmpty {
                _ = try tx.delete(Self.storedKey, in: tree)
                return
            }
            try tx.use(.referenceRules)
            try tx.put(bytes, for: Self.storedKey, in: tree)
        } catch { throw .storage(error) }
    }

    /// Marks a file with a copied catalogue as one whose delete rules a writer must apply.
    static func announce(in tx: borrowing WriteTransaction) throws(RecordError) {
        if try stored(in: tx.view).isEmpty { return }
        try engine { () throws(StorageError) in try tx.use(.referenceRules) }
    }
}

extension Catalogue {
    /// Returns the catalogue with other delete rules, which are stored if they differ from the present ones.
    package func adopting(
        _ rules: ReferenceRules, in tx: borrowing WriteTransaction
    ) throws(RecordError) -> Catalogue {
        let fitting = rules.fitting(tables)
        if fitting == self.rules { return self }
        try fitting.store(in: tx)
        return with(fitting)
    }
}
