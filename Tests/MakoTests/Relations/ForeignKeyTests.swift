import Foundation
import Mako
import Testing

@Entity("ForeignLabel") private final class KeyedImprint {
    var name = ""
}

@Entity("ForeignAlbum") private final class KeyedDisc {
    @Attribute(.primaryKey) var code = ""
    var title = ""
    var parent: KeyedDisc?
}

@Entity("ForeignSong") private final class KeyedSong: Codable {
    var title = ""
    var album: KeyedDisc?
    var imprint: KeyedImprint?
    var next: KeyedSong?
    var covers: [KeyedDisc] = []
    @Relationship(.subclasses) var source: KeyedDisc?
}

@Entity("ForeignTicket") private struct KeyedTicket {
    var seat = 0
    var imprint: ToOne<KeyedImprint> = ToOne()
}

/// Its hook saves the songs of its text.
@Entity("ForeignLetter") private final class KeyedLetter {
    var json = ""
    var isTakenBack = false
    var song: KeyedSong?

    func willInsert() -> Bool {
        struct TakenBack: Error {}
        try? Database.default?.transaction { _ in
            for song in try JSONDecoder().decode([KeyedSong].self, from: Data(json.utf8)) { try song.commit() }
            if isTakenBack { throw TakenBack() }
        }
        return true
    }
}

/// Keys that come from elsewhere, of rows that may not be there.
@Suite struct ForeignKeyTests {
    private func database() throws -> Database {
        try Database.inMemory(entities: [
            KeyedImprint.self, KeyedDisc.self, KeyedSong.self, KeyedTicket.self, KeyedLetter.self,
        ])
    }

    private func songs(_ json: String) throws -> [KeyedSong] {
        try JSONDecoder().decode([KeyedSong].self, from: Data(json.utf8))
    }

    private func expectDangling(_ property: String, _ body: () throws -> Void) {
        let error = #expect(throws: MakoError.self) { try body() }
        guard case .danglingReference(_, property, _, _)? = error else {
            Issue.record("\(String(describing: error)) is not the error of \(property)")
            return
        }
    }

    /// Without the check the key of a row that is stored later would lead to it.
    @Test(arguments: [
        ("album", #"{"album": "NOPE"}"#), ("imprint", #"{"imprint": 77}"#), ("next", #"{"next": 5}"#),
        ("source", #"{"source": "ForeignLabel:77"}"#), ("source", #"{"source": "Nothing:5"}"#),
    ])
    func aKeyOfJSONWithoutARowIsRefused(property: String, json: String) throws {
        let db = try database()
        let song = try #require(try songs("[\(json)]").first)
        try db.transaction { _ in
            expectDangling(property) { try db.save(song) }
            expectDangling(property) { try db.save([KeyedSong(title: "first"), song]) }
            #expect(try db.query(KeyedSong.self).count() == 0)
            try db.save(KeyedSong(title: "after"))
        }
        #expect(try db.query(KeyedSong.self).fetch().map(\.title) == ["after"])
        #expect(try db.verify().danglingReferences.isEmpty)
    }

    @Test func aKeyOfADictionaryWithoutARowIsRefused() throws {
        let db = try database()
        let song = try KeyedSong(["title": "a", "album": StoredValue.text("NOPE")])
        expectDangling("album") { try db.save(song) }
        try db.save(KeyedDisc(code: "NOPE", title: "there now"))
        try db.save(song)
        #expect(song.album?.title == "there now")
    }

    @Test func keysOfACollectionWithoutARowAreRefused() throws {
        let db = try database()
        try db.save([KeyedDisc(code: "a"), KeyedDisc(code: "b")])
        let kept = KeyedSong(title: "kept", covers: try db.query(KeyedDisc.self).fetch().array)
        try db.save(kept)
        guard case .blob(let bytes)? = try db.rawQuery("SELECT covers FROM ForeignSong").rows.first?[0] else {
            Issue.record("a collection is stored as bytes")
            return
        }
        let json = #"[{"title": "copy", "covers": "\#(Data(bytes).base64EncodedString())"}]"#
        try db.save(try #require(try songs(json).first))
        #expect(try db.query(KeyedSong.self).where(\.title == "copy").first()?.covers.count == 2)
        try db.query(KeyedDisc.self).where(\.code == "b").delete()
        expectDangling("covers") { try db.save(try #require(try songs(json).first)) }
    }

    @Test func keysOfRowsThatTheSameCallStoresAreTaken() throws {
        let db = try database()
        let list = try songs(
            #"[{"id": 7, "title": "first", "next": 8}, {"id": 8, "title": "second", "next": 7}, {"id": 9, "next": 9}]"#)
        try db.save(list)
        #expect(try db.find(KeyedSong.self, 7)?.next?.title == "second")
        #expect(try db.find(KeyedSong.self, 8)?.next?.title == "first")
        #expect(try db.find(KeyedSong.self, 9)?.next?.id == 9)
    }

    /// They are checked at the end of the call around the hook, whose rows they may refer to.
    @Test func keysOfRowsThatAHookStoresAreChecked() throws {
        let db = try database()
        try Database.withDefault(db) {
            expectDangling("album") { try db.save(KeyedLetter(json: #"[{"title": "a", "album": "NOPE"}]"#)) }
            #expect(try db.query(KeyedSong.self).count() == 0 && db.query(KeyedLetter.self).count() == 0)
            try db.save(KeyedLetter(json: #"[{"title": "a", "album": "NOPE"}]"#, isTakenBack: true))
            #expect(try db.query(KeyedSong.self).count() == 0 && db.query(KeyedLetter.self).count() == 1)
            let second = try songs(#"[{"id": 8, "title": "second"}]"#).first
            try db.save(KeyedLetter(json: #"[{"id": 7, "title": "first", "next": 8}]"#, song: second))
        }
        #expect(try db.find(KeyedSong.self, 7)?.next?.title == "second")
        #expect(try db.verify().danglingReferences.isEmpty)
    }

    /// The object still counts as stored where another statement has deleted its row.
    @Test func anUpdateToARowThatIsGoneIsRefused() throws {
        let db = try database()
        let (disc, song) = (KeyedDisc(code: "a"), KeyedSong(title: "song"))
        try db.save([disc])
        try db.save(song)
        let count = try db.update(KeyedSong.self).set(\.album, to: disc).run()
        #expect(count == 1)
        try db.update(KeyedSong.self).set(\.album, to: nil).run()
        try db.rawQuery("DELETE FROM ForeignAlbum")
        expectDangling("album") { try db.update(KeyedSong.self).set(\.album, to: disc).run() }
        #expect(try db.verify().danglingReferences.isEmpty)
    }

    @Test func aStructWhoseObjectWasDeletedIsRefused() throws {
        let db = try database()
        let imprint = KeyedImprint(name: "Imprint")
        try db.save(imprint)
        let stored = try db.save(KeyedTicket(seat: 1, imprint: ToOne(imprint)))
        var ticket = try #require(try db.query(KeyedTicket.self).first())
        ticket.seat = 2
        ticket = try db.save(ticket)
        #expect(try ticket.imprint.load()?.name == "Imprint")
        try db.delete(imprint)
        ticket.seat = 3
        let stale = ticket
        expectDangling("imprint") { try db.save(stale) }
        #expect(try db.query(KeyedTicket.self).first()?.seat == 2)
        #expect(stored.seat == 1)
        ticket.imprint = ToOne()
        try db.save(ticket)
        #expect(try db.verify().danglingReferences.isEmpty)
    }
}

private enum WrongSides {
    @Entity("WrongPart") final class Part {
        var number = 0
        var dish: Dish?
        var thing: Thing?
    }
    @Entity("WrongThing") final class Thing { var name = "" }
    @Entity("WrongDish") final class Dish {
        @Relationship(inverse: \Part.dish) var parts: ToMany<Part>
    }
    @Entity("WrongMeal") final class Meal {
        @Relationship(inverse: \Part.thing, deleteRule: .cascade) var parts: ToMany<Part>
    }
    @Entity("WrongEven") final class Even {
        @Relationship(inverse: \Part.number) var parts: ToMany<Part>
    }
}

/// A to-many relationship whose inverse leads elsewhere would be empty, and its delete rule would find nothing.
@Suite struct WrongInverseTests {
    @Test func anInverseThatRefersToAnotherTypeIsRefusedAtTheOpening() throws {
        let error = #expect(throws: MakoError.self) { try Database.inMemory(entities: [WrongSides.Meal.self]) }
        #expect("\(try #require(error))".contains("Part.thing"))
        let other = #expect(throws: MakoError.self) { try Database.inMemory(entities: [WrongSides.Even.self]) }
        #expect("\(try #require(other))".contains("Part.number"))
        let db = try Database.inMemory(entities: [WrongSides.Dish.self])
        #expect(throws: MakoError.self) { try db.query(WrongSides.Meal.self).count() }
    }
}
