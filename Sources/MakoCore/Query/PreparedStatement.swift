import MakoRecords

/// A statement of the small SQL that is run again and again, each time with other values.
///
/// ```swift
/// let insert = try db.prepare("INSERT INTO Person (name, age) VALUES (?, ?)")
/// try insert.run("Ada", 36)
/// let older = try db.prepare("SELECT name FROM Person WHERE age > :least ORDER BY age")
/// for row in try older.run(named: ["least": 30]).rows { print(row[0]) }
/// ```
///
/// The text is read once. Tables and columns are looked up at the first run, and again only when the schema has changed. A question keeps its plan while
/// its tables are of about the same size: any without parameters, and those of one table that compare its columns with them. Values are those of ``Database/rawQuery(_:_:named:)``, which keeps the
/// texts that it was given last prepared as well; a list behind IN has the text read anew. Any thread may run it, inside a transaction or alone.
public struct PreparedStatement: Sendable {
    /// The statement as it was given.
    public let text: String
    let database: Database
    private let kept: KeptStatement

    init(_ text: String, _ database: Database) throws(MakoError) {
        self.text = text
        self.database = database
        kept = try records { () throws(RecordError) in try KnownTexts.statement(text) }
    }

    /// How many values its `?` take.
    public var parameterCount: Int { kept.parameterCount }

    /// Whether it changes nothing.
    public var isReadOnly: Bool { kept.isReadOnly }

    /// Runs the statement with these values, inside the running transaction or one of its own.
    ///
    /// - Throws: what ``Database/rawQuery(_:_:named:)`` throws; `MakoError.query` for a value that is missing or left over.
    @discardableResult
    public func run<each V: ConditionValue>(_ parameters: repeat each V) throws(MakoError) -> RawResults {
        var values: [StoredValue] = []
        if kept.isInsert, let writer = ThreadScope.current(of: database)?.transaction {
            // Moved out and back: a value's own code may run a statement, too.
            swap(&values, &writer.plainValues)
            defer {
                values.removeAll(keepingCapacity: true)
                swap(&values, &writer.plainValues)
            }
            var isPlain = true
            repeat isPlain = (each parameters).append(to: &values) && isPlain
            if isPlain, let stored = try writer.insertPlain(kept, values) { return stored }
        }
        var boxed: [(any ConditionValue)?] = []
        repeat boxed.append(each parameters)
        return try database.run(try asked(boxed, [:]))
    }

    /// The same for values that are named, NULL by `nil`, or of types that are known at run time alone.
    @_disfavoredOverload @discardableResult
    public func run(
        _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:]
    ) throws(MakoError) -> RawResults {
        try database.run(try asked(parameters, named))
    }

    /// The async form of `run`.
    @discardableResult
    public func run(
        _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:]
    ) async throws(MakoError) -> RawResults {
        let asked = try asked(parameters, named)
        return try await database.onOwnThread(writes: !isReadOnly) { () throws(MakoError) in try database.run(asked) }
    }

    /// Runs a statement that writes once for each row of values, as one: all of them or, where one is refused, none.
    ///
    /// ```swift
    /// let insert = try db.prepare("INSERT INTO Person (name, age) VALUES (?, ?)")
    /// try insert.run(rows: people.map { [$0.name, $0.age] })
    /// ```
    ///
    /// - Returns: the changed rows of all runs, and what `RETURNING` gives of them.
    /// - Throws: `MakoError.invalidArgument` for a question; what ``run(_:named:)`` throws.
    @discardableResult
    public func run(rows: some Sequence<[(any ConditionValue)?]>) throws(MakoError) -> RawResults {
        if isReadOnly { throw .invalidArgument("a question stores no rows; run it once for each row of values") }
        return try database.allOrNothing { (transaction) throws(MakoError) in
            var all: RawResults?
            for row in rows {
                let asked = try asked(row, [:])
                let results = try transaction.run(asked.kept, asked.values, asked.named)
                if all == nil { all = results } else { all?.append(results) }
            }
            return all ?? RawResults(columns: [], rows: [])
        }
    }

    func asked(
        _ parameters: [(any ConditionValue)?], _ named: [String: (any ConditionValue)?]
    ) throws(MakoError) -> AskedStatement {
        if named.isEmpty, let values = parameters.plainValues { return AskedStatement(kept, values) }
        return try AskedStatement(WhereText(text: text), parameters, named)
    }
}

extension Database {
    /// Reads a statement of the small SQL that is to be run again and again.
    ///
    /// ```swift
    /// let rename = try db.prepare("UPDATE Person SET name = ? WHERE id = ?")
    /// try db.transaction { _ in for (id, name) in names { try rename.run(name, id) } }
    /// ```
    ///
    /// - Throws: `MakoError.query`, pointing into the text. Whether its tables and columns are there is found out when it is run.
    public func prepare(_ text: String) throws(MakoError) -> PreparedStatement { try PreparedStatement(text, self) }
}
