import MakoRecords

/// A position in a database's history: all commits up to it were processed.
///
/// Store it together with the results of the changes, and continue with ``Database/changes(since:)``, also in another
/// process. It is `Codable`, as a string of 65 to 80 characters.
///
/// Tokens of one database have the order of its commits. A token is valid as long as the following commit is kept.
public struct HistoryToken: Sendable, Hashable, Comparable, Codable, LosslessStringConvertible {
    let high: UInt64
    let low: UInt64
    let point: HistoryPoint

    init(_ head: StoredHistory.Head, _ point: HistoryPoint) {
        high = head.high
        low = head.low
        self.point = point
    }

    /// The number of the commit.
    public var commit: UInt64 { point.number }

    func isOf(_ head: StoredHistory.Head) -> Bool { high == head.high && low == head.low }

    /// Returns whether both tokens are of one history, so that their order is that of the commits.
    public func isComparable(with other: HistoryToken) -> Bool { high == other.high && low == other.low }

    /// The order of the commits; tokens of different databases have an arbitrary but stable order.
    public static func < (left: HistoryToken, right: HistoryToken) -> Bool {
        (left.high, left.low, left.point.number, left.point.mark)
            < (right.high, right.low, right.point.number, right.point.mark)
    }

    // MARK: Text

    public var description: String {
        HistoryToken.hex(high) + HistoryToken.hex(low) + "-" + HistoryToken.hex(point.mark) + "-\(point.number)"
    }

    /// Creates a token from its text; nil when the text is not a token.
    public init?(_ description: String) {
        let parts = description.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count == 32, parts[1].count == 16,
            let high = UInt64(parts[0].prefix(16), radix: 16), let low = UInt64(parts[0].suffix(16), radix: 16),
            let mark = UInt64(parts[1], radix: 16), let number = UInt64(parts[2])
        else { return nil }
        self.high = high
        self.low = low
        point = HistoryPoint(number: number, mark: mark)
    }

    private static func hex(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Decodes a token from its text.
    ///
    /// - Throws: `DecodingError` when the text is not a token.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let token = HistoryToken(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "'\(text)' is no token of a history")
        }
        self = token
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
