import MakoRecords
import MakoStorage

/// What ties a row to others before a change, and is lost with the change: a statement for the row alone does not
/// restore it.
struct StudioBonds {
    /// The rows that the row owns.
    private let owned: Set<RowPlace>
    /// Whether an INSERT of its values is known to restore the row once it is deleted.
    private let isAlone: Bool

    /// - Parameters:
    ///   - key: nil for a row that will be inserted.
    ///   - cancellation: ends the search for rows that refer to a deleted one, as if there were one.
    init(
        _ key: RowKey?, _ table: StudioTable, _ view: Snapshot, isDeleted: Bool, _ cancellation: Cancellation
    ) throws {
        owned = try key.map { try Self.owned($0, table, view) } ?? []
        isAlone = try key.map { try !isDeleted || Self.isAlone($0, table, view, cancellation) } ?? true
    }

    /// Checks that the change can be reverted: it deleted no row that the row owned, and made it own none, which the
    /// inverse would delete.
    ///
    /// - Parameters:
    ///   - key: the key of the changed row.
    ///   - view: a snapshot with the change.
    func requireKept(_ key: RowKey, _ table: StudioTable, _ view: Snapshot) throws {
        guard isAlone else {
            throw StudioRefusal(
                "The last deletion cannot be undone: the row was referred to, or may have been, since the search for references takes long without an index; or it held a list or an encrypted value.",
                status: 409)
        }
        let areThere = try owned.allSatisfy { row in
            try table.catalogue.table(numbered: row.table)?.contains(row.key, in: view) == true
        }
        let ownsNoOther = try Self.owned(key, table, view).isSubset(of: owned)
        guard areThere, ownsNoOther else {
            throw StudioRefusal(
                "The last save cannot be undone: the row owned another one, which was deleted with it, or owns one now.",
                status: 409)
        }
    }

    private static func owned(_ key: RowKey, _ table: StudioTable, _ view: Snapshot) throws -> Set<RowPlace> {
        let columns = try table.catalogue.ownedColumns(of: table.handle)
        return Set(try columns?.rows(ownedBy: key, table.catalogue, view) ?? [])
    }

    /// Whether no row refers to the row, in a list, by its key or as a row of any table, and its own values can be
    /// written by a statement.
    private static func isAlone(
        _ key: RowKey, _ table: StudioTable, _ view: Snapshot, _ cancellation: Cancellation
    ) throws -> Bool {
        let live = table.handle.schema.liveColumns
        let writable = try table.handle.withRow(key, in: view) { row in
            live.indices.allSatisfy { position in
                if live[position].sealedType != nil { return row.isNull(position) }
                guard live[position].type == .keys, case .blob(let bytes) = row.value(position) else { return true }
                return KeyTree(bytes)?.keys.isEmpty == true
            }
        }
        guard writable != false else { return false }
        do {
            return try table.catalogue.referrers(of: table.handle).allSatisfy { referrer in
                try referrer.rows(referringTo: key, table.catalogue, view, limit: 1, cancellation).isEmpty
            }
        } catch RecordError.cancelled { return false }
    }
}
