/// What a commit did to the rows of one table, in a form that many live queries can ask.
public final class TableChanges: Sendable {
    public let table: String
    let changes: [Change]
    /// The columns that differ in any of the updates.
    let columns: ColumnSet
    /// Whether rows came or went.
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

    /// What happened to a row; nil: nothing.
    func change(of key: RowKey) -> Change? { places[key].map { changes[$0] } }

    /// Whether the changes can matter to somebody who reads these columns only.
    func matters(to columns: ColumnSet) -> Bool { hasOtherRows || self.columns.intersects(columns) }
}

extension ChangeSet {
    /// What was done to the rows of one table; nil: nothing. Linear in all changes of the set.
    public func changes(of table: String) -> TableChanges? {
        guard tableNames.contains(table) else { return nil }
        let mine = changes.filter { $0.table == table }
        return mine.isEmpty ? nil : TableChanges(table, mine)
    }
}
