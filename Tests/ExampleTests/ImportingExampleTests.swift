import Foundation
import Mako
import MakoCommand
import TestHelpers
import Testing

/// The examples of the article `ImportingAndExporting.md`.
enum ImportingExample {
    // EXAMPLE ImportingAndExporting.md
    @Entity final class Region: Codable {
        @Attribute(.primaryKey) var code = ""
        var name = ""
    }

    @Entity final class Station: Codable {
        @Attribute(.identity) var code = ""
        var name = ""
        var height: Double?
        var opened: Date?
        var lines: [String] = []
        var region: Region?
    }
    // EXAMPLE ends

    static func taken(_ db: Database, _ json: String) throws -> Int {
        // EXAMPLE ImportingAndExporting.md
        let rows = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]] ?? []
        let stations = try rows.map { row in
            var row = row
            row["region"] = (row["region"] as? String).map { StoredValue.text($0) }  // the key of its region
            return try Station(row)
        }
        try db.save(stations)  // all of them or none
        // EXAMPLE ends
        return stations.count
    }

    static func decoded(_ db: Database, _ json: String) throws -> [Station] {
        // EXAMPLE ImportingAndExporting.md
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let stations = try decoder.decode([Station].self, from: Data(json.utf8))
        try db.save(stations)  // by their identity: those that are there are changed
        // EXAMPLE ends
        return stations
    }

    static func encoded(_ db: Database) throws -> String {
        // EXAMPLE ImportingAndExporting.md
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys]
        let json = try encoder.encode(db.query(Station.self).orderBy(\.code).fetch().array)
        // EXAMPLE ends
        return String(decoding: json, as: UTF8.self)
    }

    // EXAMPLE ImportingAndExporting.md
    @Entity struct Reading: Codable {
        @Attribute(.primaryKey) var hour: Int
        var level: Double = 0
    }

    @Entity struct Alarm: Codable {
        var text: String

        enum CodingKeys: String, CodingKey {
            case _$value = "id"  // the number of its row
            case text
        }
    }
    // EXAMPLE ends

    static func listed(_ station: Station) throws -> ([String: StoredValue], Station) {
        // EXAMPLE ImportingAndExporting.md
        let values = station.asDictionary  // ["code": 'OSL', "region": 'N', "height": 12.5, …]
        let again = try Station(values)  // represents the same row, once it is saved
        // EXAMPLE ends
        return (values, again)
    }

    static func large(_ db: Database, _ text: String) throws -> Int {
        // EXAMPLE ImportingAndExporting.md
        var batch: [Station] = []
        for line in text.split(separator: "\n") {  // an object of JSON on each
            batch.append(try JSONDecoder().decode(Station.self, from: Data(line.utf8)))
            if batch.count == 10_000 {
                try db.save(batch)
                batch.removeAll()
            }
        }
        try db.save(batch)
        // EXAMPLE ends
        return try db.query(Station.self).count()
    }

    static func written(_ db: Database, to handle: FileHandle) throws {
        // EXAMPLE ImportingAndExporting.md
        let encoder = JSONEncoder()
        try db.query(Station.self).forEach { station in
            try handle.write(contentsOf: encoder.encode(station) + Data("\n".utf8))
        }
        // EXAMPLE ends
    }

    // EXAMPLE ImportingAndExporting.md
    @Entity("zones") final class Zone {
        @Attribute(.primaryKey) var code = ""
        var name = ""
        var area: Double?
    }
    // EXAMPLE ends
}

@Suite struct ImportingExampleTests {
    private typealias E = ImportingExample

    private func database() throws -> Database {
        let db = try Database.inMemory(entities: [E.Station.self, E.Region.self, E.Reading.self, E.Alarm.self])
        try db.save(E.Region(code: "N", name: "North"))
        return db
    }

    @Test func dictionariesBecomeObjects() throws {
        let db = try database()
        let json = #"""
            [{"code": "OSL", "NAME": "Oslo", "height": 12.5, "lines": ["a", "b"], "region": "N", "unknown": 7},
             {"code": "BRG", "name": "Bergen", "height": null, "region": null}]
            """#
        #expect(try E.taken(db, json) == 2)
        #expect(try E.taken(db, json) == 2)
        let read = try db.query(E.Station.self).orderBy(\.code).fetch()
        #expect(read.map(\.name) == ["Bergen", "Oslo"] && read.map(\.height) == [nil, 12.5])
        #expect(read[1].lines == ["a", "b"] && read[1].region?.name == "North" && read[0].region == nil)
        let (values, again) = try E.listed(read[1])
        #expect(values["region"] == .text("N") && values["id"] == .integer(1) && values["height"] == .double(12.5))
        again.name = "Oslo Central"
        try db.save(again)
        #expect(try db.find(E.Station.self, 1)?.name == "Oslo Central" && db.query(E.Station.self).count() == 2)
        // A value that does not fit is an error that names the property; nothing is stored at all.
        for wrong in [#"[{"code": "X"}, {"height": "high"}]"#, #"[{"opened": "2026-01-31"}]"#, #"[{"region": {}}]"#] {
            let rows = try #require(try JSONSerialization.jsonObject(with: Data(wrong.utf8)) as? [[String: Any]])
            #expect(throws: MakoError.self) { try db.save(rows.map { try E.Station($0) }) }
        }
        #expect(try db.query(E.Station.self).count() == 2)
    }

    @Test func codersReadAndWriteClasses() throws {
        let db = try database()
        let json = #"[{"code": "OSL", "name": "Oslo", "opened": "1854-09-01T00:00:00Z", "region": "N"}]"#
        #expect(try E.decoded(db, json).map(\.name) == ["Oslo"])
        let changed = json.replacing("\"Oslo\"", with: "\"Oslo S\"")
        #expect(try E.decoded(db, changed).first?.region?.name == "North")
        #expect(
            try E.encoded(db)
                == #"[{"code":"OSL","height":null,"id":1,"lines":[],"name":"Oslo S","opened":"1854-09-01T00:00:00Z","region":"N"}]"#
        )
        let nested = #"[{"code": "OSL", "region": {"code": "N"}}]"#
        #expect(throws: DecodingError.self) { try E.decoded(db, nested) }
    }

    @Test func codersReadAndWriteStructs() throws {
        let db = try database()
        let readings = try JSONDecoder().decode([E.Reading].self, from: Data(#"[{"hour": 6, "level": 1.5}]"#.utf8))
        try db.save(readings)
        #expect(try db.find(E.Reading.self, 6)?.level == 1.5)
        var alarm = try JSONDecoder().decode(E.Alarm.self, from: Data(#"{"text": "fire"}"#.utf8))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        #expect(String(decoding: try encoder.encode(alarm), as: UTF8.self) == #"{"text":"fire"}"#)
        try db.save(&alarm)
        #expect(String(decoding: try encoder.encode(alarm), as: UTF8.self) == #"{"id":1,"text":"fire"}"#)
        // With its number it refers to its row.
        var again = try JSONDecoder().decode(E.Alarm.self, from: Data(#"{"id": 1, "text": "flood"}"#.utf8))
        try db.save(&again)
        #expect(try db.query(E.Alarm.self).fetch().map(\.text) == ["flood"])
    }

    @Test func linesAreReadAndWrittenOneByOne() throws {
        try withTemporaryFile { path in
            let db = try database()
            let lines = (0..<10_005).map { "{\"code\": \"\($0)\", \"name\": \"n\"}\n" }
            #expect(try E.large(db, lines.joined()) == 10_005)
            _ = FileManager.default.createFile(atPath: path, contents: nil)
            let handle = try #require(FileHandle(forWritingAtPath: path))
            try E.written(db, to: handle)
            try handle.close()
            let other = try database()
            #expect(try E.large(other, String(contentsOfFile: path, encoding: .utf8)) == 10_005)
        }
    }

    /// Runs the lines `mako …` of the article in order, in a folder with the files that it names.
    @Test func theProgramReadsAndWrites() throws {
        let article = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/Mako/Mako.docc/ImportingAndExporting.md")
        let page = try String(contentsOf: article, encoding: .utf8)
        let lines = page.split(separator: "\n").filter { $0.hasPrefix("mako ") }
        #expect(lines.count == 5)
        let files = [
            "zones.csv": "code,name,area\nN,North,5.5\nS,South,\n",
            "Region.json": #"[{"code": "N", "name": "North"}]"#,
            "Station.csv":
                "code,name,height,opened,lines,region\n"
                + "OSL,Oslo,12.5,1854-09-01,\"[\"\"a\"\"]\",N\nBRG,Bergen,,,[],\n",
        ]
        try withTemporaryFile { path in
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
            for (name, text) in files {
                try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
            }
            let file = folder.appendingPathComponent("trains.mako").path
            try Database(at: file, entities: [E.Station.self]).close()
            for line in lines {
                let words = line.split(separator: " ").dropFirst().map { word in
                    word.contains(".") ? folder.appendingPathComponent(String(word)).path : String(word)
                }
                var command = try MakoProgram.parseAsRoot(words)
                try command.run()
            }
            let db = try Database(at: file, entities: [E.Station.self])
            #expect(db.migrations.isEmpty)
            let read = try db.query(E.Station.self).orderBy(\.code).fetch()
            #expect(read.map(\.code) == ["BRG", "OSL"] && read.map(\.height) == [nil, 12.5])
            #expect(read[1].lines == ["a"] && read[1].region?.name == "North")
            #expect(read[1].opened == Date(timeIntervalSinceReferenceDate: -4_617_907_200))
            try db.close()
            let out = try String(contentsOf: folder.appendingPathComponent("stations.jsonl"), encoding: .utf8)
            #expect(out.split(separator: "\n").count == 2 && out.contains(#""code": "OSL""#))
            let zones = try Database(at: folder.appendingPathComponent("zones.mako").path)
            #expect(zones.tables.map(\.name) == ["zones"])
            #expect(try zones.query(E.Zone.self).where(\.area == nil).fetch().map(\.name) == ["South"])
            try zones.close()
        }
    }
}
