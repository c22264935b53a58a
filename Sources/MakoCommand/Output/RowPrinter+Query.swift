import MakoRecords
import MakoStorage

extension RowPrinter {
    /// Writes the rows of a query as they are found, so that a large result is not held in memory, until standard output
    /// fails. After an error the rows received so far are written.
    ///
    /// - Returns: the number of rows.
    static func write(
        _ query: PlannedQuery, in view: Snapshot, format: RowFormat, width: Int?, cancellation: Cancellation? = nil,
        output: @escaping (String) -> Void
    ) throws(RecordError) -> Int {
        var printer = RowPrinter(columns: query.columns, format: format, width: width, output: output)
        do throws(RecordError) {
            try query.give(in: view, cancellation: cancellation, rows: 256, bytes: 64 << 10) {
                (batch) throws(RecordError) in
                for row in batch {
                    if cancellation?.isCancelled == true { throw .cancelled }
                    printer.row(Array(row))
                }
                return !Terminal.hasFailed
            }
        } catch {
            printer.interrupt()
            throw error
        }
        printer.finish()
        return printer.rows
    }

    /// Writes all rows of a result, until the statement is cancelled.
    mutating func write(_ rows: [[Value]], _ cancellation: Cancellation) throws(RecordError) {
        for values in rows {
            if cancellation.isCancelled {
                interrupt()
                throw .cancelled
            }
            row(values)
        }
        finish()
    }
}
