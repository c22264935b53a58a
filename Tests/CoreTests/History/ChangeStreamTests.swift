import MakoCore
import MakoStorage
import MakoTestSupport
import Testing

/// The history of a database's changes, as it goes on.
@Suite struct ChangeStreamTests {
    @Test func storedChangesComeFirstAndNewOnesFollow() async throws {
        let db = try Database.inMemory(entities: [Country.self], options: Self.options)
        try await db.transaction { _ in try db.set("FR", 68) }
        var events = db.changes(since: nil).makeAsyncIterator()
        #expect(try await events.next()?.text == "insert Country 'FR'")
        for (number, durability) in [Durability.full, .ordered, .async, .full].enumerated() {
            let write = Task {
                try await Task.sleep(for: .milliseconds(10))
                try await db.transaction(durability: durability) { _ in try db.set("FR", number) }
            }
            let event = try await events.next()
            try await write.value
            #expect(event?.text == "update Country 'FR' (people)")
            #expect(try await event?.token == db.historyToken())
        }
        try await db.close()
        #expect(try await events.next() == nil)
        #expect(try await events.next() == nil)
    }

    @Test func aTokenIsGoneOnFrom() async throws {
        let place = HistoryPlace()
        var db = try place.open(.kept())
        try await db.transaction { [db] _ in try db.set("FR", 68) }
        let token = try await db.historyToken()
        try await db.transaction { [db] _ in try db.set("IT", 59) }
        try await db.close()
        db = try place.open()
        var texts: [String] = []
        for try await event in db.changes(since: token) {
            texts.append(event.text)
            if texts.count == 2 { break }
            try await db.transaction { [db] _ in try db.set("DE", 84) }
        }
        #expect(texts == ["insert Country 'IT'", "insert Country 'DE'"])
        // The thread that read last releases the sequence asynchronously.
        while db.metrics.liveQueries > 0 { await Task.yield() }
        try await db.close()
    }

    @Test func missedCommitsAreReportedAndTheRestFollows() async throws {
        var options = Self.options
        options.history = .kept(maximumTransactions: 2)
        let db = try Database.inMemory(entities: [Country.self], options: options)
        let start = try await db.historyToken()
        for number in 0..<20 { try await db.transaction { _ in try db.set("FR", number) } }
        var events = db.changes(since: start).makeAsyncIterator()
        guard case .missed(let since, let token) = try await events.next() else { throw Stop() }
        #expect(since == start)
        #expect(try await token == db.historyToken())
        try await db.transaction { _ in try db.set("IT", 59) }
        #expect(try await events.next()?.text == "insert Country 'IT'")
    }

    @Test func theEndOfTheTaskEndsTheSequence() async throws {
        let db = try Database.inMemory(entities: [Country.self], options: Self.options)
        let task = Task {
            var count = 0
            for try await _ in db.changes(since: nil) { count += 1 }
            return count
        }
        try await db.transaction { _ in try db.set("FR", 68) }
        while db.metrics.liveQueries == 0 { await Task.yield() }
        task.cancel()
        #expect(try await task.value <= 1)
        while db.metrics.liveQueries > 0 { await Task.yield() }
    }

    @Test func whatCannotBeReadIsThrown() async throws {
        let db = try Database.inMemory(entities: [Country.self])
        await #expect(throws: MakoError.historyNotKept(path: ":memory:")) {
            for try await _ in db.changes(since: nil) {}
        }
        try await db.close()
        await #expect(throws: MakoError.self) { for try await _ in db.changes(since: nil) {} }
    }

    @Test func anEntityHasAStreamOfItsOwn() async throws {
        let db = try Database.inMemory(entities: [Country.self, City.self], options: Self.options)
        let start = try await db.historyToken()
        try await db.transaction { _ in
            try db.set("FR", 68)
            try db.save(City(name: "Paris"))
        }
        var events = db.changes(of: City.self, since: start).makeAsyncIterator()
        #expect(try await events.next()?.text == "insert City 1")
        for number in 0..<600 { try await db.transaction(durability: .async) { _ in try db.set("FR", number) } }
        // The token goes on though nothing concerns the entity.
        let passing = try #require(try await events.next())
        #expect(passing.text == "")
        #expect(passing.token.commit > start.commit + 200)
        try await db.transaction { _ in try db.drop(City.self) }
        var event = try await events.next()
        while event?.text == "" { event = try await events.next() }
        #expect(event?.text == "City anew")
    }

    @Test func anotherProcessIsFollowed() async throws {
        let place = HistoryPlace()
        let db = try place.open(.kept())
        let reader = try place.open(readOnly: true)
        var events = reader.changes(since: nil).makeAsyncIterator()
        try await db.transaction { _ in try db.set("FR", 68) }
        #expect(try await events.next()?.text == "insert Country 'FR'")
        try await db.transaction { _ in try db.set("IT", 59) }
        #expect(try await events.next()?.text == "insert Country 'IT'")
        try await reader.close()
        #expect(try await events.next() == nil)
    }

    private static var options: DatabaseOptions {
        var options = DatabaseOptions()
        options.history = .kept()
        return options
    }
}
