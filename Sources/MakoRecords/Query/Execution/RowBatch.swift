/// Some rows of a result. Their values lie in one array, row after row, so that a row needs no memory of its own.
@usableFromInline
package struct RowBatch: Sendable {
    /// The number of values of a row.
    @usableFromInline package let width: Int
    /// The values of all rows.
    @usableFromInline package internal(set) var values: [Value] = []
    /// The number of rows.
    @usableFromInline package internal(set) var count = 0

    init(width: Int) { self.width = width }

    /// Appends a row.
    mutating func append(_ row: [Value]) {
        assert(row.count == width)
        values.append(contentsOf: row)
        count += 1
    }

    /// Removes the rows and keeps their memory, unless the values are shared.
    mutating func removeAll() {
        values.removeAll(keepingCapacity: true)
        count = 0
    }
}

extension RowBatch: RandomAccessCollection {
    /// The position of the first row.
    @usableFromInline
    package var startIndex: Int { 0 }
    /// The position after the last row.
    @usableFromInline
    package var endIndex: Int { count }

    /// The values of a row.
    @usableFromInline
    package subscript(row: Int) -> ArraySlice<Value> { values[row * width..<(row + 1) * width] }
}
