import Mako
import TestHelpers
import Testing

/// References, collections and marks in memory after a rollback: they are those of the file, and a later save loses
/// nothing.
@Suite struct RolledBackReferenceTests {
    /// Its hook saves an object that refers to it.
    @Entity final class Voyage {
        var name = ""
        var captain: Voyage?

        func willInsert() -> Bool {
            if name == "logged" { _ = try? Entry(text: "begins", voyage: self).commit() }
            if name == "noticed" { _ = try? Entry(text: "begins", noticed: self).commit() }
            return true
        }
    }

    @Entity final class Entry {
        var text = ""
        var voyage: Voyage?
        @Relationship(.weak) var noticed: Voyage?
    }

    private let db: Database

    init() throws {
        db = try makeDatabase([
            Disc.self, Cut.self, Note.self, Cover.self, Publisher.self, Nest.self, Bird.self, Playlist.self, Tune.self,
            Voyage.self, Entry.self, Department.self, Person.self, Customer.self, Order.self,
        ])
    }

    @Test func anObjectThatAHookSavesRefersToTheOneBeingSaved() throws {
        _ = try Database.withDefault(db) { try db.save(Voyage(name: "logged", captain: Voyage(name: "Ada"))) }
        #expect(try db.query(Entry.self).where("voyage.name = 'logged'").count() == 1)
        #expect(try db.query(Entry.self).fetch().map { $0.voyage?.name } == ["logged"])
        _ = try Database.withDefault(db) { try db.save(Voyage(name: "noticed")) }
        #expect(try db.query(Entry.self).where("noticed.name = 'noticed'").count() == 1)
        #expect(try db.verify().danglingReferences.isEmpty)
    }

    @Test func aTableIsDroppedWhileReleasedRowsWait() throws {
        let disc = Disc(title: "one", cover: Cover(picture: "front"))
        try db.save(disc)
        try db.save(Tune(title: "dropped"))
        try db.transaction {
            disc.cover = nil
            try db.save(disc)
            #expect(throws: Refused()) {
                try db.transaction {
                    try db.drop(Tune.self)
                    throw Refused()
                }
            }
            // The cover waits for the end of the transaction, and gets another owner before.
            let cover = try #require(try db.query(Cover.self).first())
            try db.drop(Tune.self)
            try db.save(Disc(title: "two", cover: cover))
            #expect(try db.query(Cover.self).count() == 1)
        }
        #expect(try db.query(Disc.self).where("cover IS NOT NULL").fetch().map(\.title) == ["two"])
        disc.cover = Cover(picture: "back")
        try db.save(disc)
        try db.transaction {
            disc.cover = nil
            try db.save(disc)
            #expect(throws: Refused()) {
                try db.transaction {
                    try db.drop(Publisher.self)
                    throw Refused()
                }
            }
        }
        // What was released before the part that was rolled back is removed.
        #expect(try db.query(Cover.self).fetch().map(\.picture) == ["front"])
    }

    @Test func aWeakReferenceKeepsTheKeyOfARowThatStays() throws {
        try db.save(Nest(place: "oak"))
        let bird = Bird(name: "wren")
        do {
            let nest = try #require(try db.find(Nest.self, 1))
            bird.nest = nest
            #expect(throws: Refused()) {
                try db.transaction {
                    try db.save(bird)
                    throw Refused()
                }
            }
        }
        // The nest is not in memory any more.
        #expect(Database.withDefault(db) { bird.nest?.place } == "oak")
        try db.save(bird)
        #expect(try db.query(Bird.self).where("nest = 1").count() == 1)
    }

    @Test func aWeakReferenceKeepsAnObjectWithoutARow() throws {
        let bird = Bird(name: "wren")
        do {
            let nest = Nest(place: "oak")
            bird.nest = nest
            #expect(throws: Refused()) {
                try db.transaction {
                    try db.save(nest)
                    try db.save(bird)
                    throw Refused()
                }
            }
        }
        let nest = try #require(bird.nest)
        #expect(nest.id == nil)
        try db.save(nest)
        try db.save(bird)
        #expect(try db.query(Bird.self).where("nest.place = 'oak'").count() == 1)
    }

    /// What was loaded beside uncommitted changes is loaded again.
    @Test func whatWasFirstReadInsideIsReadAnew() throws {
        let songs = (1...3).map { Tune(title: "\($0)") }
        try db.save(Playlist(name: "mine", songs: songs))
        try db.save(Person(name: "Ada", department: Department(name: "Engines")))
        let list = try #require(try db.find(Playlist.self, 1))
        let ada = try #require(try db.find(Person.self, 1))
        #expect(throws: Refused()) {
            try db.transaction {
                try db.query(Tune.self).where(\.title == "2").delete()
                try db.query(Department.self).update().set(\.name, to: "Hulls").run()
                #expect(list.songs.count == 2)
                #expect(ada.department?.name == "Hulls")
                throw Refused()
            }
        }
        #expect(list.songs.map(\.title) == ["1", "2", "3"])
        #expect(ada.department?.name == "Engines")
        list.songs.append(Tune(title: "4"))
        try db.save(list)
        #expect(try db.find(Playlist.self, 1)?.songs.map(\.title) == ["1", "2", "3", "4"])
    }

    /// The transaction changed rows before the savepoint in which they are read first.
    @Test func whatWasFirstReadInASavepointIsReadAnew() throws {
        try db.save(Playlist(name: "mine", songs: (1...3).map { Tune(title: "\($0)") }))
        let list = try #require(try db.find(Playlist.self, 1))
        #expect(throws: Refused()) {
            try db.transaction {
                try db.query(Tune.self).where(\.title == "2").delete()
                try db.transaction { #expect(list.songs.count == 2) }
                throw Refused()
            }
        }
        #expect(list.songs.map(\.title) == ["1", "2", "3"])
    }

    @Test func whatWasReadAndSetInsideIsAsBefore() throws {
        try db.save(Playlist(name: "mine", songs: (1...3).map { Tune(title: "\($0)") }))
        let list = try #require(try db.find(Playlist.self, 1))
        try db.transaction {
            try db.save(Tune(title: "other"))
            #expect(throws: Refused()) {
                try db.transaction {
                    try db.query(Tune.self).where(\.title == "2").delete()
                    list.songs.append(Tune(title: "4"))
                    try db.save(list)
                    throw Refused()
                }
            }
            #expect(list.songs.map(\.title) == ["1", "2", "3"] && !list.isDirty)
            list.songs.append(Tune(title: "5"))
            try db.save(list)
        }
        #expect(list.songs.map(\.title) == ["1", "2", "3", "5"])
        #expect(try db.find(Playlist.self, 1)?.songs.map(\.title) == ["1", "2", "3", "5"])
    }

    @Test func aWorkspaceKeepsItsMarks() throws {
        let work = Workspace(db)
        work.add(Voyage(name: "marked"))
        #expect(throws: Refused()) {
            try db.transaction {
                try work.commit()
                #expect(work.isEmpty)
                throw Refused()
            }
        }
        #expect(!work.isEmpty)
        try work.commit()
        #expect(work.isEmpty)
        #expect(try db.query(Voyage.self).fetch().map(\.name) == ["marked"])
    }

    @Test func objectsThatWereGivenInsideAreSavedLater() throws {
        let jo = Customer(name: "Jo")
        try db.save(jo)
        jo.name = "Joan"
        #expect(throws: Refused()) {
            try db.transaction {
                try db.save(jo)
                _ = Order(title: "given", customer: jo)
                throw Refused()
            }
        }
        try db.save(jo)
        #expect(try db.query(Order.self).where("customer = 1").fetch().map(\.title) == ["given"])
    }
}
