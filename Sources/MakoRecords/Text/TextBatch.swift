import MakoStorage

/// Words of new rows, kept back so that each word's postings are entered at once and in the order of the tree.
final class TextBatch {
    /// Bytes of memory for the words of rows that an index is built from.
    static let buildLimit = 64 << 20
    /// From so many rows on an index is loaded in bulk: a transaction that does so ends with a checkpoint.
    static let fewestLoaded = 10_000

    private struct Word {
        let offset: Int
        let count: Int
        let hash: UInt64
        /// The word's first bytes, which mostly decide its order.
        let head: UInt64
        let first: UInt64
        var last: UInt64
        /// The postings, counted from the first row.
        var postings: [UInt8]
    }

    let index: FullTextIndex
    private let limit: Int
    // One thread, and nothing comes back here while it is at work: no dynamic checks.
    @exclusivity(unchecked) private var terms: DocumentTerms
    @exclusivity(unchecked) private var words: [Word] = []
    /// The words' bytes, one behind the other.
    @exclusivity(unchecked) private var content = KeyBuffer()
    /// Places of words by their hashes; -1 is free. A power of two.
    @exclusivity(unchecked) private var places: [Int32]
    @exclusivity(unchecked) private var rows: [UInt64] = []
    @exclusivity(unchecked) private var lengths: [UInt64] = []
    /// The byte keys of rows, with those of the index.
    private var keys: [(key: [UInt8], row: UInt64)] = []
    private var nextNumber: UInt64
    private(set) var size = 0

    /// - Parameter limit: bytes after which it is full.
    init(_ index: FullTextIndex, limit: Int) {
        self.index = index
        self.limit = limit
        terms = DocumentTerms(index)
        places = Array(repeating: -1, count: 1 << 10)
        nextNumber = FullTextIndex.firstBase
    }

    var isFull: Bool { size >= limit }

    /// Takes the words of a new row. False: it does not come behind those that were taken, and must be entered by itself.
    func add(_ key: RowKey, _ row: RowReader) -> Bool {
        let number: UInt64
        switch key {
        case .rowID(let id): number = KeyOrder.treeKey(id)
        case .bytes(let bytes):
            number = nextNumber
            nextNumber += 1
            keys.append((bytes, number))
            size += bytes.count + 48
        }
        if let last = rows.last, number <= last { return false }
        terms.read(row, index)
        rows.append(number)
        lengths += terms.lengths
        for place in 0..<terms.count { add(number, terms.term(place), terms.hash(place), terms.body(place)) }
        size += 8 + 8 * terms.lengths.count
        return true
    }

    func removeAll() {
        words.removeAll(keepingCapacity: true)
        content.clear()
        for place in places.indices { places[place] = -1 }
        rows.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        size = 0
    }

    // MARK: Words

    private func raw(_ word: Int) -> UnsafeRawBufferPointer {
        content.raw(from: words[word].offset, to: words[word].offset + words[word].count)
    }

    private func add(
        _ row: UInt64, _ term: UnsafeRawBufferPointer, _ by: (head: UInt64, hash: UInt64),
        _ body: UnsafeRawBufferPointer
    ) {
        let place = find(term, by)
        let known = Int(places[place])
        if known >= 0 {
            words[known].postings.append(varint: row &- words[known].last)
            words[known].last = row
            words[known].postings.append(contentsOf: body)
            size += body.count + 2
            return
        }
        var postings: [UInt8] = [0]
        postings.append(contentsOf: body)
        places[place] = Int32(words.count)
        let offset = content.count
        content.append(raw: term)
        words.append(
            Word(
                offset: offset, count: term.count, hash: by.hash, head: by.head, first: row, last: row,
                postings: postings))
        size += body.count + term.count + 96
        if words.count * 2 > places.count { grow() }
    }

    private func find(_ term: UnsafeRawBufferPointer, _ by: (head: UInt64, hash: UInt64)) -> Int {
        let mask = places.count &- 1
        var place = Int(truncatingIfNeeded: by.hash) & mask
        while places[place] >= 0 {
            let word = Int(places[place])
            if words[word].head == by.head, words[word].count == term.count,
                term.count <= 8 || KeyOrder.compareRaw(raw(word), term) == 0
            {
                return place
            }
            place = (place &+ 1) & mask
        }
        return place
    }

    private func grow() {
        places = Array(repeating: -1, count: places.count * 4)
        let mask = places.count - 1
        for (number, word) in words.enumerated() {
            var place = Int(truncatingIfNeeded: word.hash) & mask
            while places[place] >= 0 { place = (place + 1) & mask }
            places[place] = Int32(number)
        }
    }

    // MARK: Entering

    private typealias Sink = (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StorageError) ->
        Void

    /// Enters what was taken.
    ///
    /// - Parameter loads: the index is empty and is to be loaded in bulk.
    func flush(_ tx: borrowing WriteTransaction, loads: Bool = false) throws(RecordError) {
        if rows.isEmpty { return }
        defer { removeAll() }
        var totals = try TextTotals(index, in: tx.view)
        let columns = index.slots.count
        for place in rows.indices { totals.add(Array(lengths[place * columns..<(place + 1) * columns])) }
        if index.isRowID == false { totals.nextNumber = nextNumber }
        let order = words.indices.sorted { first, second in
            let (a, b) = (words[first].head, words[second].head)
            return a == b ? KeyOrder.compareRaw(raw(first), raw(second)) < 0 : a < b
        }
        if loads {
            try load(totals, order, tx)
        } else {
            try totals.store(index, tx)
            try enterLengths(tx)
            try enterWords(order, tx)
            for (key, row) in keys { try index.enter(key, row, tx) }
        }
    }

    private func load(_ totals: TextTotals, _ order: [Int], _ tx: borrowing WriteTransaction) throws(RecordError) {
        let blocks = blocks()
        _ = try recorded {
            try tx.bulkLoad(into: index.tree) { loader in
                try loader.append(totals.encoded, for: FullTextIndex.totalsKey)
                var key = KeyBuffer()
                for (number, block) in blocks {
                    FullTextIndex.lengthKey(number, into: &key)
                    try loader.append(block.encoded, for: key.bytes)
                }
                for word in order {
                    FullTextIndex.termKey(raw(word), into: &key)
                    let first = words[word].first
                    try words[word].postings.withUnsafeBytes { bytes in
                        try forEachChunk(of: bytes, from: first, key: &key, base: FullTextIndex.firstBase) {
                            (key, value) throws(StorageError) in try loader.append(value, for: key)
                        }
                    }
                }
                let sorted = keys.map { (FullTextIndex.rowKey($0.key), $0.row) }.sorted {
                    KeyOrder.precedes($0.0, $1.0)
                }
                for (key, row) in sorted {
                    var number = KeyBuffer()
                    number.append(bigEndian: row)
                    try loader.append(number.bytes, for: key)
                }
                for (key, row) in keys { try loader.append(key, for: FullTextIndex.numberKey(row)) }
            }
        }
    }

    /// The rows' lengths by their blocks.
    private func blocks() -> [(number: UInt64, block: LengthBlock)] {
        let columns = index.slots.count
        var blocks: [(number: UInt64, block: LengthBlock)] = []
        for (place, row) in rows.enumerated() {
            let number = FullTextIndex.block(of: row)
            if blocks.last?.number != number { blocks.append((number, LengthBlock(columns: columns))) }
            blocks[blocks.count - 1].block.set(
                FullTextIndex.place(of: row), Array(lengths[place * columns..<(place + 1) * columns]))
        }
        return blocks
    }

    private func enterLengths(_ tx: borrowing WriteTransaction) throws(RecordError) {
        for (number, new) in blocks() {
            var block = try index.lengthBlock(number, tx.view)
            let columns = index.slots.count
            for (place, row) in new.rows.enumerated() {
                block.set(row, Array(new.lengths[place * columns..<(place + 1) * columns]))
            }
            try index.store(block, number, tx)
        }
    }

    /// Enters words in the order of the tree. The chunks that go on are read some hundred at a time, before any is written: the
    /// engine keeps writes back until somebody reads.
    private func enterWords(_ order: [Int], _ tx: borrowing WriteTransaction) throws(RecordError) {
        var start = 0
        while start < order.count {
            let end = min(start + TextBatch.group, order.count)
            var waiting = WaitingEntries()
            var singles: [Int] = []
            try recorded {
                var cursor = try tx.view.cursor(in: index.tree)
                for word in order[start..<end] where !(try prepare(word, &cursor, &waiting)) { singles.append(word) }
            }
            try waiting.enter(index.tree, tx)
            for word in singles { try enterSingly(word, tx) }
            start = end
        }
    }

    private static var group: Int { 512 }

    /// Makes the entries of a word. False: rows of before come behind those of the batch.
    private func prepare(_ word: Int, _ cursor: inout Cursor, _ waiting: inout WaitingEntries) throws -> Bool {
        let first = words[word].first
        let term = raw(word)
        var key = KeyBuffer()
        FullTextIndex.termKey(term, into: &key)
        let length = key.count
        FullTextIndex.appendChunk(.max, to: &key)
        // Behind the word's last chunk; a row with the last number of all would be there itself.
        var isThere = try cursor.seek(key.bytes)
        if isThere {
            isThere = try cursor.withKey { KeyOrder.compareRaw($0, key.raw) == 0 } || cursor.previous()
        } else {
            isThere = try cursor.last()
        }
        key.truncate(to: length)
        let base = isThere ? cursor.withKey { FullTextIndex.base(of: $0, term: term) } : nil
        guard let base else {
            try words[word].postings.withUnsafeBytes { bytes in
                try forEachChunk(of: bytes, from: first, key: &key, base: FullTextIndex.firstBase) {
                    (key, value) throws(StorageError) in waiting.append(key, value)
                }
            }
            return true
        }
        var joined = KeyBuffer()
        let last = try cursor.withValue { bytes -> UInt64 in
            var reader = PostingReader(bytes, base: base, columnBits: index.columnBits)
            while reader.next() {}
            if reader.isDamaged { throw index.damaged("the postings of a word cannot be read") }
            joined.append(raw: bytes)
            return reader.row
        }
        guard last < first else { return false }
        if base != FullTextIndex.firstBase || cursor.withKey({ $0.count > length }) {
            FullTextIndex.appendChunk(base, to: &key)
        }
        // Behind the word's last row: the chunk goes on.
        joined.append(varint: first &- last)
        words[word].postings.withUnsafeBytes { joined.append(raw: UnsafeRawBufferPointer(rebasing: $0[1...])) }
        try forEachChunk(of: joined.raw, from: base, key: &key, base: base) {
            (key, value) throws(StorageError) in waiting.append(key, value)
        }
        return true
    }

    private func enterSingly(_ word: Int, _ tx: borrowing WriteTransaction) throws(RecordError) {
        try recorded {
            try words[word].postings.withUnsafeBytes { bytes in
                var reader = PostingReader(bytes, base: words[word].first, columnBits: index.columnBits)
                while reader.next() { try index.enter(reader.row, reader.body, of: raw(word), tx) }
            }
        }
    }

    /// Cuts postings into chunks.
    ///
    /// - Parameters:
    ///   - start: the number that they are counted from.
    ///   - key: that of the first chunk; it is changed.
    ///   - base: the number that the first chunk is counted from.
    private func forEachChunk(
        of bytes: UnsafeRawBufferPointer, from start: UInt64, key: inout KeyBuffer, base: UInt64, _ sink: Sink
    ) throws(StorageError) {
        if start == base && bytes.count <= FullTextIndex.chunkLimit { return try sink(key.raw, bytes) }
        var reader = PostingReader(bytes, base: start, columnBits: index.columnBits)
        var piece = KeyBuffer()
        var row: UInt64 = 0
        var (from, end) = (-1, 0)
        var base = base
        let length = key.withTermLength
        func close(_ key: inout KeyBuffer) throws(StorageError) {
            piece.clear()
            piece.append(varint: row &- base)
            piece.append(raw: UnsafeRawBufferPointer(rebasing: bytes[from..<end]))
            try sink(key.raw, piece.raw)
        }
        while reader.next() {
            if from >= 0 && reader.end - from > FullTextIndex.chunkLimit {
                try close(&key)
                key.truncate(to: length)
                FullTextIndex.appendChunk(reader.row, to: &key)
                base = reader.row
                from = -1
            }
            if from < 0 { (from, row) = (reader.bodyStart, reader.row) }
            end = reader.end
        }
        if from >= 0 { try close(&key) }
    }
}

extension KeyBuffer {
    /// How many bytes of a chunk's key are the word, with the byte before it.
    fileprivate var withTermLength: Int { raw.firstIndex(of: 0) ?? count }
}

extension [UInt8] {
    /// See ``KeyBuffer/append(varint:)``.
    mutating func append(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }
}

/// Entries of a tree that are to be written together.
private struct WaitingEntries: ~Copyable {
    private var content = KeyBuffer()
    /// Where each key and each value ends.
    private var ends: [(key: Int, value: Int)] = []

    mutating func append(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        content.append(raw: key)
        let middle = content.count
        content.append(raw: value)
        ends.append((middle, content.count))
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
