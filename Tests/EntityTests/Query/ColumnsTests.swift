import Foundation
import Mako
import Testing

private enum Urgency: Int, Sendable { case low = 1, medium, high }

@Entity private final class Cupboard {
    var name: String = ""
    var room: Int = 0
}

@Entity private final class Novel {
    var title: String = ""
    var note: String?
    var pages: Int = 0
    var priority: Urgency = Urgency.low
    var wish: Urgency?
    var isRead: Bool = false
    var added: Date?
    var shelf: Cupboard?

    init(_ title: String, note: String? = nil, pages: Int, _ priority: Urgency = .low, isRead: Bool = false) {
        self.title = title
        self.note = note
        self.pages = pages
        self.priority = priority
        self.isRead = isRead
    }
}

@Entity private struct Scoring {
    @Attribute(.primaryKey) var id: Int = 0
    var name: String = ""
}

/// Conditions that a closure builds from `$0.title`, and lists, ranges and texts as Swift spells them.
@Suite struct ColumnsTests {
    private let db: Database
    private let books: [Novel]

    init() throws {
        db = try Database.inMemory(entities: [Novel.self])
        let (hall, attic) = (Cupboard(), Cupboard())
        (hall.name, hall.room, attic.name, attic.room) = ("Hall", 1, "Attic", 2)
        books = [
            Novel("Emma", note: "100%", pages: 474, .high, isRead: true), Novel("emma's *key*", pages: 12, .medium),
            Novel("Dune", note: "[sand]", pages: 612), Novel("Über Emma", pages: 0, .high),
        ]
        (books[0].shelf, books[1].shelf, books[2].shelf) = (hall, hall, attic)
        books[0].wish = .medium
        books[2].added = Date(timeIntervalSinceReferenceDate: 100)
        try db.save(books)
    }

    /// The titles that a condition finds are those for which a closure of Swift's own is true.
    private func check(
        _ condition: (Columns<Novel>) -> Condition<Novel>, _ isWanted: (Novel) -> Bool,
        at place: SourceLocation = #_sourceLocation
    ) throws {
        let found = try db.query(Novel.self).where(condition).orderBy(\.title).fetch().map(\.title)
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
        #expect(try db.query(Novel.self).where { $0.isRead }.fetch().map(\.title) == ["Emma"])
    }

    @Test func textsAreThoseOfSwift() throws {
        for part in ["Emma", "emma", "", "*", "%", "_", "[", "]", "'s *", "Ü"] {
            try check({ $0.title.contains(part) }) { part.isEmpty || $0.title.contains(part) }
            try check({ $0.title.hasPrefix(part) }) { part.isEmpty || $0.title.hasPrefix(part) }
            try check({ $0.note.contains(part) }) { $0.note.map { part.isEmpty || $0.contains(part) } ?? false }
            try check({ $0.note.hasPrefix(part) }) { $0.note.map { part.isEmpty || $0.hasPrefix(part) } ?? false }
        }
        try check({ $0.title.contains("U\u{308}ber") }) { _ in false }
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
        #expect(try db.query(Novel.self).where(day.contains(\.added)).fetch().map(\.title) == ["Dune"])
        #expect(try db.query(Novel.self).where([12].contains(\.pages)).count() == 1)
    }

    @Test func enumsAreOrderedByTheirRawValues() throws {
        try check({ $0.priority >= .medium }) { $0.priority.rawValue >= 2 }
        try check({ $0.priority > .medium }) { $0.priority.rawValue > 2 }
        try check({ $0.priority < .high && \.priority <= .low }) { $0.priority == .low }
        try check({ $0.wish >= .low }) { $0.wish != nil }
    }

    @Test func ordersOfSeveralPropertiesAndPages() throws {
        let sorted = try db.query(Novel.self).orderBy(\.priority, \.pages).fetch().map(\.title)
        #expect(sorted == ["Dune", "emma's *key*", "Über Emma", "Emma"])
        #expect(try db.query(Novel.self).orderBy(\.shelf.room, \.isRead, \.pages).fetch().count == 4)
        let page = try db.query(Novel.self).orderBy(\.priority, \.pages).limit(2, offset: 1).fetch().map(\.title)
        #expect(page == ["emma's *key*", "Über Emma"])
        #expect(try db.query(Novel.self).where { $0.pages > 1_000 }.isEmpty())
        #expect(try !db.query(Novel.self).isEmpty())
    }

    @Test func negativeNumbersOfRowsAreErrors() throws {
        for query in [
            db.query(Novel.self).limit(-1), db.query(Novel.self).offset(-3), db.query(Novel.self).limit(5, offset: -1),
        ] {
            #expect(throws: MakoError.self) { try query.fetch() }
            #expect(throws: MakoError.self) { try query.count() }
            #expect(throws: MakoError.self) { try query.delete() }
            #expect(throws: MakoError.self) { try query.update().set(\.pages, to: 1).run() }
        }
        #expect(throws: MakoError.self) { try db.query(Novel.self).group(by: \.priority).limit(-1).fetch() }
        #expect(try db.query(Novel.self).count() == 4)
    }

    @Test func structsAreSavedAndInsertedWithoutInout() async throws {
        let saved = try await db.save(Scoring(name: "a"))
        #expect(saved.id != 0)
        try await db.insert(Scoring(name: "b"))
        let inserted = try await db.insert(Scoring(name: "c"))
        #expect(try await db.save(inserted).id == inserted.id)
        await #expect(throws: MakoError.self) { try await db.insert(saved) }
        #expect(try await db.query(Scoring.self).orderBy(\.name).fetch().map(\.name) == ["a", "b", "c"])
        let stored = try await db.transaction { [db] in
            let stored = try db.insert(Scoring(name: "d"))
            #expect(try db.query(Scoring.self).count() == 4)
            return stored.id
        }
        #expect(try await db.find(Scoring.self, stored)?.name == "d")
    }

    @Test func transactionsSaveFindAndDelete() throws {
        var escaped: Transaction?
        try db.transaction { tx in
            escaped = tx
            let book = Novel("Ulysses", pages: 700)
            try tx.save(book)
            let score = try tx.save(Scoring(name: "x"))
            #expect(try tx.find(Scoring.self, score.id)?.name == "x")
            #expect(try tx.delete(score) && tx.query(Scoring.self).isEmpty())
            #expect(try tx.query(Novel.self).where { $0.pages == 700 }.count() == 1)
            #expect(try tx.delete(books[3]))
        }
        #expect(try db.query(Novel.self).count() == 4)
        #expect(throws: MakoError.self) { try escaped?.save(Novel("late", pages: 1)) }
        #expect(throws: MakoError.self) {
            try db.transaction {
                try db.save(Novel("undone", pages: 1))
                throw MakoError.rolledBack
            }
        }
        #expect(try db.query(Novel.self).where { $0.pages == 1 }.isEmpty())
    }
}
