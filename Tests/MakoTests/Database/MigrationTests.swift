import Mako
import TestHelpers
import Testing

// The same table as three generations of a program see it.
enum First {
    @Entity("Animal") final class Animal {
        var name = ""
        var weight = 0
        var colour: String?
    }
}
enum Second {
    @Entity("Animal") final class Animal {
        #Index<Animal>([\.name])
        var name = ""
        var legs = 4
        var tail: String? = "long"
    }
}
enum Third {
    @Entity("Animal") final class Animal {
        @Attribute(.originalName("name")) var title = ""
        var weight = 0.5
        var legs = 4
    }
}
enum Clash {
    @Entity("Animal") final class Animal {
        @Attribute(.unique) var name = ""
    }
}

enum Misread {
    @Entity("Animal") final class Weighed {
        var name = ""
        var weight = 0.5
    }
    @Entity("Animal") final class Painted {
        var name = ""
        var colour = ""
    }
    @Entity("Animal") final class Named {
        @Attribute(.primaryKey) var name = ""
    }
    @Entity("Animal") final class Part {
        var colour: String?
    }
}

@Suite struct MigrationTests {
    @Test func propertiesAreAddedAndRetired() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [First.Animal.self])
            try db.save([First.Animal(name: "Rex", weight: 30, colour: "red"), First.Animal(name: "Tom", weight: 4)])
            try db.close()

            db = try Database(at: path, entities: [Second.Animal.self])
            #expect(!db.migrations.isEmpty)
            let rex = try #require(try db.query(Second.Animal.self).where(\.name == "Rex").first())
            #expect(rex.legs == 4)
            #expect(rex.tail == "long")
            rex.legs = 3
            try db.save(rex)
            #expect(try db.query(Second.Animal.self).where(\.legs == 4).fetch().map(\.name) == ["Tom"])
            #expect(try db.query(Second.Animal.self).where(\.name == "Rex").explain().contains("index"))
            try db.close()

            // Renamed, restored from retirement with another type, and kept.
            db = try Database(at: path, entities: [Third.Animal.self])
            let again = try #require(try db.query(Third.Animal.self).where(\.title == "Rex").first())
            #expect(again.legs == 3)
            #expect(again.weight == 30)
            try db.close()

            db = try Database(at: path, entities: [Third.Animal.self])
            #expect(db.migrations.isEmpty)
            try db.close()
        }
    }

    @Test func aMigrationThatCannotBeDoneChangesNothing() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [First.Animal.self])
            try db.save([First.Animal(name: "Rex"), First.Animal(name: "Rex")])
            try db.close()
            #expect(throws: MakoError.self) { try Database(at: path, entities: [Clash.Animal.self]) }
            db = try Database(at: path, entities: [First.Animal.self])
            #expect(db.migrations.isEmpty)
            #expect(try db.query(First.Animal.self).count() == 2)
            try db.close()
        }
    }

    @Test func typesAreMigratedAtFirstUse() throws {
        let db = try Database.inMemory()
        #expect(db.tables.isEmpty)
        #expect(try db.query(Location.self).count() == 0)
        #expect(db.tables.map(\.name) == ["Location"])
        // A rolled-back first use leaves no table behind.
        #expect(throws: Refused()) {
            try db.transaction { _ in
                try db.save(Den(place: "cave"))
                throw Refused()
            }
        }
        #expect(db.tables.map(\.name) == ["Location"])
        try db.save(Den(place: "cave"))
        #expect(try db.query(Den.self).count() == 1)
        // Inside a read, the first use moves the snapshot forward while nothing was read.
        #expect(try db.read { try Owner.query().count() } == 0)
    }

    @Test func dataSurvivesReopening() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: people)
            try db.save(Person(name: "Ada", department: Department(name: "Engines")))
            try db.close()
            db = try Database(at: path)
            #expect(try db.find(Person.self, 1)?.department?.name == "Engines")
            let bob = Person(name: "Bob")
            try db.save(bob)
            #expect(bob.id == 2)
            try db.close()
        }
    }

    @Test func readOnlyDatabasesRefuseWriting() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: people)
            try db.save(Person(name: "Ada"))
            try db.close()
            db = try Database(at: path, entities: people, options: DatabaseOptions(readOnly: true))
            #expect(try db.find(Person.self, 1)?.name == "Ada")
            #expect(try db.query(Person.self).count() == 1)
            #expect(throws: MakoError.self) { try db.save(Person(name: "Bob")) }
            try db.close()
        }
    }

    /// Values of another type would be read as 0 or as nothing.
    @Test func whatIsOnlyReadIsNotMisread() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [First.Animal.self])
            try db.save(First.Animal(name: "Rex", weight: 30))
            try db.close()
            db = try Database(at: path, options: DatabaseOptions(readOnly: true))
            let weighed = failure { _ = try db.query(Misread.Weighed.self).fetch() }
            #expect(weighed.contains("weight is of type integer, not double, in the file"), "\(weighed)")
            let painted = failure { _ = try db.query(Misread.Painted.self).fetch() }
            #expect(painted.contains("colour may be nil in the file"), "\(painted)")
            let named = failure { _ = try db.query(Misread.Named.self).fetch() }
            #expect(named.contains("its key is another one in the file"), "\(named)")
            // Less than there is, is no fault.
            #expect(try db.query(Misread.Part.self).fetch().map(\.colour) == [nil])
            #expect(try db.query(First.Animal.self).fetch().map(\.weight) == [30])
            try db.close()
        }
    }

    @Test func aFileThatIsNoDatabaseIsRefused() throws {
        #expect(throws: MakoError.self) { try Database(at: "/dev") }
    }
}
