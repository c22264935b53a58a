import Foundation
import MakoRecords
import Testing

@testable import MakoCommand

@Suite struct DateTextTests {
    @Test func knownInstants() {
        #expect(DateText.parse("2001-01-01") == 0)
        #expect(DateText.parse("1970-01-01") == -978_307_200)
        #expect(DateText.parse("2000-02-29T23:59:59Z") == -26_438_401)
        #expect(DateText.parse("2026-01-31T12:30:15.25+01:30") == 791_550_015.25)
    }

    @Test(arguments: [
        ("2001-01-01T01:00+01:00", 0.0), ("2001-01-01 00:00:01", 1), ("2000-12-31T19:00:00-0500", 0),
        ("2001-01-01T00:00:00.5Z", 0.5), ("2001-01-01t00:00:00,5z", 0.5), ("2001-01-01T02:00+02", 0),
        ("2001-01-02T00:00Z", 86_400), ("2000-12-31T23:59:60Z", 0),
    ])
    func formsOfTime(_ text: String, _ seconds: Double) {
        #expect(DateText.parse(text) == seconds)
    }

    @Test(arguments: [
        "", "2026", "2026-1-31", "2026-13-01", "2026-02-29", "2026-01-31T", "2026-01-31T24:00", "2026-01-31T10:00:61",
        "2026-01-31T10:00+", "2026-01-31x", "20260131", "1900-02-29", "2026-01-31T10:00:00.",
    ])
    func whatIsNoDate(_ text: String) {
        #expect(DateText.parse(text) == nil)
    }

    @Test func daysAgreeWithTheSystemsCalendarAndReadBack() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let seconds = Double(Int.random(in: -13_000_000_000...13_000_000_000, using: &generator))
            let text = try #require(DateText.iso(seconds))
            #expect(DateText.parse(text) == seconds)
            let parts = calendar.dateComponents(
                [.year, .month, .day], from: Date(timeIntervalSinceReferenceDate: seconds))
            let day = String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
            #expect(text.hasPrefix(day))
        }
    }

    @Test func theShortestFormIsWritten() {
        #expect(DateText.iso(0) == "2001-01-01")
        #expect(DateText.iso(3600) == "2001-01-01T01:00:00Z")
        #expect(DateText.iso(-0.5) == "2000-12-31T23:59:59.5Z")
        #expect(DateText.iso(.infinity) == nil)
        for text in [
            "2026-01-31T10:20:45.123Z", "2026-01-31T10:20:45.1Z", "1970-01-01T00:00:00.001Z",
            "2026-01-31T23:59:59.999999Z", "2001-01-01T00:00:00.000000001Z",
        ] {
            #expect(DateText.parse(text).flatMap { DateText.iso($0) } == text)
        }
    }
}
