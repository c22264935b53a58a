import MakoStorage

/// The plan of a table's migration: the difference between the stored table and the declared one. Deterministic, except
/// for the number of rows.
struct TablePlan {
    struct Conversion {
        let from: Int
        let to: Int
    }

    /// A step, with the data that it affects, for a survey to count.
    struct Step {
        enum Subject {
            case values([Int])
            case conversion(Conversion)
            case action
            case merge
            /// The keys of all rows.
            case keys
        }

        let step: MigrationStep
        let subject: Subject?
    }

    /// The source of the rows' new keys, if the primary key changes.
    enum NewKey {
        /// The values of columns, by ordinal.
        case columns([Int])
        /// The integers of a column that becomes the row id.
        case numbers(Int)
        /// The old key if it is an integer; otherwise new ids in the order of the old keys.
        case given
    }

    private(set) var steps: [Step] = []
    private(set) var stored: TableRecord?
    private(set) var record: TableRecord
    private(set) var conversions: [Conversion] = []
    private(set) var addedIndexes: Set<UInt32> = []
    private(set) var droppedIndexes: [UInt32] = []
    /// The new keys; `nil` if the primary key does not change.
    private(set) var newKey: NewKey?
    /// The column for the row ids, if they are not the key any more, or are renamed.
    private(set) var columnOfIDs: Int?
    /// The column that becomes the row id.
    private var columnOfNumbers: Int?
    /// The names of declared columns after the manual steps, if different; empty if another column has had the name.
    private(set) var namesBefore: [String: String] = [:]
    let rows: Int
    /// The manual steps, which come first.
    let program: CompiledSteps?
    /// The columns that they have added, by ordinal.
    private let added: [Int: CompiledSteps.Origin]
    private let targets: ReferenceTargets

    var report: MigrationReport { report(after: nil) }

    /// - Parameter followed: the steps of the foreign-key rewrite before.
    func report(after followed: [MigrationStep]?) -> MigrationReport {
        MigrationReport(table: record.schema.name, steps: (followed ?? []) + steps.map(\.step), rows: rows)
    }

    /// Plans a migration with its manual steps.
    ///
    /// - Parameter stored: the stored table that the migration names.
    init(
        _ migration: ResolvedMigration, from stored: TableRecord?, _ records: [TableRecord], _ view: Snapshot
    ) throws(RecordError) {
        let program = try CompiledSteps(migration, from: stored, records)
        let wanted = migration.request.schema
        // An earlier migration of the run may have made the table.
        let found = stored ?? records.first { $0.schema.name == wanted.name }
        let targets = ReferenceTargets(records: records, newNames: migration.newNames)
        try self.init(wanted, migration.request.dropsRetired, found, program, targets, view)
    }

    private init(
        _ wanted: EntitySchema, _ dropsRetired: Bool, _ found: TableRecord?, _ program: CompiledSteps?,
        _ targets: ReferenceTargets, _ view: Snapshot
    ) throws(RecordError) {
        try wanted.validate()
        try wanted.validateConditions()
        stored = found
        self.program = program
        self.targets = targets
        record = stored ?? TableRecord(id: 0, schema: wanted, columns: [], indexes: [], nextIndexID: 1)
        if let program, !program.isFresh { record = program.record }
        added = program.map { program in program.added.mapValues { program.slots[$0] } } ?? [:]
        rows = if let stored { try StoredCatalogue.rowCount(of: stored, view) } else { 0 }
        let old = stored?.schema
        if old?.name != wanted.name, let view = try ViewSchema.stored(named: wanted.name, in: view) {
            throw refuse(
                wanted, "there is a view \(view.name), which it would hide; drop the view, or name one of the two anew")
        }
        if let old {
            if old.name != wanted.name { add(.renameTable(from: old.name, to: wanted.name)) }
        } else {
            add(.createTable(wanted.name))
        }
        if let program { steps += program.steps }
        let wantedColumns = try planColumns(wanted, dropsRetired, view)
        try planKey(wanted, wantedColumns)
        let orderChanged = old?.liveColumns.map(\.name) != wantedColumns.map(\.name)
        let converted = Set((conversions.map(\.to) + added.keys).map { record.columns[$0].name })
        var indexed = wanted
        indexed.columns = wantedColumns
        if let index = indexed.keyIndex, !indexed.indexes.contains(index) { indexed.indexes.append(index) }
        planIndexes(indexed, converted)
        let isChanged = !steps.isEmpty || orderChanged || old?.key != wanted.key
        if isChanged && steps.isEmpty { add(.reorder) }

        var schema = wanted
        // A name in another Unicode composition is the same name: the catalogue's entry keeps its bytes.
        if let old, old.name == wanted.name { schema.name = old.name }
        schema.columns = wantedColumns + record.columns.filter { $0.isRetired && !$0.isDead }
        schema.indexes = record.indexes.map(\.schema)
        schema.version = (old?.version ?? 0) + (isChanged ? 1 : 0)
        schema.originalName = nil
        // A table whose row ids are hidden keeps them hidden when a type takes it over.
        schema.hidesID = wanted.idColumn != nil && (old?.hidesID ?? wanted.hidesID)
        record.schema = schema
    }

    /// Plans the replacement of columns by others of the same names.
    ///
    /// - Parameters:
    ///   - stored: the present table.
    ///   - after: the table after the change, apart from these columns.
    ///   - columns: the new forms of the columns, by their present ordinals.
    init(
        _ stored: TableRecord, as after: TableRecord, replacing columns: [ColumnSchema], _ view: Snapshot
    ) throws(RecordError) {
        self.stored = stored
        record = after
        (program, added) = (nil, [:])
        targets = ReferenceTargets(records: [], newNames: [:])
        rows = try StoredCatalogue.rowCount(of: stored, view)
        for column in columns {
            conversions.append(Conversion(from: column.ordinal, to: record.replace(column)))
        }
        try record.schema.validate()
        try record.schema.validateConditions()
        planIndexes(record.schema, Set(columns.filter { !$0.isRetired }.map(\.name)))
        record.schema.version += 1
    }

    /// Gives the table a number.
    mutating func number(_ id: UInt32) { record.id = id }

    private mutating func add(_ step: MigrationStep, _ subject: Step.Subject? = nil) {
        steps.append(Step(step: step, subject: subject))
    }

    private func refuse(_ wanted: EntitySchema, _ reason: String) -> RecordError {
        .incompatibleSchema(table: wanted.name, reason: reason)
    }

    /// Finds the stored column of each declared one; returns the live columns in the declared order.
    private mutating func planColumns(
        _ wanted: EntitySchema, _ dropsRetired: Bool, _ view: Snapshot
    ) throws(RecordError) -> [ColumnSchema] {
        var result: [ColumnSchema] = []
        var used: Set<Int> = []
        let renames = try ColumnRenames(
            wanted, isLive: { columns(named: $0, besides: []).live != nil },
            isRetired: { columns(named: $0, besides: []).retired != nil })
        for column in wanted.liveColumns {
            var planned = column
            planned.originalName = nil
            planned.isRetired = false
            planned.fill = column.defaultValue
            if let found = source(of: column, renames, besides: used) {
                used.insert(found.ordinal)
                try plan(&planned, from: found, view)
            } else {
                try planNew(column, wanted)
                planned.ordinal = record.columns.count
                record.columns.append(planned)
            }
            used.insert(planned.ordinal)
            result.append(planned)
        }
        guard record.columns.count < EntitySchema.ordinalLimit else {
            throw refuse(wanted, "it has had \(EntitySchema.ordinalLimit) columns; copy it into a new table")
        }
        retireColumns(besides: used, wanted, dropsRetired)
        return result
    }

    /// Returns the stored column that becomes a declared one.
    private mutating func source(
        of column: ColumnSchema, _ renames: ColumnRenames, besides used: Set<Int>
    ) -> ColumnSchema? {
        let byName = columns(named: column.name, besides: used)
        let byOldName = renames.originals[column.name].map { columns(named: $0, besides: used) }
        let isGivenUp = renames.names[column.name] != nil
        if isGivenUp && byOldName == nil { namesBefore[column.name] = "" }
        // A live column has precedence over a retired one of the same name.
        return (isGivenUp ? nil : byName.live) ?? byOldName?.live ?? byOldName?.retired ?? byName.retired
    }

    /// Plans a declared column that is stored, in place or by a conversion of its values.
    private mutating func plan(
        _ planned: inout ColumnSchema, from found: ColumnSchema, _ view: Snapshot
    ) throws(RecordError) {
        // Types do not declare collations, so that the column keeps its own.
        if found.type == .text, planned.type == .text { planned.isNoCase = found.isNoCase }
        if found.isRetired && found.name == planned.name { add(.restoreColumn(planned.name)) }
        if found.name != planned.name {
            add(.renameColumn(from: found.name, to: planned.name))
            namesBefore[planned.name] = found.name
        }
        planned.ordinal = found.ordinal
        if let origin = added[found.ordinal] {
            planned.fill = try fill(origin, planned)
            record.columns[found.ordinal] = planned
            return
        }
        try checkTarget(planned, from: found, view)
        let sharesSlot =
            found.sealedType == planned.sealedType
            && (found.type == planned.type || TablePlan.sharesSlot(found.type, planned.type))
        if sharesSlot, !(try needsValues(found, planned, view)) {
            if found.type != planned.type {
                add(.changeColumn(planned.name, from: found.type, to: planned.type))
            } else if found.isOptional != planned.isOptional || found.defaultValue != planned.defaultValue
                || found.target != planned.target
            {
                add(.changeColumnRules(planned.name))
            }
            planned.fill = found.fill
            record.columns[found.ordinal] = planned
            return
        }
        planned.ordinal = record.columns.count
        hide(found.ordinal)
        record.columns.append(planned)
        let conversion = Conversion(from: found.ordinal, to: planned.ordinal)
        conversions.append(conversion)
        add(
            sharesSlot ? .changeColumnRules(planned.name) : TablePlan.conversion(of: found, to: planned),
            .conversion(conversion))
    }

    /// Plans a declared column that is not stored.
    private mutating func planNew(_ column: ColumnSchema, _ wanted: EntitySchema) throws(RecordError) {
        if takesIDs(column, wanted) {
            columnOfIDs = record.columns.count
            add(.keepIDs(column.name))
        } else if stored != nil {
            if rows > 0 && !column.isOptional && column.defaultValue.isNull {
                throw refuse(
                    wanted,
                    "the new column \(column.name) is neither optional nor has it a default, and there are rows; "
                        + "give it a default value, or make it optional")
            }
            add(.addColumn(column.name))
        }
    }

    /// Plans the stored columns that are not declared any more.
    private mutating func retireColumns(besides used: Set<Int>, _ wanted: EntitySchema, _ dropsRetired: Bool) {
        for column in record.columns where !used.contains(column.ordinal) && !column.isDead {
            if !column.isRetired, stored != nil, column.name == wanted.idColumn {
                columnOfNumbers = column.ordinal
                hide(column.ordinal)
                continue
            }
            if !column.isRetired {
                add(.retireColumn(column.name), .values([column.ordinal]))
            }
            record.columns[column.ordinal].isRetired = true
            if dropsRetired {
                add(.removeColumn(column.name), .values([column.ordinal]))
                record.columns[column.ordinal].name = ""
            }
        }
    }

    /// Takes a column, and its name, out of the table; its ordinal stays taken.
    private mutating func hide(_ ordinal: Int) {
        record.columns[ordinal].isRetired = true
        record.columns[ordinal].name = ""
    }

    /// Returns the step that rewrites a column's values.
    private static func conversion(of old: ColumnSchema, to new: ColumnSchema) -> MigrationStep {
        switch (old.sealedType, new.sealedType) {
        case (nil, .some): .encryptColumn(new.name)
        case (.some, nil): .decryptColumn(new.name)
        default: .changeColumn(new.name, from: old.sealedType ?? old.type, to: new.sealedType ?? new.type)
        }
    }

    /// Returns the fill value of a column added by manual steps, for rows without a value.
    private func fill(_ origin: CompiledSteps.Origin, _ column: ColumnSchema) throws(RecordError) -> Value {
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

    /// Returns the live stored column of a name, and the first retired one.
    private func columns(named name: String, besides used: Set<Int>) -> (live: ColumnSchema?, retired: ColumnSchema?) {
        let all = record.columns.filter { $0.name == name && !$0.isDead && !used.contains($0.ordinal) }
        return (all.first { !$0.isRetired }, all.first { $0.isRetired })
    }

    /// Returns whether two types have the same encoding, so that a change of type rewrites no row.
    private static func sharesSlot(_ a: ColumnType, _ b: ColumnType) -> Bool {
        (a == .integer && b == .reference) || (a == .reference && b == .integer)
    }

    /// Returns whether rows have NULL where the declared column requires a value: these are rewritten with its default.
    private func needsValues(_ found: ColumnSchema, _ wanted: ColumnSchema, _ view: Snapshot) throws(RecordError)
        -> Bool
    {
        guard rows > 0, !wanted.isOptional, found.isOptional || found.isRetired else { return false }
        return try hasRow(found, view) { $0.isNull(0) }
    }

    /// Checks that no row refers by a column to rows of another table than before: its key would mean any row of the
    /// new one.
    private func checkTarget(
        _ planned: ColumnSchema, from found: ColumnSchema, _ view: Snapshot
    ) throws(RecordError) {
        // The conversion of a key to a list of keys compares the targets itself.
        if planned.type == .keys && found.type != .keys { return }
        guard rows > 0, let old = found.target, let new = planned.target, targets.differ(old, new),
            try hasRow(found, view, where: { found.type == .keys ? holdsKeys($0) : !$0.isNull(0) })
        else { return }
        let (from, to) = (
            old == AnyReference.anyTable ? "any table" : old,
            new == AnyReference.anyTable ? "which do not name their table" : "which are none of \(new)"
        )
        throw refuse(
            record.schema,
            "\(planned.name) has keys of rows of \(from), \(to); give the property another "
                + "name, or let a migration step rename or merge the table, or compute the new value")
    }

    /// Returns whether a collection is neither NULL nor empty.
    private func holdsKeys(_ row: RowReader) -> Bool {
        !row.isNull(0) && KeyTree(row.blob(0))?.keys.isEmpty != true
    }

    /// Returns whether a row with a certain value in a stored column exists.
    private func hasRow(
        _ column: ColumnSchema, _ view: Snapshot, where isFound: (RowReader) -> Bool
    ) throws(RecordError) -> Bool {
        guard let stored else { return false }
        let table = try StoredCatalogue.rows(of: stored, view)
        let layout = RowLayout(stored, positions: [stored.columns[column.ordinal]])
        var hasOne = false
        try recorded {
            try table.scan(layout: layout, in: view) { _, row in
                hasOne = isFound(row)
                return !hasOne
            }
        }
        return hasOne
    }

    // MARK: Keys

    /// Returns whether a column takes over the row ids, by their former name.
    private func takesIDs(_ column: ColumnSchema, _ wanted: EntitySchema) -> Bool {
        guard let name = stored?.schema.idColumn, wanted.idColumn != name else { return false }
        return column.name == name || column.originalName == name
    }

    private mutating func planKey(_ wanted: EntitySchema, _ columns: [ColumnSchema]) throws(RecordError) {
        guard let old = stored?.schema else { return }
        let before: [String]
        let after: [String]
        switch (old.key, wanted.key) {
        case (.rowID(let id), .rowID(let newID)):
            guard let columnOfNumbers else { return }
            newKey = .numbers(columnOfNumbers)
            (before, after) = ([id], [newID])
        case (.columns(let names), .rowID(let newID)):
            newKey = columnOfNumbers.map { .numbers($0) } ?? .given
            (before, after) = (names, [newID])
        case (_, .columns(let newNames)):
            let ordinals = newNames.compactMap { name in columns.first { $0.name == name }?.ordinal }
            switch old.key {
            case .rowID(let id): before = [id]
            case .columns(let names):
                let same = names.compactMap { old.column(named: $0)?.ordinal } == ordinals
                if same && !ordinals.contains(where: { added[$0] != nil }) { return }
                before = names
            }
            newKey = .columns(ordinals)
            after = newNames
        }
        add(.changeKey(from: before, to: after), .keys)
    }

    private mutating func planIndexes(_ wanted: EntitySchema, _ converted: Set<String>) {
        var renamed: [String: String] = [:]
        for case .renameColumn(let old, let new) in steps.map(\.step) { renamed[old] = new }
        var kept: [TableRecord.Index] = []
        var remaining = record.indexes
        // The text of a condition does not show which columns it meant before.
        let isConditionStale =
            !converted.isEmpty || !renamed.isEmpty
            || steps.contains { if case .byHand = $0.step { true } else { false } }
        for schema in wanted.indexes {
            let touchesConverted =
                schema.columns.contains { converted.contains($0.name) }
                || (schema.condition != nil && isConditionStale)
            let match = remaining.firstIndex { index in
                var same = index.schema
                for place in same.columns.indices {
                    same.columns[place].name = renamed[same.columns[place].name] ?? same.columns[place].name
                }
                return same == schema && !touchesConverted
            }
            if let match, newKey != nil {
                kept.append(TableRecord.Index(id: record.nextIndexID, schema: schema))
                addedIndexes.insert(record.nextIndexID)
                record.nextIndexID += 1
                remaining.remove(at: match)
            } else if let match {
                kept.append(TableRecord.Index(id: remaining[match].id, schema: schema))
                remaining.remove(at: match)
            } else {
                kept.append(TableRecord.Index(id: record.nextIndexID, schema: schema))
                addedIndexes.insert(record.nextIndexID)
                record.nextIndexID += 1
                if stored != nil { add(.addIndex(schema.name)) }
            }
        }
        for index in remaining {
            droppedIndexes.append(index.id)
            add(.dropIndex(index.schema.name))
        }
        record.indexes = kept
    }
}
