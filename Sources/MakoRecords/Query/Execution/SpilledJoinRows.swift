import MakoStorage

/// The rows of a hash join beyond the memory: sorted by key in a file, where they are looked up.
final class SpilledJoinRows {
    /// The number of bytes that rows may take in memory.
    let memory: Int
    private(set) var isUsed = false
    let view: Snapshot
    private let cancellation: Cancellation?
    private var entries: SpilledEntries?
    private var table: SortedTable?
    private var buffer = KeyBuffer()
    private var peak = 0

    init(_ view: Snapshot, _ cancellation: Cancellation?) {
        self.view = view
        self.cancellation = cancellation
        // Tables grow by doubling: a limit of three eighths keeps the next size within the whole.
        memory = view.queryMemory / 8 * 3
    }

    /// The peak number of bytes held.
    var peakBytes: Int { max(peak, (entries?.peakBytes ?? 0) + (table?.memory ?? 0)) }

    /// Starts spilling.
    ///
    /// - Parameter bytes: the size of what is in memory, and is spilled now.
    func begin(_ bytes: Int) {
        isUsed = true
        peak = bytes + view.queryMemory / 4
        let made = SpilledEntries(memory: view.queryMemory / 4)
        made.cancellation = cancellation
        entries = made
    }

    func add(
        _ key: UnsafeRawBufferPointer, _ row: UnsafeRawBufferPointer, _ id: Int64
    ) throws(RecordError) {
        try add(key) { (content) in
            content.append(bigEndian: UInt64(bitPattern: id))
            content.append(raw: row)
        }
    }

    /// Adds a row; a closure appends its value.
    func add(_ key: UnsafeRawBufferPointer, _ content: (inout KeyBuffer) -> Void) throws(RecordError) {
        guard let entries else { return }
        let start = entries.content.count
        entries.content.append(raw: key)
        let middle = entries.content.count
        content(&entries.content)
        try entries.end(start, middle, view)
    }

    /// Moves to the first row with a key, after all rows have been added. Returns `false` if there is none.
    func seek(_ key: UnsafeRawBufferPointer) throws(RecordError) -> Bool {
        if table == nil, let entries {
            table = try entries.table(view)
            peak = max(peak, peakBytes)
            self.entries = nil
        }
        return try engine { () throws(StorageError) in try table?.seek(key) ?? false }
    }

    /// Moves to the next row with the key. Returns `false` if there is none.
    func next() throws(RecordError) -> Bool {
        if cancellation?.isCancelled == true { throw .cancelled }
        return try engine { () throws(StorageError) in try table?.next() ?? false }
    }

    /// The value of the current row, valid until the next move.
    var value: UnsafeRawBufferPointer { table?.value ?? UnsafeRawBufferPointer(start: nil, count: 0) }

    /// The current row and its id, if it was added as a row.
    var content: (bytes: UnsafeRawBufferPointer, id: Int64) {
        let value = value
        return (
            UnsafeRawBufferPointer(rebasing: value.dropFirst(8)),
            Int64(bitPattern: KeyOrder.head(UnsafeRawBufferPointer(rebasing: value.prefix(8))))
        )
    }
}
