import MakoRecords
import MakoStorage
import Testing

/// Full-text indexes beside a plain model.
@Suite struct FullTextTests {
    private static func change(
        _ text: inout TextFixture, _ random: inout Seeded, _ steps: Int, _ tx: borrowing WriteTransaction,
        _ batch: IndexBatch?
    ) throws {
        let table = try text.table
        var changes = ChangeSet()
        var row = RowWriter()
        let first = text.isKeyed ? 1 : 0
        for _ in 0..<steps {
            let title = TextFixture.words(&random, 5)
            let body = TextFixture.words(&random, random.chance(3) ? 400 : 30)
            let known = text.rows.keys.sorted { "\($0)" < "\($1)" }
            row.begin(table.layout)
            if text.rows.isEmpty || random.chance(50) {
                if text.isKeyed {
                    let rest = random.chance(3) ? String(repeating: "y", count: 800) : ""
                    row.set(0, .text("k\(random.next() % 5000)\(rest)"))
                }
                row.set(first, TextFixture.value(title))
                row.set(first + 1, TextFixture.value(body))
                let isFar = !text.isKeyed && random.chance(10)
                let key = isFar ? RowKey.rowID(Int64.random(in: -50...3000, using: &random)) : nil
                let stored = try table.put(&row, key: key, in: tx, changes: &changes, batch: batch)
                text.rows[stored] = [title, body]
            } else if random.chance(60) {
                let key = random.pick(known)
                let column = random.chance(50) ? 0 : 1
                row.set(first + column, TextFixture.value(column == 0 ? title : body))
                if random.chance(20) { row.set(first + 2, .integer(Int64.random(in: 0...9, using: &random))) }
                _ = try table.update(&row, key: key, in: tx, changes: &changes, batch: batch)
                text.rows[key]?[column] = column == 0 ? title : body
            } else {
                try batch?.flush(in: tx)
                let key = random.pick(known)
                try table.delete(key, in: tx, changes: &changes)
                text.rows[key] = nil
            }
        }
        try batch?.flush(in: tx)
    }

    private static func expectMatches(_ text: TextFixture, _ random: inout Seeded, _ count: Int) throws {
        try text.fixture.expectSound()
        for _ in 0..<count {
            let query = PlainMatch.random(&random)
            let found = try text.search("Note MATCH ?", query.text)
            #expect(Set(found) == text.expected(query), "\(query.text)")
            #expect(Set(found).count == found.count)
            let ranked = try text.search("Note MATCH ?", query.text, orderBy: [Order("rank")])
            #expect(Set(ranked) == Set(found), "\(query.text)")
            let best = try text.search("Note MATCH ?", query.text, orderBy: [Order("rank")], limit: 5)
            #expect(best == Array(ranked.prefix(5)))
            let others = try text.search("NOT Note MATCH ? AND size >= 0", query.text)
            #expect(Set(others).isDisjoint(with: found))
            #expect(others.count + found.count == text.rows.count)
        }
    }

    @Test(arguments: [false, true], [1, 2, 3]) func randomChangesAreFound(_ keyed: Bool, _ seed: UInt64) throws {
        var random = Seeded(seed)
        var text = try TextFixture(keyed: keyed)
        for round in 0..<8 {
            let before = text
            let batch = round % 2 == 0 ? IndexBatch() : nil
            var after = text
            let store = text.fixture.store
            let isRolledBack = round == 5
            do {
                try store.write { tx in
                    try Self.change(&after, &random, 60, tx, batch)
                    let kept = after
                    let savepoint = tx.savepoint()
                    try Self.change(&after, &random, 30, tx, batch)
                    if round % 3 == 1 {
                        try tx.rollback(to: savepoint)
                        after = kept
                    }
                    if isRolledBack { throw RecordError.cancelled }
                }
                text = after
            } catch RecordError.cancelled { text = before }
            try Self.expectMatches(text, &random, 30)
        }
    }

    @Test func anIndexIsBuiltFromRowsThatAreThere() throws {
        var random = Seeded(11)
        for keyed in [false, true] {
            var text = try TextFixture(keyed: keyed)
            var bare = TextFixture.schema(keyed: keyed)
            bare.indexes = []
            try text.fixture.migrate(bare)
            let store = text.fixture.store
            try store.write { tx in try Self.change(&text, &random, 700, tx, nil) }
            #expect(Fixture.error { _ = try text.search("Note MATCH ?", "steam") } != nil)
            try text.fixture.migrate(TextFixture.schema(keyed: keyed))
            try Self.expectMatches(text, &random, 40)
            try store.write { tx in try Self.change(&text, &random, 100, tx, nil) }
            try Self.expectMatches(text, &random, 20)
            try store.write { tx in try text.table.rebuildText(in: tx) }
            try Self.expectMatches(text, &random, 10)
        }
    }

    /// From 10,000 rows on an index is loaded.
    @Test func manyRowsAreLoadedInBulk() throws {
        var text = try TextFixture()
        var bare = TextFixture.schema(keyed: false)
        bare.indexes = []
        try text.fixture.migrate(bare)
        let store = text.fixture.store
        let table = try text.table
        try store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            for number in 0..<10_100 {
                row.begin(table.layout)
                row.set(0, .text(number % 1000 == 0 ? "a rare one" : "common words"))
                row.set(1, .text("number \(number) common"))
                _ = try table.insert(&row, in: tx, changes: &changes)
            }
        }
        try text.fixture.migrate(TextFixture.schema(keyed: false))
        try text.fixture.expectSound()
        #expect(try text.search("title MATCH ?", "rare").count == 11)
        #expect(try text.search("Note MATCH ?", "rare common").count == 11)
        #expect(try text.search("body MATCH ?", "\"number 7777 common\"").count == 1)
        #expect(try text.search("Note MATCH ?", "common NOT title:rare").count == 10_089)
        #expect(try text.search("Note MATCH ?", "common").count == 10_100)
    }

    @Test func aDatabaseIsReopened() throws {
        var random = Seeded(5)
        var text = try TextFixture()
        let store = text.fixture.store
        try store.write { tx in try Self.change(&text, &random, 200, tx, nil) }
        let again = try Catalogue.load(view: store.snapshot())
        #expect(again.tables == text.fixture.catalogue.tables)
        #expect(try again.requireTable("Note").schema.indexes[0].fullText == FullTextOptions())
    }

    @Test func allRowsGoAtOnce() throws {
        var random = Seeded(6)
        var text = try TextFixture(keyed: true)
        let store = text.fixture.store
        try store.write { tx in
            try Self.change(&text, &random, 100, tx, nil)
            var changes = ChangeSet()
            try text.table.deleteAll(in: tx, changes: &changes)
        }
        text.rows = [:]
        try Self.expectMatches(text, &random, 5)
        try store.write { tx in try Self.change(&text, &random, 50, tx, nil) }
        try Self.expectMatches(text, &random, 5)
    }

    /// One word in many rows, taken out from both ends and from the middle.
    @Test func chunksComeAndGo() throws {
        var text = try TextFixture()
        let store = text.fixture.store
        let table = try text.table
        var random = Seeded(9)
        try store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            for number in (1...3000).shuffled(using: &random) {
                row.begin(table.layout)
                row.set(0, .text("steam"))
                try table.insert(&row, key: .rowID(Int64(number)), in: tx, changes: &changes)
                text.rows[.rowID(Int64(number))] = [["steam"], nil]
            }
        }
        try text.fixture.expectSound()
        #expect(try text.search("title MATCH ?", "steam") == (1...3000).map { .rowID($0) })
        for key in (1...3000).shuffled(using: &random).prefix(2990) + Array(1...200) {
            let key = RowKey.rowID(Int64(key))
            try store.write { tx in
                var changes = ChangeSet()
                try table.delete(key, in: tx, changes: &changes)
            }
            text.rows[key] = nil
        }
        try text.fixture.expectSound()
        #expect(try Set(text.search("title MATCH ?", "steam")) == Set(text.rows.keys))
    }
}
