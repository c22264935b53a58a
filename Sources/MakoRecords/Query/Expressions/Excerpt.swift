/// Finds the matches of a full-text query in a text, and marks them (highlight, snippet).
struct Excerpt {
    /// A match, in bytes.
    private struct Hit {
        var start: Int
        var end: Int
        /// Its first word, counted from 0, and the word after its last one.
        var word: Int
        var wordEnd: Int
        /// The number of the matching part of the query.
        let part: Int
    }

    private let phrases: [MatchPhrase]
    private let stemming: Stemming
    private let style: ExcerptStyle

    init(_ excerpt: BoundExcerpt) {
        let column: UInt64 = 1 << UInt64(excerpt.number)
        phrases = excerpt.match.query.wanted.flatMap { node in
            switch node {
            case .phrase(let phrase): [phrase]
            case .near(let parts, _): parts
            case .and, .or, .not: [MatchPhrase]()
            }
        }.filter { $0.columns & column != 0 }
        stemming = excerpt.match.index.options.stemming
        style = excerpt.style
    }

    func show(_ text: UnsafeRawBufferPointer) -> String {
        var words: [(start: Int, end: Int)] = []
        var hits: [Hit] = []
        find(text, &words, &hits)
        hits.sort { $0.word == $1.word ? $0.wordEnd > $1.wordEnd : $0.word < $1.word }
        var first = 0
        var last = words.count
        if let wanted = style.words, wanted < words.count {
            first = window(hits, words.count, wanted)
            last = min(words.count, first + wanted)
        }
        return render(text, words, Excerpt.joined(hits), first, last)
    }

    private func find(_ text: UnsafeRawBufferPointer, _ words: inout [(start: Int, end: Int)], _ hits: inout [Hit]) {
        var tokens = Tokenizer(stemming: stemming)
        // The same words as they are written, for prefixes.
        var written = Tokenizer()
        // Phrases of which the first words have matched.
        var partial: [(phrase: Int, at: Int)] = []
        tokens.begin(text)
        written.begin(text)
        while tokens.next(), written.next() {
            let word = words.count
            words.append((tokens.start, tokens.end))
            var going: [(phrase: Int, at: Int)] = []
            for (phrase, at) in partial + phrases.indices.map({ ($0, 0) }) {
                let isLast = at == phrases[phrase].terms.count - 1
                guard Excerpt.isThere(phrases[phrase], at, tokens.term, written.term) else { continue }
                if isLast {
                    let start = word - at
                    hits.append(
                        Hit(start: words[start].start, end: tokens.end, word: start, wordEnd: word + 1, part: phrase))
                } else {
                    going.append((phrase, at + 1))
                }
            }
            partial = going
        }
    }

    /// Returns whether a word of the text is a word of a phrase.
    ///
    /// - Parameters:
    ///   - term: the word in the index, which may be a stem.
    ///   - written: the word itself.
    private static func isThere(
        _ phrase: MatchPhrase, _ place: Int, _ term: UnsafeRawBufferPointer, _ written: UnsafeRawBufferPointer
    ) -> Bool {
        let wanted = phrase.terms[place]
        guard phrase.isPrefix, place == phrase.terms.count - 1 else { return term.elementsEqual(wanted) }
        if term.starts(with: wanted) || written.starts(with: wanted) { return true }
        return phrase.stem.map { term.elementsEqual($0) } ?? false
    }

    /// Returns the first word of the window that shows most parts of the query, as early as possible.
    private func window(_ hits: [Hit], _ count: Int, _ wanted: Int) -> Int {
        var best = (value: 0, first: 0)
        for hit in hits {
            let inside = hits.filter { $0.word >= hit.word && $0.wordEnd <= hit.word + wanted }
            let value = Set(inside.map(\.part)).count * 1000 + min(inside.count, 999)
            if value > best.value {
                let end = inside.map(\.wordEnd).max() ?? hit.wordEnd
                let spare = max(0, wanted - (end - hit.word)) / 2
                best = (value, min(max(0, hit.word - spare), max(0, count - wanted)))
            }
        }
        return best.first
    }

    /// Merges overlapping matches.
    private static func joined(_ hits: [Hit]) -> [Hit] {
        var result: [Hit] = []
        for hit in hits {
            if let last = result.last, hit.word < last.wordEnd {
                result[result.count - 1].end = max(last.end, hit.end)
                result[result.count - 1].wordEnd = max(last.wordEnd, hit.wordEnd)
            } else {
                result.append(hit)
            }
        }
        return result
    }

    private func render(
        _ text: UnsafeRawBufferPointer, _ words: [(start: Int, end: Int)], _ hits: [Hit], _ first: Int, _ last: Int
    ) -> String {
        var shown = ""
        let start = first > 0 ? words[first].start : 0
        let end = last < words.count ? words[max(first, last - 1)].end : text.count
        var place = start
        func take(to end: Int) {
            if end > place {
                shown += String(decoding: UnsafeRawBufferPointer(rebasing: text[place..<end]), as: UTF8.self)
                place = end
            }
        }
        if first > 0 { shown += style.ellipsis }
        for hit in hits where hit.word >= first && hit.wordEnd <= last {
            take(to: hit.start)
            shown += style.before
            take(to: hit.end)
            shown += style.behind
        }
        take(to: end)
        if last < words.count { shown += style.ellipsis }
        return shown
    }
}
