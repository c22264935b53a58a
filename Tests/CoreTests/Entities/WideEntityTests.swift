import Foundation
import MakoCore
import MakoStorage
import MakoTestSupport
import Observation
import Testing

/// Entities with up to 1,024 properties, beside plain arrays of their values.
@Suite struct WideEntityTests {
    /// The properties at both sides of each word, and a few others.
    private func edges(_ count: Int) -> [Int] {
        (0..<count).filter { [0, 1, 12, 13, 31, 62, 63].contains($0 % 64) || $0 >= count - 3 }
    }

    private func value(_ property: Int, _ number: Int) -> WideValue {
        switch property % 3 {
        case 0: .number(number)
        case 1: .text("text \(number) of property \(property)")
        default: number % 5 == 0 ? .maybe(nil) : .maybe(number)
        }
    }

    private func database<W: Width>(_ width: W.Type) throws -> Database {
        try Database.inMemory(entities: [WideObject<W>.self])
    }

    // MARK: - Each property

    @Test func eachPropertyIsStoredAlone() throws {
        try expectEachIsStored(Width64.self)
        try expectEachIsStored(Width65.self)
        try expectEachIsStored(Width128.self)
        try expectEachIsStored(Width1024.self)
    }

    /// Two objects of a row each change a property; a save stores no property that its object did not change.
    private func expectEachIsStored<W: Width>(_ width: W.Type) throws {
        let db = try database(width)
        try db.save(WideObject<W>())
        var expected = (0..<W.count).map { WideObject<W>.start($0) }
        let all = edges(W.count)
        for (place, property) in all.enumerated() {
            let one = try #require(try db.find(WideObject<W>.self, 1))
            let two = try #require(try db.find(WideObject<W>.self, 1))
            #expect(one.all == expected && !one.isDirty)
            let other = all[(place + 7) % all.count]
            let changes = [(one, property, value(property, 1 + place)), (two, other, value(other, 2 + place))]
            for (object, each, new) in changes {
                object[each] = new
                if new == .maybe(nil) && WideObject<W>.keepsWhenNil(each) { continue }
                expected[each] = new
            }
            #expect(one.isDirty && two.isDirty)
            try db.save(one)
            try db.save([two])
            #expect(!one.isDirty && !two.isDirty)
            let read = try #require(try db.find(WideObject<W>.self, 1)).all
            #expect((0..<W.count).filter { read[$0] != expected[$0] }.isEmpty, "property \(property) of \(W.count)")
            try db.refresh(one)
            #expect(one.all == expected)
        }
    }

    @Test func allPropertiesOfTheFirstWordAreNotAllProperties() throws {
        let db = try database(Width128.self)
        try db.save(WideObject<Width128>())
        let one = try #require(try db.find(WideObject<Width128>.self, 1))
        let two = try #require(try db.find(WideObject<Width128>.self, 1))
        for property in (0..<64).reversed() { one[property] = value(property, 3) }
        two[number: 99] = -99
        try db.save(two)
        try db.save(one)
        #expect(try db.find(WideObject<Width128>.self, 1)?[number: 99] == -99)
    }

    @Test func nilKeepsValuesBehindTheFirstWord() throws {
        let db = try database(Width128.self)
        let object = WideObject<Width128>()
        let kept = (0..<128).filter { WideObject<Width128>.keepsWhenNil($0) }
        #expect(kept == [5, 65, 125])
        for property in kept + [8, 68] { object[maybe: property] = property }
        try db.save(object)
        for property in kept + [8, 68] { object[maybe: property] = nil }
        try db.save(object)
        let read = try #require(try db.find(WideObject<Width128>.self, 1))
        #expect(kept.map { read[maybe: $0] } == kept && read[maybe: 8] == nil && read[maybe: 68] == nil)
    }

    // MARK: - Random changes

    @Test(arguments: 0..<6) func randomChangesAgreeWithPlainValues(seed: Int) throws {
        var random = SplitMix(seed: UInt64(seed))
        switch seed % 3 {
        case 0: try expectRandomChangesAreStored(Width65.self, 80, &random)
        case 1: try expectRandomChangesAreStored(Width128.self, 80, &random)
        default: try expectRandomChangesAreStored(Width1024.self, 25, &random)
        }
    }

    /// A row, and objects that were read from it.
    private struct Objects<W: Width> {
        var stored: [WideValue]
        var live: [(object: WideObject<W>, values: [WideValue], changed: Set<Int>)] = []

        mutating func store(_ place: Int) {
            for property in live[place].changed {
                let value = live[place].values[property]
                if value == .maybe(nil) && WideObject<W>.keepsWhenNil(property) { continue }
                stored[property] = value
            }
            live[place].changed = []
        }
    }

    private func expectRandomChangesAreStored<W: Width>(_ width: W.Type, _ rounds: Int, _ random: inout SplitMix) throws
    {
        let db = try database(width)
        try db.save(WideObject<W>())
        var model = Objects<W>(stored: (0..<W.count).map { WideObject<W>.start($0) })
        func assign(_ place: Int) {
            let far = W.count > 64 && random.chance(50) ? 64 + random.below(W.count - 64) : random.below(W.count)
            let new = value(far, random.below(1000))
            model.live[place].object[far] = new
            model.live[place].values[far] = new
            model.live[place].changed.insert(far)
        }
        for round in 0..<rounds {
            if model.live.isEmpty || model.live.count < 4 && random.chance(30) {
                let read = try #require(try db.query(WideObject<W>.self).fetch().first)
                model.live.append((read, model.stored, []))
            }
            let place = random.below(model.live.count)
            let object = model.live[place].object
            switch random.below(7) {
            case 0, 1: for _ in 0...random.below(random.chance(10) ? W.count : 5) { assign(place) }
            case 2:
                try db.save(object)
                model.store(place)
            case 3:
                try db.refresh(object)
                (model.live[place].values, model.live[place].changed) = (model.stored, [])
            case 4:
                let before = model
                var isCommitted = false
                try? db.transaction { _ in
                    for _ in 0...random.below(4) { assign(place) }
                    if random.chance(60) {
                        try db.save([object])
                        model.store(place)
                    }
                    for _ in 0...random.below(4) { assign(place) }
                    if random.chance(60) { throw Stop() }
                    isCommitted = true
                }
                if !isCommitted { model = before }
            case 5:
                let copy = object.copy()
                #expect(copy.all == model.live[place].values && copy.isDirty == object.isDirty)
            default: model.live.remove(at: place)
            }
            for (object, values, changed) in model.live {
                let now = object.all
                #expect((0..<W.count).filter { now[$0] != values[$0] }.isEmpty, "round \(round)")
                #expect(object.isDirty == !changed.isEmpty, "round \(round)")
                #expect((0..<W.count + 70).filter { object._$state.dirty.contains($0) } == changed.sorted())
            }
            let stored = try #require(try db.find(WideObject<W>.self, 1)).all
            #expect((0..<W.count).filter { stored[$0] != model.stored[$0] }.isEmpty, "round \(round)")
        }
    }

    @Test func aRollbackLeavesWhatOtherThreadsWrote() throws {
        let db = try database(Width128.self)
        try db.save(WideObject<Width128>())
        let object = try #require(try db.find(WideObject<Width128>.self, 1))
        object.commitOptions.raisesEvents = false
        #expect(throws: Stop()) {
            try db.transaction { _ in
                object[number: 12] = 1
                object[number: 99] = 1
                object[number: 102] = 1
                let done = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    object[number: 99] = 2
                    done.signal()
                }
                done.wait()
                throw Stop()
            }
        }
        #expect(object[number: 12] == 12 && object[number: 99] == 2 && object[number: 102] == 102)
        #expect((0..<128).filter { object._$state.dirty.contains($0) } == [99])
        #expect(!object.commitOptions.raisesEvents)
    }

    // MARK: - Observers, queries and migrations

    @Test func observersAreNotifiedOfThePropertyThatChanged() throws {
        let db = try database(Width1024.self)
        let object = WideObject<Width1024>()
        try db.save(object)
        let notified = Guarded<[Int]>([])
        func watch() {
            notified.withLock { $0 = [] }
            for property in [3, 63, 66, 1023] {
                withObservationTracking {
                    _ = object[number: property]
                } onChange: {
                    notified.withLock { $0.append(property) }
                }
            }
        }
        watch()
        object[number: 66] = 1
        object[number: 69] = 1
        #expect(notified.withLock { $0 } == [66])
        watch()
        try db.refresh(object)
        // Some are observed twice by now.
        #expect(notified.withLock { Set($0) } == [3, 63, 66, 1023])
    }

    @Test func theHistoryNamesTheProperties() throws {
        let db = try HistoryPlace().open(.kept(), [WideObject<Width1024>.self])
        let object = WideObject<Width1024>()
        try db.save(object)
        object[number: 63] = 0
        object[number: 1020] = 0
        object[text: 64] = "new"
        try db.save(object)
        let change = try #require(try db.history(since: nil).last?.batch?.changes.first)
        #expect(change.changedProperties == ["p63", "p64", "p1020"])
    }

    @Test func queriesReadPropertiesBehindTheFirstWord() throws {
        typealias Wide = WideObject<Width1024>
        let db = try database(Width1024.self)
        try db.save(
            (0..<30).map { row in
                let wide = Wide()
                wide[number: 1023] = row
                wide[text: 700] = "row \(row % 3)"
                return wide
            })
        #expect(try db.query(Wide.self).where(\Wide.[number: 1023] > 26).count() == 3)
        let found = try db.query(Wide.self).where("p700 = ? AND p1023 < 6", "row 1").orderBy("p1023").fetch()
        #expect(found.map(\.id) == [2, 5])
        #expect(try db.query(Wide.self).sum("p1023") == 435)
        let results = try db.rawQuery("SELECT * FROM Wide WHERE p1023 = 7")
        #expect(results.columns.count == 1025 && results.rows.map { $0.last } == [.integer(7)])
        _ = try db.rawQuery("UPDATE Wide SET p1022 = p1023, p64 = 'set' WHERE p1023 >= 28")
        #expect(try db.query(Wide.self).where("p64 = 'set'").fetch().map { $0[maybe: 1022] } == [28, 29])
    }

    @Test func columnsAreAddedAndRemoved() throws {
        let place = HistoryPlace()
        func open<W: Width>(_ width: W.Type) throws -> Database {
            try place.open(.asInFile, [WideObject<W>.self])
        }
        var db = try open(Width64.self)
        let first = WideObject<Width64>()
        first[text: 1] = "kept"
        first[number: 63] = -63
        try db.save(first)
        try db.close()
        db = try open(Width65.self)
        try db.close()
        db = try open(Width1024.self)
        let wide = try #require(try db.find(WideObject<Width1024>.self, 1))
        var expected = (0..<1024).map { WideObject<Width1024>.start($0) }
        (expected[1], expected[63]) = (.text("kept"), .number(-63))
        #expect(wide.all == expected)
        wide[number: 126] = -126
        wide[number: 1023] = -1
        try db.save(wide)
        try db.close()
        db = try open(Width128.self)
        expected[126] = .number(-126)
        #expect(try db.find(WideObject<Width128>.self, 1)?.all == Array(expected.prefix(128)))
        try db.close()
    }

    @Test func oneMoreIsRefused() {
        let error = #expect(throws: MakoError.self) { try database(Width1025.self) }
        #expect(error?.description.contains("1025 properties with its superclasses; 1024 are the limit") == true)
    }
}
