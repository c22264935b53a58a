import Foundation
import MakoRecords
import MakoStorage
import Testing

/// An index of decimals serves queries for equal values only. It has the order of texts, so other queries sort and test
/// rows.
@Suite struct DecimalPlanTests {
    private let fixture: Fixture
    private let catalogue: Catalogue

    init() throws {
        fixture = try Fixture(
            EntitySchema(
                name: "Item",
                columns: [
                    ColumnSchema("price", .text, isOptional: true), ColumnSchema("old", .text, isOptional: true),
                    ColumnSchema("name", .text),
                ], indexes: [IndexSchema("byPrice", [IndexColumn("price")])]))
        // 0 to 24.75 in quarters, negative ones, nothing, and twice each.
        let rows: [[Value]] = (0..<200).map { number in
            let price = number % 40 == 39 ? nil : Decimal(number / 2) / 4 * (number % 10 == 7 ? -1 : 1)
            return [Self.value(price), Self.value(price.map { $0 + Decimal(number % 3) - 1 }), .text("n\(number % 7)")]
        }
        try fixture.insertAll("Item", rows)
        catalogue = fixture.catalogue.describing(["Item": TableRelations(decimals: ["price", "old"])])
    }

    private static func value(_ decimal: Decimal?) -> Value { decimal.map { .text("\($0)") } ?? .null }

    private func selection(_ text: String, _ values: [Value], _ order: String) throws -> Selection {
        Selection(
            table: "Item", condition: text.isEmpty ? nil : try .parse(text), parameters: values,
            orderBy: order.isEmpty ? [] : try Order.parse(order))
    }

    private func plan(_ text: String, _ values: [Value] = [], orderBy order: String = "") throws -> String {
        try selection(text, values, order).explanation(catalogue).chosen.text
    }

    /// The prices that are found, and those of a look at each row.
    private func prices(
        _ text: String, _ values: [Value] = [], orderBy order: String = "", _ isWanted: (Decimal?) -> Bool
    ) throws -> (found: [Decimal?], wanted: [Decimal?]) {
        let view = try fixture.store.snapshot()
        func read(_ plan: Plan) throws -> [Decimal?] {
            try plan.rows([.path("price")], in: view).map { row in
                guard case .text(let text)? = row.first else { return nil }
                return Decimal(string: text)
            }
        }
        let all = try read(Selection(table: "Item").plan(catalogue)).filter(isWanted)
        return (try read(selection(text, values, order).plan(catalogue, in: view)), all)
    }

    private func expectSame(_ answer: (found: [Decimal?], wanted: [Decimal?]), _ text: String) {
        func sorted(_ list: [Decimal?]) -> [Decimal?] { list.sorted { ($0 ?? -1000) < ($1 ?? -1000) } }
        #expect(!answer.wanted.isEmpty && sorted(answer.found) == sorted(answer.wanted), "\(text)")
    }

    @Test func equalValuesAreFoundByTheIndex() throws {
        let expected = "search Item using index byPrice (price = '9.5')"
        #expect(try plan("price = 9.5") == expected)
        #expect(try plan("price = '9.50'") == expected)
        #expect(try plan("'09.500' = price") == expected)
        #expect(try plan("price = ?", [.text("9.5000")]) == expected)
        #expect(try plan("price IS NULL") == "search Item using index byPrice (price IS NULL)")
        for text in ["price = 9.5", "price = '9.50'", "9.500 = price"] {
            try expectSame(prices(text) { $0 == 9.5 }, text)
        }
        // A cached plan is reused with other values, in whatever notation.
        for value in [Value.text("9.50"), .text("9.5"), .double(9.5), .text("0009.5"), .text("9.500")] {
            try expectSame(prices("price = ?", [value]) { $0 == 9.5 }, "\(value)")
        }
        try expectSame(prices("price = ?", [.integer(12)]) { $0 == 12 }, "12")
        try expectSame(prices("price IS NULL") { $0 == nil }, "NULL")
    }

    @Test func valuesOfAListAreFoundByTheIndex() throws {
        let expected = "search Item using index byPrice (price IN ('1', '2.5'))"
        #expect(try plan("price IN (1, 2.50)") == expected)
        #expect(try plan("price = 1.0 OR price = '2.500'") == expected)
        try expectSame(prices("price IN ('1.00', 2.5, 7777)") { $0 == 1 || $0 == 2.5 }, "IN")
        // As others ask for it: a sub-query's list, and a value of the row around.
        #expect(
            try plan("price IN (SELECT old FROM Item WHERE id = 30)").hasPrefix(
                "search Item by row ids"))
        let old = try rows("SELECT old FROM Item WHERE id = 30")[0][0]
        #expect(old == .text("4.5"))
        try expectSame(prices("price IN (SELECT old FROM Item WHERE id = 30)") { $0 == 4.5 }, "IN SELECT")
        let linked = "EXISTS (SELECT 1 FROM Item o WHERE o.price = Item.old AND o.name = 'n3')"
        #expect(
            try selection(linked, [], "").explanation(catalogue).plan.outline.contains("using index byPrice (price)"))
        let wanted = try rows(
            "SELECT DISTINCT a.id FROM Item a JOIN Item o ON o.price = a.old WHERE o.name = 'n3' ORDER BY 1")
        #expect(wanted.count > 10)
        #expect(try rows("SELECT id FROM Item WHERE \(linked) ORDER BY id") == wanted)
        #expect(try rows("SELECT 1 FROM Item WHERE id = 1 AND '4.50' IN (SELECT price FROM Item)").count == 1)
        #expect(try rows("SELECT 1 FROM Item WHERE id = 1 AND 4.3 IN (SELECT price FROM Item)").isEmpty)
    }

    /// `'10'` sorts before `'9'` in the index.
    @Test func rangesTestEachRow() throws {
        #expect(try plan("price > 9") == "scan Item, then filter price > '9'")
        #expect(try plan("price BETWEEN 2 AND 10.50") == "scan Item, then filter price >= '2' AND price <= '10.5'")
        try expectSame(prices("price > 9") { $0.map { $0 > 9 } ?? false }, ">")
        try expectSame(prices("price <= '10.0'") { $0.map { $0 <= 10 } ?? false }, "<=")
        try expectSame(prices("price BETWEEN 2 AND 10.50") { $0.map { $0 >= 2 && $0 <= 10.5 } ?? false }, "BETWEEN")
        try expectSame(prices("price < -2 OR price > 20") { $0.map { $0 < -2 || $0 > 20 } ?? false }, "OR")
        // The index finds equal values, and the rest is tested.
        #expect(
            try plan("price = 9.5 AND price > old")
                == "search Item using index byPrice (price = '9.5'), then filter price > old")
    }

    @Test func ordersAreSorted() throws {
        #expect(try plan("", orderBy: "price") == "scan Item, sort by price")
        #expect(try plan("", orderBy: "price DESC") == "scan Item, sort by price DESC")
        // Of one value there is nothing to sort.
        #expect(try plan("price = 9.5", orderBy: "price") == "search Item using index byPrice (price = '9.5')")
        let found = try prices("price IS NOT NULL", orderBy: "price") { $0 != nil }.found.map { $0 ?? 0 }
        #expect(found.count > 100 && found == found.sorted())
        let falling = try prices("price > 3", orderBy: "price DESC, id") { $0 != nil }.found.map { $0 ?? 0 }
        #expect(falling.count > 100 && falling == falling.sorted(by: >))
    }

    private func rows(_ text: String) throws -> [[Value]] {
        try SelectStatement.parse(text).run(catalogue, view: fixture.store.snapshot()).rows
    }

    @Test func joinsOfEqualValuesUseTheIndex() throws {
        let text = "SELECT a.id FROM Item a JOIN Item b ON b.price = a.old WHERE a.id = 30"
        #expect(
            try SelectStatement.parse(text).explanation(catalogue).outline
                == """
                join Item AS b using index byPrice (a.old), test b.price = a.old
                  search Item AS a by key (a.id = 30)
                """
        )
        let pairs = try rows("SELECT a.id, b.id FROM Item a JOIN Item b ON b.price = a.old ORDER BY 1, 2")
        let plain = try rows(
            "SELECT a.id, b.id FROM Item a, Item b WHERE b.price >= a.old AND b.price <= a.old ORDER BY 1, 2")
        #expect(pairs == plain && pairs.count > 100)
    }

    @Test func groupsAndDifferentValuesGoByTheValue() throws {
        let groups = try rows("SELECT price, count(*) FROM Item WHERE price IS NOT NULL GROUP BY price ORDER BY price")
        let values = groups.compactMap { row -> Decimal? in
            guard case .text(let text)? = row.first else { return nil }
            return Decimal(string: text)
        }
        #expect(values.count == groups.count && values == values.sorted() && Set(values).count == values.count)
        let different = try rows("SELECT DISTINCT price FROM Item WHERE price IS NOT NULL ORDER BY price")
        #expect(different == groups.map { [$0[0]] })
        let view = try fixture.store.snapshot()
        let counted = try Selection(table: "Item", condition: .parse("price IS NOT NULL")).plan(catalogue)
            .groupCount(by: .path("price"), in: view)
        #expect(counted.map { [$0.value, .integer(Int64($0.count))] } == groups)
        let plan = try Selection(table: "Item").plan(catalogue)
        #expect(try plan.aggregate(.maximum, of: .path("price"), in: view) == .text("\(values.max() ?? 0)"))
        #expect(try plan.aggregate(.minimum, of: .path("price"), in: view) == .text("\(values.min() ?? 0)"))
    }
}
