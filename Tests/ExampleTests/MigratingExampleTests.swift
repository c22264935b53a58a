import Foundation
import Mako
import TestHelpers
import Testing

// The examples of the article `Migrating.md`: their types exist in two versions, as in a program and its predecessor.

enum MigratingBefore {
    // EXAMPLE Migrating.md
    @Entity final class Ferry {
        var name = ""
        var length = 0
        var colour: String?
        var berths: Int?
    }
    // EXAMPLE ends

    @Entity final class Captain {
        var called = ""
        var age: String?
        var street = ""
        var city = ""
    }

    @Entity final class Buoy {
        var number = 0
        var holder: Captain?
    }

    @Entity final class Mooring {
        var number = 0
        var depth = 0.0
    }

    @Entity final class Voyage {
        var captain: Captain?
        var start: Buoy?
    }
}

enum MigratingAfter {
    // EXAMPLE Migrating.md
    @Entity final class Ferry {
        #Index<Ferry>([\.length])
        @Attribute(.originalName("name")) var title = ""  // renamed
        var length = 0.0  // was an Int: converted
        var berths = 40  // was optional: 40 where it is nil
        var isFast = false  // added: false in the objects that are there
    }  // colour is out of sight
    // EXAMPLE ends

    @Entity final class Voyage {
        var captain: Skipper?
        var start: Mooring?
    }
}

enum MigratingTooFar {
    @Entity final class Ferry {
        @Attribute(.primaryKey) var code = ""
    }
}

// EXAMPLE Migrating.md
@Entity final class Skipper {
    var name = ""
    var age: Int?
    var isLicensed: Bool = false
    var label = ""
    var home: HomePort?
}

@Entity final class HomePort {
    var street = ""
    var city = ""
}

extension Skipper: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.renameTable(from: "Captain")  // the class had this name
            m.rename("called", to: "name")
            m.version = 1
        }
        if m.version < 2 {
            m.transform("age") { (old: String?) in old.flatMap { Int($0) } }
            m.add("isLicensed", default: true)  // those who are there; new ones are not
            m.add("label") { row in
                try row.value("name", as: String.self) + ", " + row.value("city", as: String.self)
            }
            m.version = 2
        }
        if m.version < 3 {
            m.split(into: HomePort.self, linking: "home") { row in
                [["street": try row["street"], "city": try row["city"]]]
            }
            m.remove("street")  // gone from the file; without this, out of sight
            m.remove("city")
            m.version = 3
        }
    }
}
// EXAMPLE ends

// EXAMPLE Migrating.md
@Entity final class Mooring {
    var number = 0
    var depth = 0.0
    var isBuoy: Bool = false
}

extension Mooring: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.merge(from: "Buoy") { row in ["number": try row["number"], "isBuoy": true] }
            m.version = 1
        }
    }
}
// EXAMPLE ends

extension MigratingBefore {
    // EXAMPLE Migrating.md
    @Entity final class Pennant {
        var number = 0
        var owner = ""
        var below: Pennant?
    }
    // EXAMPLE ends
}

// EXAMPLE Migrating.md
@Entity final class Pennant {
    @Attribute(.primaryKey) var code = ""
    var owner = ""
    var below: Pennant?
}

extension Pennant: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.add("code") { row in "N" + String(try row.value("number", as: Int.self)) }
            m.version = 1
        }
    }
}
// EXAMPLE ends

enum MigratingExample {
    static func planned(_ path: String) throws -> [String] {
        typealias Ferry = MigratingAfter.Ferry
        var lines: [String] = []
        func print(_ items: Any...) { lines.append(items.map { "\($0)" }.joined(separator: " ")) }
        // EXAMPLE Migrating.md
        let plan = try Database.migrationPlan(at: path, entities: [Ferry.self])
        print(plan)
        if !plan.canBeDone { print("the opening would throw") }
        if !plan.losses.isEmpty { print("this would be lost:", plan.losses) }
        // EXAMPLE ends
        return lines
    }

    static func tried(_ path: String) throws -> (Database, [Ferry]) {
        // EXAMPLE Migrating.md
        let trial = try Database(at: path, mode: .sandbox, entities: [Ferry.self])
        print(trial.migrations.map(\.description))
        let ferries = try trial.query(Ferry.self).fetch()  // as they would be
        // EXAMPLE ends
        return (trial, ferries.array)
    }

    static func opened(_ path: String, _ show: @escaping @Sendable (String, Int, Int) -> Void) throws -> Database {
        // EXAMPLE Migrating.md
        var options = DatabaseOptions()
        options.onMigration = { progress in show(progress.entity, progress.rowsDone, progress.rowCount) }
        let db = try Database(at: path, entities: [Skipper.self], options: options)
        // EXAMPLE ends
        return db
    }

    typealias Ferry = MigratingAfter.Ferry
}

@Suite struct MigratingExampleTests {
    private func before(_ path: String, _ body: (Database) throws -> Void) throws {
        let db = try Database(
            at: path,
            entities: [
                MigratingBefore.Ferry.self, MigratingBefore.Voyage.self, MigratingBefore.Mooring.self,
                MigratingBefore.Pennant.self,
            ])
        try body(db)
        try db.close()
    }

    @Test func whatATypeSaysIsDoneByItself() throws {
        try withTemporaryFile { path in
            try before(path) { db in
                try db.save([
                    MigratingBefore.Ferry(name: "Nereid", length: 40, colour: "red", berths: 7),
                    MigratingBefore.Ferry(name: "Wren", length: 12),
                ])
            }
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            let lines = try MigratingExample.planned(path)
            #expect(
                lines == [
                    """
                    Ferry (2 objects)
                        rename column name to title
                        convert column length from integer to double: 2 objects
                        change the rules of column berths: 1 objects
                        add column isFast
                        retire column colour: 1 objects hold a value, which goes out of sight
                        add index length
                    """
                ])
            let (trial, ferries) = try MigratingExample.tried(path)
            #expect(ferries.map(\.title) == ["Nereid", "Wren"])
            try trial.close()
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)

            // A key that all objects would have is refused, and nothing has happened.
            #expect(throws: MakoError.self) { try Database(at: path, entities: [MigratingTooFar.Ferry.self]) }
            let plan = try Database.migrationPlan(at: path, entities: [MigratingTooFar.Ferry.self])
            #expect(!plan.canBeDone && plan.tables.first?.steps.last?.failures == 1)

            let db = try Database(at: path, entities: [MigratingAfter.Ferry.self])
            #expect(db.migrations.count == 6)
            let read = try db.query(MigratingAfter.Ferry.self).orderBy("id").fetch()
            #expect(read.map(\.title) == ["Nereid", "Wren"] && read.map(\.length) == [40, 12])
            #expect(read.map(\.berths) == [7, 40] && read.allSatisfy { !$0.isFast })
            #expect(try db.query(MigratingAfter.Ferry.self).where(\.length == 12).explain().contains("index"))
            try db.close()

            // What went out of sight comes back with its property.
            try before(path) { db in
                let again = try db.query(MigratingBefore.Ferry.self).orderBy("id").fetch()
                #expect(again.map(\.colour) == ["red", nil])
            }
        }
    }

    @Test func whatIsRetiredCanBeRemoved() throws {
        try withTemporaryFile { path in
            try before(path) { db in try db.save(MigratingBefore.Ferry(name: "Nereid", colour: "vermilion")) }
            let options = DatabaseOptions(dropsRetired: true)
            let plan = try Database.migrationPlan(at: path, entities: [MigratingAfter.Ferry.self], options: options)
            #expect(plan.losses == ["Ferry: remove column colour: 1 objects lose a value"])
            try Database(at: path, entities: [MigratingAfter.Ferry.self], options: options).close()
            try Database.compact(at: path)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data("vermilion".utf8)) == nil)
        }
    }

    /// The default of a time stays that of the objects of the time before.
    @Test func anotherDefaultIsForNewObjects() throws {
        try withTemporaryFile { path in
            try before(path) { db in try db.save(MigratingBefore.Ferry(name: "Nereid", berths: 1)) }
            try Database(at: path, entities: [MigratingAfter.Ferry.self]).close()
            let db = try Database(at: path, entities: [LaterFerry.Ferry.self])
            #expect(try db.query(LaterFerry.Ferry.self).fetch().map(\.isFast) == [false])
            #expect(LaterFerry.Ferry().isFast)
            try db.close()
        }
    }

    @Test func stepsByHand() throws {
        try withTemporaryFile { path in
            try before(path) { db in
                let ada = MigratingBefore.Captain(called: "Ada", age: "36", street: "Main", city: "Oslo")
                let bob = MigratingBefore.Captain(called: "Bob", age: "old", city: "Bergen")
                try db.save([ada, bob])
                let buoy = MigratingBefore.Buoy(number: 7, holder: ada)
                try db.save(MigratingBefore.Mooring(number: 1, depth: 4))
                try db.save(MigratingBefore.Voyage(captain: bob, start: buoy))
            }
            let plan = try Database.migrationPlan(at: path, entities: [Skipper.self, Mooring.self])
            #expect(plan.canBeDone, "\(plan)")
            #expect(plan.losses.contains { $0.contains("remove street") })
            let notified = Collected<String>()
            let db = try MigratingExample.opened(path) { notified.append("\($0) \($1) of \($2)") }
            #expect(notified.all.last == "Skipper 2 of 2")
            let skippers = try db.query(Skipper.self).orderBy("id").fetch()
            #expect(skippers.map(\.name) == ["Ada", "Bob"] && skippers.map(\.age) == [36, nil])
            #expect(skippers.map(\.label) == ["Ada, Oslo", "Bob, Bergen"] && skippers.allSatisfy(\.isLicensed))
            #expect(skippers.map { $0.home?.city } == ["Oslo", "Bergen"])
            #expect(!Skipper().isLicensed)
            // References follow the table's name, and the rows that are merged.
            let voyage = try #require(try db.query(MigratingAfter.Voyage.self).first())
            #expect(voyage.captain?.name == "Bob" && voyage.start?.number == 7 && voyage.start?.isBuoy == true)
            #expect(try db.query(Mooring.self).count() == 2)
            #expect(!db.tables.contains { ["Captain", "Buoy"].contains($0.name) })
            try db.close()
            let again = try Database(at: path, entities: [Skipper.self, Mooring.self])
            #expect(again.migrations.isEmpty)
            try again.close()
            // A program that knows none of the versions is refused.
            #expect(throws: MakoError.self) { try Database(at: path, entities: [MigratingBefore.Mooring.self]) }
        }
    }

    @Test func anotherKey() throws {
        try withTemporaryFile { path in
            try before(path) { db in
                let flags = (1...3).map { MigratingBefore.Pennant(number: $0, owner: "\($0)") }
                flags[0].below = flags[2]
                flags[2].below = flags[0]
                try db.save(flags)
            }
            let db = try Database(at: path, entities: [Pennant.self])
            #expect(try db.query(Pennant.self).orderBy(\.code).fetch().map(\.code) == ["N1", "N2", "N3"])
            #expect(try db.find(Pennant.self, "N1")?.below?.code == "N3")
            #expect(try db.find(Pennant.self, "N3")?.below?.owner == "1")
            try db.close()
        }
    }
}

enum LaterFerry {
    @Entity final class Ferry {
        @Attribute(.originalName("name")) var title = ""
        var length = 0.0
        var berths = 40
        var isFast = true
    }
}
