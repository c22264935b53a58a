import Dispatch
import MakoRecords
import Synchronization
import Testing

@testable import MakoCore

/// One fetch's objects under many threads, each of which may release the last reference; made for the thread sanitizer.
@Suite struct KnownObjectConcurrencyTests {
    /// A row has the same object as long as a thread holds it, and no lookup returns one that is being deinitialised.
    @Test(arguments: [false, true]) func aRowHasOneObjectAtATime(isKeyed: Bool) {
        let context = FetchContext()
        let faults = Atomic<Int>(0)
        let made = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            var random = UInt64(thread + 1)
            for _ in 0..<5000 {
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let id = Int64(random >> 33 & 7)
                let key: RowKey = isKeyed ? .bytes([UInt8(id)]) : .rowID(id)
                let city: City
                if let known = context.object(City.self, key) {
                    city = known
                } else {
                    made.add(1, ordering: .relaxed)
                    city = context.note(City(name: "\(id)"), City.entityModel, key)
                }
                if city.name != "\(id)" || context.object(City.self, key) !== city {
                    faults.add(1, ordering: .relaxed)
                }
            }
        }
        #expect(faults.load(ordering: .relaxed) == 0)
        #expect(made.load(ordering: .relaxed) > 4)
    }

    /// Objects that no lookup finds again end on one thread, and another thread removes their entries.
    @Test func placesAreMadeBesideObjectsThatEnd() {
        let faults = Atomic<Int>(0)
        for _ in 0..<20 {
            let context = FetchContext()
            let staying = City(name: "Rome")
            _ = context.note(staying, City.entityModel, .rowID(0))
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                var kept: [City] = []
                for round in 1...500 {
                    let id = Int64(thread * 1000 + round)
                    kept.append(context.note(City(name: "\(id)"), City.entityModel, .rowID(id)))
                    if round % 10 == 0 { kept.removeFirst(9) }
                    if context.object(City.self, .rowID(0)) !== staying { faults.add(1, ordering: .relaxed) }
                }
            }
        }
        #expect(faults.load(ordering: .relaxed) == 0)
    }

    /// References of one fetch's objects, followed by several threads that release what they found.
    @Test func referencesAreFollowedBesideObjectsThatEnd() throws {
        let db = try Database.inMemory(entities: [City.self])
        let cities = (0..<8).map { City(name: "\($0)") }
        for (place, city) in cities.enumerated() { city.twin = cities[(place + 1) % 8] }
        try db.save(cities)
        let faults = Atomic<Int>(0)
        for _ in 0..<20 {
            let held = Array(try db.query(City.self).fetch().prefix(4))
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                var city: City? = held[thread]
                for step in 1...24 {
                    city = city?.twin
                    if city?.name != "\((thread + step) % 8)" { faults.add(1, ordering: .relaxed) }
                }
            }
        }
        #expect(faults.load(ordering: .relaxed) == 0)
    }
}
