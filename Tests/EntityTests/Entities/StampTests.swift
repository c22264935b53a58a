import Foundation
import Mako
import Testing

@Entity(stamps: true) class Memo {
    #Index<Memo>([\.updatedAt])
    var text = ""
    var pinned = false
}

@Entity final class Reminder: Memo {
    var due: Date?
}

@Entity(stamps: true) final class PlainMemo {
    var text = ""
}

@Entity(stamps: true) public struct Gauge {
    public var value: Double = 0
}

@Suite struct StampTests {
    private let db: Database

    init() throws { db = try Database.inMemory(entities: [Memo.self, Reminder.self, PlainMemo.self, Gauge.self]) }

    @Test func savesFillInWhenAnObjectWasMadeAndLastStored() throws {
        let note = Memo(text: "first")
        #expect(note.createdAt == nil && note.updatedAt == nil)
        let before = Date()
        try db.save(note)
        let created = try #require(note.createdAt)
        #expect(created >= before && created <= Date() && note.updatedAt == created)

        Thread.sleep(forTimeInterval: 0.002)
        note.text = "second"
        try db.save(note)
        let updated = try #require(note.updatedAt)
        #expect(updated > created && note.createdAt == created)
        let read = try #require(try db.query(Memo.self).first())
        #expect(read.createdAt == created && read.updatedAt == updated && read.text == "second")
    }

    @Test func whatIsNotWrittenIsNotStamped() throws {
        let note = Memo(text: "x")
        try db.save(note)
        let stamp = note.updatedAt
        Thread.sleep(forTimeInterval: 0.002)
        try db.save(note)
        #expect(note.updatedAt == stamp && !note.isDirty)
        #expect(try db.query(Memo.self).first()?.updatedAt == stamp)
    }

    @Test func aTransactionHasOneMoment() throws {
        let notes = (0..<40).map { PlainMemo(text: "\($0)") }
        try db.transaction { _ in
            try db.save(Array(notes[..<20]))
            Thread.sleep(forTimeInterval: 0.002)
            for note in notes[20...] { try db.save(note) }
        }
        #expect(Set(notes.map(\.createdAt)).count == 1)
        #expect(Set(try db.query(PlainMemo.self).fetch().map(\.updatedAt)).count == 1)
    }

    @Test func aRollbackTakesStampsBack() throws {
        let note = Memo(text: "x")
        try db.save(note)
        let stamp = note.updatedAt
        Thread.sleep(forTimeInterval: 0.002)
        let other = PlainMemo(text: "y")
        #expect(throws: (any Error).self) {
            try db.transaction { tx in
                note.text = "z"
                try db.save(note)
                try db.save(other)
                try tx.rollback()
            }
        }
        #expect(note.updatedAt == stamp && note.text == "x" && other.createdAt == nil)
    }

    @Test func subclassesAndStructsHaveThem() throws {
        let reminder = Reminder(due: Date(timeIntervalSinceReferenceDate: 5))
        try db.save(reminder)
        #expect(reminder.createdAt != nil)
        #expect(try db.query(Reminder.self).first()?.createdAt == reminder.createdAt)

        var reading = Gauge(value: 1)
        try db.save(&reading)
        let created = try #require(reading.createdAt)
        Thread.sleep(forTimeInterval: 0.002)
        var read = try #require(try db.query(Gauge.self).first())
        read.value = 2
        try db.save(&read)
        let after = try #require(try db.query(Gauge.self).first())
        #expect(after.createdAt == created && after.updatedAt.map { $0 > created } == true && after.value == 2)
    }

    @Test func conditionsAndOrderUseThem() throws {
        for text in ["a", "b", "c"] {
            try db.save(Memo(text: text))
            Thread.sleep(forTimeInterval: 0.002)
        }
        let first = try #require(try db.query(Memo.self).where(\.text == "a").first())
        first.pinned = true
        try db.save(first)
        let newest = try db.query(Memo.self).orderBy(\.updatedAt, .descending).fetch().map(\.text)
        #expect(newest == ["a", "c", "b"])
        let since = try #require(first.createdAt)
        #expect(try db.query(Memo.self).where(\.createdAt > since).count() == 2)
        #expect(try db.query(Memo.self).where("updatedAt = createdAt").count() == 2)
    }

    @Test func anUpdateByQueryStampsItsRows() throws {
        for text in ["a", "b"] { try db.save(Memo(text: text)) }
        Thread.sleep(forTimeInterval: 0.002)
        #expect(try db.update(Memo.self).set(\.pinned, to: true).where(\.text == "a").run() == 1)
        #expect(try db.query(Memo.self).where("updatedAt > createdAt").fetch().map(\.text) == ["a"])
    }

    @Test func aCloneIsStampedAnew() throws {
        let note = Memo(text: "x")
        try db.save(note)
        Thread.sleep(forTimeInterval: 0.002)
        let twin = note.clone()
        try db.save(twin)
        let (old, new) = (try #require(note.createdAt), try #require(twin.createdAt))
        #expect(new > old)
    }
}
