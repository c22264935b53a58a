/// Candidate positions of a phrase, in the order of the rows.
struct PhrasePlaces {
    struct Start: Equatable {
        let row: UInt64
        /// The column << 32, and the position.
        let place: UInt64
    }

    fileprivate var starts: [Start] = []

    init() {}

    /// - Parameters:
    ///   - found: the positions of a word.
    ///   - offset: the number of words of the phrase before it.
    ///   - wanted: the only rows needed; `nil` for all.
    init(_ found: TermRows, at offset: Int, within wanted: [UInt64]?) {
        var next = 0
        for (number, row) in found.rows.enumerated() {
            if let wanted {
                while next < wanted.count, wanted[next] < row { next += 1 }
                guard next < wanted.count, wanted[next] == row else { continue }
            }
            for place in found.places(number) where place & 0xFFFF_FFFF >= UInt64(offset) {
                starts.append(Start(row: row, place: place - UInt64(offset)))
            }
        }
    }

    var isEmpty: Bool { starts.isEmpty }

    /// Adds the candidates from a row's occurrences of a word.
    @inline(__always)
    mutating func add(
        _ reader: PostingReader, _ columns: UInt64, _ offset: Int, _ index: FullTextIndex
    ) throws(RecordError) {
        let isWhole = reader.forEachOccurrence { column, position in
            let position = position & 0xFFFF_FFFF
            if columns >> column & 1 == 1, position >= UInt64(offset) {
                starts.append(Start(row: reader.row, place: column << 32 | (position &- UInt64(offset))))
            }
        }
        if !isWhole { throw index.damaged("the postings of a word cannot be read") }
    }

    /// Keeps the candidates that others have, too.
    mutating func narrow(to others: PhrasePlaces) {
        var kept = 0
        var other = 0
        for start in starts {
            while other < others.starts.count, others.starts[other].isBefore(start) { other += 1 }
            guard other < others.starts.count else { break }
            if others.starts[other] == start {
                starts[kept] = start
                kept += 1
            }
        }
        starts.removeLast(starts.count - kept)
    }

    /// Returns the rows, with the requested detail.
    func rows(_ detail: TermDetail) -> TermRows {
        var found = TermRows()
        var next = 0
        while next < starts.count {
            let first = next
            let row = starts[first].row
            while next < starts.count, starts[next].row == row {
                if case .places = detail { found.places.append(starts[next].place) }
                next += 1
            }
            found.close(row, next - first, detail)
        }
        return found
    }
}

extension PhrasePlaces.Start {
    @inline(__always)
    fileprivate func isBefore(_ other: PhrasePlaces.Start) -> Bool {
        row == other.row ? place < other.place : row < other.row
    }
}

/// Intersects the candidates of a phrase with the postings of one of its words, chunk by chunk.
struct PhraseNarrowing {
    private let starts: [PhrasePlaces.Start]
    private let columns: UInt64
    private let offset: UInt64
    private(set) var kept = PhrasePlaces()

    /// - Parameter offset: the number of words of the phrase before the word.
    init(_ places: PhrasePlaces, _ columns: UInt64, _ offset: Int) {
        starts = places.starts
        self.columns = columns
        self.offset = UInt64(offset)
    }

    /// Returns the row of a candidate; `nil` beyond the last.
    func row(of next: Int) -> UInt64? { next < starts.count ? starts[next].row : nil }

    /// Processes a chunk, and advances beyond the candidates in its rows. Returns `false` if the chunk is damaged.
    mutating func take(_ reader: inout PostingReader, _ next: inout Int) -> Bool {
        while next < starts.count, reader.next() {
            let row = reader.row
            while next < starts.count, starts[next].row < row { next &+= 1 }
            guard next < starts.count, starts[next].row == row else { continue }
            var place = next
            let isWhole = reader.forEachOccurrence { column, position in
                let position = position & 0xFFFF_FFFF
                guard columns >> column & 1 == 1, position >= offset else { return }
                let wanted = column << 32 | (position &- offset)
                while place < starts.count, starts[place].row == row, starts[place].place < wanted { place &+= 1 }
                guard place < starts.count, starts[place] == PhrasePlaces.Start(row: row, place: wanted) else { return }
                kept.starts.append(starts[place])
                place &+= 1
            }
            if !isWhole { return false }
            while next < starts.count, starts[next].row == row { next &+= 1 }
        }
        return !reader.isDamaged
    }
}
