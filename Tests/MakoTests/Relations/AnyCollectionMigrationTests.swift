import Foundation
import Mako
import TestHelpers
import Testing

/// The next generation: books have become tomes, vases are merged into pots.
enum MixedLater {
    @Entity("Shelf") final class Shelf {
        var name = ""
        var items: [any ObjectEntity] = []
        var byName: [String: any ObjectEntity] = [:]
        var rows: [[any ObjectEntity]] = []
    }

    @Entity("a:%tome") final class Tome {
        var title = ""
    }

    @Entity("Pot") final class Pot {
        @Attribute(.primaryKey) var code = ""
        var colour: String?
    }

    @Entity("Stall") final class Stall {
        @Attribute(.primaryKey) var row = 0
        @Attribute(.primaryKey) var letter = ""
    }

    static let all: [any Entity.Type] = [Shelf.self, Tome.self, Pot.self, Stall.self]
}

extension MixedLater.Tome: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.renameTable(from: "Book")
            m.version = 1
        }
    }
}

extension MixedLater.Pot: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.merge(from: "Vase")
            m.version = 1
        }
    }
}

enum MixedKeys {
    @Entity("Book") final class Book {
        @Attribute(.primaryKey) var title = ""
    }

    static let all: [any Entity.Type] = [Mixed.Shelf.self, Book.self, Mixed.Vase.self, Mixed.Stall.self]
}

enum ShelfForms {
    /// Unlike the other books, without shelves, so that no other class of shelves comes into use with it.
    @Entity("Book") final class Book {
        var title = ""
    }

    @Entity("Shelf") final class Bare {
        var name = ""
    }

    @Entity("Shelf") final class OfBooks {
        var name = ""
        var items: [Book] = []
    }

    @Entity("Shelf") final class OfOne {
        var name = ""
        var items: (any ObjectEntity)?
    }

    @Entity("Shelf") final class ByName {
        var name = ""
        var items: [String: any ObjectEntity] = [:]
    }
}

/// Collections of objects of several classes after changes of types.
@Suite struct AnyCollectionMigrationTests {
    private func fill(_ path: String) throws {
        let db = try Database(at: path, entities: Mixed.all)
        let (book, vase) = (Mixed.Book(title: "a"), Mixed.Vase(code: "v", colour: "red"))
        let stall = Mixed.Stall(row: 1, letter: "x")
        try db.save(Mixed.Book(title: "before"))
        try db.save(
            Mixed.Shelf(
                name: "s", items: [vase, book, stall, book], byName: ["x": book, "y": vase], rows: [[vase], [book]]))
        try db.close()
    }

    @Test func elementsFollowTablesThatAreRenamedOrMerged() throws {
        try withTemporaryFile { path in
            try fill(path)
            let db = try Database(at: path, entities: MixedLater.all)
            let read = try #require(try db.find(MixedLater.Shelf.self, 1))
            #expect((read.items[0] as? MixedLater.Pot)?.colour == "red")
            #expect((read.items[1] as? MixedLater.Tome)?.title == "a" && read.items[1] === read.items[3])
            #expect(read.items[2] is MixedLater.Stall && read.items.count == 4)
            #expect(read.byName["x"] === read.items[1] && read.byName["y"] === read.items[0])
            #expect(read.rows.map(\.count) == [1, 1])
            // The index of elements follows, too.
            #expect(try read.items[1].referencedCount() == 1 && read.items[0].referencedCount() == 1)
            try read.items[0].remove()
            #expect(try db.find(MixedLater.Shelf.self, 1)?.items.count == 3)
            #expect(try db.verify().isClean && db.verify().danglingReferences.isEmpty)
            try db.close()
        }
    }

    @Test func elementsFollowNewKeys() throws {
        try withTemporaryFile { path in
            try fill(path)
            var db = try Database(at: path, entities: MixedKeys.all)
            let read = try #require(try db.find(Mixed.Shelf.self, 1))
            let book = try #require(read.items[1] as? MixedKeys.Book)
            #expect(book.title == "a" && read.items.count == 4 && read.byName["x"] === book)
            #expect(try book.referencedCount() == 1)
            #expect(try db.verify().isClean && db.verify().danglingReferences.isEmpty)
            try db.close()
            db = try Database(at: path, entities: Mixed.all)
            let again = try #require(try db.find(Mixed.Shelf.self, 1))
            #expect((again.items[3] as? Mixed.Book)?.title == "a" && again.items.count == 4)
            try db.close()
        }
    }

    @Test func anOldTableGetsSuchACollection() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [ShelfForms.Bare.self])
            try db.save(ShelfForms.Bare(name: "old"))
            try db.close()
            db = try Database(at: path, entities: Mixed.all)
            let read = try #require(try db.find(Mixed.Shelf.self, 1))
            #expect(read.items.isEmpty && read.byName.isEmpty && read.extras == nil)
            let book = Mixed.Book(title: "a")
            read.items = [book]
            try db.save(read)
            #expect(try book.referencing(Mixed.Shelf.self).map(\.name) == ["old"])
            try db.close()
            // The property is removed, and comes back with its values; the book has gone meanwhile.
            db = try Database(at: path, entities: [ShelfForms.Bare.self, ShelfForms.Book.self])
            try db.query(ShelfForms.Book.self).delete()
            try db.close()
            db = try Database(at: path, entities: Mixed.all)
            #expect(try db.find(Mixed.Shelf.self, 1)?.items.isEmpty == true)
            #expect(try db.verify().isClean && db.verify().danglingReferences.isEmpty)
            try db.close()
        }
    }

    /// Keys of one table mean nothing where elements name their tables, and the other way round.
    @Test func collectionsOfOneClassAndOfSeveralDoNotBecomeEachOther() throws {
        try withTemporaryFile { path in
            try fill(path)
            #expect(throws: MakoError.self) {
                try Database(at: path, entities: [ShelfForms.OfBooks.self, ShelfForms.Book.self]).close()
            }
            #expect(throws: MakoError.self) { try Database(at: path, entities: [ShelfForms.OfOne.self]).close() }
            let db = try Database(at: path, entities: Mixed.all)
            let read = try #require(try db.find(Mixed.Shelf.self, 1))
            #expect(read.items.count == 4)
            read.items = []
            try db.save(read)
            try db.close()
            let single = try Database(at: path, entities: [ShelfForms.OfOne.self])
            #expect(try single.find(ShelfForms.OfOne.self, 1)?.items == nil)
            try single.close()
        }
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [ShelfForms.OfBooks.self, ShelfForms.Book.self])
            try db.save(ShelfForms.OfBooks(name: "s", items: [ShelfForms.Book(title: "a")]))
            try db.close()
            #expect(throws: MakoError.self) { try Database(at: path, entities: Mixed.all).close() }
            db = try Database(at: path, entities: [ShelfForms.OfBooks.self, ShelfForms.Book.self])
            let read = try #require(try db.find(ShelfForms.OfBooks.self, 1))
            read.items = []
            try db.save(read)
            try db.close()
            db = try Database(at: path, entities: Mixed.all)
            #expect(try db.find(Mixed.Shelf.self, 1)?.items.isEmpty == true)
            try db.close()
        }
    }

    @Test func anotherFormIsAnErrorOfTheLoad() throws {
        try withTemporaryFile { path in
            try fill(path)
            let db = try Database(
                at: path, entities: [ShelfForms.ByName.self, ShelfForms.Book.self, Mixed.Vase.self, Mixed.Stall.self])
            let read = try #require(try db.find(ShelfForms.ByName.self, 1))
            #expect(read.items.isEmpty && read.loadError != nil)
            #expect(throws: MakoError.self) { try read.load(\.items) }
            try db.close()
        }
    }

    /// A collection with an object of a class that is not in use is neither lost nor shortened.
    @Test func aClassThatIsNotInUseIsNamed() throws {
        try withTemporaryFile { path in
            try fill(path)
            var db = try Database(at: path, entities: [Mixed.Shelf.self, Mixed.Book.self])
            let read = try #require(try db.find(Mixed.Shelf.self, 1))
            #expect(read.items.isEmpty)
            #expect(read.loadError?.description.contains("Stall") == true)
            #expect(throws: MakoError.self) { try read.load(\.items) }
            read.name = "changed"
            try db.save(read)
            read.items = []
            // What was not read is not overwritten.
            #expect(throws: MakoError.self) { try db.save(read) }
            try db.close()
            db = try Database(at: path, entities: Mixed.all)
            let again = try #require(try db.find(Mixed.Shelf.self, 1))
            #expect(again.name == "changed" && again.items.count == 4)
            try db.close()
        }
    }
}
