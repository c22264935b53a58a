/// The distinct words of one row in byte order, with their encoded occurrences.
struct DocumentTerms: ~Copyable {
    private var words: RowWords
    private var occurrences: OccurrenceWriter
    private var bodies = KeyBuffer()
    /// The number of each word, and the end of its occurrences.
    private var terms: [(word: Int, end: Int)] = []

    init(_ index: FullTextIndex) {
        words = RowWords(index, room: 256)
        occurrences = OccurrenceWriter(columnBits: index.columnBits)
    }

    var count: Int { terms.count }
    /// The number of words of each column.
    var lengths: [UInt64] { words.lengths }

    func term(_ place: Int) -> UnsafeRawBufferPointer { words.words.term(terms[place].word) }

    /// Returns the occurrences of a term.
    func body(_ place: Int) -> UnsafeRawBufferPointer {
        bodies.raw(from: place == 0 ? 0 : terms[place - 1].end, to: terms[place].end)
    }

    /// Replaces the content by the words of a row.
    mutating func read(_ row: RowReader, _ index: FullTextIndex) {
        words.removeAll()
        bodies.clear()
        terms.removeAll(keepingCapacity: true)
        words.read(row, index)
        var traversal = WordTraversal(words)
        while traversal.next(words) {
            traversal.withPlaces { occurrences.append($0, to: &bodies) }
            terms.append((traversal.word, bodies.count))
        }
    }
}
