import Foundation
import Mako
import Testing

/// Numbers that are none in predicates: to Swift no comparison with NaN is true, to the order of columns NaN is below all numbers.
@Suite struct PredicateNumberTests {
    @Entity final class Gauge {
        var value = 0.0
        var spare: Double?
        var ratio: Float = 0
        var seen: Date = Date(timeIntervalSinceReferenceDate: 0)
        var changed: Date?
        var place: Coordinate?
    }

    @Entity final class IndexedGauge {
        #Index<IndexedGauge>([\.value], [\.spare], [\.ratio], [\.seen], [\.changed])
        var value = 0.0
        var spare: Double?
        var ratio: Float = 0
        var seen: Date = Date(timeIntervalSinceReferenceDate: 0)
        var changed: Date?
        var place: Coordinate?
    }

    private static let numbers: [Double] = [.nan, -.infinity, -1, -0.0, 0, 1, 2.5, .infinity]

    private func database() throws -> Database {
        let db = try Database.inMemory(entities: [Gauge.self, IndexedGauge.self])
        for (place, number) in PredicateNumberTests.numbers.enumerated() {
            let spare = place % 3 == 0 ? nil : PredicateNumberTests.numbers[(place + 4) % 8]
            let seen = Date(timeIntervalSinceReferenceDate: number)
            let changed = spare.map { Date(timeIntervalSinceReferenceDate: $0) }
            let coordinate = place % 2 == 0 ? Coordinate(latitude: number, longitude: 0) : nil
            try db.save(
                Gauge(
                    value: number, spare: spare, ratio: Float(number), seen: seen, changed: changed, place: coordinate))
            try db.save(
                IndexedGauge(
                    value: number, spare: spare, ratio: Float(number), seen: seen, changed: changed, place: coordinate))
        }
        return db
    }

    private func check(
        _ plain: Predicate<Gauge>, _ indexed: Predicate<IndexedGauge>, _ db: Database,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var wanted: [Int] = []
        for (place, gauge) in try db.query(Gauge.self).orderBy("id").fetch().enumerated()
        where try plain.evaluate(gauge) { wanted.append(place + 1) }
        let found = try db.query(Gauge.self).where(plain).orderBy("id").fetch().compactMap(\.id)
        #expect(found == wanted, sourceLocation: sourceLocation)
        let byIndex = try db.query(IndexedGauge.self).where(indexed).orderBy("id").fetch().compactMap(\.id)
        #expect(byIndex == wanted, "with an index", sourceLocation: sourceLocation)
    }

    @Test func noComparisonWithNaNIsTrue() throws {
        let db = try database()
        let undefined = PredicateNumberTests.numbers[0]
        try check(#Predicate { $0.value < 1 }, #Predicate { $0.value < 1 }, db)
        try check(#Predicate { $0.value <= 1 }, #Predicate { $0.value <= 1 }, db)
        try check(#Predicate { $0.value > 1 }, #Predicate { $0.value > 1 }, db)
        try check(#Predicate { $0.value >= 1 }, #Predicate { $0.value >= 1 }, db)
        try check(#Predicate { 1 > $0.value }, #Predicate { 1 > $0.value }, db)
        try check(#Predicate { 1 <= $0.value }, #Predicate { 1 <= $0.value }, db)
        try check(#Predicate { !($0.value < 1) }, #Predicate { !($0.value < 1) }, db)
        try check(#Predicate { !($0.value >= 1) }, #Predicate { !($0.value >= 1) }, db)
        try check(#Predicate { !(1 >= $0.value) }, #Predicate { !(1 >= $0.value) }, db)
        try check(#Predicate { $0.value == 1 }, #Predicate { $0.value == 1 }, db)
        try check(#Predicate { $0.value != 1 }, #Predicate { $0.value != 1 }, db)
        try check(#Predicate { $0.value == undefined }, #Predicate { $0.value == undefined }, db)
        try check(#Predicate { $0.value != undefined }, #Predicate { $0.value != undefined }, db)
        try check(#Predicate { $0.value < undefined }, #Predicate { $0.value < undefined }, db)
        try check(#Predicate { !($0.value > undefined) }, #Predicate { !($0.value > undefined) }, db)
        try check(#Predicate { $0.ratio < 1 }, #Predicate { $0.ratio < 1 }, db)
        try check(#Predicate { !($0.ratio < 1) }, #Predicate { !($0.ratio < 1) }, db)
    }

    @Test func propertiesThatAreBothNaNAreUnlike() throws {
        let db = try database()
        try check(#Predicate { $0.value == $0.value }, #Predicate { $0.value == $0.value }, db)
        try check(#Predicate { $0.value != $0.value }, #Predicate { $0.value != $0.value }, db)
        try check(#Predicate { !($0.value <= $0.value) }, #Predicate { !($0.value <= $0.value) }, db)
        try check(#Predicate { $0.spare == $0.spare }, #Predicate { $0.spare == $0.spare }, db)
        try check(#Predicate { $0.value * 2 < $0.value + 3 }, #Predicate { $0.value * 2 < $0.value + 3 }, db)
        try check(#Predicate { !($0.value - $0.value <= 0) }, #Predicate { !($0.value - $0.value <= 0) }, db)
    }

    @Test func optionalsKeepWhatSwiftSaysOfNil() throws {
        let db = try database()
        let undefined: Double? = PredicateNumberTests.numbers[0]
        let one: Double? = 1
        try check(#Predicate { $0.spare == one }, #Predicate { $0.spare == one }, db)
        try check(#Predicate { $0.spare != one }, #Predicate { $0.spare != one }, db)
        try check(#Predicate { $0.spare == undefined }, #Predicate { $0.spare == undefined }, db)
        try check(#Predicate { $0.spare != undefined }, #Predicate { $0.spare != undefined }, db)
        try check(#Predicate { $0.spare == nil }, #Predicate { $0.spare == nil }, db)
        try check(#Predicate { ($0.spare ?? 5) < 1 }, #Predicate { ($0.spare ?? 5) < 1 }, db)
        try check(
            #Predicate { $0.spare.flatMap { $0 < 1 } == true }, #Predicate { $0.spare.flatMap { $0 < 1 } == true }, db)
        try check(
            #Predicate { $0.spare.flatMap { $0 < 1 } == false }, #Predicate { $0.spare.flatMap { $0 < 1 } == false }, db
        )
        try check(
            #Predicate { !($0.spare.flatMap { $0 < 1 } ?? true) },
            #Predicate { !($0.spare.flatMap { $0 < 1 } ?? true) },
            db)
        let nowhere: Coordinate? = Coordinate(latitude: .nan, longitude: 0)
        try check(#Predicate { $0.place == nowhere }, #Predicate { $0.place == nowhere }, db)
        try check(#Predicate { $0.place != nowhere }, #Predicate { $0.place != nowhere }, db)
    }

    @Test func datesListsAndRangesLeaveNaNOut() throws {
        let db = try database()
        let day = Date(timeIntervalSinceReferenceDate: 1)
        let never = Date(timeIntervalSinceReferenceDate: .nan)
        let some: [Double] = [.nan, 1, 2.5]
        let optionals: [Double?] = [.nan, 1, nil]
        let below = ..<2.0
        let upTo = ...1.0
        try check(#Predicate { $0.seen < day }, #Predicate { $0.seen < day }, db)
        try check(#Predicate { !($0.seen < day) }, #Predicate { !($0.seen < day) }, db)
        try check(#Predicate { $0.seen == never }, #Predicate { $0.seen == never }, db)
        try check(#Predicate { $0.changed == $0.changed }, #Predicate { $0.changed == $0.changed }, db)
        try check(#Predicate { some.contains($0.value) }, #Predicate { some.contains($0.value) }, db)
        try check(#Predicate { !some.contains($0.value) }, #Predicate { !some.contains($0.value) }, db)
        try check(#Predicate { optionals.contains($0.spare) }, #Predicate { optionals.contains($0.spare) }, db)
        try check(#Predicate { below.contains($0.value) }, #Predicate { below.contains($0.value) }, db)
        try check(#Predicate { !upTo.contains($0.value) }, #Predicate { !upTo.contains($0.value) }, db)
        try check(#Predicate { (0.0...1).contains($0.value) }, #Predicate { (0.0...1).contains($0.value) }, db)
        try check(#Predicate { !(0.0..<1).contains($0.value) }, #Predicate { !(0.0..<1).contains($0.value) }, db)
    }

    @Test func anIndexAnswersAPredicateThatLeavesNaNOut() throws {
        let db = try database()
        let plan = try db.query(IndexedGauge.self).where(#Predicate { $0.value < 1 }).explain()
        #expect(plan.contains("using index value"), "\(plan)")
    }
}
