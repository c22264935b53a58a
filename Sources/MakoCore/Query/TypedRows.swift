import MakoRecords

// Rows of a SELECT as Swift's own types: tuples by the places of their columns, values of one column, structs by the columns' names.

extension RawResults {
    /// The rows as tuples, a value for each column.
    ///
    /// ```swift
    /// let found = try db.rawQuery("SELECT name, age FROM Person")
    /// for (name, age) in try found.rows(as: (String, Int?).self) { print(name, age ?? 0) }
    /// ```
    ///
    /// - Throws: `MakoError.columnMissing` where there are more or fewer columns than values; `.columnMismatch` for a value that is none of
    ///   its type, and for NULL where the type is no optional.
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

    /// The values of the only column.
    ///
    /// ```swift
    /// let names = try db.rawQuery("SELECT DISTINCT name FROM Person").rows(as: String.self)
    /// ```
    ///
    /// - Throws: `MakoError.columnMissing` where there are more columns than one; `.columnMismatch` as for tuples.
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

    /// The rows as values of a `Decodable` type: each of its properties takes the column of its name.
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
    /// Columns that no property asks for are left alone. An optional property takes NULL, and needs its column all the same. A property that
    /// fills no column by itself, such as an array or a struct, is decoded from the JSON text that Mako stores it as.
    ///
    /// - Throws: `MakoError.columnMissing` for a property without a column; `.columnMismatch` for a value that is none of its property's
    ///   type, and for NULL where that is no optional.
    /// - Complexity: linear in the number of values.
    @_disfavoredOverload
    public func rows<V: Decodable>(as type: V.Type) throws(MakoError) -> [V] {
        let places = ColumnPlaces(columns)
        var result: [V] = []
        result.reserveCapacity(rows.count)
        for (number, row) in rows.enumerated() {
            result.append(
                try DecodedRow.decoding(type, "\(type)", number, "a row") { () throws in
                    try V(from: DecodedRow(places: places, values: row, number: number))
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

    /// A type as it is written.
    static func name<V>(of type: V.Type) -> String {
        let name = "\(type)"
        guard name.hasPrefix("Optional<"), name.hasSuffix(">") else { return name }
        return "\(name.dropFirst(9).dropLast())?"
    }
}

extension Database {
    /// Runs a `SELECT` and gives its rows as tuples, a value for each column.
    ///
    /// ```swift
    /// let people = try db.rawQuery("SELECT name, age FROM Person WHERE age > \(30)", as: (String, Int?).self)
    /// for (name, age) in people { print(name, age ?? 0) }
    /// ```
    ///
    /// - Throws: what `rawQuery` throws; `MakoError.columnMissing` where there are more or fewer columns than values; `.columnMismatch` for a
    ///   value that is none of its type, and for NULL where the type is no optional; `.invalidArgument` for a statement that is no question,
    ///   before it is run.
    /// - Complexity: that of the question, and linear in its rows.
    public func rawQuery<each V: StorableValue>(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:],
        as type: (repeat each V).Type
    ) throws(MakoError) -> [(repeat each V)] {
        try run(try AskedStatement(question: text, parameters, named)).rows(as: type)
    }

    /// Runs a `SELECT` of one column and gives its values.
    ///
    /// ```swift
    /// let names = try db.rawQuery("SELECT name FROM Person WHERE age > \(30)", as: String.self)
    /// ```
    ///
    /// - Throws: as for tuples.
    /// - Complexity: that of the question, and linear in its rows.
    public func rawQuery<V: StorableValue>(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:],
        as type: V.Type
    ) throws(MakoError) -> [V] {
        try run(try AskedStatement(question: text, parameters, named)).rows(as: type)
    }

    /// Runs a `SELECT` and gives its rows as values of a `Decodable` type: each of its properties takes the column of its name.
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
    /// Columns that no property asks for are left alone. An optional property takes NULL, and needs its column all the same. A property that
    /// fills no column by itself, such as an array or a struct, is decoded from the JSON text that Mako stores it as.
    ///
    /// - Throws: what `rawQuery` throws; `MakoError.columnMissing` for a property without a column; `.columnMismatch` for a value that is none
    ///   of its property's type, and for NULL where that is no optional; `.invalidArgument` for a statement that is no question, before it is
    ///   run.
    /// - Complexity: that of the question, and linear in its rows.
    @_disfavoredOverload
    public func rawQuery<V: Decodable>(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:],
        as type: V.Type
    ) throws(MakoError) -> [V] {
        try run(try AskedStatement(question: text, parameters, named)).rows(as: type)
    }

    /// The async form of `rawQuery` for tuples.
    public func rawQuery<each V: StorableValue>(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:],
        as type: (repeat each V).Type
    ) async throws(MakoError) -> [(repeat each V)] {
        try await answer(try AskedStatement(question: text, parameters, named)).rows(as: type)
    }

    /// The async form of `rawQuery` for the values of one column.
    public func rawQuery<V: StorableValue>(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:],
        as type: V.Type
    ) async throws(MakoError) -> [V] {
        try await answer(try AskedStatement(question: text, parameters, named)).rows(as: type)
    }

    /// The async form of `rawQuery` for rows that are decoded.
    @_disfavoredOverload
    public func rawQuery<V: Decodable>(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:],
        as type: V.Type
    ) async throws(MakoError) -> [V] {
        try await answer(try AskedStatement(question: text, parameters, named)).rows(as: type)
    }

    private func answer(_ asked: AskedStatement) async throws(MakoError) -> RawResults {
        try await onOwnThread(writes: !asked.kept.isReadOnly) { () throws(MakoError) in try self.run(asked) }
    }
}

extension AskedStatement {
    /// One that has rows.
    fileprivate init(
        question text: WhereText, _ parameters: [(any ConditionValue)?], _ named: [String: (any ConditionValue)?]
    ) throws(MakoError) {
        try self.init(text, parameters, named)
        if !statement.givesRows {
            throw .invalidArgument(
                "a statement that writes has no rows without RETURNING; call rawQuery without as:, which says what it did"
            )
        }
    }
}
