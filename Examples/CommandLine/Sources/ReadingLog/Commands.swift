import ArgumentParser
import Foundation
import Mako

extension Order: ExpressibleByArgument {}

struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Adds a book.")
    @OptionGroup var file: FileOption
    @Argument var title: String
    @Option(help: "The name of the author.") var author: String
    @Option(help: "The number of pages.") var pages = 0
    @Option(help: "A text that `search` finds.") var notes = ""

    func validate() throws {
        if pages < 0 { throw ValidationError("a book has no negative number of pages") }
    }

    func run() throws {
        let book = Book(title: title, author: author, pages: pages, notes: notes)
        try file.writing { try $0.add(book) }
        Reading.print([book.line])
    }
}

struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists books.")
    @OptionGroup var file: FileOption
    @Option(help: "Only books of this author.") var author: String?
    @Flag(help: "Only books that are not finished.") var unread = false
    @Option(help: "The order; pages has the longest first.") var sort = Order.added
    @Option(help: "The largest number of books.") var limit: Int?

    func run() throws {
        try file.reading { shelf in
            Reading.print(try shelf.books(by: author, unread: unread, order: sort, limit: limit).map(\.line))
        }
    }
}

struct Done: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Notes that a book is finished.")
    @OptionGroup var file: FileOption
    @Argument(help: "The number of the book.") var id: Int
    @Option(help: "The day; today without it.") var on = Day(Date())

    func run() throws {
        try file.writing { Reading.print([try $0.finish(id, on: on.date).line]) }
    }
}

struct Search: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Finds books by words of title and notes.")
    @OptionGroup var file: FileOption
    @Argument var words: [String]

    func run() throws {
        try file.reading { Reading.print(try $0.search(words.joined(separator: " ")).map(\.line)) }
    }
}

struct Stats: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Counts finished books and pages by author.")
    @OptionGroup var file: FileOption

    func run() throws {
        try file.reading { shelf in
            Reading.print(try shelf.authors().map { "\($0.author): books \($0.books), pages \($0.pages)" })
        }
    }
}

struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows unread books, and changes until interrupted.")
    @OptionGroup var file: FileOption
    @Option(help: "Ends after this number of changes.") var changes: Int?

    func run() async throws {
        let write = Reading.write
        let shelf = try Shelf(reading: file.file)
        try await shelf.watch(changes: changes) { write($0, .output) }
        try shelf.close()
    }
}
