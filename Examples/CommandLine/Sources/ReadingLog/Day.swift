import ArgumentParser
import Foundation

/// A day such as 2026-03-31, as an argument and in output. Days begin at midnight UTC, so that files show the same days everywhere.
struct Day: ExpressibleByArgument, CustomStringConvertible {
    private static let style = Date.ISO8601FormatStyle().year().month().day()
    let date: Date

    init(_ date: Date) { self.date = date }

    /// Only what would be printed for the day is accepted: not 2026-02-30, and not 2026-3-1.
    init?(argument: String) {
        guard let date = try? Self.style.parse(argument), date.formatted(Self.style) == argument else { return nil }
        self.date = date
    }

    var description: String { date.formatted(Self.style) }
}
