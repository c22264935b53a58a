import Foundation
import Mako
import Testing

/// Patterns made of what a user has typed.
@Suite struct MatchPatternTests {
    @Entity final class Page {
        @Attribute(.fullText) var body = ""
        @Attribute(.fullText(.english)) var summary: String?
    }

    /// The words of a text, by rules of this test's own: letters of ASCII and é, digits, and 東 and 京 each a word.
    private struct Words {
        /// Words between which nothing separates, each list one piece.
        var pieces: [[String]] = []
        var all: [String] { pieces.flatMap { $0 } }

        init(_ text: String) {
            var word = ""
            var piece: [String] = []
            func end(_ word: inout String) {
                if !word.isEmpty { piece.append(word) }
                word = ""
            }
            for scalar in text.unicodeScalars {
                switch scalar {
                case "a"..."z", "0"..."9": word.unicodeScalars.append(scalar)
                case "A"..."Z": word += String(scalar).lowercased()
                case "é": word += "e"
                case "東", "京":
                    end(&word)
                    piece.append(String(scalar))
                default:
                    end(&word)
                    if !piece.isEmpty { pieces.append(piece) }
                    piece = []
                }
            }
            end(&word)
            if !piece.isEmpty { pieces.append(piece) }
        }

        func has(_ phrase: [String], isPrefix: Bool = false) -> Bool {
            let all = all
            guard !phrase.isEmpty, phrase.count <= all.count else { return false }
            return (0...all.count - phrase.count).contains { start in
                phrase.indices.allSatisfy { place in
                    let word = all[start + place]
                    return isPrefix && place == phrase.count - 1 ? word.hasPrefix(phrase[place]) : word == phrase[place]
                }
            }
        }
    }

    private static let parts = [
        "a", "b", "ab", "abc", "B", "é", "東", "京", "7", " ", " ", " ", "\n", "\t", "\0", "\"", "\"\"", "'", "*", "(",
        ")",
        ":", ",", "-", "+", "^", "{", "}", "[", "]", "\\", "/", ".", "!", "?", "%", "_", "~", "<", ">", "=", "|", "&",
        ";", "@",
        "#", "$", "🎉", " AND ", " OR ", " NOT ", "NOT", "NEAR(", "NEAR(a b, 2)", "body:", "body : ", "rank",
    ]

    private static func text(_ generator: inout SystemRandomNumberGenerator, _ limit: Int) -> String {
        (0..<Int.random(in: 0...limit, using: &generator)).map { _ in parts.randomElement(using: &generator) ?? "" }
            .joined()
    }

    @Test func anyTextIsAPatternThatFindsItsWords() throws {
        var generator = SystemRandomNumberGenerator()
        let db = try Database.inMemory(entities: [Page.self])
        let pages = (0..<60).map { _ in Page(body: Self.text(&generator, 14)) }
        try db.save(pages)
        let stored = pages.map { (id: $0.id, words: Words($0.body)) }
        func ids(_ pattern: MatchPattern) throws -> [Int] {
            let found = try db.query(Page.self).where(.match(\.body, pattern)).orderBy(\.id).ids()
            let byText = try db.query(Page.self).where("body MATCH \(pattern)").orderBy(\.id).ids()
            let byParameter = try db.query(Page.self).where("body MATCH ?", pattern).orderBy(.rank).ids()
            #expect(found == byText && found == byParameter.sorted(), "\(pattern)")
            return found
        }
        var matches = 0
        for _ in 0..<300 {
            let typed = Self.text(&generator, 6)
            let pieces = Words(typed).pieces
            func expected(_ test: (Words) -> Bool) -> [Int] {
                pieces.isEmpty ? [] : stored.filter { test($0.words) }.compactMap(\.id)
            }
            let all = expected { words in pieces.allSatisfy { words.has($0) } }
            #expect(try ids(MatchPattern(allTokens: typed)) == all, "all of \(typed.debugDescription)")
            let any = expected { words in pieces.contains { words.has($0) } }
            #expect(try ids(MatchPattern(anyToken: typed)) == any, "any of \(typed.debugDescription)")
            let phrase = expected { $0.has(pieces.flatMap { $0 }) }
            #expect(try ids(MatchPattern(phrase: typed)) == phrase, "the phrase \(typed.debugDescription)")
            let prefix = expected { words in
                pieces.dropLast().allSatisfy { words.has($0) } && words.has(pieces.last ?? [], isPrefix: true)
            }
            #expect(try ids(MatchPattern(prefix: typed)) == prefix, "the prefix \(typed.debugDescription)")
            matches += phrase.count
        }
        #expect(matches > 0)
    }

    @Test func aTextWithoutAWordMatchesNothing() throws {
        let db = try Database.inMemory(entities: [Page.self])
        try db.save(Page(body: "steam", summary: "steam"))
        for typed in ["", " ", "\"", "***", "(", "🎉", ":,", "\0"] {
            for pattern in [
                MatchPattern(allTokens: typed), MatchPattern(anyToken: typed), MatchPattern(phrase: typed),
                MatchPattern(prefix: typed),
            ] {
                #expect(pattern.isEmpty)
                let query = db.query(Page.self).where(.match(\.body, pattern)).orderBy(.rank)
                #expect(try query.count() == 0)
                #expect(try query.excerpts(\.body).isEmpty)
                #expect(try db.query(Page.self).where(.match(\.body, pattern) || \.summary == "steam").count() == 1)
            }
        }
        #expect(try db.query(Page.self).where("body MATCH '\"\" OR steam'").count() == 1)
        #expect(try db.query(Page.self).where("body MATCH 'steam NOT \"\"'").count() == 1)
        #expect(throws: MakoError.self) { try db.query(Page.self).where("body MATCH ''").fetch() }
    }

    @Test func aLongTextCountsByItsFirstWords() throws {
        let db = try Database.inMemory(entities: [Page.self])
        let words = (0..<5000).map { "w\($0)" }
        try db.save(Page(body: words.prefix(1000).joined(separator: " ")))
        let typed = words.joined(separator: " ")
        #expect(try db.query(Page.self).where(.match(\.body, MatchPattern(allTokens: typed))).count() == 1)
        #expect(try db.query(Page.self).where(.match(\.body, MatchPattern(phrase: typed))).count() == 1)
        let han = String(repeating: "東", count: 20_000)
        #expect(try db.query(Page.self).where(.match(\.body, MatchPattern(prefix: han))).count() == 0)
    }

    @Test func stemsAndOptionalPropertiesMatch() throws {
        let db = try Database.inMemory(entities: [Page.self])
        try db.save([Page(body: "x", summary: "Engines of steam"), Page(body: "y")])
        let query = db.query(Page.self)
        #expect(try query.where(.match(\.summary, MatchPattern(allTokens: "steam (engine)"))).count() == 1)
        #expect(try query.where(.match(\.summary, MatchPattern(phrase: "engine of steam"))).count() == 1)
        #expect(try query.where(.match(\.summary, MatchPattern(prefix: "steam eng"))).count() == 1)
        #expect(try query.where(.match(\.summary, MatchPattern(phrase: "steam engine"))).count() == 0)
        #expect(
            try db.rawQuery("SELECT id FROM Page WHERE summary MATCH \(MatchPattern(anyToken: "ropes, ENGINES!"))").rows
                .count == 1)
    }
}
