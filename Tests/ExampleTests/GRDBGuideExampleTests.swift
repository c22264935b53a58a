import Foundation
import Mako
import TestHelpers
import Testing

/// The examples of the article `FromGRDB.md`.
enum GRDBGuide {
    // EXAMPLE FromGRDB.md
    @Entity struct Player {
        @Attribute(.primaryKey) var id = UUID()
        @Attribute(.indexed) var name: String
        var score: Int = 0
        var team: ToOne<Team>
    }

    @Entity final class Team {
        var name = ""
        @Attribute(.fullText) var motto = ""
    }
    // EXAMPLE ends

    static func open(_ path: String) throws -> Database {
        // EXAMPLE FromGRDB.md
        let db = try Database(at: path, entities: [Player.self, Team.self])
        // EXAMPLE ends
        return db
    }

    static func saved(_ db: Database, _ team: Team) throws -> Player {
        // EXAMPLE FromGRDB.md
        var player = Player(name: "Ada", score: 10, team: ToOne(team))
        try db.insert(&player)
        player.score += 5
        try db.save(&player)  // updates the row with this key
        try db.transaction { _ in
            try db.save([Player(name: "Bob", team: ToOne()), Player(name: "Cem", score: 3, team: ToOne(team))])
        }
        // EXAMPLE ends
        return player
    }

    static func fetched(_ db: Database, _ player: Player, _ name: String) throws -> (Int, [Player], [(String, Int)]) {
        // EXAMPLE FromGRDB.md
        let found = try db.find(Player.self, player.id)
        let best = try db.query(Player.self).where(\.score > 5).orderBy(\.score, .descending).limit(10).fetch()
        let named = try db.query(Player.self).where("name = ?", name).first()
        let count = try db.query(Player.self).count()
        let rows = try db.rawQuery(
            "SELECT name, score FROM Player WHERE score >= \(3) ORDER BY name", as: (String, Int).self)
        // EXAMPLE ends
        return (count, best.array + [found, named].compactMap { $0 }, Array(rows))
    }

    // EXAMPLE FromGRDB.md
    @Entity final class League {
        var name = ""
        var teams: [Team] = []
    }
    // EXAMPLE ends

    static func joined(_ db: Database) throws -> ([(String, String)], [(String, Int)], [League]) {
        // EXAMPLE FromGRDB.md
        let pairs = try db.rawQuery(
            "SELECT l.name, t.name FROM League l JOIN Team t ON ANY l.teams = t.id ORDER BY l.name, t.name",
            as: (String, String).self)
        let sizes = try db.rawQuery(
            "SELECT l.name, l.teams.@count FROM League l ORDER BY l.name", as: (String, Int).self)
        let leagues = try db.query(League.self).where(.any(\.teams, \.name == "Engines")).fetch()
        // EXAMPLE ends
        return (Array(pairs), Array(sizes), Array(leagues))
    }

    static func changed(_ db: Database, _ player: Player) throws -> (Int, Bool) {
        // EXAMPLE FromGRDB.md
        try db.update(Player.self).where(\.score < 5).set(\.score, to: \.score + 1).run()
        let removed = try db.query(Player.self).where(\.score == 0).delete()
        let wasThere = try db.delete(player)
        // EXAMPLE ends
        return (removed, wasThere)
    }

    static func observed(_ db: Database, _ show: ([String]) -> Void) async throws {
        // EXAMPLE FromGRDB.md
        for try await difference in db.query(Player.self).orderBy(\.score, .descending).limit(10).observe() {
            show(difference.results.map(\.name))
            if difference.results.isEmpty { break }
        }
        // EXAMPLE ends
    }

    static func searched(_ db: Database, _ typed: String) throws -> [Team] {
        // EXAMPLE FromGRDB.md
        let teams = try db.query(Team.self).where(.match(\.motto, MatchPattern(allTokens: typed))).orderBy(.rank)
            .fetch()
        // EXAMPLE ends
        return teams.array
    }
}

@Suite struct GRDBGuideExampleTests {
    @Test func theGuideFromGRDBRuns() async throws {
        try await withTemporaryFile { path in
            let db = try GRDBGuide.open(path)
            let team = GRDBGuide.Team(name: "Engines", motto: "Steam and iron")
            try await db.save(team)
            let player = try GRDBGuide.saved(db, team)
            let (count, players, rows) = try GRDBGuide.fetched(db, player, "Bob")
            #expect(count == 3 && players.map(\.name) == ["Ada", "Ada", "Bob"])
            #expect(rows.map(\.0) == ["Ada", "Cem"] && rows.map(\.1) == [15, 3])
            try await db.save([
                GRDBGuide.League(name: "North", teams: [team, GRDBGuide.Team(name: "Letters")]),
                GRDBGuide.League(name: "South", teams: [team]), GRDBGuide.League(name: "West"),
            ])
            let (pairs, sizes, leagues) = try GRDBGuide.joined(db)
            #expect(pairs.map { "\($0) \($1)" } == ["North Engines", "North Letters", "South Engines"])
            #expect(sizes.map(\.1) == [2, 1, 0] && Set(leagues.map(\.name)) == ["North", "South"])
            #expect(try GRDBGuide.searched(db, "\"iron (").count == 1)
            #expect(try await db.query(GRDBGuide.Player.self).where("team = ?", team).count() == 2)
            #expect(try GRDBGuide.changed(db, player) == (0, true))
            #expect(try await db.query(GRDBGuide.Player.self).orderBy(\.score).fetch().map(\.score) == [1, 4])
            try await db.query(GRDBGuide.Player.self).delete()
            try await GRDBGuide.observed(db) { #expect($0.isEmpty) }
            try await db.close()
        }
    }
}
