import MakoStorage

/// Lends the rows of a table some hundred at a time, copied, so that the table may be changed meanwhile.
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

    /// Goes to the next rows. False: there are none.
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
                // A piece more would be one that is read before the changes that are made for this one.
                if ends.count == 512 || content.count >= 512 << 10 { return true }
                isThere = try cursor.next()
            }
        } catch { throw .storage(error) }
        return !ends.isEmpty
    }

    /// A row of the piece. Valid until the next one is asked for.
    func row(_ place: Int, _ layout: RowLayout) throws(RecordError) -> RowReader {
        do throws(RecordError) {
            return try RowReader(content.raw(from: place == 0 ? 0 : ends[place - 1], to: ends[place]), layout)
        } catch { throw error.ofRow(keys[place], in: schema) }
    }
}
