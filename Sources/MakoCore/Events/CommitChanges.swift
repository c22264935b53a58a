import MakoRecords

/// What a commit did, for those who keep something in step with it.
final class CommitChanges: Sendable {
    /// The number of the commit before: snapshots of a higher number show this one.
    let base: UInt64
    let changes: ChangeSet
    /// Put together for the first who asks, for all others as well.
    private let tables = Protected<[String: TableChanges?]>([:])

    init(base: UInt64, _ changes: ChangeSet) {
        self.base = base
        self.changes = changes
    }

    func isShown(by commitNumber: UInt64) -> Bool { commitNumber > base }

    func of(_ table: String) -> TableChanges? {
        tables.with { tables in
            if let known = tables[table] { return known }
            let found = changes.changes(of: table)
            tables[table] = .some(found)
            return found
        }
    }
}
