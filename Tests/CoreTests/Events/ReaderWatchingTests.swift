import MakoCore
import MakoTestSupport
import Testing

/// The notifications that a read-only process gets of the commits of another one.
@Suite struct ReaderWatchingTests {
    private func text(_ difference: QueryDifference<Country>?) -> String {
        guard let difference else { return "end" }
        let rows = difference.results.map { "\($0.code) \($0.people)" }.joined(separator: ", ")
        return "\(rows); -\(difference.deletions) +\(difference.insertions) =\(difference.updates)"
    }

    private func text(_ change: ObjectChange<Country>?) -> String {
        guard let change else { return "end" }
        let object = change.object.map { "\($0.code) \($0.people)" } ?? "-"
        return "\(change.kind) \(object) \(change.changedProperties)"
    }

    // MARK: - Live queries

    @Test func liveQueriesGiveTheDifference() async throws {
        let place = ReaderPlace()
        let db = try place.writer()
        for (code, people) in [("DE", 84), ("FR", 68), ("IT", 59)] { try db.set(code, people) }
        let reader = try place.reader()
        var live = reader.query(Country.self).where(\.people > 60).orderBy(\.code).observe().makeAsyncIterator()
        #expect(text(try await live.next()) == "DE 84, FR 68; -[] +[0, 1] =[]")
        try await db.transaction { _ in
            try db.set("FR", 69)
            try db.set("IT", 61)
        }
        try await db.query(Country.self).where(\.code == "DE").delete()
        #expect(try await reader.refresh())
        #expect(text(try await live.next()) == "FR 69, IT 61; -[0] +[1] =[0]")
        // Nothing new, nothing of this table, nothing that this query shows: it sends nothing.
        #expect(try await !reader.refresh())
        try await db.save(City(name: "Oslo"))
        #expect(try await reader.refresh())
        try db.set("LU", 1)
        #expect(try await reader.refresh())
        for _ in 0..<2 { try db.store.checkpoint() }
        try db.set("LU", 2)
        for _ in 0..<2 { try db.store.checkpoint() }
        #expect(try await reader.refresh())
        try db.set("IT", 62)
        #expect(try await reader.refresh())
        #expect(text(try await live.next()) == "FR 69, IT 62; -[] +[] =[1]")
        try await reader.close()
        #expect(text(try await live.next()) == "end")
        try await db.close()
    }

    @Test func severalRefreshesAreOneDifferenceForASlowReader() async throws {
        let place = ReaderPlace()
        let db = try place.writer()
        let reader = try place.reader()
        var live = reader.query(Country.self).orderBy(\.code).observe().makeAsyncIterator()
        #expect(text(try await live.next()) == "; -[] +[] =[]")
        for number in 1...3 {
            try db.set("FR", number)
            try db.set("N\(number)", number)
            try await reader.refresh()
            if number == 2 { try await db.query(Country.self).where(\.code == "N1").delete() }
        }
        #expect(text(try await live.next()) == "FR 3, N2 2, N3 3; -[] +[0, 1, 2] =[]")
        try await reader.close()
        try await db.close()
    }

    @Test func aLiveQueryGoesOnOverAMigrationAndEndsWhereItCannot() async throws {
        let place = ReaderPlace()
        var db = try place.writer([Country.self])
        try db.set("FR", 68)
        let reader = try place.reader([Country.self])
        var live = reader.query(Country.self).orderBy(\.code).observe().makeAsyncIterator()
        #expect(text(try await live.next()) == "FR 68; -[] +[0] =[]")
        // A table beside it, and then its own.
        try await db.save(City(name: "Oslo"))
        try await reader.refresh()
        try db.set("IT", 59)
        try await reader.refresh()
        #expect(text(try await live.next()) == "FR 68, IT 59; -[] +[1] =[]")
        _ = try await db.query(LaterHistory.LargerCountry.self).count()
        try db.set("FR", 69)
        try await reader.refresh()
        #expect(text(try await live.next()).hasPrefix("FR 69, IT 59; -[] +[]"))
        try await db.close()
        db = try place.writer([LaterReader.Plain.self])
        try await reader.refresh()
        await #expect(throws: MakoError.self) { try await live.next() }
        try await reader.close()
        try await db.close()
    }

    // MARK: - Handlers and sequences

    @Test func handlersAndSequencesGetEachObjectOnce() async throws {
        let place = ReaderPlace()
        let db = try place.writer()
        for (code, people) in [("DE", 84), ("FR", 68)] { try db.set(code, people) }
        let reader = try place.reader()
        let notes = Notes()
        let tokens = [
            try Country.onChange(withValues: true, in: reader) { change in
                let values = change.changes.map { "\($0.old ?? .null)>\($0.new ?? .null)" }
                notes.add("\(change.kind) \(values.joined(separator: " "))")
            },
            reader.onDelete { notes.add("gone \($0.entity)") },
        ]
        var changes = try Country.changes(in: reader).makeAsyncIterator()
        try db.set("FR", 1)
        try db.set("FR", 69)
        try db.set("IT", 59)
        try await db.query(Country.self).where(\.code == "DE").delete()
        #expect(notes.take() == [])
        try await reader.refresh()
        #expect(
            notes.take() == [
                "delete 'DE'>NULL 84>NULL", "update 68>69", "insert NULL>'IT' NULL>59",
                "gone Country",
            ])
        #expect(text(await changes.next()) == "delete - [\"code\", \"people\"]")
        #expect(text(await changes.next()) == "update FR 69 [\"people\"]")
        #expect(text(await changes.next()) == "insert IT 59 [\"code\", \"people\"]")
        // Changed and changed back is nothing.
        try db.set("FR", 1)
        try db.set("FR", 69)
        #expect(try await reader.refresh())
        #expect(try await !reader.refresh())
        #expect(notes.take() == [])
        for token in tokens { token.cancel() }
        try await reader.close()
        #expect(text(await changes.next()) == "end")
        try await db.close()
    }

    @Test func unknownChangesAreOneMissedEvent() async throws {
        let place = ReaderPlace()
        let db = try place.writer()
        try db.set("FR", 68)
        let reader = try place.reader()
        let notes = Notes()
        let tokens = [
            try Country.onChange(.insert, in: reader) { notes.add("\($0.kind)") },
            try City.onChange(in: reader) { notes.add("city \($0.kind)") },
        ]
        var changes = try Country.changes(.delete, in: reader).makeAsyncIterator()
        // The table is another one now; that of the cities is not.
        _ = try await db.query(LaterHistory.LargerCountry.self).count()
        try await db.save(City(name: "Oslo"))
        #expect(try await reader.refresh())
        #expect(notes.take().sorted() == ["city insert", "missed"])
        #expect(text(await changes.next()) == "missed - []")
        #expect(try await !reader.refresh())
        try await db.drop(Country.self)
        #expect(try await reader.refresh())
        #expect(notes.take() == ["missed"])
        #expect(text(await changes.next()) == "missed - []")
        for token in tokens { token.cancel() }
        try await reader.close()
        try await db.close()
    }

    @Test func tooManyChangedRowsAreOneMissedEvent() throws {
        let place = ReaderPlace()
        let db = try place.writer()
        let reader = try place.reader()
        let notes = Notes()
        let token = try Country.onChange(in: reader) { notes.add("\($0.kind)") }
        try db.save((0...1 << 16).map { Country(code: "\($0)") })
        try reader.refresh()
        #expect(notes.take() == ["missed"])
        try db.set("7", 7)
        try reader.refresh()
        #expect(notes.take() == ["update"])
        token.cancel()
        try reader.close()
        try db.close()
    }

    @Test func aHandlerMayRefreshAgain() throws {
        let place = ReaderPlace()
        let db = try place.writer()
        let reader = try place.reader()
        let notes = Notes()
        let token = try Country.onChange(in: reader) { change in
            notes.add(text(change))
            if change.object?.people == 1 {
                _ = try? db.set("IT", 2)
                notes.add("\((try? reader.refresh()) ?? false)")
            }
        }
        try db.set("FR", 1)
        try reader.refresh()
        #expect(
            notes.take() == [
                "insert FR 1 [\"code\", \"people\"]", "true", "insert IT 2 [\"code\", \"people\"]",
            ])
        token.cancel()
        try reader.close()
        try db.close()
    }

    // MARK: - Domains

    @Test func objectsOfADomainTakeOverWhatIsNew() throws {
        let place = ReaderPlace()
        let db = try place.writer()
        let oslo = City(name: "Oslo")
        try db.save(oslo)
        try db.save(City(name: "Rome"))
        let reader = try place.reader()
        let domain = ObjectDomain(reader)
        let cities = try reader.query(City.self).orderBy(\.name).domain(domain).fetch()
        let alone = try #require(try reader.find(City.self, 1))
        let watched = try #require(try reader.find(City.self, 2))
        let notes = Notes()
        let token = try watched.onChange(refreshing: true) { [weak watched] in
            notes.add("\($0.kind) \(watched?.name ?? "")")
        }
        oslo.name = "Bergen"
        try db.save(oslo)
        #expect(cities.map(\.name) == ["Oslo", "Rome"])
        cities[1].name = "Milan"
        try reader.refresh()
        #expect(cities.map(\.name) == ["Bergen", "Milan"])
        #expect(alone.name == "Oslo")
        #expect(notes.take() == [])
        try db.rawQuery("UPDATE City SET name = 'Turin' WHERE name = 'Rome'")
        try reader.refresh()
        #expect(cities.map(\.name) == ["Bergen", "Milan"])
        #expect(notes.take() == ["update Turin"])
        token.cancel()
        try reader.close()
        try db.close()
    }

    @Test func aHistoryIsReadAsSoonAsARefreshBringsMore() async throws {
        let place = HistoryPlace()
        let db = try place.open(.kept())
        let reader = try place.open(readOnly: true)
        var events = reader.changes(since: try await reader.historyToken()).makeAsyncIterator()
        let notes = Notes()
        let token = try Country.onChange(in: reader) { notes.add("\($0.kind)") }
        try db.set("FR", 68)
        #expect(try await events.next()?.text == "insert Country 'FR'")
        // The stream has refreshed by itself, and notified the other observers.
        #expect(notes.take() == ["insert"])
        try db.set("IT", 59)
        try await reader.refresh()
        #expect(try await events.next()?.text == "insert Country 'IT'")
        #expect(notes.take() == ["insert"])
        token.cancel()
        try await reader.close()
        try await db.close()
    }
}
