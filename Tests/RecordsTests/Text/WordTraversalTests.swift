import MakoStorage
import Testing

@testable import MakoRecords

/// Words that are gathered from rows and sorted.
@Suite struct WordTraversalTests {
    private struct Found: Equatable {
        var word: String
        /// Row, column and position of each place.
        var places: [[Int]]
    }

    private func traversal(_ rows: borrowing RowWords, group: Int) -> [Found] {
        var found: [Found] = []
        var traversal = WordTraversal(rows, group: group)
        while traversal.next(rows) {
            let places = traversal.withPlaces { $0.map { [Int($0.row), Int($0.column), Int($0.position)] } }
            #expect(places.first?[0] == traversal.firstRow)
            found.append(Found(word: String(decoding: rows.words.term(traversal.word), as: UTF8.self), places: places))
        }
        return found
    }

    @Test func placesAreSortedByTheirWords() throws {
        var random = Seeded(3)
        let text = try TextFixture()
        let table = try text.table
        let index = try #require(table.textIndexes.first)
        // Words that share eight letters, and begin one another.
        let vocabulary =
            PlainMatch.vocabulary + (0..<300).map { "internat\($0 % 40)\($0)" } + ["internat", "int", "inter"]
        var rows = RowWords(index, room: 16)
        for _ in 0..<3 {
            rows.removeAll()
            var expected: [String: [[Int]]] = [:]
            for number in 0..<60 {
                let texts: [[String]?] = (0..<2).map { _ in
                    random.chance(10)
                        ? nil : (0..<Int.random(in: 0...40, using: &random)).map { _ in random.pick(vocabulary) }
                }
                var row = RowWriter()
                row.begin(table.layout)
                for (column, words) in texts.enumerated() {
                    row.set(column, TextFixture.value(words))
                    for (position, word) in (words ?? []).enumerated() {
                        expected[PlainMatch.fold(word), default: []].append([number, column, position])
                    }
                }
                rows.read(try RowReader(row.finish(), table.layout), index)
                let lengths = Array(rows.lengths(of: number))
                #expect(lengths == texts.map { UInt64($0?.count ?? 0) })
            }
            let sorted = expected.map { Found(word: $0.key, places: $0.value) }.sorted {
                $0.word.utf8.lexicographicallyPrecedes($1.word.utf8)
            }
            for group in [1, 7, 500, WordTraversal.group] {
                let found = traversal(rows, group: group)
                #expect(found == sorted)
            }
        }
    }
}
