import Dispatch
import MakoStorage
import MakoTestSupport
import Synchronization
import Testing

@testable import MakoCore

/// The change history of renamed tables.
@Suite struct RenamedHistoryTests {
    /// Opens a second database, which renames the table and writes to it.
    private func rename(_ place: HistoryPlace) throws {
        let db = try place.open(.asInFile, [LaterHistory.Nation.self])
        var nation = LaterHistory.Nation(code: "DE", people: 84)
        try db.save(&nation)
        try db.close()
    }

    /// A database that knows nothing yet of its one table, and the end of its history.
    private func beforeRenaming() throws -> (Database, HistoryToken) {
        let place = HistoryPlace()
        let db = try place.open(.kept())
        try db.set("FR", 68)
        let token = try db.historyToken()
        try db.close()
        return (try place.open(.asInFile, []), token)
    }

    @Test func theStreamOfAnEntityGoesWithItsRows() async throws {
        let place = HistoryPlace()
        let db = try place.open(.kept())
        try await db.transaction { _ in try db.set("FR", 68) }
        try await db.close()
        let reader = try place.open(readOnly: true)
        var events = reader.changes(of: Country.self, since: nil).makeAsyncIterator()
        #expect(try await events.next()?.text == "insert Country 'FR'")
        try rename(place)
        #expect(try await events.next()?.text == "Country anew; Nation anew")
        #expect(try await events.next()?.text == "insert Nation 'DE'")
        try await reader.close()
    }

    @Test func aStreamThatBeginsAfterTheRenamingGoesWithThemToo() async throws {
        let place = HistoryPlace()
        var db = try place.open(.kept())
        try await db.transaction { [db] _ in try db.set("FR", 68) }
        let token = try await db.historyToken()
        try await db.close()
        try rename(place)
        db = try place.open(.asInFile, [])
        var old = db.changes(of: Country.self, since: token).makeAsyncIterator()
        #expect(try await old.next()?.text == "Country anew; Nation anew")
        #expect(try await old.next()?.text == "insert Nation 'DE'")
        var new = db.changes(of: LaterHistory.Nation.self, since: nil).makeAsyncIterator()
        #expect(try await new.next()?.text == "insert Nation 'FR'")
        #expect(try await new.next()?.text == "Nation anew")
        #expect(try await new.next()?.text == "insert Nation 'DE'")
        try await db.close()
    }

    @Test func anotherTableOfTheOldNameIsTheEntitysOwn() async throws {
        let place = HistoryPlace()
        var db = try place.open(.kept())
        try await db.transaction { [db] _ in try db.set("FR", 68) }
        let token = try await db.historyToken()
        try await db.close()
        try rename(place)
        db = try place.open(.asInFile, [Country.self])
        try await db.transaction { [db] _ in try db.set("IT", 59) }
        var events = db.changes(of: Country.self, since: token).makeAsyncIterator()
        #expect(try await events.next()?.text == "Country anew")
        #expect(try await events.next()?.text == "insert Country 'IT'")
        try await db.close()
    }

    /// The catalogue of a database may be older than the history that it reads.
    @Test func namesAreThoseOfTheMomentThatIsRead() throws {
        let (db, token) = try beforeRenaming()
        let before = try db.viewing { $1 }
        var nation = LaterHistory.Nation(code: "DE", people: 84)
        try db.save(&nation)
        var tables = HistoryTables(of: nil)
        let page = try db.viewing { (view, _) throws(MakoError) in
            try db.historyPage(after: token, limit: 10, &tables, view, before)
        }
        #expect(page.events.map(\.text) == ["insert Nation 'DE'; Country anew; Nation anew"])
        try db.close()
    }

    @Test func readsDuringARenamingGetTheNewName() throws {
        for _ in 0..<30 {
            let (db, token) = try beforeRenaming()
            let isDone = Atomic<Bool>(false)
            let texts = Guarded<Set<String>>([])
            let ended = DispatchSemaphore(value: 0)
            DispatchQueue.global().async {
                while !isDone.load(ordering: .relaxed) {
                    if let text = try? db.notified(since: token).first { _ = texts.withLock { $0.insert(text) } }
                }
                ended.signal()
            }
            #expect(try db.query(LaterHistory.Nation.self).count() == 1)
            isDone.store(true, ordering: .relaxed)
            ended.wait()
            #expect(texts.withLock { $0 }.subtracting(["Country anew; Nation anew"]) == [])
            try db.close()
        }
    }
}
