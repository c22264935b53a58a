import MakoStorage

/// A dry run of a table's migration, with the number of rows that each step affects.
package struct MigrationSurvey: Sendable, Hashable {
    /// A step with its counts.
    package struct Step: Sendable, Hashable {
        /// The step.
        package var step: MigrationStep
        /// The number of rows with a value, or whose value the step computes.
        package var rows = 0
        /// The number of rows for which the step fails.
        package var failures = 0
        /// Whether the step discards values.
        package var losesValues = false
        /// The error of the first row that fails.
        package var example: String?
    }

    /// The name of the table.
    package let table: String
    /// The number of rows of the table.
    package internal(set) var rows = 0
    /// The version of the manual steps in the file.
    package internal(set) var storedVersion: UInt64 = 0
    /// The version of the manual steps after the migration.
    package internal(set) var version: UInt64 = 0
    /// The steps, in order.
    package internal(set) var steps: [Step] = []
    /// The error that rules the migration out.
    package internal(set) var refusal: RecordError?

    init(_ table: String) { self.table = table }
}

extension Catalogue {
    /// Returns what ``migrate(_:previous:bound:progress:in:)`` would do. Reads every row that a step affects, calls the
    /// closures of manual steps, and changes nothing. Unique indexes are not checked.
    package static func survey(_ tables: [TableMigration], view: Snapshot) throws(RecordError) -> [MigrationSurvey] {
        let records = try StoredCatalogue.records(in: view)
        var migrations: [ResolvedMigration] = []
        var surveys: [String: MigrationSurvey] = [:]
        func refuse(_ name: String, _ error: RecordError) throws(RecordError) {
            if case .storage = error { throw error }
            surveys[name] = surveys[name] ?? MigrationSurvey(name)
            surveys[name]?.refusal = error
        }
        var keys = KeyChanges()
        for table in tables {
            let name = table.schema.name
            do throws(RecordError) {
                let migration = try ResolvedMigration(table, records, view)
                migrations.append(migration)
            } catch { try refuse(name, error) }
        }
        ResolvedMigration.shareNames(&migrations, records)
        for migration in migrations {
            do throws(RecordError) { try keys.add(migration, among: migrations, records, view) } catch {
                try refuse(migration.name, error)
            }
        }
        let outlook = keys.outlook(records)
        for migration in migrations where surveys[migration.name] == nil {
            do throws(RecordError) {
                var survey = try TableSurvey(migration, outlook, keys.moving, view)
                surveys[migration.name] = try survey.run()
            } catch { try refuse(migration.name, error) }
        }
        do throws(RecordError) { _ = try ResolvedMigration.ordered(migrations, records) } catch {
            if case .migrationFailed(let table, _) = error { surveys[table]?.refusal = error }
        }
        let known = Set(migrations.compactMap(\.storedID))
        let others = records.filter { !known.contains($0.id) && outlook.steps[$0.schema.name] != nil }
        return try tables.compactMap { surveys[$0.schema.name] }
            + others.map { (record) throws(RecordError) in try MigrationSurvey(record, outlook, view) }
    }
}

extension MigrationSurvey {
    /// Makes the survey of a table in which only references change.
    fileprivate init(
        _ record: TableRecord, _ outlook: ForeignKeyRewrite.Outlook, _ view: Snapshot
    ) throws(RecordError) {
        self.init(record.schema.name)
        rows = try StoredCatalogue.rowCount(of: record, view)
        steps = (outlook.steps[table] ?? []).map { Step(step: $0) }
    }
}

private struct TableSurvey {
    private let plan: TablePlan
    private var program: CompiledSteps? { plan.program }
    private let records: [TableRecord]
    /// The present ordinals of columns whose values change.
    private let origins: [Int: Int]
    private let moving: Set<String>
    /// The number of steps before those of the plan.
    private let followed: Int
    private let view: Snapshot
    private let access: CipherAccess
    private var survey: MigrationSurvey

    init(
        _ migration: ResolvedMigration, _ outlook: ForeignKeyRewrite.Outlook, _ moving: Set<String>, _ view: Snapshot
    ) throws(RecordError) {
        records = outlook.records
        self.moving = moving
        self.view = view
        access = migration.request.access
        let stored = records.first { $0.id == migration.storedID }
        plan = try TablePlan(migration, from: stored, records, view)
        survey = MigrationSurvey(migration.request.schema.name)
        survey.rows = plan.rows
        survey.storedVersion = migration.storedVersion
        survey.version = migration.version ?? migration.storedVersion
        origins = stored.flatMap { outlook.origins[$0.id] } ?? [:]
        let before = stored.flatMap { outlook.steps[$0.schema.name] } ?? []
        followed = before.count
        survey.steps = before.map { MigrationSurvey.Step(step: $0) }
        survey.steps += plan.steps.map { planned in
            let loses =
                switch (planned.step, planned.subject) {
                case (.removeColumn, _), (.byHand, .values): true
                default: false
                }
            return MigrationSurvey.Step(step: planned.step, losesValues: loses)
        }
    }

    /// The index of the first manual step in the report, after the creation of the table or its renaming.
    private var firstByHand: Int {
        followed + (plan.steps.firstIndex { if case .byHand = $0.step { true } else { false } } ?? 0)
    }

    mutating func run() throws(RecordError) -> MigrationSurvey {
        if plan.rows > 0 {
            try lookAtRows()
            try lookAtKeys()
        }
        if let program {
            for (number, merge) in program.merges.enumerated() { try lookAtRows(of: merge, number, program) }
        }
        return survey
    }

    private mutating func fail(_ step: Int, _ reason: String) {
        survey.steps[step].failures += 1
        if survey.steps[step].example == nil { survey.steps[step].example = reason }
    }

    private mutating func lookAtKeys() throws(RecordError) {
        guard let step = plan.steps.firstIndex(where: { if case .changeKey = $0.step { true } else { false } }) else {
            return
        }
        survey.steps[followed + step].rows = plan.rows
        var failures: [RecordError] = []
        let keys = NewKeys(plan, moving: moving, access, origins: origins, view)
        _ = try keys.run { failures.append($0) }
        for failure in failures { fail(followed + step, "\(failure)") }
    }

    private mutating func lookAtRows() throws(RecordError) {
        guard let stored = plan.stored else { return }
        let affecting = plan.steps.indices.filter { plan.steps[$0].subject != nil }
        if affecting.isEmpty { return }
        let table = try StoredCatalogue.rows(of: stored, view)
        let positions = stored.columns.map { stored.columns[origins[$0.ordinal] ?? $0.ordinal] }
        let layout = RowLayout(stored, positions: positions)
        var machine = program.map { RowTransform($0, of: stored.schema, access) }
        var pieces = try RowPieces(table, view)
        while try pieces.next() {
            for place in 0..<pieces.count {
                let row = try pieces.row(place, layout)
                for step in affecting {
                    switch plan.steps[step].subject {
                    case .values(let ordinals):
                        let holds = ordinals.contains { $0 < stored.columns.count && !row.isNull($0) }
                        if holds { survey.steps[followed + step].rows += 1 }
                    case .action: survey.steps[followed + step].rows += 1
                    case .conversion(let conversion):
                        try lookAt(row, pieces.keys[place], conversion, followed + step)
                    case .merge, .keys, nil: break
                    }
                }
                machine?.begin()
                try runSteps(&machine, pieces.keys[place], row)
            }
        }
    }

    private mutating func lookAt(
        _ row: RowReader, _ key: RowKey, _ conversion: TablePlan.Conversion, _ step: Int
    ) throws(RecordError) {
        let column = plan.record.columns[conversion.to]
        do throws(RecordError) {
            let value = try row.value(conversion.from, opening: access)
            if !value.isNull { survey.steps[step].rows += 1 }
            let old = plan.stored?.columns[conversion.from]
            if RowConversion.convert(value, to: column, from: old) == nil {
                let isPlain = column.sealedType == nil && plan.stored?.columns[conversion.from].sealedType == nil
                let shownKey = key.text(in: plan.stored?.schema)
                let shown = isPlain ? "\(value)" : "a value of type \(value.typeName)"
                let type = column.sealedType ?? column.type
                return fail(step, "row \(shownKey): \(shown) does not become \(type.withArticle)")
            }
            if !value.isNull && column.sealedType != nil {
                try access.check(for: column.name, of: plan.record.schema.name)
            }
        } catch {
            guard case .valueSealed = error else { throw error }
            fail(step, "row \(key.text(in: plan.stored?.schema)): \(error)")
        }
    }

    private mutating func runSteps(
        _ machine: inout RowTransform?, _ key: RowKey, _ row: RowReader
    ) throws(RecordError) {
        guard let program else { return }
        do throws(RecordError) {
            try machine?.run(key, row) { (_, _) throws(RecordError) in .null }
        } catch {
            guard let action = machine?.current, case .stepFailed = error else { throw error }
            return fail(firstByHand + program.stepOfAction[action], "\(error)")
        }
        for (ordinal, slot) in program.added {
            guard let step = program.stepOfSlot[slot], !program.isLink(slot) else { continue }
            do throws(RecordError) {
                _ = try plan.fitting(machine?.value(slot), ordinal, key, of: plan.stored?.schema, step)
            } catch { fail(firstByHand + step, "\(error)") }
        }
    }

    private mutating func lookAtRows(
        of merge: CompiledSteps.Merge, _ number: Int, _ program: CompiledSteps
    ) throws(RecordError) {
        guard let source = records.first(where: { $0.schema.name == merge.source }) else { return }
        let step = firstByHand + merge.step
        let reader = try MergedRows(source, merge, into: program.table, access, view)
        let names = program.finalNames
        var machine = RowTransform(program, of: source.schema, access)
        var pieces = try RowPieces(reader.table, view)
        while try pieces.next() {
            for place in 0..<pieces.count {
                survey.steps[step].rows += 1
                let key = pieces.keys[place]
                do {
                    let given = try reader.values(try pieces.row(place, reader.layout), key)
                    try machine.begin(given, merge, key)
                    try machine.run(key, nil, from: merge.start) { (_, _) throws(RecordError) in .null }
                    for column in plan.record.schema.liveColumns {
                        let slot = names.slots[plan.namesBefore[column.name] ?? column.name]
                        if let slot, program.isLink(slot) { continue }
                        let value = slot.flatMap { machine.value($0) }
                        _ = try plan.fitting(value, column.ordinal, key, of: source.schema, merge.step)
                    }
                } catch let error as RecordError {
                    if case .storage = error { throw error }
                    fail(step, "\(error)")
                } catch { fail(step, "row \(key.text(in: source.schema)): \(error)") }
            }
        }
    }
}
