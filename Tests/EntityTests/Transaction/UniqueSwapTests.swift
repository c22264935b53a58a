import Mako
import MakoTestSupport
import Testing

/// Objects that exchange unique values.
enum Swapped {
    @Entity("SwappedTag") final class Tag {
        @Attribute(.unique) var code = ""
        var level = 0
        var next: Tag?
    }

    @Entity("SwappedSeat") final class Seat {
        var row = 0
        var number = 0
        var isTaken = true
        #Unique<Seat>([\.row, \.number], where: "isTaken")
    }

    @Entity("SwappedSlot") struct Slot {
        var id: Int?
        @Attribute(.unique) var place = 0
        var name = ""
    }

    /// Its hook looks at other rows while a call is running.
    @Entity("SwappedCurious") final class Curious {
        @Attribute(.unique) var code = 0
        var found: Int?
        var first: Int?

        func willUpdate() {
            first = (try? Curious.find(1))?.code
            found = try? Curious.query().where(\.code == 1).count()
            _ = try? Tag(code: "of \(code)").commit()
        }
    }
}

/// Unique values hold at the end of each call.
@Suite struct UniqueSwapTests {
    private typealias Tag = Swapped.Tag
    private let duplicate = { (code: String) in
        MakoError.duplicate(entity: "SwappedTag", properties: ["code"], values: [.text(code)])
    }

    private func database() throws -> Database {
        try Database.inMemory(entities: [Tag.self, Swapped.Seat.self, Swapped.Slot.self, Swapped.Curious.self])
    }

    private func tags(_ count: Int, _ db: Database) throws -> [Tag] {
        let tags = (0..<count).map { Tag(code: "code \($0)") }
        try db.save(tags)
        return tags
    }

    private func codes(_ db: Database) throws -> [String] {
        #expect(try db.verify().isClean)
        return try db.query(Tag.self).orderBy(\.id).fetch().map(\.code)
    }

    /// Gives each tag the code of the next one.
    private func rotate(_ tags: [Tag]) -> [String] {
        let codes = tags.map(\.code)
        for (place, tag) in tags.enumerated() { tag.code = codes[(place + 1) % codes.count] }
        return tags.map(\.code)
    }

    @Test(arguments: [2, 3, 15, 16, 300]) func anArrayPassesValuesOn(count: Int) throws {
        let db = try database()
        let tags = try tags(count, db)
        let wanted = rotate(tags)
        try db.save(tags)
        #expect(try codes(db) == wanted)
        #expect(tags.allSatisfy { !$0.isDirty })
        #expect(try db.query(Tag.self).where(\.code == "code 1").fetch().map(\.id) == [1])
        // Within a transaction, by one call too.
        let further = rotate(tags.reversed())
        try db.transaction { _ in try db.save(tags.shuffled()) }
        #expect(try codes(db) == further.reversed())
    }

    @Test(arguments: [false, true]) func aGraphPassesValuesOn(isJoined: Bool) throws {
        let db = try database()
        let tags = try tags(40, db)
        for (place, tag) in tags.enumerated() { tag.next = tags[(place + 1) % 40] }
        try db.save(tags)
        let wanted = rotate(tags)
        if isJoined {
            try db.transaction { _ in
                try db.save(tags[7])
                try Tag(code: "further").commit()
            }
        } else {
            try db.save(tags[7])
        }
        #expect(try codes(db) == wanted + (isJoined ? ["further"] : []))
        // Behind an unchanged object.
        (tags[0].code, tags[2].code) = (tags[2].code, tags[0].code)
        try tags[1].commit()
        #expect(try codes(db).prefix(40) == tags.map(\.code)[...])
    }

    @Test(arguments: [2, 60]) func newObjectsTakeWhatOthersLeave(count: Int) throws {
        let db = try database()
        for isFirst in [true, false] {
            let old = try Array(db.query(Tag.self).fetch())
            let known: [Tag] = if old.isEmpty { try tags(count, db) } else { old }
            let fresh = known.prefix(count).map { Tag(code: $0.code, level: 1) }
            for tag in known.prefix(count) { tag.code = "\(isFirst) \(tag.code)" }
            try db.save(isFirst ? fresh + known : known + fresh)
            #expect(try Set(codes(db)) == Set((known + fresh).map(\.code)))
        }
    }

    @Test func whatRemainsIsRefusedByTheCallAndChangesNothing() throws {
        let db = try database()
        let tags = try tags(30, db)
        let before = try codes(db)
        func expectUnchanged() throws {
            #expect(try codes(db) == before)
            #expect(tags.prefix(4).allSatisfy { $0.isDirty })
        }
        _ = rotate(Array(tags.prefix(3)))
        tags[3].code = "code 4"
        for count in [5, 30] {
            // All but the row that has the code.
            let chosen = tags.prefix(count).filter { $0 !== tags[4] }
            #expect(throws: duplicate("code 4")) { try db.save(chosen) }
            try expectUnchanged()
        }
        tags[2].next = tags[3]
        tags[3].next = tags[0]
        tags[0].next = tags[1]
        #expect(throws: duplicate("code 4")) { try db.save(tags[2]) }
        try expectUnchanged()
        // A transaction goes on after either.
        try db.transaction { _ in
            #expect(throws: duplicate("code 4")) { try db.save(Array(tags.prefix(4))) }
            #expect(throws: duplicate("code 4")) { try db.save(tags[2]) }
            try Tag(code: "further").commit()
            #expect(throws: duplicate("further")) { try Tag(code: "further").commit() }
        }
        #expect(try codes(db) == before + ["further"])
        tags[3].code = "code 3"
        try db.save(tags[2])
        #expect(try codes(db).prefix(4) == ["code 1", "code 2", "code 0", "code 3"])
    }

    /// Each call is checked, also within a transaction: the call that causes a conflict throws.
    @Test func callsOfATransactionAreCheckedOneByOne() throws {
        let db = try database()
        let tags = try tags(2, db)
        (tags[0].code, tags[1].code) = (tags[1].code, tags[0].code)
        try db.transaction { _ in
            #expect(throws: duplicate("code 1")) { try tags[0].commit() }
            #expect(throws: duplicate("code 0")) { try db.save([tags[1]]) }
            #expect(tags.allSatisfy { $0.isDirty })
            try db.save(tags)
        }
        #expect(try codes(db) == ["code 1", "code 0"])
    }

    @Test func partialIndexesOfSeveralProperties() throws {
        let db = try database()
        let seats = (0..<20).map { Swapped.Seat(row: $0 / 5, number: $0 % 5) }
        try db.save(seats)
        for seat in seats { (seat.row, seat.number) = (3 - seat.row, 4 - seat.number) }
        // One that is not taken does not count.
        seats[0].isTaken = false
        (seats[0].row, seats[0].number) = (0, 0)
        try db.save(seats)
        #expect(try db.query(Swapped.Seat.self).where(\.row == 0 && \.number == 0).count() == 2)
        seats[19].isTaken = false
        seats[0].isTaken = true
        try db.save([seats[0], seats[19]])
        seats[19].isTaken = true
        #expect(throws: MakoError.self) { try db.save([seats[0], seats[19]]) }
        #expect(try db.verify().isClean)
    }

    @Test(arguments: [3, 40]) func structsPassValuesOn(count: Int) throws {
        let db = try database()
        var slots = try db.save((0..<count).map { Swapped.Slot(place: $0, name: "\($0)") })
        for place in slots.indices { slots[place].place = (place + 1) % count }
        slots = try db.save(slots)
        #expect(try db.query(Swapped.Slot.self).orderBy(\.id).fetch().map(\.place) == (1...count).map { $0 % count })
        slots[0].place = 2
        #expect(throws: MakoError.duplicate(entity: "SwappedSlot", properties: ["place"], values: [.integer(2)])) {
            try db.save(slots)
        }
        #expect(try db.verify().isClean)
    }

    @Test func aDuplicateNamesEachProperty() throws {
        let db = try database()
        try db.save(Swapped.Seat(row: 1, number: 2))
        let error = #expect(throws: MakoError.self) { try db.save(Swapped.Seat(row: 1, number: 2)) }
        #expect(
            error
                == .duplicate(
                    entity: "SwappedSeat", properties: ["row", "number"], values: [.integer(1), .integer(2)]))
    }

    @Test func updatesPassValuesOn() throws {
        let db = try database()
        try db.save((0..<1000).map { Swapped.Slot(place: $0) })
        func places() throws -> [Int] { try db.query(Swapped.Slot.self).orderBy(\.id).fetch().map(\.place) }
        #expect(try db.update(Swapped.Slot.self).set(\.place, to: \.place + 1).run() == 1000)
        #expect(try db.query(Swapped.Slot.self).orderBy(\.place).update().set(\.place, to: \.place + 1).run() == 1000)
        #expect(try places() == (2..<1002).map { $0 })
        try db.rawQuery("UPDATE SwappedSlot SET place = 1003 - place")
        #expect(try places() == (2..<1002).map { 1003 - $0 })
        try db.transaction { tx in
            #expect(throws: MakoError.self) { try tx.update(Swapped.Slot.self).set(\.place, to: 7).run() }
            #expect(throws: MakoError.self) { try db.rawQuery("UPDATE SwappedSlot SET place = 7 WHERE place < 9") }
            _ = try tx.update(Swapped.Slot.self).set(\.place, to: \.place - 1).where(\.place > 1).run()
        }
        #expect(try places() == (2..<1002).map { 1002 - $0 })
        #expect(try db.verify().isClean)
    }

    /// While two rows share a value the index does not lead to both: a hook that queries is refused, and the call itself is not.
    @Test func hooksAreRefusedWhileRowsShareAValue() throws {
        let db = try database()
        try Database.withDefault(db) {
            let objects = [Swapped.Curious(code: 1), Swapped.Curious(code: 2)]
            try db.save(objects)
            (objects[0].code, objects[1].code) = (2, 1)
            try db.save(objects)
            #expect(try db.query(Swapped.Curious.self).orderBy(\.id).fetch().map(\.code) == [2, 1])
            #expect(objects.map(\.found) == [1, nil])
            // Lookups by key find the objects.
            #expect(objects.map(\.first) == [1, 2])
            // The hook of the first one stored this before the rows shared a value.
            #expect(try codes(db) == ["of 2"])
        }
    }

    /// Permutations of values beside a plain array, saved in every form, with a clash now and then.
    @Test(arguments: 0..<8) func randomPermutations(seed: Int) throws {
        var random = SplitMix(seed: UInt64(seed))
        let db = try database()
        let tags = try tags(30, db)
        for tag in tags where random.chance(60) { tag.next = tags[random.below(30)] }
        try db.save(tags)
        var stored = tags.map(\.code)
        var refusals = 0
        for round in 0..<60 {
            let chosen = Array(tags.indices.shuffled(using: &random).prefix(2 + random.below(28)))
            let wanted = chosen.shuffled(using: &random).map { stored[$0] }
            for (place, code) in zip(chosen, wanted) { tags[place].code = code }
            if random.chance(25) {
                tags[chosen[0]].code = random.chance(50) ? stored[random.below(30)] : "new \(round)"
            }
            let isAllowed = Set(tags.map(\.code)).count == 30
            let isJoined = random.chance(50)
            let before = tags.map(\.code)
            func save() throws {
                // The root leads to all of them.
                let array = chosen.map { tags[$0] }
                if random.chance(40) {
                    let root = Tag(code: "root \(round)")
                    var last = root
                    for tag in array {
                        last.next = tag
                        last = tag
                    }
                    last.next = nil
                    try db.save(root)
                } else {
                    try db.save(array)
                }
            }
            do {
                if isJoined { try db.transaction { _ in try save() } } else { try save() }
                #expect(isAllowed)
                stored = before
            } catch let error as MakoError {
                guard case .duplicate = error else { throw error }
                #expect(!isAllowed)
                refusals += 1
                for (place, tag) in tags.enumerated() {
                    #expect(tag.code == before[place])
                    tag.code = stored[place]
                    tag.next = nil
                }
            }
            #expect(try Array(codes(db).prefix(30)) == stored)
        }
        #expect(refusals > 0 && refusals < 40)
    }
}
