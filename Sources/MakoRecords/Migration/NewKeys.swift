import MakoStorage

/// Computes the new keys of a table's rows when its primary key changes.
struct NewKeys {
    private let plan: TablePlan
    private var program: CompiledSteps? { plan.program }
    /// The tables whose rows get other keys.
    private let moving: Set<String>
    /// The present ordinals of the plan's columns, where they differ.
    private let origins: [Int: Int]
    private let access: CipherAccess
    private let view: Snapshot

    init(
        _ plan: TablePlan, moving: Set<String>, _ access: CipherAccess, origins: [Int: Int] = [:], _ view: Snapshot
    ) {
        self.origins = origins
        self.moving = moving
        self.plan = plan
        self.access = access
        self.view = view
    }

    private var name: String { plan.record.schema.name }

    /// Returns the new keys by the old ones.
    ///
    /// - Parameter failed: receives the errors of rows; if `nil`, the first one is thrown.
    /// - Throws: `duplicateKey`, `conversionFailed`, `stepFailed`.
    func run(failed: ((RecordError) -> Void)? = nil) throws(RecordError) -> [RowKey: RowKey] {
        guard let newKey = plan.newKey, let stored = plan.stored, plan.rows > 0 else { return [:] }
        let table = try StoredCatalogue.rows(of: stored, view)
        switch newKey {
        case .columns(let ordinals):
            let columns = ordinals.map { plan.record.columns[$0] }
            for column in columns {
                guard let target = column.target, moving.contains(target) || target == AnyReference.anyTable else {
                    continue
                }
                throw refuse("\(column.name) refers to rows whose keys may change, and such keys do not follow")
            }
            return try made(of: columns, table, stored, failed) { RowKey(values: $0) }
        case .numbers(let ordinal):
            var column = ColumnSchema(plan.record.schema.idColumn ?? "", .integer)
            column.ordinal = ordinal
            return try made(of: [column], table, stored, failed) { values in
                if case .integer(let id)? = values.first { .rowID(id) } else { .rowID(0) }
            }
        case .given: return try given(table)
        }
    }

    /// Assigns row ids in the order of the old keys; integer keys are kept.
    private func given(_ table: TableHandle) throws(RecordError) -> [RowKey: RowKey] {
        let old = try table.allKeys(in: view)
        var numbers: [RowKey] = []
        for key in old where table.keySlots.count == 1 {
            guard case .integer(let number)? = try key.values(in: table.schema).first, number < .max else { break }
            numbers.append(.rowID(number))
        }
        if numbers.count < old.count { numbers = old.indices.map { .rowID(Int64($0) + 1) } }
        return Dictionary(uniqueKeysWithValues: zip(old, numbers))
    }

    private func made(
        of columns: [ColumnSchema], _ table: TableHandle, _ stored: TableRecord, _ failed: ((RecordError) -> Void)?,
        _ key: ([Value]) -> RowKey
    ) throws(RecordError) -> [RowKey: RowKey] {
        let positions = stored.columns.map { stored.columns[origins[$0.ordinal] ?? $0.ordinal] }
        let layout = RowLayout(stored, positions: positions)
        let isComputed = columns.contains { program?.added[$0.ordinal] != nil }
        var machine = isComputed ? program.map { RowTransform($0, of: stored.schema, access) } : nil
        var keys: [RowKey: RowKey] = [:]
        var taken: Set<RowKey> = []
        var pieces = try RowPieces(table, view)
        while try pieces.next() {
            for place in 0..<pieces.count {
                let old = pieces.keys[place]
                let row = try pieces.row(place, layout)
                do throws(RecordError) {
                    machine?.begin()
                    try machine?.run(old, row) { (_, _) throws(RecordError) in .null }
                    var values: [Value] = []
                    for column in columns { values.append(try value(column, old, row, machine)) }
                    let new = key(values)
                    if case .bytes(let bytes) = new, bytes.count > TableHandle.longestKey {
                        throw .conversionFailed(
                            table: name, column: columns[0].name, rows: [NamedKey(old, in: plan.stored?.schema)],
                            reason:
                                "the key would have \(bytes.count) bytes, and \(TableHandle.longestKey) are the most")
                    }
                    if !taken.insert(new).inserted {
                        throw .duplicateKey(new, in: plan.record.schema)
                    }
                    keys[old] = new
                } catch {
                    guard let failed, !error.isFailureOfTheEngine else { throw error }
                    failed(error)
                }
            }
        }
        return keys
    }

    /// Returns a row's value of a key column.
    private func value(
        _ column: ColumnSchema, _ old: RowKey, _ row: RowReader, _ machine: RowTransform?
    ) throws(RecordError) -> Value {
        let ordinal = column.ordinal
        let found: Value
        if ordinal == plan.columnOfIDs, let id = old.rowID {
            found = .integer(id)
        } else if let slot = program?.added[ordinal] {
            if program?.isLink(slot) == true { throw refuse("\(column.name) refers to a row that a step makes") }
            found = machine?.value(slot) ?? .null
        } else if let conversion = plan.conversions.first(where: { $0.to == ordinal }) {
            found = try row.value(conversion.from, opening: access)
        } else if ordinal < plan.stored?.columns.count ?? 0 {
            found = row.value(ordinal)
        } else {
            found = column.defaultValue
        }
        if let fitting = RowConversion.convert(found, to: column) { return fitting }
        let reason =
            found.isNull
            ? "it is the key, and there is no value"
            : "it is the key, and a value such as \(found) does not become \(column.type.withArticle)"
        throw .conversionFailed(
            table: name, column: column.name, rows: [NamedKey(old, in: plan.stored?.schema)], reason: reason)
    }

    private func refuse(_ reason: String) -> RecordError { .migrationFailed(table: name, reason: "its key \(reason)") }
}

extension RecordError {
    /// Whether the error is one of the storage engine, not of a row.
    fileprivate var isFailureOfTheEngine: Bool { if case .storage = self { true } else { false } }
}
