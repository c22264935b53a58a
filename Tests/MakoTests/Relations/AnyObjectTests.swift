import Foundation
import Mako
import TestHelpers
import Testing

enum Anything {
    @Entity("Memo") final class Memo {
        var text = ""
        var subject: (any ObjectEntity)?
    }

    @Entity("Folder") final class Folder {
        var name = ""
    }

    @Entity("Account") final class Account {
        @Attribute(.primaryKey) var email = ""
        var name: String?
    }

    @Entity("Seat") final class Seat {
        @Attribute(.primaryKey) var row = 0
        @Attribute(.primaryKey) var letter = ""
    }

    static let all: [any Entity.Type] = [Memo.self, Folder.self, Account.self, Seat.self]
}

/// The next generation: folders have become drawers, accounts are merged into people.
enum AnythingLater {
    @Entity("Memo") final class Memo {
        var text = ""
        var subject: (any ObjectEntity)?
    }

    @Entity("a:%drawer") final class Drawer {
        var name = ""
    }

    @Entity("Human") final class Human {
        @Attribute(.primaryKey) var email = ""
        var name: String?
    }

    static let all: [any Entity.Type] = [Memo.self, Drawer.self, Human.self]
}

extension AnythingLater.Drawer: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.renameTable(from: "Folder")
            m.version = 1
        }
    }
}

extension AnythingLater.Human: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.merge(from: "Account")
            m.version = 1
        }
    }
}

/// References to objects of any entity.
@Suite struct AnyObjectTests {
    private typealias Memo = Anything.Memo
    private typealias Folder = Anything.Folder
    private typealias Account = Anything.Account
    private typealias Seat = Anything.Seat

    private func memos(_ db: Database, about subjects: [(any ObjectEntity)?]) throws -> [Memo] {
        let memos = subjects.enumerated().map { Memo(text: "\($0)", subject: $1) }
        try db.save(memos)
        return memos
    }

    private func stored(_ db: Database) throws -> [Memo] { try Array(db.query(Memo.self).orderBy(\.text).fetch()) }

    @Test func aReferenceLeadsToAnObjectOfAnyEntity() throws {
        let db = try makeDatabase(Anything.all)
        let subjects: [(any ObjectEntity)?] = [
            Folder(name: "taxes"), Account(email: "it's:a@b.c", name: "Ada"), Seat(row: 7, letter: "c"), nil,
            Memo(text: "another"),
        ]
        _ = try memos(db, about: subjects)
        let found = try stored(db)
        #expect((found[0].subject as? Folder)?.name == "taxes")
        #expect((found[1].subject as? Account)?.name == "Ada")
        #expect((found[2].subject as? Seat)?.letter == "c")
        #expect(found[3].subject == nil)
        #expect((found[4].subject as? Memo)?.text == "another")
        // The objects were committed along, each once, and each is one object.
        #expect(try db.query(Folder.self).count() == 1)
        #expect(found[0].subject === found[0].subject)
    }

    @Test func itIsGivenAnotherOrTakenAway() throws {
        let db = try makeDatabase(Anything.all)
        let folder = Folder(name: "taxes")
        let memo = try memos(db, about: [folder])[0]
        memo.subject = Account(email: "a@b.c")
        try db.save(memo)
        #expect((try stored(db)[0].subject as? Account)?.email == "a@b.c")
        memo.subject = nil
        try db.save(memo)
        #expect(try stored(db)[0].subject == nil)
        #expect(try db.query(Memo.self).where("subject IS NULL").count() == 1)
    }

    @Test func aRemovedObjectIsNil() throws {
        let db = try makeDatabase(Anything.all)
        let seat = Seat(row: 7, letter: "c")
        _ = try memos(db, about: [seat, Folder(name: "taxes")])
        let found = try stored(db)
        try db.delete(seat)
        #expect(found[0].subject == nil)
        #expect(found[0].loadError == nil)
        #expect(try stored(db).map { $0.subject == nil } == [true, false])
        #expect(try db.query(Memo.self).where("subject IS NULL").count() == 1)
    }

    @Test func referrersOfAnObjectAreFound() throws {
        let db = try makeDatabase(Anything.all)
        let (taxes, letters) = (Folder(name: "taxes"), Folder(name: "letters"))
        let account = Account(email: "a@b.c")
        _ = try memos(db, about: [taxes, account, nil, taxes, letters])
        #expect(try taxes.referencedCount() == 2)
        #expect(try account.referencing(Memo.self).map(\.text) == ["1"])
        #expect(try db.query(Memo.self).referencing(taxes).orderBy(\.text).fetch().map(\.text) == ["0", "3"])
        #expect(try db.query(Memo.self).referencing(.null).fetch().map(\.text) == ["2"])
        #expect(try db.query(Memo.self).where(\.subject == account).fetch().map(\.text) == ["1"])
        #expect(try db.query(Memo.self).where(\.subject == nil).fetch().map(\.text) == ["2"])
        #expect(
            try db.query(Memo.self).where(\.subject != taxes).orderBy(\.text).fetch().map(\.text) == ["1", "2", "4"])
        #expect(try db.query(Memo.self).where(\.subject == Folder(name: "new")).count() == 0)
        let memo = try #require(try stored(db).first)
        #expect(try db.query(Folder.self).referenced(by: memo).fetch().map(\.name) == ["taxes"])
        #expect(try db.query(Account.self).referenced(by: memo).count() == 0)
        #expect(try db.query(Account.self).referenced(by: .null).count() == 0)
        // An index answers it.
        #expect(try db.query(Memo.self).where(\.subject == taxes).explain().description.contains("subject"))
    }

    @Test func anUpdateSetsIt() throws {
        let db = try makeDatabase(Anything.all)
        let folder = Folder(name: "taxes")
        _ = try memos(db, about: [folder, nil, nil])
        #expect(try db.update(Memo.self).set(\.subject, to: folder).where(\.subject == nil).run() == 2)
        #expect(try folder.referencedCount() == 3)
        #expect(throws: MakoError.self) {
            try db.update(Memo.self).set(\.subject, to: Folder(name: "new")).run()
        }
        #expect(try db.update(Memo.self).set(\.subject, to: nil).run() == 3)
        #expect(try folder.referencedCount() == 0)
        try db.rawQuery("DELETE FROM Folder")
        let error = #expect(throws: MakoError.self) { try db.update(Memo.self).set(\.subject, to: folder).run() }
        if case .danglingReference("Memo", "subject", _, _)? = error {
        } else {
            Issue.record("\(String(describing: error))")
        }
    }

    @Test func aRollbackRestoresIt() throws {
        struct Stop: Error {}
        let db = try makeDatabase(Anything.all)
        let folder = Folder(name: "taxes")
        let memo = try memos(db, about: [folder])[0]
        let account = Account(email: "a@b.c")
        #expect(throws: Stop.self) {
            try db.transaction { _ in
                memo.subject = account
                try db.save(memo)
                throw Stop()
            }
        }
        #expect(memo.subject === folder)
        #expect(try db.query(Account.self).count() == 0)
        memo.subject = account
        try db.save(memo)
        #expect(try account.referencedCount() == 1)
    }

    /// A reference to a class that is not in use is neither lost nor read as nil.
    @Test func aClassThatIsNotInUseIsSaid() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: Anything.all)
            _ = try memos(db, about: [Folder(name: "taxes")])
            try db.close()
            db = try Database(at: path, entities: [Memo.self])
            let memo = try #require(try stored(db).first)
            #expect(memo.subject == nil)
            #expect(memo.loadError?.description.contains("Folder") == true)
            #expect(throws: MakoError.self) { try memo.load(\.subject) }
            memo.text = "changed"
            try db.save(memo)
            _ = try db.query(Folder.self).count()
            #expect((try memo.load(\.subject) as? Folder)?.name == "taxes")
            try db.close()
        }
    }

    @Test func itFollowsTablesThatAreRenamedOrMerged() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: Anything.all)
            _ = try memos(db, about: [Folder(name: "taxes"), Account(email: "a@b.c", name: "Ada"), nil])
            try db.close()
            db = try Database(at: path, entities: AnythingLater.all)
            let found = try db.query(AnythingLater.Memo.self).orderBy(\.text).fetch()
            let drawer = try #require(found[0].subject as? AnythingLater.Drawer)
            #expect(drawer.name == "taxes")
            #expect((found[1].subject as? AnythingLater.Human)?.name == "Ada")
            #expect(try drawer.referencing(AnythingLater.Memo.self).map(\.text) == ["0"])
            try db.close()
        }
    }

    @Test func dictionariesHoldItAsText() throws {
        let db = try makeDatabase(Anything.all)
        let folder = Folder(name: "taxes")
        let memo = try memos(db, about: [folder])[0]
        let values = memo.asDictionary
        let copy = try Memo(values.filter { $0.key != "id" })
        try db.save(copy)
        #expect(copy.subject === folder || (copy.subject as? Folder)?.id == folder.id)
        #expect(try folder.referencedCount() == 2)
        let other = try Memo(["text": "b", "subject": folder])
        #expect(other.subject === folder)
        #expect(throws: MakoError.self) { try Memo(["subject": "no reference"]) }
    }

    @Test func changesAreReportedUnderItsName() throws {
        let db = try makeDatabase(Anything.all)
        let folder = Folder(name: "taxes")
        let memo = try memos(db, about: [folder])[0]
        let notified = Collected<[String]>()
        let token = try memo.onChange { change in notified.append(change.changedProperties.sorted()) }
        memo.subject = nil
        try db.save(memo)
        #expect(notified.all == [["subject"]])
        token.cancel()
    }
}
