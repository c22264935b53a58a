import Mako
import TestHelpers
import Testing

@Suite struct BatchedResultsTests {
    private func makePeople(_ count: Int) throws -> Database {
        let db = try makeDatabase()
        let engines = Department(name: "Engines", location: Location(name: "London"))
        try db.save((0..<count).map { Person(name: "p\($0)", age: $0 % 70, department: engines) })
        return db
    }

    @Test func batchesGiveWhatAFetchGives() throws {
        let db = try makePeople(10_000)
        let query = db.query(Person.self).where(\.age > 10).orderBy(\.age, .descending).orderBy(\.name)
        let all = try query.fetch()
        let batches = try query.batch(1000)
        #expect(batches.count == all.count)
        #expect(batches.map(\.id) == all.map(\.id))
        #expect(batches.last?.name == all.last?.name)
        // From anywhere, each time from the window or a new one.
        for place in [5000, 5001, 5999, 6000, 0, 4999, all.count - 1] {
            #expect(try batches.object(at: place).id == all[place].id)
        }
        let kept = try batches.object(at: all.count - 1)
        #expect(try batches.object(at: all.count - 1) === kept)
    }

    @Test func batchesShowTheMomentOfTheQuery() throws {
        let db = try makePeople(30)
        let batches = try db.query(Person.self).orderBy(\.id).batch(10)
        #expect(try batches.object(at: 0).age == 0)
        try db.query(Person.self).where(\.age >= 15).delete()
        let first = try #require(try db.find(Person.self, 15))
        first.age = 99
        try db.save(first)
        #expect(batches.count == 30)
        #expect(try batches.object(at: 14).age == 14)
        #expect(try batches.object(at: 29).age == 29)
        // An object whose row was deleted meanwhile can be read, and not inserted again by mistake.
        #expect(try db.exists(batches.object(at: 29)) == false)
    }

    @Test func whatCannotBeReadIsAnEmptyObjectWithTheReason() throws {
        let db = try makePeople(10)
        let batches = try db.query(Person.self).batch(3)
        #expect(try batches.object(at: 9).name == "p9")
        // The query is right, and the place is not.
        for place in [10, -1] {
            #expect(throws: MakoError.invalidArgument("there is no object at \(place); the results have 10")) {
                try batches.object(at: place)
            }
        }
        let beyond = batches[10]
        #expect(beyond.loadError != nil)
        // Saving it reports why it is none, not that it was deleted.
        #expect(throws: MakoError.invalidArgument("there is no object at 10; the results have 10")) {
            try db.save(beyond)
        }
        try db.close()
        #expect(throws: MakoError.closed(path: ":memory:")) { try batches.object(at: 0) }
        let empty = batches[0]
        #expect(empty.loadError == .closed(path: ":memory:"))
        #expect(empty.name == nil)
    }

    @Test func batchesAreNotMadeInsideTransactions() throws {
        let db = try makePeople(5)
        let before = try db.query(Person.self).batch(2)
        try db.transaction { tx in
            #expect(throws: MakoError.self) { try tx.query(Person.self).batch(2) }
            // One that was made before shows the state of then.
            try db.query(Person.self).delete()
            #expect(try before.object(at: 4).name == "p4")
        }
        #expect(before.map(\.name) == ["p0", "p1", "p2", "p3", "p4"])
    }

    @Test func structsAndEmptyResults() throws {
        let db = try makeDatabase([Reading.self])
        try db.save((0..<25).map { Reading(sensor: "s", value: Double($0)) })
        let batches = try db.query(Reading.self).orderBy(\.value, .descending).batch(0)
        #expect(batches.count == 25)
        #expect(try batches.object(at: 3).value == 21)
        #expect(try db.query(Reading.self).where(\.value > 100).batch(10).count == 0)
        #expect(throws: MakoError.self) { try db.query(Reading.self).where(text: "valeu > 1").batch(10) }
    }
}

@Suite struct PrefetchTests {
    private func makePeople() throws -> Database {
        let db = try makeDatabase()
        let departments = (0..<5).map { number in
            Department(name: "d\(number)", location: number == 4 ? nil : Location(name: "l\(number % 2)"))
        }
        try db.save((0..<50).map { Person(name: "p\($0)", department: $0 % 6 == 5 ? nil : departments[$0 % 6]) })
        return db
    }

    @Test func wholePathsAreLoadedWithTheObjects() throws {
        let db = try makePeople()
        let people = try db.query(Person.self).prefetch(\.department.location).orderBy(\.id).fetch()
        let lone = try db.query(Person.self).orderBy(\.id).fetch()
        let expected = lone.map { $0.department?.location?.name ?? "-" }
        let before = db.metrics.lazyLoads
        #expect(people.map { $0.department?.location?.name ?? "-" } == expected)
        #expect(db.metrics.lazyLoads == before)
        // One object for each row.
        #expect(people[0].department === people[6].department)
        #expect(people[0].department?.location === people[6].department?.location)
    }

    @Test func prefetchedObjectsAreOfTheSameSnapshotAndCanBeChanged() throws {
        let db = try makePeople()
        let people = try db.query(Person.self).prefetch(\.department).fetch()
        let department = try #require(people[0].department)
        department.name = "renamed"
        try people[0].commit()
        #expect(try db.query(Department.self).where(\.name == "renamed").count() == 1)
        try db.delete(department)
        let again = try db.query(Person.self).prefetch(\.department).where(\.department == nil).fetch()
        #expect(again.allSatisfy { $0.department == nil })
        #expect(again.count == 50 / 6 + 9)
    }

    @Test func prefetchWithBatchesLiveQueriesAndTransactions() async throws {
        let db = try makePeople()
        let query = db.query(Person.self).prefetch(\.department.location)
        let before = db.metrics.lazyLoads
        let batches = try await query.batch(10)
        #expect(try batches.object(at: 20).department?.name == "d2")
        var live = query.observe().makeAsyncIterator()
        let first = try #require(try await live.next())
        #expect(first.results[2].department?.location?.name == "l0")
        #expect(db.metrics.lazyLoads == before)
        try await db.transaction { tx in
            let fresh = Department(name: "fresh")
            try db.save(Person(name: "new", department: fresh))
            let found = try tx.query(Person.self).where(\.name == "new").prefetch(\.department).first()
            #expect(found?.department?.name == "fresh")
        }
    }
}

@Suite struct CancellationTests {
    @Test func aCancelledTaskGetsNoAnswer() async throws {
        let db = try makeDatabase()
        try await db.save((0..<20_000).map { Person(name: "p\($0)", age: $0) })
        let queries: [@Sendable () async throws -> Void] = [
            { _ = try await db.query(Person.self).fetch() },
            { _ = try await db.query(Person.self).where(text: "name LIKE '%x%'").fetch() },
            { _ = try await db.query(Person.self).where(\.age > 5).orderBy(\.email).count() },
            { _ = try await db.query(Person.self).delete() },
            { _ = try await db.save(Person(name: "late")) },
            { try await db.transaction { _ in _ = try db.save(Person(name: "late")) } },
        ]
        for query in queries {
            let task = Task {
                // The query starts in a task that is cancelled already.
                while !Task.isCancelled { await Task.yield() }
                try await query()
            }
            task.cancel()
            await #expect(throws: MakoError.cancelled) { try await task.value }
        }
        #expect(try await db.query(Person.self).count() == 20_000)
    }

    @Test func aTransactionThatIsCancelledIsNotCommitted() async throws {
        let db = try makeDatabase()
        let begun = Collected<Int>()
        let task = Task {
            try await db.transaction { tx in
                begun.append(1)
                // The task that cancels may wait long for a processor.
                let end = ContinuousClock.now + .seconds(600)
                while (try? tx.query(Person.self).where(text: "age + 1 > 0").count()) != nil, .now < end {}
                // The transaction ignores the error of the cancelled query and writes.
                try db.save(Person(name: "duplicate"))
            }
        }
        while begun.all.isEmpty { await Task.yield() }
        try? await Task.sleep(for: .milliseconds(5))
        task.cancel()
        await #expect(throws: MakoError.cancelled) { try await task.value }
        #expect(try await db.query(Person.self).count() == 0)
    }

    @Test func aRunningQueryIsCancelled() async throws {
        let db = try makeDatabase()
        try await db.save((0..<3000).map { Person(name: "p\($0)", age: $0) })
        // The first thousand rows are tested before the cancellation; then a transaction holds the query up.
        let begun = Collected<Int>()
        let task = Task {
            try await db.transaction { tx in
                let end = ContinuousClock.now + .seconds(600)
                while .now < end {
                    if begun.all.isEmpty { begun.append(1) }
                    _ = try tx.query(Person.self).where(text: "name LIKE '%x%' AND age + 1 > 0").count()
                }
            }
        }
        while begun.all.isEmpty { await Task.yield() }
        task.cancel()
        await #expect(throws: MakoError.cancelled) { try await task.value }
    }
}
