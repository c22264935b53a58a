import Foundation
import Mako
import TestHelpers
import Testing

@Suite struct EventTests {
    @Test func classEventsAsASequence() async throws {
        let db = try makeDatabase()
        let changes = try Person.changes(.insert, .update, .delete, in: db)
        let ada = Person(name: "Ada")
        try await db.save(ada)
        ada.age = 40
        try await db.save(ada)
        try await db.delete(ada)
        var iterator = changes.makeAsyncIterator()
        let insert = try #require(await iterator.next())
        #expect(insert.kind == .insert)
        #expect(insert.object === ada)
        let update = try #require(await iterator.next())
        #expect(update.kind == .update)
        #expect(update.changedProperties == ["age"])
        let delete = try #require(await iterator.next())
        #expect(delete.kind == .delete)
        #expect(delete.key == .rowID(1))
        try await db.close()
        #expect(await iterator.next() == nil)
    }

    @Test func handlersAreCalledOnTheirQueue() throws {
        let db = try makeDatabase()
        let key = DispatchSpecificKey<String>()
        let queue = DispatchQueue(label: "events")
        queue.setSpecific(key: key, value: "events")
        let seen = Collected<String>()
        let note: @Sendable (String) -> Void = { seen.append("\($0) \(DispatchQueue.getSpecific(key: key) ?? "none")") }
        let ada = Person(name: "Ada")
        try db.save(ada)
        let tokens = [
            try Person.onChange(in: db, on: queue) { note("class \($0.kind)") },
            try ada.onChange(on: queue) { note("object \($0.kind)") },
            db.onInsert(on: queue) { note("all \($0.kind)") }, db.onUpdate(on: queue) { note("all \($0.kind)") },
            db.onDelete(on: queue) { note("all \($0.kind)") }, db.onDelete { note("here \($0.kind)") },
        ]
        ada.age = 40
        try db.save(ada)
        try db.save(Location(name: "London"))
        try db.delete(ada)
        queue.sync {}
        #expect(
            seen.all.sorted() == [
                "all delete events", "all insert events", "all update events", "class delete events",
                "class update events", "here delete none", "object delete events", "object update events",
            ])
        for token in tokens { token.cancel() }
    }

    @Test func kindsAreFiltered() throws {
        let db = try makeDatabase()
        let seen = Collected<ChangeKind>()
        let token = try Person.onChange(.insert, .delete, in: db) { seen.append($0.kind) }
        let ada = Person(name: "Ada")
        try db.save(ada)
        ada.age = 1
        try db.save(ada)
        try db.save(Location(name: "London"))
        try db.delete(ada)
        #expect(seen.all == [.insert, .delete])
        token.cancel()
        try db.save(Person(name: "Bob"))
        #expect(seen.all.count == 2)
    }

    @Test func oneEventPerObjectAfterTheTransaction() throws {
        let db = try makeDatabase()
        let seen = Collected<String>()
        let token = try Person.onChange(in: db) { change in
            seen.append("\(change.kind) \(change.object?.name ?? "-") \(change.object?.age ?? 0)")
        }
        defer { token.cancel() }
        try db.transaction { _ in
            let ada = Person(name: "Ada", age: 1)
            try db.save(ada)
            ada.age = 2
            try db.save(ada)
            try db.transaction { _ in
                ada.age = 3
                try db.save(ada)
            }
            #expect(seen.all.isEmpty)
        }
        #expect(seen.all == ["insert Ada 3"])
    }

    @Test func observersReadTheCommittedState() throws {
        let db = try makeDatabase()
        let seen = Collected<String>()
        let token = try Person.onChange(in: db) { change in
            let found = try? db.find(Person.self, change.object?.id ?? 0)
            seen.append("\(change.kind) \(found.map { "\($0.age)" } ?? "nobody")")
        }
        defer { token.cancel() }
        let ada = Person(name: "Ada", age: 1)
        try db.save(ada)
        ada.age = 2
        try db.save(ada)
        try db.delete(ada)
        #expect(seen.all == ["insert 1", "update 2", "delete nobody"])
    }

    @Test func rollbacksNotifyNoObserver() throws {
        let db = try makeDatabase()
        let seen = Collected<ChangeKind>()
        let token = try Person.onChange(in: db) { seen.append($0.kind) }
        defer { token.cancel() }
        #expect(throws: Refused()) {
            try db.transaction { _ in
                try db.save(Person(name: "Ada"))
                throw Refused()
            }
        }
        try db.transaction { _ in
            try? db.transaction { _ in
                try db.save(Person(name: "Bob"))
                throw Refused()
            }
            try db.save(Person(name: "Cleo"))
        }
        #expect(seen.all == [.insert])
    }

    @Test func oneObjectIsWatchedByItsKey() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada")
        let bob = Person(name: "Bob")
        #expect(throws: MakoError.self) { try ada.onChange { _ in } }
        try db.save([ada, bob])
        let ages = Collected<Int>()
        let token = try ada.onChange { ages.append($0.object?.age ?? -1) }
        let other = try #require(try db.find(Person.self, 1))
        other.age = 77
        try db.save(other)
        bob.age = 1
        try db.save(bob)
        #expect(ages.all == [77])
        token.cancel()
    }

    @Test func databaseWideHandlers() throws {
        let db = try makeDatabase()
        let seen = Collected<String>()
        let tokens = [
            db.onInsert { seen.append("+\($0.entity)") }, db.onUpdate { seen.append("~\($0.entity)") },
            db.onDelete { seen.append("-\($0.entity)") },
        ]
        let ada = Person(name: "Ada", department: Department(name: "Engines"))
        try db.save(ada)
        ada.age = 5
        try db.save(ada)
        try db.delete(ada)
        #expect(seen.all == ["+Department", "+Person", "~Person", "-Person"])
        withExtendedLifetime(tokens) {}
    }

    @Test func aFullBufferSaysThatSomethingWasMissed() async throws {
        let db = try makeDatabase()
        let changes = try Location.changes(.insert, in: db)
        let limit = ChangeSequence<Location>.bufferLimit
        try await db.save((0..<limit + 10).map { Location(name: "\($0)") })
        var iterator = changes.makeAsyncIterator()
        for index in 0..<limit {
            let change = try #require(await iterator.next())
            #expect(change.kind == .insert && change.object?.name == "\(index)")
        }
        #expect(await iterator.next()?.kind == .missed)
        try await db.save(Location(name: "later"))
        #expect(await iterator.next()?.object?.name == "later")
    }

    @Test func cancellationEndsAWait() async throws {
        let db = try makeDatabase()
        let changes = try Person.changes(in: db)
        let seen = Collected<String>()
        let task = Task { for await change in changes { seen.append("\(change.kind)") } }
        try await db.save(Person(name: "Ada"))
        while seen.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        task.cancel()
        await task.value
        #expect(seen.all.count == 1)
    }

    @Test func changesOfRowsWithoutAnObjectAreReadBack() throws {
        let db = try makeDatabase()
        let engines = Department(name: "Engines")
        try db.save([Person(name: "Ada", department: engines)])
        let seen = Collected<String>()
        let token = try Person.onChange(in: db) {
            seen.append("\($0.kind) \($0.object?.name ?? "-") \($0.changedProperties)")
        }
        try db.delete(engines)
        #expect(seen.all == ["update Ada [\"department\"]"])
        #expect(try db.query(Person.self).delete() == 1)
        #expect(seen.all.last?.hasPrefix("delete") == true)
        withExtendedLifetime(token) {}
    }
}
