import Foundation
import Mako
import Testing

/// The example of README.md with structs; the one with classes is in Demo/ReadmeExample.swift.
enum ReadmeStructs {
    // EXAMPLE README.md
    @Entity struct Player {
        @Attribute(.primaryKey) var id = UUID()
        @Attribute(.indexed) var name: String
        var score = 0
    }
    // EXAMPLE ends

    static func run(_ db: Database) throws -> [String] {
        // EXAMPLE README.md
        var player = Player(name: "Ada", score: 10)
        try db.save(&player)
        player.score += 5
        try db.save(&player)
        let best = try db.query(Player.self).where(\.score > 10).orderBy(\.score, .descending).limit(10).fetch()
        let total = try db.rawQuery("SELECT sum(score) FROM Player", as: Int.self)
        // EXAMPLE ends
        return best.map(\.name) + total.map(String.init)
    }
}

@Suite struct ReadmeExampleTests {
    @Test func structsAreSavedAndFound() throws {
        let db = try Database.inMemory(entities: [ReadmeStructs.Player.self])
        #expect(try ReadmeStructs.run(db) == ["Ada", "15"])
        // A second run of a program that has it begins with the file of the first.
        #expect(try ReadmeStructs.run(db) == ["Ada", "Ada", "30"])
    }
}
