import MakoRecords
import MakoStorage

/// The changes of one commit, for followers.
final class CommitChanges: Sendable {
    /// The number of the previous commit: a snapshot with a higher number includes this commit.
    let base: UInt64
    let changes: ChangeSet
    /// The tables for which `changes` is complete; nil: all tables.
    private let covered: Set<String>?
    /// Changes per table, grouped on first access and shared by all followers.
    private let tables = Guarded<[String: TableChanges?]>([:])

    init(base: UInt64, _ changes: ChangeSet, covering covered: Set<String>? = nil) {
        self.base = base
        self.changes = changes
        self.covered = covered
    }

    /// Whether `changes` is complete for the tables; nil: for all tables.
    func covers(_ tables: Set<String>?) -> Bool {
        guard let covered else { return true }
        return tables.map { $0.isSubset(of: covered) } ?? false
    }

    func isShown(by commitNumber: UInt64) -> Bool { commitNumber > base }

    func of(_ table: String) -> TableChanges? {
        tables.withLock { tables in
            if let known = tables[table] { return known }
            let found = changes.changes(of: table)
            tables[table] = .some(found)
            return found
        }
    }
}
