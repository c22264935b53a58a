import Foundation
import Mako
import MakoTestSupport
import Testing

@Entity final class Guest {
    #Index<Guest>([\.age], [\.name], [\.rooms])
    var name: String?
    var age: Int?
    var rooms = 0
    var isRegular = false
    var isMember: Bool?
    var born: Date?
    var host: Guest?
}

/// A condition as text and by key paths, and what it means: nil is SQL's unknown.
private struct Said {
    var text: String
    var values: [String: (any ConditionValue)?] = [:]
    var typed: Condition<Guest>
    var holds: (Guest) -> Bool?
}

/// The meaning of a condition does not depend on the language in which it is written.
///
/// The rule for nil: in a text a comparison with nil is unknown, and so is its negation by NOT. Key paths follow the
/// same rule except for `!=`, which is Swift's: nil differs from any value. A `#Predicate` follows Swift in everything,
/// `!` included.
@Suite struct FrontEndTests {
    private static let names: [String?] = ["Ada", "bob", "Abel", "Øyvind", "", nil]

    private func guests() throws -> (Database, [Guest]) {
        let db = try makeDatabase([Guest.self])
        var guests: [Guest] = []
        for number in 0..<60 {
            let guest = Guest()
            guest.name = Self.names[number % 6]
            guest.age = number % 5 == 0 ? nil : number % 23
            guest.rooms = number % 7
            guest.isRegular = number % 2 == 0
            guest.isMember = number % 3 == 0 ? nil : number % 4 == 0
            guest.born = number % 4 == 0 ? nil : day(number % 11)
            guest.host = number % 3 == 0 ? nil : guests[number / 2]
            guests.append(guest)
        }
        try db.save(guests)
        return (db, guests)
    }

    private func day(_ number: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(number) * 86_400) }

    // MARK: Text and key paths

    /// One comparison.
    private func leaf(_ random: inout SplitMix, _ number: Int) -> Said {
        let value = Int.random(in: 0...25, using: &random)
        let few = value % 7
        let name = Self.names[value % 5] ?? ""
        let letter = value % 2 == 0 ? "a" : "b"
        let list = (0..<Int.random(in: 0...3, using: &random)).map { ($0 * 5 + value) % 7 }
        let date = day(value % 11)
        let p = "p\(Int.random(in: 0...1_000_000_000, using: &random))"
        switch number {
        case 0:
            return Said(text: "age > :\(p)", values: [p: value], typed: \.age > value) { $0.age.map { $0 > value } }
        case 1:
            return Said(text: "age = :\(p)", values: [p: value], typed: \.age == value) { $0.age.map { $0 == value } }
        case 2:
            return Said(text: "(age != :\(p) OR age IS NULL)", values: [p: value], typed: \.age != value) {
                $0.age != value
            }
        case 3: return Said(text: "rooms <= :\(p)", values: [p: few], typed: \.rooms <= few) { $0.rooms <= few }
        case 4:
            return Said(text: "rooms IN :\(p)", values: [p: list], typed: \.rooms << list) { list.contains($0.rooms) }
        case 5:
            return Said(text: "age NOT IN (:\(p))", values: [p: list], typed: \.age !<< list) { guest in
                list.isEmpty ? true : guest.age.map { !list.contains($0) }
            }
        case 6: return Said(text: "name IS NULL", typed: \.name == nil) { $0.name == nil }
        case 7:
            return Said(text: "name = :\(p)", values: [p: name], typed: \.name == name) { $0.name.map { $0 == name } }
        case 8:
            return Said(text: "name LIKE :\(p)", values: [p: "%\(letter)%"], typed: \.name ~= "%\(letter)%") {
                $0.name.map { $0.lowercased().contains(letter) }
            }
        case 9: return Said(text: "isRegular", typed: \.isRegular == true) { $0.isRegular }
        case 10: return Said(text: "NOT isRegular", typed: !\.isRegular) { !$0.isRegular }
        case 11:
            return Said(text: "born >= :\(p)", values: [p: date], typed: \.born >= date) { $0.born.map { $0 >= date } }
        case 12:
            return Said(
                text: "rooms BETWEEN :\(p) AND :\(p) + 2", values: [p: few], typed: \.rooms << (few...few + 2)
            ) { (few...few + 2).contains($0.rooms) }
        case 13:
            return Said(text: "age < :\(p)", values: [p: value], typed: \.age << (..<value)) {
                $0.age.map { $0 < value }
            }
        case 14:
            return Said(text: "NOT age >= :\(p)", values: [p: value], typed: \.age !<< (value...)) {
                $0.age.map { $0 < value }
            }
        case 15:
            return Said(text: "host.age < :\(p)", values: [p: value], typed: \.host.age < value) {
                $0.host?.age.map { $0 < value }
            }
        case 16: return Said(text: "host IS NULL", typed: \.host == nil) { $0.host == nil }
        default: return Said(text: "isMember = TRUE", typed: \.isMember == true) { $0.isMember }
        }
    }

    private func tree(_ random: inout SplitMix, depth: Int) -> Said {
        if depth == 0 { return leaf(&random, Int.random(in: 0...17, using: &random)) }
        let left = tree(&random, depth: depth - 1)
        switch Int.random(in: 0...3, using: &random) {
        case 0:
            return Said(text: "NOT (\(left.text))", values: left.values, typed: !left.typed) {
                left.holds($0).map { !$0 }
            }
        case 1: return left
        case let which:
            let right = tree(&random, depth: depth - 1)
            let values = left.values.merging(right.values) { first, _ in first }
            if which == 2 {
                return Said(
                    text: "((\(left.text)) AND (\(right.text)))", values: values, typed: left.typed && right.typed
                ) { guest in
                    let (a, b) = (left.holds(guest), right.holds(guest))
                    return a == false || b == false ? false : (a == nil || b == nil ? nil : true)
                }
            }
            return Said(text: "((\(left.text)) OR (\(right.text)))", values: values, typed: left.typed || right.typed) {
                guest in
                let (a, b) = (left.holds(guest), right.holds(guest))
                return a == true || b == true ? true : (a == nil || b == nil ? nil : false)
            }
        }
    }

    @Test func textsAndKeyPathsMeanTheSame() throws {
        let (db, guests) = try guests()
        let all = db.query(Guest.self)
        for seed in 0..<300 {
            var random = SplitMix(seed: UInt64(seed))
            let said =
                seed < 36 ? leaf(&random, seed % 18) : tree(&random, depth: Int.random(in: 0...3, using: &random))
            let text = all.where(text: said.text, named: NamedValues(said.values))
            let typed = all.where(said.typed)
            let expected = guests.filter { said.holds($0) == true }.compactMap(\.id)
            #expect(try text.orderBy(\.id).ids() == expected, "\(seed): \(said.text)")
            #expect(try typed.orderBy(\.id).ids() == expected, "\(seed): \(said.text)")
            let plans = (try text.explanation().chosen, try typed.explanation().chosen)
            #expect(plans.0.indexes == plans.1.indexes && plans.0.cost == plans.1.cost, "\(seed): \(said.text)")
        }
    }

    // MARK: Predicates

    private func check(
        _ predicate: Predicate<Guest>, _ others: Query<Guest>..., among all: Query<Guest>, _ guests: [Guest]
    ) throws {
        let expected = try guests.filter { try predicate.evaluate($0) }.compactMap(\.id)
        let filtered = all.where(predicate)
        #expect(try filtered.orderBy(\.id).ids() == expected, "\(predicate)")
        for other in others {
            #expect(try other.orderBy(\.id).ids() == expected, "\(predicate)")
            #expect(try other.explanation().chosen.indexes == filtered.explanation().chosen.indexes, "\(predicate)")
        }
    }

    @Test func predicatesMeanTheSame() throws {
        let (db, guests) = try guests()
        let all = db.query(Guest.self)
        for value in [0, 1, 3, 7, 22, 30] {
            let few = value % 7
            let list = (0..<value % 4).map { $0 * 2 }
            let name = Self.names[value % 5] ?? ""
            let date = day(few)
            let never = Date.distantPast
            try check(
                #Predicate { $0.age == value }, all.where(\.age == value), all.where("age = ?", value), among: all,
                guests)
            try check(
                #Predicate { $0.age != value }, all.where(\.age != value),
                all.where("age != ? OR age IS NULL", value), among: all, guests)
            try check(
                #Predicate { $0.rooms <= few && $0.isRegular }, all.where(\.rooms <= few && \.isRegular),
                all.where("rooms <= ? AND isRegular", few), among: all, guests)
            try check(
                #Predicate { $0.rooms <= few || !$0.isRegular }, all.where(\.rooms <= few || !\.isRegular),
                all.where("rooms <= \(few) OR NOT isRegular"), among: all, guests)
            try check(
                #Predicate { list.contains($0.rooms) }, all.where(\.rooms << list), all.where("rooms IN ?", list),
                among: all, guests)
            try check(
                #Predicate { !list.contains($0.rooms) }, all.where(\.rooms !<< list),
                all.where("rooms NOT IN (\(list))"), among: all, guests)
            try check(
                #Predicate { $0.name == name || $0.name == nil }, all.where(\.name == name || \.name == nil),
                all.where("name = :n OR name IS NULL", named: ["n": name]), among: all, guests)
            try check(
                #Predicate { (few...few + 2).contains($0.rooms) }, all.where(\.rooms << (few...few + 2)),
                all.where("rooms BETWEEN ? AND ?", few, few + 2), among: all, guests)
            try check(
                #Predicate { ($0.born ?? never) >= date }, all.where(\.born >= date),
                all.where("born >= \(date)"), among: all, guests)
            try check(
                #Predicate { ($0.name ?? "").contains("b") }, all.where("name GLOB '*b*'"), among: all, guests)
            try check(
                #Predicate { $0.isMember == true }, all.where(\.isMember == true), all.where("isMember"), among: all,
                guests)
        }
        // The negation of unknown: unknown in texts and by key paths, true in Swift.
        #expect(try all.where("NOT age = 3").count() == all.where(!(\.age == 3)).count())
        let swift = #Predicate<Guest> { !($0.age == 3) }
        #expect(try all.where(swift).count() == all.where(\.age != 3).count())
        #expect(try all.where(swift).count() > all.where(!(\.age == 3)).count())
    }
}
