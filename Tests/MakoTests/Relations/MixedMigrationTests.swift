import Foundation
import Mako
import TestHelpers
import Testing

/// The next generation: fruits have become crops, jars are merged into pots.
enum BasketsLater {
    @Entity("Basket") final class Basket {
        var name = ""
        var items: [ObjectOrValue] = []
        var byName: [String: ObjectOrValue] = [:]
    }

    @Entity("a:%crop") final class Crop {
        var name = ""
    }

    @Entity("Vessel") final class Vessel {
        @Attribute(.primaryKey) var code = ""
    }

    static let all: [any Entity.Type] = [Basket.self, Crop.self, Vessel.self]
}

extension BasketsLater.Crop: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.renameTable(from: "Fruit")
            m.version = 1
        }
    }
}

extension BasketsLater.Vessel: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.merge(from: "Jar")
            m.version = 1
        }
    }
}

enum BasketForms {
    @Entity("Basket") final class Bare {
        var name = ""
    }

    @Entity("Basket") final class OfObjects {
        var name = ""
        var items: [any ObjectEntity] = []
    }

    @Entity("Basket") final class OfTexts {
        var name = ""
        var items: [String] = []
    }

    @Entity("Basket") final class Filled {
        var name = ""
        var items: [ObjectOrValue] = [1, "two"]
    }

    /// Unlike the other fruits, without baskets, so that no other class of baskets comes into use with it.
    @Entity("Fruit") final class Fruit {
        var name = ""
    }

    @Entity("Fruit") final class NamedFruit {
        @Attribute(.primaryKey) var name = ""
    }
}

/// Collections of objects and values after changes of types.
@Suite struct MixedMigrationTests {
    private func fill(_ path: String) throws {
        let db = try Database(at: path, entities: Baskets.all)
        let fruit = Baskets.Fruit(name: "fig")
        try db.save(Baskets.Fruit(name: "before"))
        try db.save(
            Baskets.Basket(
                name: "b", items: ["Fruit:1", .object(fruit), 5, .object(Baskets.Jar(code: "j")), .value(.null)],
                byName: ["x": .object(fruit), "y": 2.5]))
        try db.close()
    }

    @Test func elementsFollowTablesThatAreRenamedOrMerged() throws {
        try withTemporaryFile { path in
            try fill(path)
            let db = try Database(at: path, entities: BasketsLater.all)
            let read = try #require(try db.find(BasketsLater.Basket.self, 1))
            #expect(read.items.map(\.value) == [.text("Fruit:1"), nil, .integer(5), nil, .null])
            #expect((read.items[1].object as? BasketsLater.Crop)?.name == "fig")
            #expect((read.items[3].object as? BasketsLater.Vessel)?.code == "j")
            #expect(read.byName == ["x": read.items[1], "y": 2.5])
            #expect(try read.items[1].object?.referencedCount() == 1)
            #expect(try db.verify().isClean && db.verify().danglingReferences.isEmpty)
            try db.close()
        }
    }

    @Test func elementsFollowNewKeys() throws {
        try withTemporaryFile { path in
            try fill(path)
            let entities: [any Entity.Type] = [
                BasketsLater.Basket.self, BasketForms.NamedFruit.self, Baskets.Jar.self,
            ]
            let db = try Database(at: path, entities: entities)
            let read = try #require(try db.find(BasketsLater.Basket.self, 1))
            #expect((read.items[1].object as? BasketForms.NamedFruit)?.name == "fig" && read.items.count == 5)
            #expect(read.items[0] == "Fruit:1" && read.byName["y"] == 2.5)
            #expect(try db.verify().isClean && db.verify().danglingReferences.isEmpty)
            try db.close()
        }
    }

    @Test func anOldTableGetsSuchACollection() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [BasketForms.Bare.self])
            try db.save(BasketForms.Bare(name: "old"))
            try db.close()
            db = try Database(at: path, entities: [BasketForms.Filled.self])
            #expect(try db.find(BasketForms.Filled.self, 1)?.items == [1, "two"])
            try db.save(BasketForms.Filled(name: "new"))
            #expect(try db.find(BasketForms.Filled.self, 2)?.items == [1, "two"])
            #expect(try db.query(BasketForms.Filled.self).where(.contains(\.items, "two")).count() == 2)
            try db.query(BasketForms.Filled.self).where(\.name == "old").delete()
            #expect(try db.verify().isClean)
            try db.close()
        }
    }

    /// The object goes while the property does not exist; the values come back with it.
    @Test func aCollectionThatComesBackHasItsValues() throws {
        try withTemporaryFile { path in
            try fill(path)
            var db = try Database(at: path, entities: [BasketForms.Bare.self, BasketForms.Fruit.self])
            try db.query(BasketForms.Fruit.self).delete()
            try db.close()
            db = try Database(at: path, entities: Baskets.all)
            let read = try #require(try db.find(Baskets.Basket.self, 1))
            #expect(read.items.map(\.value) == [.text("Fruit:1"), .integer(5), nil, .null])
            #expect((read.items[2].object as? Baskets.Jar)?.code == "j" && read.byName == ["y": 2.5])
            #expect(try db.verify().isClean && db.verify().danglingReferences.isEmpty)
            try db.close()
        }
    }

    @Test func aCollectionOfObjectsTakesValuesLater() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [BasketForms.OfObjects.self, BasketForms.Fruit.self])
            try db.save(BasketForms.OfObjects(name: "b", items: [BasketForms.Fruit(name: "fig")]))
            try db.close()
            db = try Database(at: path, entities: Baskets.all)
            let read = try #require(try db.find(Baskets.Basket.self, 1))
            #expect((read.items.first?.object as? Baskets.Fruit)?.name == "fig" && read.items.count == 1)
            read.items.append(5)
            try db.save(read)
            try db.close()
            // The other way, values are neither lost nor taken for objects.
            db = try Database(at: path, entities: [BasketForms.OfObjects.self, BasketForms.Fruit.self])
            let objects = try #require(try db.find(BasketForms.OfObjects.self, 1))
            #expect(objects.items.isEmpty && objects.loadError != nil)
            #expect(throws: MakoError.self) { try objects.load(\.items) }
            objects.items = []
            #expect(throws: MakoError.self) { try db.save(objects) }
            try db.close()
            db = try Database(at: path, entities: Baskets.all)
            #expect(try db.find(Baskets.Basket.self, 1)?.items.map(\.value) == [nil, .integer(5)])
            try db.close()
        }
    }

    @Test func aListOfTextsDoesNotBecomeSuchACollection() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [BasketForms.OfTexts.self])
            try db.save(BasketForms.OfTexts(name: "b", items: ["x"]))
            try db.close()
            #expect(throws: MakoError.self) { try Database(at: path, entities: [BasketForms.Filled.self]).close() }
            db = try Database(at: path, entities: [BasketForms.OfTexts.self])
            #expect(try db.find(BasketForms.OfTexts.self, 1)?.items == ["x"])
            try db.close()
        }
    }

    @Test func aClassThatIsNotInUseIsNamed() throws {
        try withTemporaryFile { path in
            try fill(path)
            let db = try Database(at: path, entities: [BasketsLater.Basket.self, BasketForms.Fruit.self])
            let read = try #require(try db.find(BasketsLater.Basket.self, 1))
            #expect(read.items.isEmpty && read.loadError?.description.contains("Jar") == true)
            read.items = [1]
            #expect(throws: MakoError.self) { try db.save(read) }
            try db.close()
        }
    }

    @Test func aLargeValueIsStoredAndOneTooLargeForARowIsRefused() throws {
        let db = try makeDatabase(Baskets.all)
        let large = ObjectOrValue.value(.blob(Array(repeating: 7, count: 1_000_000)))
        try db.save(Baskets.Basket(name: "b", items: [large, 1]))
        let read = try #require(try db.find(Baskets.Basket.self, 1))
        #expect(read.items == [large, 1])
        read.items = [.value(.blob(Array(repeating: 7, count: 64 << 20)))]
        #expect(throws: MakoError.self) { try db.save(read) }
        #expect(try db.find(Baskets.Basket.self, 1)?.items == [large, 1])
        #expect(try db.verify().isClean)
    }
}
