import MakoStorage

/// Scans a table in batches of copied rows, so that the table may be changed during the scan.
struct RowPieces: ~Copyable {
    private let isRowID: Bool
    private let schema: EntitySchema
    private var cursor: Cursor
    private var hasBegun = false
    private var content = KeyBuffer()
    private var ends: [Int] = []
    private(set) var keys: [RowKey] = []

    init(_ table: TableHandle, _ view: Snapshot) throws(RecordError) {
        isRowID = table.isRowID
        schema = table.schema
        cursor = try engine { () throws(StorageError) in try view.cursor(in: table.rows) }
    }

    var count: Int { ends.count }

    /// Reads the next batch. Returns `false` at the end.
    mutating func next() throws(RecordError) -> Bool {
        content.clear()
        ends.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        do throws(StorageError) {
            var isThere = hasBegun ? try cursor.next() : try cursor.first()
            hasBegun = true
            while isThere {
                keys.append(isRowID ? .rowID(KeyOrder.rowID(cursor.integerKey)) : .bytes(cursor.key))
                let value = try cursor._currentValue()
                content.append(raw: .init(start: value.start, count: value.count))
                cursor._deallocate(value)
                ends.append(content.count)
                // Returns before the cursor moves on: the next batch must be read after the changes for this one.
                if ends.count == 512 || content.count >= 512 << 10 { return true }
                isThere = try cursor.next()
            }
        } catch { throw .storage(error) }
        return !ends.isEmpty
    }

    /// Returns a row of the batch, valid until the next call.
    func row(_ place: Int, _ layout: RowLayout) throws(RecordError) -> RowReader {
        do throws(RecordError) {
            return try RowReader(content.raw(from: place == 0 ? 0 : ends[place - 1], to: ends[place]), layout)
        } catch { throw error.ofRow(keys[place], in: schema) }
    }
}
