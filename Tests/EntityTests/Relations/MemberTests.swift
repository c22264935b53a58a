import Foundation
import Mako
import TestHelpers
import Testing

@Entity final class Handler {
    var name = ""
    @Relationship(inverse: \Collie.owner) var collies: ToMany<Collie>
    @Relationship(inverse: \Collie.walkers) var walks: ToMany<Collie>
}

@Entity final class Collie {
    var name = ""
    var age = 0
    var owner: Handler?
    var walkers: [Handler] = []

    func willInsert() -> Bool { age >= 0 }
}

@Entity struct Leash: Codable {
    var length: Int
}

@Suite struct MemberTests {
    private let db: Database

    init() throws { db = try Database.inMemory(entities: [Handler.self, Collie.self, Leash.self]) }

    private func names(_ handler: Handler) throws -> [String] { try handler.collies.load().map(\.name).sorted() }

    private func within<R>(_ body: () throws -> R) throws -> R { try Database.withDefault(db) { try body() } }

    @Test func savingTheOwnerStoresItsMembers() throws {
        try within {
            let jo = Handler(name: "Jo")
            let rex = Collie(name: "Rex")
            rex.owner = jo
            try jo.commit()
            #expect(try names(jo) == ["Rex"] && rex.id != nil)
            _ = Collie(name: "Ace", owner: jo)
            try jo.commit()
            #expect(try names(jo) == ["Ace", "Rex"])
            // A stored collie that moves is stored by its new owner.
            let ann = Handler(name: "Ann")
            rex.owner = ann
            try jo.commit()
            #expect(try names(jo) == ["Ace", "Rex"])
            try ann.commit()
            #expect(try names(jo) == ["Ace"] && names(ann) == ["Rex"])
            // Only the last owner stores a new one.
            let bo = Collie(name: "Bo", owner: jo)
            bo.owner = ann
            try jo.commit()
            #expect(bo.id == nil)
            try ann.commit()
            #expect(bo.id != nil)
        }
    }

    @Test func membersAreStoredWithManyOwners() throws {
        let handlers = (0..<40).map { Handler(name: "\($0)") }
        for (place, handler) in handlers.enumerated() where place % 3 == 0 {
            _ = Collie(name: "\(place)", owner: handler)
        }
        try db.save(handlers)
        #expect(try db.query(Collie.self).count() == 14)
        for handler in handlers { _ = Collie(name: "second", owner: handler) }
        try db.save(handlers)
        #expect(try db.query(Collie.self).count() == 54)
        try db.save(handlers)
        #expect(try db.query(Collie.self).count() == 54)
    }

    @Test func aMemberThatIsSavedItselfIsNotSavedAgain() throws {
        let jo = Handler(name: "Jo")
        let rex = Collie(name: "Rex", owner: jo)
        try db.save(rex)
        rex.name = "renamed"
        try db.save(jo)
        #expect(try names(jo) == ["Rex"])
    }

    @Test func aMemberIsReleasedOnceItIsStored() throws {
        let jo = Handler(name: "Jo")
        weak var released: Collie?
        do {
            let rex = Collie(name: "Rex", owner: jo)
            released = rex
        }
        #expect(released != nil)
        try db.save(jo)
        #expect(released == nil)
        #expect(try names(jo) == ["Rex"])
    }

    @Test func aRollbackKeepsTheMembersForTheNextSave() throws {
        let jo = Handler(name: "Jo")
        let rex = Collie(name: "Rex", owner: jo)
        #expect(throws: Refused.self) {
            try db.transaction { transaction in
                try transaction.save(jo)
                #expect(try db.query(Collie.self).count() == 1)
                throw Refused()
            }
        }
        #expect(try db.query(Collie.self).count() == 0 && rex.id == nil)
        try db.save(jo)
        #expect(try names(jo) == ["Rex"])
        let ace = Collie(name: "Ace", owner: jo)
        #expect(throws: Refused.self) {
            try db.transaction { transaction in
                try transaction.save(ace)
                throw Refused()
            }
        }
        try db.save(jo)
        #expect(try names(jo) == ["Ace", "Rex"])
    }

    @Test func aRefusedMemberRefusesTheOwner() throws {
        let jo = Handler(name: "Jo")
        let bad = Collie(name: "bad", age: -1, owner: jo)
        #expect(throws: MakoError.vetoed(entity: "Collie", hook: "willInsert")) { try db.save(jo) }
        #expect(try db.query(Handler.self).count() == 0)
        bad.age = 1
        try db.save(jo)
        #expect(try names(jo) == ["bad"])
    }

    @Test func membersAreAppendedAndRemoved() throws {
        let jo = Handler(name: "Jo")
        try jo.collies.append(Collie(name: "Rex"))
        try jo.collies.append(Collie(name: "Ace"))
        try db.save(jo)
        #expect(try jo.collies.count == 2)
        var seen: [String] = []
        for collie in try jo.collies.load() { seen.append(collie.name) }
        #expect(seen == ["Rex", "Ace"])

        let rex = try #require(try jo.collies.load().first)
        #expect(try jo.collies.remove(rex))
        #expect(rex.owner == nil)
        #expect(try !jo.collies.remove(rex))
        try db.save(jo)
        #expect(try names(jo) == ["Ace"])
        #expect(try db.query(Collie.self).count() == 2)
    }

    @Test func membersOfAListAreAppendedAndRemoved() throws {
        let (jo, ann) = (Handler(name: "Jo"), Handler(name: "Ann"))
        let rex = Collie(name: "Rex")
        try jo.walks.append(rex)
        try ann.walks.append(rex)
        try ann.walks.append(rex)
        try db.save([jo, ann])
        #expect(rex.walkers.map(\.name) == ["Jo", "Ann"])
        #expect(try jo.walks.count == 1 && ann.walks.count == 1)
        try jo.walks.remove(rex)
        try db.save(jo)
        #expect(try jo.walks.load().isEmpty && ann.walks.count == 1)
    }

    @Test func anUnreadableMemberThrowsInLoad() throws {
        try withTemporaryFile { path in
            let file = try Database(at: path, entities: [Handler.self, Collie.self])
            let jo = Handler(name: "Jo")
            try jo.collies.append(Collie(name: "Rex"))
            try file.save(jo)
            try file.close()
            #expect(throws: MakoError.closed(path: path)) { try jo.collies.load() }
        }
    }

    @Test func resultsAreEncodedAndConverted() throws {
        try db.save([Collie(name: "Rex", age: 3), Collie(name: "Ace", age: 3), Collie(name: "Bo", age: 1)])
        let array: [Collie] = try db.query(Collie.self).orderBy(\.age, \.name).fetch()
        #expect(array.map(\.name) == ["Bo", "Ace", "Rex"])
        let results = try db.query(Collie.self).orderBy(\.name).limit(2, offset: 1).fetch()
        #expect(Array(results).map(\.name) == ["Bo", "Rex"] && results[1].name == "Rex")
        try db.save([Leash(length: 2), Leash(length: 5)])
        let coded = try JSONEncoder().encode(try db.query(Leash.self).where(\.length > 2).fetch())
        #expect(try JSONDecoder().decode([Leash].self, from: coded).map(\.length) == [5])
    }
}
