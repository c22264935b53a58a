/// Places where a phrase may begin, in the order of the rows.
struct PhrasePlaces {
    struct Start: Equatable {
        let row: UInt64
        /// The column << 32 and the position.
        let place: UInt64
    }

    fileprivate var starts: [Start] = []

    init() {}

    /// - Parameters:
    ///   - found: where a word stands.
    ///   - offset: how many words of the phrase come before it.
    ///   - wanted: the rows that alone are asked for; nil: all.
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

    /// Adds what a row's occurrences of a word lead to.
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

    /// Leaves those that others have, too.
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

    /// The rows with as much of each as is asked for.
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

/// Places of a phrase that are looked at beside the postings of one of its words, chunk by chunk.
struct PhraseNarrowing {
    private let starts: [PhrasePlaces.Start]
    private let columns: UInt64
    private let offset: UInt64
    private(set) var kept = PhrasePlaces()

    /// - Parameter offset: how many words of the phrase come before the word.
    init(_ places: PhrasePlaces, _ columns: UInt64, _ offset: Int) {
        starts = places.starts
        self.columns = columns
        self.offset = UInt64(offset)
    }

    /// The row of one of the places; nil: there are not so many.
    func row(of next: Int) -> UInt64? { next < starts.count ? starts[next].row : nil }

    /// Takes a chunk, and goes on behind the places in its rows. False: it is damaged.
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
