import MakoRecords
import MakoStorage

/// What a statement in the small SQL answered: rows of values, all read, or what it did.
///
/// The values are the columns' own; `rows(as:)` gives them as Swift's types.
public struct RawResults: Sendable, Hashable {
    /// The names of the columns, in the order of the values.
    public let columns: [String]
    public private(set) var rows: [[StoredValue]]
    /// How many rows an `INSERT` stored, an `UPDATE` found or a `DELETE` removed.
    public private(set) var changedRows = 0
    private var inserted = InsertedKey.none

    /// The key of the row that an `INSERT` stored last: a value for each column of the key.
    public var lastKey: [StoredValue] {
        switch inserted {
        case .none: []
        case .rowID(let id): [.integer(id)]
        case .columns(let values): values
        }
    }

    /// An id takes no memory of its own, of which a loop of inserts would take some for each row.
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

    /// What storing one row gives.
    ///
    /// - Throws: `MakoError.storage` for a key that is damaged.
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

    /// Adds what a further run of the statement has done.
    mutating func append(_ other: RawResults) {
        rows += other.rows
        changedRows += other.changedRows
        if other.inserted != .none { inserted = other.inserted }
    }

    public var rowCount: Int { rows.count }
    public var columnCount: Int { columns.count }

    /// A value by its row, counted from 0, and its column's name; nil where there is none.
    public func value(_ column: String, row: Int) -> StoredValue? {
        guard rows.indices.contains(row), let place = columns.firstIndex(of: column) else { return nil }
        return rows[row][place]
    }
}

extension Database {
    /// Runs a statement of the small SQL. Interpolated values are bound, and so are those behind the text, for its `?` and its `:name`.
    ///
    /// ```swift
    /// let found = try db.rawQuery("SELECT grade, count(*) FROM Person WHERE age > \(30) GROUP BY grade")
    /// for row in found.rows { print(row) }
    /// let raised = try db.rawQuery("UPDATE Person SET salary = salary * 1.1 WHERE grade = ?", 3).changedRows
    /// ```
    ///
    /// Statements that write join the running transaction, or are one of their own; one that fails leaves nothing of itself. Tables and
    /// columns go by their names in the file. What `INSERT` and `UPDATE` write is checked against the table and, where a type in use is stored in
    /// it, against its properties: each value can be read again. No hooks are called for it, as by ``Update``; `DELETE` from the table of a type that is in use goes by its delete rules and hooks, as
    /// ``Query/delete()`` does.
    ///
    /// - Throws: `MakoError.query`, pointing into the text, before anything is done; `.duplicate`, `.missingValue`, `.typeMismatch`,
    ///   `.unstorableValue` for rows that cannot be stored; `.readOnly`; `.tableInUse` for a table or index that a type in use declares.
    @discardableResult
    public func rawQuery(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:]
    ) throws(MakoError) -> RawResults {
        try run(try AskedStatement(text, parameters, named))
    }

    /// The same for a text that is known only at run time.
    @discardableResult
    public func rawQuery(
        text: String, _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:]
    ) throws(MakoError) -> RawResults {
        try run(try AskedStatement(WhereText(text: text), parameters, named))
    }

    func run(_ asked: AskedStatement) throws(MakoError) -> RawResults {
        let (kept, values, named) = (asked.kept, asked.values, asked.named)
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
            let stored = try writer.insertPlain(kept, values)
        {
            return stored
        }
        switch kept.statement {
        case .insert, .update:
            // They take themselves back when they fail.
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

/// A statement of the small SQL with the values of its parameters.
struct AskedStatement: Sendable {
    let kept: KeptStatement
    let values: [StoredValue]
    let named: [String: StoredValue]

    var statement: Statement { kept.statement }

    init(_ kept: KeptStatement, _ values: [StoredValue]) {
        self.kept = kept
        self.values = values
        named = [:]
    }

    init(
        _ text: WhereText, _ parameters: [(any ConditionValue)?], _ named: [String: (any ConditionValue)?]
    ) throws(MakoError) {
        let filled = try text.filled(parameters.parameterValues, named.parameterValues, isStatement: true)
        kept = try records { () throws(RecordError) in try KnownTexts.statement(filled.text) }
        (values, self.named) = (filled.positions, filled.named)
    }
}
