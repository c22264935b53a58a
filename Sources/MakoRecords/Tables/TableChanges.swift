/// The changes of a commit in one table, indexed for live queries.
package final class TableChanges: Sendable {
    /// The name of the table.
    package let table: String
    let changes: [Change]
    /// The columns that any of the updates changed.
    let columns: ColumnSet
    /// Whether rows were inserted or deleted.
    let hasOtherRows: Bool
    private let places: [RowKey: Int]

    init(_ table: String, _ changes: [Change]) {
        self.table = table
        self.changes = changes
        var columns = ColumnSet()
        var hasOtherRows = false
        var places: [RowKey: Int] = [:]
        places.reserveCapacity(changes.count)
        for (place, change) in changes.enumerated() {
            places[change.key] = place
            if change.kind == .update { columns.formUnion(change.changedColumns) } else { hasOtherRows = true }
        }
        self.columns = columns
        self.hasOtherRows = hasOtherRows
        self.places = places
    }

    /// Returns the change of a row; `nil` if it has not changed.
    func change(of key: RowKey) -> Change? { places[key].map { changes[$0] } }

    /// Returns whether the changes can affect a reader of these columns.
    func matters(to columns: ColumnSet) -> Bool { hasOtherRows || self.columns.intersects(columns) }
}

extension ChangeSet {
    /// Returns the changes of one table; `nil` if there are none.
    ///
    /// - Complexity: O(n) in the changes of the set.
    package func changes(of table: String) -> TableChanges? {
        guard tableNames.contains(table) else { return nil }
        let mine = changes.filter { $0.table == table }
        return mine.isEmpty ? nil : TableChanges(table, mine)
    }
}
