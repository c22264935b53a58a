import MakoCore
import Testing

@Suite struct UpdateTests {
    private struct Stop: Error {}

    private func changed<T: Equatable>(_ db: Database, _ keyPath: KeyPath<Sailor, T>) throws -> [T] {
        try db.query(Sailor.self).orderBy(\.id).fetch().map { $0[keyPath: keyPath] }
    }

    @Test func valuesAndArithmetic() throws {
        let db = try makeSailors(4)
        let kept = try #require(try db.find(Sailor.self, 3))
        let argo = Ship(name: "Argo")
        try db.save(argo)
        let count = try db.update(Sailor.self)
            .set(\.age, to: \.age + 1)
            .set(\.name, to: \.name + "!")
            .set(\.nick, to: \.name)
            .set(\.badge, to: \.age * 10)
            .set(\.wage, to: 2.5)
            .set(\.grade, to: 7)
            .set(\.ship, to: argo)
            .where(\.age >= 2)
            .run()
        #expect(count == 2)
        #expect(try changed(db, \.age) == [0, 1, 3, 4])
        #expect(try changed(db, \.name) == ["s0", "s1", "s2!", "s3!"])
        // Worked out of what the row held before.
        #expect(try changed(db, \.nick) == [nil, nil, "s2", "s3"])
        #expect(try changed(db, \.badge) == [nil, nil, 20, 30])
        #expect(try changed(db, \.wage) == [0, 0, 2.5, 2.5])
        #expect(try changed(db, \.grade) == [0, 0, 7, 7])
        #expect(try changed(db, \.ship?.name) == [nil, nil, "Argo", "Argo"])
        #expect(kept.age == 2)
        // Indexes are in step.
        #expect(try db.query(Sailor.self).where(\.age == 3).ids() == [3])
        #expect(try db.query(Sailor.self).where(\.badge == 30).ids() == [4])
        let aboard = db.query(Sailor.self).where(\.ship == argo)
        #expect(try aboard.update().set(\.nick, to: nil).set(\.ship, to: nil).run() == 2)
        #expect(try db.query(Sailor.self).where(\.nick == nil && \.ship == nil).count() == 4)
        #expect(try db.update(Sailor.self).set(\.badge, to: (2 - \.badge) / 3 - 1).where(\.badge != nil).run() == 2)
        #expect(try changed(db, \.badge) == [nil, nil, -7, -10])
        #expect(try db.update(Sailor.self).set(\.wage, to: 1 + \.wage * 2).set(\.age, to: 5).run() == 4)
        #expect(try db.update(Sailor.self).set(\.age, to: \.age - \.age).where(text: "age > 100").run() == 0)
        #expect(try changed(db, \.wage) == [1, 1, 6, 6])
        #expect(throws: Never.self) { try db.store.verify() }
    }

    @Test func structsAndTextKeys() throws {
        let db = try Database.inMemory(entities: [Country.self])
        try db.save((0..<2000).map { Country(code: "c\($0)", people: $0) })
        #expect(try db.update(Country.self).set(\.people, to: \.people + 1).where("code > 'c5'").run() == 554)
        #expect(try db.find(Country.self, "c6")?.people == 7)
        #expect(try db.find(Country.self, "c4")?.people == 4)
        refusesArgument { try db.update(Country.self).set(\.code, to: "x").run() }
    }

    /// A property that cannot be set is a wrong argument, no invalid text of a query.
    private func refusesArgument(
        _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Int
    ) {
        #expect(sourceLocation: location) {
            try body()
        } throws: { error in
            if case .invalidArgument? = error as? MakoError { true } else { false }
        }
    }

    @Test func whatCannotBeSetIsRefused() throws {
        let db = try makeSailors(3)
        let update = db.update(Sailor.self).set(\.age, to: 99)
        refusesArgument { try update.set(\.id, to: 5).run() }
        refusesArgument { try update.set(\.joined, to: 5).run() }
        refusesArgument { try update.set(\.ship.name, to: "x").run() }
        refusesArgument { try update.set(\.name, to: \.ship.name).run() }
        #expect(throws: MakoError.self) { try update.set(\.ship, to: Ship(name: "never stored")).run() }
        #expect(throws: MakoError.self) { try update.set(\.greeting, to: "x").run() }
        #expect(throws: MakoError.self) { try update.where(text: "nmae = 1").run() }
        refusesArgument { try db.update(Sailor.self).run() }
        let other = try Database.inMemory()
        let foreign = Ship(name: "foreign")
        try other.save(foreign)
        #expect(throws: MakoError.foreignObject(entity: "Ship")) { try update.set(\.ship, to: foreign).run() }
        #expect(try changed(db, \.age) == [0, 1, 2])
        try db.close()
        #expect(throws: MakoError.closed(path: ":memory:")) { try update.run() }
    }

    @Test func objectsWithoutARowAreNoTargets() throws {
        let db = try Database.inMemory(entities: [Crate.self, Docker.self])
        let crate = Crate(name: "tea")
        try db.save(Docker(carrying: crate))
        func refusal(_ update: Update<Docker>) -> String? {
            do throws(MakoError) { try update.run() } catch {
                if case .query(let message) = error { return message }
            }
            return nil
        }
        let expected = "Docker.crate is to refer to a Crate that has no row; save it before the update"
        // It has a key, and was never stored.
        let unsaved = Crate(name: "salt")
        unsaved.id = 99
        var message = refusal(db.update(Docker.self).set(\.crate, to: unsaved))
        #expect(message == expected)
        // It was stored, and is to be another one.
        let renumbered = Crate(name: "ore")
        try db.save(renumbered)
        renumbered.id = 98
        message = refusal(db.update(Docker.self).set(\.crate, to: renumbered))
        #expect(message == expected)
        // It was there when the update was put together.
        let update = db.update(Docker.self).set(\.crate, to: crate)
        try db.delete(crate)
        message = refusal(update)
        #expect(message == expected)
        #expect(try db.query(Docker.self).where(\.crate == nil).count() == 1)
        // It is there by the time the update runs.
        let late = db.update(Docker.self).set(\.crate, to: unsaved)
        try db.save(unsaved)
        #expect(try late.run() == 1)
        #expect(try db.query(Docker.self).where(\.crate == unsaved).count() == 1)
    }

    @Test func valuesThatDoNotFitChangeNothing() throws {
        let db = try makeSailors(200)
        try db.update(Sailor.self).set(\.grade, to: 100).where(\.age == 50).run()
        let one: Int8 = 28
        #expect(throws: MakoError.typeMismatch(entity: "Sailor", property: "grade", expected: "Int8", found: "128")) {
            try db.update(Sailor.self).set(\.grade, to: \.grade + one).run()
        }
        #expect(throws: MakoError.self) { try db.update(Sailor.self).set(\.age, to: \.age + Int.max).run() }
        #expect(throws: MakoError.missingValue(entity: "Sailor", property: "age")) {
            try db.update(Sailor.self).set(\.age, to: \.age / 0).run()
        }
        #expect(try db.query(Sailor.self).where(\.grade == 0).count() == 197)
        #expect(try db.query(Sailor.self).sum(\.age) == (0..<200).reduce(0) { $0 + $1 % 70 })
        // Optional properties may be set to nil.
        try db.update(Sailor.self).set(\.badge, to: \.age / \.joined).run()
        #expect(try db.query(Sailor.self).where(\.badge == nil).count() == 200)
    }

    @Test func uniquePropertiesAreKept() throws {
        let db = try makeSailors(5)
        try db.update(Sailor.self).set(\.badge, to: \.age).run()
        #expect(throws: MakoError.self) { try db.update(Sailor.self).set(\.badge, to: 3).where(\.age > 3).run() }
        #expect(try changed(db, \.badge) == [0, 1, 2, 3, 4])
        // Each value is free when the update ends, whatever the order of the rows.
        #expect(try db.update(Sailor.self).set(\.badge, to: \.badge + 1).run() == 5)
        #expect(try changed(db, \.badge) == [1, 2, 3, 4, 5])
        // Inside a transaction a failed update is taken back by itself.
        try db.transaction { tx in
            try tx.update(Sailor.self).set(\.age, to: 50).run()
            #expect(throws: MakoError.self) { try tx.update(Sailor.self).set(\.age, to: 60).set(\.badge, to: 9).run() }
        }
        #expect(try changed(db, \.age) == [50, 50, 50, 50, 50])
    }

    @Test func rowsThatMoveAreMetOnce() throws {
        let db = try makeSailors(0)
        try db.save((0..<3000).map { Sailor("s\($0)", age: 1 + $0 % 2) })
        // Others, without which all would be scanned.
        try db.save((0..<3000).map { Sailor("o\($0)", age: 70) })
        // By the index whose entries move ahead.
        let update = db.update(Sailor.self).set(\.age, to: \.age + 1)
        #expect(try db.query(Sailor.self).where(\.age << [1, 2, 3, 4]).explain().contains("using index"))
        #expect(try update.where(\.age << [1, 2, 3, 4]).run() == 3000)
        #expect(try db.query(Sailor.self).groupCount(\.age).map(\.count) == [1500, 1500, 3000])
        #expect(try db.query(Sailor.self).where(\.age << [2, 3]).count() == 3000)
        #expect(try db.query(Sailor.self).offset(100).limit(2500).update().set(\.age, to: 9).run() == 2500)
        #expect(try db.query(Sailor.self).where(\.age == 9).count() == 2500)
    }

    /// All rows are chosen before the first changes, also those whose condition reads a row that the update changes.
    @Test func conditionsOnOtherRowsReadThemAsTheyWere() throws {
        let db = try Database.inMemory(entities: [City.self])
        let first = City(name: "old")
        try db.save(first)
        // More than are read before the first is changed.
        try db.save(
            (0..<2500).map { number in
                let city = City(name: "c\(number)")
                city.twin = first
                return city
            })
        first.twin = first
        try db.save(first)
        let update = db.update(City.self).set(\.name, to: "new").where(text: "twin.name = 'old'")
        #expect(try update.run() == 2501)
        #expect(try db.query(City.self).where(\.name == "new").count() == 2501)
    }

    @Test func rollbackAndObjectsInMemory() throws {
        let db = try makeSailors(3)
        let first = try #require(try db.find(Sailor.self, 1))
        #expect(throws: Stop.self) {
            try db.transaction { tx in
                #expect(try tx.update(Sailor.self).set(\.age, to: 70).run() == 3)
                #expect(try tx.query(Sailor.self).where(\.age == 70).count() == 3)
                throw Stop()
            }
        }
        #expect(try changed(db, \.age) == [0, 1, 2])
        try db.update(Sailor.self).set(\.age, to: 71).set(\.motto, to: "Ahoy").run()
        #expect(first.age == 0)
        // An object that was read before writes what was changed in it, and nothing else.
        first.name = "Ada"
        try db.save(first)
        try db.refresh(first)
        #expect(first.age == 71 && first.name == "Ada")
        try db.update(Sailor.self).set(\.motto, to: nil).run()
        #expect(try changed(db, \.motto) == ["Ahoy", "Ahoy", "Ahoy"])
    }

    @Test func whatWasOwnedGoes() throws {
        let db = try makeSailors(2)
        let first = try #require(try db.find(Sailor.self, 1))
        first.boat = Ship(name: "dinghy")
        try db.save(first)
        try db.update(Sailor.self).set(\.boat, to: first.boat).set(\.age, to: 1).where(\.id == 1).run()
        #expect(try db.query(Ship.self).count() == 1)
        try db.update(Sailor.self).set(\.boat, to: nil).run()
        #expect(try db.query(Ship.self).count() == 0)
    }

    @Test func observersAndLiveQueriesAreNotified() async throws {
        let db = try makeSailors(5)
        let changes = try Sailor.changes(.update, in: db)
        var live = db.query(Sailor.self).where(\.age >= 3).orderBy(\.age).observe().makeAsyncIterator()
        #expect(try await live.next()?.results.map(\.name) == ["s3", "s4"])
        try await db.transaction { tx in
            let second = try #require(try db.find(Sailor.self, 2))
            second.name = "known"
            try db.save(second)
            try tx.update(Sailor.self).set(\.age, to: \.age + 2).set(\.wage, to: 0).where(\.age << [1, 4]).run()
        }
        let notified = try #require(try await live.next())
        #expect(notified.results.map(\.age) == [3, 3, 6])
        #expect(notified.insertions.count == 1)
        var iterator = changes.makeAsyncIterator()
        let one = try #require(await iterator.next())
        #expect(one.changedProperties == ["name", "age"])
        // Not the object that was saved before the update: that one does not know.
        #expect(one.object?.age == 3 && one.object?.name == "known")
        let other = try #require(await iterator.next())
        #expect(other.changedProperties == ["age"])
        #expect(other.object?.name == "s4")
        #expect(try await db.update(Sailor.self).set(\.nick, to: "Tom").where(\.age < 2).run() == 1)
        #expect(await iterator.next()?.changedProperties == ["nick"])
    }

    @Test func aPinnedReadDoesNotSeeIt() throws {
        let db = try makeSailors(1)
        try db.read {
            #expect(try db.query(Sailor.self).where(\.age == 0).count() == 1)
            let count = try db.update(Sailor.self).set(\.age, to: 4).run()
            #expect(count == 1)
            #expect(try db.query(Sailor.self).where(\.age == 0).count() == 1)
        }
        #expect(try changed(db, \.age) == [4])
    }
}
