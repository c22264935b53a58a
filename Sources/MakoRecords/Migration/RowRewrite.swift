import MakoStorage

/// Rewrites the rows of a stored table in their planned form, one by one.
struct RowRewrite: ~Copyable {
    /// The source of a column's value. Associated data are in arrays, because the sources are iterated for each row.
    private enum Source {
        case null, id
        /// Encryption binds a value to the number of its table, so that it is encrypted again.
        case reseal
        case constant(Int)
        case slot(Int)
        case conversion(Int)
    }

    private struct FilledColumn {
        let ordinal: Int
        let source: Source
    }

    private struct Conversion {
        let from: Int
        let isSealed: Bool
        let conversion: RowConversion
    }

    private let plan: TablePlan
    private let record: TableRecord
    private let following: ForeignKeyRewrite?
    private let access: CipherAccess
    /// The layouts of all columns, before and after.
    let before: RowLayout
    private let after: RowLayout
    private var steps: [FilledColumn] = []
    private var constants: [Value] = []
    private var conversions: [Conversion] = []
    /// The columns copied unchanged, ascending; those of the first 64 also as bits.
    private var copied: [Int] = []
    private var kept: UInt64 = 0
    /// The texts and blobs that are not copied.
    private var emptied: UInt64 = 0
    private var machine: RowTransform?
    private var failures: ConversionFailures
    /// The row after ``make(_:_:as:split:)``.
    var writer = RowWriter()

    /// - Parameters:
    ///   - isRenumbered: whether the table gets a new number.
    ///   - following: the new values of converted references; `nil` to convert values to another type.
    init(
        _ plan: TablePlan, _ stored: TableRecord, isRenumbered: Bool, following: ForeignKeyRewrite?,
        _ access: CipherAccess
    ) {
        self.plan = plan
        record = plan.record
        self.following = following
        self.access = access
        before = RowLayout(ofAllColumns: stored, table: record.schema.name)
        after = RowLayout(ofAllColumns: record, table: record.schema.name)
        machine = plan.program.map { RowTransform($0, of: stored.schema, access) }
        failures = ConversionFailures(stored, record, plan.conversions, access)
        for conversion in plan.conversions {
            conversions.append(
                Conversion(
                    from: conversion.from, isSealed: stored.columns[conversion.from].sealedType != nil,
                    conversion: RowConversion(
                        to: record.columns[conversion.to], from: stored.columns[conversion.from])))
        }
        for column in record.columns {
            guard let source = source(of: column, stored, isRenumbered) else {
                copied.append(column.ordinal)
                if column.ordinal < 64 { kept |= 1 << UInt64(column.ordinal) }
                continue
            }
            steps.append(FilledColumn(ordinal: column.ordinal, source: source))
        }
        emptied = after.variableBits & ~kept
    }

    /// Returns the source of a column's value; `nil` if it is copied.
    private mutating func source(of column: ColumnSchema, _ stored: TableRecord, _ isRenumbered: Bool) -> Source? {
        if let number = plan.conversions.firstIndex(where: { $0.to == column.ordinal }) { return .conversion(number) }
        if !column.isDead {
            if let slot = plan.program?.added[column.ordinal] { return .slot(slot) }
            if column.ordinal == plan.columnOfIDs { return .id }
            if column.ordinal < stored.columns.count {
                return isRenumbered && column.sealedType != nil ? .reseal : nil
            }
        }
        guard !column.isDead, let value = column.type.coerced(column.defaultValue), !value.isNull else { return .null }
        constants.append(value)
        return .constant(constants.count - 1)
    }

    /// Makes a row.
    ///
    /// - Parameters:
    ///   - row: a row in the layout ``before``.
    ///   - new: its new key, if it changes.
    ///   - split: see `RowTransform`.
    /// - Returns: `false` if this row or one before cannot be converted; the failure is recorded.
    mutating func make(
        _ row: RowReader, _ key: () -> RowKey, as new: RowKey? = nil,
        split: (String, [[String: Value]]) throws(RecordError) -> Value?
    ) throws(RecordError) -> Bool {
        if !failures.isEmpty {
            try failures.note(row, key())
            return false
        }
        if machine != nil {
            machine?.begin()
            try machine?.run(key(), row, split: split)
        }
        writer.begin(after)
        let taken = writer.takeOver(kept, emptied: emptied, of: row)
        if let last = copied.last, taken <= last {
            for ordinal in copied where ordinal >= taken { writer.copy(ordinal, from: row) }
        }
        for place in steps.indices {
            let ordinal = steps[place].ordinal
            switch steps[place].source {
            case .null: writer.setNull(ordinal)
            case .reseal: try writer.set(ordinal, try row.value(ordinal, opening: access), sealing: access)
            case .constant(let number): writer.set(ordinal, fitting: constants[number])
            case .id: try writer.set(ordinal, try column(ordinal, ofID: key()), sealing: access)
            case .slot(let slot): try set(ordinal, slot, key(), new)
            case .conversion(let number): try convert(number, to: ordinal, row, key)
            }
        }
        return failures.isEmpty
    }

    /// Throws the error of the rows that could not be converted.
    func check() throws(RecordError) { try failures.check() }

    private mutating func set(_ ordinal: Int, _ slot: Int, _ key: RowKey, _ new: RowKey?) throws(RecordError) {
        let value = try plan.fitting(
            try keyValue(ordinal, new) ?? machine?.value(slot), ordinal, key, of: plan.stored?.schema,
            plan.program?.stepOfSlot[slot])
        try writer.set(ordinal, value, sealing: access)
    }

    private mutating func convert(
        _ number: Int, to ordinal: Int, _ row: RowReader, _ key: () -> RowKey
    ) throws(RecordError) {
        let from = conversions[number].from
        if let following {
            return writer.set(ordinal, try follow(row.value(from), following, from, ordinal, key()))
        }
        let old = conversions[number].isSealed ? try row.value(from, opening: access) : row.value(from)
        guard let value = conversions[number].conversion.convert(old) else {
            return try failures.note(row, key(), number)
        }
        if conversions[number].conversion.seals {
            try writer.set(ordinal, value, sealing: access)
        } else {
            writer.set(ordinal, value)
        }
    }

    /// Returns the value of the column that takes over the row ids.
    private func column(_ ordinal: Int, ofID key: RowKey) throws(RecordError) -> Value {
        let column = record.columns[ordinal]
        guard let id = key.rowID, let value = RowConversion.convert(.integer(id), to: column) else {
            let type = column.sealedType ?? column.type
            throw .conversionFailed(
                table: record.schema.name, column: column.name, rows: [NamedKey(key, in: plan.stored?.schema)],
                reason: "an id such as \(key.text(in: plan.stored?.schema)) does not become \(type.withArticle)")
        }
        return value
    }

    /// Returns the value of a computed key column from the new key, so that both agree even if the closure returns
    /// another value on a second call.
    private func keyValue(_ ordinal: Int, _ key: RowKey?) throws(RecordError) -> Value? {
        guard let key, case .columns(let ordinals)? = plan.newKey, let place = ordinals.firstIndex(of: ordinal)
        else { return nil }
        return try key.values(in: record.schema)[place]
    }

    private func follow(
        _ value: Value, _ following: ForeignKeyRewrite, _ from: Int, _ ordinal: Int, _ key: RowKey
    ) throws(RecordError) -> Value {
        guard let old = plan.stored?.columns[from] else { return value }
        let new = try following.followed(value, old, record.schema.name)
        let column = record.columns[ordinal]
        if new.isNull, !value.isNull, !column.isOptional, !column.isRetired {
            throw .migrationFailed(
                table: record.schema.name,
                reason:
                    "\(column.name) of row \(key.text(in: plan.stored?.schema)) must refer to a row, and refers to \(value), "
                    + "which is not there")
        }
        return new
    }
}

extension RowLayout {
    /// Makes a layout of all columns that a table has ever had, with their ordinals as positions.
    convenience init(ofAllColumns record: TableRecord, table: String) {
        var named = record
        named.schema.name = table
        self.init(named, positions: record.columns)
    }
}
