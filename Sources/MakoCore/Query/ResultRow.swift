import MakoRecords

/// One row of a `SELECT`; see ``Database/rows(_:_:named:)``.
///
/// ```swift
/// let rows = try db.rows("SELECT name, age FROM Person")
/// while let row = try rows.next() {
///     print(row["name"] ?? .null, try row.value("age", as: Int?.self) ?? 0)
/// }
/// ```
public struct ResultRow: Sendable, Hashable {
    let places: ColumnPlaces
    /// The values, in the order of the columns.
    public let values: [StoredValue]
    /// The row number from 0, for errors.
    let number: Int

    /// The names of the columns, in the order of the values.
    public var columns: [String] { places.names }

    /// The value of the column at a position, from 0; nil if there is none.
    public subscript(place: Int) -> StoredValue? { values.indices.contains(place) ? values[place] : nil }

    /// The value of the column with a name: the exact one, else the case-insensitive one; nil if there is none.
    public subscript(column: String) -> StoredValue? { places.place(column).map { values[$0] } }

    /// Returns the value of a column as a Swift type.
    ///
    /// - Throws: `MakoError.columnMissing`; `.columnMismatch` for a value that does not fit the type, and for NULL
    ///   unless the type is optional.
    public func value<V: StorableValue>(_ column: String, as type: V.Type = V.self) throws(MakoError) -> V {
        guard let place = places.place(column) else {
            throw .columnMissing(column: column, expected: RawResults.name(of: type), columns: columns)
        }
        return try value(at: place, as: type)
    }

    /// Returns the value of the column at a position, from 0, as a Swift type.
    ///
    /// - Throws: as ``value(_:as:)-(String,_)``.
    public func value<V: StorableValue>(at place: Int, as type: V.Type = V.self) throws(MakoError) -> V {
        guard values.indices.contains(place) else {
            throw .columnMissing(column: "\(place)", expected: RawResults.name(of: type), columns: columns)
        }
        if let value = V(stored: values[place]) { return value }
        throw RawResults.mismatch(columns[place], number, RawResults.name(of: type), values[place])
    }

    /// Returns the values as a tuple, one for each column.
    ///
    /// - Throws: `MakoError.columnMissing` when the number of columns differs; `.columnMismatch` as for a single value.
    public func values<each V: StorableValue>(as type: (repeat each V).Type) throws(MakoError) -> (repeat each V) {
        var width = 0
        for _ in repeat (each V).self { width += 1 }
        if width != values.count { throw .columnMissing(column: nil, expected: "\(type)", columns: columns) }
        var place = -1
        func next<T: StorableValue>(_ type: T.Type) throws(MakoError) -> T {
            place += 1
            return try value(at: place, as: type)
        }
        return (repeat try next((each V).self))
    }

    /// Returns the row as a value of a `Decodable` type, each of whose properties reads the column of its name; see
    /// ``RawResults/rows(as:)-(V.Type)``.
    ///
    /// - Throws: `MakoError.columnMissing` for a property without a column; `.columnMismatch` as for a single value.
    public func decoded<V: Decodable>(as type: V.Type) throws(MakoError) -> V {
        try DecodedRow.decoding(type, "\(type)", number, "a row") { () throws in
            try V(from: DecodedRow(places: places, values: values, number: number))
        }
    }

    /// Returns whether two rows have equal values and equal column names.
    public static func == (first: ResultRow, second: ResultRow) -> Bool {
        first.values == second.values && first.columns == second.columns
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
