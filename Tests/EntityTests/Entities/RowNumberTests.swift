import Mako
import Testing

enum RowNumberModels {
    @Entity struct CSVLine {
        var file: String
        var rowNumber: Int64
        var text = ""
    }

    @Entity struct Tick {
        var id: Int8?
        var beats = 0
    }

    @Entity final class Chime {
        var id: Int8?
        var beats = 0
    }
}

@Suite struct RowNumberTests {
    private typealias M = RowNumberModels
    private let db: Database

    init() throws { db = try Database.inMemory(entities: [M.CSVLine.self, M.Tick.self, M.Chime.self]) }

    @Test func aStructsOwnRowNumberIsAPropertyLikeAnyOther() throws {
        let saved = try db.save([M.CSVLine(file: "a", rowNumber: 7), M.CSVLine(file: "b", rowNumber: 7)])
        #expect(saved.map(\.id) == [1, 2])
        let lines = try db.query(M.CSVLine.self).orderBy(\.file).fetch()
        #expect(lines.map(\.file) == ["a", "b"] && lines.map(\.rowNumber) == [7, 7])
    }

    @Test func aSaveRefusesARowNumberBeyondTheKeysType() throws {
        try db.save((1...127).map { M.Tick(beats: $0) })
        try db.save((1...127).map { M.Chime(beats: $0) })
        var tick = M.Tick(beats: 128)
        let reason = "its type ends at 127; give the key a wider type, such as Int"
        #expect(throws: MakoError.unstorableValue(entity: "Tick", key: "128", property: "id", reason: reason)) {
            try db.save(&tick)
        }
        let chime = M.Chime(beats: 128)
        #expect(throws: MakoError.unstorableValue(entity: "Chime", key: "128", property: "id", reason: reason)) {
            try db.save(chime)
        }
        #expect(tick.id == nil && chime.id == nil)
        // The row with the largest number that the type has is unchanged.
        #expect(try db.find(M.Tick.self, 127)?.beats == 127 && db.query(M.Tick.self).count() == 127)
        #expect(try db.find(M.Chime.self, 127)?.beats == 127 && db.query(M.Chime.self).count() == 127)
    }

    @Test func aRowRefusedInsideATransactionIsNotStored() throws {
        try db.transaction {
            try db.save((1...127).map { M.Tick(beats: $0) })
            try db.save((1...127).map { M.Chime(beats: $0) })
            #expect(throws: MakoError.self) { try db.save(M.Tick(beats: 128)) }
            #expect(throws: MakoError.self) { try db.insert(M.Tick(beats: 128)) }
            #expect(throws: MakoError.self) { try db.save(M.Chime(beats: 128)) }
            #expect(try db.query(M.Tick.self).fetch().count == 127)
        }
        #expect(try db.query(M.Tick.self).fetch().count == 127 && db.query(M.Chime.self).fetch().count == 127)
        #expect(try db.save(M.Tick(id: 5, beats: 500)).id == 5)
    }

    @Test func aRowNumberBeyondTheKeysTypeCannotBeRead() throws {
        try db.rawQuery("INSERT INTO Tick (id, beats) VALUES (300, 1)")
        try db.rawQuery("INSERT INTO Chime (id, beats) VALUES (300, 1)")
        let reason = "300 is no Int8"
        #expect(throws: MakoError.unreadableValue(entity: "Tick", key: "300", property: "id", reason: reason)) {
            try db.query(M.Tick.self).fetch()
        }
        #expect(throws: MakoError.unreadableValue(entity: "Chime", key: "300", property: "id", reason: reason)) {
            try db.query(M.Chime.self).fetch()
        }
    }
}
