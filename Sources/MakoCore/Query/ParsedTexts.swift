import MakoRecords
import MakoStorage

/// A cache of parsed query texts, for all databases: names are resolved later.
final class ParsedTexts<Parsed: Sendable>: @unchecked Sendable {
    // Unchecked: the lock guards the entries.

    private struct Key: Hashable {
        let text: TextKey
        /// The number of arguments, because parsing refuses too many.
        let values: Int

        /// A slot from 0 to 63 of few bytes of the text: comparing a text is cheaper than hashing it.
        var place: Int {
            let bytes = text.text.utf8
            guard let first = bytes.first, let last = bytes.last else { return 0 }
            let middle = bytes[bytes.index(bytes.startIndex, offsetBy: bytes.count / 2)]
            return (bytes.count &* 7 &+ Int(first) &* 11 &+ Int(middle) &* 13 &+ Int(last) &* 17) & 63
        }
    }

    /// Limits of the cache: texts that are never repeated must not fill the memory.
    private static var limit: Int { 256 }
    private static var longest: Int { 2000 }

    private let lock = Lock()
    @exclusivity(unchecked) private var known: [Key: Parsed] = [:]
    /// The entries used last, by their slots; a new one replaces another in its slot.
    @exclusivity(unchecked) private var recent: [(key: Key, parsed: Parsed)?] = Array(repeating: nil, count: 64)

    /// The parsed text, from the cache or parsed now.
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

/// The caches of parsed texts.
enum KnownTexts {
    static let conditions = ParsedTexts<PreparedCondition>()
    /// Comparisons of a column with a value, by the name of the column.
    static let comparisons = ParsedTexts<PreparedCondition>()
    private static let statements = ParsedTexts<CachedStatement>()
    /// The places of parameters in texts with names or lists.
    static let conditionPlaces = ParsedTexts<ParameterPlaces>()
    static let statementPlaces = ParsedTexts<ParameterPlaces>()

    /// The parsed statement of a text.
    static func statement(_ text: String) throws(RecordError) -> CachedStatement {
        try statements.of(text, values: 0) { () throws(RecordError) in try CachedStatement(text) }
    }
}
