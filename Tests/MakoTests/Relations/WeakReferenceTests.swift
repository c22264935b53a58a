import Mako
import Testing

@Entity final class Nest {
    var place = ""
    var birds: [Bird] = []
}

@Entity final class Bird {
    var name = ""
    @Relationship(.weak) var nest: Nest?
}

@Entity class Perch {
    var height = 0
}

@Entity final class Branch: Perch {
    var tree = ""
}

@Entity final class Ringing {
    var number = 0
    @Relationship(.weak) var subject: (any ObjectEntity)?
    @Relationship(.weak, .subclasses) var perch: Perch?
}

/// A `.weak` reference does not keep its object alive, and loses nothing that is in the file.
@Suite struct WeakReferenceTests {
    private let db: Database

    init() throws { db = try Database.inMemory(entities: [Nest.self, Bird.self]) }

    @Test func objectsThatReferToEachOtherDoNotHoldEachOther() throws {
        weak var nest: Nest?
        weak var bird: Bird?
        do {
            let owner = Nest(place: "oak")
            let child = Bird(name: "wren", nest: owner)
            owner.birds = [child]
            try db.save(owner)
            (nest, bird) = (owner, child)
        }
        #expect(nest == nil)
        #expect(bird == nil)
    }

    /// The object that is saved first refers to the key that the other is about to get.
    @Test func aChildSavedAlongRefersToItsParent() throws {
        let nest = Nest(place: "oak")
        nest.birds = [Bird(name: "wren", nest: nest), Bird(name: "robin", nest: nest)]
        try db.save(nest)
        let birds = try db.query(Bird.self).fetch()
        #expect(birds.map { $0.nest?.place } == ["oak", "oak"])
        #expect(try db.query(Bird.self).where("nest IS NULL").count() == 0)
    }

    @Test func thoseToAnyObjectAreWeakToo() throws {
        let db = try Database.inMemory(entities: [Ringing.self, Nest.self, Branch.self])
        weak var nest: Nest?
        weak var branch: Branch?
        let ringing = Ringing(number: 1)
        do {
            let (built, grown) = (Nest(place: "oak"), Branch(tree: "elm"))
            (ringing.subject, ringing.perch) = (built, grown)
            (nest, branch) = (built, grown)
            // They have no rows, and nothing else leads to them.
            #expect(ringing.subject === built && ringing.perch === grown)
            try db.save(ringing)
            #expect(try db.query(Nest.self).count() == 0)
            let branches = try db.query(Branch.self).count()
            #expect(branches == 0)
            #expect(try db.query(Ringing.self).where("subject IS NULL AND perch IS NULL").count() == 1)
        }
        // After the save of the owner the objects without rows are released, because nothing else holds them.
        #expect(nest == nil && branch == nil)
        #expect(ringing.subject == nil && ringing.perch == nil)
        do {
            let (built, grown) = try (Nest(place: "oak"), Branch(["tree": "elm", "height": 3]))
            try db.save(built)
            try db.save(grown)
            (ringing.subject, ringing.perch) = (built, grown)
            try db.save(ringing)
            (nest, branch) = (built, grown)
            #expect(ringing.subject === built && ringing.perch === grown)
        }
        #expect(nest == nil && branch == nil)
        #expect((ringing.subject as? Nest)?.place == "oak")
        #expect((ringing.perch as? Branch)?.tree == "elm" && ringing.perch?.height == 3)
        let before = db.metrics.lazyLoads
        #expect((ringing.subject as? Nest)?.place == "oak")
        #expect(db.metrics.lazyLoads == before + 1)
        let read = try #require(try db.find(Ringing.self, 1))
        let loaded = try #require(read.subject)
        #expect(read.subject === loaded)
        ringing.number = 2
        try db.save(ringing)
        #expect((try db.find(Ringing.self, 1)?.subject as? Nest)?.place == "oak")
        try db.query(Nest.self).delete()
        #expect(ringing.subject == nil)
        #expect(throws: MakoError.self) {
            try db.transaction { tx in
                let another = Branch(tree: "ash")
                try db.save(another)
                ringing.perch = another
                try db.save(ringing)
                try tx.rollback()
            }
        }
        #expect((ringing.perch as? Branch)?.tree == "elm")
    }

    @Test func anObjectHeldElsewhereIsTheSameInstance() throws {
        let nest = Nest(place: "oak")
        try db.save(nest)
        let bird = Bird(name: "wren", nest: nest)
        try db.save(bird)
        #expect(bird.nest === nest)
        let read = try #require(try db.find(Bird.self, bird.id ?? 0))
        let loaded = try #require(read.nest)
        #expect(loaded.place == "oak")
        #expect(read.nest === loaded)
    }

    @Test func aReleasedObjectIsReadFromTheFileAgain() throws {
        let bird = Bird(name: "wren")
        do {
            let nest = Nest(place: "oak")
            try db.save(nest)
            bird.nest = nest
            try db.save(bird)
        }
        #expect(bird.nest?.place == "oak")
        let before = db.metrics.lazyLoads
        #expect(bird.nest?.place == "oak")
        #expect(db.metrics.lazyLoads == before + 1)
        try db.query(Nest.self).update().set(\.place, to: "elm").run()
        #expect(bird.nest?.place == "elm")
        bird.name = "robin"
        try db.save(bird)
        #expect(try db.find(Bird.self, bird.id ?? 0)?.nest?.place == "elm")
        try db.query(Nest.self).delete()
        #expect(bird.nest == nil)
    }

    @Test func whatHasNoRowIsHeldUntilItsOwnerIsSaved() throws {
        let bird = Bird(name: "wren")
        weak var nest: Nest?
        do {
            let built = Nest(place: "oak")
            nest = built
            bird.nest = built
        }
        #expect(bird.nest?.place == "oak")
        try db.save(try #require(bird.nest))
        try db.save(bird)
        #expect(nest == nil)
        #expect(try db.find(Bird.self, bird.id ?? 0)?.nest?.place == "oak")
    }

    @Test func whatWasSavedAfterItWasSetIsStored() throws {
        let bird = Bird(name: "wren")
        do {
            let nest = Nest(place: "oak")
            bird.nest = nest
            try db.save(nest)
        }
        #expect(bird.nest?.place == "oak")
        try db.save(bird)
        #expect(try db.find(Bird.self, bird.id ?? 0)?.nest?.place == "oak")
    }

    @Test func aKeyThatWasRolledBackIsNotKept() throws {
        let bird = Bird(name: "wren")
        do {
            let nest = Nest(place: "oak")
            bird.nest = nest
            #expect(throws: MakoError.self) {
                try db.transaction { tx in
                    try db.save(nest)
                    try db.save(bird)
                    try tx.rollback()
                }
            }
        }
        // Nothing else leads to it.
        #expect(bird.nest?.place == "oak" && bird.nest?.id == nil)
        try db.save(bird)
        // Not the number that was rolled back, which another row may get one day.
        #expect(try db.query(Bird.self).where("nest IS NULL").count() == 1)
        #expect(try db.find(Bird.self, bird.id ?? 0)?.nest == nil)
    }

    @Test func aReferenceThatWasRolledBackIsTheOneBefore() throws {
        let oak = Nest(place: "oak")
        let elm = Nest(place: "elm")
        try db.save([oak, elm])
        let bird = Bird(name: "wren", nest: oak)
        try db.save(bird)
        #expect(throws: MakoError.self) {
            try db.transaction { tx in
                bird.nest = elm
                try db.save(bird)
                try tx.rollback()
            }
        }
        #expect(bird.nest === oak)
    }
}
