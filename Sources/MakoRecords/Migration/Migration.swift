import MakoStorage

/// One step from a stored schema to the wanted one.
public enum MigrationStep: Sendable, Hashable, CustomStringConvertible {
    case createTable(String)
    case renameTable(from: String, to: String)
    case addColumn(String)
    case renameColumn(from: String, to: String)
    case retireColumn(String)
    case restoreColumn(String)
    /// A retired column is given up; its bytes cannot be reached any more.
    case removeColumn(String)
    case changeColumn(String, from: ColumnType, to: ColumnType)
    /// The values of a column are encrypted from now on.
    case encryptColumn(String)
    case decryptColumn(String)
    /// Whether the column may be NULL, its default or its target.
    case changeColumnRules(String)
    /// Another order of columns, or another name of the id column.
    case reorder
    case addIndex(String)
    case dropIndex(String)
    /// Rows get other keys, and whoever refers to them finds them under these.
    case changeKey(from: [String], to: [String])
    /// A column takes the ids that rows had as their keys.
    case keepIDs(String)
    /// A column's references go to the other keys that rows of a table get.
    case followKeys(String, of: String)
    /// A step that its user asked for, in words.
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

/// What a migration did, or would do.
public struct MigrationReport: Sendable, Hashable, CustomStringConvertible {
    public var table: String
    public var steps: [MigrationStep]
    /// How many rows the table has.
    public var rows: Int

    public var isEmpty: Bool { steps.isEmpty }

    /// Whether a step was asked for by hand.
    public var isByHand: Bool {
        steps.contains { if case .byHand = $0 { true } else { false } }
    }

    /// Whether rows got other keys, so that rows of any table may refer to others.
    public var changesKey: Bool {
        steps.contains { if case .changeKey = $0 { true } else { false } }
    }

    /// Whether rows that were there may look different, to somebody who reads all their columns.
    public var changesRows: Bool {
        steps.contains { step in
            switch step {
            case .createTable, .reorder, .addIndex, .dropIndex: false
            default: true
            }
        }
    }

    public var description: String {
        if steps.isEmpty { return "\(table): nothing to do" }
        return "\(table) (\(rows) rows): " + steps.map(\.description).joined(separator: ", ")
    }
}

extension Catalogue {
    /// Brings a stored table to the wanted schema, inside the caller's transaction.
    ///
    /// Adding, retiring, restoring and renaming a column rewrite no row; changing a type converts every row; new indexes are built; with
    /// another key all rows are written anew, and those that refer to them. A column that the wanted schema does not have is retired: hidden, its bytes kept, until `dropsRetired` says otherwise.
    /// - Throws: `incompatibleSchema`, `conversionFailed`, `duplicateKey`, `uniqueViolation` while building an index. Roll the transaction back then.
    public static func migrate(
        to wanted: EntitySchema, dropsRetired: Bool = false, in tx: borrowing WriteTransaction
    ) throws(RecordError) -> MigrationReport {
        try migrate(to: wanted, dropsRetired: dropsRetired, loadingFrom: BulkLoading.fewestEntries, in: tx)
    }

    /// The same for tests of small tables.
    ///
    /// - Parameter fewestLoaded: rows of a table from which on they are loaded in bulk.
    package static func migrate(
        to wanted: EntitySchema, dropsRetired: Bool = false, loadingFrom fewestLoaded: Int,
        in tx: borrowing WriteTransaction
    ) throws(RecordError) -> MigrationReport {
        var plan = try MigrationPlan(wanted, dropsRetired, try StoredCatalogue.records(in: tx.view), tx.view)
        if plan.steps.isEmpty { return plan.report }
        let trees = try StoredCatalogue.trees(tx)
        let id = try plan.record.id != 0 ? plan.record.id : StoredCatalogue.takeTableID(trees.catalogue, tx)
        guard plan.newKey != nil else {
            try TableRewrite(plan, nil, id: id, trees, RowIDSequences(nil), .none, fewestLoaded: fewestLoaded).run(tx)
            return plan.report
        }
        let number = try StoredCatalogue.takeTableID(trees.catalogue, tx)
        let table = try MergedTable(
            rekeying: plan, nil, number, moving: [wanted.name, plan.stored?.schema.name ?? wanted.name], .none,
            trees.ids,
            tx.view)
        let followed = try FollowedReferences([table], renamed: [:], fewestLoaded: fewestLoaded).run(
            try StoredCatalogue.records(in: tx.view), trees, tx)
        plan = try MigrationPlan(wanted, dropsRetired, try StoredCatalogue.records(in: tx.view), tx.view)
        try TableRewrite(
            plan, nil, rekeyed: table, id: number, trees, RowIDSequences(nil), .none, fewestLoaded: fewestLoaded
        ).run(tx)
        return plan.report(after: followed[table.record.schema.name])
    }

    /// What ``migrate(to:dropsRetired:in:)`` would do. Conversions, keys and unique indexes are not tried on the rows.
    public static func plan(
        to wanted: EntitySchema, dropsRetired: Bool = false, view: Snapshot
    ) throws(RecordError) -> MigrationReport {
        let records = try StoredCatalogue.records(in: view)
        let plan = try MigrationPlan(wanted, dropsRetired, records, view)
        guard plan.newKey != nil, let table = MergedTable(planning: plan) else { return plan.report }
        let outlook = FollowedReferences([table], renamed: [:]).outlook(records)
        return try MigrationPlan(wanted, dropsRetired, outlook.records, view)
            .report(after: outlook.steps[table.record.schema.name])
    }
}
