/// A view: a stored query that statements read as a table.
public struct ViewSchema: Sendable, Hashable {
    /// The name.
    public let name: String
    /// The names of its columns, if they differ from those of the query.
    public let columns: [String]?
    /// The text of the SELECT.
    public let text: String

    /// Makes a view.
    public init(name: String, columns: [String]? = nil, text: String) {
        self.name = name
        self.columns = columns
        self.text = text
    }
}
