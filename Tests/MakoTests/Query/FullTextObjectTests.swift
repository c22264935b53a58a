import Foundation
import Mako
import TestHelpers
import Testing

enum FullTextModels {
    @Entity final class Book {
        #FullText<Book>([\.title, \.text], stemming: .english)
        var title = ""
        var text: String?
        var year = 0
        @Attribute(.fullText) var note = ""
        var author: Writer?
    }

    @Entity final class Writer {
        var name = ""
        @Attribute(.fullText(.english)) var life = ""
    }

    @Entity struct Leaflet {
        @Attribute(.primaryKey) var code: String
        @Attribute(.fullText) var text: String = ""
    }

    enum Later {
        @Entity("Plain") final class Plain {
            @Attribute(.fullText) var text = ""
        }
    }

    enum Earlier {
        @Entity("Plain") final class Plain {
            var text = ""
        }
    }

    @Entity final class Mistaken {
        @Attribute(.fullText) var kind: Kind = .one
        enum Kind: Int, Codable { case one }
    }
}

/// Objects found by the words of their texts.
@Suite struct FullTextObjectTests {
    typealias Book = FullTextModels.Book
    typealias Writer = FullTextModels.Writer

    private func library() throws -> Database {
        let db = try makeDatabase([Book.self, Writer.self])
        let ada = Writer(name: "Ada", life: "Numbers and engines")
        try db.save([
            Book(title: "Steam", text: "Engines that turn heat into work", year: 1801, note: "borrowed", author: ada),
            Book(title: "The sea", text: "Steam engines at sea. Engines, engines!", year: 1802, note: "café"),
            Book(title: "Ropes", text: nil, year: 1803, note: "torn"),
        ])
        return db
    }

    private func titles(_ query: Query<Book>) throws -> [String] { try query.fetch().map(\.title) }

    @Test func wordsAreFound() throws {
        let db = try library()
        let books = db.query(Book.self).orderBy(\.id)
        #expect(try titles(books.where("\"text(title,text)\" MATCH 'steam engine'")) == ["Steam", "The sea"])
        #expect(try titles(books.where("title MATCH ?", "steam")) == ["Steam"])
        #expect(try titles(books.where(.match(\.text, "\"steam engines\""))) == ["The sea"])
        #expect(try titles(books.where(.match(\.note, "CAFE") || \.year == 1803)) == ["The sea", "Ropes"])
        // The entity has two indexes, its author one.
        #expect(throws: MakoError.self) { try books.where(.match("rope*")).fetch() }
        #expect(try db.query(Writer.self).where(.match("engin*")).fetch().map(\.name) == ["Ada"])
        #expect(try titles(books.where("author.life MATCH 'number'")) == ["Steam"])
        #expect(try books.where("note MATCH 'torn'").count() == 1)
        #expect(try books.where("note MATCH 'torn OR borrowed'").explain().contains("text(note)"))
        #expect(throws: MakoError.self) { try books.where("year MATCH 'x'").fetch() }
        #expect(throws: MakoError.self) { try books.where("note MATCH 'a AND'").fetch() }
    }

    @Test func theBestComeFirst() throws {
        let db = try library()
        let found = db.query(Book.self).where("text MATCH 'engine'").orderBy(.rank)
        #expect(try titles(found) == ["The sea", "Steam"])
        #expect(try found.first()?.title == "The sea")
        #expect(try titles(found.offset(1)) == ["Steam"])
        let rows = try db.rawQuery("SELECT title, rank FROM Book WHERE text MATCH 'engine' ORDER BY rank LIMIT 1")
        #expect(rows.value("title", row: 0) == .text("The sea"))
        #expect(throws: MakoError.self) { try db.query(Book.self).orderBy(.rank).fetch() }
    }

    @Test func excerptsAreShown() throws {
        let db = try library()
        let found = try db.query(Book.self).where("text MATCH 'heat'").excerpts(\.text)
        #expect(found.map(\.object.title) == ["Steam"])
        #expect(found.map(\.text) == ["Engines that turn <b>heat</b> into work"])
        let short = try db.query(Book.self).where("text MATCH 'heat'")
            .excerpts(\.text, ExcerptStyle(before: "[", behind: "]", words: 3))
        #expect(short.map(\.text) == ["…turn [heat] into…"])
        #expect(throws: MakoError.self) { try db.query(Book.self).excerpts(\.title) }
    }

    @Test func savedRemovedAndRolledBack() throws {
        let db = try library()
        let count = { try db.query(Book.self).where("note MATCH 'fresh'").count() }
        try db.transaction { tx in
            try db.save((1...50).map { Book(title: "n\($0)", note: "a fresh one") })
            #expect(try count() == 50)
            try? db.transaction { inner in
                try db.query(Book.self).where("note MATCH 'fresh'").limit(10).delete()
                #expect(try count() == 40)
                try inner.rollback()
            }
            #expect(try count() == 50)
        }
        try db.update(Book.self).set(\.note, to: "stale").where(.match(\.note, "fresh") && \.title == "n7").run()
        #expect(try count() == 49)
        try db.query(Book.self).where("note MATCH 'fresh'").delete()
        #expect(try count() == 0)
        #expect(try db.query(Book.self).where("note MATCH 'stale'").count() == 1)
        try db.rebuildFullText(of: Book.self)
        #expect(try db.query(Book.self).where("note MATCH 'stale OR torn'").count() == 2)
    }

    @Test func structsWithKeysOfTheirOwn() throws {
        let db = try makeDatabase([FullTextModels.Leaflet.self])
        var leaflets = (1...30).map { FullTextModels.Leaflet(code: "k\($0)", text: "page \($0)") }
        leaflets = try db.save(leaflets)
        leaflets[4].text = "東京"
        try db.save(&leaflets[4])
        #expect(try db.query(FullTextModels.Leaflet.self).where(.match(\.text, "京")).fetch().map(\.code) == ["k5"])
        #expect(try db.query(FullTextModels.Leaflet.self).where(.match(\.text, "page")).count() == 29)
    }

    @Test func anIndexIsAddedToWhatIsThere() throws {
        try withTemporaryFile { path in
            let before = try Database(at: path, entities: [FullTextModels.Earlier.Plain.self])
            try before.save(FullTextModels.Earlier.Plain(text: "already there"))
            #expect(throws: MakoError.self) {
                try before.query(FullTextModels.Earlier.Plain.self).where("text MATCH 'there'").fetch()
            }
            try before.close()
            let after = try Database(at: path, entities: [FullTextModels.Later.Plain.self])
            #expect(try after.query(FullTextModels.Later.Plain.self).where("text MATCH 'there'").count() == 1)
            try after.close()
        }
    }

    @Test func onlyTextsHaveWords() {
        #expect(throws: MakoError.self) { try makeDatabase([FullTextModels.Mistaken.self]) }
    }

    @Test func liveQueriesSeeWhatIsSaved() async throws {
        let db = try library()
        var notified: [[String]] = []
        for try await difference in db.query(Book.self).where("note MATCH 'torn'").orderBy(.rank).observe() {
            notified.append(difference.results.map(\.title))
            if notified.count == 1 { try await db.save(Book(title: "New", note: "torn torn torn")) }
            if notified.count == 2 { break }
        }
        #expect(notified == [["Ropes"], ["New", "Ropes"]])
    }
}
