import Foundation
import MakoRecords

/// What the history tells: the commits one after the other, or that some are not kept any more.
public enum HistoryEvent: Sendable {
    /// One commit.
    case batch(HistoryBatch)
    /// What was changed after the first token is not known any more, or not known for this file, such as when a backup was put back. Read
    /// everything anew, then keep the second token: the changes after it come next.
    case missed(since: HistoryToken, token: HistoryToken)

    /// What to store when the event has been worked off.
    public var token: HistoryToken {
        switch self {
        case .batch(let batch): batch.token
        case .missed(_, let token): token
        }
    }

    /// The commit; nil: changes were missed.
    public var batch: HistoryBatch? {
        if case .batch(let batch) = self { batch } else { nil }
    }
}

/// What one commit did. Nothing of what was rolled back is in it.
public struct HistoryBatch: Sendable {
    /// What to store when the batch has been worked off.
    public let token: HistoryToken
    /// When it was committed, by the clock of the computer.
    public let date: Date
    /// Each changed row once, with what came of it.
    public let changes: HistoryChanges
    /// Entities of which any object may have come, changed or gone, of which ``changes`` says nothing: their tables were migrated, dropped or
    /// imported. Read them anew.
    public let rewritten: [String]

    init(token: HistoryToken, date: Date, changes: HistoryChanges, rewritten: [String]) {
        self.token = token
        self.date = date
        self.changes = changes
        self.rewritten = rewritten
    }

    /// Nothing that concerns an entity has happened up to a token.
    init(passing token: HistoryToken) {
        self.init(token: token, date: Date(), changes: HistoryChanges(), rewritten: [])
    }
}

/// What happened to one object.
public struct HistoryChange: Sendable, CustomStringConvertible {
    /// The entity's table, by the name it has now.
    public let entity: String
    public let key: RowKey
    /// An object that was made and changed in one transaction was inserted, one that was made and removed is not told. It may have been changed
    /// or removed since by a later commit, which is told later.
    public let kind: ChangeKind
    /// For an update the names of the properties that differ, or of the columns where the type is not in use; else empty.
    public let changedProperties: [String]
    fileprivate let table: TableHandle?

    /// The values of the key's properties, or the id; empty where the table is gone, or has keys of another form since.
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

/// The changes of one commit. Rows with ids in a row are kept as one span, so that a commit of millions of new objects takes no room.
public struct HistoryChanges: RandomAccessCollection, Sendable {
    fileprivate struct Table: Sendable {
        let name: String
        let table: TableHandle?
        /// For each list of columns its names as properties.
        let properties: [[String]]
    }

    private let tables: [Table]
    private let spans: [HistoryRecord.Span]
    /// The place of each span's first row, and the number of all.
    private let starts: [Int]

    init() { (tables, spans, starts) = ([], [], [0]) }

    init(_ record: HistoryRecord, _ names: HistoryNames, of model: EntityModel?) {
        tables = record.tables.map { table in
            let (name, handle) = names.now(table)
            return Table(
                name: name, table: handle,
                properties: record.columnLists.map { names.properties($0, ofTable: name) })
        }
        let tables = tables
        spans = record.spans.filter { model == nil || tables[$0.table].name == model?.table }
        var starts = [0]
        starts.reserveCapacity(spans.count + 1)
        for span in spans { starts.append(starts[starts.count - 1] + Int(span.count)) }
        self.starts = starts
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { starts[starts.count - 1] }

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

/// What the tables and columns in records are called now.
struct HistoryNames {
    private let schema: SchemaState
    private let handles: [UInt32: TableHandle]

    init(_ catalogue: Catalogue, _ schema: SchemaState) {
        self.schema = schema
        var handles: [UInt32: TableHandle] = [:]
        for handle in catalogue.handles { handles[handle.number] = handle }
        self.handles = handles
    }

    /// The present name of a table, which may have been given another since.
    func now(_ table: HistoryRecord.Table) -> (name: String, handle: TableHandle?) {
        guard let handle = handles[table.number] else { return (table.name, nil) }
        return (sabotaged("oldNamesTold") ? table.name : handle.schema.name, handle)
    }

    func properties(_ columns: [String], ofTable name: String) -> [String] {
        guard let model = schema.binding(ofTable: name)?.model else { return columns }
        return model.propertyNames(ofColumns: columns) { $0 }
    }
}
