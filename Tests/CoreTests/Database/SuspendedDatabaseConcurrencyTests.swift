import MakoCore
import MakoTestSupport
import Testing

/// Databases that are resumed while something waits for them.
@Suite struct SuspendedDatabaseConcurrencyTests {
    private func text(_ difference: QueryDifference<Country>?) -> String {
        guard let difference else { return "end" }
        let rows = difference.results.map { "\($0.code) \($0.people)" }.joined(separator: ", ")
        return "\(rows); -\(difference.deletions) +\(difference.insertions) =\(difference.updates)"
    }

    /// A live query that runs while the database is suspended waits.
    @Test func aLiveQueryWaitsForTheResumption() async throws {
        let place = ReaderPlace()
        let db = try place.writer()
        try db.set("FR", 68)
        var live = db.query(Country.self).orderBy(\.code).observe().makeAsyncIterator()
        #expect(text(try await live.next()) == "FR 68; -[] +[0] =[]")
        try db.set("FR", 69)
        try await db.suspend()
        let resumption = Task {
            try await Task.sleep(for: .milliseconds(150))
            return try await db.resume()
        }
        #expect(text(try await live.next()).hasPrefix("FR 69; -[] +[] ="))
        #expect(try await !resumption.value)
        try await db.close()
    }

    /// So does a reader of the history, which goes on with what it has not read.
    @Test func aReaderOfTheHistoryWaitsForTheResumption() async throws {
        let place = HistoryPlace()
        let db = try place.open(.kept())
        try db.set("FR", 68)
        var events = db.changes(since: nil).makeAsyncIterator()
        #expect(try await events.next()?.text == "insert Country 'FR'")
        try db.set("IT", 59)
        try await db.suspend()
        let resumption = Task {
            try await Task.sleep(for: .milliseconds(150))
            return try await db.resume()
        }
        #expect(try await events.next()?.text == "insert Country 'IT'")
        #expect(try await !resumption.value)
        try db.set("IT", 60)
        #expect(try await events.next()?.text == "update Country 'IT' (people)")
        try await db.suspend()
        let ending = Task {
            try await Task.sleep(for: .milliseconds(150))
            try await db.close()
        }
        #expect(try await events.next() == nil)
        try await ending.value
    }
}
