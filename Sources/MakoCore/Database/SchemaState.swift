import MakoRecords
import MakoStorage

/// A type bound to its table.
final class Binding: Sendable {
    let model: EntityModel
    let table: TableHandle
    /// The fields, in the order of the model's columns.
    let layout: RowLayout
    let hasReferences: Bool
    /// The properties whose keys must lead to rows when an object is new: not those that hold structs, which are saved
    /// with them, nor those that are written once, which may be there already.
    let checkedReferences: [Int]
    /// Whether some references lead to structs.
    let holdsValues: Bool
    /// Whether they are read with the row, on its snapshot: those of a struct. Those of an object are read at their
    /// first access; it would retain the snapshot.
    let readsValues: Bool
    let mergesUpserts: Bool
    let identityIndex: String?
    /// The columns of all tables that refer to this table.
    let referrers: [Referrer]
    /// The columns through which its rows own other rows.
    let owned: OwnedColumns?

    init(model: EntityModel, catalogue: Catalogue) throws(MakoError) {
        self.model = model
        if model.isPartial { try model.checkPart(of: catalogue) }
        let table = try records { () throws(RecordError) in try catalogue.requireTable(model.table) }
        self.table = table
        try model.checkEncryption(of: table.schema)
        layout = try records { () throws(RecordError) in
            try table.layout(of: model.columns)
        }
        hasReferences = model.columns.contains(where: \.isReference)
        checkedReferences = model.columns.indices.filter {
            model.columns[$0].isReference && model.columns[$0].coding?.holdsValue != true
                && !model.writeOnceColumns.contains($0)
        }
        holdsValues = model.columns.contains { $0.coding?.holdsValue == true }
        readsValues = holdsValues && !(model.type is any ObjectEntity.Type)
        mergesUpserts = model.mergesUpserts
        identityIndex = model.identityIndex
        (referrers, owned) = try records { () throws(RecordError) in
            (try catalogue.referrers(of: table), try catalogue.ownedColumns(of: table))
        }
    }

    /// The context that the objects of one fetch share; nil: they have no references.
    func fetchContext(_ view: Snapshot, _ schema: SchemaState) -> FetchContext? {
        hasReferences ? FetchContext(readsValues ? FetchContext.Moment(view: view, schema: schema) : nil) : nil
    }
}

/// The catalogue of one moment and the types bound to it. Immutable; replaced as a whole.
final class SchemaState: Sendable {
    let catalogue: Catalogue
    /// Later states have higher versions.
    let version: Int
    private let bindings: [Binding?]
    private let byTable: [String: [Binding]]
    /// The tables whose rows may be owned.
    private let owned: Set<String>
    /// By table name: what statements may store in the table.
    private let readable: [String: ReadableRows]

    init(catalogue: Catalogue, models: [EntityModel], version: Int = 0) throws(MakoError) {
        self.version = version
        let catalogue = catalogue.describing(EntityModel.relations(of: models))
        self.catalogue = catalogue
        var bindings: [Binding?] = []
        var byTable: [String: [Binding]] = [:]
        for model in models {
            let binding = try Binding(model: model, catalogue: catalogue)
            while bindings.count <= model.number { bindings.append(nil) }
            bindings[model.number] = binding
            if model.isPartial { continue }
            for other in byTable[model.table] ?? [] { try model.checkNaming(beside: other.model) }
            byTable[model.table, default: []].append(binding)
        }
        self.bindings = bindings
        self.byTable = byTable
        var owned: Set<String> = []
        for model in models where !model.ownedColumns.isEmpty {
            for property in model.columns where property.relation.contains(.owned) {
                if case .column(_, _, _, let target?) = property.kind { owned.insert(target.entityModel.table) }
            }
        }
        self.owned = owned
        readable = Dictionary(grouping: bindings.compactMap(\.self)) { $0.model.table }.compactMapValues {
            ReadableRows($0)
        }
    }

    /// The checks for rows that a statement stores; nil: the column types are sufficient.
    func check(of statement: Statement) throws(MakoError) -> ReadableRows? {
        if readable.isEmpty { return nil }
        let table: TableName
        switch statement {
        case .insert(let insert): table = insert.table
        case .update(let update): table = update.table
        default: return nil
        }
        return try records { () throws(RecordError) in check(ofTable: try table.find(in: catalogue).schema.name) }
    }

    /// The checks for rows stored in a table.
    func check(ofTable name: String) -> ReadableRows? { readable.isEmpty ? nil : readable[name] }

    /// Whether objects of a model may be owned.
    func isOwned(_ model: EntityModel) -> Bool { !owned.isEmpty && owned.contains(model.table) }

    func binding(_ model: EntityModel) -> Binding? {
        model.number < bindings.count ? bindings[model.number] : nil
    }

    /// The names of all tables.
    var tables: Set<String> { Set(catalogue.handles.map(\.schema.name)) }

    /// The binding of a table's first model; several models may share a table.
    func binding(ofTable name: String) -> Binding? { byTable[name]?.first }

    /// Whether changes of a table are delivered to watchers: when one of its models raises events, or no model is
    /// bound.
    func raisesEvents(table name: String) -> Bool {
        byTable[name]?.contains { $0.model.raisesEvents } ?? true
    }

    /// The property names of columns. The column's own name when the table's models differ or no model is bound; a
    /// column without a property is omitted.
    func propertyNames(ofColumns columns: [String], inTable name: String, keepingUnknown: Bool = false) -> [String] {
        guard let bindings = byTable[name], let first = bindings.first?.model else { return columns }
        if bindings.count == 1 { return first.propertyNames(ofColumns: columns) { keepingUnknown ? $0 : nil } }
        var found: [String] = []
        for column in columns {
            var names = bindings.compactMap { $0.model.propertyNames(ofColumns: [column]) { _ in nil }.first }
            if names.isEmpty && keepingUnknown { names = [column] }
            guard let name = names.first else { continue }
            let agreed = names.allSatisfy { $0 == name } ? name : column
            if !found.contains(agreed) { found.append(agreed) }
        }
        return found
    }

    /// The models of a class and its subclasses, each table once.
    func hierarchy(of model: EntityModel) -> [EntityModel] {
        var tables: Set = [model.table]
        let subclasses = models.filter { !$0.isPartial && $0.extends(model) && tables.insert($0.table).inserted }
        return [model] + subclasses.sorted { $0.table < $1.table }
    }

    var models: [EntityModel] { bindings.compactMap { $0?.model } }

    /// The models and all related models that are not bound yet, each once.
    func missing(from models: [EntityModel]) -> [EntityModel] {
        var found: [EntityModel] = []
        var waiting = models
        while let model = waiting.popLast() {
            if binding(model) != nil || found.contains(where: { $0 === model }) { continue }
            found.append(model)
            waiting += model.related
        }
        return found.sorted { $0.table < $1.table }
    }
}

/// The schemas of a database that is open for writing: that of the newest published commit, and those of later ones.
struct Schemas {
    /// The readers' schema: that of the newest published commit.
    private(set) var published: SchemaState
    /// The schemas of commits that are being made, or that wait for their sync or confirmation, with rising versions,
    /// all above that of `published`. They are noted before their commits become visible.
    private var pending: [(commit: UInt64, schema: SchemaState)] = []
    /// The newest commit of `pending` that waits for its confirmation after its committer gave up.
    private(set) var unconfirmed: UInt64?
    /// Counts the changes of these schemas, in steps of 2; odd while some are pending.
    private(set) var sequence: UInt64 = 0

    init(_ published: SchemaState) { self.published = published }

    /// The schema with which the next writer starts.
    var newest: SchemaState { pending.last?.schema ?? published }

    /// The schema of a snapshot that was taken while `published` was the published schema.
    func schema(at commit: UInt64) -> SchemaState { pending.last { $0.commit <= commit }?.schema ?? published }

    /// Notes the schema of a commit, with the writer's lock held.
    mutating func append(_ schema: SchemaState, of commit: UInt64) {
        pending.append((commit, schema))
        count()
    }

    /// Publishes a schema whose commit is visible. Those of earlier commits are part of it.
    mutating func publish(_ schema: SchemaState) {
        if schema.version > published.version { published = schema }
        pending.removeAll { $0.schema.version <= published.version }
        count()
    }

    /// Replaces all schemas by that of a file that another process changed, or of a read-only database.
    mutating func replace(by schema: SchemaState) {
        published = schema
        pending = []
        count()
    }

    /// Forgets the schema of a commit that was not made; nil: of all that will never be published.
    mutating func forget(_ schema: SchemaState? = nil) {
        if let schema { pending.removeAll { $0.schema === schema } } else { pending = [] }
        if pending.isEmpty { unconfirmed = nil }
        count()
    }

    mutating func noteUnconfirmed(_ commit: UInt64) { unconfirmed = commit }

    mutating func noteConfirmed(_ commit: UInt64) {
        if unconfirmed == commit { unconfirmed = nil }
    }

    private mutating func count() { sequence = (sequence | 1) + (pending.isEmpty ? 1 : 2) }
}
