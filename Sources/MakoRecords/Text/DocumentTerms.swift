/// The words of one row, each once, with its occurrences as they are stored.
struct DocumentTerms: ~Copyable {
    /// One occurrence of a word.
    private struct Note {
        let column: UInt16
        let position: UInt32
        /// The place of the word's next one; -1: it is the last.
        var next: Int32 = -1
    }

    private struct Term {
        /// The word's first bytes, which mostly are the word.
        let head: UInt64
        let hash: UInt64
        let offset: Int
        let count: Int
        let firstNote: Int32
        var lastNote: Int32
        var bodyOffset = 0
        var bodyCount = 0
    }

    private var words: Tokenizer
    private var content = KeyBuffer()
    private var bodies = KeyBuffer()
    private var occurrences: OccurrenceWriter
    private var notes: [Note] = []
    private var terms: [Term] = []
    /// Places of terms by their hashes, behind the number of the row that they are of: those of others are free. A power of two.
    private var places: [(row: UInt32, term: Int32)] = Array(repeating: (0, 0), count: 256)
    private var row: UInt32 = 0
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

    /// What a term is found by, see ``KeyOrder/hash(_:head:)``.
    func hash(_ place: Int) -> (head: UInt64, hash: UInt64) { (terms[place].head, terms[place].hash) }

    /// The occurrences of a term.
    func body(_ place: Int) -> UnsafeRawBufferPointer {
        bodies.raw(from: terms[place].bodyOffset, to: terms[place].bodyOffset + terms[place].bodyCount)
    }

    /// Takes the words of a row in the place of those before, as they come.
    mutating func read(_ row: RowReader, _ index: FullTextIndex) {
        clear()
        for (column, slot) in index.slots.enumerated() {
            var position: UInt32 = 0
            if row.address(slot) != nil {
                words.begin(row.content(slot))
                while notes.count < Int32.max, words.next() {
                    note(UInt16(truncatingIfNeeded: column), position)
                    position += 1
                }
            }
            lengths[column] = UInt64(position)
        }
        writeBodies()
    }

    /// The same, the words in the order of their bytes.
    mutating func readInOrder(_ row: RowReader, _ index: FullTextIndex) {
        read(row, index)
        var sorted: [Term] = []
        swap(&sorted, &terms)
        sorted.sort { $0.head == $1.head ? KeyOrder.compareRaw(raw($0), raw($1)) < 0 : $0.head < $1.head }
        swap(&sorted, &terms)
    }

    private mutating func clear() {
        content.clear()
        bodies.clear()
        notes.removeAll(keepingCapacity: true)
        terms.removeAll(keepingCapacity: true)
        row &+= 1
        // After so many rows the numbers come again.
        if row == 0 {
            for place in places.indices { places[place] = (0, 0) }
            row = 1
        }
    }

    private func raw(_ term: Term) -> UnsafeRawBufferPointer {
        content.raw(from: term.offset, to: term.offset + term.count)
    }

    /// Notes the tokenizer's word.
    private mutating func note(_ column: UInt16, _ position: UInt32) {
        let offset = content.count
        content.append(raw: words.term)
        let word = content.raw(from: offset, to: content.count)
        let head = content.head(from: offset, to: content.count)
        let hash = KeyOrder.hash(word, head: head)
        let note = Int32(truncatingIfNeeded: notes.count)
        notes.append(Note(column: column, position: position))
        let mask = places.count &- 1
        var place = Int(truncatingIfNeeded: hash) & mask
        while places[place].row == row {
            let number = Int(places[place].term)
            let known = terms[number]
            if known.head == head, known.count == word.count,
                word.count <= 8 || KeyOrder.compareRaw(raw(known), word) == 0
            {
                notes[Int(known.lastNote)].next = note
                terms[number].lastNote = note
                content.truncate(to: offset)
                return
            }
            place = (place &+ 1) & mask
        }
        places[place] = (row, Int32(truncatingIfNeeded: terms.count))
        terms.append(
            Term(head: head, hash: hash, offset: offset, count: word.count, firstNote: note, lastNote: note))
        if terms.count * 2 > places.count { grow() }
    }

    private mutating func grow() {
        places = Array(repeating: (0, 0), count: places.count * 4)
        let mask = places.count - 1
        for (number, term) in terms.enumerated() {
            var place = Int(truncatingIfNeeded: term.hash) & mask
            while places[place].row == row { place = (place + 1) & mask }
            places[place] = (row, Int32(number))
        }
    }

    private mutating func writeBodies() {
        for place in terms.indices {
            occurrences.clear()
            var note = Int(terms[place].firstNote)
            let first = note
            while note >= 0 {
                let shift: UInt64 = sabotaged("textPositionsShifted") && note != first ? 1 : 0
                occurrences.add(UInt64(notes[note].column), UInt64(notes[note].position) + shift)
                note = Int(notes[note].next)
            }
            terms[place].bodyOffset = bodies.count
            occurrences.append(to: &bodies)
            terms[place].bodyCount = bodies.count - terms[place].bodyOffset
        }
    }
}
