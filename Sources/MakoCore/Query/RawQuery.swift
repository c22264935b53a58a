import MakoRecords
import MakoStorage

/// What a query in the small SQL answered: rows of values, all read.
public struct RawResults: Sendable, Hashable {
    /// The names of the columns, in the order of the values.
    public let columns: [String]
    public let rows: [[StoredValue]]

    public var rowCount: Int { rows.count }
    public var columnCount: Int { columns.count }

    /// A value by its row, counted from 0, and its column's name; nil where there is none.
    public func value(_ column: String, row: Int) -> StoredValue? {
        guard rows.indices.contains(row), let place = columns.firstIndex(of: column) else { return nil }
        return rows[row][place]
    }
}

extension Database {
    /// Answers a `SELECT` of the small SQL. Interpolated values are bound, and so are those behind the text, for its `?`.
    ///
    /// ```swift
    /// let found = try db.rawQuery("SELECT grade, count(*) FROM Person WHERE age > \(30) GROUP BY grade")
    /// for row in found.rows { print(row) }
    /// ```
    ///
    /// - Throws: `MakoError.query`, pointing into the text, before any row is read.
    public func rawQuery(_ text: WhereText, _ parameters: (any ConditionValue)?...) throws(MakoError) -> RawResults {
        try rawQuery(text, values: parameters.map { $0?.conditionValue ?? .null })
    }

    /// The same for a text that is known only at run time.
    public func rawQuery(text: String, _ parameters: (any ConditionValue)?...) throws(MakoError) -> RawResults {
        try rawQuery(WhereText(text: text), values: parameters.map { $0?.conditionValue ?? .null })
    }

    func rawQuery(_ text: WhereText, values: [StoredValue]) throws(MakoError) -> RawResults {
        let found = try viewing { (view, schema) throws(MakoError) in
            try records { () throws(RecordError) in
                try SelectStatement.parse(text.text).run(
                    schema.catalogue, view: view, parameters: values, named: text.interpolated)
            }
        }
        return RawResults(columns: found.columns, rows: found.rows)
    }
}
