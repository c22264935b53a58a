import Mako
import TestHelpers
import Testing

@Entity class Creature {
    var name = ""
    @Relationship(inverse: \Toy.owner) var toys: ToMany<Toy>
}

@Entity final class Hound: Creature {
    var tricks = 0
}

@Entity final class Toy {
    var label = ""
    @Relationship(.subclasses) var owner: Creature?
    @Relationship(.weak, .subclasses) var lastSeenWith: Creature?
}

@Entity final class Bowl {
    var owner: Creature?
    var guests: [Creature] = []
}

private let creatures: [any Entity.Type] = [Creature.self, Hound.self, Toy.self, Bowl.self]

@Suite struct SubclassReferenceTests {
    let db: Database

    init() throws { db = try makeDatabase(creatures) }

    @Test func objectsComeBackAsWhatTheyWere() throws {
        let (rex, tom) = (Hound(), Creature(name: "Tom"))
        rex.name = "Rex"
        rex.tricks = 3
        try db.save([Toy(label: "ball", owner: rex), Toy(label: "mouse", owner: tom), Toy(label: "none")])
        let toys = try db.query(Toy.self).orderBy(\.id).fetch()
        let owner = try #require(toys[0].owner as? Hound)
        #expect(owner.name == "Rex" && owner.tricks == 3)
        #expect(toys[1].owner?.name == "Tom" && !(toys[1].owner is Hound))
        #expect(toys[2].owner == nil && toys[2].loadError == nil)
        #expect(try toys[0].load(\.owner) === owner)
        // Row 1 of either table: the two are distinguished.
        #expect(owner.id == toys[1].owner?.id)
        toys[1].owner = owner
        try db.save(toys[1])
        #expect(try db.find(Toy.self, 2)?.owner is Hound)
        toys[1].owner = nil
        try db.save(toys[1])
        #expect(try db.find(Toy.self, 2)?.owner == nil)
    }

    @Test func conditionsCompareWithObjects() throws {
        let (rex, tom) = (Hound(), Creature(name: "Tom"))
        try db.save([Toy(label: "ball", owner: rex), Toy(label: "mouse", owner: tom), Toy(label: "none")])
        func labels(_ condition: Condition<Toy>) throws -> [String] {
            try db.query(Toy.self).where(condition).orderBy(\.id).fetch().map(\.label)
        }
        #expect(try labels(\.owner == rex) == ["ball"] && labels(\.owner == tom) == ["mouse"])
        #expect(try labels(\.owner == nil) == ["none"] && labels(\.owner != nil) == ["ball", "mouse"])
        #expect(try labels(\.owner != rex) == ["mouse", "none"])
        #expect(try labels(\.owner == Hound()).isEmpty)
        #expect(try db.query(Toy.self).referencing(rex).count() == 1)
        #expect(try rex.referencedCount() == 1)
        #expect(try db.query(Creature.self).referenced(by: try #require(try db.find(Toy.self, 2))).count() == 1)
        // No path leads on: the error lists the columns.
        #expect(throws: MakoError.self) { try labels(\.owner.name == "Tom") }
        try db.update(Toy.self).set(\.owner, to: rex).where(\.label == "none").run()
        #expect(try labels(\.owner == rex) == ["ball", "none"])
    }

    @Test func theOtherSideHasThoseOfItsOwn() throws {
        let (rex, tom) = (Hound(), Creature(name: "Tom"))
        try db.save([Toy(label: "ball", owner: rex), Toy(label: "mouse", owner: tom)])
        #expect(try rex.toys.load().map(\.label) == ["ball"])
        #expect(try tom.toys.load().map(\.label) == ["mouse"])
        #expect(try db.query(Creature.self).prefetch(\.toys).fetch().map { try $0.toys.count } == [1])
    }

    @Test func aRemovedOwnerIsANullReference() throws {
        let (rex, tom) = (Hound(), Creature(name: "Tom"))
        try db.save([Toy(label: "ball", owner: rex), Toy(label: "mouse", owner: tom)])
        try db.delete(rex)
        let toys = try db.query(Toy.self).orderBy(\.id).fetch()
        #expect(toys[0].owner == nil && toys[1].owner?.name == "Tom")
        #expect(try db.verify().isClean)
    }

    @Test func theyArePrefetchedTogether() throws {
        let hounds = (1...20).map { _ in Hound() }
        try db.save(hounds.map { Toy(label: "ball", owner: $0) } + [Toy(label: "mouse", owner: Creature(name: "Tom"))])
        let toys = try db.query(Toy.self).prefetch(\.owner).fetch()
        let loads = db.metrics.lazyLoads
        #expect(toys.compactMap { $0.owner as? Hound }.count == 20 && toys.last?.owner?.name == "Tom")
        #expect(db.metrics.lazyLoads == loads)
    }

    @Test func weakOnesAreNotCommittedAlong() throws {
        let toy = Toy(label: "ball")
        let rex = Hound()
        toy.lastSeenWith = rex
        try db.save(toy)
        #expect(try db.query(Hound.self).count() == 0)
        try db.save(rex)
        try db.save(toy)
        #expect(try db.find(Toy.self, 1)?.lastSeenWith is Hound)
    }

    @Test func aClassThatIsNotInUseIsNamed() throws {
        try withTemporaryFile { path in
            let db = try Database(at: path, entities: creatures)
            try db.save(Toy(label: "ball", owner: Hound()))
            try db.close()
            let again = try Database(at: path, entities: [Toy.self])
            let toy = try #require(try again.find(Toy.self, 1))
            #expect(toy.owner == nil)
            #expect(throws: MakoError.self) { try toy.load(\.owner) }
            #expect("\(toy.loadError.map { "\($0)" } ?? "")".contains("Hound"))
            // It is not lost for that.
            toy.label = "red ball"
            try again.save(toy)
            _ = try again.query(Hound.self).count()
            #expect(try again.find(Toy.self, 1)?.owner is Hound)
            try again.close()
        }
    }

    @Test func withoutTheOptionTheErrorSaysWhatToDo() throws {
        let bowl = Bowl()
        bowl.owner = Hound()
        let error = #expect(throws: MakoError.self) { try db.save(bowl) }
        #expect("\(error.map { "\($0)" } ?? "")".contains("@Relationship(.subclasses)"))
        #expect(try db.query(Bowl.self).count() == 0 && db.query(Hound.self).count() == 0)
        let many = Bowl()
        many.guests = [Creature(name: "Tom"), Hound()]
        #expect(throws: MakoError.self) { try db.save(many) }
        #expect(try db.query(Creature.self).count() == 0)
    }

    @Test func watchersGetTheKey() throws {
        let (rex, tom) = (Hound(), Creature(name: "Tom"))
        let toy = Toy(label: "ball", owner: tom)
        try db.save(rex)
        try db.save(toy)
        let seen = Collected<ObjectChange<Toy>>()
        let token = try Toy.onChange(withValues: true, in: db) { seen.append($0) }
        defer { token.cancel() }
        toy.owner = rex
        try db.save(toy)
        #expect(seen.all.first?.oldValue(of: \.owner) == .rowID(1))
        #expect(seen.all.first?.newValue(of: "owner") == .text("Hound:1"))
    }
}
