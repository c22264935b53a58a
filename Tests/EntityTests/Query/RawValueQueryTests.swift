import Mako
import Testing

private enum Kind: String, Sendable { case pump, tap, valve }

private enum Grade: Int, Comparable, Codable {
    case low = 1
    case middle, high

    static func < (left: Grade, right: Grade) -> Bool { left.rawValue < right.rawValue }
}

/// Conforms to the protocol of stored values itself.
private enum Finish: Int, StorableValue, Comparable {
    case matt, gloss

    static func < (left: Finish, right: Finish) -> Bool { left.rawValue < right.rawValue }
}

@Entity private final class Fitting {
    var name: String = ""
    var kind: Kind = Kind.tap
    var spare: Kind?
    var grade: Grade = Grade.low
    var goal: Grade?
    var finish: Finish = Finish.matt
    var coat: Finish?
    var fits: [Kind] = []
    var grades: [Grade] = []
}

private enum Taps: String, Sendable { case tap }

@Entity("Fitting", partial: true) private final class TapsOnly {
    var kind: Taps = Taps.tap
}

/// Queries of enumerations with raw values that conform to no protocol of Mako.
@Suite struct RawValueQueryTests {
    private let db: Database

    init() throws {
        db = try Database.inMemory(entities: [Fitting.self])
        let (first, second, third) = (Fitting(), Fitting(), Fitting())
        (first.name, first.kind, first.grade, first.finish) = ("1", .pump, .low, .gloss)
        (first.fits, first.grades) = ([.tap, .valve], [.high])
        (second.name, second.kind, second.spare, second.grade, second.goal) = ("2", .tap, .valve, .middle, .high)
        (second.fits, second.coat) = ([.pump], .gloss)
        (third.name, third.kind, third.spare, third.grade, third.goal) = ("3", .valve, .pump, .high, .low)
        third.grades = [.low, .high]
        try db.save([first, second, third])
    }

    private func names(_ condition: Condition<Fitting>) throws -> [String] {
        try db.query(Fitting.self).where(condition).orderBy(\.name).fetch().map(\.name)
    }

    private func names(_ condition: (Columns<Fitting>) -> Condition<Fitting>) throws -> [String] {
        try db.query(Fitting.self).where(condition).orderBy(\.name).fetch().map(\.name)
    }

    @Test func listsAreComparedByRawValues() throws {
        #expect(try names(\.kind << [.pump, .valve]) == ["1", "3"])
        #expect(try names(\.kind !<< [.pump, .valve]) == ["2"])
        #expect(try names(\.spare << [.pump, .tap]) == ["3"])
        #expect(try names(\.spare !<< [.pump, .tap]) == ["2"])
        #expect(try names(\.kind << []).isEmpty)
    }

    @Test func rangesAreComparedByRawValues() throws {
        #expect(try names(\.grade << (.middle ... .high)) == ["2", "3"])
        #expect(try names(\.grade << (Grade.low..<Grade.high)) == ["1", "2"])
        #expect(try names(\.grade !<< (...Grade.middle)) == ["3"])
        #expect(try names(\.goal << (Grade.middle...)) == ["2"])
        #expect(try names(\.goal !<< (Grade.middle...)) == ["3"])
    }

    @Test func closuresTakeListsAndRanges() throws {
        #expect(try names { [.pump, .tap].contains($0.kind) } == ["1", "2"])
        #expect(try names { [Kind.pump].contains($0.spare) } == ["3"])
        #expect(try names { $0.kind.in([.tap]) || $0.spare.in([.pump]) } == ["2", "3"])
        #expect(try names { (Grade.middle...).contains($0.grade) } == ["2", "3"])
        #expect(try names { (Grade.low ... .middle).contains($0.goal) } == ["3"])
    }

    @Test func collectionsContainValues() throws {
        #expect(try names(.contains(\.fits, .tap)) == ["1"] && names(.contains(\.fits, .pump)) == ["2"])
        #expect(try names(.contains(\.grades, .high)) == ["1", "3"] && names(.contains(\.grades, .middle)).isEmpty)
    }

    @Test func extremesAndDistinctValuesAreOfTheType() throws {
        let query = db.query(Fitting.self)
        #expect(try query.min(\.kind) == .pump && query.max(\.kind) == .valve)
        #expect(try query.min(\.spare) == .pump && query.max(\.goal) == .high && query.max(\.grade) == .high)
        #expect(try query.where(\.name == "0").min(\.kind) == nil && query.where(\.name == "1").max(\.spare) == nil)
        #expect(try query.distinct(\.kind) == [.pump, .tap, .valve])
        #expect(try query.distinct(\.grade, .descending) == [.high, .middle, .low])
        #expect(try query.distinct(\.spare) == [nil, .pump, .valve])
    }

    @Test func theFirstWithAValueIsFound() throws {
        let found = try Database.withDefault(db) {
            [
                try Fitting.first(\.kind, equals: .valve), try Fitting.first(\.spare, equals: .valve),
                try Fitting.first(\.goal, equals: nil), try Fitting.first(\.goal, equals: .middle),
            ]
        }
        #expect(found.map { $0?.name } == ["3", "2", "1", nil])
    }

    @Test func typesThatAreStorableThemselvesAreComparedAsStored() throws {
        #expect(try names(\.finish << [.gloss]) == ["1"] && names(\.coat << [.gloss]) == ["2"])
        #expect(try names(\.finish << (Finish.matt...)) == ["1", "2", "3"])
        #expect(try names { [.gloss].contains($0.finish) } == ["1"] && names { $0.coat.in([.gloss]) } == ["2"])
        let query = db.query(Fitting.self)
        #expect(try query.min(\.finish) == .matt && query.max(\.coat) == .gloss)
        #expect(try query.distinct(\.finish) == [.matt, .gloss])
        let glossy = try Database.withDefault(db) { try Fitting.first(\.finish, equals: .gloss) }
        #expect(glossy?.name == "1")
    }

    @Test func asyncFormsReturnTheSame() async throws {
        let query = db.query(Fitting.self)
        let (least, most) = (try await query.min(\.kind), try await query.max(\.kind))
        let (spare, goal) = (try await query.min(\.spare), try await query.max(\.goal))
        let (kinds, spares) = (try await query.distinct(\.kind), try await query.distinct(\.spare))
        #expect(least == .pump && most == .valve && spare == .pump && goal == .high)
        #expect(kinds == [.pump, .tap, .valve] && spares == [nil, .pump, .valve])
        let found = try await Database.withDefault(db) {
            (try await Fitting.first(\.kind, equals: .tap), try await Fitting.first(\.spare, equals: .pump))
        }
        #expect(found.0?.name == "2" && found.1?.name == "3")
    }

    @Test func aStoredRawValueThatTheTypeLacksIsAnError() throws {
        let mismatch = MakoError.typeMismatch(entity: "TapsOnly", property: "min", expected: "Taps", found: "'pump'")
        #expect(throws: mismatch) { try db.query(TapsOnly.self).min(\.kind) }
        #expect(throws: MakoError.self) { try db.query(TapsOnly.self).distinct(\.kind) }
    }
}
