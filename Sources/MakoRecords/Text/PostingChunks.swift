import MakoStorage

/// Cuts the postings of a word into the chunks that the tree holds.
struct PostingChunks: ~Copyable {
    private let columnBits: UInt64
    /// The open chunk, its key, and how much of that is the word.
    private var chunk = KeyBuffer()
    private var key = KeyBuffer()
    private var wordBytes = 0
    /// How many bytes the number before the chunk's first occurrences takes: they do not count.
    private var firstBytes = 0
    /// The last row of the word.
    private var last: UInt64 = 0

    init(columnBits: UInt64) { self.columnBits = columnBits }

    /// Cuts all postings of a word.
    ///
    /// - Parameters:
    ///   - key: that of the first chunk.
    ///   - base: the number that the postings are counted from.
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

    /// Goes on with postings whose rows come behind those that were appended.
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
