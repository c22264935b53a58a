/// The compiled manual steps of one table, executed row by row.
///
/// Values are in slots: first those of stored columns, then one for each step that computes values. The mapping of
/// names to slots depends on the step: a row of another table starts at the step that merges it, with the names at that
/// point.
struct CompiledSteps {
    enum Origin {
        /// A column of the stored table, by ordinal.
        case stored(Int)
        /// A column of the declared schema only.
        case late
        case constant(Value)
        case computed
    }

    enum Action {
        case compute(to: Int, ColumnNames, (OldRow) throws -> Value)
        case transform(from: Int, to: Int, (Value) throws -> Value)
        case split(into: String, link: Int?, ColumnNames, (OldRow) throws -> [[String: Value]])
    }

    /// The rows of another table, which are merged before an action.
    struct Merge {
        let source: String
        let start: Int
        let names: ColumnNames
        let step: Int
        let body: ((OldRow) throws -> [String: Value])?
    }

    let table: String
    let isFresh: Bool
    private(set) var slots: [Origin] = []
    private(set) var actions: [Action] = []
    private(set) var merges: [Merge] = []
    /// The index of each action's step.
    private(set) var stepOfAction: [Int] = []
    /// The index of the step that computes a slot.
    private(set) var stepOfSlot: [Int: Int] = [:]
    private(set) var steps: [TablePlan.Step] = []
    /// The stored table after the manual steps, before the migration to the declared schema.
    private(set) var record: TableRecord
    /// The slots of columns that the steps have added to the record, by ordinal.
    private(set) var added: [Int: Int] = [:]
    /// Whether rows have values to be removed, so that they must be rewritten even if nothing is computed.
    private(set) var removesValues = false
    private var names: [String: Int] = [:]
    private var retired: [String: [Int]] = [:]
    private let idColumn: String?
    /// Whether the row id column keeps its name, so that no column can have it.
    private let keepsIDColumn: Bool
    private let indexedOrdinals: [[Int?]]

    /// The columns after the steps, by their names at that point.
    var finalNames: ColumnNames { snapshot() }
    /// Whether existing rows must be rewritten.
    var rewritesRows: Bool { removesValues || !actions.isEmpty }
    /// Whether the steps make rows of other tables.
    var splitsRows: Bool { actions.contains { if case .split = $0 { true } else { false } } }

    /// Compiles the steps of a table; `nil` if there are no manual steps.
    init?(
        _ migration: ResolvedMigration, from stored: TableRecord?, _ records: [TableRecord]
    ) throws(RecordError) {
        let names = Set(records.map(\.schema.name))
        if migration.steps.isEmpty || stored == nil && migration.sources(names).isEmpty { return nil }
        try self.init(migration.steps, to: migration.request.schema, from: stored, others: names)
    }

    /// - Parameters:
    ///   - stored: the present table; `nil` if it does not exist.
    ///   - others: the names of the existing tables.
    init(
        _ list: [TableStep], to wanted: EntitySchema, from stored: TableRecord?, others: Set<String>
    ) throws(RecordError) {
        table = wanted.name
        isFresh = stored == nil
        idColumn = stored.map { $0.schema.idColumn } ?? wanted.idColumn
        keepsIDColumn = idColumn == wanted.idColumn
        record = stored ?? TableRecord(id: 0, schema: wanted, columns: [], indexes: [], nextIndexID: 1)
        let schema = record.schema
        indexedOrdinals = record.indexes.map { index in
            index.schema.columns.map { schema.column(named: $0.name)?.ordinal }
        }
        for column in record.columns {
            slots.append(.stored(column.ordinal))
            if column.isDead { continue }
            if column.isRetired {
                retired[column.name, default: []].append(column.ordinal)
            } else {
                names[column.name] = column.ordinal
            }
        }
        for place in list.indices {
            nameLateColumns(list[place...], wanted)
            try add(list[place], rest: list[(place + 1)...], wanted, stored, others)
        }
        nameLateColumns([], wanted)
    }

    /// Returns whether a slot holds the key of a row that a step splits off.
    func isLink(_ slot: Int) -> Bool {
        actions.contains { if case .split(_, slot, _, _) = $0 { true } else { false } }
    }

    private func refuse(_ reason: String) -> RecordError { .migrationFailed(table: table, reason: reason) }

    // MARK: Names

    /// Returns the names of the declared columns before some steps.
    private static func names(_ wanted: EntitySchema, before steps: ArraySlice<TableStep>) -> Set<String> {
        var names = Set(wanted.liveColumns.map(\.name))
        for step in steps.reversed() {
            switch step {
            case .rename(let old, let new): if names.remove(new) != nil { names.insert(old) }
            case .add(let name, _, _), .compute(let name, _, _): names.remove(name)
            case .split(_, let link, _): if let link { names.remove(link) }
            case .remove, .transform, .renameTable, .merge: break
            }
        }
        return names
    }

    /// Returns the name of a column after some steps; `nil` if they remove it.
    private static func name(_ name: String, after steps: ArraySlice<TableStep>) -> String? {
        var name = name
        for step in steps {
            switch step {
            case .rename(let old, let new) where old == name: name = new
            case .remove(let gone) where gone == name: return nil
            default: break
            }
        }
        return name
    }

    /// Columns of the declared schema have slots as well, for rows of other tables.
    private mutating func nameLateColumns(_ rest: ArraySlice<TableStep>, _ wanted: EntitySchema) {
        for name in CompiledSteps.names(wanted, before: rest) where names[name] == nil && retired[name] == nil {
            // Until the last step, the name denotes the row id.
            if name == idColumn { continue }
            names[name] = slots.count
            slots.append(.late)
        }
    }

    private func isLate(_ slot: Int) -> Bool { if case .late = slots[slot] { true } else { false } }

    /// Returns the slot of a column that a step names; `nil` if the table does not exist, so that there is nothing to
    /// do.
    private func slot(_ name: String) throws(RecordError) -> Int? {
        if let slot = names[name] ?? retired[name]?.first, isFresh || !isLate(slot) { return slot }
        if isFresh { return nil }
        let known = names.filter { !isLate($0.value) }.map(\.key)
        throw refuse(
            "\(RecordError.columnNotFound(table: table, name: name, nearest: Spelling.nearest(to: name, in: known)))")
    }

    private func isTaken(_ name: String) -> Bool {
        if name == idColumn && keepsIDColumn { return true }
        return names[name].map { !isLate($0) } ?? false
    }

    private func snapshot() -> ColumnNames {
        var slots = names
        for (name, those) in retired where slots[name] == nil { slots[name] = those.first }
        return ColumnNames(table: table, idColumn: idColumn, slots: slots, live: names.keys.sorted())
    }

    // MARK: Steps

    private mutating func note(_ step: TableStep, _ subject: TablePlan.Step.Subject? = nil) {
        steps.append(TablePlan.Step(step: .byHand(step.text), subject: subject))
    }

    private mutating func add(
        _ step: TableStep, rest: ArraySlice<TableStep>, _ wanted: EntitySchema, _ stored: TableRecord?,
        _ others: Set<String>
    ) throws(RecordError) {
        switch step {
        case .rename(let old, let new):
            guard let slot = try slot(old) else { return }
            if isTaken(new) { throw refuse("\(old) cannot be called \(new), which there is already") }
            forget(old, slot)
            names[new] = slot
            if let ordinal = ordinal(of: slot) {
                record.columns[ordinal].name = new
                record.columns[ordinal].isRetired = false
                nameInIndexes()
            }
            if !isFresh { note(step) }
        case .remove(let name): try remove(name, step)
        case .add(let name, let type, let value):
            try checkFree(name)
            addColumn(name, type, slot: newSlot(.constant(value), named: name), fill: value)
            if !isFresh { note(step) }
        case .compute(let name, let type, let body):
            try checkFree(name)
            let before = snapshot()
            let slot = newSlot(.computed, named: name)
            addColumn(name, type, slot: slot)
            perform(.compute(to: slot, before, body), step)
        case .transform(let name, let type, let body):
            guard let old = try slot(name) else { return }
            try transform(name, old, finalType(name, rest, wanted) ?? type, step, body)
        case .renameTable(let old):
            guard let stored else { return }
            if stored.schema.name == old { return note(step) }
            if others.contains(old) {
                throw refuse("there are both \(old) and \(stored.schema.name); merge the rows of one into the other")
            }
        case .merge(let source, let body):
            if source == table { throw refuse("its rows cannot be merged into itself") }
            guard others.contains(source) else { return }
            note(step, .merge)
            merges.append(
                Merge(source: source, start: actions.count, names: snapshot(), step: steps.count - 1, body: body))
        case .split(let target, let link, let body):
            if target == table { throw refuse("it cannot be split into itself") }
            let before = snapshot()
            var slot: Int?
            if let link {
                try checkFree(link)
                guard let type = finalType(link, rest, wanted) else {
                    throw refuse("it has no property \(link) to refer to a \(target)")
                }
                slot = newSlot(.computed, named: link)
                if let slot { addColumn(link, type, slot: slot) }
            }
            perform(.split(into: target, link: slot, before, body), step)
        }
    }

    private mutating func perform(_ action: Action, _ step: TableStep) {
        switch action {
        case .compute(let slot, _, _), .transform(_, let slot, _): stepOfSlot[slot] = steps.count
        case .split(_, let link, _, _): if let link { stepOfSlot[link] = steps.count }
        }
        stepOfAction.append(steps.count)
        note(step, .action)
        actions.append(action)
    }

    private func checkFree(_ name: String) throws(RecordError) {
        if isTaken(name) { throw refuse("\(name) cannot be added: it is there already") }
    }

    private func finalType(_ name: String, _ rest: ArraySlice<TableStep>, _ wanted: EntitySchema) -> ColumnType? {
        CompiledSteps.name(name, after: rest).flatMap { wanted.column(named: $0)?.type }
    }

    private mutating func newSlot(_ origin: Origin, named name: String) -> Int {
        slots.append(origin)
        names[name] = slots.count - 1
        return slots.count - 1
    }

    private mutating func forget(_ name: String, _ slot: Int) {
        if names[name] == slot { names[name] = nil }
        retired[name]?.removeAll { $0 == slot }
        if retired[name]?.isEmpty == true { retired[name] = nil }
    }

    private func ordinal(of slot: Int) -> Int? {
        if case .stored(let ordinal) = slots[slot] { return ordinal }
        return added.first { $0.value == slot }?.key
    }

    /// A table that does not exist gets all of its columns from the declared schema.
    private mutating func addColumn(_ name: String, _ type: ColumnType, slot: Int, fill: Value = .null) {
        if isFresh { return }
        var column = ColumnSchema(name, type, isOptional: true)
        column.fill = type.coerced(fill) ?? .null
        column.ordinal = record.columns.count
        record.columns.append(column)
        added[column.ordinal] = slot
    }

    private mutating func kill(_ ordinal: Int) {
        record.columns[ordinal].isRetired = true
        record.columns[ordinal].name = ""
        nameInIndexes()
    }

    private mutating func remove(_ name: String, _ step: TableStep) throws(RecordError) {
        var victims = retired[name] ?? []
        if let slot = names[name], !isLate(slot) { victims.append(slot) }
        if victims.isEmpty {
            if isFresh { return }
            _ = try slot(name)
        }
        var ordinals: [Int] = []
        for slot in victims {
            if let ordinal = ordinal(of: slot) {
                if case .stored = slots[slot] {
                    ordinals.append(ordinal)
                }
                kill(ordinal)
                added[ordinal] = nil
            }
            forget(name, slot)
        }
        if !ordinals.isEmpty { removesValues = true }
        if !isFresh { note(step, .values(ordinals)) }
    }

    private mutating func transform(
        _ name: String, _ old: Int, _ type: ColumnType?, _ step: TableStep, _ body: @escaping (Value) throws -> Value
    ) throws(RecordError) {
        let ordinal = ordinal(of: old)
        forget(name, old)
        let slot = newSlot(.computed, named: name)
        if let ordinal {
            let before = record.columns[ordinal].type
            added[ordinal] = nil
            if type ?? before == before {
                record.columns[ordinal].isRetired = false
                added[ordinal] = slot
            } else {
                kill(ordinal)
                addColumn(name, type ?? before, slot: slot)
            }
        }
        perform(.transform(from: old, to: slot, body), step)
    }

    /// Updates the column names of indexes; the name of a removed column becomes empty.
    private mutating func nameInIndexes() {
        for (place, ordinals) in indexedOrdinals.enumerated() {
            for (part, ordinal) in ordinals.enumerated() {
                record.indexes[place].schema.columns[part].name = ordinal.map { record.columns[$0].name } ?? ""
            }
        }
    }
}
