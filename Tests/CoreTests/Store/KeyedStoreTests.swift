import Dispatch
import Foundation
import MakoCore
import MakoStorage
import MakoTestSupport
import Testing

@Suite struct KeyedStoreTests {
    struct Note: Codable, Equatable, Sendable {
        var text: String
        var stars = 0
    }
    enum Level: String, Codable, Sendable { case low, high }
    struct Unwritable: Codable, Sendable {
        func encode(to encoder: any Encoder) throws { throw Stop() }
    }

    /// How many rows all stores of a database take, by table.
    private func rows(of db: Database) throws -> [StoredValue] {
        try ["mako_store_entry", "mako_store_revision", "mako_store_tag"].map { table in
            try db.rawQuery(text: "SELECT count(*) FROM \(table)").rows[0][0]
        }
    }

    private func same<T: StorableValue & Equatable>(_ value: T, in store: KeyedStore) throws -> Bool {
        try store.set(value, for: "\(T.self)")
        return try store.value(T.self, for: "\(T.self)") == value
    }

    private func sameCoded<T: Codable & Sendable & Equatable>(_ value: T, in store: KeyedStore) throws -> Bool {
        try store.set(value, for: "coded \(T.self)")
        return try store.value(T.self, for: "coded \(T.self)") == value
    }

    // MARK: - Values

    @Test func aValueIsReadAsItWasStored() throws {
        let store = try Database.inMemory().store("values")
        #expect(try same("Hello \u{0} 👋", in: store))
        #expect(try same("", in: store))
        #expect(try same(true, in: store))
        #expect(try same(Int.min, in: store))
        #expect(try same(UInt64.max, in: store))
        #expect(try same(UInt8(7), in: store))
        #expect(try same(0.1, in: store))
        #expect(try same(-Double.infinity, in: store))
        #expect(try same(Float.leastNonzeroMagnitude, in: store))
        #expect(try same(Date(timeIntervalSinceReferenceDate: 0.123_456_789), in: store))
        #expect(try same(UUID(), in: store))
        #expect(try same(Data([0, 255]), in: store))
        #expect(try same([UInt8](), in: store))
        #expect(try same(Decimal(string: "0.1"), in: store))
        #expect(try same(Int?.none, in: store))
        try store.set(Double.nan, for: "nan")
        #expect(try store.value(Double.self, for: "nan")?.isNaN == true)

        #expect(try sameCoded(Note(text: "null", stars: 3), in: store))
        #expect(try sameCoded(["a": [1, 2]], in: store))
        #expect(try sameCoded(Level.high, in: store))
        #expect(try sameCoded(Note?.none, in: store))
        #expect(try sameCoded([Double.infinity], in: store))
    }

    @Test func genericCodeStoresWhatOtherCodeDoes() throws {
        let store = try Database.inMemory().store("values")
        // The caller knows no more of the type than that it is Codable.
        #expect(try sameCoded(5, in: store))
        #expect(try sameCoded(Int?.some(5), in: store))
        #expect(try sameCoded(Int?.none, in: store))
        #expect(try store.value(Int.self, for: "coded Int") == 5)
        #expect(try store.info(for: "coded Int")?.bytes == 1)
    }

    @Test func anOptionalIsStoredAsWhatItWraps() throws {
        let store = try Database.inMemory().store("values")
        try store.set(Int?.some(5), for: "number")
        #expect(try store.value(Int.self, for: "number") == 5)
        #expect(try store.value(Int?.self, for: "number") == .some(5))
        try store.set(Int?.none, for: "number")
        #expect(try store.value(Int?.self, for: "number") == .some(.none))
        #expect(try store.info(for: "number")?.typeName == "nil")
        let error = MakoError.storedAsOtherType(store: "values", key: "number", stored: "nil", requested: "Int")
        #expect(throws: error) { try store.value(Int.self, for: "number") }
        #expect(error.description.contains("an optional"))
    }

    @Test func aValueOfAnotherTypeIsAnError() throws {
        let store = try Database.inMemory().store("notes")
        try store.set(5, for: "five")
        try store.set(Note(text: "Hello"), for: "note")
        #expect(throws: MakoError.storedAsOtherType(store: "notes", key: "five", stored: "Int", requested: "String")) {
            try store.value(String.self, for: "five")
        }
        #expect(throws: MakoError.storedAsOtherType(store: "notes", key: "five", stored: "Int", requested: "Int8")) {
            try store.value(Int8.self, for: "five")
        }
        #expect(
            throws: MakoError.storedAsOtherType(
                store: "notes", key: "note", stored: "KeyedStoreTests.Note", requested: "Int")
        ) {
            try store.value(Int.self, for: "note")
        }
        // Its JSON would do.
        struct Memo: Codable, Sendable, Equatable { var text: String }
        let error = MakoError.storedAsOtherType(
            store: "notes", key: "note", stored: "KeyedStoreTests.Note", requested: "KeyedStoreTests.Memo")
        #expect(throws: error) { try store.value(Memo.self, for: "note") }
        #expect(error.description.contains("'note'") && error.description.contains("converting: true"))
        #expect(
            throws: MakoError.storedAsOtherType(
                store: "notes", key: "five", stored: "Int", requested: "KeyedStoreTests.Note")
        ) {
            try store.values(Note.self)
        }
    }

    @Test func aValueOfAnotherTypeIsTakenOnRequestWhereItFits() throws {
        struct Memo: Codable, Sendable, Equatable { var text: String }
        let store = try Database.inMemory().store("notes")
        try store.set(300, for: "number")
        try store.set(Note(text: "Hello"), for: "note")
        try store.set(Level.high, for: "level")
        #expect(try store.value(Int16.self, for: "number", converting: true) == 300)
        #expect(try store.value(Double.self, for: "number", converting: true) == 300)
        #expect(try store.value(Memo.self, for: "note", converting: true) == Memo(text: "Hello"))
        #expect(try store.value(String.self, for: "level", converting: true) == "high")
        #expect(throws: MakoError.self) { try store.value(Int8.self, for: "number", converting: true) }
        #expect(throws: MakoError.self) { try store.value([Int].self, for: "note", converting: true) }
        #expect(throws: MakoError.self) { try store.value(Memo.self, for: "number", converting: true) }
        #expect(try store.values(Memo.self, taggedAny: [], converting: true).isEmpty)
    }

    @Test func aTypeThatHasChangedIsSaidToHave() throws {
        let store = try Database.inMemory().store("notes")
        do {
            struct Draft: Codable, Sendable { var text = "Hello" }
            try store.set(Draft(), for: "draft")
        }
        struct Draft: Codable, Sendable { var title: String }
        let name = "KeyedStoreTests.Draft"
        let error = MakoError.storedAsOtherType(store: "notes", key: "draft", stored: name, requested: name)
        #expect(throws: error) { try store.value(Draft.self, for: "draft") }
        #expect(error.description.contains("another form"))
    }

    @Test func aValueThatDoesNotEncodeChangesNothing() throws {
        let db = try Database.inMemory()
        let store = try db.store("notes")
        #expect(throws: MakoError.self) { try store.set(Unwritable(), for: "note") }
        #expect(db.tables.isEmpty)
    }

    // MARK: - Keys

    @Test func whatIsNotThereIsNil() throws {
        let db = try Database.inMemory()
        let store = try db.store("notes")
        func nothing() throws {
            #expect(try store.value(String.self, for: "a") == nil)
            #expect(try store.info(for: "a") == nil)
            #expect(try !store.contains("a"))
            #expect(try store.keys().isEmpty && store.tags().isEmpty && store.revisions(of: "a").isEmpty)
            #expect(try store.keys(taggedAny: ["t"]).isEmpty && store.values(Int.self).isEmpty)
            #expect(try store.count() == 0)
            #expect(try !store.remove("a"))
            #expect(try !store.setTags(["t"], for: "a"))
            #expect(try store.removeAll() == 0)
        }
        try nothing()
        #expect(db.tables.isEmpty)
        try db.store("others").set(1, for: "a", tags: ["t"])
        try nothing()
    }

    @Test func aKeyMayBeAnyText() throws {
        let store = try Database.inMemory().store("")
        let long = String(repeating: "k", count: 5_000)
        let keys = ["", " ", "👩‍👩‍👧", "a", "a\u{0}", "a\u{0}b", "é", "e\u{301}", "A", long, long + "1", long + "2", "Ω"]
        for (place, key) in keys.enumerated() { try store.set(place, for: key, tags: [key]) }
        for (place, key) in keys.enumerated() {
            #expect(try store.value(Int.self, for: key) == place)
            #expect(try store.values(Int.self, taggedAll: [key]).map(\.value) == [place])
        }
        let inOrder = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        #expect(try store.keys().map { Array($0.utf8) } == inOrder.map { Array($0.utf8) })
        #expect(try store.tags().map { Array($0.utf8) } == inOrder.map { Array($0.utf8) })
        #expect(try store.keys(taggedAny: keys).map { Array($0.utf8) } == inOrder.map { Array($0.utf8) })
        #expect(try store.set(0, for: long + "1") == 2)
        #expect(try store.remove(long + "1"))
        #expect(try store.value(Int.self, for: long + "2") == 11)
        let error = #expect(throws: MakoError.self) { try store.value(String.self, for: long) }
        #expect((error?.description.count ?? 1_000) < 300)
    }

    @Test func storesAreApart() throws {
        let db = try Database.inMemory()
        let notes = try db.store("notes", keptRevisions: 2)
        let drafts = try db.store("Notes")
        try notes.set("note", for: "a", tags: ["x"])
        try drafts.set("draft", for: "a", tags: ["x"])
        try drafts.set("more", for: "b", tags: ["x", "y"])
        for _ in 0..<3 { try notes.set("again", for: "a") }
        #expect(try notes.info(for: "a")?.revisionsKept == 2)
        #expect(try drafts.info(for: "a")?.revision == 1)
        #expect(try drafts.value(String.self, for: "a") == "draft")
        #expect(try notes.keys(taggedAny: ["x", "y"]) == ["a"])
        #expect(try notes.count(taggedAny: ["y"]) == 0)
        #expect(try notes.tags() == ["x"])
        #expect(try drafts.removeAll() == 2)
        #expect(try notes.keys() == ["a"])
    }

    // MARK: - Revisions

    @Test func oldRevisionsAreReadAndReleased() throws {
        let db = try Database.inMemory()
        let store = try db.store("notes", keptRevisions: 3)
        for number in 1...5 { #expect(try store.set("text \(number)", for: "a") == number) }
        #expect(try store.revisions(of: "a").map(\.number) == [3, 4, 5])
        #expect(try store.revisions(of: "a").map(\.typeName) == ["String", "String", "String"])
        #expect(try store.value(String.self, for: "a", revision: 3) == "text 3")
        #expect(try store.value(String.self, for: "a", revision: 5) == "text 5")
        for number in [-1, 0, 2, 6, Int.max] {
            #expect(try store.value(String.self, for: "a", revision: number) == nil)
        }
        let info = try #require(try store.info(for: "a"))
        #expect(info.revision == 5 && info.revisionsKept == 3 && info.bytes == 6 && info.tags.isEmpty)
        #expect(abs(info.changed.timeIntervalSinceNow) < 60)
        #expect(try rows(of: db) == [.integer(1), .integer(3), .integer(0)])
    }

    @Test func howManyRevisionsAreKeptIsRemembered() throws {
        let db = try Database.inMemory()
        try db.store("notes", keptRevisions: 20).set(0, for: "a")
        for number in 1..<15 { try db.store("notes").set(number, for: "a") }
        #expect(try db.store("notes").revisions(of: "a").count == 15)
        // Opening the store alone removes nothing.
        let frugal = try db.store("notes", keptRevisions: 1)
        #expect(try frugal.revisions(of: "a").count == 15)
        try frugal.set(15, for: "a")
        #expect(try frugal.revisions(of: "a").map(\.number) == [16])
        try db.store("notes").set(16, for: "a")
        #expect(try frugal.revisions(of: "a").map(\.number) == [17])
        let usual = try db.store("others")
        for number in 0..<12 { try usual.set(number, for: "a") }
        #expect(try usual.revisions(of: "a").count == 10)
        let all = try db.store("all", keptRevisions: .max)
        for number in 0..<12 { try all.set(number, for: "a") }
        #expect(try all.revisions(of: "a").count == 12)
        let error = #expect(throws: MakoError.self) { try db.store("notes", keptRevisions: 0) }
        #expect(error?.description.contains("keptRevisions: 0") == true)
    }

    // MARK: - Tags

    @Test func keysAreFoundByTheirTags() throws {
        let db = try Database.inMemory()
        let store = try db.store("notes")
        try store.set("1", for: "c", tags: ["draft", "english", "draft"])
        try store.set("2", for: "a", tags: ["draft", "german"])
        try store.set("3", for: "b", tags: ["english"])
        try store.set("4", for: "d")
        #expect(try store.keys() == ["a", "b", "c", "d"])
        #expect(try store.keys(taggedAny: ["draft"]) == ["a", "c"])
        #expect(try store.keys(taggedAny: ["german", "english", "none"]) == ["a", "b", "c"])
        #expect(try store.keys(taggedAll: ["draft", "english"]) == ["c"])
        #expect(try store.keys(taggedAll: ["draft", "none"]).isEmpty)
        #expect(try store.keys(taggedAny: ["english"], taggedAll: ["draft"]) == ["c"])
        #expect(try store.keys(taggedAny: []).isEmpty)
        #expect(try store.keys(taggedAll: []).count == 4)
        #expect(try store.count(taggedAny: ["draft", "english"]) == 3)
        #expect(try store.values(String.self, taggedAny: ["draft"]).map { "\($0.key) \($0.value)" } == ["a 2", "c 1"])
        #expect(try store.tags() == ["draft", "english", "german"])
        #expect(try store.info(for: "c")?.tags == ["draft", "english"])
        let table = try #require(db.tables.first { $0.name == "mako_store_tag" })
        #expect(table.indexes.map(\.name).contains("store,tag"))
    }

    @Test func tagsStayUntilOthersAreGiven() throws {
        let db = try Database.inMemory()
        let store = try db.store("notes")
        try store.set("1", for: "a", tags: ["x", "y"])
        try store.set("2", for: "a")
        #expect(try store.info(for: "a")?.tags == ["x", "y"])
        try store.set("3", for: "a", tags: ["y", "z"])
        #expect(try store.info(for: "a")?.tags == ["y", "z"])
        #expect(try store.keys(taggedAny: ["x"]).isEmpty)
        #expect(try store.setTags(["w"], for: "a"))
        #expect(try store.info(for: "a")?.tags == ["w"])
        #expect(try store.info(for: "a")?.revision == 3)
        try store.set("4", for: "a", tags: [])
        #expect(try store.tags().isEmpty)
        #expect(try rows(of: db) == [.integer(1), .integer(4), .integer(0)])
    }

    @Test func aRemovedKeyLeavesNothingBehind() throws {
        let db = try Database.inMemory()
        let store = try db.store("notes")
        for key in ["a", "b", "c"] {
            for number in 0..<4 { try store.set(number, for: key, tags: ["x", key]) }
        }
        #expect(try store.remove("a"))
        #expect(try !store.remove("a"))
        #expect(try store.value(Int.self, for: "a", revision: 1) == nil)
        #expect(try store.tags() == ["b", "c", "x"])
        #expect(try rows(of: db) == [.integer(2), .integer(8), .integer(4)])
        #expect(try store.set(7, for: "a") == 1)
        #expect(try store.info(for: "a")?.tags == [])
        #expect(try store.removeAll() == 3)
        #expect(try rows(of: db) == [.integer(0), .integer(0), .integer(0)])
    }

    // MARK: - Transactions

    @Test func aRollbackTakesEverythingBack() throws {
        let db = try Database.inMemory()
        let store = try db.store("notes")
        #expect(throws: Stop()) {
            try db.transaction { _ in
                try store.set("first", for: "a", tags: ["x"])
                #expect(try store.value(String.self, for: "a") == "first")
                throw Stop()
            }
        }
        #expect(db.tables.isEmpty)
        #expect(try store.keys().isEmpty)
        try store.set("first", for: "a", tags: ["x"])
        #expect(throws: Stop()) {
            try db.transaction { _ in
                try store.set("second", for: "a", tags: ["y"])
                try store.set("new", for: "b", tags: ["x"])
                try db.store("notes", keptRevisions: 1).set("third", for: "a")
                #expect(try store.keys(taggedAny: ["y"]) == ["a"])
                #expect(try store.revisions(of: "a").map(\.number) == [3])
                #expect(try store.removeAll() == 2)
                #expect(try store.count() == 0)
                throw Stop()
            }
        }
        #expect(try store.values(String.self).map { "\($0.key) \($0.value)" } == ["a first"])
        #expect(try store.info(for: "a")?.tags == ["x"])
        #expect(try store.set("second", for: "a") == 2)
        #expect(try store.revisions(of: "a").count == 2)
    }

    @Test func anInnerRollbackAffectsItsOwnChangesOnly() throws {
        let db = try Database.inMemory(entities: [Country.self])
        let store = try db.store("notes")
        try db.transaction { _ in
            try db.save([Country(code: "FR", people: 68)])
            try store.set(1, for: "a", tags: ["x"])
            #expect(throws: Stop()) {
                try db.transaction { _ in
                    try store.set(2, for: "a", tags: ["y"])
                    try db.save([Country(code: "IT", people: 59)])
                    throw Stop()
                }
            }
            #expect(throws: MakoError.self) { try store.set(Unwritable(), for: "a") }
            #expect(try store.set(3, for: "a") == 2)
        }
        #expect(try store.value(Int.self, for: "a") == 3)
        #expect(try store.keys(taggedAny: ["x", "y"]) == ["a"])
        #expect(try store.tags() == ["x"])
        #expect(try db.query(Country.self).count() == 1)
    }

    @Test func aReadSeesOneMoment() throws {
        let db = try Database.inMemory()
        let store = try db.store("notes")
        func elsewhere(_ body: @escaping @Sendable () throws -> Void) {
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                do { try body() } catch { Issue.record(error) }
                done.signal()
            }
            done.wait()
        }
        try db.read {
            elsewhere { try store.set(1, for: "a", tags: ["x"]) }
            let value = try store.value(Int.self, for: "a")
            #expect(value == nil)
            #expect(try store.keys().isEmpty)
        }
        try db.read {
            let value = try store.value(Int.self, for: "a")
            #expect(value == 1)
            elsewhere {
                try store.set(2, for: "a", tags: ["y"])
                try store.set(2, for: "b", tags: ["x"])
            }
            #expect(try store.value(Int.self, for: "a") == 1)
            #expect(try store.keys(taggedAny: ["x"]) == ["a"])
            #expect(try store.info(for: "a")?.revision == 1)
        }
        #expect(try store.keys(taggedAny: ["x"]) == ["b"])
    }

    // MARK: - Files

    @Test func aStoreIsThereWhenItsFileIsOpenedAgain() throws {
        let disk = SimulatedDisk()
        var storage = StoreOptions()
        storage.fileSystem = disk
        let options = DatabaseOptions(storage: storage)
        var db = try Database(at: "d/notes.mako", options: options)
        let note = Note(text: String(repeating: "long ", count: 10_000), stars: 5)
        try db.store("notes", keptRevisions: 3).set(note, for: "a", tags: ["x"])
        for number in 0..<4 { try db.store("notes").set(number, for: "b", tags: ["x"]) }
        try db.close()

        var reading = options
        reading.readOnly = true
        db = try Database(at: "d/notes.mako", options: reading)
        let read = try db.store("notes")
        #expect(try read.value(Note.self, for: "a") == note)
        #expect(try read.keys(taggedAll: ["x"]) == ["a", "b"])
        #expect(try read.revisions(of: "b").map(\.number) == [2, 3, 4])
        #expect(throws: MakoError.self) { try read.set(1, for: "a") }
        #expect(throws: MakoError.self) { try read.remove("a") }
        try db.close()
        #expect(throws: MakoError.self) { try read.keys() }

        db = try Database(at: "d/notes.mako", options: options)
        let written = try db.store("notes")
        // No type is bound yet, and none must be: a read in a snapshot cannot wait for a migration.
        #expect(try db.read { try written.value(Int.self, for: "b", revision: 3) } == 2)
        #expect(try written.set(4, for: "b") == 5)
        #expect(try written.revisions(of: "b").map(\.number) == [3, 4, 5])
        #expect(db.migrations.isEmpty)
        try db.close()
    }

    @Test func aWriteThatFailsHalfwayFailsItsTransaction() throws {
        let disk = SimulatedDisk()
        var storage = StoreOptions()
        storage.fileSystem = disk
        let db = try Database(at: "d/full.mako", options: DatabaseOptions(storage: storage))
        let store = try db.store("notes")
        try store.set([UInt8](), for: "a", tags: ["x"])
        var seed: UInt32 = 1
        let block = (0..<70_000).map { _ in
            seed = seed &* 1_664_525 &+ 1_013_904_223
            return UInt8(truncatingIfNeeded: seed >> 24)
        }
        let large = [[UInt8]](repeating: block, count: 30).flatMap { $0 }
        var failure: (any Error)?
        #expect(throws: MakoError.self) {
            try db.transaction { _ in
                disk.capacity = disk.usedBytes + 1_000_000
                do { try store.set(large, for: "a", tags: ["y"]) } catch { failure = error }
                // A transaction that continues after the failure must not commit half of the write.
                disk.capacity = nil
            }
        }
        #expect(failure is MakoError)
        #expect(try store.value([UInt8].self, for: "a") == [])
        #expect(try store.info(for: "a")?.tags == ["x"])
        #expect(try store.set(large, for: "a") == 2)
        #expect(try store.value([UInt8].self, for: "a") == large)
        try db.close()
    }

    @Test func aReadOnlyFileWithoutStoresHasEmptyOnes() throws {
        let disk = SimulatedDisk()
        var storage = StoreOptions()
        storage.fileSystem = disk
        try Database(at: "d/e.mako", options: DatabaseOptions(storage: storage)).close()
        let db = try Database(at: "d/e.mako", options: DatabaseOptions(readOnly: true, storage: storage))
        #expect(try db.store("notes").keys().isEmpty)
        #expect(throws: MakoError.self) { try db.store("notes").set(1, for: "a") }
        try db.close()
    }

    // MARK: - Async

    @Test func theAsyncFormsDoTheSame() async throws {
        let store = try Database.inMemory().store("notes")
        let first = try await store.set(Note(text: "Hello"), for: "a", tags: ["x"])
        let second = try await store.set(5, for: "b", tags: ["x", "y"])
        #expect(first == 1 && second == 1)
        let note = try await store.value(Note.self, for: "a")
        let number = try await store.value(Int.self, for: "b", revision: 1)
        #expect(note == Note(text: "Hello") && number == 5)
        let keys = try await store.keys(taggedAny: ["x"])
        let numbers = try await store.values(Int.self, taggedAll: ["y"])
        let notes = try await store.values(Note.self, taggedAny: ["x"], taggedAll: ["none"])
        #expect(keys == ["a", "b"] && numbers.map(\.value) == [5] && notes.isEmpty)
        let isRetagged = try await store.setTags(["z"], for: "a")
        let tags = try await store.tags()
        #expect(isRetagged && tags == ["x", "y", "z"])
        let info = try await store.info(for: "a")
        let revisions = try await store.revisions(of: "b")
        #expect(info?.tags == ["z"] && info?.typeName == "KeyedStoreTests.Note" && revisions.count == 1)
        let count = try await store.count()
        let isThere = try await store.contains("a")
        #expect(count == 2 && isThere)
        let wasThere = try await store.remove("a")
        let left = try await store.removeAll()
        #expect(wasThere && left == 1)
        await #expect(throws: MakoError.self) { try await store.set(Unwritable(), for: "a") }
    }

    // MARK: - Many

    @Test func tenThousandKeys() throws {
        let db = try Database.inMemory()
        let store = try db.store("many")
        try db.transaction { _ in
            for number in 0..<10_000 {
                try store.set(number, for: "key \(number)", tags: ["of \(number % 100)", "one \(number)"])
            }
        }
        #expect(try store.count() == 10_000)
        #expect(try store.keys() == (0..<10_000).map { "key \($0)" }.sorted())
        #expect(try store.keys(taggedAny: ["one 1234", "one 77"]) == ["key 1234", "key 77"])
        #expect(try store.count(taggedAny: ["of 7"]) == 100)
        #expect(try store.values(Int.self, taggedAll: ["of 7", "one 4007"]).map(\.value) == [4_007])
        for number in stride(from: 0, to: 10_000, by: 997) {
            #expect(try store.value(Int.self, for: "key \(number)") == number)
        }
        try db.transaction { _ in
            for number in 0..<1_000 { try store.remove("key \(number)") }
        }
        #expect(try store.count(taggedAny: ["of 7"]) == 90)
        #expect(try rows(of: db) == [.integer(9_000), .integer(9_000), .integer(18_000)])
    }
}
