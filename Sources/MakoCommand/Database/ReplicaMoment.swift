import Foundation
import MakoRecords

/// The commit or the date of `--at`.
enum ReplicaMoment: Equatable {
    case commit(UInt64)
    /// Milliseconds since 1970.
    case date(UInt64)

    /// Seconds between 1970 and 2001, from where ``DateText`` counts.
    private static let reference = 978_307_200.0

    init(_ text: String) throws {
        if let commit = UInt64(text) {
            self = .commit(commit)
            return
        }
        guard let seconds = DateText.parse(text), seconds + Self.reference >= 0 else {
            throw Failure(
                "'\(text)' is neither the number of a commit nor a date such as 2026-01-31T12:30 (UTC)", .usage)
        }
        self = .date(UInt64((seconds + Self.reference) * 1000))
    }

    /// A date of an object, to the second.
    static func text(_ milliseconds: UInt64) -> String {
        let seconds = (Double(milliseconds) / 1000).rounded(.down) - reference
        return (DateText.iso(seconds) ?? "\(milliseconds)").replacingOccurrences(of: "T", with: " ")
    }
}
