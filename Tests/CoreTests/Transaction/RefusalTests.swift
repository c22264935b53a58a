import MakoCore
import MakoStorage
import MakoTestSupport
import RandomRuns
import Testing

/// Calls that fail or are rolled back must leave nothing behind.
@Suite struct RefusalTests {
    private func database() throws -> Database {
        try Database.inMemory(entities: [Club.self, Member.self, Badge.self])
    }

    @Test func aRefusedSaveRollsBackTheObjectsItSavedBefore() throws {
        let db = try database()
        try db.save(Member(name: "Ada", age: 36, number: 1))
        let bob = Member(name: "Bob", age: 20, number: 1)
        let club = Club(name: "Chess")
        bob.club = club
        try db.transaction { _ in
            try db.save(Member(name: "Eve", age: 30, number: 2))
            #expect(throws: MakoError.self) { try db.save(bob) }
            #expect(try db.query(Club.self).count() == 0)
            #expect(club.id == nil && bob.id == nil)
        }
        #expect(try db.query(Club.self).count() == 0)
        #expect(try db.query(Member.self).fetch().map(\.name) == ["Ada", "Eve"])
        bob.number = nil
        try db.save(bob)
        #expect(try db.query(Club.self).fetch().map(\.name) == ["Chess"])
    }

    @Test func aRefusedRemovalRollsBackWhatItRemovedBefore() throws {
        let db = try database()
        let club = Club(name: "Chess")
        let members = (0..<3).map { Member(name: "\($0)", age: $0, number: nil) }
        for member in members { member.club = club }
        try db.save(members)
        let badge = Badge(code: "b", note: "")
        badge.holder = members[2]
        try db.save(badge)
        let events = Notified()
        let token = try Member.onChange(in: db) { _ in events.note() }
        try db.transaction { _ in
            #expect(throws: MakoError.self) { try db.delete(club) }
            #expect(try club.members.count == 3)
            try db.save(Club(name: "Go"))
        }
        #expect(try db.query(Member.self).count() == 3)
        #expect(try db.query(Club.self).count() == 2)
        #expect(events.count == 0)
        token.cancel()
    }

    @Test func anObjectWhoseRemovalIsRolledBackIsAsCleanAsBefore() throws {
        let db = try database()
        let ada = Member(name: "Ada", age: 36, number: nil)
        try db.save(ada)
        #expect(throws: Refused.self) {
            try db.transaction { _ in
                try db.delete(ada)
                #expect(ada.isDirty)
                throw Refused()
            }
        }
        #expect(!ada.isDirty)
        // Else the next save would write over what others have changed meanwhile.
        let other = try #require(try db.find(Member.self, ada.id ?? 0))
        other.age = 37
        try db.save(other)
        ada.name = "Countess"
        try db.save(ada)
        #expect(try db.find(Member.self, ada.id ?? 0)?.age == 37)
    }

    @Test func aReferenceToARemovedObjectIsStoredAsNone() throws {
        let db = try database()
        let ada = Member(name: "Ada", age: 36, number: nil)
        let bob = Member(name: "Bob", age: 20, number: nil)
        ada.mentor = bob
        #expect(throws: Refused.self) {
            try db.transaction { _ in
                try db.save(ada)
                throw Refused()
            }
        }
        // Bob had a number that was rolled back: no row may refer to it.
        try db.save(bob)
        try db.delete(bob)
        try db.save(ada)
        #expect(try db.query(Member.self).where("mentor IS NULL").count() == 1)
    }

    @Test func anObjectWithAnotherKeyIsNotNotifiedForTheOldOne() throws {
        let db = try database()
        let codes = Notified()
        let token = try Badge.onChange(in: db) { codes.note($0.object?.code ?? "none") }
        try db.transaction { _ in
            let badge = Badge(code: "a", note: "")
            try db.save(badge)
            badge.code = "b"
            try db.save(badge)
        }
        #expect(codes.all == ["a", "b"])
        token.cancel()
    }

    @Test func aChangedKeyStoresTheWholeObjectThoughWhatItRefersToIsSavedFirst() throws {
        let db = try database()
        let badge = Badge(code: "a", note: "of a")
        try db.save(badge)
        try db.save(Badge(code: "b", note: "of b"))
        badge.code = "b"
        badge.holder = Member(name: "Ada", age: 36, number: nil)
        try db.save(badge)
        #expect(try db.find(Badge.self, "b")?.note == "of a")
        #expect(try db.find(Badge.self, "b")?.holder?.name == "Ada")
    }

    @Test func anObjectKeepsItsRowWhenTheSaveUnderAChangedKeyIsRefused() throws {
        let db = try database()
        try db.save(Member(name: "Ada", age: 36, number: 1))
        let badge = Badge(code: "a", note: "")
        try db.save(badge)
        badge.code = "b"
        badge.holder = Member(name: "Eve", age: 30, number: 1)
        try db.transaction { _ in
            #expect(throws: MakoError.self) { try db.save(badge) }
        }
        #expect(try db.delete(badge))
        #expect(try db.query(Badge.self).count() == 0)
    }

    @Test func aRefreshInATransactionThatIsRolledBackIsUndone() throws {
        let db = try database()
        let ada = Member(name: "Ada", age: 36, number: nil)
        try db.save(ada)
        ada.name = "Countess"
        #expect(throws: Refused.self) {
            try db.transaction { _ in
                let other = try #require(try db.find(Member.self, ada.id ?? 0))
                other.age = 37
                try db.save(other)
                ada.number = 7
                try db.refresh(ada)
                #expect(ada.name == "Ada" && ada.age == 37 && ada.number == nil && !ada.isDirty)
                ada.age = 38
                throw Refused()
            }
        }
        // As before: the uncommitted age is reverted, the name is still unsaved.
        #expect(ada.name == "Countess" && ada.age == 36 && ada.number == nil && ada.isDirty)
        try db.save(ada)
        #expect(try db.query(Member.self).fetch().map { "\($0.name) \($0.age)" } == ["Countess 36"])
    }

    struct Refused: Error {}

    /// Words that handlers leave.
    private final class Notified: @unchecked Sendable {
        private let lock = Lock()
        private var words: [String] = []
        func note(_ word: String = "") { lock.withLock { words.append(word) } }
        var all: [String] { lock.withLock { words } }
        var count: Int { all.count }
    }
}
