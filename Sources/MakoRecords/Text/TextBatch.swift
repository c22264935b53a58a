import MakoStorage

/// Write buffer for the words of new rows, so that each word's postings are written once, in the order of the tree.
final class TextBatch {
    let index: FullTextIndex
    private let limit: Int
    // Owned by one thread without reentrancy, so that dynamic exclusivity checks are not needed.
    @exclusivity(unchecked) private var gathered: RowWords
    @exclusivity(unchecked) private var occurrences: OccurrenceWriter
    @exclusivity(unchecked) private var rows: [UInt64] = []
    /// The encoded postings of one word.
    @exclusivity(unchecked) private var postings = KeyBuffer()
    @exclusivity(unchecked) private var chunks: PostingChunks
    /// The byte keys of rows, with their numbers in the index.
    private var keys: [(key: [UInt8], row: UInt64)] = []
    private var nextNumber: UInt64
    private var keyBytes = 0

    /// - Parameter limit: the size in bytes at which the batch is full.
    init(_ index: FullTextIndex, limit: Int) {
        self.index = index
        self.limit = limit
        gathered = RowWords(index, room: 1 << 12)
        occurrences = OccurrenceWriter(columnBits: index.columnBits)
        chunks = PostingChunks(columnBits: index.columnBits)
        nextNumber = FullTextIndex.firstBase
    }

    /// The number of bytes held.
    var size: Int { rows.count * 8 + gathered.size + keyBytes }
    var isFull: Bool { size >= limit }

    /// Adds the words of a new row. Returns `false` if the row does not sort after the previous ones, and must be
    /// inserted by itself.
    func add(_ key: RowKey, _ row: RowReader) -> Bool {
        let number: UInt64
        switch key {
        case .rowID(let id): number = KeyOrder.treeKey(id)
        case .bytes(let bytes):
            number = nextNumber
            nextNumber += 1
            keys.append((bytes, number))
            keyBytes += bytes.count + 48
        }
        if let last = rows.last, number <= last { return false }
        rows.append(number)
        gathered.read(row, index)
        return true
    }

    func removeAll() {
        gathered.removeAll()
        rows.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        keyBytes = 0
    }

    // MARK: Flush

    /// Inserts the buffered words.
    func flush(_ tx: borrowing WriteTransaction) throws(RecordError) {
        if rows.isEmpty { return }
        defer { removeAll() }
        var totals = try TextTotals(index, in: tx.view)
        add(to: &totals)
        try totals.store(index, tx)
        try enterLengths(tx)
        try enterWords(tx)
        for (key, row) in keys { try index.enter(key, row, tx) }
    }

    /// Adds the buffered rows to the totals.
    func add(to totals: inout TextTotals) {
        for row in rows.indices { totals.add(gathered.lengths(of: row)) }
        if index.isRowID == false { totals.nextNumber = nextNumber }
    }

    /// Calls a closure with the buffered data in the order of the tree's keys: lengths of rows, words with their
    /// postings relative to ``FullTextIndex/firstBase``, and keys of rows.
    func forEachRecord(_ body: TextEntries.Sink) throws(StorageError) {
        var key = KeyBuffer()
        var value = KeyBuffer()
        for (number, block) in blocks() {
            FullTextIndex.lengthKey(number, into: &key)
            value.replace(with: block.encoded)
            try body(key.raw, value.raw)
        }
        var traversal = WordTraversal(gathered, group: group)
        while traversal.next(gathered) {
            FullTextIndex.termKey(gathered.words.term(traversal.word), into: &key)
            postings.clear()
            write(traversal, from: FullTextIndex.firstBase)
            try body(key.raw, postings.raw)
        }
        let sorted = keys.map { (FullTextIndex.rowKey($0.key), $0.row) }.sorted { KeyOrder.precedes($0.0, $1.0) }
        for (rowKey, row) in sorted {
            key.replace(with: rowKey)
            value.clear()
            value.append(bigEndian: row)
            try body(key.raw, value.raw)
        }
        for (rowKey, row) in keys {
            key.replace(with: FullTextIndex.numberKey(row))
            value.replace(with: rowKey)
            try body(key.raw, value.raw)
        }
    }

    /// The number of positions sorted at a time; they take no more memory than the words.
    private var group: Int { max(1 << 12, min(WordTraversal.group, limit / 16)) }

    /// Returns the rows' lengths by block.
    private func blocks() -> [(number: UInt64, block: LengthBlock)] {
        var blocks: [(number: UInt64, block: LengthBlock)] = []
        for (place, row) in rows.enumerated() {
            let number = FullTextIndex.block(of: row)
            if blocks.last?.number != number { blocks.append((number, LengthBlock(columns: index.slots.count))) }
            blocks[blocks.count - 1].block.set(FullTextIndex.place(of: row), gathered.lengths(of: place))
        }
        return blocks
    }

    private func enterLengths(_ tx: borrowing WriteTransaction) throws(RecordError) {
        for (number, new) in blocks() {
            var block = try index.lengthBlock(number, tx.view)
            for (place, row) in new.rows.enumerated() { block.set(row, new.lengths(of: place)) }
            try index.store(block, number, tx)
        }
    }

    /// Inserts words in the order of the tree. The chunks to be extended are read some hundred at a time before any is
    /// written, because a read flushes the engine's buffered writes.
    private func enterWords(_ tx: borrowing WriteTransaction) throws(RecordError) {
        var traversal = WordTraversal(gathered, group: group)
        var isMore = traversal.next(gathered)
        var key = KeyBuffer()
        var waiting = WaitingEntries()
        while isMore {
            waiting.removeAll()
            var early: [EarlyWord] = []
            try recorded {
                var cursor = try tx.view.cursor(in: index.tree)
                var left = TextBatch.wordsAtATime
                while isMore, left > 0 {
                    if try !prepare(traversal, &key, &cursor, &waiting) { early.append(earlyWord(traversal)) }
                    isMore = traversal.next(gathered)
                    left -= 1
                }
            }
            try waiting.enter(index.tree, tx)
            for word in early { try enterSingly(word, tx) }
        }
    }

    /// Encodes the postings of a word.
    private func write(_ traversal: WordTraversal, from base: UInt64) {
        traversal.withPlaces { occurrences.append($0, of: rows, from: base, to: &postings) }
    }

    private static var wordsAtATime: Int { 512 }

    /// Makes the entries of a word. Returns `false` if the tree has later rows of the word than the batch.
    private func prepare(
        _ traversal: WordTraversal, _ key: inout KeyBuffer, _ cursor: inout Cursor, _ waiting: inout WaitingEntries
    ) throws -> Bool {
        let term = gathered.words.term(traversal.word)
        FullTextIndex.termKey(term, into: &key)
        let length = key.count
        // The word's last chunk.
        FullTextIndex.appendChunk(.max, to: &key)
        let isThere = try cursor.seek(notBehind: key.raw)
        key.truncate(to: length)
        postings.clear()
        var base = FullTextIndex.firstBase
        var last = base
        if isThere, let found = cursor.withKey({ FullTextIndex.base(of: $0, term: term) }) {
            base = found
            last = try cursor.withValue { bytes in
                guard let last = PostingReader.lastRow(bytes, base: base) else {
                    throw index.damaged("the postings of a word cannot be read")
                }
                postings.append(raw: bytes)
                return last
            }
            guard last < rows[traversal.firstRow] else { return false }
            if cursor.withKey({ $0.count > length }) { FullTextIndex.appendChunk(base, to: &key) }
        }
        // After the word's last row, the chunk is extended.
        write(traversal, from: last)
        try chunks.cut(key.raw, postings.raw, base: base) { (key, value) throws(StorageError) in
            waiting.append(key, value)
        }
        return true
    }

    /// A word of which the tree has later rows than the batch.
    private struct EarlyWord {
        let term: [UInt8]
        /// Relative to the first number of all.
        let postings: [UInt8]
    }

    private func earlyWord(_ traversal: WordTraversal) -> EarlyWord {
        postings.clear()
        write(traversal, from: FullTextIndex.firstBase)
        return EarlyWord(term: [UInt8](gathered.words.term(traversal.word)), postings: postings.bytes)
    }

    private func enterSingly(_ word: EarlyWord, _ tx: borrowing WriteTransaction) throws(RecordError) {
        try recorded {
            try word.postings.withUnsafeBytes { bytes in
                var reader = PostingReader(bytes, base: FullTextIndex.firstBase, columnBits: index.columnBits)
                try word.term.withUnsafeBytes { term in
                    while reader.next() { try index.enter(reader.row, reader.body, of: term, tx) }
                }
            }
        }
    }
}

/// Entries to be written together.
private struct WaitingEntries: ~Copyable {
    private var content = KeyBuffer()
    /// The end of each key and each value.
    private var ends: [(key: Int, value: Int)] = []

    mutating func append(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        content.append(raw: key)
        let middle = content.count
        content.append(raw: value)
        ends.append((middle, content.count))
    }

    mutating func removeAll() {
        content.clear()
        ends.removeAll(keepingCapacity: true)
    }

    func enter(_ tree: Tree, _ tx: borrowing WriteTransaction) throws(RecordError) {
        var start = 0
        do throws(StorageError) {
            for (middle, end) in ends {
                try tx.put(content.raw(from: middle, to: end), for: content.raw(from: start, to: middle), in: tree)
                start = end
            }
        } catch { throw .storage(error) }
    }
}
