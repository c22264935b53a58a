import Foundation
import Mako
import TestHelpers
import Testing

/// The examples of the article `FromSharkORM.md`.
enum SharkGuide {
    static func opened() throws {
        // EXAMPLE FromSharkORM.md
        let db = try Database(named: "myDatabase", entities: [Person.self, Department.self])
        Database.default = db
        // EXAMPLE ends
    }

    // EXAMPLE FromSharkORM.md
    @Entity class Person {
        #Index<Person>([\.name], [\.age])
        var name: String?
        var age = 36
        @Attribute(.unique) var payrollNumber: Int?
        var department: Department?
        @Transient var isSelected = false
    }

    @Entity final class SmallPerson: Person {
        var height = 0.0
    }
    // EXAMPLE ends

    // EXAMPLE FromSharkORM.md
    @Entity final class Department {
        var name: String?
        var location: Location?
        @Relationship(inverse: \Person.department) var people: ToMany<Person>

        func willDelete() -> Bool { (try? people.count) == 0 }
        func didInsert() { log("\(name ?? "") is stored") }
    }

    @Entity final class Location {
        var name: String?
    }
    // EXAMPLE ends

    static func made() throws -> Person {
        // EXAMPLE FromSharkORM.md
        let person = try Person(["Name": "Adrian Herridge", "age": 38])
        // EXAMPLE ends
        return person
    }

    static func written() throws -> Person {
        // EXAMPLE FromSharkORM.md
        let person = Person(name: "Adrian Herridge", age: 38, payrollNumber: 123456)
        person.department = Department(name: "Development")
        try person.commit()  // the department, too
        person.age += 1
        try person.commit()  // writes the age alone
        try person.remove()
        // EXAMPLE ends
        return person
    }

    static func optioned(_ person: Person) throws {
        // EXAMPLE FromSharkORM.md
        person.commitOptions.postCommit = { log("committed") }
        person.commitOptions.commitsChildren = false
        person.commitOptions.raisesEvents = false
        person.commitOptions.resetsAfterCommit = true
        try person.commit()
        // EXAMPLE ends
    }

    static func transacted(_ db: Database, _ isBad: Bool) throws {
        // EXAMPLE FromSharkORM.md
        try db.transaction(onRollback: { log("rolled back: \($0)") }) { tx in
            try Person(name: "Adrian Herridge").commit()
            if isBad { try tx.rollback() }
        }
        // EXAMPLE ends
    }

    static func queried(_ development: Department) throws -> [[Person]] {
        // EXAMPLE FromSharkORM.md
        let all = try Person.query().fetch()
        let first = try Person.query().where("age = ? AND name = ?", 35, "Ada").limit(99).orderBy("name").fetch()
        let second = try Person.query().where("age IN %@", withParameters: [[35, 36]]).orderBy("age DESC").fetch()
        let third = try Person.query().where("department.name = \("Development")").fetch()
        let fourth = try Person.query().where(\.department == development && \.name ~= "%a%").fetch()
        // EXAMPLE ends
        return [all.array, first.array, second.array, third.array, fourth.array]
    }

    static func looked() throws -> (
        Person?, Person, Person?, Int, Int, [String?], GroupedObjects<Int, Person>, [Int]
    ) {
        // EXAMPLE FromSharkORM.md
        let known = try Person.find(42)
        let knownOrNew = try Person.find(orNew: 42)
        let ada = try Person.first(\.name, equals: "Ada")
        let count = try Person.query().count()
        let sum = try Person.query().sum(\.age)
        let names = try Person.query().distinct(\.name)
        let byAge = try Person.query().groupBy(\.age)
        let ids = try Person.query().ids()
        // EXAMPLE ends
        return (known, knownOrNew, ada, count, sum, names, byAge, ids)
    }

    static func fetchedAway(_ db: Database) async throws -> [Person] {
        // EXAMPLE FromSharkORM.md
        let people = try await db.query(Person.self).where(\.age < 18).fetch()
        // EXAMPLE ends
        return people.array
    }

    static func joined(_ db: Database) throws -> ([StoredValue?], RawResults, [Person], [Person]) {
        // EXAMPLE FromSharkORM.md
        let people = try Person.query()
            .joinTo(Department.self, left: "department", target: "id")
            .joinTo(Location.self, left: "Department.location", target: "id")
            .where("Department.name IS NOT NULL").orderBy("Location.name DESC")
            .fetch()
        let towns = people.map { $0.joinedResults["Location.name"] }
        let rows = try db.rawQuery(
            "SELECT name, department.name, department.location.name FROM Person WHERE age > \(30)")
        let homeless = try Person.query().where("department.location IS NULL").orderBy("department.name").fetch()
        let ids = try Department.query().where("location.name = 'Alton'").ids()
        let inAlton = try Person.query().where("department IN \(ids)").fetch()
        // EXAMPLE ends
        return (towns, rows, homeless.array, inAlton.array)
    }

    static func removed() throws -> (Int, Int) {
        // EXAMPLE FromSharkORM.md
        let objects = try Person.query().where("age < 18").fetch().removeAll()
        let rows = try Person.query().where("age > 100").delete()  // makes no objects where the class has no hooks
        // EXAMPLE ends
        return (objects, rows)
    }

    static func watched(_ ada: Person) throws -> [ChangeToken] {
        // EXAMPLE FromSharkORM.md
        let forClass = try Person.onChange(.insert, .update) { event in
            log("\(event.kind) of \(event.object?.name ?? ""): \(event.changedProperties)")
        }
        let forObject = try ada.onChange { event in log("Ada: \(event.kind)") }
        // EXAMPLE ends
        return [forClass, forObject]
    }

    static func copied(_ ada: Person) throws -> (Person, Person, [String: StoredValue]) {
        // EXAMPLE FromSharkORM.md
        let twin = ada.clone()  // a new object with the same values
        let same = ada.copy()  // a second object for the same row
        let values = ada.asDictionary  // also what Person(values) takes
        // EXAMPLE ends
        return (twin, same, values)
    }

    static func imported(_ json: Data, _ db: Database) throws -> Int {
        // EXAMPLE FromSharkORM.md
        let rows = try JSONSerialization.jsonObject(with: json) as? [[String: Any]] ?? []
        try db.save(try rows.map { try Person($0) })
        // EXAMPLE ends
        return rows.count
    }

    @TaskLocal static var notified: Collected<String>?
    static func log(_ text: String) { notified?.append(text) }
}

@Suite struct SharkORMGuideTests {
    private typealias E = SharkGuide
    private let db: Database

    init() throws { db = try Database.inMemory(entities: [E.Person.self, E.SmallPerson.self, E.Department.self]) }

    private func within<R>(_ body: () throws -> R) rethrows -> R { try Database.withDefault(db) { try body() } }

    @Test func objectsAreMadeAndWritten() throws {
        let person = try E.made()
        #expect(person.name == "Adrian Herridge" && person.age == 38 && person.id == nil)
        let written = try within { try E.written() }
        #expect(written.age == 39 && written.department?.id == 1)
        #expect(throws: MakoError.deleted(entity: "Person", key: "1")) { try written.commit() }
        let small = E.SmallPerson(height: 1.2)
        #expect(small.age == 36)
        try db.save(small)
        #expect(try db.query(E.Person.self).count() == 0)
        #expect(try db.query(E.SmallPerson.self).where("age = 36 AND height > 1").count() == 1)
    }

    @Test func optionsWorkInsideTransactionsToo() throws {
        let notified = Collected<String>()
        try E.$notified.withValue(notified) {
            try within {
                let events = try E.Person.onChange { _ in notified.append("event") }
                let person = E.Person(name: "Ada", department: E.Department(name: "Development"))
                try db.transaction { _ in
                    try E.optioned(person)
                    #expect(notified.all.isEmpty)
                }
                #expect(notified.all == ["committed"] && person.department?.id == nil)
                try person.commit()
                #expect(notified.all.sorted() == ["Development is stored", "committed", "event"])
                events.cancel()
            }
        }
    }

    @Test func transactionsAndTriggers() throws {
        let notified = Collected<String>()
        try E.$notified.withValue(notified) {
            try within {
                try E.transacted(db, false)
                #expect(throws: MakoError.rolledBack) { try E.transacted(db, true) }
                #expect(try db.query(E.Person.self).count() == 1)
                let development = E.Department(name: "Development")
                let ada = E.Person(name: "Ada", department: development)
                try ada.commit()
                // The hook of a department that has people refuses.
                #expect(throws: MakoError.vetoed(entity: "Department", hook: "willDelete")) {
                    try development.remove()
                }
                try ada.remove()
                #expect(try development.remove())
            }
        }
        #expect(notified.all == ["rolled back: \(MakoError.rolledBack)", "Development is stored"])
    }

    @Test func queriesAndLookUps() throws {
        let development = E.Department(name: "Development", location: E.Location(name: "Alton"))
        let sales = E.Department(name: "Sales")
        try db.save([
            E.Person(name: "Ada", age: 35, department: development), E.Person(name: "Bob", age: 36, department: sales),
            E.Person(name: "Eve", age: 12),
        ])
        try within {
            let found = try E.queried(development).map { $0.map { $0.name ?? "" } }
            #expect(found == [["Ada", "Bob", "Eve"], ["Ada"], ["Bob", "Ada"], ["Ada"], ["Ada"]])
            let (known, knownOrNew, ada, count, sum, names, byAge, ids) = try E.looked()
            #expect(known == nil && knownOrNew.id == 42 && ada?.age == 35 && count == 3 && sum == 83)
            #expect(names == ["Ada", "Bob", "Eve"] && byAge[12]?.first?.name == "Eve" && ids == [1, 2, 3])
            let (towns, rows, homeless, inAlton) = try E.joined(db)
            #expect(towns == [.text("Alton"), .null])
            #expect(rows.rows.contains([.text("Ada"), .text("Development"), .text("Alton")]) && rows.rowCount == 2)
            #expect(homeless.map(\.name) == ["Eve", "Bob"] && inAlton.map(\.name) == ["Ada"])
            let (objects, others) = try E.removed()
            #expect(objects == 1 && others == 0)
        }
    }

    @Test func fetchingAway() async throws {
        try await db.save(E.Person(name: "Eve", age: 12))
        #expect(try await E.fetchedAway(db).map(\.name) == ["Eve"])
    }

    @Test func eventsAndCopies() throws {
        let notified = Collected<String>()
        try E.$notified.withValue(notified) {
            try within {
                let ada = E.Person(name: "Ada")
                try ada.commit()
                let tokens = try E.watched(ada)
                let other = try #require(try E.Person.find(1))
                other.age = 40
                try other.commit()
                #expect(notified.all == ["update of Ada: [\"age\"]", "Ada: update"])
                withExtendedLifetime(tokens) {}
                let (twin, same, values) = try E.copied(other)
                #expect(twin.id == nil && same.isSame(as: ada) && values["age"] == .integer(40))
            }
        }
    }

    @Test func rowsOfJSONBecomeObjects() throws {
        let json = Data(
            #"[{"Id": 7, "name": "Ada", "age": 36, "payrollNumber": null}, {"name": "Bob", "x": [1]}]"#.utf8)
        #expect(try E.imported(json, db) == 2)
        #expect(try db.query(E.Person.self).fetch().map(\.name) == ["Ada", "Bob"])
        #expect(try db.find(E.Person.self, 7)?.age == 36)
    }
}
