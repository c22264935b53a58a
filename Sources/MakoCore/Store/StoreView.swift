import MakoRecords
import MakoStorage

/// The keyed stores of a database in one snapshot.
///
/// Reads use the catalogue and bind no types, because binding would create tables or wait for the writer lock.
struct StoreView {
    private let view: Snapshot
    private let schema: SchemaState
    private let database: Database

    /// nil when no store exists.
    init?(_ view: Snapshot, _ schema: SchemaState, _ database: Database) {
        guard StoreTables.areThere(in: schema.catalogue) else { return nil }
        self.view = view
        self.schema = schema
        self.database = database
    }

    // MARK: - Reading

    func settings(of store: String) throws(MakoError) -> StoreSettings? {
        try only(StoreSettings.self, StoreSettings.uniqueIndex, [store])
    }

    func entry(_ store: String, _ key: String) throws(MakoError) -> StoreEntry? {
        try only(StoreEntry.self, StoreEntry.uniqueIndex, [store, key])
    }

    /// The entries of a store, in the order of their keys.
    func entries(of store: String) throws(MakoError) -> [StoreEntry] {
        try rows(StoreEntry.self, equal("store", .text(store)), orderBy: [Order("key")])
    }

    func entryCount(of store: String) throws(MakoError) -> Int {
        let plan = try plan(StoreEntry.self, equal("store", .text(store)), [])
        return try records { () throws(RecordError) in try plan.count(in: view) }
    }

    /// The entries with these ids, in key order.
    func entries(_ ids: Set<Int64>) throws(MakoError) -> [StoreEntry] {
        let (table, layout) = try place(of: StoreEntry.entityModel)
        let ids = ids.sorted()
        var maker = RowMaker(database: database.number, context: nil, layout: layout, lazyProperties: 0)
        var found: [StoreEntry] = []
        try translated {
            try table.withRows(ids: ids, layout: layout, in: view) { place, reader in
                if let reader { found.append(try StoreEntry(row: maker.row(ids[place], reader))) }
            }
        }
        return found.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }

    /// The ids of the entries that have some of these tags, or all of them.
    func ids(in store: String, taggedAny: [String]?, taggedAll: [String]) throws(MakoError) -> Set<Int64> {
        var ids: Set<Int64>?
        if let taggedAny { ids = try entries(of: store, tagged: taggedAny) }
        for tag in taggedAll {
            let found = try entries(of: store, tagged: [tag])
            ids = ids?.intersection(found) ?? found
            if ids?.isEmpty == true { break }
        }
        return ids ?? []
    }

    private func entries(of store: String, tagged tags: [String]) throws(MakoError) -> Set<Int64> {
        if tags.isEmpty { return [] }
        let isTagged = MakoRecords.Condition.isAmong(.column(["tag"]), tags.map { .text($0) })
        let isHere = MakoRecords.Condition.and([equal("store", .text(store)), isTagged])
        return Set(try rows(StoreTag.self, isHere).map(\.entry))
    }

    /// The tags of an entry, in order.
    func tags(of entry: StoreEntry) throws(MakoError) -> [StoreTag] {
        try rows(StoreTag.self, equal("entry", .integer(entry.id)), orderBy: [Order("tag")])
    }

    /// The tags of all entries of a store, with duplicates, in order.
    func tags(of store: String) throws(MakoError) -> [String] {
        try rows(StoreTag.self, equal("store", .text(store)), orderBy: [Order("tag")]).map(\.tag)
    }

    func revision(of entry: StoreEntry, _ number: Int) throws(MakoError) -> StoreRevision? {
        try row(StoreRevision.self, StoreRevision.key(entry.id, number))
    }

    /// The revisions of an entry, oldest first.
    func revisions(of entry: StoreEntry) throws(MakoError) -> [StoreRevision] {
        try rows(StoreRevision.self, equal("entry", .integer(entry.id)), orderBy: [Order("number")])
    }

    // MARK: - Rows

    private func place(of model: EntityModel) throws(MakoError) -> (table: TableHandle, layout: RowLayout) {
        if let binding = schema.binding(model) { return (binding.table, binding.layout) }
        return try records { () throws(RecordError) in
            let table = try schema.catalogue.requireTable(model.table)
            return (table, try table.layout(for: model.columns.map(\.column)))
        }
    }

    private func equal(_ column: String, _ value: StoredValue) -> MakoRecords.Condition {
        .comparison(.equal, .column([column]), .literal(value))
    }

    /// The row with these texts in the first columns, by a unique index on them.
    private func only<T: Entity>(_ type: T.Type, _ index: String, _ texts: [String]) throws(MakoError) -> T? {
        let (table, layout) = try place(of: type.entityModel)
        var wanted = RowWriter()
        wanted.begin(layout)
        for (position, text) in texts.enumerated() { wanted.set(position, text) }
        let key: RowKey?
        do throws(RecordError) { key = try table.owner(of: &wanted, inUnique: index, view: view) } catch {
            throw MakoError(error)
        }
        guard let key else { return nil }
        return try row(type, key)
    }

    private func row<T: Entity>(_ type: T.Type, _ key: RowKey) throws(MakoError) -> T? {
        let (table, layout) = try place(of: type.entityModel)
        var maker = RowMaker(database: database.number, context: nil, layout: layout, lazyProperties: 0)
        return try translated {
            try table.withRow(key, layout: layout, in: view) { try T(row: maker.row(key, $0)) }
        }
    }

    private func plan<T: Entity>(
        _ type: T.Type, _ condition: MakoRecords.Condition, _ orders: [Order]
    ) throws(MakoError) -> Plan {
        let selection = Selection(table: type.entityModel.table, condition: condition, orderBy: orders)
        var plan = try records { () throws(RecordError) in try selection.plan(schema.catalogue) }
        plan.cancellation = CurrentCancellation.current
        return plan
    }

    private func rows<T: Entity>(
        _ type: T.Type, _ condition: MakoRecords.Condition, orderBy orders: [Order] = []
    ) throws(MakoError) -> [T] {
        let plan = try plan(type, condition, orders)
        let layout = try place(of: type.entityModel).layout
        var maker = RowMaker(database: database.number, context: nil, layout: layout, lazyProperties: 0)
        var found: [T] = []
        try translated {
            try plan.forEachRow(layout: layout, in: view) { key, reader in
                found.append(try T(row: maker.row(key, reader)))
                return true
            }
        }
        return found
    }
}
