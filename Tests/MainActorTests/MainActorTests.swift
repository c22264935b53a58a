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

enum Effort: String { case little, much }

/// Types that are encoded to rows and decoded on other threads are `nonisolated`; the compiler requires it.
nonisolated struct Tool: Codable, Equatable {
    var name = ""
}

struct Minutes: StorableValue {
    var count: Int
    init(_ count: Int) { self.count = count }

    static var columnType: ColumnType { .integer }
    var stored: StoredValue { .integer(Int64(count)) }
    init?(stored: StoredValue) {
        guard case .integer(let count) = stored else { return nil }
        self.count = Int(count)
    }
}

@Entity class Project {
    var name = ""
    var effort: Effort = .little
    var wish: Effort?
    var tool = ""
    var tools: [Tool] = []
    var best: Tool?
    var planned: Minutes = Minutes(5)
    var taken: Minutes?
    var tags: Set<String> = []
    @Relationship(.owned) var parts: [ProjectPart] = []
}

@Entity final class GardenProject: Project {
    var isWet = false
    var weather: Effort?
}

@Entity final class ProjectPart {
    var name = ""
}

@Entity public final class Shown {
    public var title = ""
    @Attribute(.primaryKey) public var code: String = ""
}

@Entity public struct Mark {
    public var place: Int = 0
}

enum Outer {
    @Entity final class Inner {
        var name = ""
        var effort: Effort?
    }

    @Entity struct Plain {
        var effort: Effort
        var tool: Tool = Tool()
    }
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

final class Board {
    var titles: [String] = []
}

@Suite struct MainActorTests {
    @Test func observableObjectsAreFollowed() {
        let timer = EggTimer(name: "Tea")
        nonisolated(unsafe) var notified = 0
        withObservationTracking({ _ = timer.minutes }, onChange: { notified += 1 })
        timer.minutes = 3
        timer.minutes = 4
        #expect(notified == 1 && timer.minutes == 4)
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
        #expect(try list.chores.count == 1)
        #expect(throws: MakoError.self) { try db.save(Chore()) }
        #expect(try db.query(Chore.self).where(\.title == "wash" && \.list.name == "home").fetch().count == 1)
        var spot = Spot(x: 1, y: 2)
        try db.save(&spot)
        #expect(try db.find(Spot.self, 1)?.y == 2)
        #expect(try db.migrationPlan(entities: [Spot.self]).isEmpty)
        try db.delete(list)
        #expect(try db.query(Chore.self).count() == 0)
    }

    @Test func propertiesOfAllKinds() async throws {
        let db = try Database.inMemory(
            entities: [Project.self, GardenProject.self, ProjectPart.self, Shown.self, Mark.self, Outer.Inner.self])
        let garden = GardenProject(name: "pond")
        garden.effort = .much
        garden.wish = .little
        garden.tools = [Tool(name: "spade")]
        garden.best = Tool(name: "spade")
        garden.planned = Minutes(90)
        garden.taken = Minutes(120)
        garden.tags = ["deep"]
        garden.parts = [ProjectPart(name: "hole"), ProjectPart(name: "water")]
        garden.weather = .much
        try await db.save(garden)
        let id = try #require(garden.id)
        let read = try await Task.detached {
            let read = try #require(try await db.find(GardenProject.self, id))
            #expect(read.effort == .much && read.wish == .little && read.weather == .much)
            #expect(read.tools == [Tool(name: "spade")] && read.best == Tool(name: "spade"))
            #expect(read.parts.map { $0.name } == ["hole", "water"])
            return read
        }.value
        #expect(read.planned.count == 90 && read.taken?.count == 120 && read.tags == ["deep"])
        #expect(try await db.query(GardenProject.self).where(\.effort == .much && \.isWet == false).count() == 1)
        #expect(try await db.query(Project.self).includingSubclasses().fetch().count == 1)
        read.parts.removeLast()
        try await db.save(read)
        #expect(try await db.query(ProjectPart.self).count() == 1)
        try await db.save(Shown(title: "a", code: "b"))
        #expect(try await db.find(Shown.self, "b")?.title == "a")
        try await db.save([Mark(place: 3)])
        try await db.save(Outer.Inner(name: "in", effort: .much))
        #expect(try await db.query(Outer.Inner.self).where(\.effort == .much).first()?.name == "in")
        try await db.save([Outer.Plain(effort: .much, tool: Tool(name: "rake"))])
        #expect(try await db.query(Outer.Plain.self).fetch().first?.tool.name == "rake")
    }

    /// State of the main actor, changed by a handler of it.
    @Test func handlersMayUseWhatBelongsToTheMainActor() async throws {
        let db = try database()
        let board = Board()
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let token = try Chore.onChange(.insert, in: db, on: MainActor.shared) { change in
            board.titles.append(change.object?.title ?? "")
            continuation.yield(board.titles.joined(separator: " "))
        }
        for title in ["wash", "dry", "fold"] { try await db.save(Chore(title: title)) }
        for await titles in stream where titles.hasSuffix("fold") { break }
        #expect(board.titles == ["wash", "dry", "fold"])
        token.cancel()
    }

    @Test func theyAreUsedElsewhereToo() async throws {
        let db = try database()
        try await db.save(Chore(title: "wash"))
        let titles = try await Task.detached { try await db.query(Chore.self).fetch().map { $0.title } }.value
        #expect(titles == ["wash"])
        #expect(try await db.query(Chore.self).count() == 1)
    }
}
