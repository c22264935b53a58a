import Foundation
import Mako
import Testing

@Entity final class Track {
    @Attribute(.identity) var artist: String?
    @Attribute(.identity) var title: String?
    @Attribute(.writeOnce) var added = 0
    @Attribute(.keepWhenNil) var rating: Int?
    @Attribute(.keepWhenNil) var note: String?
    var plays = 0
}

@Entity final class Album {
    var name = ""
}

@Entity final class Song {
    @Attribute(.identity) var title: String = ""
    var album: Album?
}

@Entity final class Device {
    @Attribute(.primaryKey) var serial: String = ""
    @Attribute(.writeOnce) var firstSeen = 0
    @Attribute(.keepWhenNil) var owner: String?
    var lastSeen = 0
}

@Entity struct Spot {
    @Attribute(.primaryKey) var code: String
    @Attribute(.writeOnce) var opened = 0
    @Attribute(.keepWhenNil) var name: String?
}

@Entity struct Place {
    @Attribute(.identity) var code: String
    var visits = 0
}

@Suite struct UpsertTests {
    private let db: Database

    init() throws { db = try makeDatabase([Track.self, Device.self, Spot.self, Place.self]) }

    @Test func anIdentityFindsTheRow() throws {
        let first = Track(artist: "Ada", title: "Engine", added: 1, rating: 5, plays: 1)
        try db.save(first)
        let second = Track(artist: "Ada", title: "Engine", added: 2, plays: 7)
        try db.save(second)
        #expect(second.id == first.id)
        #expect(try db.query(Track.self).count() == 1)
        let read = try #require(try db.find(Track.self, 1))
        #expect(read.added == 1 && read.rating == 5 && read.plays == 7)
        // One of the two differing is another identity.
        try db.save(Track(artist: "Ada", title: "Loom"))
        #expect(try db.query(Track.self).count() == 2)
        // A row of one's own may change its identity, but not to another's.
        second.title = "Song"
        try db.save(second)
        second.title = "Loom"
        #expect(throws: MakoError.self) { try db.save(second) }
        #expect(throws: MakoError.self) { try db.insert(Track(artist: "Ada", title: "Loom")) }
    }

    @Test func anIdentityFindsTheRowBesideANewReference() throws {
        let db = try makeDatabase([Song.self, Album.self])
        try db.save(Song(title: "a", album: Album(name: "x")))
        let again = Song(title: "a", album: Album(name: "y"))
        try db.save(again)
        #expect(try again.id == 1 && db.query(Song.self).count() == 1)
        #expect(try db.find(Song.self, 1)?.album?.name == "y")
    }

    @Test func nilIdentifiesNothing() throws {
        try db.save([Track(artist: "Ada"), Track(artist: "Ada"), Track()])
        try db.save(Track(artist: "Ada"))
        #expect(try db.query(Track.self).count() == 4)
    }

    @Test func identitiesAreFoundAmongManySavedTogether() throws {
        let tracks = (0..<100).map { Track(artist: "Ada", title: "\($0 % 40)", plays: $0) }
        try db.save(tracks)
        #expect(try db.query(Track.self).count() == 40)
        #expect(tracks[0].id == tracks[40].id && tracks[0].id == tracks[80].id)
        #expect(try db.query(Track.self).where("title = '5'").first()?.plays == 85)
        #expect(throws: MakoError.rolledBack) {
            try db.transaction { transaction in
                try db.save(Track(artist: "Ada", title: "5", plays: 1))
                try transaction.rollback()
            }
        }
        #expect(try db.query(Track.self).where("title = '5'").first()?.plays == 85)
    }

    @Test func longIdentitiesAreComparedWhole() throws {
        let long = String(repeating: "x", count: 3000)
        try db.save(Track(artist: long + "a", title: "t", plays: 1))
        try db.save(Track(artist: long + "b", title: "t", plays: 2))
        try db.save(Track(artist: long + "a", title: "t", plays: 3))
        #expect(try db.query(Track.self).orderBy("artist").fetch().map(\.plays) == [3, 2])
    }

    @Test func theFirstValueStays() throws {
        let track = Track(artist: "Ada", title: "Engine", added: 1)
        try db.save(track)
        track.added = 2
        track.plays = 1
        try db.save(track)
        #expect(try db.find(Track.self, 1)?.added == 1)
        #expect(!track.isDirty && track.added == 2)
        try db.refresh(track)
        #expect(track.added == 1 && track.plays == 1)
    }

    @Test func nilKeepsWhatIsStored() throws {
        let track = Track(artist: "Ada", title: "Engine", rating: 5, note: "good")
        try db.save(track)
        track.rating = nil
        track.note = nil
        track.plays = 3
        try db.save(track)
        let read = try #require(try db.find(Track.self, 1))
        #expect(read.rating == 5 && read.note == "good" && read.plays == 3)
        track.rating = 4
        try db.save(track)
        #expect(try db.find(Track.self, 1)?.rating == 4)
    }

    @Test func aKeySetByHandMeetsItsRow() throws {
        try db.save(Device(serial: "a", firstSeen: 1, owner: "Ada", lastSeen: 1))
        try db.save(Device(serial: "a", firstSeen: 2, lastSeen: 2))
        let read = try #require(try db.find(Device.self, "a"))
        #expect(read.firstSeen == 1 && read.owner == "Ada" && read.lastSeen == 2)
        try db.save(Device(serial: "b", firstSeen: 3))
        #expect(try db.find(Device.self, "b")?.firstSeen == 3)
        let numbered = try db.find(Track.self, orNew: 7)
        numbered.added = 4
        numbered.rating = 1
        try db.save(numbered)
        let again = try db.find(Track.self, orNew: 7)
        #expect(again.added == 4)
        #expect(try db.query(Track.self).count() == 1)
    }

    @Test func structsDoTheSame() throws {
        try db.save([Spot(code: "a", opened: 1, name: "Alpha")])
        try db.save([Spot(code: "a", opened: 2)])
        let spot = try #require(try db.find(Spot.self, "a"))
        #expect(spot.opened == 1 && spot.name == "Alpha")
        let places = try db.save([Place(code: "x", visits: 1), Place(code: "y"), Place(code: "x", visits: 3)])
        #expect(places[0].id == places[2].id)
        #expect(try db.query(Place.self).orderBy(\.code).fetch().map(\.visits) == [3, 0])
    }
}

@Suite struct FindOrNewTests {
    @Test func theObjectOrANewOneWithTheKey() throws {
        let db = try makeDatabase([Track.self, Device.self, Person.self])
        let new = try db.find(Device.self, orNew: "a")
        #expect(new.serial == "a" && new.isDirty)
        new.lastSeen = 5
        try new.commit()
        #expect(try db.find(Device.self, orNew: "a").lastSeen == 5)
        let person = try db.find(Person.self, orNew: 42)
        #expect(person.id == 42 && person.age == 36)
        try person.commit()
        #expect(try Database.withDefault(db) { try Person.find(orNew: 42).isDirty } == false)
        #expect(try db.query(Person.self).count() == 1)
        #expect(throws: MakoError.self) { try db.find(Person.self, orNew: "forty") }
        #expect(throws: MakoError.self) { try db.find(Device.self, orNew: 3) }
    }
}

@Suite struct CopyingTests {
    @Test func aCloneIsANewObject() throws {
        let db = try makeDatabase([Person.self, Department.self, Location.self, Device.self])
        let ada = Person(name: "Ada", age: 40, department: Department(name: "Engines"), nicknames: ["Countess"])
        try db.save(ada)
        let read = try #require(try db.find(Person.self, 1))
        let clone = read.clone()
        #expect(clone.id == nil && clone.isDirty && clone.age == 40 && clone.nicknames == ["Countess"])
        #expect(clone.department?.name == "Engines")
        clone.name = "Bob"
        try clone.commit()
        #expect(clone.id == 2)
        #expect(try db.find(Person.self, 1)?.name == "Ada")
        #expect(try db.query(Department.self).count() == 1)
        let device = Device(serial: "a", lastSeen: 3)
        try db.save(device)
        #expect(device.clone().serial == "" && device.clone().lastSeen == 3)
    }

    @Test func aCopyRefersToTheSameRow() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 40)
        try db.save(ada)
        ada.age = 41
        let copy = ada.copy()
        #expect(copy !== ada && copy.isSame(as: ada) && copy.age == 41 && copy.isDirty)
        copy.name = "Countess"
        #expect(ada.name == "Ada")
        try copy.commit()
        #expect(try db.find(Person.self, 1)?.name == "Countess")
        #expect(try db.query(Person.self).count() == 1)
    }
}

@Suite struct ReferencingTests {
    @Test func referrersOfAnObject() throws {
        let db = try makeDatabase([Node.self, Twin.self, Person.self, Wolf.self, Den.self])
        let engines = Department(name: "Engines", location: Location(name: "London"))
        try db.save([
            Person(name: "Ada", department: engines), Person(name: "Bob", department: engines), Person(name: "Eve"),
        ])
        #expect(try engines.referencedCount() == 2)
        #expect(try engines.referencing(Person.self).map(\.name) == ["Ada", "Bob"])
        #expect(try engines.referencing(Node.self).isEmpty)
        #expect(try db.query(Person.self).referencing(engines).count() == 2)
        #expect(try db.query(Person.self).referencing(.null).fetch().map(\.name) == ["Eve"])
        #expect(try db.query(Person.self).referencing(Department(name: "new")).count() == 0)
        #expect(throws: MakoError.self) { try db.query(Person.self).referencing(Den()).count() }
        // Twice in one row counts once.
        let node = Node(label: "a")
        node.next = node
        try db.save(node)
        #expect(try node.referencedCount() == 1)
        node.next = nil
        let den = Den(place: "hill")
        try db.save([Wolf(name: "Akela", den: ToOne(den))])
        #expect(try den.referencing(Wolf.self).map(\.name) == ["Akela"])
        #expect(try Department(name: "unsaved").referencing(Person.self).isEmpty)
    }
}
