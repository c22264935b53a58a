import MakoStorage

/// The detail needed of a word's rows.
enum TermDetail {
    case rows
    /// The number of occurrences in each row.
    case counts
    /// The positions: the column << 32, and the position.
    case places
}

/// Rows in ascending order, with the requested detail.
struct TermRows {
    var rows: [UInt64] = []
    var counts: [UInt32] = []
    /// The start of each row's positions; one more element than rows.
    var starts: [Int] = [0]
    var places: [UInt64] = []

    mutating func close(_ row: UInt64, _ count: Int, _ detail: TermDetail) {
        rows.append(row)
        switch detail {
        case .rows: break
        case .counts: counts.append(UInt32(clamping: count))
        case .places: starts.append(places.count)
        }
    }

    func places(_ number: Int) -> ArraySlice<UInt64> { places[starts[number]..<starts[number + 1]] }

    /// Adds the rows of another word, before ``merge(_:)``.
    mutating func append(_ other: TermRows) {
        starts += other.starts.dropFirst().map { $0 + places.count }
        rows += other.rows
        counts += other.counts
        places += other.places
    }

    /// Merges the rows of several words into those of one.
    mutating func merge(_ detail: TermDetail) {
        if zip(rows, rows.dropFirst()).allSatisfy({ $0 < $1 }) { return }
        if case .rows = detail {
            rows.sort()
            var kept = 0
            for row in rows where kept == 0 || rows[kept - 1] != row {
                rows[kept] = row
                kept += 1
            }
            rows.removeLast(rows.count - kept)
            return
        }
        let order = rows.indices.sorted { rows[$0] == rows[$1] ? $0 < $1 : rows[$0] < rows[$1] }
        var merged = TermRows()
        var next = 0
        while next < order.count {
            let row = rows[order[next]]
            var count = 0
            let first = merged.places.count
            while next < order.count, rows[order[next]] == row {
                if case .places = detail {
                    merged.places += places(order[next])
                } else {
                    count += Int(counts[order[next]])
                }
                next += 1
            }
            if case .places = detail { merged.places[first...].sort() }
            merged.close(row, count, detail)
        }
        self = merged
    }
}

/// Reads the postings of words.
struct TermReader {
    let index: FullTextIndex
    let view: Snapshot
    private let allColumns: UInt64

    init(_ index: FullTextIndex, _ view: Snapshot) {
        self.index = index
        self.view = view
        allColumns = index.slots.count >= 64 ? .max : 1 << UInt64(index.slots.count) - 1
    }

    /// - Parameter wanted: the only rows needed, ascending.
    func read(
        _ term: [UInt8], isPrefix: Bool, _ columns: UInt64, _ detail: TermDetail, within wanted: [UInt64]? = nil
    ) throws(RecordError) -> TermRows {
        var found = TermRows()
        if columns & allColumns == 0 { return found }
        try recorded {
            if isPrefix {
                try readPrefix(term, columns, detail, &found)
            } else if let wanted {
                try read(term, columns, detail, within: wanted, &found)
            } else {
                try read(term, columns, detail, &found)
            }
        }
        if isPrefix { found.merge(detail) }
        return found
    }

    private func read(_ term: [UInt8], _ columns: UInt64, _ detail: TermDetail, _ found: inout TermRows) throws {
        try term.withUnsafeBytes { term in
            var cursor = try view.cursor(in: index.tree)
            var isThere = try cursor.seek([2] + term)
            while isThere {
                guard let base = cursor.withKey({ FullTextIndex.base(of: $0, term: term) }) else { return }
                try cursor.withValue { try take($0, base, columns, detail, &found) }
                isThere = try cursor.next()
            }
        }
    }

    private func readPrefix(_ term: [UInt8], _ columns: UInt64, _ detail: TermDetail, _ found: inout TermRows) throws {
        let prefix = [2] + term
        var cursor = try view.cursor(in: index.tree)
        var isThere = try cursor.seek(prefix)
        while isThere {
            let base = try cursor.withKey { key -> UInt64? in
                guard key.count >= prefix.count,
                    prefix.withUnsafeBytes({
                        KeyOrder.compareRaw($0, UnsafeRawBufferPointer(rebasing: key[..<prefix.count])) == 0
                    })
                else { return nil }
                let end = key.firstIndex(of: 0) ?? key.count
                let word = UnsafeRawBufferPointer(rebasing: key[1..<end])
                guard let base = FullTextIndex.base(of: key, term: word) else {
                    throw index.damaged("it has a key that is none of a word")
                }
                return base
            }
            guard let base else { return }
            try cursor.withValue { try take($0, base, columns, detail, &found) }
            isThere = try cursor.next()
        }
    }

    /// Reads a few rows.
    private func read(
        _ term: [UInt8], _ columns: UInt64, _ detail: TermDetail, within wanted: [UInt64], _ found: inout TermRows
    ) throws {
        try forEachChunk(of: term) {
            $0 < wanted.count ? wanted[$0] : nil
        } take: { bytes, base, next in
            var reader = PostingReader(bytes, base: base, columnBits: index.columnBits)
            while next < wanted.count, reader.next() {
                while next < wanted.count, wanted[next] < reader.row { next += 1 }
                if next < wanted.count, wanted[next] == reader.row {
                    try take(reader, columns, detail, &found)
                    next += 1
                }
            }
            if reader.isDamaged { throw index.damaged("the postings of a word cannot be read") }
        }
    }

    /// Visits the chunks of a word that may have some rows, and skips the others.
    ///
    /// - Parameters:
    ///   - wanted: returns a wanted row by its index, ascending; `nil` beyond the last.
    ///   - take: processes a chunk, and advances to the first row after it.
    private func forEachChunk(
        of term: [UInt8], _ wanted: (Int) -> UInt64?,
        take: (_ bytes: UnsafeRawBufferPointer, _ base: UInt64, _ next: inout Int) throws -> Void
    ) throws {
        var next = 0
        try term.withUnsafeBytes { term in
            var cursor = try view.cursor(in: index.tree)
            var isThere = false
            var misses = 2
            while let row = wanted(next) {
                isThere = misses < 2 ? try cursor.next() : try seek(&cursor, term, row)
                guard isThere, let base = cursor.withKey({ FullTextIndex.base(of: $0, term: term) }) else {
                    // Before the word's first chunk there are no rows, and after the last one neither.
                    return
                }
                let before = next
                try cursor.withValue { try take($0, base, &next) }
                misses = next == before ? misses + 1 : 0
                // A row that is not in the chunk of its range does not have the word.
                if misses > 2 {
                    next += 1
                    misses = 2
                }
            }
        }
    }

    // MARK: Phrases

    /// Returns the candidate positions of a phrase from the positions of one of its words.
    func begin(_ term: [UInt8], _ columns: UInt64, at offset: Int) throws(RecordError) -> PhrasePlaces {
        var found = PhrasePlaces()
        if columns & allColumns == 0 { return found }
        try recorded {
            try term.withUnsafeBytes { term in
                var key = KeyBuffer()
                FullTextIndex.termKey(term, into: &key)
                var cursor = try view.cursor(in: index.tree)
                var isThere = try cursor.seek(key.bytes)
                while isThere, let base = cursor.withKey({ FullTextIndex.base(of: $0, term: term) }) {
                    try cursor.withValue { bytes in
                        var reader = PostingReader(bytes, base: base, columnBits: index.columnBits)
                        while reader.next() { try found.add(reader, columns, offset, index) }
                        if reader.isDamaged { throw index.damaged("the postings of a word cannot be read") }
                    }
                    isThere = try cursor.next()
                }
            }
        }
        return found
    }

    /// Keeps the candidate positions of a phrase at which it has this word, too.
    func narrow(_ places: inout PhrasePlaces, to term: [UInt8], _ columns: UInt64, at offset: Int) throws(RecordError) {
        var narrowing = PhraseNarrowing(places, columns, offset)
        try recorded {
            try forEachChunk(of: term) {
                narrowing.row(of: $0)
            } take: { bytes, base, next in
                var reader = PostingReader(bytes, base: base, columnBits: index.columnBits)
                guard narrowing.take(&reader, &next) else {
                    throw index.damaged("the postings of a word cannot be read")
                }
            }
        }
        places = narrowing.kept
    }

    /// Moves a cursor to the chunk that would have a row. Returns `false` if it precedes all chunks of the word.
    private func seek(_ cursor: inout Cursor, _ term: UnsafeRawBufferPointer, _ row: UInt64) throws -> Bool {
        var key = KeyBuffer()
        FullTextIndex.termKey(term, into: &key)
        FullTextIndex.appendChunk(row, to: &key)
        return try cursor.seek(notBehind: key.raw)
    }

    // MARK: Chunks

    private func take(
        _ bytes: UnsafeRawBufferPointer, _ base: UInt64, _ columns: UInt64, _ detail: TermDetail,
        _ found: inout TermRows
    ) throws(RecordError) {
        var reader = PostingReader(bytes, base: base, columnBits: index.columnBits)
        if case .rows = detail, columns & allColumns == allColumns {
            while reader.next() { found.rows.append(reader.row) }
        } else {
            while reader.next() { try take(reader, columns, detail, &found) }
        }
        if reader.isDamaged { throw index.damaged("the postings of a word cannot be read") }
    }

    @inline(__always)
    private func take(
        _ reader: PostingReader, _ columns: UInt64, _ detail: TermDetail, _ found: inout TermRows
    ) throws(RecordError) {
        var count = 0
        let isWhole: Bool
        if case .places = detail {
            isWhole = reader.forEachOccurrence { column, position in
                if columns >> column & 1 == 1 {
                    found.places.append(column << 32 | position & 0xFFFF_FFFF)
                    count += 1
                }
            }
        } else {
            isWhole = reader.forEachOccurrence { column, _ in count += Int(columns >> column & 1) }
        }
        if !isWhole { throw index.damaged("the postings of a word cannot be read") }
        if count > 0 { found.close(reader.row, count, detail) }
    }

    // MARK: Sizes

    /// Returns the estimated number of rows with a word; a large number if there are many.
    func estimate(_ term: [UInt8], isPrefix: Bool) throws(RecordError) -> Int {
        let key = [2] + term
        var chunks = 0
        try recorded {
            var cursor = try view.cursor(in: index.tree)
            var isThere = try cursor.seek(key)
            while isThere, chunks < 16 {
                let isMine = cursor.withKey { found in
                    term.withUnsafeBytes { term in
                        isPrefix
                            ? found.count > term.count && found[0] == 2
                                && KeyOrder.compareRaw(.init(rebasing: found[1...term.count]), term) == 0
                            : FullTextIndex.base(of: found, term: term) != nil
                    }
                }
                if !isMine { break }
                chunks += 1
                isThere = try cursor.next()
            }
        }
        return chunks < 16 ? chunks * 64 : .max >> 1
    }
}
