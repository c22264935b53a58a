import MakoCore
import Testing

/// A vacuum, which runs when nothing else does, may have one.
private func holdsNoSnapshot(_ db: Database) -> Bool {
    db.store.stats.oldestSnapshot.map { $0.label == "vacuum" } ?? true
}

@Suite struct CursorTests {
    private struct Stop: Error {}

    private func all<T: Entity>(_ query: Query<T>) throws -> [T] {
        var found: [T] = []
        try query.forEach { found.append($0) }
        return found
    }

    @Test func aCursorGivesWhatAFetchGives() throws {
        let db = try makeSailors(1500)
        let sailors = db.query(Sailor.self)
        let queries = [
            sailors, sailors.where(\.age > 33), sailors.orderBy(\.id, .descending), sailors.orderBy(\.age),
            sailors.orderBy(\.age, .descending).where(\.age < 60).offset(300).limit(700), sailors.orderBy(\.name),
            sailors.where(\.age << [3, 40, 5]), sailors.where(\.name ~= "%7"), sailors.limit(256), sailors.limit(0),
            sailors.where(\.age > 100), sailors.offset(1499), sailors.where(\.id << Array(100...900)),
        ]
        for query in queries { #expect(try all(query).map(\.id) == query.ids().map { Int?($0) }) }
    }

    @Test func keysOfPropertiesAndLongIndexEntries() throws {
        let db = try Database.inMemory(entities: [Country.self, City.self])
        try db.save((0..<600).map { Country(code: "c\($0)", people: $0) })
        let countries = db.query(Country.self)
        for query in [countries, countries.orderBy(\.code, .descending), countries.where(\.code > "c5")] {
            #expect(try all(query).map(\.code) == query.fetch().map(\.code))
        }
        // Longer than what an index keeps of them: entries agree, and only their rows tell their order.
        let long = String(repeating: "x", count: 1000)
        try db.save((0..<600).map { City(name: $0 % 3 == 0 ? "\(long)\(1000 - $0)" : "\($0)") })
        let cities = db.query(City.self)
        for query in [cities.orderBy(\.name), cities.orderBy(\.name, .descending)] {
            #expect(try all(query).map(\.name) == query.fetch().map(\.name))
        }
    }

    @Test func whatIsWrittenMeanwhileIsNotMet() throws {
        let db = try makeSailors(1000)
        var count = 0
        try db.query(Sailor.self).where(\.age >= 0).orderBy(\.age).forEach { sailor in
            count += 1
            sailor.age += 100
            try db.save(sailor)
            if count == 1 { try db.query(Sailor.self).where(\.age == 69).delete() }
            if count > 1000 { throw Stop() }
        }
        // Objects whose rows were deleted before the cursor reached them are inserted by the save, as with fetched
        // objects.
        #expect(count == 1000)
        #expect(try db.query(Sailor.self).where(\.age >= 100).count() == 1000)
    }

    @Test func insideATransactionEachComesOnceAndAsItIs() throws {
        let db = try makeSailors(600)
        var ages: [Int] = []
        var outside: QueryCursor<Sailor>?
        try db.transaction { tx in
            try tx.query(Sailor.self).where(\.age >= 1).orderBy(\.age).forEach { sailor in
                ages.append(sailor.age)
                if ages.count == 1 {
                    try db.query(Sailor.self).where(\.age == 69).delete()
                    try db.save(Sailor("new", age: 30))
                }
                sailor.age += 1
                try sailor.commit()
                if ages.count > 1000 { throw Stop() }
            }
            outside = try tx.query(Sailor.self).cursor()
            #expect(try outside?.next() != nil)
        }
        #expect(ages.count == 600 - 9 - 8)
        #expect(ages == ages.sorted())
        #expect(try db.query(Sailor.self).where(\.age == 69).count() == 8)
        let cursor = try #require(outside)
        #expect(throws: MakoError.transactionEnded) { try cursor.next() }
    }

    @Test func aCursorEndsByThrowingOrByRelease() throws {
        let db = try makeSailors(700)
        var count = 0
        #expect(throws: Stop.self) {
            try db.query(Sailor.self).forEach { _ in
                count += 1
                if count == 300 { throw Stop() }
            }
        }
        #expect(count == 300)
        do {
            let cursor = try db.query(Sailor.self).cursor()
            #expect(try cursor.next()?.name == "s0")
            #expect(!holdsNoSnapshot(db))
        }
        #expect(holdsNoSnapshot(db))
        #expect(throws: MakoError.self) { try db.query(Sailor.self).where(text: "nmae = 1").cursor() }
        let cursor = try db.query(Sailor.self).cursor()
        try db.close()
        #expect(throws: MakoError.closed(path: ":memory:")) { try cursor.next() }
    }

    @Test func relationshipsAreReadAsOfTheCursor() throws {
        let db = try makeSailors(3)
        let argo = Ship(name: "Argo")
        try db.save(
            try db.query(Sailor.self).fetch().map { sailor in
                sailor.ship = argo
                return sailor
            })
        let found = try all(db.query(Sailor.self).prefetch(\.ship))
        #expect(found.map { $0.ship?.name } == ["Argo", "Argo", "Argo"])
        #expect(found[0].ship === found[2].ship)
        #expect(db.metrics.lazyLoads == 0)
    }
}

@Suite struct StreamTests {
    /// The thread that read last may hold what it has read from for a moment longer.
    private func endsOnRelease(_ db: Database) async throws -> Bool {
        let limit = ContinuousClock.now.advanced(by: .seconds(60))
        while !holdsNoSnapshot(db) {
            if ContinuousClock.now > limit { return false }
            try await Task.sleep(for: .milliseconds(1))
        }
        return true
    }

    @Test func aStreamShowsOneMoment() async throws {
        let db = try makeSailors(1000)
        var ids: [Int?] = []
        for try await sailor in db.query(Sailor.self).where(\.age >= 10).orderBy(\.id, .descending).stream() {
            if ids.isEmpty { try await db.query(Sailor.self).where(\.age < 30).delete() }
            ids.append(sailor.id)
        }
        let expected = (0..<1000).filter { $0 % 70 >= 10 }.map { Int?($0 + 1) }
        #expect(ids == expected.reversed())
        #expect(try await endsOnRelease(db))
    }

    @Test func aStreamMayBeLeft() async throws {
        let db = try makeSailors(1000)
        var count = 0
        let stream = db.query(Sailor.self).stream()
        for try await _ in stream {
            count += 1
            if count == 300 { break }
        }
        #expect(count == 300)
        #expect(try await endsOnRelease(db))
        // Each iteration starts from the beginning.
        var iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next()?.name == "s0")
    }

    @Test func faultsAreThrownAndEndIt() async throws {
        let db = try makeSailors(600)
        var wrong = db.query(Sailor.self).where(text: "nmae = 1").stream().makeAsyncIterator()
        await #expect(throws: MakoError.self) { try await wrong.next() }
        #expect(try await wrong.next() == nil)
        var iterator = db.query(Sailor.self).stream().makeAsyncIterator()
        for _ in 0..<256 { _ = try await iterator.next() }
        try await db.close()
        await #expect(throws: MakoError.closed(path: ":memory:")) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }

    @Test func cancellingItsTaskEndsIt() async throws {
        let db = try makeSailors(100)
        let task = Task { () -> (Int, MakoError?) in
            var count = 0
            do throws(MakoError) {
                for try await _ in db.query(Sailor.self).stream() {
                    count += 1
                    if count == 10 { withUnsafeCurrentTask { $0?.cancel() } }
                }
            } catch {
                return (count, error)
            }
            return (count, nil)
        }
        let (count, error) = await task.value
        #expect(count == 10)
        #expect(error == .cancelled)
    }
}
