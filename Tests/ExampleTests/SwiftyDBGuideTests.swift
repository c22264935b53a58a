import Foundation
import Mako
import TestHelpers
import Testing

/// The examples of the article `FromSwiftyDB.md`.
enum SwiftyGuide {
    static func opened(_ path: String) throws -> (Database, Database) {
        // EXAMPLE FromSwiftyDB.md
        let db = try Database(at: path, entities: [Stark.self, House.self])
        let trial = try Database(at: path, mode: .sandbox, entities: [Stark.self])
        // EXAMPLE ends
        return (db, trial)
    }

    // EXAMPLE FromSwiftyDB.md
    @Entity final class Stark {
        #Index<Stark>([\.age])
        @Attribute(.primaryKey) var name = ""
        var wolf: Wolf?
        var age = 0
        var titles: Set<String> = []
        var siblings: [Stark] = []
    }

    @Entity final class Wolf {
        @Attribute(.primaryKey) var name = ""
        var weight = 0.0
    }

    @Entity struct House {
        @Attribute(.primaryKey) var name: String
        var words: String
        var founded: Int?
        var sigil: ToOne<Wolf>
    }
    // EXAMPLE ends

    static func stored(_ db: Database) async throws {
        // EXAMPLE FromSwiftyDB.md
        let arya = Stark(name: "Arya", wolf: Wolf(name: "Nymeria"), age: 9)
        do throws(MakoError) {
            try await db.save(arya)  // the wolf, too
        } catch {
            print(error)
        }
        // EXAMPLE ends
    }

    static func storedStructs(_ db: Database) throws -> (House, Wolf?) {
        // EXAMPLE FromSwiftyDB.md
        try db.save(Stark(name: "Arya", age: 10))  // the same row, whole: she has no wolf now
        var house = House(name: "Stark", words: "Winter is coming", sigil: ToOne(Wolf(name: "direwolf")))
        try db.save(&house)
        let sigil = try house.sigil.load()
        // EXAMPLE ends
        return (house, sigil)
    }

    static func refused(_ db: Database) throws -> [StoredValue] {
        var found: [StoredValue] = []
        func print(_ values: [StoredValue]) { found = values }
        // EXAMPLE FromSwiftyDB.md
        do {
            try db.insert(Stark(name: "Arya"))  // v1: addObject(arya, update: false)
        } catch MakoError.duplicate(_, _, let values) {
            print(values)  // ['Arya']
        }
        // EXAMPLE ends
        return found
    }

    static func filtered(_ db: Database) throws -> [[Stark]] {
        // EXAMPLE FromSwiftyDB.md
        let starks = db.query(Stark.self)
        let all = try starks.fetch()
        let living = try starks.where(\.name << ["Sansa", "Arya", "Brandon"]).fetch()
        let owners = try starks.where(\.wolf.name == "Lady" || \.wolf.name == "Ghost").fetch()
        let children = try starks.where(\.age << (8..<16) && \.name !~ "%on%").fetch()
        let alone = try starks.where(\.wolf == nil).fetch()
        // EXAMPLE ends
        return [all.array, living.array, owners.array, children.array, alone.array]
    }

    static func owners(_ db: Database) throws -> ([Stark], [Stark]) {
        // EXAMPLE FromSwiftyDB.md
        let ghost = try db.find(Wolf.self, "Ghost")
        let jon = try db.query(Stark.self).where(\.wolf == ghost).fetch()
        let none = try db.query(Stark.self).where(\.wolf == Wolf(name: "Ghost")).fetch()  // a wolf without a row
        // EXAMPLE ends
        return (jon.array, none.array)
    }

    static func ordered(_ db: Database) throws -> [Stark] {
        // EXAMPLE FromSwiftyDB.md
        let page = try db.query(Stark.self).orderBy(\.name).offset(2).limit(4).fetch()
        // EXAMPLE ends
        return page.array
    }

    static func fetchedAway(_ db: Database) async throws -> [Stark] {
        // EXAMPLE FromSwiftyDB.md
        let starks = try await db.query(Stark.self).where(\.age > 8).fetch()
        // EXAMPLE ends
        return starks.array
    }

    static func dictionaries(_ db: Database) throws -> ([[String: StoredValue]], [String: StoredValue]) {
        // EXAMPLE FromSwiftyDB.md
        let rows = try db.query(Stark.self).fetch().map(\.asDictionary)  // v1: dataForType
        let arya = try Stark(["name": "Arya", "age": 9])
        // EXAMPLE ends
        return (rows, arya.asDictionary)
    }

    static func deleted(_ db: Database) throws -> Int {
        // EXAMPLE FromSwiftyDB.md
        let count = try db.query(Stark.self).where(\.name == "Eddard").delete()
        // EXAMPLE ends
        return count
    }

    enum Later {
        // EXAMPLE FromSwiftyDB.md
        @Entity final class Wolf {
            @Attribute(.primaryKey, .originalName("name")) var title = ""  // renamed
            var weight = ""  // was a Double: converted
            var height = 178.0  // added, with this value in the rows that are there
        }
        // EXAMPLE ends
    }

    static func imported(_ db: Database, _ rows: [[String: Any]]) throws {
        // EXAMPLE FromSwiftyDB.md
        try db.transaction { _ in
            for row in rows {
                var values = row
                values["titles"] = Set(row["titles"] as? [String] ?? [])
                values["wolf"] = try (row["wolf"] as? String).map { try db.find(Wolf.self, orNew: $0) }
                try db.save(try Stark(values))
            }
        }
        // EXAMPLE ends
    }
}

@Suite struct SwiftyDBGuideTests {
    private typealias E = SwiftyGuide
    private let db: Database

    init() throws { db = try Database.inMemory(entities: [E.Stark.self, E.House.self]) }

    private func names(_ starks: [E.Stark]) -> [String] { starks.map(\.name).sorted() }

    @Test func opening() throws {
        try withTemporaryFile { path in
            let (db, trial) = try E.opened(path)
            try trial.save(E.Stark(name: "Jon"))
            #expect(try db.query(E.Stark.self).count() == 0)
            try trial.close()
            try db.close()
        }
    }

    @Test func storing() async throws {
        try await E.stored(db)
        #expect(try await db.query(E.Stark.self).fetch().first?.wolf?.name == "Nymeria")
        let (house, sigil) = try E.storedStructs(db)
        #expect(sigil?.name == "direwolf" && house.founded == nil)
        let arya = try #require(try await db.find(E.Stark.self, "Arya"))
        #expect(arya.age == 10 && arya.wolf == nil)
        #expect(try await db.query(E.Wolf.self).count() == 2)
        #expect(try E.refused(db) == [.text("Arya")])
        let (rows, values) = try E.dictionaries(db)
        #expect(rows.count == 1 && rows[0]["age"] == .integer(10) && values["age"] == .integer(9))
        #expect(try await E.fetchedAway(db).count == 1)
    }

    @Test func filtering() throws {
        try db.save([
            E.Stark(name: "Arya", wolf: E.Wolf(name: "Nymeria"), age: 9),
            E.Stark(name: "Brandon", wolf: E.Wolf(name: "Summer"), age: 8),
            E.Stark(name: "Eddard", age: 35), E.Stark(name: "Jon", wolf: E.Wolf(name: "Ghost"), age: 16),
            E.Stark(name: "Sansa", wolf: E.Wolf(name: "Lady"), age: 13),
        ])
        let found = try E.filtered(db).map(names)
        #expect(found[0].count == 5 && found[1] == ["Arya", "Brandon", "Sansa"] && found[2] == ["Jon", "Sansa"])
        #expect(found[3] == ["Arya", "Sansa"] && found[4] == ["Eddard"])
        let (jon, none) = try E.owners(db)
        #expect(names(jon) == ["Jon"] && none.isEmpty)
        #expect(try E.ordered(db).map(\.name) == ["Eddard", "Jon", "Sansa"])
        #expect(try E.deleted(db) == 1)
        // The deletion of a wolf nullifies the references to it.
        try #require(try db.find(E.Wolf.self, "Ghost")).remove()
        #expect(try db.find(E.Stark.self, "Jon")?.wolf == nil)
    }

    @Test func whatWasNotPossible() throws {
        let arya = E.Stark(name: "Arya")
        let sansa = E.Stark(name: "Sansa", siblings: [arya])
        arya.siblings = [sansa]
        try db.save(arya)
        let read = try #require(try db.find(E.Stark.self, "Arya"))
        #expect(read.siblings[0].siblings[0] === read)
        arya.siblings = []
    }

    @Test func aTypeChanges() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [E.Wolf.self])
            try db.save(E.Wolf(name: "Ghost", weight: 40.5))
            try db.close()
            db = try Database(at: path, entities: [E.Later.Wolf.self])
            let ghost = try #require(try db.find(E.Later.Wolf.self, "Ghost"))
            #expect(ghost.title == "Ghost" && ghost.weight == "40.5" && ghost.height == 178)
            try db.close()
        }
    }

    @Test func rowsAreTakenOver() throws {
        let json = #"""
            [{"name": "Jon", "wolf": "Ghost", "age": 16, "titles": ["king"]},
             {"name": "Eddard", "age": 35, "titles": null, "wolf": null}, {"name": "Ygritte", "wolf": "Ghost"}]
            """#
        let rows = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]])
        try E.imported(db, rows)
        let jon = try #require(try db.find(E.Stark.self, "Jon"))
        #expect(jon.wolf?.name == "Ghost" && jon.titles == ["king"] && jon.age == 16)
        #expect(try db.query(E.Wolf.self).count() == 1 && db.query(E.Stark.self).count() == 3)
    }
}
