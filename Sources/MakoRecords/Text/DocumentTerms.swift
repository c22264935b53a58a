/// The words of one row in the order of their bytes, each with its occurrences as they are stored.
struct DocumentTerms: ~Copyable {
    /// One occurrence of a word.
    private struct Note {
        /// The word's first bytes, which mostly decide.
        let head: UInt64
        let offset: UInt32
        let count: UInt16
        let column: UInt16
        let position: UInt32
    }

    private struct Term {
        let offset: Int
        let count: Int
        let bodyOffset: Int
        let bodyCount: Int
    }

    private var words: Tokenizer
    private var content = KeyBuffer()
    private var bodies = KeyBuffer()
    private var occurrences: OccurrenceWriter
    private var notes: [Note] = []
    private var terms: [Term] = []
    /// How many words each column has.
    private(set) var lengths: [UInt64]

    init(_ index: FullTextIndex) {
        words = Tokenizer(stemming: index.options.stemming)
        occurrences = OccurrenceWriter(columnBits: index.columnBits)
        lengths = Array(repeating: 0, count: index.slots.count)
    }

    var count: Int { terms.count }

    func term(_ place: Int) -> UnsafeRawBufferPointer {
        content.raw(from: terms[place].offset, to: terms[place].offset + terms[place].count)
    }

    /// The occurrences of a term.
    func body(_ place: Int) -> UnsafeRawBufferPointer {
        bodies.raw(from: terms[place].bodyOffset, to: terms[place].bodyOffset + terms[place].bodyCount)
    }

    /// Takes the words of a row in the place of those before.
    mutating func read(_ row: RowReader, _ index: FullTextIndex) {
        content.clear()
        notes.removeAll(keepingCapacity: true)
        for (column, slot) in index.slots.enumerated() {
            var position: UInt32 = 0
            if row.address(slot) != nil {
                words.begin(row.content(slot))
                while words.next(), position < .max {
                    let offset = content.count
                    content.append(raw: words.term)
                    notes.append(
                        Note(
                            head: content.head(from: offset, to: content.count), offset: UInt32(clamping: offset),
                            count: UInt16(content.count - offset), column: UInt16(column), position: position))
                    position += 1
                }
            }
            lengths[column] = UInt64(position)
        }
        sort()
        group()
    }

    private mutating func sort() {
        var sorted: [Note] = []
        swap(&sorted, &notes)
        // Equal words stay in the order of their places, which the offsets tell.
        sorted.sort { precedes($0, $1) }
        swap(&sorted, &notes)
    }

    private func raw(_ note: Note) -> UnsafeRawBufferPointer {
        content.raw(from: Int(note.offset), to: Int(note.offset) + Int(note.count))
    }

    private func precedes(_ a: Note, _ b: Note) -> Bool {
        if a.head != b.head { return a.head < b.head }
        let order = a.count <= 8 && b.count <= 8 ? Int(a.count) - Int(b.count) : KeyOrder.compareRaw(raw(a), raw(b))
        return order == 0 ? a.offset < b.offset : order < 0
    }

    private func isSame(_ a: Note, _ b: Note) -> Bool {
        a.head == b.head && a.count == b.count && (a.count <= 8 || KeyOrder.compareRaw(raw(a), raw(b)) == 0)
    }

    private mutating func group() {
        terms.removeAll(keepingCapacity: true)
        bodies.clear()
        var start = 0
        while start < notes.count {
            occurrences.clear()
            var end = start
            while end < notes.count, isSame(notes[start], notes[end]) {
                let shift: UInt64 = sabotaged("textPositionsShifted") && end > start ? 1 : 0
                occurrences.add(UInt64(notes[end].column), UInt64(notes[end].position) + shift)
                end += 1
            }
            let bodyOffset = bodies.count
            occurrences.append(to: &bodies)
            terms.append(
                Term(
                    offset: Int(notes[start].offset), count: Int(notes[start].count), bodyOffset: bodyOffset,
                    bodyCount: bodies.count - bodyOffset))
            start = end
        }
    }
}
