import Dispatch
import MakoCore
import MakoStorage
import Synchronization
import Testing

/// Objects without macros under many threads; made for the thread sanitizer.
@Suite struct ConcurrencyTests {
    /// Runs the body once for each index, at the same time, and returns the errors.
    private func inParallel(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) -> [String] {
        let errors = Guarded<[String]>([])
        DispatchQueue.concurrentPerform(iterations: count) { index in
            do { try body(index) } catch { errors.withLock { $0.append("\(error)") } }
        }
        return errors.withLock { $0 }
    }

    @Test func transactionsDoNotMix() throws {
        let db = try Database.inMemory(entities: [City.self])
        let halves = Atomic<Int>(0)
        let errors = inParallel(4) { index in
            for round in 0..<20 {
                if index % 2 == 0 {
                    try db.transaction { _ in
                        try db.save(City(name: "a\(index)-\(round)"))
                        try db.save(City(name: "b\(index)-\(round)"))
                    }
                } else if try db.query(City.self).count() % 2 != 0 {
                    halves.add(1, ordering: .relaxed)
                }
            }
        }
        #expect(errors.isEmpty)
        #expect(halves.load(ordering: .relaxed) == 0)
        #expect(try db.query(City.self).count() == 80)
    }

    /// The empty array is one object for the whole process, and databases that know nothing of each other must not write to it.
    @Test func emptyResultsWriteToNothingThatOthersHave() throws {
        let databases = try (0..<2).map { _ in try Database.inMemory(entities: [City.self]) }
        let found = Atomic<Int>(0)
        let errors = inParallel(2) { index in
            for _ in 0..<20 {
                let all = try databases[index].query(City.self).fetch()
                let named = try databases[index].find(City.self, [] as [Int])
                found.add(all.count + named.count, ordering: .relaxed)
            }
        }
        #expect(errors.isEmpty)
        #expect(found.load(ordering: .relaxed) == 0)
    }

    @Test func aFirstUseBesideAReadIsSeenWholeOrNotAtAll() throws {
        var errors: [String] = []
        for _ in 0..<100 {
            let db = try Database.inMemory()
            errors += inParallel(2) { index in
                if index == 0 {
                    _ = try db.query(City.self).count()
                } else {
                    for _ in 0..<20 { try db.read { _ = try db.query(City.self).count() } }
                }
            }
        }
        #expect(errors.isEmpty)
    }

    @Test func aRollbackBesideReadersRestoresTheObject() throws {
        let db = try Database.inMemory(entities: [City.self])
        let city = City(name: "Rome")
        try db.save(city)
        let errors = inParallel(4) { index in
            for _ in 0..<20 {
                if index == 0 {
                    do {
                        try db.transaction { _ in
                            city.name = "Roma"
                            try db.save(city)
                            throw Stop()
                        }
                    } catch is Stop {}
                } else {
                    let name = city.name
                    if name != "Rome" && name != "Roma" { throw Stop() }
                    if try db.query(City.self).where(\.name == "Rome").count() != 1 { throw Stop() }
                }
            }
        }
        #expect(errors.isEmpty)
        #expect(city.name == "Rome")
    }

    @Test func valuesAreCountedOnce() throws {
        let db = try Database.inMemory(entities: [Country.self])
        let errors = inParallel(4) { index in
            for round in 0..<25 { _ = try db.save([Country(code: "\(index)-\(round)", people: round)]) }
        }
        #expect(errors.isEmpty)
        #expect(try db.query(Country.self).where(\.people == 7).count() == 4)
        #expect(try db.query(Country.self).count() == 100)
    }
}
