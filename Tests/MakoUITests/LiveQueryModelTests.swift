import Mako
import MakoUI
import Observation
import TestHelpers
import Testing

/// The results that a view shows: initial, after commits, after another query, after an error and at the end.
@MainActor @Suite struct LiveQueryModelTests {
    private let young = Dog.query().where(\.age < 10).orderBy(\.name)

    @Test func resultsFollowInsertionsUpdatesAndDeletions() async throws {
        let (db, dogs) = try makeDogs("Ajax", "Bella")
        let model = LiveQueryModel<Dog>()
        #expect(model.results.isEmpty && !model.isLoaded && model.error == nil)
        model.start(young, in: db)
        // The first body of a view has them.
        #expect(model.results.map(\.name) == ["Ajax", "Bella"] && model.isLoaded && model.error == nil)

        try await db.save(Dog(name: "Castor", age: 3))
        #expect(await reaches { model.results.map(\.name) == ["Ajax", "Bella", "Castor"] })
        dogs[0].name = "Zeus"
        try await db.save(dogs[0])
        #expect(await reaches { model.results.map(\.name) == ["Bella", "Castor", "Zeus"] })
        dogs[1].age = 12  // leaves the results
        try await db.save(dogs[1])
        try await db.delete(dogs[0])
        #expect(await reaches { model.results.map(\.name) == ["Castor"] })
        #expect(model.error == nil && model.isLoaded)
    }

    /// Without this a view would not be drawn again.
    @Test func observersAreNotifiedOfEachChange() async throws {
        let (db, _) = try makeDogs("Ajax")
        let model = LiveQueryModel<Dog>()
        let notified = Collected<String>()
        withObservationTracking({ _ = (model.results, model.isLoaded) }, onChange: { notified.append("loaded") })
        model.start(young, in: db)
        #expect(await reaches { model.isLoaded })
        withObservationTracking({ _ = model.results }, onChange: { notified.append("results") })
        try await db.save(Dog(name: "Bella"))
        #expect(await reaches { model.results.count == 2 })
        withObservationTracking({ _ = model.error }, onChange: { notified.append("error") })
        try await db.close()
        #expect(await reaches { model.error != nil })
        #expect(notified.all == ["loaded", "results", "error"])
    }

    @Test func anotherQueryReplacesTheFirst() async throws {
        let (db, _) = try makeDogs("Ajax", "Bella")
        let model = LiveQueryModel<Dog>()
        model.start(young, in: db)
        model.start(Dog.query().where(\.name == "Bella"), in: db)
        #expect(model.results.map(\.name) == ["Bella"] && model.isLoaded)
        try await db.save(Dog(name: "Castor"))
        try await db.save(Dog(name: "Bella", age: 9))
        #expect(await reaches { model.results.count == 2 })
        #expect(model.results.allSatisfy { $0.name == "Bella" })
        #expect(await reaches { db.metrics.liveQueries == 1 })
    }

    /// Each notification draws a view again: the task must not show the first results once more.
    @Test func theFirstResultsAreShownOnce() async throws {
        let (db, _) = try makeDogs("Ajax")
        let (model, kennels) = (LiveQueryModel<Dog>(), LiveQueryModel<Kennel>())
        model.start(young, in: db)
        kennels.start(Kennel.query(), in: db)
        let notified = Collected<String>()
        withObservationTracking({ _ = (model.results, model.isLoaded, model.error) }, onChange: { notified.append("") })
        // The task of the first model has had time for its first step when the second one shows a commit.
        for round in 1...20 {
            try await db.save(Kennel(name: "\(round)"))
            #expect(await reaches { kennels.results.count == round })
        }
        #expect(notified.all.isEmpty)
    }

    /// The observation goes on from the snapshot of the first results.
    @Test nonisolated func theNextDifferenceIsThatOfTheNextCommit() async throws {
        let (db, _) = try makeDogs("Ajax", "Castor")
        var live = db.query(Dog.self).orderBy(\.name).observe().makeAsyncIterator()
        let first = try #require(try live.first())
        #expect(first.isInitial && first.results.map(\.name) == ["Ajax", "Castor"])
        try await db.save(Dog(name: "Bella", age: 2))
        let next = try #require(try await live.next())
        #expect(!next.isInitial && next.insertions == [1] && next.deletions.isEmpty && next.updates.isEmpty)
        #expect(next.results.map(\.name) == ["Ajax", "Bella", "Castor"])
        #expect(next.results.array[0] === first.results.array[0])
    }

    /// A transaction may roll back: its own changes are not shown before its commit.
    @Test func aQueryThatStartsInATransactionShowsItsCommit() async throws {
        let (db, _) = try makeDogs("Ajax")
        let model = LiveQueryModel<Dog>()
        try startInTransaction(model, db)
        #expect(await reaches { model.isLoaded })
        #expect(model.results.map(\.name) == ["Ajax", "Bella"] && model.error == nil)
    }

    private func startInTransaction(_ model: LiveQueryModel<Dog>, _ db: Database) throws {
        try db.transaction { _ in
            try db.save(Dog(name: "Bella", age: 2))
            model.start(young, in: db)
            #expect(model.results.isEmpty && !model.isLoaded && model.error == nil)
        }
    }

    @Test nonisolated func aQueryThatStartsInASuspensionIsReadAfterIt() async throws {
        try await withTemporaryFile { path in try await expectResultsAfterSuspension(path) }
    }

    private func expectResultsAfterSuspension(_ path: String) async throws {
        let db = try Database(at: path, entities: [Dog.self])
        try await db.save([Dog(name: "Ajax", age: 1), Dog(name: "Bella", age: 2)])
        let model = LiveQueryModel<Dog>()
        model.start(young, in: db)
        try await db.suspend()
        model.start(Dog.query().where(\.name == "Bella"), in: db)
        // The earlier results stay until the first new ones: a list does not flicker.
        #expect(model.results.count == 2 && !model.isLoaded && model.error == nil)
        try await db.resume()
        #expect(await reaches { model.isLoaded })
        #expect(model.results.map(\.name) == ["Bella"] && model.error == nil)
        try await db.close()
    }

    /// Restarts at every stage of the query before it, whose results must not be shown as those of the next.
    @Test func resultsOfAnEarlierQueryAreDropped() async throws {
        let (db, _) = try makeDogs("Ajax", "Bella", "Castor", "Diana", "Elsa")
        let model = LiveQueryModel<Dog>()
        for round in 1...200 {
            let age = round % 5 + 1
            model.start(Dog.query().where(\.age == age), in: db)
            if round % 7 == 0 { try await db.save(Dog(name: "Flora", age: 100 + round)) }
            for _ in 0..<(round % 4) { await Task.yield() }
            if round % 10 == 0 { #expect(await reaches { model.isLoaded }) }
            if model.isLoaded { #expect(model.results.map(\.age) == [age]) }
            #expect(model.error == nil)
        }
        // Every query but the last has ended, none with an error.
        #expect(await reaches { model.isLoaded && db.metrics.liveQueries == 1 })
        #expect(model.results.map(\.age) == [1] && model.error == nil)
    }

    @Test func resultsOfAnotherDatabaseAreNotShown() async throws {
        let (db, _) = try makeDogs("Ajax")
        let (other, _) = try makeDogs("Bella")
        let model = LiveQueryModel<Dog>()
        model.start(young, in: db)
        #expect(await reaches { model.isLoaded })
        model.start(young, in: other)
        #expect(model.results.map(\.name) == ["Bella"])
        // A query of a database stays in it.
        model.start(db.query(Dog.self), in: other)
        #expect(model.results.map(\.name) == ["Ajax"])
        // Not even where the first read fails.
        try await other.close()
        model.start(young, in: other)
        #expect(model.results.isEmpty && model.error == .closed(path: ":memory:"))
    }

    @Test func aDroppedTableIsShownAsAnErrorThatStays() async throws {
        let (db, _) = try makeDogs("Ajax")
        let model = LiveQueryModel<Dog>()
        model.start(id: 1, in: db) { () throws(MakoError) in young }
        #expect(await reaches { model.isLoaded })
        try await db.drop(Dog.self)
        #expect(await reaches { model.error != nil })
        guard case .migration(let entity, _) = model.error else {
            Issue.record("\(String(describing: model.error)) is not the error of a dropped table")
            return
        }
        #expect(entity == "Dog" && model.results.map(\.name) == ["Ajax"])
        // The next body of the view neither hides the error nor makes the table again.
        model.start(id: 1, in: db) { () throws(MakoError) in young }
        #expect(model.error != nil && !db.tables.contains { $0.name == "Dog" })
    }

    @Test func aClosedDatabaseIsShownAsAnError() async throws {
        let (db, _) = try makeDogs("Ajax")
        let model = LiveQueryModel<Dog>()
        model.start(young, in: db)
        #expect(await reaches { model.isLoaded })
        try await db.close()
        #expect(await reaches { model.error == .closed(path: ":memory:") })
        // The last results stay, and are still those of this query.
        #expect(model.results.map(\.name) == ["Ajax"] && model.isLoaded)

        let late = LiveQueryModel<Dog>()
        late.start(young, in: db)
        #expect(late.error == .closed(path: ":memory:") && !late.isLoaded)
    }

    @Test func aQueryThatFailsDoesNotEndTheModel() async throws {
        let (db, _) = try makeDogs("Ajax")
        let model = LiveQueryModel<Dog>()
        model.start(Dog.query().where(text: "agee > 1"), in: db)
        #expect(model.error.map { "\($0)".contains("age") } == true && !model.isLoaded)
        model.start(young, in: db)
        #expect(model.error == nil)
        #expect(await reaches { model.isLoaded })
        #expect(model.results.map(\.name) == ["Ajax"] && model.error == nil)
    }

    /// A view evaluates its body often: only another id or database starts the query again.
    @Test func theQueryStartsAgainWithAnotherIdentityOnly() async throws {
        let (db, _) = try makeDogs("Ajax", "Bella")
        let (other, _) = try makeDogs("Castor")
        let model = LiveQueryModel<Dog>()
        var starts = 0
        func draw(_ age: Int, _ database: Database) {
            model.start(id: age, in: database) { () throws(MakoError) in
                starts += 1
                return Dog.query().where(\.age == age)
            }
        }
        draw(1, db)
        draw(1, db)
        #expect(await reaches { model.results.map(\.name) == ["Ajax"] })
        draw(1, db)
        #expect(starts == 1 && model.isLoaded)
        draw(2, db)
        #expect(await reaches { model.results.map(\.name) == ["Bella"] })
        draw(1, other)
        #expect(await reaches { model.results.map(\.name) == ["Castor"] })
        #expect(starts == 3)
    }

    @Test func aReleasedModelEndsItsQuery() async throws {
        let (db, _) = try makeDogs("Ajax")
        weak var released: LiveQueryModel<Dog>?
        do {
            let model = LiveQueryModel<Dog>()
            released = model
            model.start(young, in: db)
            #expect(await reaches { model.isLoaded })
            #expect(db.metrics.liveQueries == 1)
        }
        #expect(await reaches { released == nil && db.metrics.liveQueries == 0 })

        // The same before its task runs.
        do {
            let model = LiveQueryModel<Dog>()
            released = model
            model.start(young, in: db)
        }
        #expect(await reaches { released == nil && db.metrics.liveQueries == 0 })
    }

    @Test func aStoppedModelKeepsItsResults() async throws {
        let (db, _) = try makeDogs("Ajax")
        let (model, running) = (LiveQueryModel<Dog>(), LiveQueryModel<Dog>())
        model.start(young, in: db)
        running.start(young, in: db)
        #expect(await reaches { model.isLoaded && running.isLoaded })
        model.stop()
        try await db.save(Dog(name: "Bella"))
        #expect(await reaches { running.results.count == 2 && db.metrics.liveQueries == 1 })
        #expect(model.results.map(\.name) == ["Ajax"] && !model.isLoaded && model.error == nil)
    }
}
