import MakoRecords
import MakoStorage

/// Texts of queries that were read before, and what they say. A text means the same in every database: names are resolved later.
final class ParsedTexts<Parsed: Sendable>: @unchecked Sendable {
    // Unchecked: the lock guards what is known.

    private struct Key: Hashable {
        let text: TextKey
        /// How many values were given for it: too many are refused.
        let values: Int

        /// A number below 64 that a program's texts seldom share: to hash one takes longer than to compare it.
        var place: Int {
            let bytes = text.text.utf8
            guard let first = bytes.first, let last = bytes.last else { return 0 }
            let middle = bytes[bytes.index(bytes.startIndex, offsetBy: bytes.count / 2)]
            return (bytes.count &* 7 &+ Int(first) &* 11 &+ Int(middle) &* 13 &+ Int(last) &* 17) & 63
        }
    }

    /// Programs ask the same few questions; texts that differ each time must not fill the memory.
    private static var limit: Int { 256 }
    private static var longest: Int { 2000 }

    private let lock = Lock()
    @exclusivity(unchecked) private var known: [Key: Parsed] = [:]
    /// Those that were asked for last, at their places; a later one takes the place of another.
    @exclusivity(unchecked) private var recent: [(key: Key, parsed: Parsed)?] = Array(repeating: nil, count: 64)

    /// What the text says, read now where it is new.
    func of<E: Error>(_ text: String, values: Int, _ parse: () throws(E) -> Parsed) throws(E) -> Parsed {
        let key = Key(text: TextKey(text), values: values)
        if let parsed = find(key) { return parsed }
        let parsed = try parse()
        guard text.utf8.count <= Self.longest else { return parsed }
        lock.withLock {
            if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
            known[key] = parsed
            recent[key.place] = (key, parsed)
        }
        return parsed
    }

    private func find(_ key: Key) -> Parsed? {
        let place = key.place
        lock.lock()
        defer { lock.unlock() }
        if let found = recent[place], found.key == key { return found.parsed }
        guard let parsed = known[key] else { return nil }
        recent[place] = (key, parsed)
        return parsed
    }
}

/// The texts of all databases.
enum KnownTexts {
    static let conditions = ParsedTexts<PreparedCondition>()
    /// Of a column, by its name, with a value.
    static let comparisons = ParsedTexts<PreparedCondition>()
    private static let statements = ParsedTexts<KeptStatement>()
    /// Where parameters stand in those that were asked with names or lists.
    static let conditionPlaces = ParsedTexts<ParameterPlaces>()
    static let statementPlaces = ParsedTexts<ParameterPlaces>()

    /// The statement of a text.
    static func statement(_ text: String) throws(RecordError) -> KeptStatement {
        try statements.of(text, values: 0) { () throws(RecordError) in try KeptStatement(text) }
    }
}
