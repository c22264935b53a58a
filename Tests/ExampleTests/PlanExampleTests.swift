import Mako
import Testing

/// The examples of `docs/plans.md`.
@Suite struct PlanExampleTests {
    @Entity final class Person {
        @Attribute(.indexed) var age = 0
        var mail = ""
    }

    @Test func aPrintedExplanationEndsWithTheMissingIndex() throws {
        let db = try Database.inMemory(entities: [Person.self])
        try db.save((0..<10_000).map { Person(age: $0 % 90, mail: "\($0)@b.c") })
        let mail = "a@b.c"
        var printed: [String] = []
        func print(_ explanation: PlanExplanation) { printed.append("\(explanation)") }
        // EXAMPLE plans.md
        print(try db.query(Person.self).where("mail = ?", mail).explanation())
        // filter mail = 'a@b.c' (cost 70000)
        //   scan Person (about 10000 rows)
        //   an index over mail would help
        // EXAMPLE ends
        #expect(printed.first?.hasSuffix("an index over mail would help") == true, "\(printed)")
    }

    @Test func aTestAssertsAnIndex() throws {
        let db = try Database.inMemory(entities: [Person.self])
        // EXAMPLE plans.md
        #expect(try db.query(Person.self).where(\.age > 30).explanation().usesIndex("age"))
        // EXAMPLE ends
    }
}
