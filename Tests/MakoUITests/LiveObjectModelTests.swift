import Mako
import MakoUI
import TestHelpers
import Testing

/// One object that a view shows: changed by other instances and processes, deleted, replaced by another.
@MainActor @Suite struct LiveObjectModelTests {
    @Test func theObjectHasTheValuesOfOtherInstances() async throws {
        let (db, dogs) = try makeDogs("Ajax", "Bella")
        let model = LiveObjectModel<Dog>()
        #expect(model.object == nil && !model.isLoaded)
        model.start(try #require(dogs[0].entityID), in: db)
        // The first body of a view has it.
        #expect(model.object?.name == "Ajax" && model.isLoaded)

        let other = try #require(try await db.find(Dog.self, 1))
        other.name = "Zeus"
        try await db.save(other)
        #expect(await reaches { model.object?.name == "Zeus" })
        try await db.rawQuery("UPDATE Dog SET age = 7 WHERE name = 'Zeus'")
        #expect(await reaches { model.object?.age == 7 })
        #expect(model.error == nil)
    }

    @Test func aDeletedObjectIsNilUntilItsKeyIsStoredAgain() async throws {
        let (db, _) = try makeDogs()
        try await db.save([Kennel(name: "North", places: 3), Kennel(name: "South", places: 4)])
        let model = LiveObjectModel<Kennel>()
        model.start(key: "North", in: db)
        #expect(await reaches { model.object?.places == 3 })
        let stored = try #require(try await db.find(Kennel.self, "North"))
        try await db.delete(stored)
        #expect(await reaches { model.object == nil })
        #expect(model.isLoaded && model.error == nil)
        try await db.save([Kennel(name: "North", places: 5)])
        #expect(await reaches { model.object?.places == 5 })
    }

    @Test func anotherObjectReplacesTheFirst() async throws {
        let (db, dogs) = try makeDogs("Ajax", "Bella")
        let model = LiveObjectModel<Dog>()
        model.start(key: 1, in: db)
        #expect(await reaches { model.object?.name == "Ajax" })
        model.start(try #require(dogs[1].entityID), in: db)
        #expect(model.object?.name == "Bella" && model.isLoaded)
        model.start(key: 99, in: db)
        #expect(model.object == nil && model.isLoaded && model.error == nil)
    }

    @Test nonisolated func theEarlierObjectIsNotShownInASuspension() async throws {
        try await withTemporaryFile { path in try await expectNoEarlierObject(path) }
    }

    private func expectNoEarlierObject(_ path: String) async throws {
        let db = try Database(at: path, entities: [Dog.self])
        try await db.save([Dog(name: "Ajax", age: 1), Dog(name: "Bella", age: 2)])
        let model = LiveObjectModel<Dog>()
        model.start(key: 1, in: db)
        #expect(model.object?.name == "Ajax")
        try await db.suspend()
        model.start(key: 2, in: db)
        // A view of Bella must not show or edit Ajax meanwhile.
        #expect(model.object == nil && !model.isLoaded && model.error == nil)
        try await db.resume()
        #expect(await reaches { model.object?.name == "Bella" })
        try await db.close()
    }

    @Test func keysOfAnotherTypeOrTableAreErrors() async throws {
        let (db, dogs) = try makeDogs("Ajax")
        let model = LiveObjectModel<Dog>()
        model.start(key: 1, in: db)
        #expect(await reaches { model.object != nil })
        model.start(key: "one", in: db)
        guard case .typeMismatch = model.error else {
            Issue.record("\(String(describing: model.error)) is not the error of a key")
            return
        }
        #expect(model.object == nil && !model.isLoaded)
        model.start(try #require(dogs[0].entityID), in: db)
        #expect(await reaches { model.object?.name == "Ajax" })
        #expect(model.error == nil)
    }

    @Test func aClosedDatabaseIsShownAsAnError() async throws {
        let (db, _) = try makeDogs("Ajax")
        let model = LiveObjectModel<Dog>()
        model.start(key: 1, in: db)
        #expect(await reaches { model.isLoaded })
        try await db.close()
        #expect(await reaches { model.error == .closed(path: ":memory:") })
        #expect(model.object?.name == "Ajax")
    }

    /// What another process commits, a read-only database of the file shows after its refresh.
    @Test nonisolated func commitsOfAnotherProcessAreShownAfterARefresh() async throws {
        try await withTemporaryFile { path in try await expectCommitsOfAnotherProcess(path) }
    }

    private func expectCommitsOfAnotherProcess(_ path: String) async throws {
        let writer = try Database(at: path, entities: [Dog.self])
        let dog = Dog(name: "Ajax", age: 1)
        try await writer.save(dog)
        let reader = try Database(at: path, entities: [Dog.self], options: DatabaseOptions(readOnly: true))
        let model = LiveObjectModel<Dog>()
        model.start(key: 1, in: reader)
        #expect(await reaches { model.object?.name == "Ajax" })
        dog.name = "Zeus"
        try await writer.save(dog)
        try await reader.refresh()
        #expect(await reaches { model.object?.name == "Zeus" })
        try await writer.delete(dog)
        try await reader.refresh()
        #expect(await reaches { model.object == nil })
        #expect(model.isLoaded && model.error == nil)
    }

    @Test func aReleasedModelEndsItsQuery() async throws {
        let (db, _) = try makeDogs("Ajax")
        weak var released: LiveObjectModel<Dog>?
        do {
            let model = LiveObjectModel<Dog>()
            released = model
            model.start(key: 1, in: db)
            #expect(await reaches { model.isLoaded })
        }
        #expect(await reaches { released == nil && db.metrics.liveQueries == 0 })
    }
}
