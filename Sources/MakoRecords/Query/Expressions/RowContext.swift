/// The row context of evaluators: the current rows of a join, and the results of the current group. One for each run.
final class RowContext {
    struct Place {
        /// The row, or `nil` for the row of NULLs of an unmatched outer row.
        var row: RowReader?
        /// The row id, for tables with row ids.
        var id: Int64 = 0
    }

    let rows: UnsafeMutableBufferPointer<Place>
    let results: UnsafeMutableBufferPointer<Operand>
    /// A row without columns, for evaluators that read supplied rows only.
    let blank: RowReader
    private let blankBytes: UnsafeMutableRawBufferPointer
    private let blankLayout: RowLayout

    init(rows count: Int, results resultCount: Int) throws(RecordError) {
        rows = .allocate(capacity: count)
        rows.initialize(repeating: Place())
        results = .allocate(capacity: resultCount)
        results.initialize(repeating: .null)
        blankLayout = RowLayout.blank()
        blankBytes = .allocate(byteCount: 8, alignment: 8)
        blankBytes.initializeMemory(as: UInt8.self, repeating: 0)
        blankBytes[0] = UInt8(RowLayout.format)
        blank = try RowReader(UnsafeRawBufferPointer(blankBytes), blankLayout)
    }

    deinit {
        rows.deallocate()
        results.deallocate()
        blankBytes.deallocate()
    }
}
