import MakoCore
import Testing

@Suite struct LightweightTests {
    @Test func prefetchedPropertiesNeedNoObject() throws {
        let db = try makeSailors(10)
        let third = try #require(try db.find(Sailor.self, 3))
        third.nick = "Tom"
        try db.save(third)
        let found = try db.query(Sailor.self).orderBy(\.age, .descending).fetchLightweight(
            prefetching: \.nick, \.name, \.age)
        #expect(found.count == 10)
        #expect(found.map(\.name) == (0..<10).reversed().map { "s\($0)" })
        #expect(found.map(\.age) == Array((0..<10).reversed()))
        #expect(found.map(\.id) == Array((1...10).reversed()))
        #expect(found.filter { $0.nick != nil }.map(\.key) == [.rowID(3)])
        #expect(found[7].nick == "Tom")
        #expect(db.metrics.lazyLoads == 0)
        #expect(found[7].description.contains("Tom"))
    }

    @Test func otherPropertiesAreReadWithTheWholeObjectOnce() throws {
        let db = try makeSailors(5)
        let found = try db.query(Sailor.self).fetchLightweight(prefetching: \.name)
        #expect(found[2].age == 2)
        #expect(found[2].greeting == "s2, 2")
        #expect(found[2].wage == 0)
        #expect(db.metrics.lazyLoads == 1)
        let whole = try found[2].object()
        let again = try found[2].object()
        #expect(whole === again)
        // The held object also serves prefetched properties.
        whole.name = "Jim"
        #expect(found[2].name == "Jim")
        #expect(db.metrics.lazyLoads == 1)
    }

    @Test func withoutRetainingEachAccessReadsAnew() throws {
        let db = try makeSailors(3)
        let found = try db.query(Sailor.self).fetchLightweight(prefetching: \.name, retaining: false)
        #expect(found[0].age == 0)
        let first = try #require(try db.find(Sailor.self, 1))
        first.age = 40
        first.name = "older"
        try db.save(first)
        #expect(found[0].age == 40)
        // Properties read with the results keep their values.
        #expect(found[0].name == "s0")
        #expect(db.metrics.lazyLoads == 2)
        let whole = try found[0].object()
        let again = try found[0].object()
        #expect(whole !== again)
    }

    @Test func whatCannotBeReadHasDefaultsAndTheReason() throws {
        let db = try makeSailors(3)
        let found = try db.query(Sailor.self).fetchLightweight(prefetching: \.name)
        try db.query(Sailor.self).where(\.age == 1).delete()
        #expect(found[1].loadError == nil)
        #expect(found[1].age == 0)
        #expect(found[1].loadError == .notFound(entity: "Sailor", key: "2"))
        #expect(found[1].name == "s1")
        #expect(throws: MakoError.notFound(entity: "Sailor", key: "2")) { try found[1].object() }
        #expect(throws: MakoError.notFound(entity: "Sailor", key: "2")) { try found[1].value(\.age) }
        #expect(try found[1].remove() == false)
        let beyond = found[3]
        #expect(beyond.name == "")
        #expect(beyond.loadError != nil)
        #expect(throws: MakoError.self) { try beyond.object() }
        try db.close()
        #expect(throws: MakoError.closed(path: ":memory:")) { try found[0].object() }
        #expect(found[0].name == "s0")
    }

    @Test func whatIsNoStoredValueCannotBePrefetched() throws {
        let db = try makeSailors(1)
        let query = db.query(Sailor.self)
        #expect(throws: MakoError.self) { try query.fetchLightweight(prefetching: \.greeting) }
        #expect(throws: MakoError.self) { try query.fetchLightweight(prefetching: \.ship) }
        #expect(throws: MakoError.self) { try query.where(text: "nmae = 's'").fetchLightweight() }
        // The key is there anyway.
        #expect(try query.fetchLightweight(prefetching: \.id)[0].id == 1)
    }

    @Test func relationshipsComeWithTheWholeObject() throws {
        let db = try makeSailors(2)
        let first = try #require(try db.find(Sailor.self, 1))
        first.ship = Ship(name: "Argo")
        try db.save(first)
        let found = try db.query(Sailor.self).prefetch(\.ship).fetchLightweight(prefetching: \.name)
        #expect(found[0].ship?.name == "Argo")
        #expect(found[1].ship == nil)
        // One load for each object, and none for the ship.
        #expect(db.metrics.lazyLoads == 2)
    }

    @Test func transactionsSeeTheirOwnState() throws {
        let db = try makeSailors(3)
        var inside: LightweightResults<Sailor>?
        #expect(throws: MakoError.rolledBack) {
            try db.transaction { tx in
                try db.save(Sailor("new", age: 50))
                let found = try tx.query(Sailor.self).fetchLightweight(prefetching: \.name)
                #expect(found.map(\.name) == ["s0", "s1", "s2", "new"])
                #expect(found[3].age == 50)
                #expect(try found[0].remove())
                inside = found
                try tx.rollback()
            }
        }
        let found = try #require(inside)
        // After its end they read the current row.
        #expect(found[0].age == 0)
        let other = try db.query(Sailor.self).fetchLightweight(retaining: false)
        #expect(other.map(\.name) == ["s0", "s1", "s2"])
    }

    @Test func removalsReachTheRowAndTheObject() throws {
        let db = try makeSailors(4)
        let found = try db.query(Sailor.self).fetchLightweight()
        let kept = try found[0].object()
        #expect(try found[0].remove())
        #expect(throws: MakoError.deleted(entity: "Sailor", key: "1")) { try kept.commit() }
        #expect(try found[1].remove())
        #expect(try found[1].remove() == false)
        #expect(try db.query(Sailor.self).ids() == [3, 4])
    }

    @Test func structsAndKeysOfProperties() async throws {
        let db = try Database.inMemory(entities: [Country.self])
        _ = try await db.transaction { _ in try db.save((1...3).map { Country(code: "c\($0)", people: $0) }) }
        let found = try await db.query(Country.self).fetchLightweight(prefetching: \.people)
        #expect(try found.map { try $0.value(\.code) } == ["c1", "c2", "c3"])
        #expect(try found[1].people == 2)
        #expect(try found[1].id == "c2")
        #expect(db.metrics.lazyLoads == 0)
        #expect(try found[2].object() == Country(code: "c3", people: 3))
        #expect(try found[2].remove())
        #expect(try await db.query(Country.self).count() == 2)
    }
}
