import Foundation
import Mako
import TestHelpers
import Testing

/// The examples of the article `FromRealm.md`.
enum RealmGuide {
    // EXAMPLE FromRealm.md
    @Entity final class Person {
        @Attribute(.primaryKey) var id = UUID()
        @Attribute(.indexed) var name = ""
        var age = 0
        var dogs: [Dog] = []
        var tags: Set<String> = []
    }

    @Entity final class Dog {
        var name = ""
        var age = 0
        @Relationship(inverse: \Person.dogs) var owners: ToMany<Person>
    }
    // EXAMPLE ends

    static func open(_ path: String) throws -> Database {
        // EXAMPLE FromRealm.md
        let db = try Database(at: path, entities: [Person.self, Dog.self])
        let scratch = try Database.inMemory(entities: [Person.self, Dog.self])
        // EXAMPLE ends
        try scratch.close()
        return db
    }

    static func written(_ db: Database) throws -> Person {
        // EXAMPLE FromRealm.md
        let person = Person(name: "Ada", age: 36, tags: ["maths"])
        try db.transaction { _ in
            person.dogs.append(Dog(name: "Rex", age: 3))
            try db.save(person)  // the dog, too
        }
        person.age += 1
        try db.save(person)
        // EXAMPLE ends
        return person
    }

    static func queried(_ db: Database, _ person: Person) throws -> ([Person], Person?, Int, [Dog]) {
        // EXAMPLE FromRealm.md
        let adults = try db.query(Person.self).where(\.age > 17 && \.name ~= "a%").orderBy(\.name).fetch()
        let found = try db.find(Person.self, person.id)
        let owners = try db.query(Person.self).where("ANY dogs.age > \(2) AND dogs.@count < \(5)").count()
        let dogs = try db.query(Dog.self).where("ANY owners.name = \("Ada")").fetch()
        // EXAMPLE ends
        return (adults.array, found, owners, dogs.array)
    }

    static func observed(_ db: Database, _ show: ([String]) -> Void, _ changed: @escaping @Sendable () -> Void) throws
        -> ChangeToken
    {
        // EXAMPLE FromRealm.md
        let live = db.query(Person.self).orderBy(\.name).observe(on: .main) { outcome in
            if case .success(let difference) = outcome { print(difference.insertions, difference.updates) }
        }
        let token = try Person.onChange(.update, in: db) { change in
            if change.changedProperties.contains("age") { changed() }
        }
        // EXAMPLE ends
        _ = live
        return token
    }

    static func removed(_ db: Database, _ person: Person) throws -> Int {
        // EXAMPLE FromRealm.md
        try db.delete(person)
        let removed = try db.query(Dog.self).where(\.age > 20).delete()
        // EXAMPLE ends
        return removed
    }
}

@Suite struct RealmGuideExampleTests {
    @Test func theGuideFromRealmRuns() throws {
        try withTemporaryFile { path in
            let db = try RealmGuide.open(path)
            let person = try RealmGuide.written(db)
            let (adults, found, owners, dogs) = try RealmGuide.queried(db, person)
            #expect(adults.map(\.age) == [37] && found?.tags == ["maths"] && owners == 1)
            #expect(dogs.map(\.name) == ["Rex"])
            let changes = Collected<Int>()
            let token = try RealmGuide.observed(db, { _ in }, { changes.append(1) })
            person.age = 40
            try db.save(person)
            #expect(changes.all.count == 1)
            token.cancel()
            #expect(try RealmGuide.removed(db, person) == 0)
            #expect(try db.query(RealmGuide.Person.self).count() == 0)
            try db.close()
        }
    }
}
