import MakoCore
import Testing

/// Conditions on many by key path, beside the same as text.
@Suite struct ManyConditionTests {
    private func database() throws -> Database {
        let db = try Database.inMemory(entities: [Fleet.self, Vessel.self])
        let (north, south, empty) = (Fleet(name: "north"), Fleet(name: "south"), Fleet(name: "empty"))
        try db.save([north, south, empty])
        try db.save([
            Vessel(tons: 10, ports: ["Kiel", "Oslo"], fleet: north), Vessel(tons: 30, ports: ["Oslo"], fleet: north),
            Vessel(tons: 5, ports: [], fleet: south), Vessel(tons: 7, ports: ["Bari"], fleet: nil),
        ])
        return db
    }

    private func same<T: Entity>(
        _ db: Database, _ typed: Condition<T>, _ text: WhereText, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [Int] {
        let byPath = db.query(T.self).where(typed)
        let byText = db.query(T.self).where(text)
        #expect(try byPath.ids() == byText.ids(), sourceLocation: sourceLocation)
        #expect(try byPath.explain() == byText.explain(), sourceLocation: sourceLocation)
        return try byPath.ids()
    }

    @Test func keyPathsSayWhatTextSays() throws {
        let db = try database()
        #expect(try same(db, .any(\Row<Fleet>.ships, \.tons > 20), "ANY ships.tons > 20") == [1])
        #expect(try same(db, .all(\Row<Fleet>.ships, \.tons > 7), "ALL ships.tons > 7") == [1, 3])
        #expect(try same(db, .none(\Row<Fleet>.ships, \.tons > 20), "NONE ships.tons > 20") == [2, 3])
        #expect(try same(db, \Row<Fleet>.ships.count > 1, "ships.@count > 1") == [1])
        #expect(try same(db, \Row<Fleet>.ships.count == 0, "ships.@count = 0") == [3])
        #expect(try same(db, .contains(\Row<Vessel>.ports, "Oslo"), "ANY ports = 'Oslo'") == [1, 2])
        #expect(try same(db, \Row<Vessel>.ports.count == 0, "ports.@count = 0") == [3])
        #expect(try db.query(Vessel.self).where("fleet.ships.@count = \(2)").count() == 2)
        #expect(try db.query(Fleet.self).where(.any(\.ships, .contains(\.ports, "Kiel"))).count() == 1)
        #expect(try db.query(Fleet.self).where(.any(\.ships, \.tons > 6 && \.tons < 20)).ids() == [1])
        #expect(try db.query(Fleet.self).orderBy(\.ships.count, .descending).ids() == [1, 2, 3])
        #expect(try db.query(Fleet.self).where("ships.@sum.tons >= 5").orderBy("ships.@max.tons").ids() == [2, 1])
    }

    @Test func subqueriesTakeInterpolatedValues() throws {
        let db = try database()
        let found = try db.query(Fleet.self)
            .where("id IN (SELECT fleet FROM Vessel WHERE tons > \(9)) AND name = \("north")")
            .where("EXISTS (SELECT 1 FROM Vessel WHERE fleet = Fleet.id AND tons = ?)", 30)
            .fetch()
        #expect(found.map(\.name) == ["north"])
        let rows = try db.rawQuery(
            "SELECT name FROM Fleet WHERE id NOT IN (SELECT fleet FROM Vessel WHERE tons < ?)", 6)
        #expect(rows.rows.map { $0.first } == [.text("north"), .text("empty")])
    }

    @Test func explanationsNameUsedAndMissingIndexes() throws {
        let db = try database()
        let explanation = try db.query(Vessel.self).where(\.tons > 7).explanation()
        #expect(try explanation.plan.description == db.query(Vessel.self).where(\.tons > 7).explain())
        #expect(explanation.missingIndexes.map(\.columns) == [["tons"]] && !explanation.usesIndex("fleet"))
        let fleet = try #require(try db.query(Fleet.self).first())
        let byFleet = try db.query(Vessel.self).where(\.fleet == fleet).explanation()
        #expect(byFleet.missingIndexes.isEmpty && byFleet.chosen.indexes.contains { byFleet.usesIndex($0) })
        #expect(try db.query(Vessel.self).distinct(\.tons) == [5, 7, 10, 30])
    }

    @Test func pathsToMixedUpThingsAreRefused() throws {
        let db = try database()
        #expect(throws: MakoError.self) { try db.query(Vessel.self).where("ANY fleet.name = 'x'").fetch() }
        #expect(throws: MakoError.self) { try db.query(Fleet.self).where("ships.name = 'x'").fetch() }
        #expect(throws: MakoError.self) { try db.query(Fleet.self).orderBy(\.ships).fetch() }
    }
}
