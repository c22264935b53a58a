import Foundation
import Mako
import Testing

/// Decimals of texts and numbers.
@Suite struct DecimalValueTests {
    @Test(arguments: [
        "12,50", "1,234.5", "12 kr", "12abc", "1e5x", "0x10", "1_000", "12e", " 12", "12 ", "1.2.3", "", "-",
    ])
    func textsWithMoreThanADecimalAreRefused(_ text: String) throws {
        let found = "text \(StoredValue.text(text))"
        #expect(throws: MakoError.typeMismatch(entity: "Ware", property: "price", expected: "Decimal", found: found)) {
            _ = try Ware(["price": text])
        }
        let db = try Database.inMemory(entities: [Ware.self])
        for insert in ["INSERT INTO Ware (price) VALUES (?)", "INSERT INTO Ware (discount, price) VALUES (?, '1')"] {
            #expect {
                try db.rawQuery(text: insert, text)
            } throws: { error in
                guard case MakoError.unstorableValue("Ware", nil, _, let reason) = error else { return false }
                return reason.contains("is no Decimal")
            }
        }
        #expect(try db.query(Ware.self).count() == 0)
        let store = try db.store("prices")
        try store.set(text, for: "price")
        #expect(throws: MakoError.self) { try store.value(Decimal.self, for: "price", converting: true) }
    }

    @Test(arguments: [
        ("12.50", "12.5"), ("+7", "7"), ("-.5", "-0.5"), ("5.", "5"), ("1e5", "100000"), ("25E-1", "2.5"),
        ("1e+3", "1000"),
    ])
    func wholeDecimalsAreRead(_ text: String, _ plain: String) throws {
        let expected = try #require(Decimal(string: plain))
        #expect(try Ware(["price": text]).price == expected)
        let db = try Database.inMemory(entities: [Ware.self])
        try db.rawQuery("INSERT INTO Ware (price) VALUES (\(text))")
        #expect(try db.query(Ware.self).first()?.price == expected)
        let store = try db.store("prices")
        try store.set(text, for: "price")
        #expect(try store.value(Decimal.self, for: "price", converting: true) == expected)
    }

    @Test(arguments: [
        (19.99, "19.99"), (0.1, "0.1"), (-1234.5, "-1234.5"), (1e20, "100000000000000000000"), (5e-7, "0.0000005"),
        (0, "0"),
    ])
    func doublesBecomeTheirShortestDecimal(_ number: Double, _ text: String) throws {
        let expected = try #require(Decimal(string: text))
        let ware = try Ware(["price": number, "discount": number])
        #expect(ware.price == expected && ware.discount == expected)
        let store = try Database.inMemory().store("prices")
        try store.set(number, for: "price")
        #expect(try store.value(Decimal.self, for: "price", converting: true) == expected)
    }

    @Test(arguments: [1e300, -1e300, .leastNonzeroMagnitude, .infinity, .nan]) func doublesBeyondDecimalsAreRefused(
        _ number: Double
    )
        throws
    {
        let found = "double \(StoredValue.double(number))"
        #expect(throws: MakoError.typeMismatch(entity: "Ware", property: "price", expected: "Decimal", found: found)) {
            _ = try Ware(["price": number])
        }
        let store = try Database.inMemory().store("prices")
        try store.set(number, for: "price")
        #expect(throws: MakoError.self) { try store.value(Decimal.self, for: "price", converting: true) }
    }
}
