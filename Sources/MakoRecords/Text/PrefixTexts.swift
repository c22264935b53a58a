import MakoStorage

/// Reads the texts of rows, to find out which words a prefix begins: an index of stems does not have the words.
struct PrefixTexts {
    /// Calls a closure with a row of the table; nil: there is no such row.
    typealias Rows = (RowKey, (RowReader) -> [UInt64]) throws -> [UInt64]?

    private let index: FullTextIndex
    private let view: Snapshot
    private let rows: Rows

    init(_ index: FullTextIndex, _ view: Snapshot, _ rows: @escaping Rows) {
        self.index = index
        self.view = view
        self.rows = rows
    }

    /// Returns those of a stem's places at which the word begins with a prefix.
    func rows(of stem: TermRows, from prefix: [UInt8], _ detail: TermDetail) throws(RecordError) -> TermRows {
        var found = TermRows()
        for (number, row) in stem.rows.enumerated() {
            let key = try index.key(of: row, in: view)
            let kept = try recorded { try rows(key) { places(of: $0, stem.places(number), from: prefix) } }
            guard let kept else { throw index.damaged("it has row number \(row), which is not in the table") }
            if kept.isEmpty { continue }
            if case .places = detail { found.places += kept }
            found.close(row, kept.count, detail)
        }
        return found
    }

    private func places(of row: RowReader, _ places: ArraySlice<UInt64>, from prefix: [UInt8]) -> [UInt64] {
        var kept: [UInt64] = []
        var rest = places
        // The words of an index without stems, at the same places.
        var words = Tokenizer()
        while let first = rest.first {
            let column = first >> 32
            // A damaged index can name any column.
            guard column < UInt64(index.slots.count) else { break }
            var place = column << 32
            if row.address(index.slots[Int(column)]) != nil {
                words.begin(row.content(index.slots[Int(column)]))
                while let next = rest.first, next >> 32 == column, words.next() {
                    if next == place {
                        if words.term.starts(with: prefix) { kept.append(place) }
                        rest.removeFirst()
                    }
                    place += 1
                }
            }
            // Places beyond the text are those of a damaged index.
            rest = rest.drop { $0 >> 32 == column }
        }
        return kept
    }
}
