import Foundation
import Mako
import TestHelpers
import Testing

@Entity final class Client {
    #Index<Client>([\.city])
    var name = ""
    var city: String?
    var notes = "none"
    var friend: Client?
}

@Entity("Client", partial: true) final class ClientName {
    var name = ""
    var city: String?
}

@Entity("Client", partial: true) struct ClientCity {
    var city: String?
}

@Entity("Client", partial: true) final class ClientOfAnotherType {
    var name = 0
}

@Entity("Client", partial: true) final class ClientWithMore {
    var name = ""
    var shoeSize: Int?
}

@Entity("Nobody", partial: true) final class PartOfNothing {
    var name = ""
}

@Entity("things") final class BuyersThing {
    #Index<BuyersThing>([\.price])
    var name = ""
    var price = 0.0
}

@Entity("things") final class SellersThing {
    #Unique<SellersThing>([\.shelf])
    var name = ""
    var shelf: String?
    var count = 1
}

@Entity("things") final class OthersThing {
    var name = 0
}

private enum Stalls {
    @Entity("stalls") final class Old {
        var label = ""
        var keeper: Client?
    }
    @Entity("stalls") final class Plain {
        var name = ""
        var keepers: [Client] = []
    }
    @Entity("stalls") final class Renamed {
        @Attribute(.originalName("label")) var name = ""
        @Attribute(.originalName("keeper")) var keepers: [Client] = []
    }
    @Entity("stalls") final class Other {
        @Attribute(.originalName("title")) var name = ""
    }
}

@Entity("yards") class Yard {
    var name = ""
    var twin: Yard?
}

@Entity("yards") final class WalledYard: Yard {
    var height = 2
}

@Entity("yards") final class YardOnTheMap {
    #Index<YardOnTheMap>([\.label])
    @Attribute(.column("name")) var label = ""
    @Relationship(inverse: \Gate.yard) var gates: ToMany<Gate>
}

@Entity("yards") final class YardWithAShed {
    @Relationship(.owned) var shed: Gate?
}

@Entity("yards") final class YardWithRules {
    @Relationship(inverse: \Gate.yard, deleteRule: .cascade) var gates: ToMany<Gate>
}

@Entity final class Gate {
    var name = ""
    var yard: Yard?
}

@Entity class Login {
    #Index<Login>([\.owner])
    var owner = ""
    var secret = "none"
    var level = 1
    var parent: Login?
}

@Entity(ignoringSuperclass: true) class PublicLogin: Login {
    #Index<PublicLogin>([\.nick])
    var nick = ""
    var karma = 0
    var link: String?
    var mentor: PublicLogin?
}

@Entity final class StarLogin: PublicLogin {
    var stars = 5
    var title: String = ""
}

@Suite struct PartialTests {
    private let db: Database

    init() throws {
        db = try Database.inMemory(entities: [Client.self])
        try db.save([Client(name: "Ada", city: "Rome"), Client(name: "Bob"), Client(name: "Cleo", city: "Bonn")])
    }

    @Test func aPartOfATableIsReadLikeAnEntity() throws {
        let names = try db.query(ClientName.self).where(\.city != nil).orderBy(\.name).fetch()
        #expect(names.map(\.name) == ["Ada", "Cleo"] && names.map(\.city) == ["Rome", "Bonn"])
        #expect(try db.query(ClientName.self).where(\.city == "Bonn").explain().contains("city"))
        #expect(try db.query(ClientCity.self).count() == 3)
        let ada = try #require(names.first)
        #expect(ada.id == (try db.query(Client.self).where(\.name == "Ada").first()?.id))
        #expect(db.migrations.filter { $0.entity == "Client" }.count == 1)
    }

    @Test func nothingIsStoredOrRemovedThroughIt() throws {
        let ada = try #require(try db.query(ClientName.self).orderBy(\.name).first())
        ada.name = "Eve"
        #expect(try db.save(ada) == false)
        #expect(try ada.remove() == false)
        #expect(try db.save(ClientName(name: "new")) == false)
        #expect(throws: MakoError.self) { try db.query(ClientName.self).delete() }
        #expect(throws: MakoError.self) { try db.drop(ClientName.self) }
        let light = try db.query(ClientName.self).fetchLightweight()
        #expect(throws: MakoError.self) { try light[0].remove() }
        #expect(throws: MakoError.self) { try db.update(ClientName.self).set(\.name, to: "x").run() }
        var city = ClientCity(city: "Oslo")
        #expect(throws: MakoError.self) { try db.save(&city) }
        let read = try #require(try db.query(ClientCity.self).first())
        #expect(throws: MakoError.self) { try db.delete(read) }
        #expect(try db.query(Client.self).fetch().map(\.name) == ["Ada", "Bob", "Cleo"])
        try db.refresh(ada)
        #expect(ada.name == "Ada")
    }

    @Test func itFollowsWhatTheWholeTypeStores() throws {
        let bob = try #require(try db.query(Client.self).where(\.name == "Bob").first())
        let part = try #require(try db.query(ClientName.self).where(\.name == "Bob").first())
        bob.city = "Kyiv"
        bob.notes = "moved"
        try db.save(bob)
        try db.refresh(part)
        #expect(part.city == "Kyiv")
        try db.delete(bob)
        #expect(throws: MakoError.self) { try db.refresh(part) }
    }

    @Test func whatTheTableDoesNotHaveIsRefused() throws {
        #expect {
            try db.query(ClientOfAnotherType.self).count()
        } throws: { "\($0)".contains("name is not of the type") }
        #expect { try db.query(ClientWithMore.self).count() } throws: { "\($0)".contains("has no shoeSize") }
        #expect { try db.query(PartOfNothing.self).count() } throws: { "\($0)".contains("no table Nobody yet") }
        #expect(try db.query(ClientName.self).count() == 3)
    }

    @Test func aFileIsReadThroughPartsAlone() throws {
        try withTemporaryFile { path in
            let written = try Database(at: path, entities: [Client.self])
            try written.save(Client(name: "Ada", notes: "kept"))
            try written.close()
            let parts = try Database(at: path, entities: [ClientName.self])
            #expect(try parts.query(ClientName.self).first()?.name == "Ada")
            #expect(parts.migrations.isEmpty)
            try parts.close()
            let whole = try Database(at: path, entities: [Client.self])
            #expect(try whole.query(Client.self).first()?.notes == "kept")
            #expect(whole.migrations.isEmpty)
            try whole.close()
        }
    }
}

@Suite struct SharedTableTests {
    @Test func severalTypesShareATable() throws {
        let db = try Database.inMemory(entities: [BuyersThing.self, SellersThing.self])
        try db.save(BuyersThing(name: "lamp", price: 9.5))
        try db.save(SellersThing(name: "desk", shelf: "A1", count: 3))
        #expect(try db.query(SellersThing.self).fetch().map(\.name) == ["lamp", "desk"])
        #expect(try db.query(BuyersThing.self).where(\.price > 1).fetch().map(\.name) == ["lamp"])
        // Each writes its own columns only.
        let lamp = try #require(try db.query(SellersThing.self).where(\.name == "lamp").first())
        #expect(lamp.count == 1 && lamp.shelf == nil)
        lamp.shelf = "B2"
        try db.save(lamp)
        let bought = try #require(try db.query(BuyersThing.self).where(\.name == "lamp").first())
        #expect(bought.price == 9.5)
        bought.price = 8
        try db.save(bought)
        try db.refresh(lamp)
        #expect(lamp.shelf == "B2")
        #expect(throws: MakoError.self) { try db.save(SellersThing(name: "bed", shelf: "B2")) }
        try db.delete(bought)
        #expect(try db.query(SellersThing.self).fetch().map(\.name) == ["desk"])
    }

    @Test func aTypeThatComesLaterAddsItsColumns() throws {
        try withTemporaryFile { path in
            let first = try Database(at: path, entities: [BuyersThing.self])
            try first.save(BuyersThing(name: "lamp", price: 9.5))
            try first.save(SellersThing(name: "desk", shelf: "A1", count: 3))
            #expect(try first.query(BuyersThing.self).where(\.price == 9.5).count() == 1)
            #expect(try first.query(SellersThing.self).where(\.shelf == "A1").count() == 1)
            try first.close()
            // Without one of them its columns wait with their values.
            let alone = try Database(at: path, entities: [BuyersThing.self])
            try alone.save(BuyersThing(name: "rug", price: 2))
            try alone.close()
            let both = try Database(at: path, entities: [SellersThing.self, BuyersThing.self])
            #expect(try both.query(SellersThing.self).orderBy(\.id).fetch().map(\.count) == [1, 3, 1])
            #expect(try both.query(SellersThing.self).where(\.shelf == "A1").first()?.name == "desk")
            #expect(try both.query(BuyersThing.self).where(\.price == 2).count() == 1)
            try both.close()
        }
    }

    @Test func typesThatDisagreeAreRefused() throws {
        let db = try Database.inMemory(entities: [BuyersThing.self])
        try db.save(BuyersThing(name: "lamp"))
        #expect { try db.query(OthersThing.self).count() } throws: { "\($0)".contains("name of another type") }
        #expect(try db.query(BuyersThing.self).fetch().map(\.name) == ["lamp"])
        #expect {
            try Database.inMemory(entities: [SellersThing.self, OthersThing.self])
        } throws: { "\($0)".contains("name of another type") }
    }

    @Test func everyTypeOfASharedTableCanBeReferredTo() throws {
        let db = try Database.inMemory(entities: [Yard.self, WalledYard.self, YardOnTheMap.self, Gate.self])
        let walled = WalledYard(height: 3)
        walled.name = "north"
        let gate = Gate(name: "main", yard: walled)
        try db.save([gate, Gate(name: "lost")])
        #expect(try db.query(Gate.self).where(\.yard == walled).fetch().map(\.name) == ["main"])
        #expect(try db.query(Gate.self).where(\.yard != walled).fetch().map(\.name) == ["lost"])
        let shown = try #require(try db.query(YardOnTheMap.self).first())
        #expect(shown.label == "north" && shown.isSame(as: walled))
        #expect(try shown.gates.load().map(\.name) == ["main"])
        #expect(try db.query(Gate.self).referencing(shown).fetch().map(\.name) == ["main"])
        #expect(try db.query(YardOnTheMap.self).referenced(by: gate).fetch().map(\.label) == ["north"])
        let other = WalledYard()
        try db.save(other)
        try db.update(Gate.self).set(\.yard, to: other).run()
        #expect(try db.query(Gate.self).where(\.yard == other).count() == 2)
    }

    @Test func rowsOfSharedTablesOwnNothingAndHaveNoRules() throws {
        let db = try Database.inMemory(entities: [YardOnTheMap.self, Gate.self])
        #expect {
            try db.query(YardWithAShed.self).count()
        } throws: { "\($0)".contains("its shed cannot own what it refers to") }
        #expect {
            try db.query(YardWithRules.self).count()
        } throws: { "\($0)".contains("its gates cannot have the delete rule cascade") }
        try db.save(YardOnTheMap(label: "south"))
        #expect(try db.query(YardOnTheMap.self).where(\.label == "south").count() == 1)
    }

    @Test func handlersSeeTheNamesOfTheirOwnType() throws {
        let db = try Database.inMemory(entities: [Yard.self, YardOnTheMap.self])
        let (yard, shown) = (Collected<[String]>(), Collected<[String]>())
        let tokens = [
            try Yard.onChange(.update, in: db) { yard.append($0.changedProperties) },
            try YardOnTheMap.onChange(.update, in: db) { shown.append($0.changedProperties) },
        ]
        let made = YardOnTheMap(label: "south")
        try db.save(made)
        made.label = "west"
        try db.save(made)
        #expect(yard.all == [["name"]] && shown.all == [["label"]])
        withExtendedLifetime(tokens) {}
    }

    @Test func droppingGoesForAll() throws {
        let db = try Database.inMemory(entities: [BuyersThing.self, SellersThing.self])
        try db.save(BuyersThing(name: "lamp"))
        try db.drop(SellersThing.self)
        #expect(try db.query(BuyersThing.self).count() == 0)
        try db.save(BuyersThing(name: "rug"))
        #expect(try db.query(SellersThing.self).fetch().map(\.name) == ["rug"])
    }

    /// Either type of a table may say which name a property had, whatever the order of the types.
    @Test func anOriginalNameOfOneTypeIsThatOfTheTable() throws {
        let orders: [[any Entity.Type]] = [
            [Stalls.Plain.self, Stalls.Renamed.self], [Stalls.Renamed.self, Stalls.Plain.self],
        ]
        for types in orders {
            try withTemporaryFile { path in
                let old = try Database(at: path, entities: [Stalls.Old.self, Client.self])
                try old.save(Stalls.Old(label: "fruit", keeper: Client(name: "Ada")))
                try old.close()
                let db = try Database(at: path, entities: types + [Client.self])
                let stall = try #require(try db.query(Stalls.Plain.self).first())
                #expect(stall.name == "fruit" && stall.keepers.map(\.name) == ["Ada"])
                #expect(throws: MakoError.self) { try db.query(Stalls.Other.self).count() }
                try db.close()
            }
        }
    }
}

@Suite struct IgnoredSuperclassTests {
    private let db: Database

    init() throws { db = try Database.inMemory(entities: [Login.self, PublicLogin.self, StarLogin.self]) }

    @Test func theTableHasItsOwnPropertiesOnly() throws {
        let account = PublicLogin(nick: "ada", karma: 3, link: "l")
        account.owner = "Ada"
        account.secret = "s"
        account.level = 9
        try db.save(account)
        #expect(account.owner == "Ada" && account.secret == "s" && account.level == 9)
        let read = try #require(try db.query(PublicLogin.self).first())
        #expect(read.nick == "ada" && read.karma == 3 && read.link == "l" && read.id == account.id)
        #expect(read.owner == "" && read.secret == "none" && read.level == 1 && read.parent == nil)
        #expect(
            db.tables.first { $0.name == "PublicLogin" }?.liveColumns.map(\.name).sorted()
                == ["karma", "link", "mentor", "nick"])
        #expect(read.asDictionary["owner"] == nil && read.asDictionary["nick"] == .text("ada"))
        #expect(throws: MakoError.self) { try db.query(PublicLogin.self).where("owner = 'Ada'").count() }
        #expect(throws: MakoError.self) { try db.query(PublicLogin.self).where(\.owner == "Ada").count() }
    }

    @Test func changesOfBothKindsAreKeptApart() throws {
        let account = PublicLogin(nick: "ada")
        try db.save(account)
        // Assigning a property that is not stored must neither write nor change the stored ones.
        account.secret = "x"
        account.parent = Login(owner: "boss")
        try db.save(account)
        #expect(try db.query(Login.self).count() == 0)
        #expect(throws: (any Error).self) {
            try db.transaction { tx in
                account.secret = "y"
                account.nick = "eve"
                account.owner = "o"
                account.karma = 7
                try tx.rollback()
            }
        }
        #expect(account.secret == "x" && account.nick == "ada" && account.owner == "" && account.karma == 0)
        account.mentor = PublicLogin(nick: "mentor")
        try db.save(account)
        let read = try #require(try db.query(PublicLogin.self).where(\.nick == "ada").first())
        #expect(read.mentor?.nick == "mentor")
        let twin = read.clone()
        try db.save(twin)
        #expect(try db.query(PublicLogin.self).count() == 3)
    }

    @Test func subclassesOfItHaveItsProperties() throws {
        let star = StarLogin(stars: 3, title: "Dame")
        star.nick = "ada"
        star.secret = "s"
        star.link = "l"
        try db.save(star)
        let read = try #require(try db.query(StarLogin.self).where(\.nick == "ada").first())
        #expect(read.stars == 3 && read.title == "Dame" && read.link == "l" && read.secret == "none")
        try db.refresh(read)
        #expect(read.title == "Dame" && read.nick == "ada")
        #expect(
            db.tables.first { $0.name == "StarLogin" }?.liveColumns.map(\.name).sorted()
                == ["karma", "link", "mentor", "nick", "stars", "title"])
        #expect(try db.query(StarLogin.self).where(\.nick == "ada").explain().contains("nick"))
    }
}
