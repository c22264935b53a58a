import Mako
import TestHelpers
import Testing

private enum Theatre {
    @Entity final class Seat {
        @Attribute(.primaryKey) var row = 0
        @Attribute(.primaryKey) var letter = ""
    }

    @Entity final class Hall {
        var name = ""
        var seats: [Seat] = []
    }

    @Entity final class Visit {
        var hall: Hall?
    }
}

/// The condition that a collection of objects or structs contains one of them.
@Suite struct MemberConditionTests {
    private let db: Database

    init() throws {
        db = try makeDatabase([
            Playlist.self, Tune.self, Ticket.self, Classroom.self, Theatre.Hall.self, Theatre.Visit.self,
            Winterfell.Kennel.self,
        ])
    }

    private func names(_ condition: Condition<Playlist>) throws -> [String] {
        try db.query(Playlist.self).where(condition).orderBy(\.name).fetch().map(\.name)
    }

    @Test func collectionsOfObjectsContainAnObject() throws {
        let (first, second) = (Tune(title: "1"), Tune(title: "2"))
        try db.save([
            Playlist(name: "a", songs: [first, second]), Playlist(name: "b", songs: [second, second]),
            Playlist(name: "c", byMood: ["calm": first]), Playlist(name: "d", extras: [first]),
        ])
        #expect(try names(.contains(\.songs, first)) == ["a"] && names(.contains(\.songs, second)) == ["a", "b"])
        #expect(try names(.contains(\.byMood, first)) == ["c"] && names(.contains(\.byMood, second)).isEmpty)
        #expect(try names(.contains(\.extras, first)) == ["d"] && names(.contains(\.extras, second)).isEmpty)
        #expect(try names(!.contains(\.songs, first) && \.name < "d") == ["b", "c"])
        #expect(try names(.contains(\.songs, Tune(title: "new"))).isEmpty)
        let list = try #require(try db.query(Playlist.self).where(\.name == "a").first())
        #expect(
            try db.query(Tune.self).where(.contains(\.playlists, list)).orderBy(\.title).fetch().map(\.title) == [
                "1", "2",
            ])
    }

    @Test func keysOfTextsAndOfSeveralPropertiesAreCompared() throws {
        let (one, two) = (Ticket(code: "one"), Ticket(code: "two"))
        one.wearers = [two]
        try db.save([one, two])
        #expect(try db.query(Ticket.self).where(.contains(\.wearers, two)).fetch().map(\.code) == ["one"])
        #expect(try db.query(Ticket.self).where(.contains(\.wearers, one)).count() == 0)
        #expect(try db.query(Ticket.self).where(.contains(\.wearers, Ticket(code: "two"))).count() == 0)
        let seats = [(1, "a"), (1, "b"), (2, "a")].map { Theatre.Seat(row: $0, letter: $1) }
        let hall = Theatre.Hall(name: "big", seats: [seats[0], seats[1]])
        try db.save([hall, Theatre.Hall(name: "small", seats: [seats[2]])])
        try db.save(Theatre.Visit(hall: hall))
        let halls = db.query(Theatre.Hall.self)
        #expect(try halls.where(.contains(\.seats, seats[1])).fetch().map(\.name) == ["big"])
        #expect(try halls.where(.contains(\.seats, seats[2])).fetch().map(\.name) == ["small"])
        #expect(try db.query(Theatre.Visit.self).where(.contains(\.hall.seats, seats[0])).count() == 1)
        #expect(try db.query(Theatre.Visit.self).where(.contains(\.hall.seats, seats[2])).count() == 0)
    }

    @Test func collectionsOfStructsContainAStruct() throws {
        let (ghost, lady) = (Winterfell.Wolf(name: "Ghost"), Winterfell.Wolf(name: "Lady"))
        try db.save([
            Winterfell.Kennel(name: "a", list: [ghost], pack: [lady]),
            Winterfell.Kennel(name: "b", maybe: [ghost], byPlace: ["x": lady]),
        ])
        func names(_ condition: Condition<Winterfell.Kennel>) throws -> [String] {
            try db.query(Winterfell.Kennel.self).where(condition).fetch().map(\.name)
        }
        #expect(try names(.contains(\.list, ghost)) == ["a"] && names(.contains(\.pack, lady)) == ["a"])
        #expect(try names(.contains(\.maybe, ghost)) == ["b"] && names(.contains(\.byPlace, lady)) == ["b"])
        #expect(try names(.contains(\.list, lady)).isEmpty)
    }

    @Test func collectionsOfSubclassesContainAnObject() throws {
        let (ada, ben) = (Pupil(name: "Ada"), Prefect())
        try db.save([
            Classroom(name: "a", pupils: [ada, ben]), Classroom(name: "b", pupils: [ben], byDesk: [1: ada]),
        ])
        let rooms = db.query(Classroom.self).orderBy(\.name)
        #expect(try rooms.where(.contains(\.pupils, ben)).fetch().map(\.name) == ["a", "b"])
        #expect(try rooms.where(.contains(\.pupils, ada)).fetch().map(\.name) == ["a"])
        #expect(try rooms.where(.contains(\.byDesk, ada)).fetch().map(\.name) == ["b"])
    }

    /// Without `.subclasses` a collection refers to rows of the superclass's table only.
    @Test func aCollectionOfASuperclassContainsNoObjectOfASubclass() throws {
        let (rex, tom) = (Hound(), Creature(name: "Tom"))
        let db = try makeDatabase([Creature.self, Hound.self, Bowl.self])
        try db.save([rex, tom])
        try db.save(Bowl(guests: [tom]))
        #expect(rex.id == tom.id)
        #expect(try db.query(Bowl.self).where(.contains(\.guests, tom)).count() == 1)
        #expect(try db.query(Bowl.self).where(.contains(\.guests, rex)).count() == 0)
    }
}
