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

    /// Who is saved first knows the key that the other is about to get.
    @Test func aChildSavedAlongRefersToItsParent() throws {
        let nest = Nest(place: "oak")
        nest.birds = [Bird(name: "wren", nest: nest), Bird(name: "robin", nest: nest)]
        try db.save(nest)
        let birds = try db.query(Bird.self).fetch()
        #expect(birds.map { $0.nest?.place } == ["oak", "oak"])
        #expect(try db.query(Bird.self).where("nest IS NULL").count() == 0)
    }

    @Test func whoIsHeldElsewhereIsTheSameObject() throws {
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

    @Test func whatNobodyHoldsIsReadFromTheFileAgain() throws {
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
        #expect(bird.nest == nil)
        try db.save(bird)
        // Not the number that was rolled back, which somebody may have one day.
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
