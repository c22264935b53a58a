import Foundation
import Mako
import Observation
import Testing

// Everything here belongs to the main actor unless it says otherwise: what `@Entity` writes must not.

@Entity final class Chore {
    #Index<Chore>([\.due])
    var title: String = ""
    var due: Date?
    var list: ChoreList?

    func shout() -> String { title.uppercased() }
    func willInsert() -> Bool { !title.isEmpty }
}

@Entity final class ChoreList {
    var name = ""
    @Relationship(inverse: \Chore.list, deleteRule: .cascade) var chores: ToMany<Chore>
}

@Entity(observable: true) final class EggTimer {
    var name = ""
    var minutes = 5
}

@Entity struct Spot {
    var x: Int = 0
    var y: Int = 0
}

extension Spot: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.rename("left", to: "x")
            m.transform("y") { (old: Double) in Int(old) }
            m.version = 1
        }
    }
}

@Suite struct MainActorTests {
    @Test func observableObjectsAreFollowed() {
        let timer = EggTimer(name: "Tea")
        nonisolated(unsafe) var told = 0
        withObservationTracking({ _ = timer.minutes }, onChange: { told += 1 })
        timer.minutes = 3
        timer.minutes = 4
        #expect(told == 1 && timer.minutes == 4)
    }

    private func database() throws -> Database {
        try Database.inMemory(entities: [Chore.self, ChoreList.self, Spot.self])
    }

    @Test func entitiesOfTheMainActorAreStoredAndFound() throws {
        let db = try database()
        let list = ChoreList(name: "home")
        let chore = Chore(title: "wash", list: list)
        try db.save(chore)
        #expect(chore.shout() == "WASH")
        #expect(try list.chores.count() == 1)
        #expect(try db.save(Chore()) == false)
        #expect(try db.query(Chore.self).where(\.title == "wash" && \.list.name == "home").fetch().count == 1)
        var spot = Spot(x: 1, y: 2)
        try db.save(&spot)
        #expect(try db.find(Spot.self, 1)?.y == 2)
        #expect(try db.migrationPlan(entities: [Spot.self]).isEmpty)
        try db.delete(list)
        #expect(try db.query(Chore.self).count() == 0)
    }

    @Test func theyAreUsedElsewhereToo() async throws {
        let db = try database()
        try await db.save(Chore(title: "wash"))
        let titles = try await Task.detached { try await db.query(Chore.self).fetch().map { $0.title } }.value
        #expect(titles == ["wash"])
        #expect(try await db.query(Chore.self).count() == 1)
    }
}
