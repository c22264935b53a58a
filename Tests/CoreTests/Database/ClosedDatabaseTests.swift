import MakoCore
import TestHelpers
import Testing

/// What the calls of a closed database say: which file is closed.
@Suite struct ClosedDatabaseTests {
    /// Of a sandbox, the file that was opened, not the copy, which is deleted.
    @Test(arguments: [DatabaseMode.normal, .sandbox]) func everyCallNamesTheFile(_ mode: DatabaseMode) throws {
        try withTemporaryFile { path in
            let db = try Database(at: path, mode: mode, entities: [City.self])
            let city = City(name: "Oslo")
            try db.save(city)
            let store = try db.store("notes")
            try store.set("Hello", for: "a")
            let statement = try db.prepare("SELECT id FROM City")
            let update = db.update(City.self).set(\.name, to: "Bern")
            let cursor = try db.query(City.self).cursor()
            let rows = try db.rows("SELECT id FROM City")
            let batches = try db.query(City.self).batch(1)
            try db.close()
            city.name = "Bergen"
            let calls: [(String, () throws -> Void)] = [
                ("save", { try db.save(City(name: "Bern")) }), ("commit", { try city.commit() }),
                ("delete", { try db.delete(city) }), ("remove", { try city.remove() }),
                ("refresh an object", { try db.refresh(city) }), ("exists", { _ = try db.exists(city) }),
                ("find", { _ = try db.find(City.self, 1) }), ("find several", { _ = try db.find(City.self, [1]) }),
                ("fetch", { _ = try db.query(City.self).orderBy(\.name).fetch() }),
                ("count", { _ = try db.query(City.self).count() }),
                ("first", { _ = try db.query(City.self).first() }),
                ("delete rows", { try db.query(City.self).delete() }),
                ("new cursor", { _ = try db.query(City.self).cursor().next() }),
                ("cursor", { _ = try cursor.next() }), ("batch", { _ = try batches.object(at: 0) }),
                ("new rows", { _ = try db.rows("SELECT id FROM City") }), ("rows", { _ = try rows.next() }),
                ("query", { _ = try db.rawQuery("SELECT 1") }), ("statement", { _ = try statement.run() }),
                ("update", { try update.run() }), ("drop", { try db.drop(City.self) }),
                ("transaction", { _ = try db.transaction { 1 } }), ("read", { _ = try db.read { 1 } }),
                ("store", { try store.set("Hello", for: "b") }),
                ("stored value", { _ = try store.value(String.self, for: "a") }),
                ("stored keys", { _ = try store.keys() }), ("backup", { try db.backup(to: path + "-late") }),
                ("verify", { _ = try db.verify() }), ("compact", { try db.compact() }),
                ("refresh", { try db.refresh() }), ("cache", { try db.setCacheBytes(4 << 20) }),
                ("history", { _ = try db.historyToken() }),
            ]
            for (name, call) in calls { #expect(throws: MakoError.closed(path: path), "\(name)") { try call() } }
        }
    }

    @Test func theAsyncFormsNameTheFile() async throws {
        let db = try Database.inMemory(entities: [City.self])
        let store = try db.store("notes")
        try await store.set("Hello", for: "a")
        try await db.close()
        let closed = MakoError.closed(path: ":memory:")
        await #expect(throws: closed) { try await db.save(City(name: "Bern")) }
        await #expect(throws: closed) { _ = try await db.find(City.self, 1) }
        await #expect(throws: closed) { _ = try await db.query(City.self).fetch() }
        await #expect(throws: closed) { _ = try await db.read { 1 } }
        await #expect(throws: closed) { _ = try await db.transaction { 1 } }
        await #expect(throws: closed) { _ = try await store.value(String.self, for: "a") }
        await #expect(throws: closed) { _ = try await db.verify() }
        var live = db.query(City.self).observe().makeAsyncIterator()
        await #expect(throws: closed) { _ = try await live.next() }
    }

    private func cityOfAReleasedDatabase(_ path: String) throws -> City {
        let db = try Database(at: path, entities: [City.self])
        let city = City(name: "Oslo")
        try db.save(city)
        return city
    }

    @Test func anObjectThatOutlivesItsDatabaseNamesTheFile() throws {
        try withTemporaryFile { path in
            let city = try cityOfAReleasedDatabase(path)
            city.name = "Bergen"
            #expect(throws: MakoError.closed(path: path)) { try city.commit() }
            #expect(throws: MakoError.closed(path: path)) { try city.remove() }
        }
    }

    /// A wrong argument says nothing of the table, which needs no migration.
    @Test func aKeyOfAnotherKindIsAWrongArgument() throws {
        let db = try Database.inMemory(entities: [City.self])
        #expect(
            throws: MakoError.invalidArgument(
                "the key does not fit table City: it is of another kind than the table's keys")
        ) { try db.find(City.self, CompositeKey([.text("Oslo"), .text("Norway")])) }
    }
}
