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
    /// Adding, retiring, restoring and renaming a column rewrite no row; changing a type converts every row; new indexes are built. A
    /// column that the wanted schema does not have is retired: hidden, its bytes kept, until `dropsRetired` says otherwise.
    /// - Throws: `incompatibleSchema`, `conversionFailed`, `uniqueViolation` while building an index. Roll the transaction back then.
    public static func migrate(
        to wanted: EntitySchema, dropsRetired: Bool = false, in tx: borrowing WriteTransaction
    ) throws(RecordError) -> MigrationReport {
        let plan = try MigrationPlan(wanted, dropsRetired, try StoredCatalogue.records(in: tx.view), tx.view)
        if !plan.steps.isEmpty {
            let trees = try StoredCatalogue.trees(tx)
            let id = try plan.record.id != 0 ? plan.record.id : StoredCatalogue.takeTableID(trees.catalogue, tx)
            try TableRewrite(plan, nil, id: id, trees, RowIDSequences(nil), .none).run(tx)
        }
        return plan.report
    }

    /// What ``migrate(to:dropsRetired:in:)`` would do. Conversions and unique indexes are not tried on the rows.
    public static func plan(
        to wanted: EntitySchema, dropsRetired: Bool = false, view: Snapshot
    ) throws(RecordError) -> MigrationReport {
        try MigrationPlan(wanted, dropsRetired, try StoredCatalogue.records(in: view), view).report
    }
}

/// The difference between a stored table and the wanted one. Pure, apart from counting the rows.
struct MigrationPlan {
    struct Conversion {
        let from: Int
        let to: Int
    }

    private(set) var steps: [MigrationStep] = []
    private(set) var stored: TableRecord?
    private(set) var record: TableRecord
    private(set) var conversions: [Conversion] = []
    private(set) var addedIndexes: Set<UInt32> = []
    private(set) var droppedIndexes: [UInt32] = []
    /// What steps are about of which a survey tells how many rows they concern.
    private(set) var subjects: [Int: StepProgram.Subject]
    private(set) var conversionOfStep: [Int: Int] = [:]
    /// The names that wanted columns have after the steps by hand, where they are others.
    private(set) var namesBefore: [String: String] = [:]
    let rows: Int
    /// The columns that steps by hand have added, by ordinal.
    private let added: [Int: StepProgram.Origin]

    var report: MigrationReport { MigrationReport(table: record.schema.name, steps: steps, rows: rows) }

    /// - Parameters:
    ///   - found: the stored table where it is not the one with the wanted name, or with that it had before.
    ///   - program: steps by hand that come first.
    init(
        _ wanted: EntitySchema, _ dropsRetired: Bool, _ records: [TableRecord], found: TableRecord? = nil,
        program: StepProgram? = nil, _ view: Snapshot
    ) throws(RecordError) {
        try wanted.validate()
        stored =
            found ?? records.first { $0.schema.name == wanted.name }
            ?? records.first { $0.schema.name == wanted.originalName }
        record = stored ?? TableRecord(id: 0, schema: wanted, columns: [], indexes: [], nextIndexID: 1)
        if let program, !program.isFresh { record = program.record }
        added = program.map { program in program.added.mapValues { program.slots[$0] } } ?? [:]
        subjects = program?.subjects ?? [:]
        var rows = 0
        if let stored, let tree = view.tree(named: stored.rowsTree) {
            rows = Int(clamping: try engine { () throws(StorageError) in try view.count(of: tree) })
        }
        self.rows = rows
        let old = stored?.schema
        if let old {
            if old.name != wanted.name { steps.append(.renameTable(from: old.name, to: wanted.name)) }
        } else {
            steps.append(.createTable(wanted.name))
        }
        if let program {
            subjects = [:]
            for (place, subject) in program.subjects { subjects[place + steps.count] = subject }
            steps += program.steps
        }
        let wantedColumns = try planColumns(wanted, dropsRetired, view)
        try checkKey(wanted, wantedColumns)
        let orderChanged = old?.liveColumns.map(\.name) != wantedColumns.map(\.name)
        let converted = Set((conversions.map(\.to) + added.keys).map { record.columns[$0].name })
        planIndexes(wanted, converted)
        let isChanged = !steps.isEmpty || orderChanged || old?.key != wanted.key
        if isChanged && steps.isEmpty { steps.append(.reorder) }

        var schema = wanted
        schema.columns = wantedColumns + record.columns.filter { $0.isRetired && !$0.isDead }
        schema.indexes = record.indexes.map(\.schema)
        schema.version = (old?.version ?? 0) + (isChanged ? 1 : 0)
        schema.originalName = nil
        record.schema = schema
    }

    private func refuse(_ wanted: EntitySchema, _ reason: String) -> RecordError {
        .incompatibleSchema(table: wanted.name, reason: reason)
    }

    /// Decides for each wanted column where its bytes are; answers the live columns in the wanted order.
    private mutating func planColumns(
        _ wanted: EntitySchema, _ dropsRetired: Bool, _ view: Snapshot
    ) throws(RecordError) -> [ColumnSchema] {
        let isNew = stored == nil
        var result: [ColumnSchema] = []
        var used: Set<Int> = []
        for column in wanted.liveColumns {
            let byName = columns(named: column.name, besides: used)
            let old = column.originalName.flatMap { wanted.column(named: $0) == nil ? $0 : nil }
            let byOldName = old.map { columns(named: $0, besides: used) }
            // A live column is the one meant, even where a retired one has its name.
            let found =
                byName.live ?? byOldName?.live ?? byOldName?.retired ?? byName.retired
            var planned = column
            planned.originalName = nil
            planned.isRetired = false
            planned.fill = column.defaultValue
            if let found {
                used.insert(found.ordinal)
                if found.isRetired && found.name == column.name { steps.append(.restoreColumn(column.name)) }
                if found.name != column.name {
                    steps.append(.renameColumn(from: found.name, to: column.name))
                    namesBefore[column.name] = found.name
                }
                if let origin = added[found.ordinal] {
                    planned.ordinal = found.ordinal
                    planned.fill = try fill(origin, column)
                    record.columns[found.ordinal] = planned
                    result.append(planned)
                    continue
                }
                let sharesSlot =
                    found.sealedType == column.sealedType
                    && (found.type == column.type || MigrationPlan.sharesSlot(found.type, column.type))
                if sharesSlot, !(try needsValues(found, column, view)) {
                    planned.ordinal = found.ordinal
                    if found.type != column.type {
                        steps.append(.changeColumn(column.name, from: found.type, to: column.type))
                    } else if found.isOptional != column.isOptional || found.defaultValue != column.defaultValue
                        || found.target != column.target
                    {
                        steps.append(.changeColumnRules(column.name))
                    }
                    if !sabotaged("fillValueOfOldRowsChanged") { planned.fill = found.fill }
                    record.columns[found.ordinal] = planned
                } else {
                    conversionOfStep[steps.count] = conversions.count
                    steps.append(
                        sharesSlot ? .changeColumnRules(column.name) : MigrationPlan.conversion(of: found, to: column))
                    planned.ordinal = record.columns.count
                    record.columns[found.ordinal].isRetired = true
                    record.columns[found.ordinal].name = ""
                    record.columns.append(planned)
                    conversions.append(Conversion(from: found.ordinal, to: planned.ordinal))
                }
            } else {
                if !isNew {
                    if rows > 0 && !column.isOptional && column.defaultValue.isNull {
                        throw refuse(
                            wanted,
                            "the new column \(column.name) is neither optional nor has it a default, and there are rows"
                        )
                    }
                    steps.append(.addColumn(column.name))
                }
                planned.ordinal = record.columns.count
                record.columns.append(planned)
            }
            used.insert(planned.ordinal)
            result.append(planned)
        }
        guard record.columns.count < 60_000 else {
            throw refuse(wanted, "it has had 60000 columns; copy it into a new table")
        }
        for column in record.columns where !used.contains(column.ordinal) && !column.isDead {
            if !column.isRetired {
                subjects[steps.count] = .values([column.ordinal])
                steps.append(.retireColumn(column.name))
            }
            record.columns[column.ordinal].isRetired = true
            if dropsRetired {
                subjects[steps.count] = .values([column.ordinal])
                steps.append(.removeColumn(column.name))
                record.columns[column.ordinal].name = ""
            }
        }
        return result
    }

    /// A step that rewrites a column's values.
    private static func conversion(of old: ColumnSchema, to new: ColumnSchema) -> MigrationStep {
        switch (old.sealedType, new.sealedType) {
        case (nil, .some): .encryptColumn(new.name)
        case (.some, nil): .decryptColumn(new.name)
        default: .changeColumn(new.name, from: old.sealedType ?? old.type, to: new.sealedType ?? new.type)
        }
    }

    /// What rows read that steps by hand give no value of their own.
    private func fill(_ origin: StepProgram.Origin, _ column: ColumnSchema) throws(RecordError) -> Value {
        guard case .constant(let value) = origin else { return column.defaultValue }
        if column.sealedType != nil && !value.isNull {
            throw .migrationFailed(
                table: record.schema.name,
                reason:
                    "\(column.name) is encrypted, and a value for all rows would stand in the file; give it in a closure"
            )
        }
        if let fitting = RowConversion.convert(value, to: column) { return fitting }
        throw .migrationFailed(
            table: record.schema.name, reason: "\(value) was added as \(column.name), which holds \(column.type.name)")
    }

    /// The stored columns of a name: a live one, and the first of those that were retired.
    private func columns(named name: String, besides used: Set<Int>) -> (live: ColumnSchema?, retired: ColumnSchema?) {
        let all = record.columns.filter { $0.name == name && !$0.isDead && !used.contains($0.ordinal) }
        return (all.first { !$0.isRetired }, all.first { $0.isRetired })
    }

    /// Whether two types hold the same bytes, so that the column can change without touching a row.
    private static func sharesSlot(_ a: ColumnType, _ b: ColumnType) -> Bool {
        (a == .integer && b == .reference) || (a == .reference && b == .integer)
    }

    /// Whether there are rows without a value that the wanted column demands: they are rewritten with its default then.
    private func needsValues(_ found: ColumnSchema, _ wanted: ColumnSchema, _ view: Snapshot) throws(RecordError)
        -> Bool
    {
        guard rows > 0, !wanted.isOptional, found.isOptional || found.isRetired, let stored else { return false }
        let idTree = try StoredCatalogue.idTree(in: view)
        var bare = stored
        bare.indexes = []
        let table = try StoredCatalogue.handle(bare, idTree, RowIDSequence(), view)
        let layout = RowLayout(
            table: stored.schema.name, tableID: stored.id, version: UInt32(truncatingIfNeeded: stored.schema.version),
            columns: stored.columns, positions: [stored.columns[found.ordinal]])
        var hasNull = false
        try recorded {
            try table.scan(layout: layout, in: view) { _, row in
                hasNull = row.isNull(0)
                return !hasNull
            }
        }
        return hasNull
    }

    private func checkKey(_ wanted: EntitySchema, _ columns: [ColumnSchema]) throws(RecordError) {
        guard let old = stored?.schema, rows > 0 else {
            if let old = stored?.schema, (old.idColumn == nil) != (wanted.idColumn == nil) {
                throw refuse(wanted, "its key cannot change between ids and columns; drop the table first")
            }
            return
        }
        switch (old.key, wanted.key) {
        case (.rowID, .rowID): return
        case (.columns(let before), .columns(let after)):
            let oldOrdinals = before.compactMap { old.column(named: $0)?.ordinal }
            let newOrdinals = after.compactMap { name in columns.first { $0.name == name }?.ordinal }
            if oldOrdinals != newOrdinals { throw refuse(wanted, "its key cannot change while it has rows") }
        default:
            throw refuse(wanted, "its key cannot change while it has rows")
        }
    }

    private mutating func planIndexes(_ wanted: EntitySchema, _ converted: Set<String>) {
        var renamed: [String: String] = [:]
        for case .renameColumn(let old, let new) in steps { renamed[old] = new }
        var kept: [TableRecord.Index] = []
        var remaining = record.indexes
        // The words of a condition say nothing of which columns they meant before.
        let isConditionStale =
            !converted.isEmpty || !renamed.isEmpty || steps.contains { if case .byHand = $0 { true } else { false } }
        for schema in wanted.indexes {
            let touchesConverted =
                schema.columns.contains { converted.contains($0.name) }
                || (schema.condition != nil && isConditionStale && !sabotaged("staleConditionKept"))
            let match = remaining.firstIndex { index in
                var same = index.schema
                for place in same.columns.indices {
                    same.columns[place].name = renamed[same.columns[place].name] ?? same.columns[place].name
                }
                return same == schema && !touchesConverted
            }
            if let match {
                kept.append(TableRecord.Index(id: remaining[match].id, schema: schema))
                remaining.remove(at: match)
            } else {
                kept.append(TableRecord.Index(id: record.nextIndexID, schema: schema))
                addedIndexes.insert(record.nextIndexID)
                record.nextIndexID += 1
                if stored != nil { steps.append(.addIndex(schema.name)) }
            }
        }
        for index in remaining {
            droppedIndexes.append(index.id)
            steps.append(.dropIndex(index.schema.name))
        }
        record.indexes = kept
    }
}
