import Foundation
import Mako
import TestHelpers
import Testing

enum TextModels {
    @Entity final class Note {
        #Unique<Note>([\.code])
        var name = ""
        var code: String?
        var size = 0.0
    }

    @Entity(database: "caf\u{e9}") final class Composed { var x = 0 }
}

/// Texts that differ only in their Unicode composition are different texts for every lookup.
@Suite(.serialized) struct TextIdentityTests {
    typealias Note = TextModels.Note
    private static let texts = ["caf\u{e9}", "cafe\u{301}"]

    private func notes() throws -> Database {
        let db = try Database.inMemory(entities: [Note.self])
        try db.save(Self.texts.map { Note(name: $0, code: $0) })
        return db
    }

    private func bytes(_ notes: some Sequence<Note>) -> [[UInt8]] { notes.map { Array($0.name.utf8) } }

    @Test func conditionsAsTextAreTheirOwn() throws {
        let db = try notes()
        for _ in 0..<2 {
            for text in Self.texts {
                let expected = [Array(text.utf8)]
                let all = db.query(Note.self)
                #expect(bytes(try all.where(text: "name = '\(text)'").fetch()) == expected)
                #expect(bytes(try all.where("name = \(text)").fetch()) == expected)
                #expect(bytes(try all.where("name = ?", text).fetch()) == expected)
                #expect(bytes(try all.where("name = :n", named: ["n": text]).fetch()) == expected)
                #expect(bytes(try all.where(\.name == text).fetch()) == expected)
                #expect(bytes(try all.where(#Predicate { $0.name == text }).fetch()) == expected)
                #expect(bytes(try all.where(text: "name LIKE '\(text)'").fetch()) == expected)
                #expect(bytes(try all.where(text: "name IN ('\(text)')").fetch()) == expected)
                #expect(bytes(try all.where(text: "coalesce(name, '') || '' = '\(text)'").fetch()) == expected)
                let raw = try db.rawQuery(text: "SELECT name FROM Note WHERE code = '\(text)'")
                #expect(raw.rows.map { $0.map { Array($0.description.utf8) } } == [[Array("'\(text)'".utf8)]])
            }
        }
    }

    @Test func statementsAsTextAreTheirOwn() throws {
        let db = try notes()
        for text in Self.texts {
            _ = try db.rawQuery(text: "UPDATE Note SET size = 1 WHERE name = '\(text)' AND size = 0")
        }
        #expect(try db.query(Note.self).where(\.size == 1).count() == 2)
        for text in Self.texts { _ = try db.rawQuery(text: "INSERT INTO Note (name, size) VALUES ('\(text)', 2)") }
        #expect(
            bytes(try db.query(Note.self).where(\.size == 2).orderBy(\.id).fetch()) == Self.texts.map { Array($0.utf8) }
        )
        for (left, text) in zip([3, 2], Self.texts) {
            _ = try db.rawQuery(text: "DELETE FROM Note WHERE name = '\(text)' AND size = 1")
            #expect(try db.query(Note.self).count() == left)
        }
        #expect(try db.query(Note.self).where(text: "name = '\(Self.texts[1])'").count() == 1)
    }

    @Test func groupsInMemoryAreThoseOfSQL() throws {
        let db = try notes()
        try db.save([Note(name: Self.texts[0], size: .nan), Note(name: "x", size: -0.0), Note(name: "x", size: .nan)])
        let all = db.query(Note.self).orderBy(\.id)
        let groups = try all.groupBy(\.name)
        let counts = try db.rawQuery("SELECT name, count(*) FROM Note GROUP BY name").rows
        #expect(groups.count == 3 && counts.count == 3)
        for row in counts {
            guard case .text(let name) = row[0] else { continue }
            #expect(row[1] == .integer(Int64(groups[name]?.count ?? 0)))
            #expect(bytes(groups[name] ?? []).allSatisfy { $0 == Array(name.utf8) })
        }
        #expect(try all.distinct(\.name).count == 3)
        #expect(try all.groupCount(\.name).map(\.count) == [1, 2, 2])
        // Of an optional property; NULL is a group too.
        let codes = try all.groupBy(\.code)
        #expect(codes.count == 3 && codes[nil]?.count == 3 && codes[Self.texts[1]]?.count == 1)
        // All NaN are one value, and so are both zeros.
        let sizes = try all.groupBy(\.size)
        #expect(sizes.count == 2 && sizes[.nan]?.count == 2 && sizes[0]?.count == 3)
        // In the order of their first objects.
        #expect(groups.map { Array($0.key.utf8) } == (Self.texts + ["x"]).map { Array($0.utf8) })
        #expect(groups.keys.count == 3 && groups.values.map(\.count) == [2, 1, 2])
        #expect(groups["y"] == nil && groups["y", default: []].isEmpty)
    }

    @Test func uniqueValuesAndKeysAreTheirOwn() throws {
        let db = try notes()
        #expect(throws: MakoError.self) { try db.save(Note(code: Self.texts[1])) }
        let store = try db.store(Self.texts[0])
        try store.set(1, for: Self.texts[0])
        try store.set(2, for: Self.texts[1])
        try db.store(Self.texts[1]).set(3, for: Self.texts[0])
        #expect(try store.value(Int.self, for: Self.texts[0]) == 1)
        #expect(try store.value(Int.self, for: Self.texts[1]) == 2)
        #expect(try db.store(Self.texts[1]).value(Int.self, for: Self.texts[0]) == 3)
        #expect(try db.store(Self.texts[1]).count() == 1)
    }

    @Test func registeredDatabasesAreTheirOwn() throws {
        let databases = try Self.texts.map { _ in try Database.inMemory(entities: [TextModels.Composed.self]) }
        for (name, database) in zip(Self.texts, databases) { Database.register(database, as: name) }
        defer { for name in Self.texts { Database.register(nil, as: name) } }
        try TextModels.Composed(x: 1).commit()
        #expect(try databases.map { try $0.query(TextModels.Composed.self).count() } == [1, 0])
    }

    #if os(Linux)
        /// File systems of other systems may take both names for one.
        @Test func filesAreTheirOwn() throws {
            try withTemporaryFile { path in
                let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
                let databases = try Self.texts.map { try Database(at: directory + "/" + $0, entities: [Note.self]) }
                #expect(databases[0] !== databases[1])
                try databases[0].save(Note(name: "here"))
                #expect(try databases.map { try $0.query(Note.self).count() } == [1, 0])
                for database in databases { try database.close() }
                let again = try Database(at: directory + "/" + Self.texts[1], entities: [Note.self])
                #expect(try again.query(Note.self).count() == 0)
                try again.close()
            }
        }
    #endif
}
