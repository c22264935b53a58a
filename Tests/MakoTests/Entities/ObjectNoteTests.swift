import Foundation
import Mako
import TestHelpers
import Testing

/// Dirty flags and other metadata have limited space in an object. What does not fit is stored elsewhere, without a
/// visible difference.
@Suite struct ObjectNoteTests {
    @Test func propertiesBehindTheFirstDozenAreStored() throws {
        let db = try makeDatabase([Everything.self])
        try db.save(Everything())
        let read = try #require(try db.find(Everything.self, 1))
        #expect(!read.isDirty)
        read.order = 7
        #expect(read.isDirty)
        read.group = "last"
        read.flag = true
        try db.save(read)
        #expect(!read.isDirty)
        let again = try #require(try db.find(Everything.self, 1))
        #expect(again.order == 7 && again.group == "last" && again.flag)

        // Properties that were not assigned keep the values that others store.
        again.order = 8
        read.group = "other"
        try db.save(read)
        try db.save(again)
        let last = try #require(try db.find(Everything.self, 1))
        #expect(last.order == 8 && last.group == "other")
    }

    @Test func propertiesBehindTheFirstDozenAreRolledBack() throws {
        let db = try makeDatabase([Everything.self])
        try db.save(Everything())
        let read = try #require(try db.find(Everything.self, 1))
        read.order = 7
        #expect(throws: Refused()) {
            try db.transaction { _ in
                read.group = "lost"
                try db.save(read)
                read.tags = ["lost"]
                throw Refused()
            }
        }
        #expect(read.order == 7 && read.group == "g" && read.tags.isEmpty && read.isDirty)
        let twin = read.copy()
        try db.save(read)
        #expect(!read.isDirty && twin.isDirty)
        #expect(try db.find(Everything.self, 1)?.order == 7)
    }

    @Test func objectsThatWereSavedTogetherAreRolledBack() throws {
        let db = try makeDatabase([Badge.self])
        try db.save((0..<60).map { Badge(code: "\($0)", holder: "Ada", level: $0) })
        let badges = Array(try db.query(Badge.self).orderBy("id").fetch())
        for (place, badge) in badges.enumerated() where place % 10 != 9 {
            badge.level += 1
            if place % 3 == 0 { badge.holder = "Bob" }
        }
        #expect(throws: Refused()) {
            try db.transaction { _ in
                try db.save(badges + [Badge(code: "new")])
                #expect(badges.allSatisfy { !$0.isDirty })
                throw Refused()
            }
        }
        #expect(badges.map(\.isDirty) == (0..<60).map { $0 % 10 != 9 })
        #expect(badges.map(\.level) == (0..<60).map { $0 % 10 != 9 ? $0 + 1 : $0 })
        try db.save(badges)
        let stored = try db.query(Badge.self).orderBy("id").fetch()
        #expect(stored.map(\.level) == badges.map(\.level))
        #expect(stored.map(\.holder) == badges.map(\.holder))
    }

    @Test func notesOfAnUnreadObjectLeaveItsTexts() throws {
        let db = try makeDatabase([Label.self])
        try db.save(Person(name: "Ada", email: "ada", department: Department(name: "Engines")))
        let ada = try #require(try db.query(Person.self).fetch().first)
        ada.commitOptions.raisesEvents = false
        #expect(ada.department?.name == "Engines")
        ada.age = 37
        #expect(throws: Refused()) {
            try db.transaction { _ in
                try db.save(ada)
                throw Refused()
            }
        }
        #expect(ada.email == "ada" && ada.name == "Ada" && ada.age == 37 && ada.isDirty)
        #expect(!ada.commitOptions.raisesEvents)
        #expect(ada.department?.name == "Engines")
    }

    @Test func notesOfAnUnreadObjectWithATextKeyLeaveItsTexts() throws {
        let db = try makeDatabase([Label.self])
        try db.save((0..<20).map { Label(text: "label \($0)", note: "note \($0)", uses: 1) })
        for label in try db.query(Label.self).fetch() + [try #require(try db.find(Label.self, "label 7"))] {
            label.commitOptions.reportsErrors = false
            label.uses += 1
            let twin = label.copy()
            #expect(throws: Refused()) {
                try db.transaction { _ in
                    try db.save(label)
                    throw Refused()
                }
            }
            label.commitOptions = CommitOptions()
            #expect(label.isDirty && label.note == twin.note && label.text == twin.text)
            #expect(label.note == label.text.replacing("label", with: "note"))
            try db.save(label)
            #expect(try db.find(Label.self, label.text)?.uses == label.uses)
        }
    }
}
