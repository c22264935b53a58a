import Foundation
import Mako
import MakoTestSupport
import TestHelpers
import Testing

enum Mixed {
    @Entity("Shelf") final class Shelf {
        var name = ""
        var items: [any ObjectEntity] = []
        var byName: [String: any ObjectEntity] = [:]
        var rows: [[any ObjectEntity]] = []
        var extras: [any ObjectEntity]?
        var marked: [String: any ObjectEntity]?
        var grouped: [Int: [any ObjectEntity]] = [:]
    }

    @Entity("Book") final class Book {
        var title = ""
        @Relationship(inverse: \Shelf.items) var shelves: ToMany<Shelf>
    }

    @Entity("Vase") final class Vase {
        @Attribute(.primaryKey) var code = ""
        var colour: String?
    }

    @Entity("Stall") final class Stall {
        @Attribute(.primaryKey) var row = 0
        @Attribute(.primaryKey) var letter = ""
    }

    static let all: [any Entity.Type] = [Shelf.self, Book.self, Vase.self, Stall.self]
}

enum Ruled {
    @Entity("Crate") final class Crate {
        var name = ""
        var content: [any ObjectEntity] = []
    }

    @Entity("Fuse") final class Fuse {
        var name = ""
        @Relationship(inverse: \Crate.content, deleteRule: .cascade) var crates: ToMany<Crate>
    }

    @Entity("Relic") final class Relic {
        var name = ""
        @Relationship(inverse: \Crate.content, deleteRule: .deny) var crates: ToMany<Crate>
    }

    static let all: [any Entity.Type] = [Crate.self, Fuse.self, Relic.self]
}

@Entity class Pupil {
    var name = ""
}

@Entity final class Prefect: Pupil {
    var badge = 0
}

@Entity final class Classroom {
    var name = ""
    @Relationship(.subclasses) var pupils: [Pupil] = []
    @Relationship(.subclasses) var byDesk: [Int: Pupil] = [:]
    @Relationship(.subclasses) var rows: [[Pupil]] = []
    @Relationship(.subclasses) var teams: [String: [Pupil]] = [:]
}

/// Collections of objects that may have several classes.
@Suite struct AnyCollectionTests {
    typealias Shelf = Mixed.Shelf
    typealias Book = Mixed.Book
    typealias Vase = Mixed.Vase
    typealias Stall = Mixed.Stall

    let db: Database

    init() throws { db = try makeDatabase(Mixed.all) }

    private func texts(_ objects: [any ObjectEntity]) -> [String] { objects.map(Self.text) }

    static func text(_ object: any ObjectEntity) -> String {
        switch object {
        case let book as Book: "book \(book.title)"
        case let vase as Vase: "vase \(vase.code)"
        case let stall as Stall: "stall \(stall.row)\(stall.letter)"
        case let shelf as Shelf: "shelf \(shelf.name)"
        default: "another \(object)"
        }
    }

    private func shelf(_ id: Int = 1) throws -> Shelf { try #require(try db.find(Shelf.self, id)) }

    // MARK: - Storing and loading

    @Test func objectsOfSeveralClassesKeepTheirOrderAndDuplicates() throws {
        let (book, vase, stall) = (Book(title: "a"), Vase(code: "it's:a%b", colour: "red"), Stall(row: 7, letter: "c"))
        try db.save(Shelf(name: "s", items: [vase, book, stall, vase, Book(title: "b")]))
        let read = try shelf()
        #expect(texts(read.items) == ["vase it's:a%b", "book a", "stall 7c", "vase it's:a%b", "book b"])
        #expect(read.items[0] === read.items[3])
        #expect((read.items[0] as? Vase)?.colour == "red")
        // The members were stored with their owner, each once.
        #expect(try db.query(Vase.self).count() == 1)
        #expect(try db.query(Book.self).count() == 2)
        read.items.remove(at: 0)
        read.items.append(Book(title: "c"))
        try db.save(read)
        #expect(texts(try shelf().items) == ["book a", "stall 7c", "vase it's:a%b", "book b", "book c"])
        #expect(try db.verify().isClean && db.verify().danglingReferences.isEmpty)
    }

    @Test func dictionariesNestedAndOptionalCollectionsKeepTheirForm() throws {
        let (book, vase) = (Book(title: "a"), Vase(code: "v"))
        let made = Shelf(name: "forms")
        made.byName = ["": vase, "wild 😀": book, "again": book]
        made.rows = [[book, vase], [], [vase]]
        made.grouped = [7: [vase, book], Int.min: []]
        try db.save(made)
        let read = try shelf()
        #expect(read.byName.mapValues(Self.text) == ["": "vase v", "wild 😀": "book a", "again": "book a"])
        #expect(read.rows.map(texts) == [["book a", "vase v"], [], ["vase v"]])
        #expect(read.grouped.mapValues(texts) == [7: ["vase v", "book a"], Int.min: []])
        // One object for each row, whatever property it came by.
        #expect(read.byName["again"] === read.rows[0][0])
        #expect(read.items.isEmpty && read.extras == nil && read.marked == nil)
        read.extras = []
        read.marked = ["m": Stall(row: 1, letter: "x")]
        try db.save(read)
        let again = try shelf()
        #expect(again.extras?.isEmpty == true)
        #expect(again.marked?.mapValues(Self.text) == ["m": "stall 1x"])
        again.extras = nil
        try db.save(again)
        #expect(try shelf().extras == nil)
    }

    @Test func anOwnerMayHoldItself() throws {
        let first = Shelf(name: "first")
        first.items = [Shelf(name: "second", items: [first]), first]
        try db.save(first)
        let read = try #require(try db.query(Shelf.self).where(\.name == "first").first())
        #expect(texts(read.items) == ["shelf second", "shelf first"])
        #expect(read.items[1] === read)
        #expect((read.items[0] as? Shelf)?.items.first === read)
    }

    @Test func objectsOfEachClassAreReadTogether() throws {
        let members = (0..<600).map { number -> any ObjectEntity in
            number % 2 == 0 ? Book(title: "\(number)") as any ObjectEntity : Vase(code: "\(number)")
        }
        try db.save(Shelf(name: "long", items: members))
        let read = try shelf()
        let before = db.metrics.lazyLoads
        #expect(texts(read.items) == texts(members))
        #expect(db.metrics.lazyLoads == before + 2)
    }

    @Test func aChangedMemberIsSavedWithItsOwner() throws {
        let book = Book(title: "a")
        let made = Shelf(name: "s", items: [book])
        try db.save(made)
        book.title = "b"
        try made.commit()
        #expect(texts(try shelf().items) == ["book b"])
    }

    @Test func prefetchLoadsThemWithTheirOwners() throws {
        try db.save([
            Shelf(name: "1", items: [Book(title: "a"), Vase(code: "v")], byName: ["x": Stall(row: 1, letter: "a")]),
            Shelf(name: "2", items: [Book(title: "b")], rows: [[Vase(code: "w")], [Book(title: "c")]]),
            Shelf(name: "3"),
        ])
        let read = try db.query(Shelf.self).prefetch(\.items).prefetch(\.byName).prefetch(\.rows).orderBy(\.name)
            .fetch()
        let before = db.metrics.lazyLoads
        #expect(read.map { texts($0.items) } == [["book a", "vase v"], ["book b"], []])
        #expect(read[0].byName.mapValues(Self.text) == ["x": "stall 1a"])
        #expect(read[1].rows.map(texts) == [["vase w"], ["book c"]])
        #expect(db.metrics.lazyLoads == before)
    }

    /// Random changes of a list and a dictionary, deletions and rollbacks, beside lists of names.
    @Test(arguments: 0..<16) func randomListsAreWhatTheyWere(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var model = Model()
        try db.save(Shelf(name: "list"))
        for round in 0..<30 {
            let list = try shelf()
            #expect(texts(list.items) == model.items)
            #expect(list.byName.mapValues(Self.text) == model.byName)
            let next = change(list, round, model, &random)
            if Int.random(in: 0..<5, using: &random) == 0 {
                #expect(throws: (any Error).self) {
                    try db.transaction { tx in
                        try db.save(list)
                        try tx.rollback()
                    }
                }
                #expect(texts(try shelf().items) == model.items)
                continue
            }
            try db.save(list)
            model = next
            guard Int.random(in: 0..<3, using: &random) == 0, let gone = list.items.randomElement(using: &random) else {
                continue
            }
            model.remove(Self.text(gone))
            try gone.remove()
            // Each element that is left leads to its owner.
            for object in try shelf().items { #expect(try object.referencedCount() == 1) }
        }
        #expect(try db.verify().isClean && db.verify().danglingReferences.isEmpty)
    }

    private struct Model {
        var items: [String] = []
        var byName: [String: String] = [:]

        mutating func remove(_ name: String) {
            items.removeAll { $0 == name }
            byName = byName.filter { $0.value != name }
        }
    }

    /// Changes a shelf, and returns what it holds then.
    private func change(_ list: Shelf, _ round: Int, _ model: Model, _ random: inout SplitMix) -> Model {
        for number in 0..<Int.random(in: 0...3, using: &random) {
            let name = "\(round).\(number)"
            switch Int.random(in: 0..<3, using: &random) {
            case 0: list.items.append(Book(title: name))
            case 1: list.items.append(Vase(code: name))
            default: list.items.append(Stall(row: round, letter: "\(number)"))
            }
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: list.items.shuffle(using: &random)
        case 1: list.items.reverse()
        case 2: if let one = list.items.randomElement(using: &random) { list.items.insert(one, at: 0) }
        case 3: if !list.items.isEmpty { list.items.removeLast() }
        case 4: list.byName["\(round % 4)"] = list.items.randomElement(using: &random)
        default: break
        }
        return Model(items: texts(list.items), byName: list.byName.mapValues(Self.text))
    }

    // MARK: - Removed members

    @Test func aRemovedMemberLeavesEveryCollection() throws {
        let (book, vase, stall) = (Book(title: "a"), Vase(code: "v"), Stall(row: 1, letter: "x"))
        let first = Shelf(name: "1", items: [book, vase, book, stall])
        try db.save([first, Shelf(name: "2", byName: ["x": book, "y": vase], rows: [[book], [stall, book]])])
        let loaded = try shelf(2)
        #expect(loaded.byName.count == 2)
        try db.delete(book)
        #expect(texts(try shelf().items) == ["vase v", "stall 1x"])
        #expect(try shelf(2).byName.mapValues(Self.text) == ["y": "vase v"])
        #expect(try shelf(2).rows.map(texts) == [[], ["stall 1x"]])
        // An object that holds it in memory does not bring it back.
        first.items = first.items
        try db.save(first)
        #expect(texts(first.items) == ["vase v", "stall 1x"])
        #expect(texts(try shelf().items) == ["vase v", "stall 1x"])
        #expect(try db.query(Book.self).count() == 0)
        try db.delete([vase])
        try db.query(Stall.self).delete()
        #expect(try shelf().items.isEmpty && shelf(2).byName.isEmpty)
        #expect(try db.verify().isClean && db.verify().danglingReferences.isEmpty)
    }

    /// Row 1 of one table is not row 1 of another.
    @Test func onlyTheRemovedRowsTableIsMeant() throws {
        let (book, other) = (Book(title: "a"), Shelf(name: "z"))
        try db.save(other)
        try db.save(Shelf(name: "s", items: [book, other]))
        #expect(book.id == other.id)
        try db.delete(other)
        #expect(texts(try shelf(2).items) == ["book a"])
        #expect(try book.referencedCount() == 1)
    }

    @Test func statementsRemoveMembersToo() throws {
        try db.save(Shelf(name: "s", items: [Book(title: "a"), Vase(code: "v"), Book(title: "b")]))
        try db.rawQuery("DELETE FROM Book WHERE title = 'a'")
        #expect(texts(try shelf().items) == ["vase v", "book b"])
    }

    @Test func aRolledBackCollectionIsAsBefore() throws {
        struct Stop: Error {}
        let book = Book(title: "a")
        let made = Shelf(name: "s", items: [book])
        try db.save(made)
        #expect(throws: Stop.self) {
            try db.transaction { _ in
                made.items = [Vase(code: "v"), Book(title: "b")]
                try db.save(made)
                throw Stop()
            }
        }
        #expect(texts(made.items) == ["book a"])
        #expect(try db.query(Vase.self).count() == 0)
        let new = Book(title: "c")
        #expect(throws: Stop.self) {
            try db.transaction { _ in
                made.items.append(new)
                try db.save(made)
                try db.delete(book)
                throw Stop()
            }
        }
        made.items = [new, book]
        try db.save(made)
        #expect(texts(try shelf().items) == ["book c", "book a"])
        #expect(try db.query(Book.self).count() == 2)
    }

    @Test func deleteRulesApplyToTheOwners() throws {
        let db = try makeDatabase(Ruled.all)
        let (fuse, relic) = (Ruled.Fuse(name: "f"), Ruled.Relic(name: "r"))
        try db.save([
            Ruled.Crate(name: "both", content: [fuse, relic]), Ruled.Crate(name: "fuse", content: [fuse, fuse]),
            Ruled.Crate(name: "relic", content: [relic]),
        ])
        #expect(try fuse.crates.query().orderBy(\.name).fetch().map(\.name) == ["both", "fuse"])
        #expect(throws: MakoError.self) { try db.delete(relic) }
        try db.delete(fuse)
        #expect(try db.query(Ruled.Crate.self).fetch().map(\.name) == ["relic"])
        try db.query(Ruled.Crate.self).delete()
        try db.delete(relic)
        #expect(try db.query(Ruled.Relic.self).count() == 0)
    }

    // MARK: - Owners of an object

    /// The text `Book:12` begins with `Book:1`, and so would its entries in an index.
    @Test(arguments: ["query", "array", "statement", "drop"]) func idsThatBeginWithOthersAreOthers(
        way: String
    ) throws {
        let books = (1...12).map { Book(title: "\($0)") }
        try db.save(books)
        try db.save([Shelf(name: "12", items: [books[11]]), Shelf(name: "1", items: [books[0]])])
        #expect(try books[0].referencing(Shelf.self).map(\.name) == ["1"])
        #expect(try db.query(Shelf.self).referencing(books[0]).fetch().map(\.name) == ["1"])
        #expect(try books[11].referencedCount() == 1 && books[9].referencedCount() == 0)
        switch way {
        case "query": try db.query(Book.self).delete()
        case "array": try db.delete([books[0], books[11]])
        case "statement": try db.rawQuery("DELETE FROM Book")
        default: try db.drop(Book.self)
        }
        #expect(try db.query(Shelf.self).where("items.@count > 0").count() == 0)
    }

    @Test func deleteRulesKnowIdsThatBeginWithOthers() throws {
        let db = try makeDatabase(Ruled.all)
        let (fuses, relics) = ((1...12).map { Ruled.Fuse(name: "\($0)") }, (1...12).map { Ruled.Relic(name: "\($0)") })
        try db.save(fuses)
        try db.save(relics)
        try db.save(Ruled.Crate(name: "c", content: [fuses[11], relics[11]]))
        try db.delete(fuses[0])
        try db.delete(relics[0])
        #expect(try db.query(Ruled.Crate.self).count() == 1)
        #expect(throws: MakoError.self) { try db.delete(relics[11]) }
    }

    @Test func ownersOfAnObjectAreFound() throws {
        let (book, vase, stall) = (Book(title: "a"), Vase(code: "v"), Stall(row: 1, letter: "x"))
        try db.save([
            Shelf(name: "1", items: [book, book]), Shelf(name: "2", byName: ["x": vase]),
            Shelf(name: "3", items: [stall, book]), Shelf(name: "4", rows: [[], []]),
        ])
        #expect(try book.referencing(Shelf.self).map(\.name).sorted() == ["1", "3"])
        #expect(try book.referencedCount() == 2 && vase.referencedCount() == 1)
        #expect(try db.query(Shelf.self).referencing(stall).fetch().map(\.name) == ["3"])
        #expect(try db.query(Shelf.self).referencing(.null).fetch().map(\.name) == ["4"])
        #expect(try db.query(Shelf.self).referencing(Book(title: "new")).count() == 0)
        let third = try #require(try db.query(Shelf.self).where(\.name == "3").first())
        #expect(try db.query(Book.self).referenced(by: third).fetch().map(\.title) == ["a"])
        #expect(try db.query(Vase.self).referenced(by: third).count() == 0)
        try db.save(Book(title: "alone"))
        #expect(try db.query(Book.self).referenced(by: .null).fetch().map(\.title) == ["alone"])
        #expect(try book.shelves.query().orderBy(\.name).fetch().map(\.name) == ["1", "3"])
    }

    @Test func aToManyGivesAndTakesOwners() throws {
        let (book, made) = (Book(title: "a"), Shelf(name: "s", items: [Vase(code: "v")]))
        try db.save(made)
        try book.shelves.append(made)
        try db.save(book)
        #expect(texts(try shelf().items) == ["vase v", "book a"])
        #expect(try book.shelves.remove(made))
        try db.save(book)
        #expect(texts(try shelf().items) == ["vase v"])
    }

    @Test func conditionsCompareElements() throws {
        let (book, vase) = (Book(title: "a"), Vase(code: "v"))
        try db.save([
            Shelf(name: "1", items: [book, vase]), Shelf(name: "2", items: [vase], byName: ["x": book]),
            Shelf(name: "3", extras: [book]),
        ])
        func names(_ condition: Condition<Shelf>) throws -> [String] {
            try db.query(Shelf.self).where(condition).orderBy(\.name).fetch().map(\.name)
        }
        #expect(try names(.contains(\.items, book)) == ["1"] && names(.contains(\.items, vase)) == ["1", "2"])
        #expect(try names(.contains(\.byName, book)) == ["2"] && names(.contains(\.extras, book)) == ["3"])
        #expect(try names(!.contains(\.items, vase) && !.contains(\.extras, vase)) == ["3"])
        #expect(try names(.contains(\.items, Book(title: "new"))).isEmpty)
        #expect(try names(\.items.count == 2) == ["1"] && names(\.items.count == 0) == ["3"])
        let query = db.query(Shelf.self).orderBy(\.name)
        #expect(try query.where("ANY items = 'Book:1'").fetch().map(\.name) == ["1"])
        #expect(try query.where("NONE items LIKE 'Book:%'").fetch().map(\.name) == ["2", "3"])
        #expect(try query.where("items.@count > 1").fetch().map(\.name) == ["1"])
        for text in ["ANY items.title = 'a'", "items.@max.title = 'a'", "items.@max > 1"] {
            #expect {
                try query.where(text: text).fetch()
            } throws: { "\($0)".contains("refers to rows of any table") }
        }
    }

    // MARK: - Copies and forms

    @Test func aCopyInAnotherDatabaseHasCopiesOfTheMembers() throws {
        let made = Shelf(
            name: "s", items: [Book(title: "a"), Vase(code: "v")], byName: ["x": Stall(row: 1, letter: "x")])
        made.items.append(made)
        try db.save(made)
        let other = try makeDatabase(Mixed.all)
        try other.save(Book(title: "already there"))
        let copy = try other.insert(copyOf: try shelf())
        #expect(texts(copy.items) == ["book a", "vase v", "shelf s"] && copy.items[2] === copy)
        let read = try #require(try other.find(Shelf.self, 1))
        #expect(texts(read.items) == ["book a", "vase v", "shelf s"])
        #expect(read.byName.mapValues(Self.text) == ["x": "stall 1x"])
        #expect((read.items[0] as? Book)?.id == 2)
        let clone = try shelf().clone()
        try db.save(clone)
        #expect(texts(try shelf(2).items) == ["book a", "vase v", "shelf s"])
        #expect(try db.query(Book.self).count() == 1)
    }

    @Test func aDictionaryRoundTripsAndPrintsWhatIsLoaded() throws {
        let made = Shelf(name: "s", items: [Book(title: "a"), Vase(code: "v")])
        try db.save(made)
        let read = try shelf()
        #expect("\(read)".contains("items: not loaded"))
        let copy = try Shelf(made.asDictionary)
        copy.name = "other"
        try db.save(copy)
        #expect(try shelf().name == "other" && texts(shelf().items) == ["book a", "vase v"])
        #expect(read.items.count == 2)
        #expect("\(read)".contains("items: loaded ['Book:1', 'Vase:x"))
        #expect(texts(try Shelf(["items": [Book(title: "b")] as [any ObjectEntity]]).items) == ["book b"])
        #expect(throws: MakoError.self) { try Shelf(["items": 7]) }
        #expect(throws: MakoError.self) { try Shelf(["items": "no keys"]) }
    }

    @Test func changesHaveTheKeysOfTheObjects() throws {
        let (book, vase) = (Book(title: "a"), Vase(code: "v"))
        let made = Shelf(name: "s", items: [book, vase])
        try db.save(made)
        let keys = Collected<[Int]>()
        let names = Collected<[String]>()
        let token = try Shelf.onChange(.update, withValues: true, in: db) { change in
            names.append(change.changedProperties.sorted())
            keys.append([change.oldKeys(of: \.items)?.count ?? -1, change.newKeys(of: \.items)?.count ?? -1])
        }
        made.items = [vase]
        try db.save(made)
        #expect(names.all == [["items"]] && keys.all == [[2, 1]])
        token.cancel()
    }

    // MARK: - Subclasses

    @Test func aCollectionTakesObjectsOfSubclasses() throws {
        let db = try makeDatabase([Pupil.self, Prefect.self, Classroom.self])
        let (ada, ben) = (Pupil(name: "Ada"), Prefect())
        ben.name = "Ben"
        ben.badge = 3
        let rows = [[], [ada, ben]]
        try db.save(Classroom(name: "r", pupils: [ben, ada, ben], byDesk: [4: ben], rows: rows, teams: ["a": [ben]]))
        let read = try #require(try db.query(Classroom.self).prefetch(\.pupils).first())
        #expect(read.pupils.map(\.name) == ["Ben", "Ada", "Ben"])
        #expect((read.pupils[0] as? Prefect)?.badge == 3 && !(read.pupils[1] is Prefect))
        #expect((read.byDesk[4] as? Prefect) === read.pupils[0])
        #expect(try ben.referencing(Classroom.self).count == 1)
        #expect(throws: MakoError.self) {
            try db.query(Classroom.self).where(.any(\.pupils, \.name == "Ada")).fetch()
        }
        #expect(read.rows.map { $0.map(\.name) } == [[], ["Ada", "Ben"]] && read.teams["a"]?.first is Prefect)
        try db.delete(ben)
        let left = try #require(try db.query(Classroom.self).first())
        #expect(left.pupils.map(\.name) == ["Ada"] && left.rows.map(\.count) == [0, 1])
    }
}
