import Synchronization

/// The tables of a database as one commit sees them.
///
/// An immutable value behind a reference: load it at open and again after every migration. Reading through an older one is right for
/// snapshots from before the migration.
///
///     let catalogue = try Catalogue.load(view: snapshot)
///     let people = try catalogue.requireTable("Person")
public final class Catalogue: Sendable {
    private static let lastNumber = Atomic<UInt64>(0)
    /// Its own among all catalogues of the process: what was looked up in another one may be gone.
    let number = Catalogue.lastNumber.add(1, ordering: .relaxed).newValue
    private let byName: [String: TableHandle]
    private let byNumber: [UInt32: TableHandle]
    private let relations: [String: TableRelations]
    /// What becomes of rows when rows go that they refer to.
    public let rules: ReferenceRules
    /// What the planner keeps of these tables, made when it is first wanted.
    let cache = AtomicLazyReference<CatalogueCache>()
    /// Every table, sorted by name.
    public let handles: [TableHandle]
    /// The queries that are read like tables, sorted by name.
    public let views: [ViewSchema]

    init(
        _ handles: [TableHandle], _ rules: ReferenceRules = ReferenceRules(), views: [ViewSchema] = [],
        _ relations: [String: TableRelations] = [:]
    ) {
        self.views = views
        self.relations = relations
        self.rules = rules
        self.handles = handles.sorted { $0.schema.name < $1.schema.name }
        var byName: [String: TableHandle] = [:]
        var byNumber: [UInt32: TableHandle] = [:]
        for handle in handles {
            byName[handle.schema.name] = handle
            byNumber[handle.id] = handle
        }
        self.byName = byName
        self.byNumber = byNumber
    }

    /// A catalogue without tables.
    static let empty = Catalogue([])

    /// The schemas of every table, sorted by name.
    public var tables: [EntitySchema] { handles.map(\.schema) }

    public func table(named name: String) -> TableHandle? { byName[name] }

    /// A table by its number in the file, which it keeps under other names.
    public func table(numbered number: UInt32) -> TableHandle? { byNumber[number] }

    /// The same tables with what their types know of them, by the tables' names.
    public func describing(_ relations: [String: TableRelations]) -> Catalogue {
        Catalogue(handles, rules, views: views, relations)
    }

    /// The same tables with other delete rules.
    func with(_ rules: ReferenceRules) -> Catalogue { Catalogue(handles, rules, views: views, relations) }

    /// What is known of a table's relations; nil: nobody described it.
    func relations(of table: String) -> TableRelations? { relations[table] }

    /// The table that a name means in statements: ASCII and Unicode case are forgiven where that is unambiguous.
    public func findTable(_ name: String) -> TableHandle? {
        if let table = byName[name] { return table }
        let folded = Folding.folded(name)
        let alike = handles.filter { Folding.folded($0.schema.name) == folded }
        return alike.count == 1 ? alike[0] : nil
    }

    /// The view that a name means in statements, as ``findTable(_:)`` finds a table.
    public func findView(_ name: String) -> ViewSchema? {
        if views.isEmpty { return nil }
        if let exact = views.first(where: { $0.name == name }) { return exact }
        let folded = Folding.folded(name)
        let alike = views.filter { Folding.folded($0.name) == folded }
        return alike.count == 1 ? alike[0] : nil
    }

    /// A table that must be there, as ``findTable(_:)`` finds it.
    ///
    /// - Throws: `RecordError.tableNotFound` with the nearest right name.
    public func requireTable(_ name: String) throws(RecordError) -> TableHandle {
        if let table = findTable(name) { return table }
        throw .tableNotFound(name: name, nearest: Spelling.nearest(to: name, in: handles.map(\.schema.name)))
    }
}

/// What a layer above keeps of a catalogue's tables. It goes with the catalogue, which a change of the schema replaces.
class CatalogueCache: @unchecked Sendable {}
