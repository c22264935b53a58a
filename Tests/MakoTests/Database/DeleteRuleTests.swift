import Foundation
import Mako
import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

// Owners, what they have, and a subclass of that which has a table of its own.

@Entity final class Landlord {
    var name = ""
    @Relationship(inverse: \Flat.landlord, deleteRule: .cascade) var flats: ToMany<Flat>
    @Relationship(inverse: \Debt.landlord, deleteRule: .deny) var debts: ToMany<Debt>
}

@Entity class Flat {
    var street = ""
    var landlord: Landlord?
}

@Entity final class Loft: Flat {
    var height = 0
}

@Entity class Debt {
    var sum = 0
    var landlord: Landlord?
}

@Entity final class Mortgage: Debt {
    var years = 0
}

/// A reference to objects of any entity, of which one has a rule.
@Entity final class Complaint {
    var text = ""
    var about: (any ObjectEntity)?
}

@Entity final class Street {
    var name = ""
    @Relationship(inverse: \Complaint.about, deleteRule: .cascade) var complaints: ToMany<Complaint>
}

@Entity final class Chest {
    var name = ""
    @Relationship(.owned) var coins: [Coin] = []
    @Relationship(.owned) var lid: Lid?
}

@Entity final class Coin { var value = 0 }

@Entity final class Lid { var wood = "" }

@Entity final class Rung {
    var number = 0
    var before: Rung?
    @Relationship(inverse: \Rung.before, deleteRule: .cascade) var after: ToMany<Rung>
}

/// Two whose hooks remove each other's rows.
@Entity final class Rival {
    var name = ""
    func willDelete() -> Bool {
        do {
            for other in try Rival.query().where(\.name != name).fetch() { try other.remove() }
            try Rival.query().delete()
            return true
        } catch { return false }
    }
}

@Suite struct DeleteRuleTests {
    private static let entities: [any Entity.Type] = [
        Landlord.self, Flat.self, Loft.self, Debt.self, Mortgage.self, Street.self, Complaint.self, Chest.self,
        Coin.self,
        Lid.self, Rung.self, Rival.self,
    ]

    /// Runs statements on a file as a program does that knows no types.
    private func statements(_ path: String, _ texts: String...) throws {
        let store = try Store(at: path, options: StoreOptions())
        defer { try? store.close() }
        for text in texts {
            _ = try store.write { tx in
                var changes = ChangeSet()
                return try Statement.parse(text).run(
                    try Catalogue.load(view: tx.view), in: tx, changes: &changes)
            }
        }
    }

    private func refusal(_ path: String, _ text: String) -> String {
        do {
            try statements(path, text)
            return ""
        } catch { return "\(error)" }
    }

    private func loft(_ street: String, _ landlord: Landlord) -> Loft {
        let loft = Loft()
        (loft.street, loft.landlord, loft.height) = (street, landlord, 3)
        return loft
    }

    private func mortgage(_ landlord: Landlord) -> Mortgage {
        let mortgage = Mortgage()
        (mortgage.sum, mortgage.landlord, mortgage.years) = (5, landlord, 20)
        return mortgage
    }

    /// A closed file that the types have written, and its path.
    private func file(_ fill: (Database) throws -> Void) throws -> String {
        let path = NSTemporaryDirectory() + "mako-rules-\(UUID().uuidString).mako"
        let db = try Database(at: path, entities: Self.entities)
        try fill(db)
        try db.close()
        return path
    }

    private func counts(_ path: String, _ tables: String...) throws -> [Int] {
        let store = try Store(at: path, options: StoreOptions())
        defer { try? store.close() }
        return try store.read { view in
            let catalogue = try Catalogue.load(view: view)
            return try tables.map { try catalogue.requireTable($0).count(in: view) }
        }
    }

    // MARK: Rows of subclasses

    @Test func rulesHoldForRowsOfSubclasses() throws {
        let db = try makeDatabase(Self.entities)
        let ada = Landlord(name: "Ada")
        try db.save([Flat(street: "a", landlord: ada), loft("b", ada)])
        let debt = mortgage(ada)
        try db.save(debt)
        #expect(throws: MakoError.deniedByReference(entity: "Landlord", from: "Mortgage", property: "landlord")) {
            try ada.remove()
        }
        #expect(try db.query(Flat.self).count() == 1 && db.query(Loft.self).count() == 1)
        try debt.remove()
        try ada.remove()
        #expect(try db.query(Flat.self).count() == 0 && db.query(Loft.self).count() == 0)
        #expect(try db.verify().danglingReferences.isEmpty)
    }

    @Test func rulesHoldForClassesThatAreNotInUse() throws {
        let path = try file { db in
            let ada = Landlord(name: "Ada")
            try db.save(loft("b", ada))
            let bob = Landlord(name: "Bob")
            try db.save(mortgage(bob))
        }
        let db = try Database(at: path, entities: [Landlord.self])
        #expect(throws: MakoError.deniedByReference(entity: "Landlord", from: "Mortgage", property: "landlord")) {
            try db.query(Landlord.self).where("name = 'Bob'").delete()
        }
        #expect(try db.query(Landlord.self).where("name = 'Ada'").delete() == 1)
        try db.close()
        #expect(try counts(path, "Loft", "Mortgage", "Landlord") == [0, 1, 1])
    }

    // MARK: Other writers

    @Test func statementsOfOtherProgramsApplyTheRules() throws {
        let path = try file { db in
            let ada = Landlord(name: "Ada")
            try db.save([Flat(street: "a", landlord: ada), loft("b", ada)])
            let bob = Landlord(name: "Bob")
            try db.save(mortgage(bob))
            let street = Street(name: "High")
            try db.save([Complaint(text: "loud", about: street), Complaint(text: "dear", about: bob)])
            try db.save(Chest(name: "old", coins: [Coin(value: 1), Coin(value: 2)], lid: Lid(wood: "oak")))
        }
        #expect(refusal(path, "DELETE FROM Landlord").contains("Mortgage.landlord"))
        try statements(path, "DELETE FROM Landlord WHERE name = 'Ada'")
        #expect(try counts(path, "Flat", "Loft", "Mortgage", "Landlord") == [0, 0, 1, 1])
        try statements(path, "DELETE FROM Street")
        #expect(try counts(path, "Complaint") == [1])
        #expect(refusal(path, "INSERT INTO Flat (street, landlord) VALUES ('x', 99)").contains("Landlord has no row"))
        try statements(path, "DELETE FROM Coin WHERE value = 1")
        let db = try Database(at: path, entities: Self.entities)
        let chest: Chest? = try db.query(Chest.self).fetch().first
        #expect(chest?.coins.map { $0.value } == [2])
        #expect(try db.verify().danglingReferences.isEmpty && db.verify().isClean)
        try db.close()
        try statements(path, "DELETE FROM Chest")
        #expect(try counts(path, "Chest", "Coin", "Lid") == [0, 0, 0])
    }

    @Test func rawStatementsRefuseKeysThatLeadNowhere() throws {
        let db = try makeDatabase(Self.entities)
        try db.save(Landlord(name: "Ada"))
        #expect(
            throws: MakoError.danglingReference(
                entity: "Flat", property: "landlord", target: "Landlord", value: .integer(7))
        ) {
            try db.rawQuery("INSERT INTO Flat (street, landlord) VALUES ('x', 7)")
        }
        try db.rawQuery("INSERT INTO Flat (street, landlord) VALUES ('x', 1)")
        try db.rawQuery("DELETE FROM Landlord")
        #expect(try db.query(Flat.self).count() == 0)
    }

    @Test func aFileHasRulesOnceATypeIsBoundForWriting() throws {
        let path = NSTemporaryDirectory() + "mako-rules-\(UUID().uuidString).mako"
        try statements(
            path, "CREATE TABLE Rung (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, before INTEGER REFERENCES Rung)",
            "INSERT INTO Rung VALUES (1, 1, NULL), (2, 2, 1)")
        #expect(refusal(path, "DELETE FROM Rung WHERE id = 1").contains("no delete rule"))
        try Database(at: path, entities: [Rung.self]).close()
        try statements(path, "DELETE FROM Rung WHERE id = 1")
        #expect(try counts(path, "Rung") == [0])
    }

    // MARK: Depth and hooks

    @Test func aLongCascadeCostsNoStack() async throws {
        let db = try makeDatabase(Self.entities)
        let length = 20_000
        try await db.transaction { tx in
            for number in 1...length {
                try db.rawQuery(
                    "INSERT INTO Rung (id, number, before) VALUES (?, ?, ?)", number, number,
                    number == 1 ? nil : number - 1)
            }
        }
        try await onSmallStack {
            try db.find(Rung.self, 1)?.remove()
        }
        #expect(try await db.query(Rung.self).count() == 0)
    }

    @Test func hooksThatRemoveEachOtherEnd() throws {
        let db = try makeDatabase(Self.entities)
        let ada = Rival(name: "Ada")
        try db.save([ada, Rival(name: "Bob"), Rival(name: "Cy")])
        _ = try Database.withDefault(db) { try ada.remove() }
        #expect(try db.query(Rival.self).count() == 0)
        try db.save([Rival(name: "Di"), Rival(name: "Ed")])
        try Database.withDefault(db) { _ = try Rival.query().delete() }
        #expect(try db.query(Rival.self).count() == 0)
    }
}
