import Mako
import Observation
import TestHelpers
import Testing

/// What `@Entity` generates for more than 64 properties.
@Suite struct WidePropertyTests {
    private static let numbers: [ReferenceWritableKeyPath<WideClass, Int> & Sendable] = [
        \.p0, \.p12, \.p16, \.p60, \.p64, \.p68,
    ]
    private static let texts: [ReferenceWritableKeyPath<WideClass, String> & Sendable] = [
        \.p1, \.p13, \.p57, \.p61, \.p65, \.p69,
    ]
    private static let optionalTexts: [ReferenceWritableKeyPath<WideClass, String?> & Sendable] = [
        \.p3, \.p59, \.p63, \.p67,
    ]

    private func database() throws -> Database {
        try Database.inMemory(entities: [WideClass.self, WideStruct.self, WideBase.self, WideSubclass.self])
    }

    private func stored(_ db: Database) throws -> WideClass { try #require(try db.find(WideClass.self, 1)) }

    @Test func objectsOfARowEachStoreTheirOwnChanges() throws {
        let db = try database()
        try db.save(WideClass())
        for (place, number) in Self.numbers.enumerated() {
            let text = Self.texts[place]
            let (one, two) = (try stored(db), try stored(db))
            one[keyPath: number] = 1000 + place
            two[keyPath: text] = "new \(place)"
            try db.save(one)
            try db.save(two)
            #expect(try stored(db)[keyPath: number] == 1000 + place)
            #expect(try stored(db)[keyPath: text] == "new \(place)")
        }
        let last = try stored(db)
        #expect(Self.numbers.map { last[keyPath: $0] } == (1000..<1006).map { $0 })
        #expect(Self.texts.map { last[keyPath: $0] } == (0..<6).map { "new \($0)" })
        #expect(last.p66 == nil && last.p67 == "o67" && last.p62 == nil)
    }

    /// Texts are read from the row on first access, those from the 64th property on together.
    @Test func textsAreReadInAnyOrder() throws {
        let db = try database()
        try db.save(WideClass())
        for first in Self.texts {
            for second in Self.optionalTexts {
                let object = try stored(db)
                #expect(object[keyPath: first].hasPrefix("t"))
                #expect(object[keyPath: second]?.hasPrefix("o") == true)
                let other = try stored(db)
                other[keyPath: second] = "set"
                #expect(other[keyPath: first].hasPrefix("t") && other[keyPath: second] == "set")
                #expect(Self.optionalTexts.filter { other[keyPath: $0] == "set" } == [second])
                #expect(other.p60 == 60 && other.p64 == 64 && other.p68 == 68)
            }
        }
        let (object, copy) = (try stored(db), try stored(db).copy())
        try db.refresh(object)
        #expect(Self.texts.map { object[keyPath: $0] } == Self.texts.map { copy[keyPath: $0] })
        #expect(copy.p65 == "t65" && copy.p67 == "o67" && copy.p69 == "t69" && copy.p63 == "o63")
    }

    @Test func changesAreRolledBack() throws {
        let db = try database()
        try db.save(WideClass())
        let object = try stored(db)
        object.p68 = -1
        #expect(throws: Refused()) {
            try db.transaction { _ in
                object.p65 = "lost"
                object.p68 = -2
                object.p3 = "lost"
                try db.save(object)
                object.p69 = "lost"
                object.p64 = -64
                throw Refused()
            }
        }
        #expect(object.p65 == "t65" && object.p68 == -1 && object.p69 == "t69" && object.p64 == 64)
        #expect(object.p3 == "o3" && object.isDirty)
        let other = try stored(db)
        other.p65 = "other"
        try db.save(other)
        try db.save(object)
        #expect(try stored(db).p65 == "other" && (try stored(db)).p68 == -1)
    }

    @Test func observersAreNotified() throws {
        let db = try database()
        try db.save(WideClass())
        let (object, notified) = (try stored(db), Collected<String>())
        withObservationTracking({ _ = object.p69 }, onChange: { notified.append("p69") })
        withObservationTracking({ _ = object.p5 }, onChange: { notified.append("p5") })
        object.p69 = "new"
        #expect(notified.all == ["p69"])
        withObservationTracking({ _ = object.p64 }, onChange: { notified.append("p64") })
        try db.refresh(object)
        #expect(notified.all.sorted() == ["p5", "p64", "p69"] && object.p69 == "t69")
    }

    @Test func structsAreStored() throws {
        let db = try database()
        var value = WideStruct()
        (value.p63, value.p64, value.p69) = ("end", 640, "last")
        try db.save(&value)
        let read = try #require(try db.find(WideStruct.self, 1))
        #expect(read.p63 == "end" && read.p64 == 640 && read.p69 == "last" && read.p65 == "t65" && read.p66 == nil)
        #expect(try db.query(WideStruct.self).where(\.p64 == 640).count() == 1)
        #expect(WideStruct().p69 == "t69")
    }

    /// The columns of the superclass come first: the 64th property is one of the subclass.
    @Test func subclassesPassTheSixtyFourth() throws {
        let db = try database()
        try db.save(WideSubclass())
        func stored() throws -> WideSubclass { try #require(try db.find(WideSubclass.self, 1)) }
        let (one, two, three) = (try stored(), try stored(), try stored())
        #expect(one.p1 == "t1" && one.p61 == "t61" && one.p63 == "o63" && one.p65 == "t65" && one.p79 == "o79")
        two.p79 = "new"
        two.p64 = -64
        three.p37 = "base"
        three.p63 = nil
        try db.save(three)
        try db.save(two)
        let last = try stored()
        #expect(last.p79 == "new" && last.p64 == -64 && last.p37 == "base" && last.p63 == nil && last.p75 == "o75")
        one.p0 = 5
        one.p77 = "seven"
        #expect(throws: Refused()) {
            try db.transaction { _ in
                try db.save(one)
                one.p77 = "lost"
                one.p76 = 0
                throw Refused()
            }
        }
        #expect(one.p77 == "seven" && one.p76 == 76 && one.isDirty)
        try db.save(one)
        #expect(try stored().p77 == "seven" && (try stored()).p79 == "new" && (try stored()).p0 == 5)
        let base = WideBase()
        base.p39 = "base"
        try db.save(base)
        #expect(try db.find(WideBase.self, 1)?.p39 == "base")
    }
}
