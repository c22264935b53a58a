import MakoRecords
import MakoStorage

/// The same tables in Mako, in memory.
struct MakoSide {
    private let catalogue: Catalogue
    private let view: Snapshot
    private let store: Store

    init(_ world: World) throws {
        store = try Store.inMemory()
        let parent = EntitySchema(name: "P", columns: World.parent.map(\.schema))
        try store.write { transaction in
            _ = try Catalogue.migrate(to: parent, in: transaction)
            _ = try Catalogue.migrate(to: world.schema, in: transaction)
        }
        catalogue = try Catalogue.load(view: store.snapshot())
        let catalogue = catalogue
        try store.write { transaction in
            var changes = ChangeSet()
            var writer = RowWriter()
            for (name, rows) in [("P", world.parents), ("T", world.rows)] {
                let table = try catalogue.requireTable(name)
                for row in rows {
                    writer.begin(table.layout)
                    for (position, value) in row.enumerated() { writer.set(position, value) }
                    _ = try table.insert(&writer, key: nil, in: transaction, changes: &changes)
                }
            }
        }
        view = try store.snapshot()
    }

    func run(_ query: RandomQuery) throws -> [[Value]] {
        try SelectStatement.parse(query.mako).run(catalogue, view: view, parameters: query.parameters).rows
    }
}
