import MakoCore
import MakoStorage
import MakoTestSupport
import Testing

/// A database that is only read goes on to what another process has committed, and to its tables.
@Suite struct RefreshTests {
    private func people(_ db: Database) throws -> [String] {
        try db.query(Country.self).orderBy(\.code).fetch().map { "\($0.code) \($0.people)" }
    }

    // MARK: - Commits

    @Test func commitsAreSeenAfterARefreshAndNotBefore() async throws {
        let place = ReaderPlace()
        let db = try place.writer()
        try db.set("FR", 68)
        let reader = try place.reader()
        #expect(try people(reader) == ["FR 68"])
        try db.set("IT", 59)
        #expect(try people(reader) == ["FR 68"])
        #expect(try await reader.refresh())
        #expect(try people(reader) == ["FR 68", "IT 59"])
        #expect(try await !reader.refresh())
        try db.set("FR", 69)
        #expect(try await reader.refresh())
        #expect(try await !reader.refresh())
        #expect(try people(reader) == ["FR 69", "IT 59"])
        try await reader.close()
        try await db.close()
    }

    /// The writer's checkpoints make the reader reopen the file.
    @Test func checkpointsAndAClosedWriterAreFollowed() throws {
        let place = ReaderPlace()
        let db = try place.writer()
        let reader = try place.reader()
        for round in 1...6 {
            try db.set("FR", round)
            try db.store.checkpoint()
            #expect(try reader.refresh())
            #expect(try people(reader) == ["FR \(round)"])
            try db.store.checkpoint()
            #expect(try !reader.refresh())
        }
        try db.close()
        #expect(try !reader.refresh())
        #expect(try people(reader) == ["FR 6"])
        let later = try place.writer()
        try later.set("FR", 7)
        #expect(try reader.refresh())
        #expect(try people(reader) == ["FR 7"])
        try reader.close()
        try later.close()
    }

    @Test func aDatabaseThatIsWrittenHasNothingToDo() async throws {
        let db = try Database.inMemory(entities: [Country.self])
        try db.set("FR", 68)
        #expect(try await !db.refresh())
        #expect(try await !db.refresh())
        try await db.close()
    }

    @Test func afterClosingItIsTheErrorOfThat() async throws {
        let place = ReaderPlace()
        let db = try place.writer()
        let reader = try place.reader()
        try await reader.close()
        #expect(throws: MakoError.closed(path: "d/world.mako")) { try reader.refresh() }
        await #expect(throws: MakoError.closed(path: "d/world.mako")) { try await reader.refresh() }
        try await db.close()
        #expect(throws: MakoError.closed(path: "d/world.mako")) { try db.refresh() }
    }

    // MARK: - Tables

    @Test func aColumnThatCameIsThereAndIsNeededNotByOlderTypes() throws {
        let place = ReaderPlace()
        let db = try place.writer()
        try db.set("FR", 68)
        let reader = try place.reader()
        let early = try place.reader()
        #expect(try db.query(LaterHistory.LargerCountry.self).fetch().map(\.area) == [7])
        try db.set("IT", 59)
        #expect(throws: MakoError.self) { try reader.query(LaterHistory.LargerCountry.self).count() }
        try reader.refresh()
        #expect(try people(reader) == ["FR 68", "IT 59"])
        #expect(try reader.query(LaterHistory.LargerCountry.self).orderBy(\.area).fetch().map(\.area) == [7, 7])
        #expect(reader.tables.first { $0.name == "Country" }?.column(named: "area") != nil)
        #expect(early.tables.first { $0.name == "Country" }?.column(named: "area") == nil)
        #expect(try people(early) == ["FR 68"])
        for database in [reader, early, db] { try database.close() }
    }

    @Test func aTableThatCameIsFound() throws {
        let place = ReaderPlace()
        let db = try place.writer([Country.self])
        let reader = try place.reader([])
        let missing = #expect(throws: MakoError.self) { try reader.query(City.self).count() }
        #expect("\(try #require(missing))".contains("there is no table City in the file"))
        try db.save(City(name: "Oslo"))
        #expect(throws: MakoError.self) { try reader.query(City.self).count() }
        try reader.refresh()
        #expect(try reader.query(City.self).fetch().map(\.name) == ["Oslo"])
        #expect(try reader.rawQuery("SELECT name FROM City").rows == [[.text("Oslo")]])
        try reader.close()
        try db.close()
    }

    /// A type that does not fit throws, and works again when it fits.
    @Test func whatDoesNotFitIsAnErrorThatSaysWhatToDo() throws {
        let place = ReaderPlace()
        var db = try place.writer([Country.self])
        try db.set("FR", 68)
        let reader = try place.reader([Country.self])
        func fault() throws -> String {
            let error = #expect(throws: MakoError.self) { try people(reader) }
            guard case .migration(entity: "Country", let reason)? = error else { return "\(String(describing: error))" }
            return reason
        }
        try db.close()
        db = try place.writer([LaterReader.Plain.self])
        #expect(try people(reader) == ["FR 68"])
        try reader.refresh()
        #expect(try fault().contains("there is no Country.people in the file, which is only read; open it for writing"))
        #expect(throws: MakoError.self) { try reader.find(Country.self, "FR") }
        #expect(try reader.query(LaterReader.Plain.self).fetch().map(\.code) == ["FR"])
        try db.close()
        db = try place.writer([LaterReader.Worded.self])
        try reader.refresh()
        #expect(try fault().contains("people is of type text, not integer, in the file"))
        try db.close()
        db = try place.writer([])
        try db.drop(LaterReader.Worded.self)
        try reader.refresh()
        #expect(try fault().contains("there is no table Country in the file"))
        try db.set("IT", 59)
        try reader.refresh()
        #expect(try people(reader) == ["IT 59"])
        try reader.close()
        try db.close()
    }

    @Test func aTableOfAnotherNameIsFoundUnderThat() throws {
        let place = ReaderPlace()
        var db = try place.writer([Country.self])
        try db.set("FR", 68)
        let reader = try place.reader([Country.self])
        try db.close()
        db = try place.writer([LaterHistory.Nation.self])
        try reader.refresh()
        #expect(throws: MakoError.self) { try people(reader) }
        #expect(try reader.query(LaterHistory.Nation.self).fetch().map(\.code) == ["FR"])
        try reader.close()
        try db.close()
    }

    @Test func aReadThatHasBegunKeepsItsMomentAndItsTables() throws {
        let place = ReaderPlace()
        var db = try place.writer()
        try db.set("FR", 68)
        try db.save(City(name: "Oslo"))
        let reader = try place.reader([])
        try reader.read {
            #expect(try people(reader) == ["FR 68"])
            try db.drop(City.self)
            try db.close()
            db = try place.writer([LaterReader.Worded.self])
            try db.rawQuery("INSERT INTO Country (code, people) VALUES ('IT', 'many')")
            #expect(try reader.refresh())
            #expect(try people(reader) == ["FR 68"])
            // For the first time, and yet as it was.
            #expect(try reader.query(City.self).fetch().map(\.name) == ["Oslo"])
            #expect(throws: MakoError.self) { try reader.query(LaterReader.Worded.self).count() }
        }
        #expect(throws: MakoError.self) { try reader.query(City.self).count() }
        #expect(try reader.query(LaterReader.Worded.self).orderBy(\.code).fetch().map(\.people) == ["68", "many"])
        try reader.close()
        try db.close()
    }

    /// The rows of so many stand in another tree afterwards.
    @Test func aLargeTableThatWasWrittenAnewIsFollowed() throws {
        let place = ReaderPlace()
        var db = try place.writer([Country.self])
        try db.transaction { _ in
            for number in 0..<10_000 { try db.set("\(number)", number) }
        }
        let reader = try place.reader([Country.self])
        try reader.read {
            #expect(try reader.query(Country.self).count() == 10_000)
            try db.close()
            db = try place.writer([LaterReader.Worded.self])
            #expect(try reader.refresh())
            #expect(try reader.query(Country.self).where(text: "people >= 9999").fetch().map(\.code) == ["9999"])
            #expect(throws: MakoError.self) { try reader.query(LaterReader.Worded.self).count() }
        }
        let worded = reader.query(LaterReader.Worded.self)
        #expect(try worded.where(text: "people = '9999'").fetch().map(\.code) == ["9999"])
        #expect(try worded.count() == 10_000)
        try reader.close()
        try db.close()
    }

    /// When the store is refreshed below the database, the database reads the new tables, too.
    @Test func aStoreThatWasMovedOnIsReadByItsTables() throws {
        let place = ReaderPlace()
        let db = try place.writer([Country.self])
        let reader = try place.reader([])
        let missed = Guarded(0)
        let token = try Country.onChange(in: reader) { change in
            missed.withLock { $0 += change.kind == .missed ? 1 : 100 }
        }
        try db.set("FR", 68)
        try db.save(City(name: "Oslo"))
        try reader.store.refresh()
        #expect(try reader.query(City.self).count() == 1)
        #expect(try people(reader) == ["FR 68"])
        #expect(missed.withLock { $0 } == 0)
        #expect(try reader.refresh())
        #expect(missed.withLock { $0 } == 1)
        #expect(try !reader.refresh())
        #expect(missed.withLock { $0 } == 1)
        token.cancel()
        try reader.close()
        try db.close()
    }
}
