import Foundation
import Mako
import TestHelpers
import Testing

// The same tables under one key and under another.
enum KeysBefore {
    @Entity("Singer") final class Singer {
        #Index<Singer>([\.name])
        var name = ""
        var code = ""
        var teacher: Singer?
        var songs: [Song] = []
        var favourite: (any ObjectEntity)?
    }
    @Entity("Song") final class Song {
        var title = ""
        var writer: Singer?
        var voices: [String: Singer] = [:]
    }
}
enum KeysAfter {
    @Entity("Singer") final class Singer {
        #Index<Singer>([\.name])
        var name = ""
        @Attribute(.primaryKey) var code = ""
        var teacher: Singer?
        var songs: [Song] = []
        var favourite: (any ObjectEntity)?
    }
    @Entity("Song") final class Song {
        var title = ""
        var writer: Singer?
        var voices: [String: Singer] = [:]
    }
}
enum KeysDrawn {
    @Entity("Singer") final class Singer: Migratable {
        @Attribute(.primaryKey) var id = UUID()
        var name = ""
        var teacher: Singer?
        static func migrate(_ m: inout Migration) throws {
            if m.version < 1 {
                m.add("id") { _ in UUID() }
                m.version = 1
            }
        }
    }
}

enum SecretsBefore {
    @Entity("Agent") final class Agent {
        var code = ""
        @Attribute(.encrypted) var name: String?
    }
}
enum SecretsAfter {
    @Entity("Agent") final class Agent {
        @Attribute(.primaryKey) var code = ""
        @Attribute(.encrypted) var name: String?
    }
}

/// Types whose key changed open with all objects, and what refers to these.
@Suite struct KeyChangeTests {
    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) func whatIsEncryptedIsReadUnderTheNewKey()
        throws
    {
        try withTemporaryFile { path in
            let options = DatabaseOptions(propertyKey: .key([UInt8](repeating: 7, count: 32)))
            do {
                let db = try Database(at: path, entities: [SecretsBefore.Agent.self], options: options)
                try db.save([
                    SecretsBefore.Agent(code: "007", name: "James"), SecretsBefore.Agent(code: "006", name: "Alec"),
                ])
                try db.close()
            }
            #expect(throws: MakoError.self) { try Database(at: path, entities: [SecretsAfter.Agent.self]).close() }
            let db = try Database(at: path, entities: [SecretsAfter.Agent.self], options: options)
            #expect(try db.find(SecretsAfter.Agent.self, "007")?.name == "James")
            #expect(try db.query(SecretsAfter.Agent.self).orderBy(\.code).fetch().map(\.name) == ["Alec", "James"])
            #expect(try db.verify().isClean)
            try db.close()
        }
    }

    private func fill(_ path: String) throws {
        let db = try Database(at: path, entities: [KeysBefore.Singer.self])
        let clara = KeysBefore.Singer(name: "Clara", code: "cs")
        let robert = KeysBefore.Singer(name: "Robert", code: "rs", teacher: clara)
        clara.teacher = robert
        let song = KeysBefore.Song(title: "Widmung", writer: robert, voices: ["high": clara, "low": robert])
        clara.songs = [song, song]
        clara.favourite = robert
        try db.save([clara, robert])
        try db.close()
    }

    @Test func anIdBecomesATextAndBack() throws {
        try withTemporaryFile { path in
            try fill(path)
            let plan = try Database.migrationPlan(at: path, entities: [KeysAfter.Singer.self])
            #expect(plan.canBeDone && plan.losses.isEmpty)
            #expect(plan.description.contains("change the key from id to code: 2 objects"))
            #expect(plan.description.contains("have column writer refer to the new keys of Singer"))
            for mode in [DatabaseMode.sandbox, .normal] {
                let db = try Database(at: path, mode: mode, entities: [KeysAfter.Singer.self])
                let clara = try #require(try db.find(KeysAfter.Singer.self, "cs"))
                #expect(clara.name == "Clara" && clara.teacher?.code == "rs" && clara.teacher?.teacher?.code == "cs")
                #expect(clara.songs.map(\.title) == ["Widmung", "Widmung"])
                #expect((clara.favourite as? KeysAfter.Singer)?.name == "Robert")
                let song = try #require(clara.songs.first)
                #expect(song.writer?.name == "Robert")
                #expect(song.voices.mapValues(\.name) == ["high": "Clara", "low": "Robert"])
                #expect(try db.query(KeysAfter.Song.self).where("writer.name = 'Robert'").count() == 1)
                #expect(try db.query(KeysAfter.Singer.self).where(\.name == "Robert").fetch().map(\.code) == ["rs"])
                try db.close()
            }
            let db = try Database(at: path, entities: [KeysBefore.Singer.self])
            let robert = try #require(try db.query(KeysBefore.Singer.self).where(\.name == "Robert").first())
            #expect(robert.teacher?.name == "Clara" && robert.teacher?.songs.first?.writer === robert)
            #expect(robert.teacher?.favourite as? KeysBefore.Singer === robert)
            try db.close()
        }
    }

    @Test func aKeyIsDrawnForEachObject() throws {
        try withTemporaryFile { path in
            try fill(path)
            let db = try Database(at: path, entities: [KeysDrawn.Singer.self])
            let singers = try db.query(KeysDrawn.Singer.self).orderBy("name").fetch()
            #expect(singers.map(\.name) == ["Clara", "Robert"])
            #expect(singers[0].teacher?.id == singers[1].id && singers[1].teacher?.id == singers[0].id)
            #expect(try db.find(KeysDrawn.Singer.self, singers[0].id)?.name == "Clara")
            try db.close()
        }
    }

    @Test func objectsWithoutAKeyOfTheirOwnStopTheOpening() throws {
        try withTemporaryFile { path in
            try fill(path)
            var db = try Database(at: path, entities: [KeysBefore.Singer.self])
            try db.save([KeysBefore.Singer(name: "Carl", code: "cs")])
            try db.close()
            let plan = try Database.migrationPlan(at: path, entities: [KeysAfter.Singer.self])
            #expect(!plan.canBeDone)
            #expect {
                _ = try Database(at: path, entities: [KeysAfter.Singer.self])
            } throws: { error in
                guard case MakoError.migration("Singer", let reason) = error else { return false }
                return reason.contains("several rows have code = 'cs'")
            }
            db = try Database(at: path, entities: [KeysBefore.Singer.self])
            #expect(db.migrations.isEmpty)
            #expect(try db.query(KeysBefore.Singer.self).count() == 3)
            try db.close()
        }
    }
}
