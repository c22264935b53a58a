import MakoRecords
import MakoStorage
import Testing

@Suite struct GroupTests {
    private func fixture() throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "Sale",
                columns: [
                    ColumnSchema("shop", .text), ColumnSchema("amount", .integer, isOptional: true),
                    ColumnSchema("price", .double), ColumnSchema("at", .date, isOptional: true),
                    ColumnSchema("big", .integer, default: .integer(0)),
                ]))
        try fixture.insertAll(
            "Sale",
            [
                [.text("a"), .integer(1), .double(2), .date(0), .integer(1 << 60)],
                [.text("b"), .integer(5), .double(1), .date(86_400), .integer(1 << 60 + 1)],
                [.text("a"), .integer(1), .double(4), .null, .integer(1 << 60)],
                [.text("c"), .null, .double(8), .date(0), .integer(0)],
                [.text("B"), .integer(2), .double(0.5), .null, .integer(-1)],
                [.text("a"), .integer(4), .double(2), .null, .integer(1 << 60 + 1)],
            ])
        return fixture
    }

    private func rows(_ text: String) throws -> [String] {
        let fixture = try fixture()
        return JoinFixture.text(
            try SelectStatement.parse(text).run(fixture.catalogue, view: fixture.store.snapshot()).rows)
    }

    @Test func havingChoosesGroups() throws {
        #expect(try rows("SELECT shop, count(*) FROM Sale GROUP BY shop HAVING count(*) > 1") == ["a 3"])
        #expect(
            try rows(
                "SELECT shop FROM Sale GROUP BY shop HAVING sum(amount) IS NULL OR max(price) >= 4 ORDER BY 1 DESC")
                == ["c", "a"])
        #expect(
            try rows("SELECT shop, sum(price) AS total FROM Sale GROUP BY shop HAVING total < 2 AND shop <> 'b'")
                == ["B 0.5"])
        #expect(try rows("SELECT count(*) FROM Sale HAVING count(*) > 100") == [])
        #expect(try rows("SELECT count(*) FROM Sale WHERE price > 100 HAVING count(*) = 0") == ["0"])
        // WHERE chooses rows, before they are put together.
        #expect(
            try rows("SELECT shop, count(*) FROM Sale WHERE price > 2 GROUP BY shop HAVING count(*) >= 1") == [
                "a 1", "c 1",
            ])
    }

    @Test func expressionsMayHaveAggregates() throws {
        #expect(
            try rows("SELECT shop, sum(price * amount) / count(*) AS mean FROM Sale GROUP BY shop ORDER BY mean DESC")
                == ["b 5.0", "a 4.666666666666667", "B 1.0", "c NULL"])
        #expect(try rows("SELECT max(price) - min(price), count(*) * 10 FROM Sale") == ["7.5 60"])
        #expect(
            try rows(
                "SELECT lower(shop), sum(amount) + 1 FROM Sale GROUP BY lower(shop) ORDER BY sum(amount) + 1 DESC, 1")
                == ["b 8", "a 7", "c NULL"])
        #expect(try rows("SELECT coalesce(sum(amount), 0) FROM Sale WHERE shop = 'c'") == ["0"])
    }

    @Test func onlyDifferentValuesCount() throws {
        #expect(
            try rows(
                "SELECT shop, count(DISTINCT amount), sum(DISTINCT amount), count(amount) FROM Sale GROUP BY shop ORDER BY shop"
            )
                == ["B 1 2 1", "a 2 5 3", "b 1 5 1", "c 0 NULL 0"])
        #expect(try rows("SELECT count(DISTINCT lower(shop)), count(DISTINCT price) FROM Sale") == ["3 5"])
        #expect(try rows("SELECT DISTINCT count(*) FROM Sale GROUP BY shop ORDER BY 1") == ["1", "3"])
    }

    @Test func groupsByNameAndNumber() throws {
        #expect(try rows("SELECT lower(shop) AS s, count(*) FROM Sale GROUP BY s ORDER BY s") == ["a 3", "b 2", "c 1"])
        #expect(try rows("SELECT lower(shop), count(*) FROM Sale GROUP BY 1 ORDER BY 1") == ["a 3", "b 2", "c 1"])
        #expect(
            try rows("SELECT Sale.shop, count(*) FROM Sale GROUP BY shop ORDER BY shop LIMIT 1 OFFSET 1") == ["a 3"])
        #expect(throws: RecordError.self) { try rows("SELECT shop FROM Sale GROUP BY 2") }
        // A name that was given comes before a column's in an order, behind it in a group.
        #expect(try rows("SELECT -amount AS amount FROM Sale WHERE amount > 2 ORDER BY amount") == ["-5", "-4"])
    }

    @Test func keysAreCompared() throws {
        #expect(try rows("SELECT at, count(*) FROM Sale GROUP BY at ORDER BY 2 DESC, at").count == 3)
        #expect(
            try rows("SELECT big, count(*) FROM Sale GROUP BY big ORDER BY big DESC LIMIT 2") == [
                "1152921504606846977 2", "1152921504606846976 2",
            ])
        #expect(try rows("SELECT max(big) FROM Sale GROUP BY shop ORDER BY 1 DESC LIMIT 1") == ["1152921504606846977"])
        // A number is one group, whole or not.
        #expect(
            try rows("SELECT coalesce(amount, 1.0), count(*) FROM Sale GROUP BY coalesce(amount, 1.0) ORDER BY 1").count
                == 4)
        #expect(try rows("SELECT DISTINCT coalesce(amount, 1.0) FROM Sale ORDER BY 1").count == 4)
    }

    /// Many groups, and texts whose smallest and largest change often: against dictionaries.
    @Test func manyGroupsAgreeWithDictionaries() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "T",
                columns: [ColumnSchema("k", .integer), ColumnSchema("t", .text), ColumnSchema("n", .integer)]))
        var random = Seeded(7)
        var groups: [Int64: [(text: String, number: Int64)]] = [:]
        var rows: [[Value]] = []
        for _ in 0..<5000 {
            let key = Int64.random(in: 0..<900, using: &random)
            let text = random.text(30)
            let number = Int64.random(in: -50...50, using: &random)
            groups[key, default: []].append((text, number))
            rows.append([.integer(key), .text(text), .integer(number)])
        }
        try fixture.insertAll("T", rows)
        let found = try SelectStatement.parse(
            "SELECT k, count(*), sum(n), min(t), max(t), count(DISTINCT n) FROM T GROUP BY k ORDER BY k"
        ).run(fixture.catalogue, view: fixture.store.snapshot()).rows
        let expected = groups.sorted { $0.key < $1.key }.map { key, rows -> [Value] in
            let texts = rows.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            return [
                .integer(key), .integer(Int64(rows.count)), .integer(rows.reduce(0) { $0 + $1.number }),
                .text(texts[0]), .text(texts[texts.count - 1]), .integer(Int64(Set(rows.map(\.number)).count)),
            ]
        }
        #expect(found == expected)
        let different = try SelectStatement.parse("SELECT DISTINCT k FROM T").run(
            fixture.catalogue, view: fixture.store.snapshot())
        #expect(Set(different.rows).count == groups.count)
        #expect(different.rows.count == groups.count)
    }
}
