import MakoRecords
import MakoStorage

/// A model of full-text queries, without any index.
indirect enum PlainMatch {
    case words([String], isPrefix: Bool)
    case near([[String]], Int)
    case and(PlainMatch, PlainMatch)
    case or(PlainMatch, PlainMatch)
    case not(PlainMatch, PlainMatch)
    case column(Int, PlainMatch)

    static let columns = ["title", "body"]
    static let vocabulary = [
        "steam", "engine", "engines", "sail", "rope", "ropes", "sea", "storm", "port", "portal", "mast", "keel", "a",
        "an",
        "anchor", "x1", "café", "straße",
    ]

    static func fold(_ word: String) -> String {
        word == "café" ? "cafe" : word == "straße" ? "strasse" : word
    }

    /// - Parameter texts: the words of each column.
    func matches(_ texts: [[String]], _ allowed: Set<Int> = [0, 1]) -> Bool {
        switch self {
        case .words(let words, let isPrefix):
            return allowed.contains { !Self.places(words, isPrefix, texts[$0]).isEmpty }
        case .near(let phrases, let distance):
            return allowed.contains { column in
                let places = phrases.map { phrase in
                    Self.places(phrase, false, texts[column]).map { ($0, $0 + phrase.count) }
                }
                func search(_ index: Int, _ last: Int, _ firstEnd: Int) -> Bool {
                    if index == places.count { return last - firstEnd <= distance }
                    return places[index].contains { search(index + 1, max(last, $0.0), min(firstEnd, $0.1)) }
                }
                return search(0, .min / 2, .max / 2)
            }
        case .and(let a, let b): return a.matches(texts, allowed) && b.matches(texts, allowed)
        case .or(let a, let b): return a.matches(texts, allowed) || b.matches(texts, allowed)
        case .not(let a, let b): return a.matches(texts, allowed) && !b.matches(texts, allowed)
        case .column(let column, let inner): return inner.matches(texts, allowed.intersection([column]))
        }
    }

    static func places(_ words: [String], _ isPrefix: Bool, _ text: [String]) -> [Int] {
        let wanted = words.map(fold)
        return text.indices.filter { start in
            wanted.indices.allSatisfy { offset in
                guard start + offset < text.count else { return false }
                let word = fold(text[start + offset])
                let isLast = offset == wanted.count - 1
                return isLast && isPrefix ? word.hasPrefix(wanted[offset]) : word == wanted[offset]
            }
        }
    }

    var text: String {
        switch self {
        case .words(let words, let isPrefix):
            (words.count == 1 ? words[0] : "\"\(words.joined(separator: " "))\"") + (isPrefix ? "*" : "")
        case .near(let phrases, let distance):
            "NEAR(\(phrases.map { "\"\($0.joined(separator: " "))\"" }.joined(separator: " ")), \(distance))"
        case .and(let a, let b): "(\(a.text)) AND (\(b.text))"
        case .or(let a, let b): "(\(a.text)) OR (\(b.text))"
        case .not(let a, let b): "(\(a.text)) NOT (\(b.text))"
        case .column(let column, let inner): "\(Self.columns[column]):(\(inner.text))"
        }
    }

    static func random(_ random: inout Seeded, depth: Int = 0) -> PlainMatch {
        func words(_ random: inout Seeded) -> [String] {
            (0..<(random.chance(60) ? 1 : Int.random(in: 2...3, using: &random))).map { _ in random.pick(vocabulary) }
        }
        let kind = Int.random(in: 0..<(depth > 3 ? 5 : 10), using: &random)
        switch kind {
        case 0..<3: return .words(words(&random), isPrefix: false)
        case 3:
            var words = words(&random)
            words[words.count - 1] = String(words[words.count - 1].prefix(Int.random(in: 1...3, using: &random)))
            return .words(words, isPrefix: true)
        case 4:
            let phrases = (0..<Int.random(in: 2...3, using: &random)).map { _ in words(&random) }
            return .near(phrases, Int.random(in: 0...6, using: &random))
        case 5, 6: return .and(Self.random(&random, depth: depth + 1), Self.random(&random, depth: depth + 1))
        case 7: return .or(Self.random(&random, depth: depth + 1), Self.random(&random, depth: depth + 1))
        case 8: return .not(Self.random(&random, depth: depth + 1), Self.random(&random, depth: depth + 1))
        default: return .column(random.chance(50) ? 0 : 1, Self.random(&random, depth: depth + 1))
        }
    }
}

/// A table of texts beside its plain model.
struct TextFixture {
    var fixture: Fixture
    var rows: [RowKey: [[String]?]] = [:]
    let isKeyed: Bool

    static func schema(keyed: Bool, stemming: Stemming = .none) -> EntitySchema {
        EntitySchema(
            name: "Note",
            columns: (keyed ? [ColumnSchema("code", .text)] : []) + [
                ColumnSchema("title", .text, isOptional: true), ColumnSchema("body", .text, isOptional: true),
                ColumnSchema("size", .integer, default: .integer(0)),
            ],
            key: keyed ? .columns(["code"]) : .rowID(column: "id"),
            indexes: [
                IndexSchema(
                    "words", [IndexColumn("title"), IndexColumn("body")], fullText: FullTextOptions(stemming: stemming)),
                IndexSchema("size", [IndexColumn("size")]),
            ])
    }

    init(keyed: Bool = false) throws {
        isKeyed = keyed
        fixture = try Fixture(Self.schema(keyed: keyed))
    }

    var table: TableHandle { get throws { try fixture.table("Note") } }

    static func words(_ random: inout Seeded, _ longest: Int) -> [String]? {
        if random.chance(8) { return nil }
        return (0..<Int.random(in: 0...longest, using: &random)).map { _ in
            // Some words are much more common than others.
            random.chance(50) ? random.pick(Array(PlainMatch.vocabulary.prefix(4))) : random.pick(PlainMatch.vocabulary)
        }
    }

    static func value(_ words: [String]?) -> Value { words.map { .text($0.joined(separator: " ")) } ?? .null }

    func search(_ condition: String, _ text: String, orderBy: [Order] = [], limit: Int? = nil) throws -> [RowKey] {
        let selection = Selection(
            table: "Note", condition: try Condition.parse(condition), parameters: [.text(text)], orderBy: orderBy,
            limit: limit)
        return try selection.plan(fixture.catalogue).keys(in: try fixture.store.snapshot())
    }

    func expected(_ query: PlainMatch) -> Set<RowKey> {
        Set(rows.filter { query.matches($0.value.map { $0 ?? [] }) }.keys)
    }
}
