import Foundation
import Mako
import TestHelpers
import Testing

private enum Shapes {
    /// A name that references write with escapes.
    @Entity("A:B%") final class Colon {
        var name = ""
        @Relationship(inverse: \Shapes.Bag.items) var bags: ToMany<Shapes.Bag>
    }
    /// A name in decomposed form.
    @Entity("Cafe\u{301}") final class Cafe {
        var name = ""
    }
    @Entity("Bag") final class Bag {
        var name = ""
        var items: [any ObjectEntity] = []
        var mixed: [ObjectOrValue] = []
    }
}

/// Collections of several classes whose tables have unusual names, and graphs of unusual shapes.
@Suite struct CollectionShapeTests {
    @Test func namesMayNeedEscapes() throws {
        let db = try makeDatabase([Shapes.Colon.self, Shapes.Cafe.self, Shapes.Bag.self])
        let (colon, cafe) = (Shapes.Colon(name: "c"), Shapes.Cafe(name: "k"))
        // A text that is written as the reference to `colon` stays when that is deleted, and so does NULL.
        let mixed: [ObjectOrValue] = [.object(colon), "A%3AB%25:1", .value(.null), .object(cafe)]
        let bag = Shapes.Bag(name: "b", items: [colon, cafe, colon], mixed: mixed)
        bag.items.append(bag)
        try db.save(bag)
        let read = try #require(try db.find(Shapes.Bag.self, 1))
        #expect(read.items.count == 4 && (read.items[3] as? Shapes.Bag)?.isSame(as: bag) == true)
        #expect(read.mixed.count == 4)
        #expect(try cafe.referencing(Shapes.Bag.self).count == 1 && colon.referencedCount() == 1)
        #expect(try colon.bags.count == 1)
        #expect(try db.query(Shapes.Bag.self).where(.contains(\.items, cafe)).count() == 1)
        #expect(try db.query(Shapes.Bag.self).where(.contains(\.mixed, cafe)).count() == 1)
        try db.delete(colon)
        let left = try #require(try db.find(Shapes.Bag.self, 1))
        #expect(left.items.count == 2)
        #expect(left.mixed.map(\.value) == [.text("A%3AB%25:1"), .null, nil])
        // It refers to itself.
        try db.delete(bag)
        #expect(try db.query(Shapes.Bag.self).count() == 0)
    }

    @Test func chainsMayBeLong() throws {
        let db = try makeDatabase([Shapes.Bag.self])
        var last = Shapes.Bag(name: "0")
        for number in 1..<5000 { last = Shapes.Bag(name: "\(number)", items: [last], mixed: [.object(last), 5]) }
        try db.save(last)
        var length = 1
        var bag = try #require(try db.query(Shapes.Bag.self).where(\.name == "4999").first())
        while let next = bag.items.first as? Shapes.Bag { (bag, length) = (next, length + 1) }
        #expect(length == 5000 && bag.name == "0")
    }
}
