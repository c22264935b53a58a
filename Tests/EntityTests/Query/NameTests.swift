import Foundation
import Mako
import TestHelpers
import Testing

/// Conditions by key paths, by `#Predicate` and as text name the same properties, whatever these are called.
@Suite struct NameTests {
    typealias River = NameModels.River
    typealias Boat = NameModels.Boat
    typealias GreatRiver = NameModels.GreatRiver
    typealias LongBoat = NameModels.LongBoat
    typealias Coded = NameModels.Coded

    private func rivers() throws -> Database {
        let db = try Database.inMemory(entities: [River.self, Boat.self])
        let elbe = River(name: "Elbe", length: 1094)
        let spree = River(name: "Spree", length: 400, river: elbe)
        try db.save([
            Boat(name: "Alba", boat: 3, river: spree), Boat(name: "Bora", boat: 2, river: elbe),
            Boat(name: "Cora", boat: 1),
        ])
        return db
    }

    // MARK: Properties called as their tables

    @Test func keyPathsLeadThroughPropertiesCalledAsTables() throws {
        let db = try rivers()
        let (all, boats) = (db.query(River.self), db.query(Boat.self))
        #expect(try all.where(\.river.name == "Elbe").fetch().map(\.name) == ["Spree"])
        #expect(try all.where(#Predicate { $0.river?.name == "Elbe" }).fetch().map(\.name) == ["Spree"])
        #expect(try all.where("River.river.name = 'Elbe'").fetch().map(\.name) == ["Spree"])
        #expect(try all.where(\.river.length > 1000).count() == 1)
        #expect(try all.orderBy(\.river.name).fetch().map(\.name) == ["Elbe", "Spree"])
        #expect(try all.orderBy(\.river.name, .descending).fetch().map(\.name) == ["Spree", "Elbe"])
        #expect(
            try all.group(by: \.river.name).select(.count, .max(\.river.length)).fetch().columns == [
                "river.name", "count(*)", "max(river.length)",
            ])
        #expect(try all.groupCount(\.river.name).map(\.value) == [.null, .text("Elbe")])
        #expect(try all.max(\.river.length) == 1094)
        #expect(try boats.where(\.river.river.name == "Elbe").fetch().map(\.name) == ["Alba"])
        #expect(try boats.where("river.river.name = 'Elbe'").fetch().map(\.name) == ["Alba"])
        #expect(try boats.where("boat.boat > 1 AND Boat.river.name = 'Elbe'").fetch().map(\.name) == ["Bora"])
        #expect(try all.where(.any(\.boats, \.river.name == "Spree")).fetch().map(\.name) == ["Spree"])
        #expect(try all.where(.any(\.boats, \.river.river.name == "Elbe")).fetch().map(\.name) == ["Spree"])
        #expect(try all.where(\.river.boats.count == 1).fetch().map(\.name) == ["Spree"])
        #expect(try all.where("ANY boats.river.name = 'Spree'").fetch().map(\.name) == ["Spree"])
    }

    @Test func joinsAndSubqueriesNameTheTable() throws {
        let db = try rivers()
        let boats = db.query(Boat.self).joinTo(\.river, .inner)
        #expect(try boats.where("River.name = 'Elbe'").fetch().map(\.name) == ["Bora"])
        // The name before the dot is the joined object's, and behind the key path the property's.
        #expect(try boats.where("river.length > 500").fetch().map(\.name) == ["Bora"])
        #expect(try boats.where(\.river.length > 500).fetch().map(\.name) == ["Bora"])
        #expect(try boats.where("river.river IS NULL").fetch().map(\.name) == ["Bora"])
        let exists = "EXISTS (SELECT 1 FROM Boat WHERE boat.river = river.id AND boat.name = 'Bora')"
        #expect(try db.query(River.self).where(text: exists).fetch().map(\.name) == ["Elbe"])
        #expect(
            try db.rawQuery(text: "DELETE FROM Boat WHERE NOT EXISTS (SELECT 1 FROM River WHERE River.id = boat.river)")
                .changedRows == 1)
        #expect(try db.query(Boat.self).orderBy(\.name).fetch().map(\.name) == ["Alba", "Bora"])
    }

    @Test func namesOfTablesInSnakeCaseAreNoPaths() throws {
        let db = try Database.inMemory(
            entities: [GreatRiver.self, LongBoat.self], options: DatabaseOptions(tableNaming: .snakeCase))
        let elbe = GreatRiver(name: "Elbe", great_river: 7)
        let spree = GreatRiver(name: "Spree", greatRiver: elbe, great_river: 8)
        try db.save([LongBoat(name: "Alba", great_river: spree), LongBoat(name: "Bora", great_river: elbe)])
        let all = db.query(GreatRiver.self)
        #expect(try all.where(\.greatRiver.name == "Elbe").fetch().map(\.name) == ["Spree"])
        #expect(try all.where(\.greatRiver.great_river == 7).fetch().map(\.name) == ["Spree"])
        #expect(try all.where(#Predicate { $0.greatRiver?.name == "Elbe" }).fetch().map(\.name) == ["Spree"])
        #expect(try all.where("GreatRiver.great_river = 8").fetch().map(\.name) == ["Spree"])
        #expect(try all.where(.any(\.boats, \.great_river.name == "Elbe")).fetch().map(\.name) == ["Elbe"])
        #expect(try db.query(LongBoat.self).where(\.great_river.name == "Elbe").fetch().map(\.name) == ["Bora"])
        let joined =
            "SELECT b.name FROM long_boat b JOIN great_river ON b.great_river = great_river.id WHERE great_river.name = 'Elbe'"
        #expect(try db.rawQuery(text: joined).rows == [[.text("Bora")]])
        let exists =
            "EXISTS (SELECT 1 FROM long_boat WHERE long_boat.great_river = great_river.id AND long_boat.name = 'Bora')"
        #expect(try db.rawQuery(text: "SELECT name FROM great_river WHERE \(exists)").rows == [[.text("Elbe")]])
        #expect(
            try all.where(text: exists.replacingOccurrences(of: " great_river.id", with: " GreatRiver.id")).fetch().map(
                \.name) == ["Elbe"])
        let groups = try all.group(by: \.greatRiver.name).select(.count).having(.count > 0).fetch()
        #expect(groups.rows.count == 2)
    }

    // MARK: A property `id` beside the key

    @Test func idIsThePropertyThatHasTheName() throws {
        let db = try Database.inMemory(entities: [Coded.self])
        try db.save([
            Coded(code: "a", id: "c", size: 1), Coded(code: "b", id: "a", size: 2), Coded(code: "c", id: "b", size: 3),
        ])
        let all = db.query(Coded.self)
        let forms = [
            all.where("id = 'a'"), all.where(\.id == "a"), all.where(#Predicate { $0.id == "a" }),
            all.where("Coded.id = ?", "a"),
        ]
        for form in forms { #expect(try form.fetch().map(\.code) == ["b"]) }
        #expect(try all.orderBy(\.id).fetch().map(\.code) == ["b", "c", "a"])
        #expect(try all.orderBy("id").fetch().map(\.code) == ["b", "c", "a"])
        #expect(try all.max(\.id) == "c" && all.distinct(\.id).count == 3)
        #expect(try db.update(Coded.self).set(\.size, to: 9).where(\.id == "a").run() == 1)
        #expect(try db.find(Coded.self, "b")?.size == 9)
        #expect(try db.update(Coded.self).set(\.id, to: "z").where(\.code == "c").run() == 1)
        #expect(try all.where(\.id == "z").delete() == 1)
        #expect(try all.orderBy(\.code).fetch().map(\.code) == ["a", "b"])
    }

    @Test func idBesideANumberedKey() throws {
        let db = try Database.inMemory(entities: [NameModels.Numbered.self, NameModels.CodedRecord.self])
        try db.save([NameModels.Numbered(id: "x", place: 2), NameModels.Numbered(id: "1", place: 1)])
        let all = db.query(NameModels.Numbered.self)
        #expect(try all.where(\.id == "1").fetch().map(\.number) == [2])
        #expect(try all.where(\.number == 1).fetch().map(\.id) == ["x"])
        #expect(try all.orderBy(\.id).fetch().map(\.id) == ["1", "x"])
        #expect(try all.where(#Predicate { $0.id == "x" }).delete() == 1)
        try db.save([NameModels.CodedRecord(code: "a", id: 2), NameModels.CodedRecord(code: "b", id: 1)])
        let records = db.query(NameModels.CodedRecord.self)
        #expect(try records.where(\.id == 2).fetch().map(\.code) == ["a"])
        #expect(try records.orderBy(\.id).fetch().map(\.code) == ["b", "a"])
        #expect(try records.where(\.id == 1).delete() == 1)
    }

    @Test func idOfASubclassIsItsOwn() throws {
        let db = try Database.inMemory(entities: [NameModels.Based.self, NameModels.Derived.self])
        try db.save([NameModels.Derived(extra: 1), NameModels.Based(code: "b", id: 5)])
        let derived = try #require(try db.query(NameModels.Derived.self).first())
        derived.id = 6
        try db.save(derived)
        #expect(try db.query(NameModels.Derived.self).where(\.id == 6).count() == 1)
        #expect(try db.query(NameModels.Based.self).where(\.id == 5).fetch().map(\.code) == ["b"])
        #expect(try db.query(NameModels.Derived.self).orderBy(\.id).first()?.id == 6)
    }

    @Test func aComputedIDIsNoColumn() throws {
        let db = try Database.inMemory(entities: [NameModels.Computed.self])
        try db.save(NameModels.Computed(code: "a", x: 1))
        #expect {
            try db.query(NameModels.Computed.self).where(\.id == "a").count()
        } throws: { "\($0)".contains("is not a stored property of Computed") && !"\($0)".contains("0x") }
        #expect {
            try db.query(NameModels.Computed.self).where(#Predicate { $0.id == "a" }).count()
        } throws: { "\($0)".contains("is not a stored property of Computed") && !"\($0)".contains("0x") }
        #expect(try db.query(NameModels.Computed.self).where(\.code == "a").first()?.id == "1-a")
    }

    // MARK: Types of one name

    @Test func typesOfOneNameShareNoTableWithoutADeclaration() throws {
        for types in [[Space.Thing.self, Space2.Thing.self], [Space2.Thing.self, Space.Thing.self]]
            as [[any Entity.Type]]
        {
            #expect {
                try Database.inMemory(entities: types)
            } throws: { error in
                ["Space.Thing", "Space2.Thing", "@Entity(\""].allSatisfy { "\(error)".contains($0) }
            }
        }
        let db = try Database.inMemory(entities: [Space.Thing.self])
        try db.save(Space.Thing(a: 1))
        #expect(throws: MakoError.self) { try db.save(Space2.Thing(b: 2)) }
        #expect(throws: MakoError.self) { try db.query(Space2.Thing.self).count() }
        #expect(try db.query(Space.Thing.self).fetch().map(\.a) == [1])
        #expect(try db.rawQuery("SELECT * FROM Thing").columns == ["id", "a"])
        // In databases of their own they are no trouble.
        #expect(try Database.inMemory(entities: [Space2.Thing.self]).query(Space2.Thing.self).count() == 0)
    }

    @Test func theDeclarationMayShareATable() throws {
        let db = try Database.inMemory(entities: [Space.Shared.self, Space2.Shared.self])
        try db.save(Space.Shared(a: 1))
        #expect(try db.query(Space2.Shared.self).fetch().map(\.b) == [0])
    }

    @Test func readersShareNoTableWithoutADeclaration() throws {
        try withTemporaryFile { path in
            let writer = try Database(at: path, entities: [Space.Thing.self])
            try writer.save(Space.Thing(a: 1))
            try writer.close()
            var options = DatabaseOptions()
            options.readOnly = true
            let reader = try Database(at: path, entities: [Space.Thing.self], options: options)
            #expect(throws: MakoError.self) { try reader.query(Space2.Thing.self).count() }
            #expect(try reader.query(Space.Thing.self).count() == 1)
            try reader.close()
        }
    }

    // MARK: Keywords

    @Test func keywordsAndUnicodeArePropertiesLikeOthers() throws {
        let db = try Database.inMemory(entities: [NameModels.Select.self])
        let first = NameModels.Select(select: 1, from: "a", where: 4, order: 9, größe: 3, limit: 5)
        try db.save(NameModels.Select(select: 2, from: "b", order: 1, group: first, größe: 4, limit: 6))
        let all = db.query(NameModels.Select.self)
        let forms: [Query<NameModels.Select>] = [
            all.where(\.select == 2), all.where("\"select\" = 2"), all.where("Select.\"from\" = 'b'"),
            all.where(\.where == nil),
            all.where(\.order < 5), all.where(\.group.select == 1), all.where("\"group\".\"select\" = 1"),
            all.where(\.group.limit == 5), all.where("\"select from\" = 6"), all.where("größe > 3"),
            all.where(\.größe == 4),
            all.where("gro\u{308}ße > 3"), all.where(#Predicate { $0.group?.from == "a" }),
            all.where("EXISTS (SELECT 1 FROM \"Select\" s WHERE s.id = \"Select\".\"group\" AND s.\"where\" = 4)"),
        ]
        for (place, form) in forms.enumerated() { #expect(try form.fetch().map(\.from) == ["b"], "\(place)") }
        #expect(try all.orderBy(\.order).fetch().map(\.select) == [2, 1])
        #expect(try all.group(by: \.group.from).select(.sum(\.limit)).fetch().rows.count == 2)
    }
}
