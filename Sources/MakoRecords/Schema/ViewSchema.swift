/// A view: a stored query that statements read as a table.
package struct ViewSchema: Sendable, Hashable {
    /// The name.
    package let name: String
    /// The names of its columns, if they differ from those of the query.
    package let columns: [String]?
    /// The text of the SELECT.
    package let text: String

    /// Makes a view.
    package init(name: String, columns: [String]? = nil, text: String) {
        self.name = name
        self.columns = columns
        self.text = text
    }
}
