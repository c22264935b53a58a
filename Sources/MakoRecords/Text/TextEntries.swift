import MakoStorage

/// Makes the entries of a full-text index from records in the order of its keys, as ``TextBatch/forEachRecord(_:)``
/// passes them. Records with the same key are combined, in their order.
struct TextEntries: ~Copyable {
    typealias Sink = (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StorageError) -> Void

    /// The record that may be combined with the next one. For a word with several records, the value is in the chunks.
    private var key = KeyBuffer()
    private var value = KeyBuffer()
    private var chunks: PostingChunks
    private var isCutting = false

    init(columnBits: UInt64) { chunks = PostingChunks(columnBits: columnBits) }

    private var isWord: Bool { key.raw.first == FullTextIndex.wordMark }

    mutating func take(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ sink: Sink
    ) throws(StorageError) {
        guard KeyOrder.compareRaw(self.key.raw, key) == 0 else {
            try end(sink)
            self.key.append(raw: key)
            return self.value.append(raw: value)
        }
        // The lengths of further rows of a block are appended.
        guard isWord else { return self.value.append(raw: value) }
        if !isCutting {
            isCutting = true
            chunks.begin(key, base: FullTextIndex.firstBase)
            try chunks.append(self.value.raw, base: FullTextIndex.firstBase, sink)
        }
        try chunks.append(value, base: FullTextIndex.firstBase, sink)
    }

    /// Passes on the last record.
    mutating func end(_ sink: Sink) throws(StorageError) {
        if key.count == 0 { return }
        if isCutting {
            try chunks.end(sink)
        } else if isWord {
            try chunks.cut(key.raw, value.raw, base: FullTextIndex.firstBase, sink)
        } else {
            try sink(key.raw, value.raw)
        }
        isCutting = false
        key.clear()
        value.clear()
    }
}

extension SortedRuns {
    /// Writes the content of a batch as a run, and empties the batch.
    func add(_ batch: TextBatch) throws(StorageError) {
        var run = begin()
        try batch.forEachRecord { (key, value) throws(StorageError) in try run.append(key, value) }
        try end(&run)
        batch.removeAll()
    }
}
