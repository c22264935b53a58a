import Foundation
import Mako

/// What `list` sorts by.
enum Order: String, CaseIterable {
    case added, title, author, pages
}

/// The books of one file: all that the commands do, without their arguments.
struct Shelf: Sendable {
    private let db: Database

    /// Opens a file for writing, and creates it when there is none.
    init(writing path: String) throws(MakoError) {
        db = try Database(at: path, entities: [Book.self])
    }

    /// Opens an existing file for reading, also while another process writes to it.
    init(reading path: String) throws(MakoError) {
        db = try Database(at: path, entities: [Book.self], options: DatabaseOptions(readOnly: true))
    }

    func close() throws(MakoError) { try db.close() }

    func add(_ book: Book) throws(MakoError) { try db.insert(book) }

    /// Notes the day on which a book was finished. One transaction, so that no other change comes between.
    func finish(_ id: Int, on day: Date) throws -> Book {
        try db.transaction {
            guard let book = try db.find(Book.self, id) else { throw MakoError.notFound(entity: "book", key: "\(id)") }
            book.finished = day
            try db.save(book)
            return book
        }
    }

    /// A query is a value: each condition that applies makes another from it, and `fetch` runs the last.
    func books(by author: String?, unread: Bool, order: Order, limit: Int?) throws(MakoError) -> [Book] {
        var query = db.query(Book.self)
        if let author { query = query.where(\.author == author) }
        if unread { query = query.where(\.finished == nil) }
        query =
            switch order {
            case .added: query.orderBy(\.id)
            case .title: query.orderBy(\.title)
            case .author: query.orderBy(\.author).orderBy(\.title)
            case .pages: query.orderBy(\.pages, .descending)
            }
        if let limit { query = query.limit(limit) }
        return try query.fetch().array
    }

    /// The books with all of these words in title and notes together, best first. Quotes and operators have no meaning in them.
    func search(_ words: String) throws(MakoError) -> [Book] {
        try db.query(Book.self).where(.match(MatchPattern(allTokens: words))).orderBy(.rank).fetch().array
    }

    /// The finished books and pages of each author, most books first.
    func authors() throws(MakoError) -> [(author: String, books: Int, pages: Int)] {
        try db.query(Book.self)
            .where(\.finished != nil)
            .group(by: \.author).select(.count.named("books"), .sum(\.pages).named("pages"))
            .orderBy("books DESC, author")
            .fetch().rows(as: (String, Int, Int).self)
            .map { (author: $0.0, books: $0.1, pages: $0.2) }
    }

    /// Writes the unread books, and then each one that comes, changes or goes, until `count` of these changes or an error.
    func watch(changes count: Int?, _ write: @escaping @Sendable (String) -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await refresh() }
            group.addTask { try await show(changes: count, write) }
            try await group.next()
            group.cancelAll()
        }
    }

    /// A reader sees the commits of another process when it is refreshed.
    private func refresh() async throws {
        while true {
            _ = try await db.refresh()
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private func show(changes count: Int?, _ write: @Sendable (String) -> Void) async throws {
        var lines: [String] = []
        var changes = 0
        for try await difference in db.query(Book.self).where(\.finished == nil).orderBy(\.id).observe() {
            let new = difference.results.map(\.line)
            for place in difference.deletions { write("- \(lines[place])") }  // a place in the earlier results
            for place in difference.insertions { write("\(difference.isInitial ? " " : "+") \(new[place])") }
            for place in difference.updates { write("* \(new[place])") }
            lines = new
            if !difference.isInitial {
                changes += difference.deletions.count + difference.insertions.count + difference.updates.count
            }
            if let count, changes >= count { break }
        }
    }
}
