import MakoRecords

/// A SQL statement that runs several times with different values.
///
/// ```swift
/// let insert = try db.prepare("INSERT INTO Person (name, age) VALUES (?, ?)")
/// try insert.run("Ada", 36)
/// let older = try db.prepare("SELECT name FROM Person WHERE age > :least ORDER BY age")
/// for row in try older.run(named: ["least": 30]).rows { print(row[0]) }
/// ```
///
/// The text is parsed once. Tables and columns are resolved at the first run, and again after a change of the schema. A
/// SELECT keeps its plan while the sizes of its tables are about the same, if it has no parameters, or reads one table
/// and compares its columns with parameters. Values bind as by ``Database/rawQuery(_:_:named:)``, which caches recent
/// texts in the same way; a list behind IN requires parsing the text again. Any thread may run the statement, inside a
/// transaction or without one.
public struct PreparedStatement: Sendable {
    /// The text of the statement.
    public let text: String
    let database: Database
    private let kept: CachedStatement

    init(_ text: String, _ database: Database) throws(MakoError) {
        self.text = text
        self.database = database
        kept = try records { () throws(RecordError) in try KnownTexts.statement(text) }
    }

    /// The number of values that its `?` bind.
    public var parameterCount: Int { kept.parameterCount }

    /// Whether the statement writes nothing.
    public var isReadOnly: Bool { kept.isReadOnly }

    /// Runs the statement with these values, inside the running transaction or one of its own.
    ///
    /// - Throws: as ``Database/rawQuery(_:_:named:)``; `MakoError.query` for missing values or too many.
    @discardableResult
    public func run<each V: ConditionValue>(_ parameters: repeat each V) throws(MakoError) -> RawResults {
        if kept.isInsert, let writer = ThreadScope.current(of: database)?.transaction {
            // No closure: one that captures a pack looks up its type at each call.
            var row = writer.takePlainRow()
            defer { writer.giveBack(&row) }
            var isPlain = true
            repeat isPlain = (each parameters).append(to: &row) && isPlain
            if isPlain, let stored = try writer.insertPlain(kept, row) { return stored }
        }
        var boxed: [(any ConditionValue)?] = []
        repeat boxed.append(each parameters)
        return try database.run(try call(boxed, [:]))
    }

    /// Runs the statement with named values, or with values whose types are known only at run time; nil is NULL.
    ///
    /// ```swift
    /// let insert = try db.prepare("INSERT INTO Person (name, age) VALUES (:name, :age)")
    /// try insert.run(named: ["name": "Ada", "age": 36])
    /// ```
    @_disfavoredOverload @discardableResult
    public func run(
        _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) throws(MakoError) -> RawResults {
        if parameters.isEmpty, kept.isInsert, let writer = ThreadScope.current(of: database)?.transaction,
            let stored = try writer.insertPlain(kept, named: named)
        {
            return stored
        }
        return try database.run(try call(parameters, named))
    }

    /// Runs the statement on a thread of the database; the async form of `run`.
    @discardableResult
    public func run(
        _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) async throws(MakoError) -> RawResults {
        try await database.run(try call(parameters, named))
    }

    /// Runs a statement that writes, once for each row of values, in one transaction: if a row is refused, none is
    /// written.
    ///
    /// ```swift
    /// let insert = try db.prepare("INSERT INTO Person (name, age) VALUES (?, ?)")
    /// try insert.run(rows: people.map { [$0.name, $0.age] })
    /// ```
    ///
    /// - Returns: the number of changed rows of all runs, and the rows of `RETURNING`.
    /// - Throws: `MakoError.invalidArgument` for a statement that only reads; as ``run(_:named:)``.
    @discardableResult
    public func run(rows: some Sequence<[(any ConditionValue)?]>) throws(MakoError) -> RawResults {
        if isReadOnly { throw .invalidArgument("a query stores no rows; run it once for each row of values") }
        return try database.allOrNothing { (transaction) throws(MakoError) in
            var all: RawResults?
            for row in rows {
                let call = try call(row, [:])
                let results = try transaction.run(call.kept, call.values, call.named)
                if all == nil { all = results } else { all?.append(results) }
            }
            return all ?? RawResults(columns: [], rows: [])
        }
    }

    func call(
        _ parameters: [(any ConditionValue)?], _ named: NamedValues
    ) throws(MakoError) -> StatementCall {
        guard let values = parameters.plainValues, let names = named.plainValues else {
            return try StatementCall(WhereText(text: text), parameters, named)
        }
        try records { () throws(RecordError) in try kept.places.check(names.keys, in: text) }
        return StatementCall(kept, values, names)
    }
}

extension Database {
    /// Prepares a SQL statement that runs several times.
    ///
    /// ```swift
    /// let rename = try db.prepare("UPDATE Person SET name = ? WHERE id = ?")
    /// try db.transaction { _ in for (id, name) in names { try rename.run(name, id) } }
    /// ```
    ///
    /// - Throws: `MakoError.query` with the position in the text. Missing tables and columns are reported when the
    ///   statement runs.
    public func prepare(_ text: String) throws(MakoError) -> PreparedStatement { try PreparedStatement(text, self) }
}
