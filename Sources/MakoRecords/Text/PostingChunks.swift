import MakoStorage

/// Splits the postings of a word into the chunks that the tree stores.
struct PostingChunks: ~Copyable {
    private let columnBits: UInt64
    /// The open chunk, its key, and the length of the word in the key.
    private var chunk = KeyBuffer()
    private var key = KeyBuffer()
    private var wordBytes = 0
    /// The size of the number before the chunk's first occurrences, which does not count.
    private var firstBytes = 0
    /// The last row of the word.
    private var last: UInt64 = 0

    init(columnBits: UInt64) { self.columnBits = columnBits }

    /// Splits all postings of a word.
    ///
    /// - Parameters:
    ///   - key: the key of the first chunk.
    ///   - base: the number to which the first row is relative.
    mutating func cut(
        _ key: UnsafeRawBufferPointer, _ postings: UnsafeRawBufferPointer, base: UInt64, _ sink: TextEntries.Sink
    ) throws(StorageError) {
        if postings.count <= FullTextIndex.chunkLimit { return try sink(key, postings) }
        begin(key, base: base)
        try append(postings, base: base, sink)
        try end(sink)
    }

    mutating func begin(_ key: UnsafeRawBufferPointer, base: UInt64) {
        self.key.clear()
        self.key.append(raw: key)
        wordBytes = key.firstIndex(of: 0) ?? key.count
        last = base
        chunk.clear()
    }

    /// Appends postings of later rows.
    mutating func append(
        _ postings: UnsafeRawBufferPointer, base: UInt64, _ sink: TextEntries.Sink
    ) throws(StorageError) {
        var reader = PostingReader(postings, base: base, columnBits: columnBits)
        while reader.next() {
            let bytes = KeyBuffer.bytes(ofVarint: reader.row &- last) + reader.end - reader.bodyStart
            if chunk.count > 0, chunk.count - firstBytes + bytes > FullTextIndex.chunkLimit {
                try sink(key.raw, chunk.raw)
                key.truncate(to: wordBytes)
                FullTextIndex.appendChunk(reader.row, to: &key)
                chunk.clear()
                last = reader.row
            }
            let isFirst = chunk.count == 0
            chunk.append(varint: reader.row &- last)
            if isFirst { firstBytes = chunk.count }
            chunk.append(raw: reader.body)
            last = reader.row
        }
        assert(!reader.isDamaged)
    }

    mutating func end(_ sink: TextEntries.Sink) throws(StorageError) {
        if chunk.count > 0 { try sink(key.raw, chunk.raw) }
    }
}
