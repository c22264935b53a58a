/// A row as it stood at one moment, with the table as it was then.
package struct RowImage: Sendable {
    package let table: TableHandle
    private let bytes: [UInt8]

    init(_ table: TableHandle, _ bytes: UnsafeRawBufferPointer) {
        self.table = table
        self.bytes = [UInt8](bytes)
    }

    /// Lends the row; positions are those of the table's layout.
    package func withRow<R>(_ body: (RowReader) throws -> R) throws -> R {
        try bytes.withUnsafeBytes { try body(try RowReader($0, table.layout)) }
    }
}

/// A row as it was before a transaction, nil for a new one, and as it is at the transaction's end, nil for one that is gone.
package struct RowImages: Sendable {
    package fileprivate(set) var old: RowImage?
    package fileprivate(set) var new: RowImage?

    /// - Parameter later: what happened to the row after that: the first state and the last are those of the transaction.
    fileprivate mutating func append(_ later: RowImages) {
        if old == nil { old = later.old ?? old }
        new = later.new ?? new
    }
}

/// The rows themselves beside a set of changes, as they were and as they became: kept of the tables that somebody asked about.
struct ValueLog: Sendable {
    private struct Row: Hashable {
        let table: UInt32
        let key: RowKey
    }

    /// Nil: all tables.
    private let tables: Set<String>?
    private var rows: [Row: RowImages] = [:]

    init(tables: Set<String>?) { self.tables = tables }

    /// A log of the same tables, with nothing in it.
    var empty: ValueLog { ValueLog(tables: tables) }

    func keeps(_ table: TableHandle) -> Bool { tables?.contains(table.schema.name) ?? true }

    mutating func note(
        _ table: TableHandle, _ key: RowKey, old: UnsafeRawBufferPointer?, new: UnsafeRawBufferPointer?
    ) {
        guard keeps(table) else { return }
        let images = RowImages(old: old.map { RowImage(table, $0) }, new: new.map { RowImage(table, $0) })
        rows[Row(table: table.id, key: key), default: RowImages()].append(images)
    }

    mutating func append(_ later: ValueLog) {
        for (row, images) in later.rows { rows[row, default: RowImages()].append(images) }
    }

    func images(of change: Change, in table: TableHandle) -> RowImages? {
        guard var images = rows[Row(table: table.id, key: change.key)] else { return nil }
        // What a row was meanwhile, between its insertion and its removal or the other way round, is told nobody.
        switch change.kind {
        case .insert: images.old = nil
        case .delete: images.new = nil
        case .update: break
        }
        return images
    }
}

extension ChangeSet {
    /// Another set, without changes, that keeps the rows of the same tables.
    package var empty: ChangeSet {
        var set = ChangeSet()
        set.values = values?.empty
        return set
    }

    /// Has the set keep the rows of some tables as they were before their first change and as they are after the last, from now on.
    ///
    /// - Parameter tables: their names; nil: all tables.
    package mutating func keepRows(ofTables tables: Set<String>?) { values = ValueLog(tables: tables) }

    /// The changes alone, for those who may keep them for long.
    package var withoutRows: ChangeSet {
        var set = self
        set.values = nil
        return set
    }

    /// What was kept of a row; nil where nothing was.
    package func images(of change: Change, in table: TableHandle) -> RowImages? {
        values?.images(of: change, in: table)
    }
}
