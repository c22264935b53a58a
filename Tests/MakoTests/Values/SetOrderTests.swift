import Mako
import MakoTestSupport
import TestHelpers
import Testing

enum Ordering {
    enum Mark: Int, CaseIterable, Sendable { case dot, dash, star, ring, cross, line, wave, box }
    struct Point: Codable, Hashable, Sendable {
        var x: Int
        var name: String
    }
    @Entity struct Page {
        @Attribute(.primaryKey) var number: Int
        var words: Set<String> = []
        var marks: Set<Mark> = []
        var points: Set<Point> = []
        var numbers: Set<Int>?
    }
}

/// Sets are stored in an order that does not depend on hashes, so that an unchanged set is the same text.
@Suite struct SetOrderTests {
    private static let words = (0..<50).map { "w\($0)" }

    private func texts(_ db: Database, _ number: Int) throws -> [StoredValue] {
        try db.rawQuery("SELECT words, marks, points, numbers FROM Page WHERE number = \(number)").rows[0]
    }

    @Test func membersHaveTheOrderOfTheirTexts() throws {
        let db = try makeDatabase([Ordering.Page.self])
        let points = Self.words.map { Ordering.Point(x: 1, name: $0) }
        // Sets of other capacities have other orders.
        for number in 1...6 {
            var page = Ordering.Page(number: number)
            page.words.reserveCapacity(number * 300)
            page.points.reserveCapacity(number * 300)
            for word in Self.words.shuffled() { page.words.insert(word) }
            for point in points.shuffled() { page.points.insert(point) }
            for mark in Ordering.Mark.allCases.shuffled() { page.marks.insert(mark) }
            page.numbers = Set([10, 9, 2, -1].shuffled())
            try db.save(&page)
        }
        let sorted = Self.words.sorted()
        for number in 1...6 {
            #expect(
                try texts(db, number) == [
                    .text("[" + sorted.map { "\"\($0)\"" }.joined(separator: ",") + "]"), .text("[0,1,2,3,4,5,6,7]"),
                    .text("[" + sorted.map { "{\"name\":\"\($0)\",\"x\":1}" }.joined(separator: ",") + "]"),
                    .text("[-1,10,2,9]"),
                ])
        }
        let page = try #require(try db.find(Ordering.Page.self, 3))
        #expect(page.words == Set(Self.words) && page.points == Set(points))
        #expect(page.marks == Set(Ordering.Mark.allCases) && page.numbers == [10, 9, 2, -1])
    }
}
