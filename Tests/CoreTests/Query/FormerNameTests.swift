import MakoCore
import Testing

/// Names of before 0.2.0, which are deprecated, do what the names of today do.
@Suite struct FormerNameTests {
    private func fleet() throws -> (Database, Fleet) {
        let db = try Database.inMemory(entities: [Fleet.self, Vessel.self])
        let fleet = Fleet()
        try db.save(fleet)
        try db.save([Vessel(tons: 1, ports: [], fleet: fleet), Vessel()])
        return (db, fleet)
    }

    @Test func toManyIsFetchedAndCountedByMethods() throws {
        let (db, fleet) = try fleet()
        defer { withExtendedLifetime(db) {} }
        let former: any FormerNames = Former()
        #expect(try former.members(of: fleet) == fleet.ships.load().map(\.id))
        #expect(try former.count(of: fleet) == fleet.ships.count)
        #expect(try fleet.ships.count == 1)
    }

    @Test func nobodyIsTheNullReference() throws {
        let (db, _) = try fleet()
        let former: any FormerNames = Former()
        #expect(try db.query(Vessel.self).referencing(former.nobody).count() == 1)
    }
}

/// Calls by a protocol that is not deprecated give no warnings.
private protocol FormerNames {
    var nobody: NullReference { get }

    func members(of fleet: Fleet) throws -> [Int?]
    func count(of fleet: Fleet) throws -> Int
}

private struct Former: FormerNames {
    @available(*, deprecated)
    var nobody: NullReference { Nobody.nobody }

    @available(*, deprecated)
    func members(of fleet: Fleet) throws -> [Int?] { try fleet.ships.fetch().map(\.id) }

    @available(*, deprecated)
    func count(of fleet: Fleet) throws -> Int { try fleet.ships.count() }
}
