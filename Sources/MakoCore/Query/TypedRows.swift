import MakoRecords

// Rows of a SELECT as Swift types: tuples by column position, values of a single column, `Decodable` types by column
// name.

extension RawResults {
    /// Returns the rows as tuples, with a value for each column.
    ///
    /// ```swift
    /// let found = try db.rawQuery("SELECT name, age FROM Person")
    /// for (name, age) in try found.rows(as: (String, Int?).self) { print(name, age ?? 0) }
    /// ```
    ///
    /// - Throws: `MakoError.columnMissing` when the number of columns differs; `.columnMismatch` for a value that does
    ///   not fit its type, and for NULL unless the type is optional.
    /// - Complexity: linear in the number of values.
    public func rows<each V: StorableValue>(
        as type: (repeat each V).Type
    ) throws(MakoError) -> [(repeat each V)] {
        var width = 0
        for _ in repeat (each V).self { width += 1 }
        if width != columns.count { throw .columnMissing(column: nil, expected: "\(type)", columns: columns) }
        var result: [(repeat each V)] = []
        result.reserveCapacity(rows.count)
        for number in rows.indices {
            var place = -1
            func next<T: StorableValue>(_ type: T.Type) throws(MakoError) -> T {
                place += 1
                return try value(type, number, place)
            }
            result.append((repeat try next((each V).self)))
        }
        return result
    }

    /// Returns the values of the only column.
    ///
    /// ```swift
    /// let names = try db.rawQuery("SELECT DISTINCT name FROM Person").rows(as: String.self)
    /// ```
    ///
    /// - Throws: `MakoError.columnMissing` when there are several columns; `.columnMismatch` as for tuples.
    /// - Complexity: linear in the number of rows.
    public func rows<V: StorableValue>(as type: V.Type) throws(MakoError) -> [V] {
        if columns.count != 1 {
            throw .columnMissing(column: nil, expected: RawResults.name(of: type), columns: columns)
        }
        var result: [V] = []
        result.reserveCapacity(rows.count)
        for number in rows.indices { result.append(try value(type, number, 0)) }
        return result
    }

    /// Returns the rows as values of a `Decodable` type, each of whose properties reads the column of its name.
    ///
    /// ```swift
    /// struct Head: Decodable {
    ///     let name: String
    ///     let people: Int
    /// }
    /// let heads = try db.rawQuery(
    ///     "SELECT department.name AS name, count(*) AS people FROM Person GROUP BY department.name"
    /// ).rows(as: Head.self)
    /// ```
    ///
    /// Columns without a property are ignored. An optional property accepts NULL, but its column must be in the result.
    /// A property whose type needs more than a column, such as an array or a struct, is decoded from JSON text, the
    /// form in which Mako stores it.
    ///
    /// - Throws: `MakoError.columnMissing` for a property without a column; `.columnMismatch` for a value that does not
    ///   fit its property, and for NULL unless the property is optional.
    /// - Complexity: linear in the number of values.
    @_disfavoredOverload
    public func rows<V: Decodable>(as type: V.Type) throws(MakoError) -> [V] {
        let places = ColumnPlaces(columns)
        var result: [V] = []
        result.reserveCapacity(rows.count)
        for (number, row) in rows.enumerated() {
            result.append(
                try DecodedRow.decoding(type, "\(type)", number, "a row") { () throws in
                    try V(from: DecodedRow(places: places, values: row[...], number: number))
                })
        }
        return result
    }

    private func value<V: StorableValue>(_ type: V.Type, _ row: Int, _ place: Int) throws(MakoError) -> V {
        let stored = rows[row][place]
        if let value = V(stored: stored) { return value }
        throw RawResults.mismatch(columns[place], row, RawResults.name(of: type), stored)
    }

    static func mismatch(_ column: String, _ row: Int, _ expected: String, _ found: StoredValue) -> MakoError {
        .columnMismatch(
            column: column, row: row, expected: expected,
            found: found.isNull ? "NULL" : "\(found.typeName) \(found)")
    }

    /// The name of a type in messages.
    static func name<V>(of type: V.Type) -> String {
        let name = "\(type)"
        guard name.hasPrefix("Optional<"), name.hasSuffix(">") else { return name }
        return "\(name.dropFirst(9).dropLast())?"
    }
}

extension Database {
    // async: awaits
    /// Runs a `SELECT` and returns its rows as tuples, with a value for each column.
    ///
    /// ```swift
    /// let people = try db.rawQuery("SELECT name, age FROM Person WHERE age > \(30)", as: (String, Int?).self)
    /// for (name, age) in people { print(name, age ?? 0) }
    /// ```
    ///
    /// - Throws: as `rawQuery`; `MakoError.columnMissing` when the number of columns differs; `.columnMismatch` for a
    ///   value that does not fit its type, and for NULL unless the type is optional; `.invalidArgument` for a statement
    ///   without rows, before it runs.
    /// - Complexity: that of the query, and linear in its rows.
    public func rawQuery<each V: StorableValue>(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:],
        as type: (repeat each V).Type
    ) throws(MakoError) -> [(repeat each V)] {
        try run(try StatementCall(query: text, parameters, named)).rows(as: type)
    }

    // async: awaits
    /// Runs a `SELECT` of one column and returns its values.
    ///
    /// ```swift
    /// let names = try db.rawQuery("SELECT name FROM Person WHERE age > \(30)", as: String.self)
    /// ```
    ///
    /// - Throws: as for tuples.
    /// - Complexity: that of the query, and linear in its rows.
    public func rawQuery<V: StorableValue>(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:],
        as type: V.Type
    ) throws(MakoError) -> [V] {
        try run(try StatementCall(query: text, parameters, named)).rows(as: type)
    }

    // async: awaits
    /// Runs a `SELECT` and returns its rows as values of a `Decodable` type, each of whose properties reads the column
    /// of its name.
    ///
    /// ```swift
    /// struct Head: Decodable {
    ///     let name: String
    ///     let people: Int
    /// }
    /// let heads = try db.rawQuery(
    ///     "SELECT department.name AS name, count(*) AS people FROM Person GROUP BY department.name", as: Head.self)
    /// ```
    ///
    /// Columns without a property are ignored. An optional property accepts NULL, but its column must be in the result.
    /// A property whose type needs more than a column, such as an array or a struct, is decoded from JSON text, the
    /// form in which Mako stores it.
    ///
    /// - Throws: as `rawQuery`; `MakoError.columnMissing` for a property without a column; `.columnMismatch` for a
    ///   value that does not fit its property, and for NULL unless the property is optional; `.invalidArgument` for a
    ///   statement without rows, before it runs.
    /// - Complexity: that of the query, and linear in its rows.
    @_disfavoredOverload
    public func rawQuery<V: Decodable>(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:],
        as type: V.Type
    ) throws(MakoError) -> [V] {
        try run(try StatementCall(query: text, parameters, named)).rows(as: type)
    }
}

extension StatementCall {
    /// Creates a statement that must return rows.
    init(
        query text: WhereText, _ parameters: [(any ConditionValue)?], _ named: NamedValues
    ) throws(MakoError) {
        try self.init(text, parameters, named)
        if !statement.givesRows {
            throw .invalidArgument(
                "a statement that writes has no rows without RETURNING; call rawQuery without as:, which says what it did"
            )
        }
    }
}
