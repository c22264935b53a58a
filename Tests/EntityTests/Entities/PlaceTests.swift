import Mako
import Testing

/// Types with spatial and with partial indexes.
enum PlaceModels {
    @Entity final class Anchorage {
        var name = ""
        @Attribute(.spatial) var place = Coordinate(latitude: 0, longitude: 0)
        var buoy: Coordinate?
        var port: Port?
    }

    @Entity final class Port {
        @Attribute(.column("at"), .spatial) var place = Coordinate(latitude: 0, longitude: 0)
    }

    @Entity final class Errand {
        #Index<Errand>([\.due], where: "isDone = FALSE AND due IS NOT NULL")
        #Unique<Errand>([\.owner], where: "NOT isDone")
        var title = ""
        var due: Int?
        @Attribute(.column("finished")) var isDone = false
        var owner: String?
    }

    @Entity final class WrongErrand {
        #Index<WrongErrand>([\.due], where: "duee > 1")
        var due = 0
    }
}

@Suite struct PlaceTests {
    private typealias M = PlaceModels

    @Test func nearObjectsAreFound() throws {
        let db = try Database.inMemory(entities: [M.Anchorage.self])
        let suva = Coordinate(latitude: -18.14, longitude: 178.44)
        for (number, longitude) in [178.5, -179.9, 170, 20].enumerated() {
            let anchorage = M.Anchorage(name: "\(number)", place: Coordinate(latitude: -18, longitude: longitude))
            anchorage.buoy = number == 1 ? suva : nil
            anchorage.port = M.Port(place: Coordinate(latitude: -18, longitude: longitude))
            try db.save(anchorage)
        }
        let query = db.query(M.Anchorage.self)
        // One of them is behind the 180th meridian.
        let near = query.where(\.place[distanceTo: suva] < 200_000)
        #expect(try Set(near.fetch().map(\.name)) == ["0", "1"])
        #expect(try near.explain().contains("using index near place"))
        let nearest = query.orderBy(\.place[distanceTo: suva]).limit(3)
        #expect(try nearest.fetch().map(\.name) == ["0", "1", "2"])
        #expect(try nearest.explain().contains("nearest in Anchorage"))
        #expect(try query.where("distance(place, ?, ?) BETWEEN 1 AND 50000", -18.14, 178.44).count() == 1)
        #expect(try query.where(\.buoy[distanceTo: suva] <= 1).fetch().map(\.name) == ["1"])
        #expect(try query.where(\.buoy[distanceTo: suva] == nil).count() == 3)
        #expect(try query.where(\.port.place[distanceTo: suva] < 200_000).count() == 2)
        #expect(try db.query(M.Port.self).where(\.place[distanceTo: suva] < 200_000).explain().contains("near at"))
        #expect(try query.min(\.place[distanceTo: suva]).map { $0 < 20_000 } == true)
        // An index of a coordinate without a place.
        #expect(try query.orderBy(\.buoy[distanceTo: suva]).limit(4).fetch().last?.name == "1")
    }

    @Test func partialIndexesOfTypes() throws {
        let db = try Database.inMemory(entities: [M.Errand.self])
        try db.save([
            M.Errand(title: "a", due: 1, isDone: true, owner: "Ada"), M.Errand(title: "b", due: 2, owner: "Ada"),
            M.Errand(title: "c", owner: "Bob"),
        ])
        let open = db.query(M.Errand.self).where(\.isDone == false && \.due > 1)
        #expect(try open.explain().contains("using index due where"))
        #expect(try open.fetch().map(\.title) == ["b"])
        #expect(throws: MakoError.self) { try db.save(M.Errand(title: "d", owner: "Bob")) }
        let done = try #require(try db.query(M.Errand.self).where(\.title == "b").first())
        done.isDone = true
        try done.commit()
        #expect(try open.count() == 0)
        try db.save(M.Errand(title: "d", owner: "Ada"))
        // The stored schema equals the declared one: nothing is rebuilt.
        #expect(try db.query(M.Errand.self).where("finished = FALSE AND due IS NOT NULL").count() == 0)
    }

    @Test func aWrongConditionIsRefusedAtOpening() {
        #expect {
            try Database.inMemory(entities: [M.WrongErrand.self])
        } throws: { "\($0)".contains("did you mean due?") }
    }
}
