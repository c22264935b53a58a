import MakoStorage

/// The rows of a hash join that memory does not hold: sorted by their keys in a file, where they are looked up.
final class SpilledJoinRows {
    /// How many bytes rows may take in memory.
    let memory: Int
    private(set) var isUsed = false
    private let view: Snapshot
    private let cancellation: Cancellation?
    private var entries: SpilledEntries?
    private var table: SortedTable?
    private var buffer = KeyBuffer()
    private var peak = 0

    init(_ view: Snapshot, _ cancellation: Cancellation?) {
        self.view = view
        self.cancellation = cancellation
        // Tables grow by doubling: what is full at three eighths stays within the whole.
        memory = view.queryMemory / 8 * 3
    }

    /// How many bytes were held at the most.
    var peakBytes: Int { max(peak, (entries?.peakBytes ?? 0) + (table?.memory ?? 0)) }

    /// From now on rows are added here.
    ///
    /// - Parameter bytes: what is held in memory, and is added now.
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

    /// A closure appends what is kept under the key.
    func add(_ key: UnsafeRawBufferPointer, _ content: (inout KeyBuffer) -> Void) throws(RecordError) {
        guard let entries else { return }
        let start = entries.content.count
        entries.content.append(raw: key)
        let middle = entries.content.count
        content(&entries.content)
        try entries.end(start, middle, view)
    }

    /// Goes to the first row with a key. All rows have been added. False: there is none.
    func seek(_ key: UnsafeRawBufferPointer) throws(RecordError) -> Bool {
        if table == nil, let entries {
            table = try entries.table(view)
            peak = max(peak, peakBytes)
            self.entries = nil
        }
        return try engine { () throws(StorageError) in try table?.seek(key) ?? false }
    }

    /// Goes to the next row with the key. False: there is none.
    func next() throws(RecordError) -> Bool {
        if cancellation?.isCancelled == true { throw .cancelled }
        return try engine { () throws(StorageError) in try table?.next() ?? false }
    }

    /// What is kept, valid until another is gone to.
    var value: UnsafeRawBufferPointer { table?.value ?? UnsafeRawBufferPointer(start: nil, count: 0) }

    /// The row and its id, of rows that were added as such.
    var content: (bytes: UnsafeRawBufferPointer, id: Int64) {
        let value = value
        return (
            UnsafeRawBufferPointer(rebasing: value.dropFirst(8)),
            Int64(bitPattern: KeyOrder.head(UnsafeRawBufferPointer(rebasing: value.prefix(8))))
        )
    }
}
