import Mako
import Testing

@Entity final class Disc {
    var title = ""
    @Relationship(.owned) var tracks: [Cut] = []
    @Relationship(.owned) var cover: Cover?
    @Relationship(.weak) var label: Publisher?
    @Relationship(.weak) var friends: [Publisher] = []
}

@Entity final class Cut {
    var title = ""
    @Relationship(.owned) var notes: [String: Note] = [:]
}

@Entity final class Note { var text = "" }

@Entity final class Cover { var picture = "" }

@Entity final class Publisher { var name = "" }

@Entity final class Folder {
    @Attribute(.identity) var code = ""
    @Relationship(.owned) var covers: [Cover] = []
}

@Suite struct OwnedTests {
    let db: Database

    init() throws {
        db = try makeDatabase([Disc.self, Cut.self, Note.self, Cover.self, Publisher.self, Folder.self])
    }

    private func counts() throws -> [Int] {
        [
            try db.query(Disc.self).count(), try db.query(Cut.self).count(), try db.query(Note.self).count(),
            try db.query(Cover.self).count(),
        ]
    }

    private func album() -> Disc {
        let tracks = (1...3).map {
            Cut(title: "\($0)", notes: ["a": Note(text: "a\($0)"), "b": Note(text: "b\($0)")])
        }
        return Disc(title: "album", tracks: tracks, cover: Cover(picture: "front"))
    }

    @Test func whatIsLetGoOfIsRemovedWithWhatItOwns() throws {
        let album = album()
        try db.save(album)
        #expect(try counts() == [1, 3, 6, 1])
        album.tracks.remove(at: 1)
        try album.commit()
        #expect(try counts() == [1, 2, 4, 1])
        album.tracks[0].notes["a"] = nil
        album.cover = Cover(picture: "new")
        try album.commit()
        #expect(try counts() == [1, 2, 3, 1])
        #expect(try db.query(Cover.self).fetch().map(\.picture) == ["new"])
        album.cover = nil
        album.tracks = []
        try album.commit()
        #expect(try counts() == [1, 0, 0, 0])
    }

    @Test func allGoesWithTheOwner() throws {
        let first = album()
        let second = album()
        try db.save([first, second])
        try first.remove()
        #expect(try counts() == [1, 3, 6, 1])
        // Rows of which nobody has an object, too.
        #expect(try db.query(Disc.self).delete() == 1)
        #expect(try counts() == [0, 0, 0, 0])
    }

    @Test(arguments: [true, false])
    func aMemberMovesToAnotherOwner(takenFirst: Bool) throws {
        let from = album()
        let to = Disc(title: "to")
        try db.save([from, to])
        try db.transaction { _ in
            let track = from.tracks[0]
            if takenFirst {
                from.tracks.remove(at: 0)
                try from.commit()
            }
            to.tracks = [track]
            try to.commit()
            if !takenFirst {
                from.tracks.remove(at: 0)
                try from.commit()
            }
        }
        #expect(try counts() == [2, 3, 6, 1])
        #expect(try db.find(Disc.self, 2)?.tracks.map(\.title) == ["1"])
        #expect(try db.find(Disc.self, 2)?.tracks[0].notes.count == 2)
    }

    @Test func aSharedMemberStaysWhileOneOwnsIt() throws {
        let first = album()
        let second = Disc(title: "second", tracks: [first.tracks[0]])
        try db.save([first, second])
        try first.remove()
        #expect(try counts() == [1, 1, 2, 0])
        try second.remove()
        #expect(try counts() == [0, 0, 0, 0])
    }

    @Test func nothingIsRemovedByARollback() throws {
        let album = album()
        try db.save(album)
        #expect(throws: (any Error).self) {
            try db.transaction { tx in
                album.tracks = []
                try album.commit()
                try tx.rollback()
            }
        }
        #expect(try counts() == [1, 3, 6, 1])
        // A savepoint that is taken back forgets what it let go of.
        try db.transaction { _ in
            try? db.transaction { tx in
                album.tracks = []
                try album.commit()
                try tx.rollback()
            }
            album.title = "kept"
            try album.commit()
        }
        #expect(try counts() == [1, 3, 6, 1])
        #expect(album.tracks.count == 3)
    }

    @Test func anUpsertByIdentityLetsGoOfTheOldMembers() throws {
        try db.save(Folder(code: "x", covers: [Cover(picture: "old"), Cover(picture: "older")]))
        try db.save(Folder(code: "x", covers: [Cover(picture: "new")]))
        #expect(try db.query(Folder.self).count() == 1)
        #expect(try db.query(Cover.self).fetch().map(\.picture) == ["new"])
        // And one by the row's number.
        let same = try Folder(["id": 1, "code": "y"])
        try db.save(same)
        #expect(try counts()[3] == 0)
    }

    @Test func removalsOfMembersAreTold() throws {
        let album = album()
        try db.save(album)
        let removed = Collected<String>()
        let token = try Cut.onChange(.delete, in: db) { removed.append("\($0.kind)") }
        album.tracks.removeLast()
        try album.commit()
        #expect(removed.all.count == 1)
        withExtendedLifetime(token) {}
    }

    @Test func weakReferencesAreNotCommittedAlong() throws {
        let label = Publisher(name: "label")
        let album = Disc(title: "weak", label: label, friends: [label])
        try db.save(album)
        #expect(try db.query(Publisher.self).count() == 0)
        #expect(try db.find(Disc.self, 1)?.label == nil)
        try db.save(label)
        // The references stayed dirty.
        try db.save(album)
        let read = try #require(try db.find(Disc.self, 1))
        #expect(read.label?.name == "label")
        #expect(read.friends.map(\.name) == ["label"])
        label.name = "changed"
        try db.save(album)
        #expect(try db.find(Publisher.self, 1)?.name == "label")
        try read.remove()
        #expect(try db.query(Publisher.self).count() == 1)
    }
}
