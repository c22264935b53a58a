import MakoStorage
import Testing

@testable import MakoRecords

/// Word breaking, full-text queries, and full-text indexes.
@Suite struct TextSearchTests {
    private func words(_ text: String, _ stemming: Stemming = .none) -> [String] {
        var tokenizer = Tokenizer(stemming: stemming)
        var words: [String] = []
        Array(text.utf8).withUnsafeBytes { raw in
            tokenizer.begin(raw)
            while tokenizer.next() { words.append(String(decoding: tokenizer.term, as: UTF8.self)) }
        }
        return words
    }

    /// From the list of words and stems at snowballstem.org.
    @Test(arguments: [
        ("happily", "happili"), ("heavily", "heavili"), ("pedagogy", "pedagogi"), ("biology", "biolog"),
        ("demonstrative", "demonstr"), ("formative", "format"), ("native", "nativ"), ("companion", "companion"),
        ("region", "region"), ("opinion", "opinion"), ("adoption", "adopt"), ("decision", "decis"),
    ])
    func endingsStayWhereTheyBelongToTheWord(word: String, stem: String) {
        #expect(words(word, .english) == [stem])
    }

    @Test func lettersAtTheLimitOfAWord() {
        // A sign of mathematics among Greek letters, and a long word that ends in a letter of two bytes.
        #expect(words("α϶β") == ["α", "β"])
        let long = String(repeating: "a", count: 191)
        #expect(words(long + "ñbc d") == [long + "n", "d"])
        #expect(words(String(repeating: "ж", count: 200)) == [String(repeating: "ж", count: 96)])
        #expect(words(long + "aßa") == [long + "a"])
    }

    /// Whatever word begins with a prefix, its stem begins with it, is that of the prefix, or is among the shorter ones.
    @Test(arguments: [
        "happiness", "nationalizations", "organization", "crying", "dying", "skies", "studies", "hopping", "hoping",
        "ability", "terribly", "rationalities", "emotionally", "creatively", "callousness", "agreedly", "early",
        "generalization", "relational", "electricity", "saying",
    ])
    func stemsOfWordsAreFoundFromEachPrefix(word: String) {
        let word = Array(word.utf8)
        let stem = EnglishStemmer.stem(of: word)
        for length in 1...word.count {
            let prefix = Array(word[..<length])
            let isFound =
                stem.starts(with: prefix) || stem == EnglishStemmer.stem(of: prefix)
                || EnglishStemmer.shorterStems(ofWordsFrom: prefix).contains(stem)
            #expect(isFound, "\(String(decoding: prefix, as: UTF8.self))")
        }
    }

    // MARK: Queries

    @Test func prefixesFindTheWordsThatTheyBeginInAnIndexOfStems() throws {
        let fixture = try Fixture(MatchTests.author, MatchTests.article)
        let lives = [
            "Happiness in the organs", "All are happy", "An organization of engineers", "Running on the runway",
        ]
        try fixture.insertAll("Author", lives.map { [.text("Ada"), .text($0)] })
        func found(_ pattern: String, _ columns: String = "id") throws -> [Value] {
            let text = "SELECT \(columns) FROM Author WHERE life MATCH '\(pattern)' ORDER BY id"
            return try SelectStatement.parse(text).run(fixture.catalogue, view: fixture.store.snapshot()).rows.map {
                $0[0]
            }
        }
        for length in 1...9 { #expect(try found("\("happiness".prefix(length))*").first == .integer(1), "\(length)") }
        #expect(try found("happ*") == [.integer(1), .integer(2)])
        #expect(try found("happines*") == [.integer(1)])
        // The organs have the stem of the organization, and are no word with the prefix.
        #expect(try found("organiz*") == [.integer(3)])
        #expect(try found("\"an organizat\"*") == [.integer(3)])
        #expect(try found("engineers organiz*") == [.integer(3)] && found("organiz* runway").isEmpty)
        #expect(try found("are happ*") == [.integer(2)] && found("are happines*").isEmpty)
        // Other forms of the word, and no other words with its stem's letters.
        #expect(try found("engineering*") == [.integer(3)])
        #expect(try found("runnin*") == [.integer(4)])
        #expect(try found("runs*", "highlight(life, '[', ']')") == [.text("[Running] on the runway")])
        #expect(try found("happines*", "highlight(life, '[', ']')") == [.text("[Happiness] in the organs")])
    }

    private func library() throws -> Fixture { try MatchTests.library() }

    private func rows(_ text: String) throws -> [[Value]] {
        let fixture = try library()
        return try SelectStatement.parse(text).run(fixture.catalogue, view: fixture.store.snapshot()).rows
    }

    private func ids(_ words: String) throws -> [Int64] {
        try rows("SELECT id FROM Article WHERE Article MATCH '\(words)' ORDER BY id").compactMap {
            if case .integer(let id) = $0[0] { id } else { nil }
        }
    }

    @Test func severalWordsThatMustNotBeThere() throws {
        #expect(try ids("steam NOT heat NOT sea") == [])
        #expect(try ids("steam NOT heat NOT rope") == [2])
        #expect(try ids("steam engine AND NOT sea") == [1])
        #expect(try ids("engine* steam AND NOT heat AND NOT rope") == [2])
    }

    @Test(arguments: [
        ("NEAR(steam engine, 3 sea)", "\")\" is expected"), ("NEAR(steam engine", "\")\" is expected"),
        ("NEAR(steam engine, 1000001)", "a number"),
    ])
    func wrongFormsOfNearAreRefused(words: String, fault: String) {
        let error = Fixture.error { _ = try ids(words) }
        #expect(error.map { "\($0)".contains(fault) } == true, "\(String(describing: error))")
    }

    /// Rows that are there for another reason have no rank.
    @Test func rowsWithoutTheWordHaveNoRank() throws {
        let found = try rows(
            "SELECT id, rank FROM Article WHERE Article MATCH 'rope' OR year = 1801 ORDER BY id")
        #expect(found.map { $0[0] } == [.integer(1), .integer(3)])
        #expect(found.map { $0[1].isNull } == [true, false])
    }

    @Test func excerptsOfPhrasesThatOverlap() throws {
        func shown(_ words: String, _ call: String = "highlight(body, '[', ']')") throws -> Value? {
            try rows("SELECT \(call) FROM Article WHERE body MATCH '\(words)' AND year < 1804").first?.first
        }
        #expect(try shown("NEAR(steam heat, 5)") == .text("A [steam] engine turns [heat] into work."))
        #expect(try shown("steam OR \"steam engine\"") == .text("A [steam engine] turns heat into work."))
        #expect(try shown("\"steam engine\" OR \"engine turns\"") == .text("A [steam engine turns] heat into work."))
        #expect(try shown("\"a rope is a rope\"") == .text("[A rope is a rope is a rope]."))
        #expect(
            try shown("\"a rope is a rope\"", "snippet(body, '[', ']', '…', 2)") != nil)
        #expect(try shown("steam NOT rope", "snippet(body, '[', ']', '…', 3)") == .text("A [steam] engine…"))
    }

    /// A query looks up equal match conditions once.
    @Test func theSameWordsAreOneCondition() throws {
        let fixture = try library()
        let texts = ["Article MATCH 'steam'", "Article MATCH 'steam'", "Article MATCH 'rope'", "title MATCH 'steam'"]
        var binder = Binder(try fixture.table("Article"), fixture.catalogue, [], [:])
        var matches: Set<BoundMatch> = []
        for text in texts {
            guard case .match(let match) = try binder.bind(Condition.parse(text)) else {
                Issue.record("\(text)"); continue
            }
            matches.insert(match)
        }
        #expect(matches.count == 3)
    }

    // MARK: Indexes

    /// A word that fills a chunk in one row alone.
    @Test func aChunkOfOneRowStaysWhole() throws {
        let text = try TextFixture()
        for number in 0..<3 {
            try text.fixture.insert("Note", [.text(String(repeating: "steam ", count: 400 + number)), .text("steam")])
        }
        try text.fixture.expectSound()
        #expect(try text.search("Note MATCH ?", "steam").count == 3)
        let table = try text.table
        for id in [2, 1] as [Int64] {
            try text.fixture.store.write { tx in
                var changes = ChangeSet()
                try table.delete(.rowID(id), in: tx, changes: &changes)
            }
            try text.fixture.expectSound()
        }
        // The last one, which grows where it is.
        try text.fixture.store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            row.begin(table.layout)
            row.set(0, .text(String(repeating: "steam ", count: 900)))
            _ = try table.update(&row, key: .rowID(3), in: tx, changes: &changes)
        }
        try text.fixture.expectSound()
        #expect(try text.search("Note MATCH ?", "steam") == [.rowID(3)])
    }

    /// More words than fit in memory: the first part is bulk-loaded, the others are inserted after it.
    @Test(arguments: [false, true]) func anIndexIsBuiltInParts(keyed: Bool) throws {
        let text = try TextFixture(keyed: keyed)
        let count = BulkLoading.fewestEntries + 500
        try text.fixture.insertAll(
            "Note",
            (0..<count).map { number in
                (keyed ? [.text("k\(number)")] : []) + [
                    .text(number % 1000 == 0 ? "a rare one" : "common"), .text("n\(number)"),
                ]
            })
        let table = try text.table
        let index = try #require(table.textIndexes.first)
        try text.fixture.store.write { tx in
            try tx.deleteAll(in: index.tree)
            try TextBuild.run(index, table, memory: 1 << 16, tx)
        }
        try text.fixture.expectSound()
        #expect(try text.search("title MATCH ?", "rare").count == 11)
        #expect(try text.search("title MATCH ?", "common").count == count - 11)
    }

    /// Rows with keys of their own, as many as are loaded in bulk.
    @Test func manyRowsWithKeysAreLoadedInBulk() throws {
        var text = try TextFixture(keyed: true)
        var bare = TextFixture.schema(keyed: true)
        bare.indexes = []
        try text.fixture.migrate(bare)
        let count = BulkLoading.fewestEntries + 10
        try text.fixture.insertAll(
            "Note",
            (0..<count).map { number in
                let rest = number % 5000 == 1 ? String(repeating: "z", count: 750) : ""
                return [
                    .text("k\(number)\(rest)"), .text(number % 1000 == 0 ? "a rare one" : "common"),
                    .text("n\(number)"),
                ]
            })
        try text.fixture.migrate(TextFixture.schema(keyed: true))
        try text.fixture.expectSound()
        #expect(try text.search("title MATCH ?", "rare").count == 11)
        #expect(try text.search("body MATCH ?", "n7777") == [RowKey(values: [.text("k7777")])])
        // The next row gets a number behind them.
        try text.fixture.insert("Note", [.text("new"), .text("rare"), .null])
        #expect(try text.search("title MATCH ?", "rare").count == 12)
        try text.fixture.expectSound()
    }
}
