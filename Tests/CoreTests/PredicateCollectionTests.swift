import Foundation
import MakoCore
import Testing

/// What a predicate asks of a property that holds many, with Foundation's own evaluation beside it.
@Suite struct PredicateCollectionTests {
    private func database() throws -> Database {
        let db = try Database.inMemory(entities: [Fleet.self, Vessel.self])
        let lists = [["Kiel", "Oslo"], ["Oslo"], [], ["Bari", "Bonn", "Kiel"], ["Bari"]]
        try db.save(lists.enumerated().map { Vessel(tons: $0.offset, ports: $0.element, fleet: nil) })
        return db
    }

    private func check(
        _ predicate: Predicate<Vessel>, _ text: WhereText, _ db: Database,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var wanted: [Int] = []
        for vessel in try db.query(Vessel.self).orderBy("id").fetch() where try predicate.evaluate(vessel) {
            wanted.append(vessel.tons)
        }
        let found = try db.query(Vessel.self).where(predicate).orderBy("id").fetch().map(\.tons)
        let asText = try db.query(Vessel.self).where(text).orderBy("id").fetch().map(\.tons)
        #expect(found == wanted && asText == wanted, sourceLocation: sourceLocation)
        #expect(!wanted.isEmpty && wanted.count < 5, sourceLocation: sourceLocation)
    }

    @Test func listsAreAskedAsSwiftAsksThem() throws {
        let db = try database()
        let port = "Kiel"
        try check(#Predicate { $0.ports.contains("Oslo") }, "ANY ports = 'Oslo'", db)
        try check(#Predicate { !$0.ports.contains(port) && $0.tons > 0 }, "NONE ports = 'Kiel' AND tons > 0", db)
        try check(
            #Predicate { $0.ports.contains { $0.starts(with: "B") } }, "ANY ports GLOB 'B*'", db)
        try check(#Predicate { $0.ports.allSatisfy { $0 == "Oslo" } }, "ALL ports = 'Oslo'", db)
        try check(#Predicate { !$0.ports.allSatisfy { $0 != port } }, "ANY ports = 'Kiel'", db)
        try check(#Predicate { $0.ports.count > 1 }, "ports.@count > 1", db)
        try check(
            #Predicate { $0.ports.count == $0.tons || $0.ports.isEmpty }, "ports.@count = tons OR ports.@count = 0", db)
        try check(#Predicate { !$0.ports.isEmpty }, "ports.@count > 0", db)
    }

    @Test func whatDoesNotBeginWithTheElementIsRefused() throws {
        let db = try database()
        let refused = [
            #Predicate<Vessel> { vessel in vessel.ports.contains { _ in vessel.tons > 1 } },
            #Predicate<Vessel> { vessel in vessel.ports.allSatisfy { _ in true } },
        ]
        for predicate in refused {
            #expect(throws: MakoError.self) { try db.query(Vessel.self).where(predicate).fetch() }
        }
    }
}
