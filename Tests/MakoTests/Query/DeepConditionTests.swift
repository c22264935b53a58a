import Foundation
import Mako
import MakoTestSupport
import Testing

/// Conditions that code builds, deep and long, on threads with 512 KiB of stack.
@Suite struct DeepConditionTests {
    private static func people() throws -> Database {
        let db = try makeDatabase()
        try db.save([Person(name: "Ada", age: 36), Person(name: "Bob", age: 20), Person(name: "Cy", age: 50)])
        return db
    }

    private static let tooDeep = "this is nested too deeply; the limit is 250"

    /// A refusal by the call that runs the query.
    private static func refusal(_ db: Database, _ condition: Condition<Person>) -> String? {
        do {
            _ = try db.query(Person.self).where(condition).orderBy(\.age).fetch()
            return nil
        } catch { return "\(error)" }
    }

    @Test(arguments: [1, 100, 248, 249, 20_000])
    func negationsOfNegationsAreAnsweredOrRefused(levels: Int) async throws {
        let db = try Self.people()
        let (refusal, names) = try await onSmallStack {
            var condition: Condition<Person> = \.age > 30
            for _ in 0..<levels { condition = !condition }
            let refusal = Self.refusal(db, condition)
            let names = try? db.query(Person.self).where(condition).orderBy(\.age).fetch().map { $0.name ?? "" }
            if refusal == nil { _ = try db.query(Person.self).where(condition).explanation() }
            return (refusal, names)
        }
        if levels <= 248 {
            #expect(refusal == nil && names == (levels % 2 == 0 ? ["Ada", "Cy"] : ["Bob"]))
        } else {
            #expect(refusal?.contains(Self.tooDeep) == true && names == nil)
        }
    }

    @Test(arguments: [1, 100, 247, 248, 20_000])
    func negationsOfWhatGroupsFulfilAreAnsweredOrRefused(levels: Int) async throws {
        let db = try Self.people()
        let groups = try await onSmallStack {
            var condition: GroupCondition<Person> = .count > 0
            for _ in 0..<levels { condition = !condition }
            return try? db.query(Person.self).group(by: \.age).select(.count).having(condition).fetch().rowCount
        }
        #expect(groups == (levels > 247 ? nil : levels % 2 == 0 ? 3 : 0))
    }

    @Test(arguments: [1, 3, 20, 300, 20_000])
    func collectionsOfCollectionsAreAnsweredOrRefused(levels: Int) async throws {
        let db = try Self.people()
        let refusal = try await onSmallStack {
            var condition: Condition<Person> = \.age > 30
            for _ in 0..<levels { condition = .any(\.department.people, condition) }
            return Self.refusal(db, condition)
        }
        if levels <= 20 { #expect(refusal == nil) } else { #expect(refusal?.contains("the limit is") == true) }
    }

    @Test(arguments: [1, 50, 247, 248, 20_000])
    func orInsideAndInsideOrIsAnsweredOrRefused(levels: Int) async throws {
        let db = try Self.people()
        let refusal = try await onSmallStack {
            var condition: Condition<Person> = \.age > 30
            for level in 0..<levels {
                condition = level % 2 == 0 ? condition && \.name != "x" : \.age == level || condition
            }
            return Self.refusal(db, condition)
        }
        if levels <= 247 { #expect(refusal == nil) } else { #expect(refusal?.contains(Self.tooDeep) == true) }
    }

    @Test func longChainsAreOneLevel() async throws {
        let db = try Self.people()
        let (all, some) = try await onSmallStack {
            var all: Condition<Person> = \.age > 0
            var some: Condition<Person> = \.age == 36
            for number in 0..<1000 {
                all = all && \.age != number + 100
                some = \.age == number + 100 || some
            }
            return (try db.query(Person.self).where(all).count(), try db.query(Person.self).where(some).count())
        }
        #expect(all == 3 && some == 1)
    }

    @Test(arguments: [1, 100, 249, 250, 20_000])
    func calculationsAreDoneOrRefused(links: Int) async throws {
        let db = try Self.people()
        let refusal: String? = try await onSmallStack {
            var sum: Arithmetic<Person, Int> = \.age + 1
            for _ in 1..<links { sum = sum + 1 }
            do {
                try db.query(Person.self).where(\.age == 36).update().set(\.age, to: sum).run()
                return nil
            } catch { return "\(error)" }
        }
        if links < 250 {
            #expect(refusal == nil)
            #expect(try await db.query(Person.self).where("age = ?", 36 + links).count() == 1)
        } else {
            #expect(refusal?.contains(Self.tooDeep) == true)
        }
    }

    private static func nested(
        _ inner: some StandardPredicateExpression<Bool>, _ levels: Int
    ) -> any StandardPredicateExpression<Bool> {
        levels == 0 ? inner : nested(PredicateExpressions.build_Negation(inner), levels - 1)
    }

    @Test(arguments: [2, 30, 97, 98])
    func predicatesAreTranslatedOnASmallStack(levels: Int) async throws {
        let db = try Self.people()
        let (count, refusal) = try await onSmallStack {
            let predicate = Predicate<Person> { person in
                Self.nested(
                    PredicateExpressions.build_Comparison(
                        lhs: PredicateExpressions.build_KeyPath(root: person, keyPath: \.age),
                        rhs: PredicateExpressions.build_Arg(30), op: .greaterThan), levels)
            }
            do { return (try db.query(Person.self).where(predicate).count(), "") } catch { return (0, "\(error)") }
        }
        #expect(levels < 98 ? count == (levels % 2 == 0 ? 2 : 1) : refusal.contains("it is nested too deeply"))
    }

    /// A text with values, beside other conditions, in orders, sums and statements.
    @Test func deepTextsWorkInEveryAPI() async throws {
        let db = try Self.people()
        let deep = String(repeating: "abs(", count: 90) + "age" + String(repeating: ")", count: 90)
        let counts = try await onSmallStack {
            let query = db.query(Person.self).where(WhereText(text: deep + " > ?"), 30)
            let other = query.where(\.age > 0).where(text: deep + " < 99")
            return [
                try query.count(), try query.orderBy(deep).fetch().count, try other.count(),
                Int(try query.total(deep)) - 84,
                try db.rawQuery(text: "SELECT name FROM Person WHERE \(deep) > ?", 30).rowCount, try query.delete(),
            ]
        }
        #expect(counts == [2, 2, 2, 2, 2, 2])
    }
}
