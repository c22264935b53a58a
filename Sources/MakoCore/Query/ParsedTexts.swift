import MakoRecords

/// Texts of queries that were read before, and what they say. A text means the same in every database: names are resolved later.
final class ParsedTexts<Parsed: Sendable>: Sendable {
    private struct Key: Hashable {
        let text: String
        /// How many values were given for it: too many are refused.
        let values: Int
    }

    /// Programs ask the same few questions; texts that differ each time must not fill the memory.
    private static var limit: Int { 256 }
    private static var longest: Int { 2000 }

    private let known = Protected<[Key: Parsed]>([:])

    /// What the text says, read now where it is new.
    func of<E: Error>(_ text: String, values: Int, _ parse: () throws(E) -> Parsed) throws(E) -> Parsed {
        let key = Key(text: text, values: sabotaged("parsedForAnyValues") ? 0 : values)
        if let parsed = known.with({ $0[key] }) { return parsed }
        let parsed = try parse()
        guard text.utf8.count <= Self.longest else { return parsed }
        known.with { known in
            if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
            known[key] = parsed
        }
        return parsed
    }
}

/// The texts of all databases.
enum KnownTexts {
    static let conditions = ParsedTexts<PreparedCondition>()
    /// Of a column, by its name, with a value.
    static let comparisons = ParsedTexts<PreparedCondition>()
    static let statements = ParsedTexts<Statement>()
    /// Where parameters stand in those that were asked with names or lists.
    static let conditionPlaces = ParsedTexts<ParameterPlaces>()
    static let statementPlaces = ParsedTexts<ParameterPlaces>()
}
