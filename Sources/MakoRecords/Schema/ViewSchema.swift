/// A query that the file keeps under a name: statements read it like a table.
public struct ViewSchema: Sendable, Hashable {
    public let name: String
    /// What its columns are called, where that is not what the query calls them.
    public let columns: [String]?
    /// The SELECT, as it was written.
    public let text: String

    public init(name: String, columns: [String]? = nil, text: String) {
        self.name = name
        self.columns = columns
        self.text = text
    }
}
