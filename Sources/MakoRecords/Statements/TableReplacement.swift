import MakoStorage

/// What a table leaves behind that is dropped and made anew with other rows: references to its rows, and rows that its rows owned.
///
///     var replacement = try TableReplacement(of: table, catalogue, tx.view)
///     _ = try Catalogue.dropTable(table.schema.name, in: tx)
///     …
///     try replacement.finish(catalogue, in: tx)
public struct TableReplacement {
    private let table: TableHandle
    private let rules: ReferenceRules
    /// The keys of the rows before; none where no row refers to them.
    private var keys: [RowKey] = []
    /// What the rows before owned.
    private var owned: [RowPlace] = []
    /// The tables whose rows were changed or deleted because the rows before are gone.
    public private(set) var changedTables: Set<String> = []

    /// - Parameter keepsKeys: whether a row of the new table that has the key of one before takes its place; else no row may be referred to.
    /// - Throws: `RecordError.referenced`.
    public init(
        of table: TableHandle, keepsKeys: Bool, _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) {
        self.table = table
        rules = catalogue.rules
        let removal = RowRemoval(catalogue)
        if try removal.concernsRowsAlone(table, view) { return }
        // A list of rows of any table has the number of each row's table, and the new table has another one.
        let areNumbered = try catalogue.referrers(of: table).contains { $0.holdsMany && $0.isAny }
        if !keepsKeys || areNumbered { try removal.refuseReferences(to: table, view) }
        keys = keepsKeys && !areNumbered ? try table.allKeys(in: view) : []
        guard let columns = try catalogue.ownedColumns(of: table) else { return }
        for key in try table.allKeys(in: view) { owned += try columns.rows(ownedBy: key, catalogue, view) }
    }

    /// Does to rows that refer to a row which the new table has not what the delete rules say, and deletes rows that were owned by the rows before
    /// and by none of the new ones.
    ///
    /// - Parameter catalogue: with the new table, whose rows are stored.
    /// - Throws: `RecordError.referenced`.
    public mutating func finish(_ catalogue: Catalogue, in tx: borrowing WriteTransaction) throws(RecordError) {
        if keys.isEmpty && owned.isEmpty { return }
        let catalogue = try keepingRules(catalogue, tx)
        let new = try catalogue.requireTable(table.schema.name)
        var removal = RowRemoval(catalogue)
        var changes = ChangeSet()
        for key in keys where try !new.contains(key, in: tx.view) {
            _ = try removal.delete(key, of: new, tx, &changes)
        }
        removal.letGo(of: owned.filter { $0.table != table.number })
        try removal.finish(tx, &changes)
        changedTables = Set(changes.changes.map(\.table))
    }

    /// The delete rules of columns that refer as those of the same names did.
    private func keepingRules(
        _ catalogue: Catalogue, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> Catalogue {
        let name = table.schema.name
        var kept = catalogue.rules
        for column in try catalogue.requireTable(name).schema.liveColumns {
            guard let target = column.target, let entry = rules.entry(name, column.name, target: target) else {
                continue
            }
            kept.set(entry, table: name, column: column.name, target: target)
        }
        return kept == catalogue.rules ? catalogue : try catalogue.adopting(kept, in: tx)
    }
}
