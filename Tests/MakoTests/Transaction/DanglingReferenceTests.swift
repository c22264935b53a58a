import Mako
import MakoRecords
import MakoStorage
import TestHelpers
import Testing

private enum WithOwners {
    @Entity("LostDog") final class Dog {
        var name = ""
        var owner: Keeper?
        var friends: [Keeper] = []
        var anything: (any ObjectEntity)?
        @Relationship(.owned) var tag: Badge?
    }
    @Entity("LostKeeper") final class Keeper { var name = "" }
    @Entity("LostBadge") final class Badge {
        @Attribute(.primaryKey) var code = ""
    }
    static let all: [any Entity.Type] = [Dog.self, Keeper.self, Badge.self]
}

private enum WithoutOwners {
    @Entity("LostDog") final class Dog { var name = "" }
    static let all: [any Entity.Type] = [Dog.self, WithOwners.Keeper.self, WithOwners.Badge.self]
}

private enum WithRenamed {
    @Entity("LostDog") final class Dog {
        var name = ""
        @Attribute(.originalName("owner")) var master: WithOwners.Keeper?
    }
}

/// References to rows that went while nothing looked after them: memory and queries agree.
@Suite struct DanglingReferenceTests {
    private func fill(_ path: String) throws {
        let db = try Database(at: path, entities: WithOwners.all)
        let (ada, bob) = (WithOwners.Keeper(name: "Ada"), WithOwners.Keeper(name: "Bob"))
        for (name, owner) in [("rex", ada), ("lux", bob), ("max", ada)] {
            let dog = WithOwners.Dog(name: name, owner: owner, friends: [bob, ada, bob])
            (dog.anything, dog.tag) = (owner, WithOwners.Badge(code: name))
            try db.save(dog)
        }
        try db.close()
    }

    private func check(_ path: String, lost: Set<String>, friends: [String], tagless: Set<String>) throws {
        let db = try Database(at: path, entities: WithOwners.all)
        typealias Dog = WithOwners.Dog
        let dogs = try db.query(Dog.self).fetch().array
        #expect(Set(dogs.filter { $0.owner == nil }.map(\.name)) == lost)
        #expect(Set(dogs.filter { $0.anything == nil }.map(\.name)) == lost)
        #expect(Set(dogs.filter { $0.tag == nil }.map(\.name)) == tagless)
        #expect(dogs.allSatisfy { $0.friends.map(\.name) == friends })
        #expect(Set(try db.query(Dog.self).where(\.owner == nil).fetch().map(\.name)) == lost)
        #expect(Set(try db.query(Dog.self).where(\.anything == nil).fetch().map(\.name)) == lost)
        #expect(Set(try db.query(Dog.self).where("tag IS NULL").fetch().map(\.name)) == tagless)
        #expect(try db.query(Dog.self).where(\.owner != nil).count() == 3 - lost.count)
        #expect(try db.query(Dog.self).where(\.friends.count == friends.count).count() == 3)
        #expect(try db.verify().isClean)
        try db.close()
    }

    @Test func propertyThatComesBackLeadsToNoRowThatWent() throws {
        try withTemporaryFile { path in
            try fill(path)
            let db = try Database(at: path, entities: WithoutOwners.all)
            try db.query(WithOwners.Keeper.self).where(\.name == "Ada").delete()
            try db.query(WithOwners.Badge.self).where(\.code == "lux").delete()
            try db.close()
            try check(path, lost: ["rex", "max"], friends: ["Bob", "Bob"], tagless: ["lux"])
            // Nothing is left to be done.
            try check(path, lost: ["rex", "max"], friends: ["Bob", "Bob"], tagless: ["lux"])
        }
    }

    @Test func propertyThatComesBackUnderAnotherNameLeadsToNoRowThatWent() throws {
        try withTemporaryFile { path in
            try fill(path)
            let before = try Database(at: path, entities: WithoutOwners.all)
            try before.query(WithOwners.Keeper.self).where(\.name == "Ada").delete()
            try before.close()
            let db = try Database(at: path, entities: [WithRenamed.Dog.self, WithOwners.Keeper.self])
            let dogs = try db.query(WithRenamed.Dog.self).where(\.master == nil).fetch()
            #expect(Set(dogs.map(\.name)) == ["rex", "max"])
            #expect(try db.query(WithRenamed.Dog.self).where(\.master != nil).count() == 1)
            #expect(try db.verify().danglingReferences.isEmpty)
            try db.close()
        }
    }

    /// A reference that is hidden while its target is dropped and created again leads to no row of the new one.
    @Test func hiddenReferencesGoWithTheirTable() throws {
        try withTemporaryFile { path in
            try fill(path)
            let db = try Database(at: path, entities: WithoutOwners.all)
            try db.close()
            let store = try Store(at: path)
            try store.write { tx in _ = try Catalogue.dropTable("LostKeeper", in: tx) }
            try store.close()
            let keepers = try Database(at: path, entities: [WithOwners.Keeper.self])
            for name in ["Cleo", "Dora"] { try keepers.save(WithOwners.Keeper(name: name)) }
            try keepers.close()
            let last = try Database(at: path, entities: WithOwners.all)
            let dogs = try last.query(WithOwners.Dog.self).fetch()
            #expect(dogs.count == 3 && dogs.allSatisfy { $0.owner == nil && $0.friends.isEmpty })
            #expect(try last.verify().isClean)
            try last.close()
        }
    }

    /// Rows of a recreated table have the numbers of former ones.
    @Test func tableThatIsMadeAnewHasNoReferencesToItsRows() throws {
        try withTemporaryFile { path in
            try fill(path)
            let store = try Store(at: path)
            try store.write { tx in _ = try Catalogue.dropTable("LostKeeper", in: tx) }
            try store.close()
            let db = try Database(at: path, entities: WithOwners.all)
            try db.save(WithOwners.Keeper(name: "Cleo"))
            #expect(try db.query(WithOwners.Dog.self).fetch().allSatisfy { $0.owner == nil && $0.friends.isEmpty })
            try db.close()
            try check(path, lost: ["rex", "lux", "max"], friends: [], tagless: [])
        }
    }
}
