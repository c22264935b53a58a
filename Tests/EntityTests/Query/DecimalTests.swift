import Foundation
import Mako
import Testing

@Entity final class Ware {
    #Index<Ware>([\.price])
    var name = ""
    var price: Decimal = 0
    var discount: Decimal?
    var pieces = 0
}

@Entity final class Purchase {
    var ware: Ware?
}

/// Decimals stand in columns of text, and are ordered by their values all the same.
@Suite struct DecimalTests {
    private static let prices = ["9", "10", "-3.5", "0", "100.25", "0.000001", "-20", "9.5", "1e30", "-0.2"]

    private func wares() throws -> Database {
        let db = try Database.inMemory(entities: [Ware.self, Purchase.self])
        let wares = try Self.prices.enumerated().map { number, text in
            let price = try #require(Decimal(string: text))
            return Ware(name: text, price: price, discount: number % 3 == 0 ? nil : price / 2, pieces: number)
        }
        try db.save(wares)
        try db.save(wares.map { Purchase(ware: $0) })
        return db
    }

    private func expected(_ isIncluded: (Decimal) -> Bool) -> Set<String> {
        Set(Self.prices.filter { isIncluded(Decimal(string: $0) ?? .nan) })
    }

    private func names(_ query: Query<Ware>) throws -> Set<String> { Set(try query.fetch().map(\.name)) }

    @Test func comparisonsGoByValueInAllThreeLanguages() throws {
        let all = try wares().query(Ware.self)
        for limit in [Decimal(9), 10, -3, 0, Decimal(string: "9.50") ?? 0, Decimal(string: "1e29") ?? 0] {
            let above = expected { $0 > limit }
            #expect(try names(all.where(\.price > limit)) == above, "\(limit)")
            #expect(try names(all.where("price > \(limit)")) == above, "\(limit)")
            #expect(try names(all.where(#Predicate { $0.price > limit })) == above, "\(limit)")
            #expect(try names(all.where(!(\.price <= limit))) == above, "\(limit)")
            #expect(try names(all.where("\(limit) < price")) == above, "\(limit)")
            #expect(
                try names(all.where("price BETWEEN ? AND ?", limit, limit + 5))
                    == expected { $0 >= limit && $0 <= limit + 5 })
            #expect(try names(all.where(\.price << (limit..<limit + 5))) == expected { $0 >= limit && $0 < limit + 5 })
            #expect(try names(all.where(\.price == limit)) == expected { $0 == limit })
            #expect(try names(all.where("price IN (?, 10)", limit)) == expected { $0 == limit || $0 == 10 })
            #expect(try names(all.where("price != ?", limit)) == expected { $0 != limit })
            #expect(
                try names(all.where(\.discount > limit))
                    == Set(
                        all.fetch().filter { ware in
                            ware.discount.map { $0 > limit } ?? false
                        }.map(\.name)))
        }
        // Numbers in a text are as good.
        #expect(try names(all.where("price >= 9.5 AND price < 1000")) == ["10", "100.25", "9.5"])
        #expect(try names(all.where("price = 9.50 OR price = '10.0'")) == ["9.5", "10"])
        #expect(try names(all.where("price > pieces")) == ["9", "10", "100.25", "1e30", "9.5"])
        #expect(try names(all.where("discount > price")) == ["-3.5"])
        let raw = try wares().rawQuery("SELECT name FROM Ware WHERE price > 9 ORDER BY price DESC LIMIT 2").rows
        #expect(raw == [[.text("1e30")], [.text("100.25")]])
    }

    /// A cached plan must convert the value of each query, not reuse that of the first.
    @Test func cachedPlansReadEachValue() throws {
        let all = try wares().query(Ware.self)
        for _ in 0..<2 {
            for text in ["9.50", "9.5", "09.5"] { #expect(try all.where("price = ?", text).count() == 1, "\(text)") }
            #expect(throws: MakoError.self) { try all.where("price = ?", "dear").count() }
            #expect(throws: MakoError.self) { try all.where("price > ?", "dear").count() }
        }
        #expect(try !all.where("price > ?", Decimal(10)).explain().contains("index Ware.price"))
    }

    @Test func ordersGoByValue() throws {
        let db = try wares()
        let all = db.query(Ware.self)
        let sorted = Self.prices.sorted { (Decimal(string: $0) ?? 0) < (Decimal(string: $1) ?? 0) }
        #expect(try all.orderBy(\.price).fetch().map(\.name) == sorted)
        #expect(try all.orderBy("price DESC").limit(3).fetch().map(\.name) == Array(sorted.reversed().prefix(3)))
        #expect(try all.distinct(\.price).map { "\($0)" } == sorted.map { "\(Decimal(string: $0) ?? 0)" })
        #expect(try all.where("pieces < 9").distinct(\.price).count == 9)
        #expect(try all.groupCount("price").first?.value == .text("-20"))
        #expect(try all.min(\.price) == -20 && all.max(\.price) == Decimal(string: "1e30"))
        #expect(try all.where("pieces > 100").min(\.price) == nil)
        #expect(try all.max(\.discount) == Decimal(string: "5e29"))
        let groups = try all.group(by: \.price).select("count(*)").fetch().rows.map { "\($0[0])" }
        #expect(groups == sorted.map { "'\(Decimal(string: $0) ?? 0)'" })
        let purchases = db.query(Purchase.self)
        #expect(
            try purchases.where(\.ware.price > 9).orderBy(\.ware.price).fetch().map { $0.ware?.name } == [
                "9.5", "10", "100.25", "1e30",
            ])
        #expect(try purchases.where("ware.price > 100").count() == 2)
        #expect(
            try purchases.joinTo(\.ware).where("Ware.price < -1").orderBy("Ware.price").fetch().map { $0.ware?.name }
                == [
                    "-20", "-3.5",
                ])
        #expect(
            try db.rawQuery(
                "SELECT w.name FROM Purchase b JOIN Ware w ON w.id = b.ware WHERE w.price < 0 ORDER BY w.price"
            ).rows
                == [[.text("-20")], [.text("-3.5")], [.text("-0.2")]])
        #expect(
            try all.where("price > (SELECT price FROM Ware WHERE name = '10')").count() == 2)
    }

    /// Unsupported calculations are refused before a row is read.
    @Test func whatIsNotWorkedOutIsRefused() throws {
        let db = try wares()
        let all = db.query(Ware.self)
        #expect(throws: MakoError.self) { try all.sum(\.price) }
        #expect(throws: MakoError.self) { try all.avg(\.price) }
        #expect(throws: MakoError.self) { try all.sum("price * 2") }
        #expect(throws: MakoError.self) { try all.where("price > name").fetch() }
        let error = #expect(throws: MakoError.self) { try all.where("price > 'dear'").fetch() }
        #expect(String(describing: error).contains("price holds decimal, which cannot be compared with text 'dear'"))
        let least = #expect(throws: MakoError.self) { try db.rawQuery("SELECT min(price) FROM Ware") }
        #expect(
            String(describing: least).contains(
                "min is not worked out of decimals here; order by them and take the first"))
        #expect(throws: MakoError.self) {
            try db.rawQuery("SELECT price FROM Ware UNION SELECT discount FROM Ware ORDER BY price")
        }
        #expect(throws: MakoError.self) { try db.update(Ware.self).set(\.price, to: \.price * 2).run() }
    }

    @Test func anyTwoDecimalsAreOrderedAsSwiftOrdersThem() throws {
        let db = try Database.inMemory(entities: [Ware.self, Purchase.self])
        var random = SystemRandomNumberGenerator()
        var prices: [Decimal] = []
        for _ in 0..<300 {
            let digits = Decimal(Int64.random(in: -99999...99999, using: &random))
            prices.append(digits * pow(Decimal(10), Int.random(in: 0...8, using: &random)) / 10_000)
        }
        prices += [
            Decimal(sign: .plus, exponent: -2, significand: 950), .greatestFiniteMagnitude, .leastFiniteMagnitude,
        ]
        try db.save(prices.map { Ware(price: $0) })
        let found = try db.query(Ware.self).orderBy(\.price).fetch().map(\.price)
        #expect(found == prices.sorted())
        let middle = prices[17]
        #expect(try db.query(Ware.self).where(\.price < middle).count() == prices.count { $0 < middle })
        for price in prices { #expect(try db.query(Ware.self).where(\.price == price).exists(), "\(price)") }
        // However a value came about, equal ones are stored alike.
        #expect(try db.query(Ware.self).where(\.price == Decimal(string: "9.5") ?? 0).exists())
    }
}
