import Mako
import MakoRecords
import MakoStorage
import TestHelpers
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

    @Test func releasedRowsAreRemovedWithWhatTheyOwn() throws {
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
        // Also rows without an object in memory.
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
        // A rolled-back savepoint discards its pending removals of members.
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

    @Test func anUpsertByIdentityReleasesTheOldMembers() throws {
        try db.save(Folder(code: "x", covers: [Cover(picture: "old"), Cover(picture: "older")]))
        try db.save(Folder(code: "x", covers: [Cover(picture: "new")]))
        #expect(try db.query(Folder.self).count() == 1)
        #expect(try db.query(Cover.self).fetch().map(\.picture) == ["new"])
        // And one by the row's number.
        let same = try Folder(["id": 1, "code": "y"])
        try db.save(same)
        #expect(try counts()[3] == 0)
    }

    @Test func removalsOfMembersAreNotified() throws {
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

    @Test func aMemberMovesInTwoCommits() throws {
        let from = album()
        let to = Disc(title: "to")
        try db.save([from, to])
        let track = from.tracks.removeFirst()
        try from.commit()
        #expect(try counts() == [2, 2, 4, 1])
        to.tracks = [track]
        try to.commit()
        #expect(try db.find(Disc.self, 2)?.tracks.map(\.title) == ["1"])
        #expect(try db.find(Disc.self, 2)?.tracks[0].notes.count == 2)
        #expect(try counts() == [2, 3, 6, 1])
    }

    @Test func whatIsStoredAnewUnderTheKeyStays() throws {
        let db = try makeDatabase([Shelf.self, Book.self])
        let shelf = Shelf(books: [Book(code: "a", title: "old")])
        try db.save(shelf)
        try db.transaction { _ in
            try shelf.remove()
            try db.save(Book(code: "a", title: "new"))
        }
        #expect(try db.query(Book.self).fetch().map(\.title) == ["new"])
    }

    @Test func anObjectCannotOwnItself() throws {
        let db = try makeDatabase([Shelf.self, Book.self])
        let book = Book(code: "a")
        let shelf = Shelf(books: [book])
        try db.save(shelf)
        book.parts = [book, Book(code: "b")]
        try db.save(book)
        #expect(try db.query(Book.self).count() == 2)
        shelf.books = []
        try db.save(shelf)
        #expect(try db.query(Book.self).count() == 0)
    }

    @Test func aTableThatIsDroppedDoesNotComeBack() throws {
        let db = try makeDatabase([Shelf.self, Book.self])
        try db.save(Book(code: "a", parts: [Book(code: "b")]))
        try db.query(Shelf.self).delete()
        try db.drop(Shelf.self)
        try db.drop(Book.self)
        #expect(!db.tables.contains { $0.name == "Book" })
    }

    @Test func ownersWhoseTypeIsNotInUseCount() throws {
        try withTemporaryFile { path in
            let first = try Database(at: path, entities: [Shelf.self, Crate.self])
            let book = Book(code: "shared")
            try first.save(Shelf(books: [book]))
            try first.save(Crate(books: [book]))
            try first.close()
            let second = try Database(at: path, entities: [Shelf.self])
            let shelf = try #require(try second.find(Shelf.self, 1))
            shelf.books = []
            try second.save(shelf)
            #expect(try second.find(Crate.self, 1)?.books.map(\.code) == ["shared"])
            try second.close()
        }
    }

    /// A shelf with a book whose binding the type does not know.
    private func brokenShelf() throws -> Database {
        let db = try makeDatabase([Shelf.self, Book.self])
        try db.save(Shelf(books: [Book(code: "a"), Book(code: "b", binding: .paper)]))
        let books = try Catalogue.load(view: db.store.snapshot()).requireTable("Book")
        try db.store.write { tx in
            var row = RowWriter()
            var changes = ChangeSet()
            row.begin(try books.layout(for: ["binding"]))
            row.set(0, "stone")
            _ = try books.update(&row, key: RowKey(values: [.text("b")]), in: tx, changes: &changes)
        }
        return db
    }

    @Test func failedLoadsAreReported() async throws {
        let db = try brokenShelf()
        let errors = db.errors
        let shelf = try #require(try await db.find(Shelf.self, 1))
        #expect(shelf.books.isEmpty)
        var iterator = errors.makeAsyncIterator()
        let failure = try #require(await iterator.next())
        #expect(failure.object === shelf && failure.error == shelf.loadError)
        #expect(shelf.books.isEmpty)
        #expect(await iterator.next()?.object === shelf)
        try await db.close()
        #expect(await iterator.next() == nil)
        // A closed database has no failures to tell.
        var late = db.errors.makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    /// A collection that could not be read is not empty: a save must not delete the stored one.
    @Test func whatCannotBeReadIsNotReplaced() throws {
        let db = try brokenShelf()
        let shelf = try #require(try db.find(Shelf.self, 1))
        #expect(throws: MakoError.self) { try shelf.load(\.books) }
        #expect(shelf.books.isEmpty && shelf.loadError != nil)
        shelf.books.append(Book(code: "c"))
        #expect(throws: MakoError.self) { try shelf.commit() }
        #expect(try db.query(Book.self).count() == 2)
        // After a refresh it can be replaced deliberately.
        try db.refresh(shelf)
        shelf.books = []
        try shelf.commit()
        #expect(try db.query(Book.self).count() == 0)
    }
}

@Entity final class Shelf {
    @Relationship(.owned) var books: [Book] = []
}

@Entity final class Crate {
    @Relationship(.owned) var books: [Book] = []
}

enum BookBinding: String { case cloth, paper }

@Entity final class Book {
    @Attribute(.primaryKey) var code = ""
    var title = ""
    var binding: BookBinding? = nil
    @Relationship(.owned) var parts: [Book] = []
}
