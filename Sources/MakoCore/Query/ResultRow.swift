import MakoRecords

/// One row of a `SELECT`; see ``Database/rows(_:_:named:)``.
///
/// ```swift
/// let rows = try db.rows("SELECT name, age FROM Person")
/// while let row = try rows.next() {
///     print(row["name"] ?? .null, try row.value("age", as: Int?.self) ?? 0)
/// }
/// ```
///
/// A row shares the memory of the rows that were read with it, some hundred. To hold few of many rows, hold their
/// ``values``.
public struct ResultRow: Sendable, Hashable {
    @usableFromInline let places: ColumnPlaces
    @usableFromInline let batch: RowBatch
    /// The position of the row in the batch, and of its first value.
    private var place = 0
    @usableFromInline private(set) var start = 0
    /// The row number from 0, for errors.
    private(set) var number: Int

    /// The first row of a batch that has one.
    init(_ places: ColumnPlaces, firstOf batch: RowBatch, number: Int) {
        (self.places, self.batch, self.number) = (places, batch, number)
    }

    /// Becomes the next row of the batch. False: it is the last one.
    mutating func advance() -> Bool {
        guard place + 1 < batch.count else { return false }
        place += 1
        start += batch.width
        number += 1
        return true
    }

    /// The values, in the order of the columns.
    ///
    /// - Complexity: linear in the number of columns; a single value is `row[0]` or `row["name"]`.
    public var values: [StoredValue] { Array(slice) }

    private var slice: ArraySlice<StoredValue> { batch.values[start..<start + batch.width] }

    /// The names of the columns, in the order of the values.
    public var columns: [String] { places.names }

    /// The value of the column at a position, from 0; nil if there is none.
    @inlinable
    public subscript(place: Int) -> StoredValue? {
        place >= 0 && place < batch.width ? batch.values[start &+ place] : nil
    }

    /// The value of the column with a name: the exact one, else the case-insensitive one; nil if there is none.
    @inlinable
    public subscript(column: String) -> StoredValue? {
        guard let place = places.place(column) else { return nil }
        return batch.values[start &+ place]
    }

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
        guard let stored = self[place] else {
            throw .columnMissing(column: "\(place)", expected: RawResults.name(of: type), columns: columns)
        }
        if let value = V(stored: stored) { return value }
        throw RawResults.mismatch(columns[place], number, RawResults.name(of: type), stored)
    }

    /// Returns the values as a tuple, one for each column.
    ///
    /// - Throws: `MakoError.columnMissing` when the number of columns differs; `.columnMismatch` as for a single value.
    public func values<each V: StorableValue>(as type: (repeat each V).Type) throws(MakoError) -> (repeat each V) {
        var width = 0
        for _ in repeat (each V).self { width += 1 }
        if width != batch.width { throw .columnMissing(column: nil, expected: "\(type)", columns: columns) }
        var place = -1
        func next<T: StorableValue>(_ type: T.Type) throws(MakoError) -> T {
            place += 1
            return try value(at: place, as: type)
        }
        return (repeat try next((each V).self))
    }

    /// Returns the row as a value of a `Decodable` type, each of whose properties reads the column of its name; see
    /// ``RawResults/rows(as:)``.
    ///
    /// - Throws: `MakoError.columnMissing` for a property without a column; `.columnMismatch` as for a single value.
    public func decoded<V: Decodable>(as type: V.Type) throws(MakoError) -> V {
        try DecodedRow.decoding(type, "\(type)", number, "a row") { () throws in
            try V(from: DecodedRow(places: places, values: slice, number: number))
        }
    }

    /// Returns whether two rows have equal values and equal column names.
    public static func == (first: ResultRow, second: ResultRow) -> Bool {
        first.slice == second.slice && first.columns == second.columns
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(slice) }
}
