import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// Queries for words, the order of their rows, and excerpts.
@Suite struct MatchTests {
    static let article = EntitySchema(
        name: "Article",
        columns: [
            ColumnSchema("title", .text), ColumnSchema("body", .text, isOptional: true),
            ColumnSchema("year", .integer, default: .integer(0)),
            ColumnSchema("author", .reference, isOptional: true, target: "Author"),
        ],
        indexes: [
            IndexSchema("words", [IndexColumn("title"), IndexColumn("body")], fullText: FullTextOptions()),
            IndexSchema("year", [IndexColumn("year")]),
        ])
    static let author = EntitySchema(
        name: "Author", columns: [ColumnSchema("name", .text), ColumnSchema("life", .text, isOptional: true)],
        indexes: [IndexSchema("life", [IndexColumn("life")], fullText: FullTextOptions(stemming: .english))])

    static func library() throws -> Fixture {
        let fixture = try Fixture(author, article)
        try fixture.insertAll(
            "Author",
            [
                [.text("Ada"), .text("She wrote about engines and numbers")],
                [.text("Bob"), .text("He sailed the seas")], [.text("Eve"), .null],
            ])
        try fixture.insertAll(
            "Article",
            [
                [.text("Steam engines"), .text("A steam engine turns heat into work."), .integer(1801), .integer(1)],
                [.text("Sailing"), .text("The steam of the sea; engines are far."), .integer(1802), .integer(2)],
                [.text("On ropes"), .text("A rope is a rope is a rope."), .integer(1803), .integer(2)],
                [.text("Café society"), .null, .integer(1804), .null],
                [.text("東京の天気"), .text("晴れ"), .integer(1805), .null],
            ])
        return fixture
    }

    @Test func wordsAreSoughtInTablesOfAJoin() throws {
        let fixture = try Self.library()
        func titles(_ text: String) throws -> [String] {
            let statement = try SelectStatement.parse("SELECT a.title FROM Article a " + text + " ORDER BY a.title")
            return try statement.run(fixture.catalogue, view: fixture.store.snapshot()).rows.map { "\($0[0])" }
        }
        let join = "JOIN Author w ON a.author = w.id "
        #expect(try titles(join + "WHERE a.body MATCH 'steam'") == ["'Sailing'", "'Steam engines'"])
        #expect(try titles(join + "WHERE w.life MATCH 'sail'") == ["'On ropes'", "'Sailing'"])
        #expect(try titles(join + "WHERE w.life MATCH 'sail' AND a.title MATCH 'rop*'") == ["'On ropes'"])
        #expect(try titles(join + "WHERE a.year > 1801 OR w.life MATCH 'engine'").count == 3)
        #expect(try titles("LEFT " + join + "AND w.life MATCH 'engine' WHERE w.id IS NULL").count == 4)
        #expect(throws: RecordError.self) { try titles(join + "WHERE Article MATCH 'steam'") }
        #expect(throws: RecordError.self) { try titles(join + "WHERE a.body MATCH 'steam' AND rank < 0") }
    }

    private func ids(_ condition: String, _ parameters: [Value] = [], orderBy: String? = nil) throws -> [Int64] {
        let fixture = try Self.library()
        return try ids(fixture, condition, parameters, orderBy: orderBy)
    }

    private func ids(
        _ fixture: Fixture, _ condition: String, _ parameters: [Value] = [], orderBy: String? = nil
    ) throws -> [Int64] {
        let selection = Selection(
            table: "Article", condition: try Condition.parse(condition), parameters: parameters,
            orderBy: try orderBy.map { try Order.parse($0) } ?? [])
        return try selection.plan(fixture.catalogue).ids(in: try fixture.store.snapshot())
    }

    private func rows(_ statement: String, _ parameters: [Value] = []) throws -> [[Value]] {
        let fixture = try Self.library()
        return try SelectStatement.parse(statement).run(
            fixture.catalogue, view: try fixture.store.snapshot(), parameters: parameters
        ).rows
    }

    @Test func rowsAreOrderedByWhatIsShown() throws {
        let text = "SELECT title FROM Article WHERE Article MATCH 'steam' ORDER BY highlight(title), snippet(body)"
        let plan = try SelectStatement.parse(text).explanation(Self.library().catalogue).outline
        #expect(plan.contains("sort by highlight(title), snippet(body)"))
        #expect(try rows(text) == [[.text("Steam engines")], [.text("Sailing")]])
    }

    /// A row that comes for another reason has no rank.
    @Test func rowsWithoutTheWordsHaveNoRank() throws {
        let found = try rows("SELECT id, rank FROM Article WHERE Article MATCH 'heat' OR year = 1803 ORDER BY id")
        #expect(found.map { $0[0] } == [.integer(1), .integer(3)])
        #expect(found.map(\.[1].isNull) == [false, true])
    }

    /// In the order of ranks a row without a rank comes after those that have one, and before them in descending order;
    /// among each other by their keys.
    @Test func rowsWithoutARankComeLast() throws {
        let words = "Article MATCH 'steam' OR year >= 1803"
        #expect(try ids(words, orderBy: "rank") == [1, 2, 3, 4, 5])
        #expect(try ids(words, orderBy: "rank DESC") == [3, 4, 5, 2, 1])
        #expect(try ids(words, orderBy: "rank, year DESC") == [1, 2, 5, 4, 3])
        #expect(
            try ids("year >= 1803 OR Article MATCH 'sea' OR year = 1801", orderBy: "rank, id DESC") == [2, 5, 4, 3, 1])
        #expect(try ids("NOT Article MATCH 'steam'", orderBy: "rank") == [3, 4, 5])
        func titles(_ text: String) throws -> [Int64] {
            try rows(text).compactMap { if case .integer(let id) = $0[0] { id } else { nil } }
        }
        let select = "SELECT id, rank AS fit FROM Article WHERE \(words) ORDER BY"
        #expect(try titles("\(select) rank LIMIT 3") == [1, 2, 3])
        #expect(try titles("\(select) fit LIMIT 3 OFFSET 1") == [2, 3, 4])
        #expect(try titles("\(select) 2 DESC LIMIT 4") == [3, 4, 5, 2])
        #expect(
            try titles("SELECT DISTINCT id, rank FROM Article WHERE \(words) ORDER BY rank, id") == [1, 2, 3, 4, 5])
        // Where each row has a rank, the index provides the order.
        let plan = try SelectStatement.parse(
            "SELECT id FROM Article WHERE Article MATCH 'steam' AND year > 0 ORDER BY rank"
        )
        .explanation(Self.library().catalogue).outline
        #expect(plan.contains("already in order of rank"))
    }

    private func error(_ condition: String, _ parameters: [Value] = []) -> String {
        Fixture.error { _ = try ids(condition, parameters) }.map { "\($0)" } ?? ""
    }

    @Test func wordsAndTheirJoins() throws {
        #expect(try ids("Article MATCH 'steam'") == [1, 2])
        #expect(try ids("Article MATCH 'STEAM Engine'") == [1])
        #expect(try ids("Article MATCH 'steam AND engine'") == [1])
        #expect(try ids("Article MATCH 'engine OR rope'") == [1, 3])
        #expect(try ids("Article MATCH 'steam NOT heat'") == [2])
        #expect(try ids("Article MATCH 'steam AND NOT heat'") == [2])
        #expect(try ids("Article MATCH 'eng*'") == [1, 2])
        #expect(try ids("Article MATCH '\"steam engine\"'") == [1])
        #expect(try ids("Article MATCH '\"steam eng\"*'") == [1])
        #expect(try ids("Article MATCH '\"engine steam\"'") == [])
        #expect(try ids("Article MATCH 'NEAR(steam engines, 3)'") == [1, 2])
        #expect(try ids("Article MATCH 'NEAR(engines steam, 2)'") == [1])
        #expect(try ids("body MATCH 'NEAR(steam engines, 3)'") == [2])
        #expect(try ids("Article MATCH '\"AND\"'") == [])
        #expect(try ids("Article MATCH 'NEAR(heat work)'") == [1])
        #expect(try ids("Article MATCH '(sea OR heat) steam'") == [1, 2])
        #expect(try ids("Article MATCH 'and'") == [])
    }

    @Test func columns() throws {
        #expect(try ids("title MATCH 'engines'") == [1])
        #expect(try ids("body MATCH 'engines'") == [2])
        #expect(try ids("Article MATCH 'title:engines'") == [1])
        #expect(try ids("Article MATCH 'title:engines OR body:rope'") == [1, 3])
        #expect(try ids("Article MATCH 'Body:(steam engine)'") == [1])
        #expect(try ids("words MATCH 'steam'") == [1, 2])
        #expect(try ids("title MATCH 'body:engines'") == [])
    }

    @Test func foldedWordsAndScriptsWithoutSpaces() throws {
        #expect(try ids("title MATCH 'CAFE'") == [4])
        #expect(try ids("title MATCH ?", [.text("cafe\u{301}")]) == [4])
        #expect(try ids("title MATCH '東京'") == [5])
        #expect(try ids("title MATCH '京東'") == [])
        #expect(try ids("title MATCH '天'") == [5])
    }

    @Test func matchIsCombinedWithOtherConditions() throws {
        #expect(try ids("Article MATCH 'steam' AND year > 1801") == [2])
        #expect(try ids("Article MATCH 'rope' OR year = 1801") == [1, 3])
        #expect(try ids("NOT title MATCH 'steam'") == [2, 3, 4, 5])
        #expect(try ids("body NOT MATCH 'steam'") == [3, 5])
        #expect(try ids("id = 2 AND Article MATCH 'steam'") == [2])
        #expect(try ids("title MATCH 'steam' AND body MATCH 'heat'") == [1])
        #expect(try ids("body MATCH NULL") == [])
        #expect(try ids("Article MATCH 'steam'", orderBy: "id DESC") == [2, 1])
        #expect(try ids("Article MATCH 'steam'", orderBy: "year DESC") == [2, 1])
        #expect(try rows("SELECT count(*) FROM Article WHERE Article MATCH 'steam'") == [[.integer(2)]])
    }

    @Test func matchSearchesRelatedRows() throws {
        #expect(try ids("author.life MATCH 'engine'") == [1])
        #expect(try ids("author.life MATCH 'sailing sea'") == [2, 3])
        #expect(try ids("NOT author.life MATCH 'sail'") == [1])
    }

    @Test func stemsAreFound() throws {
        let fixture = try Self.library()
        let found = try Selection(table: "Author", condition: try Condition.parse("life MATCH 'writes OR sailing'"))
            .plan(
                fixture.catalogue
            ).ids(in: try fixture.store.snapshot())
        #expect(found == [2])
    }

    @Test func thePlanNamesTheIndex() throws {
        let fixture = try Self.library()
        func plan(_ condition: String, _ order: String?, limit: Int? = nil) throws -> String {
            try Selection(
                table: "Article", condition: try Condition.parse(condition),
                orderBy: try order.map { try Order.parse($0) } ?? [], limit: limit
            ).plan(fixture.catalogue).description
        }
        #expect(
            try plan("body MATCH 'steam' AND year > 3", "rank", limit: 5)
                == "search Article using index words (body MATCH 'steam'), already in order of rank, "
                + "then filter year > 3, limit 5")
        #expect(
            try plan("year = 5 AND Article MATCH 'a'", "year, rank DESC")
                == "search Article using index words (Article MATCH 'a'), then filter year = 5, sort by rank DESC")
        #expect(
            try plan("id = 5 AND Article MATCH 'a'", nil)
                == "search Article by key (id = 5), then filter Article MATCH 'a'")
    }

    /// Each kind of nesting at its limit, and a level more.
    @Test func deepTextsAreAnsweredOrRefusedOnASmallStack() async throws {
        let kinds: [(limit: Int, [Int64], @Sendable (Int) -> String)] = [
            (99, [1, 2], { String(repeating: "(", count: $0) + "steam" + String(repeating: ")", count: $0) }),
            (99, [1], { String(repeating: "title:", count: $0) + "steam" }),
            (99, [1], { (0..<$0).reduce("steam") { inner, _ in "(\(inner) engine NOT rope OR nothing)" } }),
            (99, [1, 2], { (0..<$0).reduce("nothing") { inner, _ in "(steam NOT \(inner))" } }),
        ]
        for (limit, expected, text) in kinds {
            let (plain, ranked, refusal) = try await onSmallStack {
                let fixture = try Self.library()
                let condition = "Article MATCH '\(text(limit))'"
                return (
                    try self.ids(fixture, condition, orderBy: "id"), try self.ids(fixture, condition, orderBy: "rank"),
                    self.error("Article MATCH '\(text(limit + 1))'")
                )
            }
            #expect(plain == expected && Set(ranked) == Set(expected), "\(text(2))")
            #expect(refusal.contains("nested too deeply; the limit is 100"), "\(text(2))")
        }
    }

    @Test func longChainsOfNotAreOneLevel() async throws {
        let found = try await onSmallStack {
            let fixture = try Self.library()
            let words = (0..<400).map { " AND NOT w\($0) AND steam" }.joined()
            let text = "steam" + words
            return try [text + " AND NOT sea", text + " NOT sea", text, "steam AND NOT sea AND sea"].map {
                try self.ids(fixture, "Article MATCH '\($0)'", orderBy: "id")
            }
        }
        #expect(found == [[1], [1], [1, 2], []])
    }

    @Test func errorsNameUnsupportedMatches() {
        #expect(error("year MATCH 'x'").contains("Article.year has no full-text index"))
        #expect(error("author.name MATCH 'x'").contains("@Attribute(.fullText)"))
        #expect(error("titel MATCH 'x'").contains("did you mean title"))
        #expect(error("title MATCH 3").contains("MATCH takes a text"))
        #expect(error("title MATCH year").contains("a text or a parameter"))
        #expect(error("title || body MATCH 'x'").contains("MATCH needs a column"))
        #expect(error("Article MATCH ''").contains("the pattern is empty"))
        #expect(error("Article MATCH '&'").contains("no letter or digit"))
        #expect(error("Article MATCH 'a AND'").contains("a word is expected"))
        #expect(error("Article MATCH 'OR a'").contains("a word is expected"))
        #expect(error("Article MATCH 'NOT a'").contains("this NOT that"))
        #expect(error("Article MATCH '(a'").contains("has no \")\""))
        #expect(error("Article MATCH 'a)'").contains("no meaning"))
        #expect(error("Article MATCH '\"a'").contains("has no end"))
        #expect(error("Article MATCH 'NEAR(a)'").contains("two words"))
        #expect(error("Article MATCH 'NEAR(a b, x)'").contains("a number"))
        #expect(error("Article MATCH 'titel:a'").contains("did you mean title"))
        #expect(error("year > 1 AND rank < 0").contains("without MATCH"))
        #expect(error("Article MATCH '\(String(repeating: "(", count: 300))a'").contains("nested too deeply"))
        #expect(error("Article MATCH '\(String(repeating: "title:", count: 300))a'").contains("nested too deeply"))
        #expect(error("Article MATCH '\(String(repeating: "a ", count: 3000))'").contains("too long"))
        #expect(error("Article MATCH 'one ) two'").contains("Article MATCH") == false)
        #expect(error("Article MATCH 'one ) two'").contains("one ) two\n      ^"))
    }

    /// Against figures worked out by hand: 4 rows of 4, 2, 6 and 4 words, the word in two of them.
    @Test func ranksAreThoseOfBM25() throws {
        var schema = Self.author
        schema.indexes = [IndexSchema("life", [IndexColumn("life")], fullText: FullTextOptions())]
        let fixture = try Fixture(schema)
        let texts = ["steam a b c", "steam steam", "a b c d e f", "a b c d"]
        try fixture.insertAll("Author", texts.map { [.text("x"), .text($0)] })
        let found = try SelectStatement.parse("SELECT id, rank FROM Author WHERE life MATCH 'steam' ORDER BY rank").run(
            fixture.catalogue, view: try fixture.store.snapshot())
        // ln(1 + (4 - 2 + 0.5) / (2 + 0.5)) = ln 2; the mean length is 4.
        let second = 0.693147180559945 * (2 * 2.2) / (2 + 1.2 * (0.25 + 0.75 * 2 / 4))
        let first = 0.693147180559945 * (1 * 2.2) / (1 + 1.2 * (0.25 + 0.75 * 4 / 4))
        try #require(found.rows.count == 2)
        #expect(found.rows.map(\.[0]) == [.integer(2), .integer(1)])
        for (row, wanted) in zip(found.rows, [second, first]) {
            guard case .double(let rank) = row[1] else { Issue.record("\(row)"); continue }
            #expect(abs(rank + wanted) < 1e-12, "\(rank) \(wanted)")
        }
        // Both parts count; what must not be there does not.
        let both = try SelectStatement.parse(
            "SELECT rank FROM Author WHERE life MATCH 'steam OR f NOT zzz' ORDER BY rank LIMIT 1"
        ).run(fixture.catalogue, view: try fixture.store.snapshot())
        let rare = 1.203972804325936 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 6 / 4))
        guard case .double(let rank)? = both.rows.first?.first else { Issue.record("\(both)"); return }
        #expect(abs(rank + max(rare, second)) < 1e-9)
    }

    /// The ranks of a row depend on the other rows.
    @Test func liveRowsInTheOrderOfRanks() throws {
        let fixture = try Fixture(Self.author)
        func insert(_ texts: [String]) throws -> ChangeSet {
            let table = try fixture.table("Author")
            return try fixture.store.write { tx in
                var changes = ChangeSet()
                var row = RowWriter()
                for text in texts {
                    row.begin(table.layout)
                    row.set(0, .text("x"))
                    row.set(1, .text(text))
                    try table.insert(&row, in: tx, changes: &changes)
                }
                return changes
            }
        }
        _ = try insert(["steam a", "steam b", "rope c"])
        let selection = Selection(
            table: "Author", condition: try Condition.parse("life MATCH 'steam OR rope'"), orderBy: [Order("rank")])
        var rows = try LiveRows(selection, fixture.catalogue, in: fixture.store.snapshot())
        #expect(rows.keys == [3, 1, 2].map { .rowID($0) })
        let changes = try insert(["rope d", "rope e", "rope f"])
        let notified = try rows.update([changes.changes(of: "Author")].compactMap { $0 }, in: fixture.store.snapshot())
        #expect(notified != nil)
        #expect(rows.keys == (1...6).map { .rowID($0) })
        var plain = try LiveRows(
            Selection(table: "Author", condition: try Condition.parse("life MATCH 'sail'")), fixture.catalogue,
            in: fixture.store.snapshot())
        let more = try insert(["sailing far", "nothing"])
        _ = try plain.update([more.changes(of: "Author")].compactMap { $0 }, in: fixture.store.snapshot())
        #expect(plain.keys == [.rowID(7)])
    }

    @Test func excerptsShowWhatWasFound() throws {
        #expect(
            try rows("SELECT highlight(body) FROM Article WHERE Article MATCH 'steam engine*' AND year = 1801") == [
                [.text("A <b>steam</b> <b>engine</b> turns heat into work.")]
            ])
        #expect(
            try rows("SELECT highlight(body, '[', ']') FROM Article WHERE body MATCH '\"a rope is\"'") == [
                [.text("[A rope is] [a rope is] a rope.")]
            ])
        #expect(
            try rows("SELECT snippet(body, '*', '*', '...', 3) FROM Article WHERE body MATCH 'engines'") == [
                [.text("...sea; *engines* are...")]
            ])
        #expect(
            try rows("SELECT highlight(title), highlight(body) FROM Article WHERE title MATCH 'cafe'") == [
                [.text("<b>Café</b> society"), .null]
            ])
        #expect(
            try rows("SELECT highlight(title, '<', '>') FROM Article WHERE title MATCH '東京'") == [
                [.text("<東京>の天気")]
            ])
        #expect(
            Fixture.error { _ = try rows("SELECT highlight(body) FROM Article WHERE year = 1") }.map { "\($0)" }?
                .contains("nothing to show") == true)
        #expect(
            Fixture.error {
                _ = try rows("SELECT snippet(body, 'a', 'b', 'c', 0) FROM Article WHERE body MATCH 'x'")
            }.map { "\($0)" }?.contains("from 1 to 1000") == true)
    }

    @Test func anyTextIsReadOrRefused() throws {
        let fixture = try Self.library()
        var random = Seeded(3)
        let pieces = [
            "steam", "\"", "(", ")", " ", "*", ":", ",", "NEAR", "AND", "OR", "NOT", "title", "é", "東", "5", "\u{0}",
            "{",
            "-",
        ]
        let view = try fixture.store.snapshot()
        for _ in 0..<3000 {
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in random.pick(pieces) }.joined()
            do throws(RecordError) {
                let condition = Condition.match(.column(["Article"]), .literal(.text(text)))
                _ = try Selection(table: "Article", condition: condition).plan(fixture.catalogue).count(in: view)
            } catch {
                guard case .syntax(let fault) = error else { Issue.record("\(text): \(error)"); continue }
                #expect(fault.offset >= 0 && fault.offset <= text.utf8.count && fault.text == text)
            }
        }
    }
}
