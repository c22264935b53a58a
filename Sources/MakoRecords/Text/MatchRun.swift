import MakoStorage

/// Executes a full-text query on one snapshot.
struct MatchRun {
    private let query: MatchQuery
    private let reader: TermReader
    private let texts: PrefixTexts
    private var index: FullTextIndex { reader.index }
    /// With ranks, the rows of each term: occurrences are counted for ranked terms only.
    private var counted: [MatchNode: TermRows]?

    /// - Parameter rows: reads a row of the table.
    init(_ query: MatchQuery, _ index: FullTextIndex, _ view: Snapshot, rows: @escaping PrefixTexts.Rows) {
        self.query = query
        reader = TermReader(index, view)
        texts = PrefixTexts(index, view, rows)
    }

    /// Returns the numbers of the rows, ascending.
    func rows() throws(RecordError) -> [UInt64] {
        try followingTree(query.isDeep) { () throws(RecordError) in try rows(of: query.root) }
    }

    /// Returns the rows and their scores: more is better.
    mutating func ranked() throws(RecordError) -> (rows: [UInt64], scores: [Double]) {
        var counted: [MatchNode: TermRows] = [:]
        let parts = query.wanted
        for part in parts where counted[part] == nil { counted[part] = try found(part, .counts) }
        self.counted = counted
        let rows = try rows()
        var rank = try TextRank(index, rows, reader.view)
        for part in parts { if let found = counted[part] { rank.add(found) } }
        return (rows, rank.scores)
    }

    // MARK: Parts

    private func rows(of node: MatchNode, within wanted: [UInt64]? = nil) throws(RecordError) -> [UInt64] {
        if let known = counted?[node] { return MatchRun.both(known.rows, wanted) }
        switch node {
        case .phrase(let phrase):
            if phrase.terms.count == 1, phrase.isPrefix {
                return MatchRun.both(try prefix(phrase, .rows, within: wanted).rows, wanted)
            }
            if phrase.terms.count == 1 {
                return try reader.read(phrase.terms[0], isPrefix: false, phrase.columns, .rows, within: wanted).rows
            }
            return try self.phrase(phrase, .rows, within: wanted).rows
        case .near: return MatchRun.both(try found(node, .rows).rows, wanted)
        case .or(let parts):
            var all: [UInt64] = []
            for part in parts { all = MatchRun.either(all, try rows(of: part, within: wanted)) }
            return all
        case .not(let first, let second):
            let rows = try rows(of: first, within: wanted)
            return MatchRun.difference(rows, try self.rows(of: second, within: rows))
        case .and(let parts): return try all(parts, within: wanted)
        }
    }

    /// The rarest term is evaluated first, so that the others are searched within its rows.
    private func all(_ parts: [MatchNode], within wanted: [UInt64]?) throws(RecordError) -> [UInt64] {
        var sized: [(size: Int, part: MatchNode)] = []
        for part in parts { sized.append((try estimate(part), part)) }
        sized.sort { $0.size < $1.size }
        var rows = wanted
        for (size, part) in sized {
            if let found = rows {
                if found.isEmpty { return [] }
                rows =
                    found.count < size / 8
                    ? try self.rows(of: part, within: found) : MatchRun.both(try self.rows(of: part), found)
            } else {
                rows = try self.rows(of: part)
            }
        }
        return rows ?? []
    }

    private func estimate(_ node: MatchNode) throws(RecordError) -> Int {
        switch node {
        case .phrase(let phrase):
            var least = Int.max
            for (place, term) in phrase.terms.enumerated() {
                least = min(least, try estimate(term, place, of: phrase))
            }
            return least
        case .near(let parts, _): return try estimate(.phrase(parts[0]))
        case .and(let parts):
            var least = Int.max
            for part in parts { least = min(least, try estimate(part)) }
            return least
        case .or(let parts):
            var sum = 0
            for part in parts { sum = min(.max >> 1, sum + min(.max >> 2, try estimate(part))) }
            return sum
        case .not(let first, _): return try estimate(first)
        }
    }

    /// Estimates the occurrences of a word of a phrase.
    private func estimate(_ term: [UInt8], _ place: Int, of phrase: MatchPhrase) throws(RecordError) -> Int {
        guard phrase.isPrefix && place == phrase.terms.count - 1 else {
            return try reader.estimate(term, isPrefix: false)
        }
        var sum = try reader.estimate(term, isPrefix: true)
        // The rows of shorter stems are read, whether or not their texts have the prefix.
        for stem in phrase.shorter + (phrase.stem.map { [$0] } ?? []) {
            sum = min(.max >> 1, sum + min(.max >> 2, try reader.estimate(stem, isPrefix: false)))
        }
        return sum
    }

    /// Returns the rows of a word, a phrase or a NEAR group.
    private func found(_ node: MatchNode, _ detail: TermDetail) throws(RecordError) -> TermRows {
        switch node {
        case .phrase(let phrase):
            if phrase.terms.count == 1, phrase.isPrefix { return try prefix(phrase, detail) }
            if phrase.terms.count == 1 {
                return try reader.read(phrase.terms[0], isPrefix: false, phrase.columns, detail)
            }
            return try self.phrase(phrase, detail)
        case .near(let parts, let distance): return try near(parts, distance)
        case .and, .or, .not: return TermRows()
        }
    }

    /// Returns the rows of the last word of a phrase, which is a prefix; other rows than those wanted may be there, too.
    private func prefix(
        _ phrase: MatchPhrase, _ detail: TermDetail, within wanted: [UInt64]? = nil
    ) throws(RecordError) -> TermRows {
        guard let word = phrase.terms.last else { return TermRows() }
        var found = try reader.read(word, isPrefix: true, phrase.columns, detail)
        if let stem = phrase.stem {
            found.append(try reader.read(stem, isPrefix: false, phrase.columns, detail, within: wanted))
        }
        for stem in phrase.shorter {
            let places = try reader.read(stem, isPrefix: false, phrase.columns, .places, within: wanted)
            found.append(try texts.rows(of: places, from: word, detail))
        }
        // The terms differ, so that no place is there twice.
        found.merge(detail)
        return found
    }

    // MARK: Phrases

    /// Returns the rows of a phrase, with the positions of its first word.
    private func phrase(
        _ phrase: MatchPhrase, _ detail: TermDetail, within wanted: [UInt64]? = nil
    ) throws(RecordError) -> TermRows {
        var order: [(size: Int, place: Int)] = []
        for (place, term) in phrase.terms.enumerated() {
            order.append((try estimate(term, place, of: phrase), place))
        }
        order.sort { $0.size < $1.size }
        var places = PhrasePlaces()
        for (number, (_, place)) in order.enumerated() {
            let term = phrase.terms[place]
            let isPrefix = phrase.isPrefix && place == phrase.terms.count - 1
            if number == 0 && wanted == nil && !isPrefix {
                places = try reader.begin(term, phrase.columns, at: place)
            } else if number > 0 && !isPrefix {
                try reader.narrow(&places, to: term, phrase.columns, at: place)
            } else {
                let found =
                    isPrefix
                    ? try prefix(phrase, .places, within: wanted)
                    : try reader.read(term, isPrefix: false, phrase.columns, .places, within: wanted)
                let others = PhrasePlaces(found, at: place, within: wanted)
                if number == 0 { places = others } else { places.narrow(to: others) }
            }
            if places.isEmpty { break }
        }
        return places.rows(detail)
    }

    /// Returns rows in which an occurrence of each phrase is near the others; the count of a row is that of its rarest
    /// phrase.
    private func near(_ parts: [MatchPhrase], _ distance: UInt64) throws(RecordError) -> TermRows {
        var lists: [TermRows] = []
        var rows: [UInt64]?
        for part in parts {
            let list = try found(.phrase(part), .places)
            rows = MatchRun.both(list.rows, rows)
            lists.append(list)
        }
        let lengths = parts.map { UInt64($0.terms.count) }
        var found = TermRows()
        var numbers = Array(repeating: 0, count: lists.count)
        for row in rows ?? [] {
            for list in lists.indices {
                while lists[list].rows[numbers[list]] < row { numbers[list] += 1 }
            }
            let places = lists.indices.map { lists[$0].places(numbers[$0]) }
            if MatchRun.areNear(places, lengths, distance) {
                found.close(row, places.map(\.count).min() ?? 0, .counts)
            }
        }
        return found
    }

    /// Returns whether there is an occurrence of each phrase, with at most this many words between the end of the first
    /// and the start of the last.
    static func areNear(_ places: [ArraySlice<UInt64>], _ lengths: [UInt64], _ distance: UInt64) -> Bool {
        var at = places.map(\.startIndex)
        while true {
            var last: UInt64 = 0
            for list in places.indices {
                if at[list] == places[list].endIndex { return false }
                last = max(last, places[list][at[list]])
            }
            var isNear = true
            for list in places.indices {
                let place = places[list][at[list]]
                // Positions in different columns are never near.
                if place >> 32 != last >> 32 || place + lengths[list] + distance < last {
                    at[list] += 1
                    isNear = false
                }
            }
            if isNear { return true }
        }
    }

    // MARK: Set operations

    static func both(_ a: [UInt64], _ b: [UInt64]?) -> [UInt64] {
        guard let b else { return a }
        var rows: [UInt64] = []
        rows.reserveCapacity(min(a.count, b.count))
        var (x, y) = (0, 0)
        while x < a.count, y < b.count {
            if a[x] == b[y] {
                rows.append(a[x])
                x += 1
                y += 1
            } else if a[x] < b[y] {
                x += 1
            } else {
                y += 1
            }
        }
        return rows
    }

    private static func either(_ a: [UInt64], _ b: [UInt64]) -> [UInt64] {
        if a.isEmpty { return b }
        var rows: [UInt64] = []
        rows.reserveCapacity(a.count + b.count)
        var (x, y) = (0, 0)
        while x < a.count || y < b.count {
            if y == b.count || (x < a.count && a[x] <= b[y]) {
                if y < b.count && a[x] == b[y] { y += 1 }
                rows.append(a[x])
                x += 1
            } else {
                rows.append(b[y])
                y += 1
            }
        }
        return rows
    }

    private static func difference(_ a: [UInt64], _ b: [UInt64]) -> [UInt64] {
        var rows: [UInt64] = []
        var y = 0
        for row in a {
            while y < b.count, b[y] < row { y += 1 }
            if y == b.count || b[y] != row { rows.append(row) }
        }
        return rows
    }
}
