/// The tables whose rows a transaction changed without a change record for each row.
struct TableRewrites {
    /// The tables that the history reports as rewritten, each once, in the order of the first rewrite.
    private(set) var tables: [String] = []
    /// Those whose watchers cannot know what has changed. A dropped table is not among them if its rows were deleted
    /// one by one before: its watchers get the deletions.
    private(set) var unknown: Set<String> = []

    /// - Parameter isKnown: whether there is a change record for each row that is gone.
    mutating func add(_ table: String, isKnown: Bool = false) {
        if !tables.contains(table) { tables.append(table) }
        if !isKnown { unknown.insert(table) }
    }

    mutating func add(_ tables: [String]) {
        for table in tables { add(table) }
    }
}
