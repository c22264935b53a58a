import Foundation
import MakoRecords

/// A commit of the history, or a gap in it.
public enum HistoryEvent: Sendable {
    /// One commit.
    case batch(HistoryBatch)
    /// The changes after the first token are no longer kept, or belong to another state of the file, as after restoring
    /// a backup. Read everything again and continue from the second token.
    case missed(since: HistoryToken, token: HistoryToken)

    /// The token to store after processing the event.
    public var token: HistoryToken {
        switch self {
        case .batch(let batch): batch.token
        case .missed(_, let token): token
        }
    }

    /// The commit; nil for a gap.
    public var batch: HistoryBatch? {
        if case .batch(let batch) = self { batch } else { nil }
    }
}

/// The committed changes of one transaction.
public struct HistoryBatch: Sendable {
    /// The token to store after processing the batch.
    public let token: HistoryToken
    /// The time of the commit, by the system clock.
    public let date: Date
    /// The changed rows, each once with its net change.
    public let changes: HistoryChanges
    /// Tables that were migrated, dropped or imported: any of their objects may have changed without an entry in
    /// ``changes``. Read them again.
    public let rewritten: [String]

    init(token: HistoryToken, date: Date, changes: HistoryChanges, rewritten: [String]) {
        self.token = token
        self.date = date
        self.changes = changes
        self.rewritten = rewritten
    }

    /// No changes of an entity up to a token.
    init(passing token: HistoryToken) {
        self.init(token: token, date: Date(), changes: HistoryChanges(), rewritten: [])
    }
}

/// The change of one object.
public struct HistoryChange: Sendable, CustomStringConvertible {
    /// The current name of the entity's table.
    public let entity: String
    /// The key of the object's row.
    public let key: RowKey
    /// The net change: an object created and changed in one transaction is an insert; one created and removed is
    /// omitted. Later commits may have changed or removed the object since.
    public let kind: ChangeKind
    /// For an update the names of the changed properties, or of the columns when the type is not in use; otherwise
    /// empty.
    public let changedProperties: [String]
    fileprivate let table: TableHandle?

    /// The values of the key properties, or the row number; empty when the table was removed or its key changed since.
    public var keyValues: [StoredValue] {
        guard let table else { return [] }
        do throws(RecordError) { return try key.values(in: table.schema) } catch { return [] }
    }

    public var description: String {
        let properties = changedProperties.isEmpty ? "" : " (" + changedProperties.joined(separator: ", ") + ")"
        let values = keyValues.map(\.description).joined(separator: ", ")
        return "\(kind) \(entity) \(values.isEmpty ? "\(key)" : values)\(properties)"
    }
}

/// The changes of one commit. Rows with consecutive numbers are stored as one span, so that a commit of millions of new
/// objects needs little memory.
public struct HistoryChanges: RandomAccessCollection, Sendable {
    fileprivate struct Table: Sendable {
        let name: String
        let table: TableHandle?
        /// For each list of columns the property names.
        let properties: [[String]]
    }

    private let tables: [Table]
    private let spans: [HistoryRecord.Span]
    /// The index of each span's first row, and the total number of rows.
    private let starts: [Int]

    init() { (tables, spans, starts) = ([], [], [0]) }

    init(_ record: HistoryRecord, _ names: HistoryNames, _ followed: HistoryTables) {
        tables = record.tables.map { table in
            let (name, handle) = names.now(table)
            return Table(
                name: name, table: handle,
                properties: record.columnLists.map { names.properties($0, ofTable: name, followed.model) })
        }
        let isFollowed = record.tables.map { followed.contains($0, names) }
        spans = record.spans.filter { isFollowed[$0.table] }
        var starts = [0]
        starts.reserveCapacity(spans.count + 1)
        for span in spans { starts.append(starts[starts.count - 1] + Int(span.count)) }
        self.starts = starts
    }

    /// The index of the first change: 0.
    public var startIndex: Int { 0 }
    /// The number of changes.
    public var endIndex: Int { starts[starts.count - 1] }

    /// The change at an index.
    ///
    /// - Complexity: logarithmic in the number of spans.
    public subscript(position: Int) -> HistoryChange {
        var low = 0
        var high = spans.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= position { low = middle } else { high = middle }
        }
        let span = spans[low]
        let table = tables[span.table]
        let key: RowKey =
            switch span.key {
            case .rowID(let id): .rowID(id &+ Int64(position - starts[low]))
            case .bytes: span.key
            }
        let kind: ChangeKind =
            switch span.kind {
            case .insert: .insert
            case .update: .update
            case .delete: .delete
            }
        return HistoryChange(
            entity: table.name, key: key, kind: kind,
            changedProperties: span.kind == .update && span.columns >= 0 ? table.properties[span.columns] : [],
            table: table.table)
    }
}
