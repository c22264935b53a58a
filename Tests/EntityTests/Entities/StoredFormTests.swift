import Foundation
import Mako
import Testing

@Entity final class Sailor: Codable {
    var name = ""
    var born: Date?
    var badge: UUID?
    var photo = Data()
    var rank: Rank = Rank.mate
    var log: [String: [Int]] = [:]
    var ship: Vessel?

    enum Rank: String, Codable { case mate, captain }
}

@Entity final class Vessel {
    var name = ""
    @Attribute(.serialized) var crew: [Sailor] = []
    @Attribute(.serialized) var guest: Sailor?
    @Attribute(.serialized) var berths: Set<Int> = []
    @Attribute(.loadOnRefresh) var plan: Data?
    @Attribute(.loadOnRefresh) var motto: String?
    @Attribute(.loadOnRefresh) var pilot: Sailor?
    @Attribute(.loadOnRefresh) var depth: Int?
}

@Entity final class Answer: Codable {
    var question = ""
    var value: StoredValue = .null
    @Attribute(.indexed) var other: StoredValue?
}

@Entity("seacharts") final class Seachart {
    @Attribute(.primaryKey) var code: String = ""
    var scale = 1
    @Attribute(.loadOnRefresh) var plan: Data?
}

@Entity("seacharts") final class Soundings {
    @Attribute(.primaryKey) var code: String = ""
    var deepest = 3
}

@Entity final class Lightship {
    @Attribute(.primaryKey) var code = ""
    var lamps = 1
}

@Suite struct StoredFormTests {
    private let db: Database

    init() throws { db = try Database.inMemory(entities: [Sailor.self, Vessel.self, Answer.self]) }

    @Test func serializedObjectsBelongToTheirOwner() throws {
        let vessel = Vessel(name: "Beagle")
        vessel.crew = [
            Sailor(name: "Ada", born: Date(timeIntervalSinceReferenceDate: 1.5), rank: .captain, log: ["a": [1, 2]]),
            Sailor(name: "Bob"),
        ]
        vessel.guest = Sailor(name: "Charles", badge: UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F"))
        vessel.berths = [1, 2]
        try db.save(vessel)
        #expect(try db.query(Sailor.self).count() == 0)
        let read = try #require(try db.query(Vessel.self).first())
        #expect(read.crew.map(\.name) == ["Ada", "Bob"] && read.crew.map(\.rank) == [Sailor.Rank.captain, .mate])
        #expect(read.crew.first?.born == Date(timeIntervalSinceReferenceDate: 1.5))
        #expect(read.crew.first?.log == ["a": [1, 2]] && read.guest?.badge == vessel.guest?.badge)
        #expect(read.berths == [1, 2])
        read.guest = nil
        try db.save(read)
        #expect(try db.query(Vessel.self).first()?.guest == nil)
        #expect(try db.query(Vessel.self).where("guest IS NULL").count() == 1)
    }

    @Test func classesAreCodable() throws {
        let vessel = Vessel(name: "Beagle")
        let sailor = Sailor(
            name: "Zoë \"Z\"", born: Date(timeIntervalSinceReferenceDate: 700_000_000.25), badge: UUID(),
            photo: Data([0, 255, 3]), rank: .captain, log: ["x": [], "y": [.max, .min]], ship: vessel)
        try db.save(sailor)
        let data = try JSONEncoder().encode(sailor)
        let tree = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect((tree["log"] as? [String: Any])?.count == 2 && tree["id"] as? Int == sailor.id)
        let twin = try JSONDecoder().decode(Sailor.self, from: data)
        // Its references can be loaded once it belongs to a database.
        let (values, others) = (twin.asDictionary, sailor.asDictionary)
        #expect(values.filter { $0.key != "ship" } == others.filter { $0.key != "ship" } && values.count == 8)
        // With the row's number it refers to that row, once it is saved.
        twin.name = "Zoe"
        try db.save(twin)
        let read = try #require(try db.query(Sailor.self).first())
        #expect(try db.query(Sailor.self).count() == 1)
        #expect(read.name == "Zoe" && read.ship?.name == "Beagle" && read.log == sailor.log)

        let short = try JSONDecoder().decode(Sailor.self, from: Data(#"{"name": "Q"}"#.utf8))
        #expect(short.name == "Q" && short.rank == .mate && short.id == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Sailor.self, from: Data(#"{"rank": "admiral"}"#.utf8))
        }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Sailor.self, from: Data(#"{"born": true}"#.utf8))
        }
    }

    struct Price: Codable, Equatable { var amount: Decimal }
    @Entity final class Offer: Codable { var price: Price? }

    @Test func anErrorOfDecodingNamesThePropertyAndItsValue() throws {
        let error = #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([Sailor].self, from: Data(#"[{"name": "Ada", "rank": "cook"}]"#.utf8))
        }
        guard case .dataCorrupted(let context) = try #require(error) else {
            Issue.record("another error")
            return
        }
        #expect(context.codingPath.map(\.stringValue).last == "rank" && context.codingPath.count == 2)
        #expect(context.debugDescription == "Sailor.rank takes Rank, not text 'cook'")
    }

    @Test func numbersOfManyDigitsAreDecodedExactly() throws {
        let amount = try #require(Decimal(string: "12345678901234567.89"))
        for amount in [amount, 1.5, -7, 0] {
            let offer = Offer(price: Price(amount: amount))
            let twin = try JSONDecoder().decode(Offer.self, from: try JSONEncoder().encode(offer))
            #expect(twin.price == Price(amount: amount))
        }
    }

    /// A new key makes a new row, like the old one but for what was assigned.
    @Test func aRowUnderAnotherKeyKeepsWhatTheObjectHasNotRead() throws {
        let db = try Database.inMemory(entities: [Seachart.self, Soundings.self])
        try db.save(Seachart(code: "A1", scale: 5, plan: Data([1, 2])))
        let soundings = try #require(try db.find(Soundings.self, "A1"))
        soundings.deepest = 90
        try db.save(soundings)
        let chart = try #require(try db.find(Seachart.self, "A1"))
        chart.code = "B2"
        chart.scale = 6
        try db.save(chart)
        for (code, scale) in [("A1", 5), ("B2", 6)] {
            let read = try #require(try db.find(Seachart.self, code))
            try db.refresh(read)
            #expect(read.scale == scale && read.plan == Data([1, 2]))
            #expect(try db.find(Soundings.self, code)?.deepest == 90)
        }
    }

    /// And not what the row under the old key has by then.
    @Test func aRowUnderAnotherKeyHoldsWhatItsObjectShows() throws {
        let db = try Database.inMemory(entities: [Seachart.self])
        let chart = Seachart(code: "A1", scale: 5)
        try db.save(chart)
        try db.update(Seachart.self).set(\.scale, to: 9).run()
        chart.code = "B2"
        try db.save(chart)
        #expect(chart.scale == 5)
        #expect(try db.query(Seachart.self).orderBy(\.code).fetch().map(\.scale) == [9, 5])
    }

    /// The same where all properties are read with the object.
    @Test func aWholeRowUnderAnotherKeyHoldsWhatItsObjectShows() throws {
        let db = try Database.inMemory(entities: [Lightship.self])
        let ship = Lightship(code: "A1", lamps: 5)
        try db.save(ship)
        try db.update(Lightship.self).set(\.lamps, to: 9).run()
        ship.code = "B2"
        try db.save(ship)
        #expect(ship.lamps == 5)
        #expect(try db.query(Lightship.self).orderBy(\.code).fetch().map(\.lamps) == [9, 5])
    }

    @Test func whatIsLoadedOnRefreshIsNilUntilThen() throws {
        let vessel = Vessel(name: "Fram", plan: Data([1, 2, 3]), motto: "north", depth: 7)
        vessel.pilot = Sailor(name: "Otto")
        try db.save(vessel)
        let read = try #require(try db.query(Vessel.self).first())
        #expect(read.plan == nil && read.motto == nil && read.pilot == nil && read.depth == nil && read.name == "Fram")
        #expect(!read.isDirty)
        // Properties that were not read are not written back.
        read.name = "Fram II"
        try db.save(read)
        try db.refresh(read)
        #expect(read.plan == Data([1, 2, 3]) && read.motto == "north" && read.pilot?.name == "Otto" && read.depth == 7)
        read.motto = "south"
        try db.save(read)
        let again = try #require(try db.query(Vessel.self).first())
        try db.refresh(again)
        #expect(again.motto == "south" && again.name == "Fram II")
        // Nil leaves the stored value alone.
        again.motto = nil
        try db.save(again)
        try db.refresh(again)
        #expect(again.motto == "south")
        #expect(try db.query(Vessel.self).where(\.motto == "south").count() == 1)
    }

    @Test func aPropertyMayHoldAnyValue() throws {
        let values: [StoredValue] = [
            .null, .bool(true), .bool(false), .integer(.min), .integer(-1), .unsigned(.max), .double(-0.0),
            .double(.nan),
            .text(""), .text("é🙂"), .blob([]), .blob([0, 1]), .date(1.5), .uuid(1 << 63, 2),
        ]
        for (place, value) in values.enumerated() {
            try db.save(Answer(question: "\(place)", value: value, other: place % 2 == 0 ? value : nil))
        }
        let read = try db.query(Answer.self).fetch()
        #expect(read.map(\.value) == values)
        #expect(read.enumerated().allSatisfy { $1.other == ($0 % 2 == 0 ? values[$0] : nil) })
        #expect(try db.query(Answer.self).where(\.value == .text("é🙂")).fetch().map(\.question) == ["9"])
        #expect(try db.query(Answer.self).where(\.value == .integer(0)).count() == 0)
        #expect(try db.query(Answer.self).where(\.other == .unsigned(.max)).count() == 0)
        #expect(try db.query(Answer.self).where(\.other == .integer(-1)).count() == 1)
        #expect(try db.query(Answer.self).where("other IS NULL").count() == 7)
        for answer in read {
            let twin = try JSONDecoder().decode(Answer.self, from: try JSONEncoder().encode(answer))
            #expect(twin.value == answer.value && twin.other == answer.other)
        }
        #expect(try db.find(Answer.self, StoredValue.integer(1))?.question == "0")
    }
}
