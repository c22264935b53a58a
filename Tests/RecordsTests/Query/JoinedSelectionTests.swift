import MakoRecords
import MakoStorage
import Testing

/// Selections with joins that lead to no key, so that a row may come more than once.
@Suite struct JoinedSelectionTests {
    private func joined(
        _ fixture: Fixture, _ joins: [SelectionJoin], order: String = "", limit: Int? = nil, table: String = "Person"
    ) throws -> JoinedSelection {
        var selection = Selection(table: table, orderBy: order.isEmpty ? [] : try Order.parse(order), limit: limit)
        selection.joins = joins
        return try #require(try JoinedSelection(selection, fixture.catalogue))
    }

    private static let pets = SelectionJoin(table: "Pet", name: "Pet", left: .path("id"), target: .path("owner"))
    private static let places = SelectionJoin(
        table: "Department", name: "Place", left: .path("department"), target: .path("id"))

    @Test func rowsComeAsOftenAsTheyAreJoined() throws {
        let fixture = try JoinFixture.make()
        let view = try fixture.store.snapshot()
        let all = try joined(fixture, [Self.pets, Self.places], order: "Pet.id DESC, id")
        #expect(try all.keys(in: view) == [3, 1, 1, 2, 4, 5].map { .rowID($0) })
        #expect(try all.rows(in: view).map(\.key) == all.keys(in: view))
        #expect(try all.rows(in: view)[0].joined["Pet.kind"] == .text("bird"))
        #expect(try all.rows(in: view)[5].joined["Place.name"] == .some(.null))
        #expect(try all.count(in: view) == 6)
        #expect(try all.aggregate(.sum, of: .path("age"), in: view) == .integer(36 + 36 + 50 + 40 + 36 + 20))
        #expect(try all.aggregate(.count, of: .path("Pet.kind"), in: view) == .integer(3))
        var inner = Self.pets
        inner.isInner = true
        #expect(try joined(fixture, [inner]).count(in: view) == 3)
    }

    @Test func limitsCountWhatIsJoined() throws {
        let fixture = try JoinFixture.make()
        let view = try fixture.store.snapshot()
        let few = try joined(fixture, [Self.pets], order: "id", limit: 2)
        #expect(try few.keys(in: view) == [.rowID(1), .rowID(1)])
        #expect(try few.count(in: view) == 2)
        #expect(try few.aggregate(.sum, of: .path("age"), in: view) == nil)
    }

    @Test func tablesWithKeysOfTheirOwn() throws {
        let fixture = try JoinFixture.make()
        let pets = SelectionJoin(table: "Pet", name: "Pet", left: .path("code"), target: .path("kind"))
        let all = try joined(fixture, [pets], order: "code, Pet.id", table: "Kind")
        let (bird, cat) = (RowKey(values: [.text("bird")]), RowKey(values: [.text("cat")]))
        #expect(try all.keys(in: fixture.store.snapshot()) == [bird, cat, cat])
    }

    @Test func theyExplainThemselves() throws {
        let fixture = try JoinFixture.make(more: 400)
        let view = try fixture.store.snapshot()
        let all = try joined(fixture, [Self.pets, Self.places], order: "age", limit: 1)
        let plain = try all.planExplanation(in: view)
        #expect(plain.chosen.text == plain.plan.summary && plain.plan.text == "limit 1" && plain.analysis == nil)
        #expect(Set(plain.chosen.indexes).isSubset(of: ["Person.age", "Pet.owner"]))
        #expect(try all.planExplanation(in: view, analyzing: true).analysis?.rows == 1)
    }

    @Test func joinsThatAreNoneAreRefused() throws {
        let fixture = try JoinFixture.make()
        let view = try fixture.store.snapshot()
        func refusal(_ joins: [SelectionJoin]) throws -> String {
            let joined = try joined(fixture, joins)
            return "\(String(describing: Fixture.error { _ = try joined.rows(in: view) }))"
        }
        func other(
            _ name: String, _ left: Expr = .path("id"), _ target: Expr = .path("owner")
        ) -> SelectionJoin { SelectionJoin(table: "Pet", name: name, left: left, target: target) }
        let three = Expr.literal(.integer(3))
        var selection = Selection(table: "Person", condition: .isNull(.column([])))
        selection.joins = [Self.pets]
        let nameless = try #require(try JoinedSelection(selection, fixture.catalogue))
        #expect(
            "\(String(describing: Fixture.error { _ = try nameless.rows(in: view) }))".contains("a name is expected"))
        #expect(try refusal([Self.pets, Self.pets]).contains("two joins are called Pet"))
        #expect(try refusal([other("person")]).contains("person is the query's own table"))
        #expect(try refusal([other("Pet", three)]).contains("a join names two columns"))
        #expect(try refusal([other("Other", .path("id"), three), Self.pets]).contains("a join names two columns"))
        #expect(
            try refusal([other("Pet", .path("id"), .path("x.owner"))]).contains(
                "a join leads to a column of Pet itself"))
        #expect(
            try refusal([other("Pet", .path("id"), .path("Pet.x.owner"))]).contains("leads to a column of Pet itself"))
    }
}
