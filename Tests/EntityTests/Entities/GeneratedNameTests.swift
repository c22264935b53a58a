import Mako
import Testing

/// Types with the names of those that generated code uses.
enum OwnNames {
    enum CompositeKey {}
    enum DictionaryValues {}
    enum EntityModel {}
    enum EntityRow {}
    enum IndexModel {}
    enum ObjectHooks {}
    enum ObjectLock {}
    enum ObjectState {}
    enum PropertyModel {}
    enum RowKey {}
    enum RowWriter {}
    enum StoredValue {}
    enum ValueState {}

    @Entity class Depot {
        #Index<Depot>([\.name])
        @Attribute(.primaryKey) var name = ""
        var `floor space` = 0
        var next: Depot?
        deinit {}
    }

    @Entity final class Harbour: Depot {
        var berths = 0
    }

    @Entity struct Load {
        @Attribute(.primaryKey) var depot: String
        @Attribute(.primaryKey) var number: Int
        var weight = 0.0
    }
}

@Suite struct GeneratedNameTests {
    @Test func typesOfTheUserMayHaveTheNamesOfGeneratedCode() throws {
        let db = try Database.inMemory(entities: [OwnNames.Depot.self, OwnNames.Harbour.self, OwnNames.Load.self])
        let depot = OwnNames.Depot(name: "north", next: OwnNames.Depot(name: "south"))
        depot.`floor space` = 7
        try db.save(depot)
        try db.save(OwnNames.Harbour(berths: 3))
        try db.save(OwnNames.Load(depot: "north", number: 1, weight: 2.5))
        #expect(try db.query(OwnNames.Depot.self).where(\.`floor space` == 7).first()?.next?.name == "south")
        #expect(try db.query(OwnNames.Load.self).first()?.weight == 2.5)
    }
}
