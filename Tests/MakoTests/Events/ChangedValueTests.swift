import Foundation
import Mako
import TestHelpers
import Testing

@Suite struct ChangedValueTests {
    @Test func anUpdateHasEachPropertyBeforeAndAfter() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 36)
        try db.save(ada)
        let seen = Collected<ObjectChange<Person>>()
        let token = try Person.onChange(withValues: true, in: db) { seen.append($0) }
        defer { token.cancel() }
        ada.age = 37
        ada.email = "ada@example.org"
        try db.save(ada)
        let change = try #require(seen.all.first)
        #expect(
            change.changes == [
                PropertyChange(name: "age", old: .integer(36), new: .integer(37)),
                PropertyChange(name: "email", old: .text(""), new: .text("ada@example.org")),
            ])
        #expect(change.oldValue(of: \.age) == 36 && change.newValue(of: \.age) == 37)
        #expect(change.oldValue(of: "email") == .text("") && change.newValue(of: "email") == .text("ada@example.org"))
        // Unchanged values are available, too.
        #expect(change.oldValue(of: \.name) == "Ada" && change.newValue(of: \.name) == "Ada")
        #expect(change.oldValue(of: "shoe size") == nil && change.oldValue(of: \.isAdult) == nil)
    }

    @Test func insertionsHaveNothingBeforeAndDeletionsNothingAfter() throws {
        let db = try makeDatabase()
        let seen = Collected<ObjectChange<Person>>()
        let token = try Person.onChange(withValues: true, in: db) { seen.append($0) }
        defer { token.cancel() }
        let ada = Person(name: "Ada", age: 36)
        try db.save(ada)
        try db.delete(ada)
        let (insert, delete) = (try #require(seen.all.first), try #require(seen.all.last))
        #expect(insert.kind == .insert && insert.oldValue(of: \.age) == nil && insert.newValue(of: \.age) == 36)
        #expect(insert.changes.map(\.name) == insert.changedProperties && insert.changes.allSatisfy { $0.old == nil })
        #expect(delete.kind == .delete && delete.oldValue(of: \.name) == "Ada" && delete.newValue(of: \.name) == nil)
        #expect(delete.changes.map(\.name) == delete.changedProperties && delete.changes.allSatisfy { $0.new == nil })
        #expect(delete.changes.first { $0.name == "payrollNumber" }?.old == .null)
    }

    @Test func aTransactionIsOneStepFromItsBeginningToItsEnd() throws {
        let db = try makeDatabase()
        let (ada, bob, eve) = (Person(name: "Ada", age: 1), Person(name: "Bob", age: 1), Person(name: "Eve", age: 1))
        try db.save([ada, bob, eve])
        let seen = Collected<ObjectChange<Person>>()
        let token = try Person.onChange(withValues: true, in: db) { seen.append($0) }
        defer { token.cancel() }
        try db.transaction { _ in
            ada.age = 2
            try db.save(ada)
            try db.transaction { _ in
                ada.age = 3
                ada.name = "Ada L."
                try db.save(ada)
            }
            try? db.transaction { _ in
                ada.age = 99
                try db.save(ada)
                throw Refused()
            }
            // There and back.
            bob.age = 2
            try db.save(bob)
            bob.age = 1
            try db.save(bob)
            eve.age = 50
            try db.save(eve)
            try db.delete(eve)
        }
        let changes = seen.all.sorted { ($0.oldValue(of: \.name) ?? "") < ($1.oldValue(of: \.name) ?? "") }
        try #require(changes.count == 3)
        #expect(
            changes[0].changes == [
                PropertyChange(name: "name", old: .text("Ada"), new: .text("Ada L.")),
                PropertyChange(name: "age", old: .integer(1), new: .integer(3)),
            ])
        #expect(changes[1].changedProperties == ["age"] && changes[1].changes.isEmpty)
        #expect(changes[2].kind == .delete && changes[2].oldValue(of: \.age) == 1)
    }

    @Test func valuesAreDeliveredOnlyOnRequest() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 36)
        try db.save(ada)
        let plain = Collected<ObjectChange<Person>>()
        let valued = Collected<ObjectChange<Person>>()
        let global = Collected<DatabaseChange>()
        let tokens = [
            try Person.onChange(in: db) { plain.append($0) }, db.onUpdate { global.append($0) },
            try ada.onChange(withValues: true) { valued.append($0) },
        ]
        ada.age = 37
        try db.save(ada)
        #expect(plain.all.map(\.changes) == [[]] && plain.all.first?.oldValue(of: \.age) == nil)
        #expect(plain.all.first?.changedProperties == ["age"])
        #expect(global.all.map(\.changes) == [[]])
        #expect(valued.all.first?.oldValue(of: \.age) == 36)
        for token in tokens { token.cancel() }
        // A transaction that began before the observer has recorded no values.
        let late = Collected<[PropertyChange]>()
        let token = Collected<ChangeToken>()
        try db.transaction { _ in
            ada.age = 38
            try db.save(ada)
            token.append(try ada.onChange(withValues: true) { late.append($0.changes) })
        }
        #expect(late.all == [[]])
        ada.age = 39
        try db.save(ada)
        #expect(late.all.last == [PropertyChange(name: "age", old: .integer(38), new: .integer(39))])
        token.all.first?.cancel()
    }

    @Test func sequencesAndHandlersOfAllHaveThem() async throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 36)
        try await db.save(ada)
        let changes = try Person.changes(.update, .delete, withValues: true, in: db)
        let global = Collected<DatabaseChange>()
        let tokens = [
            db.onInsert(withValues: true) { global.append($0) }, db.onUpdate(withValues: true) { global.append($0) },
            db.onDelete(withValues: true) { global.append($0) },
        ]
        ada.age = 37
        try await db.save(ada)
        try await db.save(Location(name: "Oslo"))
        try await db.delete(ada)
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.oldValue(of: \.age) == 36)
        #expect(await iterator.next()?.oldValue(of: \.age) == 37)
        let all = global.all
        try #require(all.count == 3)
        #expect(all[0].oldValue(of: "age") == .integer(36) && all[0].newValue(of: "age") == .integer(37))
        #expect(all[1].changes == [PropertyChange(name: "name", old: nil, new: .text("Oslo"))])
        #expect(all[2].oldValue(of: "name") == .text("Ada") && all[2].newValue(of: "name") == nil)
        for token in tokens { token.cancel() }
    }

    @Test func relationsHaveKeys() throws {
        let db = try makeDatabase([Playlist.self, Tune.self] + people)
        let (engines, wheels) = (Department(name: "Engines"), Department(name: "Wheels"))
        let ada = Person(name: "Ada", department: engines)
        let songs = [Tune(title: "one"), Tune(title: "two"), Tune(title: "three")]
        let list = Playlist(name: "mine", songs: songs)
        try db.save(wheels)
        try db.save(ada)
        try db.save(list)
        let seen = Collected<ObjectChange<Person>>()
        let lists = Collected<ObjectChange<Playlist>>()
        let tokens = [
            try Person.onChange(withValues: true, in: db) { seen.append($0) },
            try Playlist.onChange(withValues: true, in: db) { lists.append($0) },
        ]
        defer { for token in tokens { token.cancel() } }
        ada.department = wheels
        try db.save(ada)
        let change = try #require(seen.all.last)
        #expect(change.oldValue(of: \.department) == .rowID(2))
        #expect(change.newValue(of: \.department) == .rowID(1))
        #expect(change.oldValue(of: "department") == .integer(Int64(engines.id ?? 0)))
        #expect(change.changes.map(\.name) == ["department"])
        // A removal takes the reference along, and the place in the list.
        try db.delete(wheels)
        let nullified = try #require(seen.all.last)
        #expect(nullified.oldValue(of: \.department) != nil && nullified.newValue(of: \.department) == nil)
        try db.delete(songs[1])
        let shorter = try #require(lists.all.last)
        #expect(shorter.oldKeys(of: \.songs) == [.rowID(1), .rowID(2), .rowID(3)])
        #expect(shorter.newKeys(of: \.songs) == [.rowID(1), .rowID(3)])
        #expect(shorter.oldKeys(of: \.name) == nil)
    }

    @Test func valuesOfAllFormsComeBack() throws {
        let db = try makeDatabase([Composite.Window.self, Wolf.self, Den.self] + people)
        let person = Person(name: "Ada", grade: .junior, settings: Settings(theme: "light", volume: 1))
        let window = Composite.Window(title: "a")
        var wolf = Wolf(name: "Akela", den: ToOne())
        let den = Den(place: "north")
        try db.save(person)
        try db.save(window)
        try db.save(&wolf)
        try db.save(den)
        let (seen, windows) = (Collected<ObjectChange<Person>>(), Collected<ObjectChange<Composite.Window>>())
        let wolves = Collected<ObjectChange<Wolf>>()
        let tokens = [
            try Person.onChange(withValues: true, in: db) { seen.append($0) },
            try Composite.Window.onChange(withValues: true, in: db) { windows.append($0) },
            try Wolf.onChange(withValues: true, in: db) { wolves.append($0) },
        ]
        defer { for token in tokens { token.cancel() } }
        person.grade = nil
        person.settings?.volume = 9
        person.nicknames = ["A"]
        try db.save(person)
        window.frame.origin.x = 10
        window.corner = CGPoint(x: 1, y: 1)
        try db.save(window)
        wolf.den = ToOne(den)
        try db.save(&wolf)
        let change = try #require(seen.all.last)
        #expect(change.oldValue(of: \.grade) == .junior && change.newValue(of: \.grade) == nil)
        #expect(change.oldValue(of: \.settings)?.volume == 1 && change.newValue(of: \.settings)?.volume == 9)
        #expect(change.oldValue(of: \.nicknames) == [] && change.newValue(of: \.nicknames) == ["A"])
        let moved = try #require(windows.all.last)
        #expect(moved.changes.map(\.name) == ["frame_x", "corner_x", "corner_y"])
        #expect(moved.oldValue(of: \.frame) == CGRect(x: 1, y: 2, width: 3, height: 4))
        #expect(moved.newValue(of: \.frame) == CGRect(x: 10, y: 2, width: 3, height: 4))
        #expect(moved.oldValue(of: \.corner) == nil && moved.newValue(of: \.corner) == CGPoint(x: 1, y: 1))
        #expect(moved.oldValue(of: "frame_x") == .double(1))
        #expect(wolves.all.last?.oldValue(of: \.den) == nil && wolves.all.last?.newValue(of: \.den) == .rowID(1))
    }

    @Test func rowsWithoutAnObjectHaveChangedValuesToo() throws {
        let db = try makeDatabase()
        let engines = Department(name: "Engines")
        try db.save([Person(name: "Ada", age: 1, department: engines), Person(name: "Bob", age: 2)])
        let seen = Collected<ObjectChange<Person>>()
        let token = try Person.onChange(withValues: true, in: db) { seen.append($0) }
        defer { token.cancel() }
        try db.update(Person.self).set(\.age, to: \.age + 10).run()
        #expect(seen.all.map { $0.oldValue(of: \.age) } == [1, 2])
        #expect(seen.all.map { $0.newValue(of: \.age) } == [11, 12])
        try db.rawQuery("UPDATE Person SET age = age * 2 WHERE name = 'Bob'")
        #expect(seen.all.last?.oldValue(of: \.age) == 12 && seen.all.last?.newValue(of: \.age) == 24)
        try db.rawQuery("INSERT INTO Person (name, age) VALUES ('Cid', 3), ('Dee', 4)")
        #expect(seen.all.suffix(2).map { $0.newValue(of: \.age) } == [3, 4])
        try db.transaction { _ in
            try db.rawQuery("DELETE FROM Person WHERE name = 'Dee'")
            try db.query(Person.self).where(\.name == "Cid").delete()
        }
        #expect(seen.all.suffix(2).map { $0.oldValue(of: \.name) } == ["Dee", "Cid"])
        // All of them: whole trees are cut off.
        try db.query(Person.self).delete()
        #expect(seen.all.suffix(2).map { $0.kind } == [.delete, .delete])
        #expect(seen.all.suffix(2).map { $0.oldValue(of: \.name) } == ["Ada", "Bob"])
        #expect(seen.all.suffix(2).first?.oldValue(of: \.department) == .rowID(1))
    }

    @Test func whatACascadeTakesAlongHasThem() throws {
        let db = try makeDatabase([Bookcase.self, Tome.self])
        let bookcase = Bookcase(name: "top")
        try db.save([Tome(title: "a", bookcase: bookcase), Tome(title: "b", bookcase: bookcase)])
        let seen = Collected<String>()
        let token = db.onDelete(withValues: true) { change in
            let old = change.oldValue(of: "title") ?? change.oldValue(of: "name")
            seen.append("\(change.entity) \(old.map { "\($0)" } ?? "-")")
        }
        defer { token.cancel() }
        try db.delete(bookcase)
        #expect(seen.all.sorted() == ["Bookcase 'top'", "Tome 'a'", "Tome 'b'"])
    }

    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) func encryptedValuesAreDecrypted() throws
    {
        let options = DatabaseOptions(propertyKey: .key([UInt8](repeating: 1, count: 32)))
        let db = try Database.inMemory(entities: [Ward.Patient.self], options: options)
        let patient = Ward.Patient(name: "Ada", diagnosis: "influenza", age: 36)
        patient.notes = "a duck"
        try db.save(patient)
        let (seen, global) = (Collected<ObjectChange<Ward.Patient>>(), Collected<DatabaseChange>())
        let tokens = [
            try Ward.Patient.onChange(withValues: true, in: db) { seen.append($0) },
            db.onUpdate(withValues: true) { global.append($0) },
        ]
        defer { for token in tokens { token.cancel() } }
        patient.diagnosis = "a cold"
        patient.age = nil
        patient.notes = "two ducks"
        try db.save(patient)
        let change = try #require(seen.all.first)
        #expect(change.oldValue(of: \.diagnosis) == "influenza" && change.newValue(of: \.diagnosis) == "a cold")
        #expect(change.oldValue(of: \.age) == 36 && change.newValue(of: \.age) == nil)
        #expect(change.oldValue(of: \.notes) == "a duck" && change.newValue(of: \.notes) == "two ducks")
        #expect(change.changes.map(\.name) == ["diagnosis", "age", "notes"])
        #expect(change.changes.first?.old == .text("influenza"))
        #expect(global.all.first?.oldValue(of: "diagnosis") == .text("influenza"))
        // Encrypting the same value again is no change.
        patient.diagnosis = "a cold"
        try db.save(patient)
        #expect(seen.all.last?.changes == [])
        // A change may be looked at when its database is closed.
        try db.close()
        #expect(change.oldValue(of: \.diagnosis) == "influenza")
    }
}

@Entity final class Bookcase {
    var name = ""
    @Relationship(inverse: \Tome.bookcase, deleteRule: .cascade) var volumes: ToMany<Tome>
}

@Entity final class Tome {
    var title = ""
    var bookcase: Bookcase?
}
