import MakoRecords

/// What a commit did, for those who keep something in step with it.
final class CommitChanges: Sendable {
    /// The number of the commit before: snapshots of a higher number show this one.
    let base: UInt64
    let changes: ChangeSet
    /// The tables whose changes are all among these; nil: every table's are.
    private let covered: Set<String>?
    /// Put together for the first who asks, for all others as well.
    private let tables = Protected<[String: TableChanges?]>([:])

    init(base: UInt64, _ changes: ChangeSet, covering covered: Set<String>? = nil) {
        self.base = base
        self.changes = changes
        self.covered = covered
    }

    /// Whether all changes of some tables are among these, nil standing for every table.
    func covers(_ tables: Set<String>?) -> Bool {
        guard let covered else { return true }
        return tables.map { $0.isSubset(of: covered) } ?? false
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
