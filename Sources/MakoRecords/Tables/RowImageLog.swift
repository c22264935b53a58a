/// A row image, with the table at that time.
package struct RowImage: Sendable {
    package let table: TableHandle
    private let bytes: [UInt8]

    init(_ table: TableHandle, _ bytes: UnsafeRawBufferPointer) {
        self.table = table
        self.bytes = [UInt8](bytes)
    }

    /// Calls a closure with the row, in the table's layout.
    package func withRow<R>(_ body: (RowReader) throws -> R) throws -> R {
        try bytes.withUnsafeBytes { try body(try RowReader($0, table.layout)) }
    }
}

/// The images of a row before and after a transaction; `nil` before its insertion, or after its deletion.
package struct RowImages: Sendable {
    package fileprivate(set) var old: RowImage?
    package fileprivate(set) var new: RowImage?

    /// - Parameter later: later images of the row; the result has the first and the last one.
    fileprivate mutating func append(_ later: RowImages) {
        if old == nil { old = later.old ?? old }
        new = later.new ?? new
    }
}

/// The row images of a change set, for the tables whose images were requested.
struct RowImageLog: Sendable {
    private struct Row: Hashable {
        let table: UInt32
        let key: RowKey
    }

    /// The tables; `nil` for all.
    private let tables: Set<String>?
    private var rows: [Row: RowImages] = [:]

    init(tables: Set<String>?) { self.tables = tables }

    /// An empty log of the same tables.
    var empty: RowImageLog { RowImageLog(tables: tables) }

    func keeps(_ table: TableHandle) -> Bool { tables?.contains(table.schema.name) ?? true }

    mutating func note(
        _ table: TableHandle, _ key: RowKey, old: UnsafeRawBufferPointer?, new: UnsafeRawBufferPointer?
    ) {
        guard keeps(table) else { return }
        let images = RowImages(old: old.map { RowImage(table, $0) }, new: new.map { RowImage(table, $0) })
        rows[Row(table: table.id, key: key), default: RowImages()].append(images)
    }

    mutating func append(_ later: RowImageLog) {
        for (row, images) in later.rows { rows[row, default: RowImages()].append(images) }
    }

    func images(of change: Change, in table: TableHandle) -> RowImages? {
        guard var images = rows[Row(table: table.id, key: change.key)] else { return nil }
        // States between insertion and deletion are discarded.
        switch change.kind {
        case .insert: images.old = nil
        case .delete: images.new = nil
        case .update: break
        }
        return images
    }
}

extension ChangeSet {
    /// An empty set that records images of the same tables.
    package var empty: ChangeSet {
        var set = ChangeSet()
        set.values = values?.empty
        return set
    }

    /// Starts recording row images: before the first change of a row, and after the last.
    ///
    /// - Parameter tables: the names of the tables; `nil` for all.
    package mutating func keepRows(ofTables tables: Set<String>?) { values = RowImageLog(tables: tables) }

    /// The changes without row images, to be retained for long.
    package var withoutRows: ChangeSet {
        var set = self
        set.values = nil
        return set
    }

    /// Returns the images of a row; `nil` if none were recorded.
    package func images(of change: Change, in table: TableHandle) -> RowImages? {
        values?.images(of: change, in: table)
    }
}
