import Mako
import Testing

@Suite struct CopiedObjectTests {
    @Test func anObjectIsCopiedWithWhatItRefersTo() async throws {
        let (old, new) = (try makeDatabase(), try makeDatabase())
        try await new.save(Department(name: "Another"))
        let department = Department(name: "Engines", location: Location(name: "Oslo"))
        try await old.save(Person(name: "Ada", age: 36, department: department, nicknames: ["Countess"]))
        let ada = try #require(try await old.find(Person.self, 1))
        ada.age = 37
        let copy = try await new.insert(copyOf: ada)
        #expect(copy !== ada && copy.department !== ada.department)
        let read = try #require(try await new.query(Person.self).first())
        #expect(read.name == "Ada" && read.age == 37 && read.nicknames == ["Countess"])
        #expect(read.department?.id == 2 && read.department?.location?.name == "Oslo")
        // The original is what it was, where it was.
        #expect(ada.department?.id == 1)
        ada.age = 38
        try await old.save(ada)
        #expect(try await old.query(Person.self).count() == 1)
        #expect(try await new.query(Person.self).first()?.age == 37)
        // A second one is a second row.
        try new.insertTwice(ada)
        #expect(try await new.query(Person.self).count() == 3)
    }

    /// A copy in the same database refers to the same structs, which it does not store again.
    @Test func structsStayAsTheyAre() throws {
        let db = try makeDatabase([Holding.Bear.self, Holding.Lake.self, Holding.Den.self])
        let bear = Holding.Bear(name: "Bo", lake: Holding.Lake(name: "one"), swims: [Holding.Lake(name: "two")])
        try db.save(bear)
        #expect(bear.lake?.name == "one" && bear.swims.map(\.name) == ["two"])
        try db.update(Holding.Lake.self).set(\.depth, to: 9).run()
        let copy = try db.insert(copyOf: bear)
        #expect(copy.id == 2)
        #expect(try db.query(Holding.Lake.self).fetch().map(\.depth) == [9, 9])
        let read = try #require(try db.find(Holding.Bear.self, 2))
        #expect(read.lake?.name == "one" && read.swims.map(\.name) == ["two"])
    }

    @Test func circlesCollectionsAndKeysAreKept() throws {
        let entities: [any Entity.Type] = [Playlist.self, Tune.self, Ticket.self]
        let (old, new) = (try makeDatabase(entities), try makeDatabase(entities))
        let songs = (1...3).map { Tune(title: "song \($0)") }
        songs[0].remix = songs[1]
        songs[1].remix = songs[0]
        let list = Playlist(name: "mine", songs: [songs[2], songs[0], songs[2]])
        list.byMood = ["calm": songs[1]]
        list.sides = [[songs[0]], []]
        try old.save(list)
        let copy = try new.insert(copyOf: try #require(try old.find(Playlist.self, 1)))
        #expect(copy.songs.map(\.title) == ["song 3", "song 1", "song 3"])
        let read = try #require(try new.find(Playlist.self, 1))
        #expect(read.songs.map(\.title) == ["song 3", "song 1", "song 3"])
        #expect(read.byMood["calm"]?.remix?.title == "song 1" && read.sides.map(\.count) == [1, 0])
        #expect(try new.query(Tune.self).count() == 3)
        // Keys of their own stay.
        let ticket = Ticket(code: "a")
        ticket.wearers = [ticket]
        try old.save(ticket)
        try new.insert(copyOf: ticket)
        #expect(try new.find(Ticket.self, "a")?.wearers.map(\.code) == ["a"])
        #expect(throws: MakoError.self) { try new.insert(copyOf: ticket) }
        #expect(try new.query(Ticket.self).count() == 1)
        #expect(try new.verify().isClean)
    }

    @Test func subclassesAndWeakReferencesAreWhatTheyAre() throws {
        let entities: [any Entity.Type] = [Creature.self, Hound.self, Toy.self]
        let (old, new) = (try makeDatabase(entities), try makeDatabase(entities))
        let rex = Hound()
        rex.tricks = 3
        try old.save(rex)
        let toy = Toy(label: "ball", owner: rex)
        toy.lastSeenWith = rex
        try old.save(toy)
        let superclass: Creature = rex
        #expect(try new.insert(copyOf: superclass) is Hound)
        try new.insert(copyOf: try #require(try old.find(Toy.self, 1)))
        let read = try #require(try new.find(Toy.self, 1))
        #expect((read.owner as? Hound)?.tricks == 3 && read.lastSeenWith == nil)
        #expect(toy.lastSeenWith === rex)
    }

    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption"))
    func whatIsEncryptedOrLeftInTheRowComesAlong() throws {
        func open(_ number: UInt8) throws -> Database {
            try Database.inMemory(
                entities: [Ward.Patient.self],
                options: DatabaseOptions(propertyKey: .key([UInt8](repeating: number, count: 32))))
        }
        let (old, new) = (try open(1), try open(2))
        let patient = Ward.Patient(name: "Ada", diagnosis: "influenza")
        patient.notes = "a duck"
        try old.save(patient)
        let read = try #require(try old.find(Ward.Patient.self, 1))
        #expect(read.notes == nil)
        try new.insert(copyOf: read)
        let copy = try #require(try new.find(Ward.Patient.self, 1))
        try new.refresh(copy)
        #expect(copy.diagnosis == "influenza" && copy.notes == "a duck")
    }

    @Test func whatCannotBeReadIsNotCopiedByHalf() throws {
        let (old, new) = (try makeDatabase(), try makeDatabase())
        try old.save(Person(name: "Ada", department: Department(name: "Engines")))
        let ada = try #require(try old.find(Person.self, 1))
        try old.close()
        #expect(throws: MakoError.self) { try new.insert(copyOf: ada) }
        #expect(try new.query(Person.self).count() == 0 && new.query(Department.self).count() == 0)
    }
}

extension Database {
    fileprivate func insertTwice(_ person: Person) throws {
        try insert(copyOf: person)
        try insert(copyOf: person)
    }
}
