import Foundation
import Mako
import Testing

/// Sailors with everything that a predicate may ask for.
enum PredicateModels {
    @Entity final class Harbour {
        var name = ""
        var depth = 0
        var country: String?
    }

    enum Rank: Int, Codable { case mate = 1, captain }

    @Entity final class Boat {
        #Index<Boat>([\.length], [\.name])
        var name = ""
        var length = 0
        var weight: Double?
        var nickname: String?
        var isFast = false
        var isInsured: Bool?
        var rank: Rank = .mate
        var built: Date?
        var home: Harbour?
        var place: Coordinate?
        var tags: [String] = []
    }
}

@Suite struct PredicateTests {
    typealias Boat = PredicateModels.Boat
    typealias Harbour = PredicateModels.Harbour

    private func fleet() throws -> Database {
        let db = try Database.inMemory(entities: [Boat.self, Harbour.self])
        let kiel = Harbour(name: "Kiel", depth: 12, country: "DE")
        let nowhere = Harbour(name: "Nowhere", depth: 3)
        try db.save([
            Boat(name: "Alba", length: 30, weight: 2.5, nickname: "Al", isFast: true, isInsured: true, home: kiel),
            Boat(name: "Bora", length: 12, nickname: "bo*[r]?a", isInsured: false, rank: .captain, home: nowhere),
            Boat(name: "Cormoran", length: 45, weight: 9, built: Date(timeIntervalSince1970: 1000)),
            Boat(name: "bora", length: 0, weight: 0, isFast: true, place: Coordinate(latitude: 54, longitude: 10)),
            Boat(name: "", length: -3, weight: 2.5, nickname: "", home: kiel),
        ])
        return db
    }

    /// Foundation evaluates the predicate on each object; the database must find the same ones.
    private func check(
        _ predicate: Predicate<Boat>, _ db: Database, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let all = try db.query(Boat.self).orderBy("id").fetch()
        var wanted: [String] = []
        for boat in all where try predicate.evaluate(boat) { wanted.append(boat.name) }
        let found = try db.query(Boat.self).where(predicate).orderBy("id").fetch().map(\.name)
        #expect(found == wanted, sourceLocation: sourceLocation)
    }

    @Test func comparisonsMeanWhatSwiftMeans() throws {
        let db = try fleet()
        let limit = 12
        let bora: String? = "Bora"
        let none: String? = nil
        try check(#Predicate { $0.length > limit }, db)
        try check(#Predicate { $0.length >= limit && $0.name != "Alba" }, db)
        try check(#Predicate { !($0.length < limit || $0.isFast) }, db)
        try check(#Predicate { $0.name == "Bora" || $0.length <= 0 }, db)
        try check(#Predicate { bora == $0.nickname }, db)
        try check(#Predicate { $0.isFast }, db)
        try check(#Predicate { $0.isFast == false && !$0.name.isEmpty }, db)
        try check(#Predicate { $0.isFast == ($0.length > limit) }, db)
        try check(#Predicate { $0.isFast != ($0.length > limit) }, db)
        try check(#Predicate { _ in true }, db)
        try check(#Predicate { _ in false }, db)
        try check(#Predicate { $0.nickname == none }, db)
        try check(#Predicate { $0.id == 2 }, db)
    }

    @Test func nilIsWhatItIsInSwift() throws {
        let db = try fleet()
        try check(#Predicate { $0.nickname == nil }, db)
        try check(#Predicate { $0.nickname != nil }, db)
        try check(#Predicate { $0.nickname != "Al" }, db)
        try check(#Predicate { !($0.nickname == "Al") }, db)
        try check(#Predicate { !($0.nickname != "Al") }, db)
        try check(#Predicate { $0.nickname == $0.nickname }, db)
        try check(#Predicate { $0.nickname != $0.home?.country }, db)
        try check(#Predicate { !($0.nickname != $0.nickname) }, db)
        try check(#Predicate { ($0.nickname ?? "none") == "none" }, db)
        try check(#Predicate { ($0.weight ?? 1) > 1 }, db)
        try check(#Predicate { !(($0.weight ?? 1) > 1) }, db)
        try check(#Predicate { $0.isInsured ?? true }, db)
        try check(#Predicate { !($0.isInsured ?? true) }, db)
        try check(#Predicate { $0.isInsured ?? false }, db)
        try check(#Predicate { $0.isInsured != true }, db)
        try check(#Predicate { $0.isInsured == nil }, db)
        try check(#Predicate { $0.weight.flatMap { $0 > 2 } ?? true }, db)
        try check(#Predicate { $0.weight.flatMap { $0 > 2 } ?? false }, db)
        try check(#Predicate { $0.weight.flatMap { $0 > 2 } == nil }, db)
        try check(#Predicate { $0.weight.flatMap { $0 > 2 } == true }, db)
        try check(#Predicate { $0.weight.flatMap { $0 > 2 } != true }, db)
        try check(
            #Predicate { boat in
                if let weight = boat.weight { weight < 5 || boat.length > 100 } else { boat.isFast }
            }, db)
        try check(#Predicate { $0.weight != nil && $0.weight! > 2 }, db)
    }

    @Test func relationshipsAreFollowed() throws {
        let db = try fleet()
        try check(#Predicate { $0.home?.name == "Kiel" }, db)
        try check(#Predicate { $0.home?.name != "Kiel" }, db)
        try check(#Predicate { !($0.home?.name != "Kiel") }, db)
        try check(#Predicate { $0.home?.country == nil }, db)
        try check(#Predicate { $0.home?.country != nil }, db)
        try check(#Predicate { $0.home.flatMap { $0.country != "DE" } ?? false }, db)
        try check(#Predicate { !($0.home.flatMap { $0.country != "DE" } ?? false) }, db)
        try check(#Predicate { ($0.home?.depth ?? 0) > 5 }, db)
        try check(#Predicate { boat in if let home = boat.home { return home.depth < 5 } else { return true } }, db)
        #expect(
            try db.query(Boat.self).where(#Predicate { $0.home?.id == nil && $0.isFast }).fetch().map(\.name) == [
                "bora"
            ])
    }

    @Test func listsRangesAndTexts() throws {
        let db = try fleet()
        let names = ["Alba", "bora", "Zora"]
        let none: [String] = []
        let lengths: Set<Int> = [30, 45]
        let optional: [String?] = ["Al", nil]
        let span = 0..<30
        let part = "or"
        try check(#Predicate { names.contains($0.name) }, db)
        try check(#Predicate { !names.contains($0.name) }, db)
        try check(#Predicate { none.contains($0.name) }, db)
        try check(#Predicate { !none.contains($0.name) }, db)
        try check(#Predicate { lengths.contains($0.length) }, db)
        try check(#Predicate { optional.contains($0.nickname) }, db)
        try check(#Predicate { !optional.contains($0.nickname) }, db)
        try check(#Predicate { span.contains($0.length) }, db)
        try check(#Predicate { (0...30).contains($0.length) }, db)
        try check(#Predicate { !(0..<30).contains($0.length) }, db)
        try check(#Predicate { $0.name.contains(part) }, db)
        try check(#Predicate { !$0.name.contains("or") }, db)
        try check(#Predicate { $0.name.contains("") }, db)
        try check(#Predicate { $0.name.starts(with: "B") }, db)
        try check(#Predicate { !$0.name.starts(with: "b") }, db)
        try check(#Predicate { $0.nickname?.starts(with: "bo*[") == true }, db)
        try check(#Predicate { $0.nickname?.contains("r]?") == true }, db)
        try check(#Predicate { $0.nickname?.contains("o?") != true }, db)
        try check(#Predicate { "Alba and bora".contains($0.name) }, db)
    }

    @Test func calculationsAndChoices() throws {
        let db = try fleet()
        try check(#Predicate { $0.name.count == 4 }, db)
        try check(#Predicate { ($0.nickname?.count ?? 3) > 2 }, db)
        try check(#Predicate { $0.length + 3 == 15 }, db)
        try check(#Predicate { $0.length * 2 - 1 > 30 }, db)
        try check(#Predicate { $0.length / 7 == 4 }, db)
        try check(#Predicate { $0.length % 2 == 0 }, db)
        try check(#Predicate { -$0.length > 0 }, db)
        try check(#Predicate { ($0.weight ?? 1) / 2 > 1 }, db)
        try check(#Predicate { $0.isFast ? $0.length > 10 : $0.length > 20 }, db)
        try check(#Predicate { !($0.isFast ? $0.length > 10 : $0.length > 20) }, db)
    }

    @Test func valuesWithSeveralColumnsAndOnesOfOnesOwn() throws {
        let db = try fleet()
        let here = Coordinate(latitude: 54, longitude: 10)
        #expect(try db.query(Boat.self).where(#Predicate { $0.place == here }).fetch().map(\.name) == ["bora"])
        #expect(try db.query(Boat.self).where(#Predicate { $0.place != here }).count() == 4)
        #expect(try db.query(Boat.self).where(#Predicate { $0.place == nil }).count() == 4)
        #expect(
            try db.query(Boat.self).where(#Predicate { ($0.place?.latitude ?? 0) > 50 }).fetch().map(\.name) == ["bora"]
        )
        let captain = PredicateModels.Rank.captain
        #expect(try db.query(Boat.self).where(#Predicate { $0.rank == captain }).fetch().map(\.name) == ["Bora"])
        let early = Date(timeIntervalSince1970: 2000)
        try check(#Predicate { $0.built.flatMap { $0 < early } ?? false }, db)
    }

    @Test func allThreeFormsHaveOnePlan() throws {
        let db = try fleet()
        let boats = db.query(Boat.self)
        // A call for each: one array of all took the compiler 37 seconds.
        func expectOnePlan(_ predicate: Query<Boat>, _ typed: Query<Boat>, _ text: Query<Boat>) throws {
            let plan = try text.explain()
            #expect(try predicate.explain() == plan)
            #expect(try typed.explain() == plan)
            #expect(try predicate.ids() == text.ids())
        }
        try expectOnePlan(
            boats.where(#Predicate { $0.length > 20 && $0.name == "Alba" }),
            boats.where(\.length > 20 && \.name == "Alba"), boats.where("length > 20 AND name = 'Alba'")
        )
        try expectOnePlan(
            boats.where(#Predicate { [30, 45].contains($0.length) }), boats.where(\.length << [30, 45]),
            boats.where("length IN (30, 45)")
        )
        try expectOnePlan(
            boats.where(#Predicate { (1...30).contains($0.length) }), boats.where(\.length << (1...30)),
            boats.where("length BETWEEN 1 AND 30")
        )
        try expectOnePlan(
            boats.where(#Predicate { $0.home?.name == "Kiel" }), boats.where(\.home.name == "Kiel"),
            boats.where("home.name = 'Kiel'")
        )
        #expect(try boats.where(#Predicate { $0.name.starts(with: "Al") }).explain().contains("using index name"))
    }

    @Test func whatCannotBeTranslatedIsRefusedBeforeARowIsRead() throws {
        let db = try fleet()
        func refusal(_ predicate: Predicate<Boat>) -> String {
            let query = db.query(Boat.self).where(predicate)
            do { _ = try query.fetch() } catch { return "\(error)" }
            return "not refused"
        }
        #expect(refusal(#Predicate { boat in boat.tags.contains { _ in boat.isFast } }).contains("each of many"))
        #expect(refusal(#Predicate { $0.wavesPerDay > 3 }).contains("is not a stored property of Boat"))
        #expect(refusal(#Predicate { ($0.isFast ? $0.length : 0) > 3 }).contains("a choice between values"))
        #expect(
            refusal(#Predicate { ($0.weight as Any) as? Int == 3 }).contains(
                "ConditionalCast of Boat.weight is not translated"))
    }
}

extension PredicateModels.Boat {
    var wavesPerDay: Int { length * 2 }
}
