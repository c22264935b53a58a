import MakoStorage

/// An error of the record layer. Each case names the table and the place; `description` says what to do.
public enum RecordError: Error, Sendable, Hashable {
    /// The storage engine failed.
    case storage(StorageError)
    /// The operation was cancelled, see ``Cancellation``.
    case cancelled

    // Names and types.
    /// There is no table of this name; with the nearest existing name.
    case tableNotFound(name: String, nearest: String?)
    /// There is no column of this name; with the nearest existing name.
    case columnNotFound(table: String, name: String, nearest: String?)
    /// A value of the wrong type.
    case typeMismatch(table: String, column: String, expected: ColumnType, found: String)
    /// A syntax or binding error in a condition, expression or statement; prints the text with a caret under the error.
    case syntax(QueryError)

    // Writing rows.
    /// NULL in a column that requires a value.
    case nullViolation(table: String, column: String)
    /// Another row has the same values in the columns of a unique index.
    case uniqueViolation(table: String, columns: [String], values: [Value], existing: NamedKey)
    /// A row with this key exists; with the key columns and their values.
    case duplicateKey(table: String, key: RowKey, columns: [String], values: [Value])
    /// A key that does not fit the table.
    case invalidKey(table: String, reason: String)
    /// No free row id was found.
    case idsExhausted(table: String)
    /// Other rows refer to the row to be deleted; the rule is `nil` if the file has none for their column. Nothing was
    /// changed.
    case referenced(table: String, key: NamedKey, by: String, column: String, rows: Int, rule: ReferenceRule?)
    /// A reference to a missing row.
    case danglingReference(table: String, column: String, target: String, value: Value)
    /// A value that no column of its type can hold, that is too large, or that its property cannot have; with the row's
    /// key, or `nil` if there is no row yet.
    case valueRefused(table: String, key: String? = nil, column: String, reason: String)

    /// A value cannot be encrypted or decrypted.
    case valueSealed(table: String, column: String, PropertyKeyProblem)

    // Schemas.
    /// A schema that cannot be stored, or to which the table cannot be migrated.
    case incompatibleSchema(table: String, reason: String)
    /// Rows have values that cannot be converted to the column's new type. At most the first ten are listed; nothing
    /// was changed.
    case conversionFailed(table: String, column: String, rows: [NamedKey], reason: String)
    /// Migration steps that do not fit the stored table, or its version.
    case migrationFailed(table: String, reason: String)
    /// A migration step that failed on a row; nothing was changed.
    case stepFailed(table: String, step: String, row: NamedKey, reason: String)

    // Damage.
    /// A row that cannot be decoded.
    case rowDamaged(table: String, key: NamedKey?, reason: String)
    /// An index that does not agree with the rows, or cannot be decoded.
    case indexDamaged(table: String, index: String, reason: String)
    /// An entry of the catalogue that cannot be decoded.
    case catalogueDamaged(reason: String)
}

extension RecordError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .storage(let error):
            "\(error)"
        case .cancelled:
            "the query was cancelled"
        case .tableNotFound(let name, let nearest):
            "there is no table \(name)" + RecordError.suggestion(nearest)
        case .columnNotFound(let table, let name, let nearest):
            "\(table) has no column \(name)" + RecordError.suggestion(nearest)
        case .typeMismatch(let table, let column, let expected, let found):
            "\(table).\(column) holds \(expected.name), not \(found)"
                + DateText.hint(expected: expected.name, found: found)
        case .syntax(let error):
            "\(error)"
        case .nullViolation(let table, let column):
            "\(table).\(column) must have a value"
        case .uniqueViolation(let table, let columns, let values, let existing):
            "\(table) has a row (key \(existing)) with the same \(columns.joined(separator: ", ")): "
                + values.map(\.description).joined(separator: ", ")
        case .duplicateKey(let table, _, let columns, let values):
            "\(table) has a row with key \(columns.joined(separator: ", ")) = "
                + "\(values.map(\.description).joined(separator: ", ")) already"
        case .invalidKey(let table, let reason):
            "the key does not fit table \(table): \(reason)"
        case .idsExhausted(let table):
            "\(table) holds a row with the largest possible id, so no further id can be given"
        case .referenced(let table, let key, let other, let column, let rows, let rule):
            "the row with key \(key) of \(table) cannot be deleted: \(other).\(column) of \(rows) "
                + (rows == 1 ? "row refers to it" : "rows refer to it")
                + (rule == nil
                    ? ", and the file has no delete rule for that"
                    : rule == .deny ? ", and its delete rule is deny" : "")
                + "; change or delete \(rows == 1 ? "that row" : "those rows") first"
        case .danglingReference(let table, let column, AnyReference.anyTable, let value):
            "\(table).\(column) cannot be \(value): there is no such row"
        case .danglingReference(let table, let column, let target, let value):
            "\(table).\(column) cannot be \(value): \(target) has no row with that key"
        case .valueRefused(let table, let key, let column, let reason):
            "\(table).\(column)" + (key.map { " of the row with key \($0)" } ?? "") + " cannot be stored: \(reason)"
        case .valueSealed(let table, let column, let problem):
            "\(table).\(column) is encrypted: \(problem)"
        case .incompatibleSchema(let table, let reason):
            "the schema of \(table) cannot be used: \(reason)"
        case .conversionFailed(let table, let column, let rows, let reason):
            "\(table).\(column) cannot be converted: \(reason) (\(rows.count == 1 ? "row" : "rows") "
                + "\(rows.map(\.description).joined(separator: ", "))); nothing was changed"
        case .migrationFailed(let table, let reason):
            "\(table) cannot be migrated: \(reason)"
        case .stepFailed(let table, let step, let row, let reason):
            "\(table) cannot be migrated: \(step) fails at row \(row): \(reason); nothing was changed"
        case .rowDamaged(let table, let key, let reason):
            "a row of \(table)" + (key.map { " (key \($0))" } ?? "") + " is damaged: \(reason)"
        case .indexDamaged(let table, let index, let reason):
            "index \(index) of \(table) is damaged: \(reason); drop it and add it again"
        case .catalogueDamaged(let reason):
            "the catalogue is damaged: \(reason); restore a backup"
        }
    }

    static func suggestion(_ nearest: String?) -> String {
        nearest.map { "; did you mean \($0)?" } ?? ""
    }
}

/// Runs engine calls, and converts their errors to record errors.
@inline(__always)
func engine<R: ~Copyable>(_ body: () throws(StorageError) -> R) throws(RecordError) -> R {
    do { return try body() } catch { throw .storage(error) }
}

extension RecordError {
    /// Converts an error of a call that rethrows a closure's: that of this module or of the engine, the two types that
    /// the module's own closures throw.
    package init(any error: any Error) {
        switch error {
        case let error as RecordError: self = error
        case let error as StorageError: self = .storage(error)
        // The error of a caller's closure says nothing of the file.
        default: self = .storage(.invalidArgument("\(error)"))
        }
    }
}

/// Runs calls that rethrow the error of a closure of this module. The errors of a caller's closure must not pass through
/// here, because they would become texts.
@inline(__always)
func recorded<R>(_ body: () throws -> R) throws(RecordError) -> R {
    do { return try body() } catch { throw RecordError(any: error) }
}
