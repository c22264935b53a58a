import Foundation
import MakoCore
import Testing

/// The async forms answer what the synchronous ones do.
@Suite struct AsyncFormTests {
    @Test func queries() async throws {
        let db = try makeSailors(100)
        let sailors = db.query(Sailor.self).where(\.age < 50)
        #expect(try await sailors.keys().count == 80)
        #expect(try await sailors.explain().contains("age"))
        #expect(try await sailors.orderBy(\.id).batch(10).object(at: 79).name == "s99")
        #expect(try await sailors.groupBy(\.age)[3]?.map(\.name) == ["s3", "s73"])
        #expect(try await sailors.distinct(\.age, .descending).first == 49)
        #expect(try await sailors.groupCount(\.age).filter { $0.count == 2 }.count == 30)
        #expect(try await sailors.groupCount("age % 2").map(\.count) == [40, 40])
        let sum: Int = try await sailors.sum(\.age)
        #expect(sum == (0..<50).reduce(0, +) + (0..<30).reduce(0, +))
        #expect(try await sailors.sum(\.badge) == 0)
        #expect(try await sailors.sum("age * 2") == Double(sum * 2))
        #expect(try await sailors.avg(\.age) == Double(sum) / 80)
        #expect(try await sailors.avg("age + 1") == Double(sum) / 80 + 1)
        #expect(try await sailors.min(\.age) == 0)
        #expect(try await sailors.max(\.age) == 49)
        #expect(try await sailors.min(\.badge) == nil)
        #expect(try await sailors.max(\.badge) == nil)
        #expect(try await db.rawQuery("SELECT name FROM Sailor WHERE age = \(60)").rows == [[.text("s60")]])
        await #expect(throws: MakoError.self) { try await sailors.where(text: "nmae = 1").distinct(\.age) }
    }

    @Test func objects() async throws {
        let db = try makeSailors(3)
        let found = try #require(try await db.find(Sailor.self, 2))
        #expect(try await db.find(Sailor.self, [1, 9, 3]).map(\.name) == ["s0", "s2"])
        #expect(try await db.find(Sailor.self, orNew: 2).name == "s1")
        #expect(try await db.insert(Sailor("new")))
        found.name = "other"
        try await db.refresh(found)
        #expect(found.name == "s1")
        #expect(try await db.exists(found))
        found.ship = Ship(name: "Argo")
        try await db.save(found)
        let again = try #require(try await db.find(Sailor.self, 2))
        #expect(try await again.load(\.ship)?.name == "Argo")
        #expect(try await db.delete([found, Sailor("never stored")]) == 1)
        #expect(try await db.exists(again) == false)
        try await Database.withDefault(db) {
            let third = try await Sailor.first(\.name, equals: "s2")
            #expect(third?.id == 3)
            #expect(try await Sailor.find([1, 3]).count == 2)
            #expect(try await Sailor.find(orNew: 70).id == 70)
        }
        #expect(try await db.query(Sailor.self).fetch().removeAll() == 3)
        try await db.drop(Sailor.self)
        #expect(!db.tables.contains { $0.name == "Sailor" })
    }

    @Test func structs() async throws {
        let db = try Database.inMemory(entities: [Country.self])
        var country = Country(code: "")
        try await db.save(&country)
        #expect(!country.code.isEmpty)
        #expect(try await db.save([Country(code: "a", people: 1), Country(code: "b")]).count == 2)
        var other = Country(code: "a")
        await #expect(throws: MakoError.self) { try await db.insert(&other) }
        other.people = 7
        try await db.save(&other)
        #expect(try await db.find(Country.self, "a")?.people == 7)
        #expect(try await db.find(Country.self, ["b", "x", "a"]).map(\.code) == ["b", "a"])
        try await Database.withDefault(db) {
            var third = Country(code: "c")
            try await third.commit()
            #expect(try await Country.find("c")?.code == "c")
            #expect(try await third.remove())
        }
        #expect(try await db.delete(other))
        #expect(try await db.query(Country.self).count() == 2)
    }

    @Test func relationsAndUnitsOfWork() async throws {
        let db = try makeSailors(3)
        let found = try #require(try await db.find(Sailor.self, 1))
        let ship = Ship(name: "Argo")
        found.ship = ship
        try await db.save(found)
        #expect(try await ship.referencing(Sailor.self).map(\.name) == ["s0"])
        #expect(try await ship.referencedCount() == 1)
        try await Database.withDefault(db) {
            let work = Workspace()
            let all = try await db.query(Sailor.self).orderBy(\.id).fetch(into: work)
            for sailor in all { sailor.age += 100 }
            try await work.commit()
            #expect(work.isEmpty)
            try await work.commit()
        }
        #expect(try await db.query(Sailor.self).where(\.age >= 100).count() == 3)
        #expect(try await db.rawQuery(text: "SELECT name FROM Sailor WHERE age = ?", 100).rows == [[.text("s0")]])
        #expect(try await db.rawQuery(text: "UPDATE Sailor SET age = 1").changedRows == 3)
        let causes = Causes()
        await #expect(throws: Stop.self) {
            try await db.transaction(onRollback: { causes.note("\($0)") }) { _ in throw Stop() }
        }
        #expect(causes.all == ["Stop()"])
        await #expect(throws: MakoError.historyNotKept(path: ":memory:")) { try await db.history(since: nil) }
    }
}

private final class Causes: @unchecked Sendable {
    private let lock = NSLock()
    private var causes: [String] = []
    func note(_ cause: String) { lock.withLock { causes.append(cause) } }
    var all: [String] { lock.withLock { causes } }
}
