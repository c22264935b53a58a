import Foundation
import MakoCore
import Testing

/// Predicates over properties with many values, compared with Foundation's evaluation.
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

    @Test func listPredicatesAgreeWithSwift() throws {
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

    /// Letters with accents, flags, a line end of two and what the system has in one character count as Swift counts them.
    @Test func charactersAreThoseOfSwift() throws {
        let db = try Database.inMemory(entities: [Fleet.self, Vessel.self])
        let words = [
            "", "abc", "e\u{301}te\u{301}", "🇳🇴🇩🇪", "👩‍👩‍👧", "a\r\nb", "한국어", "\u{1112}\u{1161}\u{11AB}", "नमस्ते", "\u{301}",
        ]
        try db.save(words.enumerated().map { Vessel(tons: $0.offset, ports: [$0.element], fleet: nil) })
        for count in 0...6 {
            let wanted = words.indices.filter { words[$0].count == count }
            let found = db.query(Vessel.self).where(#Predicate { $0.ports.contains { $0.count == count } })
            #expect(try found.orderBy("id").fetch().map(\.tons) == wanted, "\(count)")
        }
        try db.save(Vessel(tons: 100, ports: [], fleet: Fleet(name: "Nord")))
        let all = db.query(Vessel.self)
        let named = all.where(#Predicate { $0.fleet.flatMap { $0.name.count == 4 } ?? false })
        #expect(try named.fetch().map(\.tons) == [100])
        let others = all.where(#Predicate { !($0.fleet.flatMap { $0.name.count == 4 } ?? false) })
        #expect(try others.count() == words.count)
        let counted = all.where(#Predicate { ($0.fleet.flatMap { $0.name.count } ?? 0) < 4 })
        #expect(try counted.count() == words.count)
    }

    /// Properties of captured values may be read.
    @Test func propertiesOfWhatIsCaptured() throws {
        struct Wanted: Codable {
            var tons = 2
            var ports = ["Oslo", "Bari"]
            var range = 1...3
        }
        let db = try database()
        let wanted = Wanted()
        try check(#Predicate { $0.tons == wanted.tons }, "tons = 2", db)
        try check(#Predicate { wanted.range.contains($0.tons) }, "tons BETWEEN 1 AND 3", db)
        try check(#Predicate { $0.tons >= wanted.ports.count }, "tons >= 2", db)
        try check(#Predicate { $0.ports.contains { wanted.ports.contains($0) } }, "ANY ports IN ('Oslo', 'Bari')", db)
        let limits = [1, 3]
        try check(#Predicate { vessel in limits.contains { vessel.tons == $0 } }, "tons IN (1, 3)", db)
        try check(#Predicate { vessel in limits.allSatisfy { vessel.tons > $0 } }, "tons > 3", db)
        let none: [Int] = []
        #expect(
            try db.query(Vessel.self).where(#Predicate { vessel in none.contains { vessel.tons == $0 } }).count() == 0)
        #expect(
            try db.query(Vessel.self).where(#Predicate { vessel in none.allSatisfy { vessel.tons == $0 } }).count() == 5
        )
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
