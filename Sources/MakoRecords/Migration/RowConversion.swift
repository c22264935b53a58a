import MakoStorage

/// Converts values to another type.
struct RowConversion {
    private let type: ColumnType
    /// The value for NULL: NULL or the column's default; `nil` if the column requires a value and has no default, so
    /// that NULL cannot be converted.
    private let ofNull: Value?
    /// Whether the column is encrypted, so that its values must be encrypted.
    let seals: Bool
    /// The type of a reference that becomes a list of one key; `nil` for other conversions.
    private let reference: ColumnType?
    /// Whether the present values are keys of rows and the new ones are not: their bytes are no text or number.
    private let isOfKeys: Bool

    /// Makes a conversion to the type of a column; for an encrypted one, to that of its values.
    ///
    /// - Parameter old: the column of the present values; `nil` for new values.
    init(to column: ColumnSchema, from old: ColumnSchema? = nil) {
        let isListed =
            column.takesOneKey && old?.target == column.target && column.target != AnyReference.anyTable
        reference = isListed && old?.type != .keys ? old?.type : nil
        type = column.sealedType ?? column.type
        isOfKeys = old?.type == .keys && column.type != .keys
        ofNull = column.isOptional ? .null : (column.defaultValue.isNull ? nil : column.defaultValue)
        seals = column.sealedType != nil
    }

    /// Returns the value in the column's type, or `nil` if it cannot be converted.
    static func convert(_ value: Value, to column: ColumnSchema, from old: ColumnSchema? = nil) -> Value? {
        RowConversion(to: column, from: old).convert(value)
    }

    func convert(_ value: Value) -> Value? {
        if value.isNull { return ofNull }
        if isOfKeys, case .blob(let bytes) = value { return KeyTree(bytes)?.keys.isEmpty == true ? ofNull : nil }
        if let reference {
            if reference != .reference { return .blob(KeyTree.list([.key(RowKey(values: [value]))]).encoded) }
            guard case .integer(let id) = value else { return nil }
            return .blob(KeyTree.list([.key(.rowID(id))]).encoded)
        }
        if let fitting = type.coerced(value) { return fitting }
        switch (type, value) {
        case (.text, .integer), (.text, .unsigned), (.text, .double): return .text(value.description)
        case (.text, .bool(let flag)): return .text(flag ? "true" : "false")
        case (.text, .date(let seconds)): return .text(DateText.format(seconds))
        case (.text, .uuid(let high, let low)): return .text(UUIDText.format(high, low))
        case (.text, .blob(let bytes)): return String(validating: bytes, as: UTF8.self).map(Value.text)
        case (.blob, .text(let text)): return .blob(Array(text.utf8))
        case (.integer, .text(let text)), (.reference, .text(let text)): return Int64(text).map(Value.integer)
        case (.unsigned, .text(let text)): return UInt64(text).map(Value.unsignedInteger)
        case (.double, .text(let text)): return Double(text).map(Value.double)
        case (.bool, .text(let text)):
            let word = Folding.folded(text)
            return ["true", "yes", "1"].contains(word)
                ? .bool(true) : (["false", "no", "0"].contains(word) ? .bool(false) : nil)
        case (.integer, .bool(let flag)), (.unsigned, .bool(let flag)): return .integer(flag ? 1 : 0)
        case (.double, .bool(let flag)): return .double(flag ? 1 : 0)
        case (.double, .date(let seconds)): return .double(seconds)
        case (.date, .double(let seconds)): return .date(seconds)
        default: return nil
        }
    }
}

/// Collects the rows whose values cannot be converted.
struct ConversionFailures {
    /// The largest number of rows to list.
    private static let namedRows = 10

    private let stored: TableRecord
    private let record: TableRecord
    private let conversions: [TablePlan.Conversion]
    private var number: Int?
    private var rows: [NamedKey] = []
    private var example: Value = .null
    private let access: CipherAccess

    init(
        _ stored: TableRecord, _ record: TableRecord, _ conversions: [TablePlan.Conversion],
        _ access: CipherAccess
    ) {
        self.access = access
        self.stored = stored
        self.record = record
        self.conversions = conversions
    }

    var isEmpty: Bool { number == nil }

    /// Records the first row that fails, or tests a further one.
    mutating func note(_ row: RowReader, _ key: RowKey, _ failed: Int? = nil) throws(RecordError) {
        guard let number = number ?? failed else { return }
        let value = try row.value(conversions[number].from, opening: access)
        if self.number == nil {
            self.number = number
            example = value
        }
        let (from, to) = (stored.columns[conversions[number].from], record.columns[conversions[number].to])
        guard rows.last?.key != key, RowConversion.convert(value, to: to, from: from) == nil else { return }
        rows.append(NamedKey(key, in: stored.schema))
        if rows.count == ConversionFailures.namedRows { try check() }
    }

    func check() throws(RecordError) {
        guard let number else { return }
        let old = stored.columns[conversions[number].from]
        let column = record.columns[conversions[number].to]
        let type = column.sealedType ?? column.type
        // Errors must not contain values that are encrypted before or after.
        let shown =
            old.sealedType == nil && column.sealedType == nil
            ? "\(old.type.withArticle) such as \(example)" : "an encrypted \((old.sealedType ?? old.type).name)"
        throw .conversionFailed(
            table: stored.schema.name, column: column.name, rows: rows,
            reason: "\(shown) does not become \(type.withArticle)")
    }
}
