import MakoRecords
import MakoStorage

/// The current names of the tables and columns in history records.
struct HistoryNames {
    private let schema: SchemaState
    private let catalogue: Catalogue
    private let handles: [UInt32: TableHandle]

    /// - Parameter view: the snapshot of the records.
    init(_ read: [HistoryRecord], _ view: Snapshot, _ schema: SchemaState) throws(MakoError) {
        self.schema = schema
        let known = Self.byNumber(schema.catalogue)
        // The schema may be older than the view, or than the writes of another process.
        let isCurrent = read.allSatisfy { record in
            record.tables.allSatisfy { $0.number == 0 || known[$0.number]?.schema.name == $0.name }
        }
        if isCurrent {
            (catalogue, handles) = (schema.catalogue, known)
        } else {
            catalogue = try records { () throws(RecordError) in try Catalogue.load(view: view) }
            handles = Self.byNumber(catalogue)
        }
    }

    private static func byNumber(_ catalogue: Catalogue) -> [UInt32: TableHandle] {
        var handles: [UInt32: TableHandle] = [:]
        for handle in catalogue.handles { handles[handle.number] = handle }
        return handles
    }

    /// The current name of a table, which may have been renamed.
    func now(_ table: HistoryRecord.Table) -> (name: String, handle: TableHandle?) {
        guard let handle = handles[table.number] else { return (table.name, nil) }
        return (handle.schema.name, handle)
    }

    /// The number of the table with a current name.
    func number(ofTable name: String) -> UInt32? { catalogue.table(named: name)?.number }

    /// - Parameter model: the model whose property names are used, if it is of the table; nil: those of all models of
    ///   the table.
    func properties(_ columns: [String], ofTable name: String, _ model: EntityModel?) -> [String] {
        if let model, model.table == name { return model.propertyNames(ofColumns: columns) { _ in nil } }
        return schema.propertyNames(ofColumns: columns, inTable: name, keepingUnknown: true)
    }
}

/// The tables that a reader follows: all, or that of an entity.
///
/// When the entity has no table any more, it is the table that had its name, followed under its current name.
struct HistoryTables {
    /// The entity; nil: all.
    let model: EntityModel?
    private var numbers: Set<UInt32> = []

    init(of model: EntityModel?) { self.model = model }

    /// Determines the entity's table at a record.
    mutating func look(at record: HistoryRecord, _ names: HistoryNames) {
        guard let model else { return }
        if let own = names.number(ofTable: model.table) {
            numbers = [own]
        } else {
            for table in record.tables where table.name == model.table && table.number != 0 {
                numbers.insert(table.number)
            }
        }
    }

    /// Whether the reader follows a table of a record.
    func contains(_ table: HistoryRecord.Table, _ names: HistoryNames) -> Bool {
        guard let model else { return true }
        return numbers.contains(table.number) || names.now(table).name == model.table
    }

    /// The names of the rewritten tables of a record: the current names, and the names that the commit removed.
    func rewritten(by record: HistoryRecord, _ names: HistoryNames) -> [String] {
        var found: [String] = []
        func add(_ name: String) {
            if !found.contains(name) { found.append(name) }
        }
        let tables = record.tables.filter(\.isRewritten)
        for table in tables {
            let isRenamed = tables.contains { $0.number == table.number && $0.name != table.name }
            if table.number != 0, isRenamed, model == nil || model?.table == table.name { add(table.name) }
            if contains(table, names) { add(names.now(table).name) }
        }
        return found
    }
}
