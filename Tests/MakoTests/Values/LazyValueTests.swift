import Foundation
import Mako
import TestHelpers
import Testing

/// Texts and blobs are decoded at the first access, without a visible difference.
@Suite struct LazyValueTests {
    private let long = String(repeating: "naïve 🦈 ", count: 500)

    private func rows(_ db: Database, _ count: Int) throws {
        try db.save((0..<count).map { Person(name: $0 % 3 == 0 ? nil : "name \($0)", age: $0, email: "\($0)@x.org") })
    }

    @Test func valuesAreThoseOfTheFetch() throws {
        let db = try makeDatabase()
        try rows(db, 300)
        let people = try db.query(Person.self).fetch()
        try db.transaction { _ in
            for person in try db.query(Person.self).fetch() {
                person.name = "other"
                person.email = "other"
                try db.save(person)
            }
        }
        #expect(people.map(\.email) == (0..<300).map { "\($0)@x.org" })
        #expect(people.map(\.name) == (0..<300).map { $0 % 3 == 0 ? nil : "name \($0)" })
        #expect(people.map(\.email).last == "299@x.org")
        try db.delete(Array(people))
        #expect(people[7].name == "name 7")
    }

    @Test func aKeptObjectOutlivesItsFetchAndItsDatabase() throws {
        var kept: [Person] = []
        do {
            let db = try makeDatabase()
            try rows(db, 2000)
            kept.append(try db.query(Person.self).fetch()[1000])
            kept.append(try #require(try db.find(Person.self, 11)))
            try db.read {
                for id in 1...500 { if let each = try Person.find(id), id == 250 { kept.append(each) } }
            }
            kept += try db.find(Person.self, [5, 6])
            try db.close()
        }
        #expect(kept.map(\.email) == ["1000@x.org", "10@x.org", "249@x.org", "4@x.org", "5@x.org"])
        #expect(kept.map(\.name) == ["name 1000", "name 10", nil, "name 4", "name 5"])
    }

    @Test func rowsOfAnySize() throws {
        let db = try makeDatabase([Everything.self])
        for size in [0, 1, 100, 5000, 40_000] {
            let object = Everything()
            object.text = String(long.prefix(size))
            object.data = Data(repeating: 7, count: size)
            object.bytes = [UInt8](repeating: 9, count: size / 2)
            object.optionalData = size == 1 ? nil : Data(repeating: 1, count: size)
            try db.save(object)
        }
        for (object, size) in zip(try db.query(Everything.self).orderBy("id").fetch(), [0, 1, 100, 5000, 40_000]) {
            #expect(object.text == String(long.prefix(size)))
            #expect(object.data.count == size && object.data.allSatisfy { $0 == 7 })
            #expect(object.bytes == [UInt8](repeating: 9, count: size / 2))
            #expect(object.optionalData == (size == 1 ? nil : Data(repeating: 1, count: size)))
        }
    }

    @Test func anAssignmentBeforeTheFirstReadIsRolledBack() throws {
        let db = try makeDatabase()
        try db.save(Person(name: "Ada", email: "ada"))
        let read = try #require(try db.find(Person.self, 1))
        #expect(throws: Refused()) {
            try db.transaction { _ in
                read.name = nil
                read.email = "lost"
                #expect(read.name == nil)
                #expect(read.email == "lost")
                try db.save(read)
                throw Refused()
            }
        }
        #expect(read.name == "Ada")
        #expect(read.email == "ada")
        #expect(!read.isDirty)
        read.email = "kept"
        try db.save(read)
        #expect(try db.find(Person.self, 1)?.email == "kept")
        #expect(try db.find(Person.self, 1)?.name == "Ada")
    }

    @Test func refreshReplacesWhatWasAndWhatWasNotRead() throws {
        let db = try makeDatabase()
        try db.save(Person(name: "Ada", email: "ada"))
        let read = try #require(try db.find(Person.self, 1))
        let other = try #require(try db.find(Person.self, 1))
        #expect(read.name == "Ada")
        other.name = "Countess"
        other.email = "countess"
        try db.save(other)
        for _ in 0..<2 {
            try db.refresh(read)
            #expect(read.name == "Countess")
            #expect(read.email == "countess")
        }
        read.name = "forgotten"
        try db.refresh(read)
        #expect(read.name == "Countess")
    }

    @Test func anUnreadObjectIsStoredWhole() throws {
        let db = try makeDatabase()
        try db.save(Person(name: "Ada", age: 36, email: long))
        let read = try #require(try db.find(Person.self, 1))
        try db.delete(try #require(try db.find(Person.self, 1)))
        read.age = 37
        try db.save(read)
        let again = try #require(try db.find(Person.self, 1))
        #expect(again.name == "Ada")
        #expect(again.email == long)
        #expect(again.age == 37)
        #expect("\(try #require(try db.find(Person.self, 1)))".contains("'Ada'"))
    }

    @Test func textKeysOfClasses() throws {
        let db = try makeDatabase([Label.self])
        let red = Label(text: "red", note: "a colour", uses: 3)
        let nameless = Label()
        try db.save([red, nameless])
        #expect(nameless.text.count == 36)
        #expect(nameless.id == nameless.text)
        let text = nameless.text
        nameless.note = "given"
        try db.save(nameless)
        #expect(nameless.text == text)
        #expect(try db.find(Label.self, text)?.note == "given")
        let read = try #require(try db.find(Label.self, "red"))
        read.uses = .max
        try db.save(read)
        #expect(try db.query(Label.self).orderBy(\.text).keys().count == 2)
        #expect(try db.find(Label.self, "red")?.uses == .max)
        let all = try db.query(Label.self).where(\.note == "a colour").fetch()
        #expect(all.map(\.id) == ["red"])
        // Another key is another row.
        all[0].text = "crimson"
        try db.save(all[0])
        #expect(try db.find(Label.self, "crimson")?.note == "a colour")
        #expect(try db.query(Label.self).count() == 3)
    }
}
