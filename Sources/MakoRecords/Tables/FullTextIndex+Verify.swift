import MakoStorage

extension TableHandle {
    /// Verifies an index against the rows: rebuilt from them, it must be the same.
    func verify(_ index: FullTextIndex, in view: Snapshot) throws(RecordError) -> [String] {
        let check = TextCheck(index, self)
        try check.readRows(view)
        try check.readTree(view)
        return check.findings
    }
}

private final class TextCheck {
    private let index: FullTextIndex
    private let table: TableHandle
    private(set) var findings: [String] = []
    /// A sum of hashes of all occurrences and lengths: rows add to it, and the tree's postings subtract.
    private var balance: UInt64 = 0
    private var totals: TextTotals
    private var terms: DocumentTerms
    /// The largest number of findings.
    private static let limit = 50

    init(_ index: FullTextIndex, _ table: TableHandle) {
        self.index = index
        self.table = table
        totals = TextTotals(index)
        terms = DocumentTerms(index)
    }

    private func find(_ what: String) {
        if findings.count < TextCheck.limit {
            findings.append("\(table.schema.name): index \(index.schema.name) \(what)")
        }
    }

    func readRows(_ view: Snapshot) throws(RecordError) {
        var pieces = try RowPieces(table, view)
        while try pieces.next() {
            for place in 0..<pieces.count {
                try read(pieces.keys[place], try pieces.row(place, table.layout), view)
            }
        }
        let stored = try TextTotals(index, in: view)
        if stored.rows != totals.rows || stored.words != totals.words {
            find("counts \(stored.rows) rows with \(stored.words) words, not \(totals.rows) with \(totals.words)")
        }
    }

    private func read(_ key: RowKey, _ row: RowReader, _ view: Snapshot) throws(RecordError) {
        terms.read(row, index)
        totals.add(terms.lengths[...])
        guard let number = try index.number(of: key, in: view) else {
            return find("does not know row \(key.text(in: table.schema))")
        }
        for place in 0..<terms.count {
            let term = terms.term(place)
            balance &+= TextCheck.weight(number, term, terms.body(place))
            guard let chunk = try index.chunk(of: term, around: number, view),
                chunk.has(number, terms.body(place), index.columnBits)
            else {
                find(
                    "has not the word \(String(decoding: term, as: UTF8.self)) of row \(key.text(in: table.schema)) as it "
                        + "is there")
                continue
            }
        }
        let lengths = try index.lengthBlock(FullTextIndex.block(of: number), view)
        let place = lengths.rows.firstIndex(of: FullTextIndex.place(of: number))
        if place.map({ Array(lengths.lengths(of: $0)) }) != terms.lengths {
            find("has another length of row \(key.text(in: table.schema))")
        }
    }

    private static func weight(_ row: UInt64, _ term: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) -> UInt64
    {
        let (a, b) = KeyHash.hash(term)
        let (c, d) = KeyHash.hash(body)
        return (a &+ row &* 0x9E37_79B9_7F4A_7C15) ^ (b &* 3 &+ c &* 5 &+ d &* (row | 1))
    }

    /// Reads the tree, and finds what the rows do not account for.
    func readTree(_ view: Snapshot) throws(RecordError) {
        var lengths: UInt64 = 0
        var keys: UInt64 = 0
        var numbers: UInt64 = 0
        do throws(StorageError) {
            var cursor = try view.cursor(in: index.tree)
            var isThere = try cursor.first()
            while isThere {
                let key = cursor.key
                let value = try cursor.value()
                switch key.first {
                case 0: break
                case 1:
                    if let block = value.withUnsafeBytes({ LengthBlock($0, columns: index.slots.count) }) {
                        lengths += UInt64(block.rows.count)
                    } else {
                        find("has lengths of rows that cannot be read")
                    }
                case 2: readChunk(key, value)
                case 3: keys += 1
                case 4: numbers += 1
                default: find("has a key that is of no kind")
                }
                isThere = try cursor.next()
            }
        } catch { throw .storage(error) }
        if balance != 0 && findings.isEmpty { find("has words that no row has") }
        if lengths != totals.rows { find("has the lengths of \(lengths) rows, not of \(totals.rows)") }
        let known = index.isRowID ? 0 : totals.rows
        if keys != known { find("knows the numbers of \(keys) rows, not of \(known)") }
        if numbers != known { find("knows \(numbers) rows, not \(known)") }
    }

    private func readChunk(_ key: [UInt8], _ value: [UInt8]) {
        let end = key.firstIndex(of: 0) ?? key.count
        let term = Array(key[1..<end])
        let base = key.withUnsafeBytes { key in term.withUnsafeBytes { FullTextIndex.base(of: key, term: $0) } }
        guard let base else { return find("has a key that is none of a word") }
        var sum: UInt64 = 0
        let isWhole = value.withUnsafeBytes { bytes in
            var reader = PostingReader(bytes, base: base, columnBits: index.columnBits)
            while reader.next() {
                sum &+= term.withUnsafeBytes { TextCheck.weight(reader.row, $0, reader.body) }
            }
            return !reader.isDamaged
        }
        balance &-= sum
        if !isWhole { find("has postings of \(String(decoding: term, as: UTF8.self)) that cannot be read") }
    }
}

extension PostingChunk {
    /// Returns whether a row exists with these occurrences.
    fileprivate func has(_ row: UInt64, _ body: UnsafeRawBufferPointer, _ columnBits: UInt64) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var reader = PostingReader(bytes, base: base, columnBits: columnBits)
            while reader.next() {
                if reader.row == row { return KeyOrder.compareRaw(reader.body, body) == 0 }
            }
            return false
        }
    }
}
