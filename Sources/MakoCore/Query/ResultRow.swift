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
    /// Counted from 0: errors name it.
    let number: Int

    /// The names of the columns, in the order of the values.
    public var columns: [String] { places.names }

    /// The value of a column by its place, counted from 0; nil where there is none.
    public subscript(place: Int) -> StoredValue? { values.indices.contains(place) ? values[place] : nil }

    /// The value of a column by its name, if need be without regard to case; nil where there is none.
    public subscript(column: String) -> StoredValue? { places.place(column).map { values[$0] } }

    /// The value of a column as a Swift type.
    ///
    /// - Throws: `MakoError.columnMissing`; `.columnMismatch` for a value that is none of its type, and for NULL where that is no optional.
    public func value<V: StorableValue>(_ column: String, as type: V.Type = V.self) throws(MakoError) -> V {
        guard let place = places.place(column) else {
            throw .columnMissing(column: column, expected: RawResults.name(of: type), columns: columns)
        }
        return try value(at: place, as: type)
    }

    /// The value of a column by its place, counted from 0, as a Swift type.
    ///
    /// - Throws: as ``value(_:as:)-(String,_)``.
    public func value<V: StorableValue>(at place: Int, as type: V.Type = V.self) throws(MakoError) -> V {
        guard values.indices.contains(place) else {
            throw .columnMissing(column: "\(place)", expected: RawResults.name(of: type), columns: columns)
        }
        if let value = V(stored: values[place]) { return value }
        throw RawResults.mismatch(columns[place], number, RawResults.name(of: type), values[place])
    }

    /// The values as a tuple, one for each column.
    ///
    /// - Throws: `MakoError.columnMissing` where there are more or fewer columns than values; `.columnMismatch` as for a single value.
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

    /// The row as a value of a `Decodable` type, each of whose properties takes the column of its name; see
    /// ``RawResults/rows(as:)-(V.Type)``.
    ///
    /// - Throws: `MakoError.columnMissing` for a property without a column; `.columnMismatch` as for a single value.
    public func decoded<V: Decodable>(as type: V.Type) throws(MakoError) -> V {
        try DecodedRow.decoding(type, "\(type)", number, "a row") { () throws in
            try V(from: DecodedRow(places: places, values: values, number: number))
        }
    }

    public static func == (first: ResultRow, second: ResultRow) -> Bool {
        first.values == second.values && first.columns == second.columns
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
