import Foundation
import Mako
import TestHelpers
import Testing

enum Winterfell {
    @Entity struct Wolf: Hashable {
        @Attribute(.primaryKey) var name: String
        var weight = 0.0
    }

    @Entity struct Stark {
        @Attribute(.primaryKey) var name: String
        var age = 0
        var wolf: Wolf?
        var siblings: [Stark] = []
    }

    /// All forms in one.
    @Entity struct Kennel {
        var name = ""
        var list: [Wolf] = []
        var maybe: [Wolf]?
        var pack: Set<Wolf> = []
        var maybePack: Set<Wolf>?
        var byPlace: [String: Wolf] = [:]
        var maybeByPlace: [Int: Wolf]?
        var litters: [[Wolf]] = []
        var byYear: [Int: [Wolf]] = [:]
        var rounds: [[String: Wolf]] = []
    }

    @Entity struct Branch {
        var title = ""
        var twigs: [Branch] = []
    }

    @Entity struct Note: Codable {
        var text = ""
    }

    @Entity struct Board {
        var name = ""
        var notes: [Note] = []
        @Attribute(.serialized) var copies: [Note] = []
    }
}

/// Collections of structs with rows of their own, in structs.
@Suite struct ValueCollectionTests {
    private typealias Wolf = Winterfell.Wolf
    private typealias Stark = Winterfell.Stark
    private typealias Kennel = Winterfell.Kennel
    private typealias Branch = Winterfell.Branch
    private let db: Database

    init() throws { db = try makeDatabase([Stark.self, Kennel.self, Branch.self, Winterfell.Board.self]) }

    private func wolves(_ names: String...) -> [Wolf] { names.map { Wolf(name: $0, weight: Double($0.utf8.count)) } }

    private func family() -> Stark {
        Stark(
            name: "Arya", age: 9, wolf: Wolf(name: "Nymeria"),
            siblings: [
                Stark(name: "Sansa", age: 13, wolf: Wolf(name: "Lady")), Stark(name: "Bran", age: 8),
            ])
    }

    @Test func aStarkHasAWolfAndSiblings() throws {
        var arya = family()
        try db.save(&arya)
        #expect(try db.query(Stark.self).count() == 3 && db.query(Wolf.self).count() == 2)
        let loads = db.metrics.lazyLoads
        let read = try #require(try db.find(Stark.self, "Arya"))
        #expect(read.wolf?.name == "Nymeria" && read.siblings.map(\.name) == ["Sansa", "Bran"])
        #expect(read.siblings[0].wolf?.name == "Lady" && read.siblings[0].age == 13)
        #expect(db.metrics.lazyLoads == loads)
        let all = try db.query(Stark.self).orderBy(\.name).fetch()
        #expect(all.map(\.siblings.count) == [2, 0, 0])
        // Once by their key: what was changed elsewhere is read here.
        try db.query(Stark.self).where(\.name == "Bran").update().set(\.age, to: 10).run()
        #expect(try db.find(Stark.self, "Arya")?.siblings.map(\.age) == [13, 10])
    }

    @Test func everyFormComesBack() throws {
        let all = wolves("Ghost", "Lady", "Summer")
        var kennel = Kennel(name: "full")
        kennel.list = [all[2], all[0], all[2]]
        kennel.maybe = []
        kennel.pack = Set(all)
        kennel.maybePack = [all[1]]
        kennel.byPlace = ["wall": all[0], "": all[1]]
        kennel.maybeByPlace = [-7: all[2]]
        kennel.litters = [[all[0]], [], [all[1], all[2]]]
        kennel.byYear = [298: [all[0], all[0]], Int.min: []]
        kennel.rounds = [["first": all[1]], [:]]
        var empty = Kennel(name: "empty")
        try db.save(&kennel)
        try db.save(&empty)
        #expect(try db.query(Wolf.self).count() == 3)
        let read = try #require(try db.find(Kennel.self, 1))
        #expect(read.list.map(\.name) == ["Summer", "Ghost", "Summer"])
        #expect(try #require(read.maybe).isEmpty && read.pack.map(\.name).sorted() == ["Ghost", "Lady", "Summer"])
        #expect(read.maybePack?.map(\.name) == ["Lady"])
        #expect(read.byPlace.mapValues(\.name) == ["wall": "Ghost", "": "Lady"])
        #expect(read.maybeByPlace?.mapValues(\.name) == [-7: "Summer"])
        #expect(read.litters.map { $0.map(\.name) } == [["Ghost"], [], ["Lady", "Summer"]])
        #expect(read.byYear.mapValues { $0.map(\.name) } == [298: ["Ghost", "Ghost"], Int.min: []])
        #expect(read.rounds.map { $0.mapValues(\.name) } == [["first": "Lady"], [:]])
        let none = try #require(try db.find(Kennel.self, 2))
        #expect(none.list.isEmpty && none.maybe == nil && none.maybePack == nil && none.maybeByPlace == nil)
    }

    @Test func nestedStructsGetTheirIdsInPlace() throws {
        var root = Branch(title: "root", twigs: [Branch(title: "a", twigs: [Branch(title: "b")]), Branch(title: "c")])
        try db.save(&root)
        #expect(root.twigs.map(\.id) == [2, 3] && root.twigs[0].twigs[0].id == 1 && root.id == 4)
        root.twigs[0].twigs[0].title = "changed"
        root.twigs.removeLast()
        try root.commit()
        let read = try #require(try db.find(Branch.self, 4))
        #expect(read.twigs.map(\.title) == ["a"] && read.twigs[0].twigs.map(\.title) == ["changed"])
        #expect(try db.query(Branch.self).count() == 4)
    }

    @Test func conditionsLookInside() throws {
        try db.save([family(), Stark(name: "Robb", age: 16, siblings: [Stark(name: "Rickon", age: 3)])])
        func names(_ query: Query<Stark>) throws -> [String] { try query.orderBy(\.name).fetch().map(\.name) }
        let all = db.query(Stark.self)
        #expect(try names(all.where("ANY siblings.age > 10")) == ["Arya"])
        #expect(try names(all.where("ANY siblings.wolf.name = 'Lady'")) == ["Arya"])
        #expect(try names(all.where(.any(\.siblings, \.age < 5))) == ["Robb"])
        #expect(try names(all.where(.none(\.siblings, \.age < 5) && \.age > 9)) == ["Sansa"])
        #expect(try names(all.where(.all(\.siblings, \.age > 7) && \.siblings.count > 0)) == ["Arya"])
        #expect(try names(all.where(\.siblings.count == 1)) == ["Robb"])
        let sansa = try #require(try db.find(Stark.self, "Sansa"))
        let holding = all.referencing(sansa)
        #expect(try names(holding) == ["Arya"])
        #expect(try names(all.referencing(Wolf(name: "Lady"))) == ["Sansa"])
        #expect(throws: MakoError.self) { try db.query(Wolf.self).referencing(sansa).fetch() }
    }

    @Test func aRemovedRowLeavesEveryCollection() throws {
        var kennel = Kennel(name: "one", list: wolves("Ghost", "Lady", "Ghost"), byPlace: ["x": Wolf(name: "Ghost")])
        try db.save(&kennel)
        try db.query(Wolf.self).where(\.name == "Ghost").delete()
        let read = try #require(try db.find(Kennel.self, 1))
        #expect(read.list.map(\.name) == ["Lady"] && read.byPlace.isEmpty)
    }

    @Test func theyAreOfTheMomentOfTheirRow() throws {
        try db.save([family()])
        let cursor = try db.query(Stark.self).where(\.name == "Arya").cursor()
        try db.query(Stark.self).update().set(\.age, to: 99).run()
        try db.query(Wolf.self).delete()
        let arya = try #require(try cursor.next())
        #expect(arya.siblings.map(\.age) == [13, 8] && arya.siblings[0].wolf?.name == "Lady")
    }

    @Test func noStructHoldsItself() throws {
        var arya = family()
        try db.save(&arya)
        var sansa = try #require(try db.find(Stark.self, "Sansa"))
        sansa.siblings = [Stark(name: "Jon", siblings: [arya])]
        let error = #expect(throws: MakoError.self) { try db.save(&sansa) }
        guard case .unstorableValue("Stark", _, "siblings", _) = try #require(error) else {
            Issue.record("\(String(describing: error))")
            return
        }
        // Nothing of it was written.
        #expect(try db.find(Stark.self, "Jon") == nil)
        #expect(try db.find(Stark.self, "Sansa")?.siblings.isEmpty == true)
        sansa.siblings = [Stark(name: "Sansa")]
        #expect(throws: MakoError.self) { try db.save(&sansa) }
    }

    @Test func tooManyLevelsAreRefusedOnSaving() throws {
        func chain(_ levels: Int) -> Branch {
            (1..<levels).reduce(Branch(title: "1")) { held, level in Branch(title: "\(level + 1)", twigs: [held]) }
        }
        var deepest = chain(100)
        try db.save(&deepest)
        var branch = try #require(try db.find(Branch.self, 100))
        var levels = 1
        while let next = branch.twigs.first { (branch, levels) = (next, levels + 1) }
        #expect(levels == 100)
        var deeper = chain(101)
        #expect(throws: MakoError.self) { try db.save(&deeper) }
        // A row that comes to hold a longer one later is refused with its name.
        var top = Branch(title: "top", twigs: [Branch(title: "between")])
        try db.save(&top)
        let between = try #require(top.twigs[0].id)
        var longer = Branch(title: "longer", twigs: [chain(99)])
        longer._$rowNumber = Int64(between)
        try db.save(&longer)
        let error = #expect(throws: MakoError.self) { try db.query(Branch.self).where(\.title == "top").fetch() }
        #expect("\(try #require(error))".contains("100 levels"))
        try db.query(Branch.self).where(\.title == "longer").delete()
        #expect(try db.query(Branch.self).where(\.title == "top").first()?.twigs.isEmpty == true)
    }

    @Test func whatIsNotSavedLeavesNothing() throws {
        let other = try makeDatabase([Stark.self])
        var arya = family()
        try db.save(&arya)
        #expect(throws: MakoError.foreignObject(entity: "Stark")) {
            try other.save([Stark(name: "Jon", siblings: [Stark(name: "Robb")] + arya.siblings)])
        }
        #expect(try other.query(Stark.self).count() == 0)
    }

    @Test func watchersKnowTheKeys() throws {
        let keys = Collected<[RowKey]?>()
        let token = try Stark.onChange(.update, withValues: true, in: db) { change in
            keys.append(change.newKeys(of: \.siblings))
        }
        var arya = family()
        try db.save(&arya)
        arya.siblings.removeFirst()
        try db.save(&arya)
        #expect(keys.all.count == 1 && keys.all[0]?.count == 1)
        withExtendedLifetime(token) {}
    }

    /// A struct that is `Codable`, too, has rows of its own there, unless it is marked as a value.
    @Test func codableOnesAreRowsUnlessSerialized() throws {
        var board = Winterfell.Board(name: "kitchen", notes: [.init(text: "bread")], copies: [.init(text: "milk")])
        try db.save(&board)
        #expect(try db.query(Winterfell.Note.self).fetch().map(\.text) == ["bread"])
        let read = try #require(try db.find(Winterfell.Board.self, 1))
        #expect(read.notes.map(\.text) == ["bread"] && read.copies.map(\.text) == ["milk"])
    }

    @Test func dictionariesAndDescriptionsHaveTheKeys() throws {
        var kennel = Kennel(name: "one", list: wolves("Ghost"))
        try db.save(&kennel)
        #expect("\(kennel)".contains("list: loaded ['Ghost']"))
        #expect("\(kennel)".contains("maybe: nil"))
        let copy = try Database.withDefault(db) { try Kennel(kennel.asDictionary) }
        #expect(copy.list.map(\.weight) == [5] && copy.maybe == nil && copy.id == kennel.id)
    }
}

private enum StarksBefore {
    @Entity struct Wolf {
        @Attribute(.primaryKey) var name: String
    }
    @Entity struct Stark {
        @Attribute(.primaryKey) var name: String
        var wolf: Wolf?
        var siblings: [Stark] = []
    }
}

private enum StarksAfter {
    @Entity struct Wolf {
        @Attribute(.primaryKey) var name: String
    }
    @Entity struct Stark {
        @Attribute(.primaryKey) var name: String
        @Attribute(.originalName("siblings")) var family: [Stark] = []
        @Attribute(.originalName("wolf")) var wolves: [Wolf] = []
        var byPlace: [String: Wolf]?
    }
}

extension ValueCollectionTests {
    @Test func collectionsAreAddedRenamedAndMadeOfOne() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [StarksBefore.Stark.self])
            let bran = StarksBefore.Stark(name: "Bran")
            try db.save([StarksBefore.Stark(name: "Arya", wolf: StarksBefore.Wolf(name: "Nymeria"), siblings: [bran])])
            try db.close()
            db = try Database(at: path, entities: [StarksAfter.Stark.self])
            var arya = try #require(try db.find(StarksAfter.Stark.self, "Arya"))
            #expect(arya.family.map(\.name) == ["Bran"] && arya.wolves.map(\.name) == ["Nymeria"])
            #expect(arya.byPlace == nil)
            arya.wolves.append(StarksAfter.Wolf(name: "Ghost"))
            try db.save(&arya)
            #expect(try db.query(StarksAfter.Stark.self).where("ANY wolves.name = 'Ghost'").count() == 1)
            try db.close()
        }
    }
}
