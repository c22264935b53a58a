import MakoRecords
import MakoStorage

/// What the tables and columns in records are called now.
struct HistoryNames {
    private let schema: SchemaState
    private let catalogue: Catalogue
    private let handles: [UInt32: TableHandle]

    /// - Parameter view: where the records were read.
    init(_ read: [HistoryRecord], _ view: Snapshot, _ schema: SchemaState) throws(MakoError) {
        self.schema = schema
        let known = Self.byNumber(schema.catalogue)
        // What is known of the tables may be from before the view, or from before another process wrote.
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

    /// The present name of a table, which may have been given another since.
    func now(_ table: HistoryRecord.Table) -> (name: String, handle: TableHandle?) {
        guard let handle = handles[table.number] else { return (table.name, nil) }
        return (handle.schema.name, handle)
    }

    /// The number of the table that has a name now.
    func number(ofTable name: String) -> UInt32? { catalogue.table(named: name)?.number }

    /// - Parameter model: whose names count, where it has some; nil: those of any type of the table.
    func properties(_ columns: [String], ofTable name: String, _ model: EntityModel?) -> [String] {
        if let model, model.table == name { return model.propertyNames(ofColumns: columns) { _ in nil } }
        return schema.propertyNames(ofColumns: columns, inTable: name, keepingUnknown: true)
    }
}

/// The tables that somebody follows: all, or those that are an entity's.
///
/// Where an entity has no table any more it is the one that had its name: its rows are followed under the name that it has now.
struct HistoryTables {
    /// The entity; nil: all.
    let model: EntityModel?
    private var numbers: Set<UInt32> = []

    init(of model: EntityModel?) { self.model = model }

    /// Notes which table was the entity's.
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

    /// Whether the rows of a table of a record count.
    func contains(_ table: HistoryRecord.Table, _ names: HistoryNames) -> Bool {
        guard let model else { return true }
        return numbers.contains(table.number) || names.now(table).name == model.table
    }

    /// The names of what a record says is to be read anew: that which a table has now, and also the one that the commit took from it.
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
