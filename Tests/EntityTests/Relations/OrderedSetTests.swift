#if OrderedCollections
    import Foundation
    import Mako
    import OrderedCollections
    import Testing

    enum Mood: String, Codable, CaseIterable { case calm, wild, sad }

    /// Equal by what it is called, whichever object it is.
    @Entity final class Stop: Hashable {
        var name = ""
        @Relationship(inverse: \Route.stops) var routes: ToMany<Route>

        static func == (left: Stop, right: Stop) -> Bool { left === right }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    @Entity final class Route {
        var name = ""
        var stops: OrderedSet<Stop> = []
        var detour: OrderedSet<Stop>?
        var byDay: [String: OrderedSet<Stop>] = [:]
        var legs: [OrderedCollections.OrderedSet<Stop>] = []
        var tags: OrderedSet<String> = []
        var moods: OrderedSet<Mood> = [.calm]
        var numbers: OrderedSet<Int>?
        var tagsByDay: [String: OrderedSet<String>] = [:]
    }

    @Entity struct Leaflet {
        var title = ""
        var words: OrderedSet<String> = []
    }

    @Suite struct OrderedSetTests {
        let db: Database

        init() throws { db = try Database.inMemory(entities: [Route.self, Stop.self, Leaflet.self]) }

        private func stops(_ names: String...) -> [Stop] { names.map { Stop(name: $0) } }

        @Test func valuesKeepTheirOrder() throws {
            let route = Route(name: "a", tags: ["night", "fast", "bus"], moods: [.wild, .calm], numbers: [3, 1, 2])
            route.tagsByDay = ["mon": ["z", "a"], "tue": []]
            try db.save(route)
            let read = try #require(try db.find(Route.self, 1))
            #expect(Array(read.tags) == ["night", "fast", "bus"])
            #expect(Array(read.moods) == [.wild, .calm])
            #expect(read.numbers == [3, 1, 2])
            #expect(read.tagsByDay == ["mon": ["z", "a"], "tue": []])
            // Another order is another value.
            read.tags.sort()
            read.numbers = nil
            try db.save(read)
            #expect(try db.find(Route.self, 1).map { Array($0.tags) } == ["bus", "fast", "night"])
            #expect(try db.find(Route.self, 1)?.numbers == nil)
            var leaflet = Leaflet(title: "x", words: ["b", "a"])
            try db.save(&leaflet)
            #expect(try db.query(Leaflet.self).first()?.words == ["b", "a"])
        }

        @Test func objectsKeepTheirOrderAndAreUnique() throws {
            let all = stops("Kiel", "Plön", "Eutin")
            let route = Route(name: "a", stops: [all[2], all[0], all[1], all[0]])
            #expect(route.stops.count == 3)
            try db.save(route)
            let read = try #require(try db.find(Route.self, 1))
            #expect(read.stops.map(\.name) == ["Eutin", "Kiel", "Plön"])
            #expect(db.metrics.lazyLoads == 1)
            #expect(try db.query(Stop.self).count() == 3)

            read.stops.remove(read.stops[0])
            read.stops.append(Stop(name: "Lübeck"))
            read.stops.swapAt(0, 2)
            try db.save(read)
            #expect(try db.find(Route.self, 1)?.stops.map(\.name) == ["Lübeck", "Plön", "Kiel"])
        }

        @Test func twoObjectsOfOneRowAreOneMember() throws {
            let stop = Stop(name: "Kiel")
            try db.save(stop)
            let twin = try #require(try db.find(Stop.self, 1))
            let route = Route(name: "twins", stops: [stop, twin])
            #expect(route.stops.count == 2)
            try db.save(route)
            #expect(try db.find(Route.self, 1)?.stops.count == 1)
            #expect(try db.query(Route.self).where(\.stops.count == 1).count() == 1)
        }

        @Test func optionalsArraysAndDictionariesMayHoldThem() throws {
            let all = stops("a", "b", "c")
            let route = Route(name: "forms")
            route.byDay = ["mon": [all[1], all[0]], "": []]
            route.legs = [[all[2], all[0]], [], [all[1]]]
            try db.save(route)
            let read = try #require(try db.find(Route.self, 1))
            #expect(read.byDay.mapValues { $0.map(\.name) } == ["mon": ["b", "a"], "": []])
            #expect(read.legs.map { $0.map(\.name) } == [["c", "a"], [], ["b"]])
            // One object for each row, whatever property it came by.
            #expect(read.legs[0][1] === read.byDay["mon"]?[1])
            #expect(read.detour == nil)
            read.detour = []
            try db.save(read)
            #expect(try db.find(Route.self, 1)?.detour?.isEmpty == true)
            read.detour = [read.legs[0][0]]
            try db.save(read)
            #expect(try db.find(Route.self, 1)?.detour?.map(\.name) == ["c"])
        }

        @Test func conditionsTreatThemAsArrays() throws {
            let all = stops("Kiel", "Plön", "Eutin")
            try db.save([
                Route(name: "a", stops: [all[0], all[1]], tags: ["fast", "night"]),
                Route(name: "b", stops: [all[2]], tags: ["slow"]), Route(name: "c"),
            ])
            func names(_ text: WhereText) throws -> [String] {
                try db.query(Route.self).where(text).orderBy(\.name).fetch().map(\.name)
            }
            #expect(try names("ANY tags = 'night'") == ["a"])
            #expect(try names("tags.@count > 1") == ["a"])
            #expect(try names("ANY stops.name = 'Eutin'") == ["b"])
            #expect(try names("stops.@count = 0") == ["c"])
            let query = db.query(Route.self).orderBy(\.name)
            #expect(try query.where(.contains(\.tags, "slow")).fetch().map(\.name) == ["b"])
            #expect(try query.where(\.tags.count == 2).fetch().map(\.name) == ["a"])
            #expect(try query.where(.any(\.stops, \.name == "Plön")).fetch().map(\.name) == ["a"])
            #expect(try query.where(\.stops.count > 0).fetch().map(\.name) == ["a", "b"])
            #expect(try query.where(#Predicate { $0.tags.contains("slow") }).fetch().map(\.name) == ["b"])
            #expect(try query.where(#Predicate { $0.stops.count > 1 }).fetch().map(\.name) == ["a"])
            #expect(try query.where(#Predicate { $0.stops.isEmpty }).fetch().map(\.name) == ["c"])
            let inKiel = query.where(#Predicate { $0.stops.contains { $0.name == "Kiel" } })
            #expect(try inKiel.fetch().map(\.name) == ["a"])
        }

        @Test func theOtherSideAndRemovalsKnowThem() throws {
            let all = stops("Kiel", "Plön", "Eutin")
            let route = Route(name: "a", stops: OrderedSet(all))
            try db.save(route)
            #expect(try all[1].routes.query().fetch().map(\.name) == ["a"])
            #expect(try all[1].referencedCount() == 1)
            let fetched = try db.query(Route.self).prefetch(\.stops).fetch()
            let loads = db.metrics.lazyLoads
            #expect(fetched[0].stops.map(\.name) == ["Kiel", "Plön", "Eutin"])
            #expect(db.metrics.lazyLoads == loads)
            try db.delete(all[1])
            #expect(try db.find(Route.self, 1)?.stops.map(\.name) == ["Kiel", "Eutin"])
        }

        @Test func aRollbackBringsTheOrderBack() throws {
            let all = stops("Kiel", "Plön")
            let route = Route(name: "a", stops: OrderedSet(all), tags: ["x", "y"])
            try db.save(route)
            #expect(throws: MakoError.self) {
                try db.transaction { tx in
                    route.stops.reverse()
                    route.tags.reverse()
                    try db.save(route)
                    try tx.rollback()
                }
            }
            #expect(route.stops.map(\.name) == ["Kiel", "Plön"])
            #expect(Array(route.tags) == ["x", "y"])
        }

        @Test func theyTravelAsDictionariesAndJSON() throws {
            let route = Route(name: "a", stops: OrderedSet(stops("Kiel")), tags: ["x", "y"])
            try db.save(route)
            let copy = try Route(route.asDictionary)
            copy.name = "other"
            try db.save(copy)
            let read = try #require(try db.find(Route.self, 1))
            #expect(read.name == "other" && Array(read.tags) == ["x", "y"])
            #expect(read.stops.map(\.name) == ["Kiel"])
            let given = try Route(["stops": OrderedSet(stops("Plön")), "tags": ["z"] as OrderedSet])
            #expect(given.stops.map(\.name) == ["Plön"] && given.tags == ["z"])
            #expect("\(route)".contains("stops: loaded [1] (OrderedSet<Stop>)"))
        }
    }
#endif
