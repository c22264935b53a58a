import MakoCore
import MakoStorage
import MakoTestSupport
import Testing

/// Databases that release their file to another process: what is refused meanwhile, and what they show afterwards.
@Suite struct SuspendedDatabaseTests {
    private let suspended = MakoError.storage(.suspended(path: "d/world.mako"))

    private func people(_ db: Database) throws -> [String] {
        try db.query(Country.self).orderBy(\.code).fetch().map { "\($0.code) \($0.people)" }
    }

    private func text(_ difference: QueryDifference<Country>?) -> String {
        guard let difference else { return "end" }
        let rows = difference.results.map { "\($0.code) \($0.people)" }.joined(separator: ", ")
        return "\(rows); -\(difference.deletions) +\(difference.insertions) =\(difference.updates)"
    }

    // MARK: Between suspension and resumption

    @Test func everyCallSaysThatTheDatabaseIsSuspended() async throws {
        let place = ReaderPlace()
        let db = try place.writer()
        try db.set("FR", 68)
        let oslo = City(name: "Oslo")
        try await db.save(oslo)
        let cursor = try db.query(Country.self).cursor()
        try await db.suspend()
        #expect(db.isSuspended)
        #expect(throws: suspended) { try people(db) }
        #expect(throws: suspended) { try db.set("IT", 59) }
        #expect(throws: suspended) { try db.read {} }
        #expect(throws: suspended) { try db.transaction {} }
        #expect(throws: suspended) { try db.find(Country.self, "FR") }
        #expect(throws: suspended) { try db.rawQuery("SELECT code FROM Country") }
        #expect(throws: suspended) { try db.backup(to: "d/copy.mako") }
        #expect(throws: suspended) { try cursor.next() }
        await #expect(throws: suspended) { try await db.query(Country.self).count() }
        // What an object has read stays.
        #expect(oslo.name == "Oslo")
        oslo.name = "Bergen"
        #expect(throws: suspended) { try db.save(oslo) }
        try await db.suspend()
        #expect(try await !db.resume())
        #expect(!db.isSuspended)
        #expect(try people(db) == ["FR 68"])
        #expect(throws: suspended) { try cursor.next() }
        try await db.save(oslo)
        #expect(try await db.query(City.self).fetch().map(\.name) == ["Bergen"])
        #expect(try await !db.resume())
        try await db.close()
    }

    @Test func insideAReadOrATransactionItIsRefused() throws {
        let place = ReaderPlace()
        let db = try place.writer()
        func isRefused() -> Bool {
            do throws(MakoError) {
                try db.suspend()
                return false
            } catch {
                if case .invalidArgument = error { return true }
                return false
            }
        }
        try db.transaction { _ in
            #expect(isRefused())
            try db.set("FR", 68)
        }
        #expect(try db.read { isRefused() })
        #expect(try people(db) == ["FR 68"])
        #expect(!db.isSuspended)
        try db.suspend()
        try db.close()
        #expect(throws: MakoError.closed(path: "d/world.mako")) { try db.suspend() }
        #expect(throws: MakoError.closed(path: "d/world.mako")) { try db.resume() }
        #expect(try people(place.writer()) == ["FR 68"])
    }

    // MARK: Another process

    @Test func twoProcessesTakeTurns() throws {
        let place = ReaderPlace()
        let app = try place.writer()
        try app.set("FR", 0)
        try app.suspend()
        let widget = try place.writer()
        for round in 1...5 {
            #expect(try people(widget) == ["FR \(round * 2 - 2)"])
            try widget.set("FR", round * 2 - 1)
            if round % 2 == 0 { try widget.store.checkpoint() }
            try widget.suspend()
            #expect(try app.resume())
            #expect(try people(app) == ["FR \(round * 2 - 1)"])
            try app.set("FR", round * 2)
            try app.suspend()
            #expect(try widget.resume())
        }
        try widget.save(City(name: "Oslo"))
        try widget.close()
        #expect(try app.resume())
        try app.save(City(name: "Bergen"))
        #expect(try app.query(City.self).orderBy(\.name).fetch().map(\.name) == ["Bergen", "Oslo"])
        #expect(try app.verify().isClean)
        try app.close()
    }

    @Test func aFileThatIsInUseOrReplacedIsReported() throws {
        let place = ReaderPlace()
        let db = try place.writer()
        try db.set("FR", 68)
        try db.suspend()
        let other = try place.writer()
        #expect(throws: MakoError.alreadyOpen(path: "d/world.mako")) { try db.resume() }
        #expect(db.isSuspended)
        try other.set("FR", 69)
        try other.close()
        #expect(try db.resume())
        #expect(try people(db) == ["FR 69"])
        try db.suspend()
        var options = StoreOptions()
        options.fileSystem = place.disk
        options.background = .manual
        _ = try Store.compact(at: "d/world.mako", options: options)
        #expect(throws: MakoError.storage(.replaced(path: "d/world.mako"))) { try db.resume() }
        #expect(throws: suspended) { try people(db) }
        try db.close()
        #expect(try people(place.writer()) == ["FR 69"])
    }

    /// The tables are those of the file, and those of this program's types are migrated as at opening.
    @Test func tablesOfTheOtherProcessAreTakenOver() throws {
        let place = ReaderPlace()
        let first = try place.writer([Country.self])
        try first.set("FR", 68)
        try first.suspend()
        let second = try place.writer([LaterHistory.LargerCountry.self, City.self])
        try second.save(City(name: "Oslo"))
        #expect(try second.query(LaterHistory.LargerCountry.self).fetch().map(\.area) == [7])
        try second.suspend()
        #expect(try first.resume())
        #expect(first.tables.map(\.name).sorted() == ["City", "Country"])
        #expect(first.tables.first { $0.name == "Country" }?.column(named: "area") == nil)
        #expect(try people(first) == ["FR 68"])
        #expect(try first.query(City.self).fetch().map(\.name) == ["Oslo"])
        try first.set("IT", 59)
        #expect(try first.verify().isClean)
        try first.suspend()
        #expect(try second.resume())
        #expect(try second.query(LaterHistory.LargerCountry.self).orderBy(\.area).fetch().map(\.area) == [7, 7])
        #expect(try second.verify().isClean)
        try second.close()
        try first.close()
    }

    /// Objects, row numbers, statements and plans of before the suspension go on with the rows of the other process.
    @Test func objectsAndStatementsGoOn() throws {
        let place = ReaderPlace()
        let app = try place.writer()
        let (oslo, rome, lima) = (City(name: "Oslo"), City(name: "Rome"), City(name: "Lima"))
        try app.save([oslo, rome, lima])
        let insert = try app.prepare("INSERT INTO City (name) VALUES (?)")
        let named = app.query(City.self).where("name >= 'M'")
        #expect(try named.count() == 2)
        lima.name = "Callao"
        try app.suspend()

        let widget = try place.writer()
        try widget.rawQuery("UPDATE City SET name = 'Bergen' WHERE name = 'Oslo'")
        try widget.rawQuery("DELETE FROM City WHERE name = 'Rome'")
        try widget.save(City(name: "Quito"))
        try widget.rawQuery("CREATE TABLE Extra (a INTEGER)")
        try widget.close()

        #expect(try app.resume())
        #expect(try app.find(City.self, oslo.id ?? 0)?.name == "Bergen")
        #expect(try app.find(City.self, rome.id ?? 0) == nil)
        #expect(try named.count() == 1)
        try insert.run("Turin")
        #expect(try named.count() == 2)
        // The change of before the suspension is stored with the row as it is now.
        try app.save(lima)
        let cities = try app.query(City.self).orderBy(\.id).fetch()
        #expect(cities.map(\.name) == ["Bergen", "Callao", "Quito", "Turin"])
        #expect(Set(cities.map(\.id)).count == 4)
        #expect(try app.verify().isClean)
        try app.close()
    }

    // MARK: Live queries and handlers

    @Test func liveQueriesGoOn() async throws {
        let place = ReaderPlace()
        let db = try place.writer()
        try db.set("FR", 68)
        var live = db.query(Country.self).orderBy(\.code).observe().makeAsyncIterator()
        #expect(text(try await live.next()) == "FR 68; -[] +[0] =[]")
        // Without commits of others there is no difference.
        try await db.suspend()
        #expect(try await !db.resume())
        try db.set("DE", 84)
        #expect(text(try await live.next()) == "DE 84, FR 68; -[] +[0] =[]")
        // A commit before the suspension that the query has not shown, and one of another process.
        try db.set("FR", 69)
        try await db.suspend()
        let other = try place.writer()
        try other.set("IT", 59)
        try await other.close()
        #expect(try await db.resume())
        #expect(text(try await live.next()).hasPrefix("DE 84, FR 69, IT 59; -[] +[2] ="))
        try db.set("IT", 60)
        #expect(text(try await live.next()) == "DE 84, FR 69, IT 60; -[] +[] =[2]")
        // The other process has changed a table beside it.
        try await db.suspend()
        let later = try place.writer([Country.self])
        try await later.drop(City.self)
        try later.set("LU", 1)
        try await later.close()
        #expect(try await db.resume())
        #expect(text(try await live.next()).hasPrefix("DE 84, FR 69, IT 60, LU 1; -[] +[3] ="))
        try await db.close()
        #expect(text(try await live.next()) == "end")
    }

    @Test func handlersGetOneMissedEvent() throws {
        let place = ReaderPlace()
        let db = try place.writer()
        try db.set("FR", 68)
        let notes = Notes()
        let tokens = [
            try Country.onChange(in: db) { notes.add("\($0.kind)") },
            try City.onChange(in: db) { notes.add("city \($0.kind)") },
        ]
        try db.suspend()
        #expect(try !db.resume())
        #expect(notes.take().sorted() == [])
        try db.suspend()
        let other = try place.writer()
        for people in 1...3 { try other.set("FR", people) }
        try other.close()
        #expect(try db.resume())
        #expect(notes.take().sorted() == ["city missed", "missed"])
        try db.set("FR", 70)
        #expect(notes.take().sorted() == ["update"])
        for token in tokens { token.cancel() }
        try db.close()
    }

    // MARK: Readers

    @Test func aReaderReleasesItsPinAndGoesOn() async throws {
        let place = ReaderPlace()
        let db = try place.writer()
        try db.set("FR", 68)
        let reader = try place.reader()
        var live = reader.query(Country.self).orderBy(\.code).observe().makeAsyncIterator()
        #expect(text(try await live.next()) == "FR 68; -[] +[0] =[]")
        try await reader.suspend()
        #expect(try place.disk.open("d/world.mako", .readOnly).pins() == [])
        #expect(throws: suspended) { try people(reader) }
        await #expect(throws: suspended) { try await reader.refresh() }
        #expect(try await !reader.resume())
        #expect(try people(reader) == ["FR 68"])
        try await reader.suspend()
        for number in 1...3 {
            try db.set("FR", number)
            try db.store.checkpoint()
        }
        try await db.save(City(name: "Oslo"))
        #expect(try await reader.resume())
        #expect(try people(reader) == ["FR 3"])
        #expect(text(try await live.next()).hasPrefix("FR 3; -[] +[] ="))
        #expect(try await reader.query(City.self).fetch().map(\.name) == ["Oslo"])
        try db.set("IT", 59)
        #expect(try await reader.refresh())
        #expect(try await !reader.refresh())
        #expect(text(try await live.next()) == "FR 3, IT 59; -[] +[1] =[]")
        try await reader.close()
        try await db.close()
    }
}
