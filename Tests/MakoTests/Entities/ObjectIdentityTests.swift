import Foundation
import Mako
import Testing

@Entity struct Permit: Equatable {
    @Attribute(.primaryKey) let code: String
    let issued: Date?
    var holder: String = ""
}

@Entity struct Coupon {
    var word: String
}

@Entity class Hull {
    var name = ""
}

@Entity final class Pontoon: Hull {
    var tons = 0
}

/// A class with an equality of its own.
@Entity final class Sigil: Hashable {
    var motif = ""
    static func == (left: Sigil, right: Sigil) -> Bool { left.motif == right.motif }
    func hash(into hasher: inout Hasher) { hasher.combine(motif) }
}

/// A class whose hook changes the other rows.
@Entity final class Padlock {
    @Attribute(.primaryKey) var code = ""
    var turns = 0
}

extension Padlock {
    func didLoad() { _ = try? Padlock.query().update().set(\.turns, to: turns + 1).run() }
}

@Suite struct ObjectIdentityTests {
    private let db: Database

    init() throws {
        db = try makeDatabase([Den.self, Permit.self, Coupon.self, Hull.self, Pontoon.self, Sigil.self, Padlock.self])
    }

    @Test func objectsOfOneRowHaveOneIdentity() throws {
        let den = Den(place: "cave")
        #expect(den.entityID == nil)
        try db.save(den)
        try db.save(Den(place: "hollow"))
        let id = try #require(den.entityID)
        let again = try #require(try db.find(id))
        #expect(again.place == "cave" && again !== den)
        #expect(again.entityID == id && again != den)
        #expect("\(id)" == "Den 1")
        let selection: Set = [id, try #require(again.entityID), try EntityID(Den.self, 2)]
        #expect(try db.find(selection).map(\.place).sorted() == ["cave", "hollow"])
        try db.delete(den)
        #expect(den.entityID == nil)
        #expect(try db.find(id) == nil)
    }

    @Test func structsHaveIdentities() throws {
        #expect(Coupon(word: "new").entityID == nil)
        let first = try db.save(Coupon(word: "first"))
        let second = try db.save(Coupon(word: "second"))
        #expect(first.entityID != second.entityID)
        let id = try #require(second.entityID)
        #expect(try db.find(id)?.word == "second")
        #expect(try db.transaction { try $0.find(id)?.word } == "second")
        let permit = Permit(code: "A-1", issued: nil)
        #expect(try db.find(try #require(permit.entityID)) == nil)
        try db.save(permit)
        #expect(try db.find(try #require(permit.entityID)) == permit)
    }

    /// The hook of each object that is loaded changes all rows, in a commit of its own.
    @Test func manyAreReadAsOfOneCommit() throws {
        try db.save([Padlock(code: "north"), Padlock(code: "south")])
        try Database.withDefault(db) {
            #expect(try db.find(Padlock.self, ["south", "north"]).map(\.turns) == [0, 0])
            let ids = try ["north", "south"].map { try EntityID(Padlock.self, $0) }
            let before = try #require(try db.find(Padlock.self, "north")).turns
            #expect(before > 0)
            let found = try db.find(ids)
            #expect(Set(found.map(\.turns)).count == 1)
            #expect(found.map(\.code) == ["north", "south"])
        }
    }

    @Test func identitiesAreCoded() throws {
        let permit = Permit(code: "Ärger 7", issued: nil)
        let coupon = try db.save(Coupon(word: "first"))
        try db.save(permit)
        let permitID = try #require(permit.entityID)
        let coded = try JSONEncoder().encode(permitID)
        #expect(try db.find(JSONDecoder().decode(EntityID<Permit>.self, from: coded)) == permit)
        let couponID = try JSONEncoder().encode(try #require(coupon.entityID))
        #expect(try JSONDecoder().decode(EntityID<Coupon>.self, from: couponID) == coupon.entityID)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(EntityID<Permit>.self, from: Data(#"{"table": "Permit", "key": "?"}"#.utf8))
        }
    }

    @Test func anIdentityOfAnotherTableIsRefused() throws {
        let coupon = try db.save(Coupon(word: "first"))
        let coded = try JSONEncoder().encode(try #require(coupon.entityID))
        let foreign = try JSONDecoder().decode(EntityID<Den>.self, from: coded)
        #expect(
            throws: MakoError.typeMismatch(
                entity: "Den", property: "id", expected: "a key of table Den", found: "one of table Coupon")
        ) { try db.find(foreign) }
        let wrongKey = Data(#"{"table": "Permit", "key": 1}"#.utf8)
        let numbered = try JSONDecoder().decode(EntityID<Permit>.self, from: wrongKey)
        #expect(throws: MakoError.self) { try db.find(numbered) }
        #expect(throws: MakoError.self) { try EntityID(Den.self, "cave") }
    }

    @Test func anObjectOfASubclassIsFoundAsOne() throws {
        try db.save(Hull(name: "raft"))
        let pontoon: Hull = Pontoon(tons: 40)
        pontoon.name = "Elbe"
        try db.save(pontoon)
        let id = try #require(pontoon.entityID)
        #expect(id.table == "Pontoon")
        let found = try #require(try db.find(id))
        #expect((found as? Pontoon)?.tons == 40 && found.name == "Elbe")
    }

    @Test func objectsAreHashedByInstance() throws {
        let (one, other) = (Den(place: "cave"), Den(place: "cave"))
        var dens: Set = [one, other]
        #expect(dens.count == 2 && one == one && one != other)
        let hash = one.hashValue
        try db.save([one, other])
        one.place = "hollow"
        try db.save(one)
        #expect(one.hashValue == hash && dens.contains(one))
        #expect(dens.remove(one) === one)
        #expect([one, other].firstIndex(of: other) == 1)
        let hull: Set<Hull> = [Pontoon(tons: 1), Hull(name: "raft")]
        #expect(hull.count == 2)
    }

    @Test func aClassKeepsAnEqualityOfItsOwn() throws {
        let (one, other) = (Sigil(motif: "post"), Sigil(motif: "post"))
        #expect(one == other && Set([one, other]).count == 1)
    }

    @Test func constantsOfAStructAreStored() throws {
        let day = Date(timeIntervalSinceReferenceDate: 86_400)
        var permit = Permit(code: "A-1", issued: day, holder: "Ada")
        try db.save(permit)
        permit.holder = "Bob"
        try db.save(permit)
        #expect(try db.query(Permit.self).where(\.issued == day).fetch().array == [permit])
        #expect(try Permit(["code": "B", "issued": day]).issued == day)
    }
}
