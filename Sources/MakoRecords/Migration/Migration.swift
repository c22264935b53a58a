import MakoStorage

/// A step from the stored schema to the declared one.
public enum MigrationStep: Sendable, Hashable, CustomStringConvertible {
    /// A new table.
    case createTable(String)
    /// A new name of the table.
    case renameTable(from: String, to: String)
    /// A new column.
    case addColumn(String)
    /// A new name of a column.
    case renameColumn(from: String, to: String)
    /// A column that the declared schema lacks is hidden; its values are kept.
    case retireColumn(String)
    /// A retired column is live again, with its values.
    case restoreColumn(String)
    /// A retired column is dropped; its values become unreachable.
    case removeColumn(String)
    /// A change of a column's type, which converts its values.
    case changeColumn(String, from: ColumnType, to: ColumnType)
    /// The values of a column are encrypted.
    case encryptColumn(String)
    /// The values of an encrypted column are stored in plain.
    case decryptColumn(String)
    /// A change of whether the column may be NULL, of its default or of its target.
    case changeColumnRules(String)
    /// A change of the order of columns, or of the name of the row id column.
    case reorder
    /// A new index, built from the rows.
    case addIndex(String)
    /// An index is removed.
    case dropIndex(String)
    /// A change of the primary key; references are rewritten.
    case changeKey(from: [String], to: [String])
    /// The row ids, which are not the key any more, become a column.
    case keepIDs(String)
    /// A column's references are rewritten after the keys of a table have changed.
    case followKeys(String, of: String)
    /// A manual step, as text.
    case byHand(String)

    public var description: String {
        switch self {
        case .createTable(let name): "create table \(name)"
        case .renameTable(let old, let new): "rename table \(old) to \(new)"
        case .addColumn(let name): "add column \(name)"
        case .renameColumn(let old, let new): "rename column \(old) to \(new)"
        case .retireColumn(let name): "retire column \(name)"
        case .restoreColumn(let name): "restore column \(name)"
        case .removeColumn(let name): "remove column \(name)"
        case .changeColumn(let name, let from, let to): "convert column \(name) from \(from.name) to \(to.name)"
        case .encryptColumn(let name): "encrypt column \(name)"
        case .decryptColumn(let name): "decrypt column \(name)"
        case .changeColumnRules(let name): "change the rules of column \(name)"
        case .reorder: "note the new order of columns"
        case .addIndex(let name): "add index \(name)"
        case .dropIndex(let name): "drop index \(name)"
        case .changeKey(let old, let new):
            "change the key from \(old.joined(separator: ", ")) to \(new.joined(separator: ", "))"
        case .keepIDs(let name): "keep the ids in column \(name)"
        case .followKeys(let name, let table): "have column \(name) refer to the new keys of \(table)"
        case .byHand(let text): text
        }
    }
}

/// The steps of a migration, executed or planned.
package struct MigrationReport: Sendable, Hashable, CustomStringConvertible {
    /// The name of the table.
    package var table: String
    /// The steps, in order.
    package var steps: [MigrationStep]
    /// The number of rows of the table.
    package var rows: Int

    package init(table: String, steps: [MigrationStep], rows: Int) {
        (self.table, self.steps, self.rows) = (table, steps, rows)
    }

    /// Whether there is nothing to do.
    package var isEmpty: Bool { steps.isEmpty }

    /// Whether one of the steps is a manual one.
    package var isByHand: Bool {
        steps.contains { if case .byHand = $0 { true } else { false } }
    }

    /// Whether the primary key changes, so that references in any table may.
    package var changesKey: Bool {
        steps.contains { if case .changeKey = $0 { true } else { false } }
    }

    /// Whether the values of existing rows may change.
    package var changesRows: Bool {
        steps.contains { step in
            switch step {
            case .createTable, .reorder, .addIndex, .dropIndex: false
            default: true
            }
        }
    }

    package var description: String {
        if steps.isEmpty { return "\(table): nothing to do" }
        return "\(table) (\(rows) rows): " + steps.map(\.description).joined(separator: ", ")
    }
}

extension Catalogue {
    /// Migrates a stored table to a declared schema without manual steps, inside the caller's transaction. The version
    /// of its manual steps stays.
    ///
    /// Adding, retiring, restoring and renaming a column rewrites no row; a change of type converts every row; new
    /// indexes are built; a change of the primary key rewrites all rows, and those that refer to them. A column that
    /// the declared schema lacks is retired: hidden, with its values kept, unless `dropsRetired` is true.
    ///
    /// - Throws: `incompatibleSchema`, `conversionFailed`, `duplicateKey`, `uniqueViolation` while building an index.
    ///   The caller must then roll back.
    package static func migrate(
        to wanted: EntitySchema, dropsRetired: Bool = false, in tx: borrowing WriteTransaction
    ) throws(RecordError) -> MigrationReport {
        var table = TableMigration(wanted, dropsRetired: dropsRetired)
        table.keepsVersion = true
        let reports = try migrate([table], in: tx)
        return reports.first ?? MigrationReport(table: wanted.name, steps: [], rows: 0)
    }
}
