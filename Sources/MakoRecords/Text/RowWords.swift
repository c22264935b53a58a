/// One occurrence of a word.
struct WordPlace {
    /// The index of the collected row.
    var row: UInt32 = 0
    var position: UInt32 = 0
    var column: UInt16 = 0
}

/// The words of some rows: the distinct words, and for each row the sequence of their numbers.
struct RowWords: ~Copyable {
    private var tokenizer: Tokenizer
    private(set) var words: WordTable
    /// The numbers of the words, row by row.
    fileprivate var tokens: [Int32] = []
    /// The number of words of each column, row by row.
    private(set) var lengths: [UInt64] = []
    fileprivate let columns: Int

    /// - Parameter room: the initial capacity, a power of two.
    init(_ index: FullTextIndex, room: Int) {
        tokenizer = Tokenizer(stemming: index.options.stemming)
        words = WordTable(room: room)
        columns = index.slots.count
    }

    /// The number of bytes held.
    var size: Int { tokens.count * 4 + lengths.count * 8 + words.count * WordTable.wordBytes }

    func lengths(of row: Int) -> ArraySlice<UInt64> { lengths[row * columns..<(row + 1) * columns] }

    /// Adds the words of a row.
    mutating func read(_ row: RowReader, _ index: FullTextIndex) {
        let start = tokens.count
        for slot in index.slots {
            let first = tokens.count
            if row.address(slot) != nil {
                tokenizer.begin(row.content(slot))
                // Only so many words have positions.
                while tokens.count &- start < Int32.max, tokenizer.next() {
                    let number = words.number(of: tokenizer.term, head: tokenizer.head)
                    tokens.append(Int32(truncatingIfNeeded: number))
                }
            }
            lengths.append(UInt64(tokens.count - first))
        }
    }

    mutating func removeAll() {
        words.removeAll()
        tokens.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
    }
}

/// Iterates collected words in byte order, with the positions of each.
struct WordTraversal {
    /// The number of positions sorted at a time: each group of words takes a pass over all rows.
    static let group = 1 << 19

    private let group: Int
    private let order: [Int32]
    /// The number of occurrences of each word.
    private var counts: [UInt32]
    /// The slot of the next position of a word; `.max` if the word is not in the group.
    private var ends: [UInt32]
    private var places: [WordPlace] = []
    private var range = 0..<0
    private var next = 0
    private var groupStart = 0
    private var groupEnd = 0
    /// The number of the word.
    private(set) var word = 0

    init(_ rows: borrowing RowWords, group: Int = WordTraversal.group) {
        self.group = group
        order = rows.words.sorted()
        var counts = [UInt32](repeating: 0, count: order.count)
        for token in rows.tokens { counts[Int(token)] &+= 1 }
        self.counts = counts
        ends = Array(repeating: .max, count: order.count)
    }

    /// Moves to the next word.
    mutating func next(_ rows: borrowing RowWords) -> Bool {
        if next == order.count { return false }
        if next == groupEnd { gather(rows) }
        word = Int(order[next])
        range = range.upperBound..<range.upperBound + Int(counts[word])
        next += 1
        return true
    }

    /// Sorts the positions of the next words.
    private mutating func gather(_ rows: borrowing RowWords) {
        for place in groupStart..<groupEnd { ends[Int(order[place])] = .max }
        groupStart = next
        var sum = 0
        var end = next
        while end < order.count, end == next || sum + Int(counts[Int(order[end])]) <= group {
            ends[Int(order[end])] = UInt32(sum)
            sum += Int(counts[Int(order[end])])
            end += 1
        }
        if places.count < sum { places = Array(repeating: WordPlace(), count: sum) }
        groupEnd = end
        range = 0..<0
        places.withUnsafeMutableBufferPointer { places in
            ends.withUnsafeMutableBufferPointer { ends in WordTraversal.sort(rows, &ends, &places) }
        }
    }

    private static func sort(
        _ rows: borrowing RowWords, _ ends: inout UnsafeMutableBufferPointer<UInt32>,
        _ places: inout UnsafeMutableBufferPointer<WordPlace>
    ) {
        var token = 0
        var (row, column): (UInt32, UInt16) = (0, 0)
        for length in rows.lengths {
            for position in 0..<UInt32(truncatingIfNeeded: length) {
                let word = Int(rows.tokens[token])
                let place = ends[word]
                if place != .max {
                    places[Int(place)] = WordPlace(row: row, position: position, column: column)
                    ends[word] = place &+ 1
                }
                token &+= 1
            }
            column &+= 1
            if column == rows.columns { (row, column) = (row &+ 1, 0) }
        }
    }

    /// The first row that has the word.
    var firstRow: Int { Int(places[range.lowerBound].row) }

    /// Calls a closure with the word's positions, in order.
    func withPlaces<Result>(_ body: (UnsafeBufferPointer<WordPlace>) -> Result) -> Result {
        places.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
    }
}
