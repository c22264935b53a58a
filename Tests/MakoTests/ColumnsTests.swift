import Foundation
import Mako
import Testing

private enum Priority: Int, Sendable { case low = 1, medium, high }

@Entity private final class Shelf {
    var name: String = ""
    var room: Int = 0
}

@Entity private final class Book {
    var title: String = ""
    var note: String?
    var pages: Int = 0
    var priority: Priority = Priority.low
    var wish: Priority?
    var isRead: Bool = false
    var added: Date?
    var shelf: Shelf?

    init(_ title: String, note: String? = nil, pages: Int, _ priority: Priority = .low, isRead: Bool = false) {
        self.title = title
        self.note = note
        self.pages = pages
        self.priority = priority
        self.isRead = isRead
    }
}

@Entity private struct Score {
    @Attribute(.primaryKey) var id: Int = 0
    var name: String = ""
}

/// Conditions that a closure builds from `$0.title`, and lists, ranges and texts as Swift spells them.
@Suite struct ColumnsTests {
    private let db: Database
    private let books: [Book]

    init() throws {
        db = try Database.inMemory(entities: [Book.self])
        let (hall, attic) = (Shelf(), Shelf())
        (hall.name, hall.room, attic.name, attic.room) = ("Hall", 1, "Attic", 2)
        books = [
            Book("Emma", note: "100%", pages: 474, .high, isRead: true), Book("emma's *key*", pages: 12, .medium),
            Book("Dune", note: "[sand]", pages: 612), Book("Über Emma", pages: 0, .high),
        ]
        (books[0].shelf, books[1].shelf, books[2].shelf) = (hall, hall, attic)
        books[0].wish = .medium
        books[2].added = Date(timeIntervalSinceReferenceDate: 100)
        try db.save(books)
    }

    /// The titles that a condition finds are those for which a closure of Swift's own is true.
    private func check(
        _ condition: (Columns<Book>) -> Condition<Book>, _ isWanted: (Book) -> Bool,
        at place: SourceLocation = #_sourceLocation
    ) throws {
        let found = try db.query(Book.self).where(condition).orderBy(\.title).fetch().map(\.title)
        #expect(
            found == books.filter(isWanted).map(\.title).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) },
            sourceLocation: place)
    }

    @Test func closuresBuildConditions() throws {
        try check({ $0.pages > 100 && $0.title == "Emma" }) { $0.pages > 100 && $0.title == "Emma" }
        try check({ $0.pages < 100 || !$0.isRead }) { $0.pages < 100 || !$0.isRead }
        try check({ $0.note != nil }) { $0.note != nil }
        try check({ $0.shelf.name == "Hall" && \.pages > 20 }) { $0.shelf?.name == "Hall" && $0.pages > 20 }
        try check({ [hall = books[0].shelf] in $0.shelf == hall }) { $0.shelf?.name == "Hall" }
        try check({ $0.shelf != nil }) { $0.shelf != nil }
        #expect(try db.query(Book.self).where { $0.isRead }.fetch().map(\.title) == ["Emma"])
    }

    @Test func textsAreThoseOfSwift() throws {
        for part in ["Emma", "emma", "", "*", "%", "_", "[", "]", "'s *", "Ü"] {
            try check({ $0.title.contains(part) }) { part.isEmpty || $0.title.contains(part) }
            try check({ $0.title.hasPrefix(part) }) { part.isEmpty || $0.title.hasPrefix(part) }
            try check({ $0.note.contains(part) }) { $0.note.map { part.isEmpty || $0.contains(part) } ?? false }
            try check({ $0.note.hasPrefix(part) }) { $0.note.map { part.isEmpty || $0.hasPrefix(part) } ?? false }
        }
        try check({ $0.title.like("emma%") }) { $0.title.lowercased().hasPrefix("emma") }
        try check({ $0.note.like("%sand_") }) { $0.note == "[sand]" }
    }

    @Test func listsAndRangesContainProperties() throws {
        try check({ [12, 612, 5].contains($0.pages) }) { [12, 612, 5].contains($0.pages) }
        try check({ $0.pages.in([12, 0]) }) { [12, 0].contains($0.pages) }
        try check({ $0.note.in(["100%"]) }) { $0.note == "100%" }
        try check({ (12...474).contains($0.pages) }) { (12...474).contains($0.pages) }
        try check({ (12..<474).contains($0.pages) && (1...).contains($0.shelf.room) }) {
            (12..<474).contains($0.pages) && $0.shelf != nil
        }
        let day = Date.distantPast...Date(timeIntervalSinceReferenceDate: 100)
        #expect(try db.query(Book.self).where(day.contains(\.added)).fetch().map(\.title) == ["Dune"])
        #expect(try db.query(Book.self).where([12].contains(\.pages)).count() == 1)
    }

    @Test func enumsAreOrderedByTheirRawValues() throws {
        try check({ $0.priority >= .medium }) { $0.priority.rawValue >= 2 }
        try check({ $0.priority > .medium }) { $0.priority.rawValue > 2 }
        try check({ $0.priority < .high && \.priority <= .low }) { $0.priority == .low }
        try check({ $0.wish >= .low }) { $0.wish != nil }
    }

    @Test func ordersOfSeveralPropertiesAndPages() throws {
        let sorted = try db.query(Book.self).orderBy(\.priority, \.pages).fetch().map(\.title)
        #expect(sorted == ["Dune", "emma's *key*", "Über Emma", "Emma"])
        #expect(try db.query(Book.self).orderBy(\.shelf.room, \.isRead, \.pages).fetch().count == 4)
        let page = try db.query(Book.self).orderBy(\.priority, \.pages).limit(2, offset: 1).fetch().map(\.title)
        #expect(page == ["emma's *key*", "Über Emma"])
        #expect(try db.query(Book.self).where { $0.pages > 1_000 }.isEmpty())
        #expect(try !db.query(Book.self).isEmpty())
    }

    @Test func negativeNumbersOfRowsAreErrors() throws {
        for query in [
            db.query(Book.self).limit(-1), db.query(Book.self).offset(-3), db.query(Book.self).limit(5, offset: -1),
        ] {
            #expect(throws: MakoError.self) { try query.fetch() }
            #expect(throws: MakoError.self) { try query.count() }
            #expect(throws: MakoError.self) { try query.delete() }
            #expect(throws: MakoError.self) { try query.update().set(\.pages, to: 1).run() }
        }
        #expect(throws: MakoError.self) { try db.query(Book.self).group(by: \.priority).limit(-1).fetch() }
        #expect(try db.query(Book.self).count() == 4)
    }

    @Test func structsAreSavedAndInsertedWithoutInout() async throws {
        let saved = try await db.save(Score(name: "a"))
        #expect(saved.id != 0)
        try await db.insert(Score(name: "b"))
        let inserted = try await db.insert(Score(name: "c"))
        #expect(try await db.save(inserted).id == inserted.id)
        await #expect(throws: MakoError.self) { try await db.insert(saved) }
        #expect(try await db.query(Score.self).orderBy(\.name).fetch().map(\.name) == ["a", "b", "c"])
    }

    @Test func transactionsSaveFindAndDelete() throws {
        var escaped: Transaction?
        try db.transaction { tx in
            escaped = tx
            let book = Book("Ulysses", pages: 700)
            try tx.save(book)
            let score = try tx.save(Score(name: "x"))
            #expect(try tx.find(Score.self, score.id)?.name == "x")
            #expect(try tx.delete(score) && tx.query(Score.self).isEmpty())
            #expect(try tx.query(Book.self).where { $0.pages == 700 }.count() == 1)
            #expect(try tx.delete(books[3]))
        }
        #expect(try db.query(Book.self).count() == 4)
        #expect(throws: MakoError.self) { try escaped?.save(Book("late", pages: 1)) }
        #expect(throws: MakoError.self) {
            try db.transaction {
                try db.save(Book("undone", pages: 1))
                throw MakoError.rolledBack
            }
        }
        #expect(try db.query(Book.self).where { $0.pages == 1 }.isEmpty())
    }
}
