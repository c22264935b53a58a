import Foundation
import Mako
import MakoTestSupport

/// Entities with properties of many types.
enum Fleet {
    enum Rank: Int, Codable, Sendable, CaseIterable { case mate = 1, captain, admiral }

    struct Papers: Codable, Equatable, Sendable {
        var flag: String
        var tons: Int
    }

    @Entity("Harbour") final class Harbour {
        var name = ""
        var depth = 0
    }

    @Entity("Harbour", partial: true) struct HarbourName {
        var name: String
    }

    @Entity struct Ship {
        var name: String
        var crew: Int
        var length: Double
        var draught: Double?
        var built: Date
        var scrapped: Date?
        var number: UUID
        var isFast: Bool
        var isInsured: Bool?
        var plan: Data
        var rank: Rank
        var nickname: String?
        var place: Coordinate
        var papers: Papers
        var value: Decimal?
        var home: ToOne<Harbour>
    }

    @Entity struct Port {
        @Attribute(.primaryKey) var code: String
        var piers: Int
    }

    /// A struct that holds structs of other rows.
    @Entity struct Voyage {
        var name: String
        var start: Port?
    }
}

extension Fleet {
    static let names = ["Alba", "alba", "Bora", "bora", "Ärger", "", "Zoë", "a%b_c", "it's", "Al"]
    static let numbers = (0..<6).map { UUID(uuid: (0x80, $0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $0 ^ 3)) }

    static func pick<V>(_ values: [V], _ random: inout SplitMix) -> V { values[random.below(values.count)] }

    /// In quarters of a second, which the mirror has exactly.
    static func date(_ random: inout SplitMix) -> Date {
        Date(timeIntervalSinceReferenceDate: Double(random.below(4000) - 2000) / 4)
    }

    static func plan(_ random: inout SplitMix) -> Data { Data((0..<random.below(3)).map { UInt8($0 * 100) }) }

    static func ship(_ harbours: [Harbour], _ random: inout SplitMix) -> Ship {
        func maybe<V>(_ value: V) -> V? { random.chance(30) ? nil : value }
        let scrapped = date(&random)
        return Ship(
            name: pick(names, &random), crew: random.below(9) - 2, length: Double(random.below(40)) / 4,
            draught: maybe([0.25, 2, 7.5, .nan, .infinity, -.infinity][random.below(6)]), built: date(&random),
            scrapped: maybe(scrapped), number: pick(numbers, &random), isFast: random.chance(50),
            isInsured: maybe(random.chance(50)), plan: plan(&random), rank: pick(Rank.allCases, &random),
            nickname: maybe(pick(names, &random)),
            place: Coordinate(latitude: Double(random.below(5)), longitude: Double(random.below(5)) - 0.5),
            papers: Papers(flag: pick(names, &random), tons: random.below(5)),
            value: maybe(Decimal(random.below(1000)) / 100),
            home: ToOne(harbours.isEmpty ? nil : maybe(pick(harbours, &random))))
    }

    /// All properties; dates in microseconds.
    static func text(_ ship: Ship) -> String {
        let values: [Any?] = [
            ship.id, ship.name, ship.crew, ship.length, ship.draught, micros(ship.built), ship.scrapped.map(micros),
            ship.number, ship.isFast, ship.isInsured, [UInt8](ship.plan), ship.rank, ship.nickname,
            ship.place.latitude, ship.place.longitude, ship.papers, ship.value,
        ]
        let texts = values.map { value in value.map { "\($0)" } ?? "nil" }
        return (texts + ["\(ship.home.hashValue)"]).joined(separator: "|")
    }

    static func micros(_ date: Date) -> Double { (date.timeIntervalSinceReferenceDate * 1e6).rounded() }

    /// A random typed condition.
    static func condition(_ random: inout SplitMix, depth: Int = 2) -> Condition<Ship> {
        if depth > 0, random.chance(40) {
            let (left, right) = (condition(&random, depth: depth - 1), condition(&random, depth: depth - 1))
            switch random.below(3) {
            case 0: return left && right
            case 1: return left || right
            default: return !left
            }
        }
        return random.chance(50) ? plainCondition(&random) : optionalCondition(&random)
    }

    private static func plainCondition(_ random: inout SplitMix) -> Condition<Ship> {
        let (number, name, date) = (random.below(8) - 1, pick(names, &random), date(&random))
        switch random.below(12) {
        case 0: return \.crew > number
        case 1: return \.crew <= number
        case 2: return \.crew << [number, 2, 5]
        case 3: return \.length >= Double(number)
        case 4: return \.name == name
        case 5: return \.name < name
        case 6: return \.name ~= "%\(name)%"
        case 7: return \.built > date
        case 8: return \.isFast == true
        case 9: return \.rank >= Rank.captain
        case 10:
            let wanted = pick(numbers, &random)
            return \.number != wanted
        default:
            let wanted = plan(&random)
            return \.plan == wanted
        }
    }

    private static func optionalCondition(_ random: inout SplitMix) -> Condition<Ship> {
        let (number, name, date) = (Double(random.below(8)), pick(names, &random), date(&random))
        switch random.below(10) {
        case 0: return \.draught < number
        case 1: return \.draught == nil
        case 2: return \.scrapped <= date
        case 3: return \.scrapped != nil
        case 4: return \.isInsured == false
        case 5: return \.nickname != name
        case 6: return \.nickname > name
        case 7: return \.place.latitude > number
        case 8: return \.home.name == name
        default: return \.home.depth > Int(number)
        }
    }

    /// A random typed query with a total order, unless it has neither order nor limit.
    static func query(_ db: Database, _ random: inout SplitMix) -> (query: Query<Ship>, isOrdered: Bool) {
        var query = db.query(Ship.self)
        for _ in 0..<random.below(3) { query = query.where(condition(&random)) }
        if random.chance(25) { query = query.joinTo(\.home, random.chance(50) ? .inner : .left) }
        if random.chance(20) { return (query, false) }
        let direction: SortDirection = random.chance(50) ? .ascending : .descending
        switch random.below(9) {
        case 0: query = query.orderBy(\.name, direction)
        case 1: query = query.orderBy(\.crew, direction)
        case 2: query = query.orderBy(\.draught, direction)
        case 3: query = query.orderBy(\.built, direction)
        case 4: query = query.orderBy(\.rank, direction)
        case 5: query = query.orderBy(\.number, direction)
        case 6: query = query.orderBy(\.nickname, direction)
        case 7: query = query.orderBy(\.home.name, direction)
        default: query = query.orderBy(\.plan, direction)
        }
        query = query.orderBy("id")
        if random.chance(40) { query = query.limit(random.below(12)) }
        if random.chance(30) { query = query.offset(random.below(6)) }
        return (query, true)
    }
}
