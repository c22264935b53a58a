import MakoRecords
import MakoStorage

/// The result of a SQL statement: all rows of values, or the number of changed rows.
///
/// The values are as the columns hold them; `rows(as:)` converts them to Swift types.
public struct RawResults: Sendable, Hashable {
    /// The names of the columns, in the order of the values.
    public let columns: [String]
    /// The rows, each with a value for each column.
    public private(set) var rows: [[StoredValue]]
    /// The number of rows that an `INSERT` stored, an `UPDATE` found or a `DELETE` deleted.
    public private(set) var changedRows = 0
    private var inserted = InsertedKey.none

    /// The key of the last row that an `INSERT` stored: a value for each column of the key.
    public var lastKey: [StoredValue] {
        switch inserted {
        case .none: []
        case .rowID(let id): [.integer(id)]
        case .columns(let values): values
        }
    }

    /// A row number is stored inline, so that a loop of inserts allocates no array for each row.
    private enum InsertedKey: Sendable, Hashable {
        case none
        case rowID(Int64)
        case columns([StoredValue])
    }

    init(columns: [String], rows: [[StoredValue]]) {
        self.columns = columns
        self.rows = rows
    }

    init(_ outcome: StatementOutcome) {
        self.init(columns: outcome.rows.columns, rows: outcome.rows.rows)
        changedRows = outcome.changed
    }

    /// The result of storing one row.
    ///
    /// - Throws: `MakoError.storage` for a damaged key.
    init(inserted key: RowKey, into table: TableHandle) throws(MakoError) {
        self.init(columns: [], rows: [])
        changedRows = 1
        try note(key, of: table)
    }

    mutating func note(_ key: RowKey, of table: TableHandle) throws(MakoError) {
        if case .rowID(let id) = key {
            inserted = .rowID(id)
        } else {
            inserted = .columns(try records { () throws(RecordError) in try key.values(in: table.schema) })
        }
    }

    /// Adds the result of another run of the statement.
    mutating func append(_ other: RawResults) {
        rows += other.rows
        changedRows += other.changedRows
        if other.inserted != .none { inserted = other.inserted }
    }

    /// The number of rows.
    public var rowCount: Int { rows.count }
    /// The number of columns.
    public var columnCount: Int { columns.count }

    /// Returns the value in a row, counted from 0, and a column given by its name in ``columns``.
    ///
    /// - Returns: `.null` for NULL; nil if there is no such row, or no column of exactly that name.
    public func value(_ column: String, row: Int) -> StoredValue? {
        guard rows.indices.contains(row), let place = columns.firstIndex(of: column) else { return nil }
        return rows[row][place]
    }
}

extension Database {
    // async: awaits
    /// Runs a SQL statement. Interpolated values are bound, and so are the arguments, for `?` and `:name`.
    ///
    /// ```swift
    /// let found = try db.rawQuery("SELECT grade, count(*) FROM Person WHERE age > \(30) GROUP BY grade")
    /// for row in found.rows { print(row) }
    /// let raised = try db.rawQuery("UPDATE Person SET salary = salary * 1.1 WHERE grade = ?", 3).changedRows
    /// ```
    ///
    /// A statement that writes joins the running transaction, or runs in one of its own; one that fails changes
    /// nothing. Tables and columns have their names in the file. The values of `INSERT` and `UPDATE` are checked
    /// against the table and, where a type in use is stored in it, against its properties, so that each value can be
    /// read again. They call no hooks, as ``Update`` does not; `DELETE` from the table of a type in use applies its
    /// delete rules and hooks, as ``Query/delete()`` does.
    ///
    /// - Throws: `MakoError.query`, with the position in the text, before anything is written; `.duplicate`,
    ///   `.missingValue`, `.typeMismatch`, `.unstorableValue` for rows that cannot be stored; `.readOnly`;
    ///   `.tableInUse` for a table or index that a type in use declares.
    @discardableResult
    public func rawQuery(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) throws(MakoError) -> RawResults {
        try run(try StatementCall(text, parameters, named))
    }

    // async: awaits
    /// Runs a SQL statement whose text is known only at run time.
    @discardableResult
    public func rawQuery(
        text: String, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) throws(MakoError) -> RawResults {
        try run(try StatementCall(WhereText(text: text), parameters, named))
    }

    func run(_ call: StatementCall) async throws(MakoError) -> RawResults {
        try await onOwnThread(writes: !call.kept.isReadOnly) { () throws(MakoError) in try self.run(call) }
    }

    func run(_ call: StatementCall) throws(MakoError) -> RawResults {
        let (kept, values, named) = (call.kept, call.values, call.named)
        if kept.isReadOnly {
            let found = try viewing { (view, schema) throws(MakoError) in
                try records { () throws(RecordError) in
                    try kept.read(
                        schema.catalogue, view: view, parameters: values, named: named,
                        cancellation: CurrentCancellation.current)
                }
            }
            return RawResults(columns: found.columns, rows: found.rows)
        }
        if let writer = ThreadScope.current(of: self)?.transaction,
            let stored = try writer.insertPlain(kept, PlainRow(values))
        {
            return stored
        }
        switch kept.statement {
        case .insert, .update:
            // They roll themselves back when they fail.
            return try writing { (transaction) throws(MakoError) in
                try transaction.run(kept, values, named)
            }
        default:
            return try allOrNothing { (transaction) throws(MakoError) in
                try transaction.run(kept, values, named)
            }
        }
    }
}

/// A SQL statement with the values of its parameters.
struct StatementCall: Sendable {
    let kept: CachedStatement
    let values: [StoredValue]
    let named: [String: StoredValue]

    var statement: Statement { kept.statement }

    init(_ kept: CachedStatement, _ values: [StoredValue], _ named: [String: StoredValue]) {
        (self.kept, self.values, self.named) = (kept, values, named)
    }

    init(
        _ text: WhereText, _ parameters: [(any ConditionValue)?], _ named: NamedValues
    ) throws(MakoError) {
        let filled = try text.filled(parameters.parameterValues, try named.parameterValues(), isStatement: true)
        kept = try records { () throws(RecordError) in try KnownTexts.statement(filled.text) }
        (values, self.named) = (filled.positions, filled.named)
    }
}
