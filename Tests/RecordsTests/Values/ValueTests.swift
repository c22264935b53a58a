import Testing

@testable import MakoRecords

@Suite struct ValueTests {
    @Test func equalityIsExact() {
        #expect(Value.double(0) == .double(-0.0))
        #expect(Value.double(.nan) == .double(-.nan))
        #expect(Value.integer(1) != .double(1))
        #expect(Value.text("é") != .text("e\u{301}"))
        #expect(Value.unsignedInteger(5) == .integer(5))
        #expect(Set([Value.double(0), .double(-0.0), .text("a"), .text("a"), .null, .null]).count == 3)
    }

    @Test func equalValuesOfEachKindAreOneInASet() {
        let values: [Value] = [
            .null, .bool(true), .integer(-1), .unsigned(.max), .double(0.5), .text("a"), .blob([1]), .date(2),
            .uuid(1, 2),
        ]
        #expect(Set(values + values).count == values.count)
        #expect(
            values.map(\.typeName)
                == ["null", "bool", "integer", "unsigned", "double", "text", "blob", "date", "uuid"])
    }

    @Test func numbersCompareByTheirExactValue() {
        #expect(Value.integer(.min).compare(.double(-1e300)) == 1)
        #expect(Value.unsigned(1 << 63).compare(.double(0x1p63)) == 0)
        #expect(Value.unsigned(.max).compare(.double(-1)) == 1)
        #expect(Value.unsigned(1 << 63).compare(.double(1e300)) == -1)
        #expect(Value.integer(.max).compare(.double(0x1p63)) == -1)
        #expect(Value.unsigned(.max).compare(.double(0x1p64)) == -1)
        #expect(Value.integer(9_007_199_254_740_993).compare(.double(9_007_199_254_740_992)) == 1)
        #expect(Value.integer(-3).compare(.double(-3.5)) == 1)
        #expect(Value.double(-3.5).compare(.integer(-3)) == -1)
        #expect(Value.integer(.min).compare(.double(-0x1p63)) == 0)
        #expect(Value.double(.nan).compare(.integer(.min)) == -1)
        #expect(Value.integer(3).compare(.text("3")) == nil)
        #expect(Value.null.compare(.null) == nil)
    }

    @Test(arguments: [
        ("2001-01-01", 0.0), ("2026-01-31", 791_510_400), ("2000-02-29 23:59:59", -26_438_401),
        ("1969-12-31 23:59:59.5", -978_307_200.5), ("2001-01-01 00:00:01.25", 1.25),
        ("0000-01-01", -63_145_526_400),
    ])
    func datesReadAndWrite(text: String, seconds: Double) {
        #expect(DateText.parse(text) == seconds)
        #expect(DateText.format(seconds) == text)
    }

    /// Times as clocks give them, between microseconds and billions of years.
    @Test func datesReadBackAsTheSameInstant() {
        var random = Seeded(4)
        for number in 0..<2000 {
            let seconds = Double(Int.random(in: -1_000_000_000...1_000_000_000, using: &random))
            for date in [seconds + 0.00005, seconds + Double(number) * 1e-6, Double(number) * 1e-9, 4.2e-193] {
                #expect(DateText.parse(DateText.format(date)) == date, "\(DateText.format(date))")
            }
        }
        #expect(DateText.format(0.00005) == "2001-01-01 00:00:00.00005")
        for text in ["2026-01-31 10:20:45.123", "1969-12-31 23:59:59.000001", "2001-01-01 00:00:00.999999999"] {
            #expect(DateText.parse(text).map { DateText.format($0) } == text)
        }
    }

    @Test func datesTakeZonesAndRefuseNonsense() {
        #expect(DateText.parse("2001-01-01T02:00:00+02:00") == 0)
        #expect(DateText.parse("2001-01-01T00:00Z") == 0 && DateText.parse("2000-12-31T23:59:60.5Z") == 0.5)
        #expect(DateText.parse("2000-12-31T22:30:00-01:30") == 0)
        #expect(DateText.parse("2001-01-01T00:00:00+2") == nil && DateText.parse("2001-01-01T00:00:00+02:0") == nil)
        #expect(DateText.parse("2001-01-01T00:00:00+02:00x") == nil && DateText.parse("2001-01-01T00:00:00*") == nil)
        #expect(DateText.format(-63_145_526_400 - 86_400) == "-0001-12-31")
        #expect(DateText.format(1e300) == "1e+300" && DateText.format(.infinity) == "inf")
        for bad in [
            "2001-02-29", "2001-13-01", "2001-1-1", "", "x", "2001-01-01T", "2001-01-01 00:00:00.", "2001-01-01T00:00+",
            "2001-01-01 00:00:61",
        ] {
            #expect(DateText.parse(bad) == nil, "\(bad)")
        }
    }

    @Test func everyDayOfFourCenturiesComesBack() {
        for day in stride(from: -150_000, to: 150_000, by: 13) {
            let seconds = Double(day) * 86_400
            #expect(DateText.parse(DateText.format(seconds)) == seconds)
        }
    }

    @Test func uuidsReadAndWrite() {
        let text = "00112233-4455-6677-8899-AABBCCDDEEFF"
        let halves = UUIDText.parse(text)
        #expect(halves?.high == 0x0011_2233_4455_6677)
        #expect(halves?.low == 0x8899_AABB_CCDD_EEFF)
        #expect(UUIDText.format(0x0011_2233_4455_6677, 0x8899_AABB_CCDD_EEFF) == text)
        for bad in ["", "0011", "+0112233445566778899AABBCCDDEEFF", "0011223344556677-8899-AABBCCDDEEFF-0"] {
            #expect(UUIDText.parse(bad) == nil, "\(bad)")
        }
    }

    @Test func valuesPrintAsTheWhereLanguageWritesThem() {
        #expect("\(Value.text("it's"))" == "'it''s'")
        #expect("\(Value.blob([0, 255]))" == "x'00ff'")
        #expect("\(Value.date(0))" == "date('2001-01-01')")
        #expect("\(Value.null)" == "NULL")
    }
}
