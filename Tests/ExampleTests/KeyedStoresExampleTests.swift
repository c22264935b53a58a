import Foundation
import Mako
import TestHelpers
import Testing

/// The examples of the article `KeyedStores.md`.
enum KeyedStoresExample {
    // EXAMPLE KeyedStores.md
    struct Draft: Codable, Equatable, Sendable {
        var title = ""
        var body = ""
    }
    // EXAMPLE ends

    static func stored(_ db: Database) throws -> (KeyedStore, Draft?, Int?) {
        // EXAMPLE KeyedStores.md
        let drafts = try db.store("drafts")  // nothing is read or written yet
        let tides = Draft(title: "Tides", body: "They come and go.")
        try drafts.set(tides, for: "tides", tags: ["sea", "short"])
        try drafts.set(3, for: "opened")  // a store may hold values of several types
        let draft = try drafts.value(Draft.self, for: "tides")
        let opened = try drafts.value(Int.self, for: "opened")
        // EXAMPLE ends
        return (drafts, draft, opened)
    }

    static func tagged(_ drafts: KeyedStore, _ print: (String) -> Void) throws -> [[String]] {
        // EXAMPLE KeyedStores.md
        let short = try drafts.keys(taggedAny: ["short", "finished"])  // with one of these tags
        let seaside = try drafts.keys(taggedAll: ["sea", "short"])  // with each of these
        for (key, draft) in try drafts.values(Draft.self, taggedAny: ["sea"]) {
            print("\(key): \(draft.title)")
        }
        try drafts.setTags(["sea", "finished"], for: "tides")  // in place of those it has
        let tags = try drafts.tags()
        // EXAMPLE ends
        return [short, seaside, tags]
    }

    static func revised(_ db: Database) throws -> ([String], [Int]) {
        // EXAMPLE KeyedStores.md
        let notes = try db.store("notes", keptRevisions: 3)
        for text in ["one", "two", "three", "four"] { try notes.set(text, for: "count") }
        let kept = try notes.revisions(of: "count").map(\.number)  // 2, 3 and 4
        let newest = try notes.value(String.self, for: "count")
        let second = try notes.value(String.self, for: "count", revision: 2)
        let first = try notes.value(String.self, for: "count", revision: 1)  // nil: not kept any more
        // EXAMPLE ends
        return ([newest, second, first].compactMap { $0 }, kept)
    }

    static func informed(_ notes: KeyedStore) throws -> String {
        var line = ""
        func print(_ items: Any...) { line = items.map { "\($0)" }.joined(separator: " ") }
        // EXAMPLE KeyedStores.md
        if let info = try notes.info(for: "count") {
            print(info.revision, info.revisionsKept, info.tags, info.typeName, info.bytes)
        }
        // EXAMPLE ends
        return line
    }

    static func reverted(_ notes: KeyedStore) throws -> Int {
        // EXAMPLE KeyedStores.md
        let number = try notes.database.transaction { _ in
            let old = try notes.value(String.self, for: "count", revision: 2) ?? ""
            return try notes.set(old, for: "count")  // as a new revision
        }
        // EXAMPLE ends
        return number
    }

    static func converted(_ drafts: KeyedStore) throws -> Double? {
        // EXAMPLE KeyedStores.md
        do {
            _ = try drafts.value(Double.self, for: "opened")
        } catch MakoError.storedAsOtherType(_, let key, let stored, let requested) {
            print("\(key) has an \(stored), and not a \(requested)")
        }
        let opened = try drafts.value(Double.self, for: "opened", converting: true)  // 3.0
        // EXAMPLE ends
        return opened
    }

    static func cached(_ db: Database, _ load: @Sendable () async throws -> Draft) async throws -> Draft {
        // EXAMPLE KeyedStores.md
        let cache = try db.store("answers", keptRevisions: 1)
        if let info = try await cache.info(for: "tides"), info.changed.timeIntervalSinceNow > -3600,
            let known = try await cache.value(Draft.self, for: "tides")
        {
            return known
        }
        let fresh = try await load()
        try await cache.set(fresh, for: "tides")
        return fresh
        // EXAMPLE ends
    }

    static func removed(_ drafts: KeyedStore) throws -> (Bool, Int) {
        // EXAMPLE KeyedStores.md
        let wasThere = try drafts.remove("opened")
        let count = try drafts.removeAll()
        // EXAMPLE ends
        return (wasThere, count)
    }
}

@Suite struct KeyedStoresExampleTests {
    private typealias E = KeyedStoresExample

    @Test func valuesAndTags() throws {
        let db = try Database.inMemory()
        let (drafts, draft, opened) = try E.stored(db)
        #expect(draft?.title == "Tides" && opened == 3)
        var lines: [String] = []
        #expect(try E.tagged(drafts) { lines.append($0) } == [["tides"], ["tides"], ["finished", "sea"]])
        #expect(lines == ["tides: Tides"])
        #expect(try drafts.keys() == ["opened", "tides"])
        #expect(try E.converted(drafts) == 3)
        let (wasThere, count) = try E.removed(drafts)
        #expect(wasThere && count == 1)
    }

    @Test func revisions() throws {
        let db = try Database.inMemory()
        let (texts, kept) = try E.revised(db)
        #expect(texts == ["four", "two"] && kept == [2, 3, 4])
        let notes = try db.store("notes")
        #expect(try E.informed(notes) == "4 3 [] String 4")
        #expect(try E.reverted(notes) == 5)
        #expect(try notes.value(String.self, for: "count") == "two")
        #expect(try notes.revisions(of: "count").map(\.number) == [3, 4, 5])
    }

    @Test func answersAreKept() async throws {
        let db = try Database.inMemory()
        let calls = Collected<Int>()
        for _ in 0..<2 {
            let draft = try await E.cached(db) {
                calls.append(1)
                return E.Draft(title: "Tides")
            }
            #expect(draft.title == "Tides")
        }
        #expect(calls.all.count == 1)
    }

    /// What the article describes of observing.
    @Test func onlyTheHistoryReportsKeyedStores() throws {
        var options = DatabaseOptions()
        options.history = .kept()
        let db = try Database.inMemory(options: options)
        let seen = Collected<String>()
        let token = db.onInsert { seen.append($0.entity) }
        try db.store("notes").set(1, for: "a")
        let notified = try db.history(since: nil).compactMap(\.batch).flatMap { $0.changes.map(\.entity) }
        #expect(Set(notified).isSuperset(of: ["mako_store_entry", "mako_store_revision"]))
        #expect(seen.all.isEmpty)
        token.cancel()
    }
}
