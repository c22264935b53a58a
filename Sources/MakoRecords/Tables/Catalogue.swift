import MakoStorage
import Synchronization

/// The tables of a database at one commit.
///
/// An immutable snapshot of the schema: load it when the database is opened, and again after each migration. An older
/// catalogue stays valid for snapshots from before the migration.
///
///     let catalogue = try Catalogue.load(view: snapshot)
///     let people = try catalogue.requireTable("Person")
package final class Catalogue: Sendable {
    private static let lastNumber = Atomic<UInt64>(0)
    /// Unique among all catalogues of the process, so that caches of another one are not used.
    let number = Catalogue.lastNumber.add(1, ordering: .relaxed).newValue
    private let byName: [String: TableHandle]
    private let byNumber: [UInt32: TableHandle]
    private let relations: [String: TableRelations]
    /// The delete rules of references.
    package let rules: ReferenceRules
    /// The planner's cache, made on demand.
    let cache = LazyReference<CatalogueCache>()
    /// All tables, sorted by name.
    package let handles: [TableHandle]
    /// All views, sorted by name.
    package let views: [ViewSchema]

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

    /// The schemas of all tables, sorted by name.
    package var tables: [EntitySchema] { handles.map(\.schema) }

    /// Returns a table by its exact name.
    package func table(named name: String) -> TableHandle? { byName[name] }

    /// Returns a table by its number in the file, which does not change when the table is renamed.
    package func table(numbered number: UInt32) -> TableHandle? { byNumber[number] }

    /// Returns the catalogue with relations declared by types, by the tables' names.
    package func describing(_ relations: [String: TableRelations]) -> Catalogue {
        Catalogue(handles, rules, views: views, relations)
    }

    /// Returns the catalogue with other delete rules.
    func with(_ rules: ReferenceRules) -> Catalogue { Catalogue(handles, rules, views: views, relations) }

    /// Returns a table's relations; `nil` if ``describing(_:)`` has not given any.
    func relations(of table: String) -> TableRelations? { relations[table] }

    /// Returns the table that a name in a statement means: in another case only if that is unambiguous.
    package func findTable(_ name: String) -> TableHandle? {
        if let table = byName[name] { return table }
        let folded = Folding.folded(name)
        let alike = handles.filter { Folding.folded($0.schema.name) == folded }
        return alike.count == 1 ? alike[0] : nil
    }

    /// Returns the view that a name in a statement means, as ``findTable(_:)`` does for tables.
    package func findView(_ name: String) -> ViewSchema? {
        if views.isEmpty { return nil }
        if let exact = views.first(where: { $0.name == name }) { return exact }
        let folded = Folding.folded(name)
        let alike = views.filter { Folding.folded($0.name) == folded }
        return alike.count == 1 ? alike[0] : nil
    }

    /// Returns a table as ``findTable(_:)`` does.
    ///
    /// - Throws: `RecordError.tableNotFound` with the nearest existing name.
    package func requireTable(_ name: String) throws(RecordError) -> TableHandle {
        if let table = findTable(name) { return table }
        throw .tableNotFound(name: name, nearest: Spelling.nearest(to: name, in: handles.map(\.schema.name)))
    }
}

/// Data that the query engine caches for a catalogue's tables. Discarded with the catalogue, which a change of the
/// schema replaces.
class CatalogueCache: @unchecked Sendable {}
