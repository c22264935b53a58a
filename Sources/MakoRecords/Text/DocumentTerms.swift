/// The words of one row in the order of their bytes, each once, with its occurrences as they are stored.
struct DocumentTerms: ~Copyable {
    private var words: RowWords
    private var occurrences: OccurrenceWriter
    private var bodies = KeyBuffer()
    /// The number of each word, and where its occurrences end.
    private var terms: [(word: Int, end: Int)] = []

    init(_ index: FullTextIndex) {
        words = RowWords(index, room: 256)
        occurrences = OccurrenceWriter(columnBits: index.columnBits)
    }

    var count: Int { terms.count }
    /// How many words each column has.
    var lengths: [UInt64] { words.lengths }

    func term(_ place: Int) -> UnsafeRawBufferPointer { words.words.term(terms[place].word) }

    /// The occurrences of a term.
    func body(_ place: Int) -> UnsafeRawBufferPointer {
        bodies.raw(from: place == 0 ? 0 : terms[place - 1].end, to: terms[place].end)
    }

    /// Takes the words of a row in the place of those before.
    mutating func read(_ row: RowReader, _ index: FullTextIndex) {
        words.removeAll()
        bodies.clear()
        terms.removeAll(keepingCapacity: true)
        words.read(row, index)
        var walk = WordWalk(words)
        while walk.next(words) {
            walk.withPlaces { occurrences.append($0, to: &bodies) }
            terms.append((walk.word, bodies.count))
        }
    }
}
