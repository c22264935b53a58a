import Foundation
import Mako
import MakoCommand
import TestHelpers
import Testing

/// The lines `mako import …` of the guides do what the guides say: they add to the tables that the types have made.
@Suite struct GuideImportTests {
    private static let catalogue = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources/Mako/Mako.docc")

    /// Opens the database with the types, runs the guide's imports beside the given files, and opens it again.
    private func imported(
        _ guide: String, _ files: [String: String], _ entities: [any Entity.Type], _ body: (Database) throws -> Void
    ) throws {
        let page = try String(contentsOf: Self.catalogue.appendingPathComponent(guide), encoding: .utf8)
        let lines = page.split(separator: "\n").filter { $0.hasPrefix("mako import ") }
        #expect(lines.count == files.count, "\(guide) has \(lines.count) imports")
        try withTemporaryFile { path in
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
            for (name, text) in files {
                try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
            }
            try Database(at: path, entities: entities).close()
            for line in lines {
                var words = line.split(separator: " ").map(String.init)
                words[2] = folder.appendingPathComponent(words[2]).path
                words[3] = path
                var command = try MakoProgram.parseAsRoot(Array(words.dropFirst()))
                try command.run()
            }
            let db = try Database(at: path, entities: entities)
            #expect(db.migrations.isEmpty)
            try body(db)
            try db.close()
        }
    }

    @Test func tablesOfSharkORM() throws {
        let files = [
            "Department.json": #"[{"Id": 3, "name": "Development"}, {"Id": 4, "name": null}]"#,
            "Person.json":
                #"[{"Id": 7, "name": "Ada", "age": 36, "payrollNumber": 5, "department": 3}, "#
                + #"{"Id": 9, "name": "Bob", "age": 20, "payrollNumber": null, "department": null}]"#,
        ]
        try imported("FromSharkORM.md", files, [SharkGuide.Person.self, SharkGuide.Department.self]) { db in
            let ada = try #require(try db.find(SharkGuide.Person.self, 7))
            #expect(ada.name == "Ada" && ada.department?.name == "Development")
            #expect(try db.query(SharkGuide.Person.self).where(\.age == 20).ids() == [9])
            #expect(throws: MakoError.self) { try db.save(SharkGuide.Person(payrollNumber: 5)) }
            let eve = SharkGuide.Person(name: "Eve", department: ada.department)
            try db.save(eve)
            #expect(try (eve.id ?? 0) > 9 && ada.department?.people.count == 2)
        }
    }

    @Test func tablesOfBZObjectStore() throws {
        let files = [
            "SampleModel.jsonl":
                "{\"id\": 1, \"name\": \"a\", \"price\": 5}\n{\"id\": 2, \"sample\": 1, \"price\": 7}\n"
        ]
        try imported("FromBZObjectStore.md", files, [BZGuide.SampleModel.self]) { db in
            let second = try #require(try db.find(BZGuide.SampleModel.self, 2))
            #expect(second.sample?.name == "a" && second.name == nil && second.price == 7)
        }
    }

    @Test func tablesOfSwiftyDB() throws {
        let files = [
            "Wolf.csv": "name,weight\nGhost,40.5\nLady,30\n",
            "Stark.json":
                #"[{"name": "Jon", "wolf": "Ghost", "age": 16, "titles": ["king", "crow"]}, {"name": "Ned", "age": 35, "titles": []}]"#,
        ]
        try imported("FromSwiftyDB.md", files, [SwiftyGuide.Stark.self]) { db in
            let jon = try #require(try db.find(SwiftyGuide.Stark.self, "Jon"))
            #expect(jon.wolf?.weight == 40.5 && jon.titles == ["king", "crow"] && jon.siblings.isEmpty)
            let ned = try #require(try db.find(SwiftyGuide.Stark.self, "Ned"))
            #expect(ned.wolf == nil && ned.titles.isEmpty)
        }
    }

    @Test func tablesOfGRDB() throws {
        let id = "6F9619FF-8B86-D011-B42D-00CF4FC964FF"
        let files = [
            "Team.json": #"[{"id": 3, "name": "Engines", "motto": "Steam and iron"}]"#,
            "Player.json":
                #"[{"id": "\#(id)", "name": "Ada", "score": 10, "team": 3}, "#
                + #"{"id": "7F9619FF-8B86-D011-B42D-00CF4FC964FF", "name": "Bob", "score": 0, "team": null}]"#,
        ]
        try imported("FromGRDB.md", files, [GRDBGuide.Player.self, GRDBGuide.Team.self]) { db in
            let ada = try #require(try db.find(GRDBGuide.Player.self, UUID(uuidString: id) ?? UUID()))
            #expect(ada.score == 10)
            #expect(try ada.team.load()?.name == "Engines")
            #expect(
                try db.query(GRDBGuide.Team.self).where(.match(\.motto, MatchPattern(allTokens: "iron"))).count() == 1)
            #expect(try db.query(GRDBGuide.Player.self).where("team IS NULL").count() == 1)
        }
    }
}
