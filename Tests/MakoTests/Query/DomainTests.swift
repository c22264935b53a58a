import Mako
import TestHelpers
import Testing

@Suite struct DomainTests {
    private func makeTwo() throws -> Database {
        let db = try makeDatabase()
        try db.save([Person(name: "Ada", age: 1), Person(name: "Bob", age: 2)])
        return db
    }

    @Test func siblingsInADomainTakeOverWhatIsCommitted() throws {
        let db = try makeTwo()
        let screen = ObjectDomain(db)
        let other = ObjectDomain(db)
        let list = try db.query(Person.self).orderBy(\.name).domain(screen).fetch()
        let elsewhere = try db.query(Person.self).domain(other).fetch()
        let loose = try #require(try db.find(Person.self, 1))
        let detail = try #require(try db.find(Person.self, 1))
        screen.add(detail)
        detail.age = 10
        try db.save(detail)
        #expect(list[0].age == 10)
        #expect(list[1].age == 2)
        #expect(elsewhere[0].age == 10)
        #expect(loose.age == 1)
        // An instance outside is as good as one inside.
        loose.age = 20
        try db.save(loose)
        #expect(list[0].age == 20 && detail.age == 20)
    }

    @Test func commitsAreTakenOverWhateverTheThreadLooksAt() throws {
        let db = try makeTwo()
        let screen = ObjectDomain(db)
        let list = try db.query(Person.self).domain(screen).fetch()
        let other = try #require(try db.find(Person.self, 1))
        try db.read {
            // The read has a snapshot of before the commit.
            let count = try db.query(Person.self).count()
            #expect(count == 2)
            other.age = 70
            let committed = ThreadRun { _ = try? db.save(other) }
            committed.wait()
        }
        #expect(list[0].age == 70)
        try db.transaction(durability: .async(maxDelay: .milliseconds(20))) { _ in
            other.age = 71
            try db.save(other)
        }
        #expect(list[0].age == 71)
        // An object of another database with the same key is none of its members.
        let elsewhere = try makeTwo()
        let stranger = try #require(try elsewhere.find(Person.self, 1))
        screen.add(stranger)
        other.age = 72
        try db.save(other)
        #expect(stranger.age == 1)
    }

    @Test func changesOfOnesOwnAreKept() throws {
        let db = try makeTwo()
        let screen = ObjectDomain(db)
        let list = try db.query(Person.self).domain(screen).fetch()
        let other = try #require(try db.find(Person.self, 1))
        list[0].name = "Adele"
        other.age = 50
        try db.save(other)
        #expect(list[0].name == "Adele")
        #expect(list[0].age == 1)
        try db.save(list[0])
        let stored = try #require(try db.find(Person.self, 1))
        #expect(stored.name == "Adele")
        #expect(stored.age == 50)
    }

    @Test func aMemberThatIsSavedUnderAnotherKeyStays() throws {
        let db = try makeDatabase([Clasp.self])
        try db.save([Clasp(code: "a", n: 1), Clasp(code: "b", n: 2)])
        let screen = ObjectDomain(db)
        let list = try db.query(Clasp.self).orderBy(\.n).domain(screen).fetch()
        list[0].code = "c"
        try db.save(list[0])
        let other = try #require(try db.find(Clasp.self, "c"))
        other.n = 10
        try db.save(other)
        #expect(list.map(\.n) == [10, 2])
        // Two members exchange their keys.
        try db.transaction { _ in
            for (place, code) in [(0, "d"), (1, "c"), (0, "b")] {
                list[place].code = code
                try db.save(list[place])
            }
        }
        let second = try #require(try db.find(Clasp.self, "c"))
        second.n = 20
        try db.save(second)
        #expect(list.map(\.n) == [10, 20])
    }

    @Test func theDomainComesBeforeHandlersAndRetainsNoObject() throws {
        let db = try makeTwo()
        let seen = Collected<Int>()
        var objects: Results<Person>? = nil
        let screen = ObjectDomain(db)
        objects = try db.query(Person.self).domain(screen).fetch()
        let shown = try #require(objects?.first)
        let watching = try Person.onChange(in: db) { _ in seen.append(shown.age) }
        defer { watching.cancel() }
        let other = try #require(try db.find(Person.self, 1))
        other.age = 7
        try db.save(other)
        #expect(seen.all == [7])
        weak let second = objects?[1]
        #expect(second != nil)
        objects = nil
        #expect(second == nil)
        try db.delete(other)
        #expect(shown.age == 7)
    }

    @Test func anObjectKeepsItselfFresh() throws {
        let db = try makeTwo()
        let mine = try #require(try db.find(Person.self, 1))
        let seen = Collected<Int>()
        let token = try mine.onChange(refreshing: true) { [weak mine] _ in seen.append(mine?.age ?? -1) }
        defer { token.cancel() }
        let other = try #require(try db.find(Person.self, 1))
        other.age = 30
        try db.save(other)
        mine.age = 31
        try db.save(mine)
        mine.email = "not yet"
        other.age = 32
        try db.save(other)
        #expect(seen.all == [30, 31, 31])
        try db.delete(other)
        #expect(seen.all == [30, 31, 31, 31])
    }

    @Test func childrenAndReferrersAreNotified() throws {
        let db = try makeDatabase()
        let seen = Collected<String>()
        let tokens = [
            db.onInsert { seen.append("insert \($0.entity)") }, db.onUpdate { seen.append("update \($0.entity)") },
            db.onDelete { seen.append("delete \($0.entity)") },
        ]
        defer { for token in tokens { token.cancel() } }
        let ada = Person(name: "Ada", department: Department(name: "Engines", location: Location(name: "London")))
        try db.save(ada)
        #expect(seen.all.sorted() == ["insert Department", "insert Location", "insert Person"])
        // Objects that refer to a removed one are notified, too.
        try db.delete(try #require(ada.department))
        #expect(seen.all.suffix(2).sorted() == ["delete Department", "update Person"])
    }
}
