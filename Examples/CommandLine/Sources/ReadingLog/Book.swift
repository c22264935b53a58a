import Foundation
import Mako

/// A book of the log; it is unread until it has a day in `finished`.
@Entity final class Book {
    #FullText<Book>([\.title, \.notes])
    var title = ""
    var author = ""
    var pages = 0
    var finished: Date?
    var notes = ""

    /// The book as a line of a list: number, title, author, pages and the day on which it was finished.
    var line: String {
        let end = finished.map { "finished \(Day($0))" } ?? "unread"
        return "\(id ?? 0)  \(title), \(author), \(pages) pages, \(end)"
    }
}
