/// Executes the compiled steps of a table, row by row.
struct RowTransform {
    private let program: CompiledSteps
    private var values: [Value]
    /// Whether a slot has a value: rows of another table may lack some.
    private var isGiven: [Bool]
    private let storedSlots: [Int]
    private let access: CipherAccess
    /// The source table of the rows, for the keys in errors.
    private let source: EntitySchema?
    private var isLoaded = false
    /// The action that ran last.
    private(set) var current = 0

    init(_ program: CompiledSteps, of source: EntitySchema?, _ access: CipherAccess) {
        self.program = program
        self.source = source
        self.access = access
        values = program.slots.map { if case .constant(let value) = $0 { value } else { .null } }
        isGiven = Array(repeating: true, count: values.count)
        storedSlots = program.slots.indices.filter { if case .stored = program.slots[$0] { true } else { false } }
    }

    /// Returns the value of a slot after the steps; `nil` if it has none.
    func value(_ slot: Int) -> Value? { isGiven[slot] ? values[slot] : nil }

    /// Starts a stored row.
    mutating func begin() { isLoaded = false }

    /// Starts a row of another table.
    mutating func begin(_ given: [String: Value], _ merge: CompiledSteps.Merge, _ row: RowKey) throws(RecordError) {
        for slot in isGiven.indices {
            if case .constant = program.slots[slot] { continue }
            isGiven[slot] = false
            values[slot] = .null
        }
        isLoaded = true
        for (name, value) in given where name != merge.names.idColumn {
            guard let slot = merge.names.slots[name] else {
                let error = RecordError.columnNotFound(
                    table: program.table, name: name, nearest: Spelling.nearest(to: name, in: merge.names.live))
                throw failure(merge.step, row, error)
            }
            values[slot] = value
            isGiven[slot] = true
        }
    }

    /// Executes the steps from `start` on.
    ///
    /// - Parameters:
    ///   - new: the key of the row in this table, if it changes.
    ///   - reader: a stored row whose positions are the ordinals; `nil` for a row of another table.
    ///   - split: stores rows of another table and returns the key of the first; `nil` if no column can refer to it.
    mutating func run(
        _ key: RowKey, as new: RowKey? = nil, _ reader: RowReader?, from start: Int = 0,
        split: (String, [[String: Value]]) throws(RecordError) -> Value?
    ) throws(RecordError) {
        for place in start..<program.actions.count {
            current = place
            switch program.actions[place] {
            case .transform(let from, let to, let body):
                let before =
                    if let reader, !isLoaded, case .stored = program.slots[from] {
                        try reader.value(from, opening: access)
                    } else {
                        values[from]
                    }
                do { values[to] = try body(before) } catch { throw failure(program.stepOfAction[place], key, error) }
                isGiven[to] = true
            case .compute(let to, let names, let body):
                try load(reader)
                do { values[to] = try body(OldRow(key: new ?? key, names: names, values: values)) } catch {
                    throw failure(program.stepOfAction[place], key, error)
                }
                isGiven[to] = true
            case .split(let target, let link, let names, let body):
                try load(reader)
                let rows: [[String: Value]]
                do { rows = try body(OldRow(key: new ?? key, names: names, values: values)) } catch {
                    throw failure(program.stepOfAction[place], key, error)
                }
                let first: Value?
                do throws(RecordError) {
                    first = try split(target, rows)
                    if link != nil && first == nil {
                        throw .migrationFailed(
                            table: target, reason: "a row with a key of several columns cannot be referred to")
                    }
                } catch {
                    if case .storage = error { throw error }
                    throw failure(program.stepOfAction[place], key, error)
                }
                guard let link, let first else { continue }
                values[link] = first
                isGiven[link] = true
            }
        }
    }

    private mutating func load(_ reader: RowReader?) throws(RecordError) {
        guard let reader, !isLoaded else { return }
        for slot in storedSlots { values[slot] = try reader.value(slot, opening: access) }
        isLoaded = true
    }

    /// Returns the error of a step for a row.
    func failure(_ step: Int, _ row: RowKey, _ error: any Error) -> RecordError {
        .stepFailed(
            table: program.table, step: program.steps[step].step.description, row: NamedKey(row, in: source),
            reason: "\(error)")
    }
}
