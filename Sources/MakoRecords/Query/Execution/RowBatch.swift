/// Some rows of a result. Their values lie in one array, row after row, so that a row needs no memory of its own.
public struct RowBatch: Sendable {
    /// The number of values of a row.
    public let width: Int
    /// The values of all rows.
    public internal(set) var values: [Value] = []
    /// The number of rows.
    public internal(set) var count = 0

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
    public var startIndex: Int { 0 }
    /// The position after the last row.
    public var endIndex: Int { count }

    /// The values of a row.
    public subscript(row: Int) -> ArraySlice<Value> { values[row * width..<(row + 1) * width] }
}
