import MakoStorage

/// Preserves references across dropping a table and creating it again with other rows: references to its rows, and rows
/// that they owned.
///
///     var replacement = try TableReplacement(of: table, catalogue, tx.view)
///     _ = try Catalogue.dropTable(table.schema.name, isReplaced: true, in: tx)
///     …
///     try replacement.finish(catalogue, in: tx)
package struct TableReplacement {
    private let table: TableHandle
    private let rules: ReferenceRules
    /// The old rows' keys; empty if no row refers to them.
    private var keys: [RowKey] = []
    /// The rows that the old rows owned.
    private var owned: [RowPlace] = []
    /// The tables whose rows were changed or deleted, because old rows are gone.
    package private(set) var changedTables: Set<String> = []

    /// Records the rows of a table before it is dropped.
    ///
    /// - Parameter keepsKeys: whether a new row replaces the old one with its key; otherwise no old row may be
    ///   referenced.
    /// - Throws: `RecordError.referenced`.
    package init(
        of table: TableHandle, keepsKeys: Bool, _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) {
        self.table = table
        rules = catalogue.rules
        let removal = RowRemoval(catalogue)
        if try removal.concernsRowsAlone(table, view) { return }
        // A list of rows of any table has the number of each row's table, which changes.
        let areNumbered = try catalogue.referrers(of: table).contains { $0.holdsMany && $0.isAny }
        if !keepsKeys || areNumbered { try removal.refuseReferences(to: table, view) }
        keys = keepsKeys && !areNumbered ? try table.allKeys(in: view) : []
        guard let columns = try catalogue.ownedColumns(of: table) else { return }
        for key in try table.allKeys(in: view) { owned += try columns.rows(ownedBy: key, catalogue, view) }
    }

    /// Applies the delete rules to references to rows that the new table lacks, and deletes rows that only old rows
    /// owned.
    ///
    /// - Parameter catalogue: the catalogue with the new table and its rows.
    /// - Throws: `RecordError.referenced`.
    package mutating func finish(_ catalogue: Catalogue, in tx: borrowing WriteTransaction) throws(RecordError) {
        if keys.isEmpty && owned.isEmpty { return }
        let catalogue = try keepingRules(catalogue, tx)
        let new = try catalogue.requireTable(table.schema.name)
        var removal = RowRemoval(catalogue)
        var changes = ChangeSet()
        for key in keys where try !new.contains(key, in: tx.view) {
            _ = try removal.delete(key, of: new, tx, &changes)
        }
        removal.noteReleased(owned.filter { $0.table != table.number })
        try removal.finish(tx, &changes)
        changedTables = Set(changes.changes.map(\.table))
    }

    /// Returns the delete rules, with those of referring columns that have the same names as before.
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
