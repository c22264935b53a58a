import MakoStorage
import Testing

@testable import MakoRecords

/// Full-text indexes with a damaged tree: queries and changes end in an error that names the index, `verify` finds it,
/// nothing traps, and a rebuilt index works again.
@Suite struct DamagedTextTests {
    /// Rows 1 to 3, or with the keys a to c.
    private static func fixture(keyed: Bool = false) throws -> TextFixture {
        let text = try TextFixture(keyed: keyed)
        let rows = [("steam engine", "rope"), ("sail rope", "steam engine steam"), ("sea", "engine of steam")]
        for (number, (title, body)) in rows.enumerated() {
            let key: [Value] = keyed ? [.text(["a", "b", "c"][number])] : []
            try text.fixture.insert("Note", key + [.text(title), .text(body)])
        }
        return text
    }

    private static func key(_ number: Int) -> RowKey { RowKey(values: [.text(["a", "b", "c"][number - 1])]) }

    private static func damage(_ text: TextFixture, _ changes: [(key: [UInt8], value: [UInt8]?)]) throws {
        let index = try #require(try text.table.textIndexes.first)
        try text.fixture.store.write { tx in
            for (key, value) in changes {
                if let value {
                    try tx.put(value, for: key, in: index.tree)
                } else {
                    _ = try tx.delete(key, in: index.tree)
                }
            }
        }
    }

    private static func term(_ word: String) -> [UInt8] { [2] + Array(word.utf8) }

    private static func lengthKey(_ id: Int64) -> [UInt8] {
        var key = KeyBuffer()
        FullTextIndex.lengthKey(FullTextIndex.block(of: KeyOrder.treeKey(id)), into: &key)
        return key.bytes
    }

    private static func chunkKey(_ word: String, _ id: Int64) -> [UInt8] {
        var key = KeyBuffer(term(word))
        FullTextIndex.appendChunk(KeyOrder.treeKey(id), to: &key)
        return key.bytes
    }

    private func reason(_ body: () throws -> Void) -> String? {
        guard case .indexDamaged("Note", "words", let reason)? = Fixture.error(body) else { return nil }
        return reason
    }

    /// The rows that match the words, by `rank` if `ranked` is set.
    private func search(_ text: TextFixture, _ words: String, ranked: Bool = false) throws -> [RowKey] {
        try text.search("Note MATCH ?", words, orderBy: ranked ? [Order("rank")] : [])
    }

    private func change(
        _ text: TextFixture,
        _ body: (TableHandle, inout RowWriter, inout ChangeSet, borrowing WriteTransaction) throws -> Void
    ) throws {
        let table = try text.table
        try text.fixture.store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            row.begin(table.layout)
            try body(table, &row, &changes, tx)
        }
    }

    private func findings(_ text: TextFixture) throws -> [String] {
        try Catalogue.verify(text.fixture.store).findings
    }

    private func expectMended(_ text: TextFixture) throws {
        try text.fixture.store.write { tx in try text.table.rebuildText(in: tx) }
        try text.fixture.expectSound()
        #expect(try search(text, "steam", ranked: true).count == 3)
        #expect(try search(text, "\"steam engine\"").count == 2)
    }

    // MARK: Postings

    /// Each kind of search that reads a word fails at its damaged postings.
    private static let unreadable = "the postings of a word cannot be read"
    @Test(arguments: [
        ("steam", false), ("steam", true), ("title:steam", false), ("ste*", false), ("ste*", true),
        ("body:ste*", false),
        ("\"steam engine\"", false), ("\"engine of steam\"", false), ("\"rope steam\"*", false),
        ("NEAR(steam engine, 2)", false), ("steam AND rope", false), ("rope NOT steam", false), ("sea OR steam", true),
    ]) func damagedPostingsAreErrors(words: String, ranked: Bool) throws {
        // A number without an end; rows that claim more bytes than there are.
        for bytes in [[0x80], [1, 1, 0x80], [1, 0x40]] as [[UInt8]] {
            let text = try Self.fixture()
            try Self.damage(text, [(Self.term("steam"), bytes)])
            #expect(reason { _ = try search(text, words, ranked: ranked) } == Self.unreadable, "\(words) \(bytes)")
            #expect(try findings(text).isEmpty == false)
            try expectMended(text)
        }
    }

    /// Places in a row that cannot be read: a number without an end, and a column that comes again.
    @Test(arguments: [
        "title:steam", "\"steam engine\"", "\"engine of steam\"", "NEAR(steam engine, 2)", "\"sea steam\"*",
        "body:ste*",
    ]) func damagedPlacesAreErrors(words: String) throws {
        for places in [[0x80, 0x80], [0, 0], [0, 0x80], [0, 64]] as [[UInt8]] {
            let text = try Self.fixture()
            let row: [UInt8] = [1, UInt8(places.count << 1)] + places
            let rows = row + row + row
            try Self.damage(text, [(Self.term("steam"), rows), (Self.term("sea"), rows)])
            #expect(reason { _ = try search(text, words) } == Self.unreadable, "\(words) \(places)")
            // Finding rows does not decode the positions.
            #expect(try search(text, "steam").count == 3)
            #expect(try findings(text).isEmpty == false)
        }
    }

    /// A row is taken out or entered where the postings do not fit: the change is refused.
    @Test func changesThatMeetDamagedPostingsAreRefused() throws {
        for bytes in [[0x80], [1, 1, 0x80], []] as [[UInt8]] {
            let text = try Self.fixture()
            try Self.damage(text, [(Self.term("steam"), bytes)])
            let unfit = "the postings of steam do not fit the rows"
            let deleting = reason {
                try change(text) { table, _, changes, tx in
                    _ = try table.delete(.rowID(1), in: tx, changes: &changes)
                }
            }
            #expect(deleting == unfit)
            let updating = reason {
                try change(text) { table, row, changes, tx in
                    row.set(0, .text("engine"))
                    _ = try table.update(&row, key: .rowID(1), in: tx, changes: &changes)
                }
            }
            #expect(updating == unfit)
            func insert(_ batch: IndexBatch?) -> String? {
                reason {
                    try change(text) { table, row, changes, tx in
                        row.set(0, .text("steam"))
                        _ = try table.insert(&row, in: tx, changes: &changes, batch: batch)
                        try batch?.flush(in: tx)
                    }
                }
            }
            if bytes.isEmpty { continue }
            #expect(insert(nil) == unfit)
            #expect(insert(IndexBatch()) == Self.unreadable)
            try expectMended(text)
        }
    }

    /// A word's second chunk takes the place of the first one when that is empty.
    @Test func aDamagedSecondChunkIsNotMoved() throws {
        let text = try Self.fixture()
        for bytes in [[], [0x80]] as [[UInt8]] {
            try Self.damage(text, [(Self.term("steam"), [1, 1]), (Self.chunkKey("steam", 2), bytes)])
            let deleting = reason {
                try change(text) { table, _, changes, tx in
                    _ = try table.delete(.rowID(1), in: tx, changes: &changes)
                }
            }
            #expect(deleting == "a chunk of postings cannot be read")
        }
        try expectMended(text)
    }

    /// Keys that begin as a word's do.
    @Test func keysThatAreNoWordsAreErrors() throws {
        let text = try Self.fixture()
        try Self.damage(text, [(Self.term("steam") + [0, 255], [1, 1])])
        #expect(reason { _ = try search(text, "ste*") } == "it has a key that is none of a word")
        #expect(try search(text, "steam").count == 3)
        #expect(try findings(text) == ["Note: index words has a key that is none of a word"])
        try expectMended(text)
    }

    // MARK: Lengths and totals

    @Test func damagedTotalsAreErrors() throws {
        let cases: [(bytes: [UInt8], reason: String)] = [
            ([], "it has another format"), ([99, 3, 0, 5, 8], "it has another format"),
            ([1], "its totals cannot be read"), ([1, 3], "its totals cannot be read"),
            ([1, 3, 0, 5], "its totals cannot be read"), ([1, 3, 0, 5, 8, 0], "its totals cannot be read"),
        ]
        for (bytes, reason) in cases {
            let text = try Self.fixture()
            try Self.damage(text, [([0], bytes)])
            #expect(self.reason { _ = try search(text, "steam", ranked: true) } == reason, "\(bytes)")
            #expect(try search(text, "steam").count == 3)
            let inserting = self.reason {
                try change(text) { table, row, changes, tx in
                    row.set(0, .text("word"))
                    _ = try table.insert(&row, in: tx, changes: &changes)
                }
            }
            #expect(inserting == reason)
            #expect(try findings(text).map { $0.contains("table Note: ") && $0.contains(reason) } == [true])
            try expectMended(text)
        }
    }

    @Test func damagedLengthsAreErrors() throws {
        let missing = "the length of a row is missing"
        let cases: [(bytes: [UInt8]?, ranked: String?, changed: String?)] = [
            (nil, missing, nil), ([1, 2, 1], missing, nil),
            ([99, 1, 1], missing, "the lengths of rows cannot be read"),
            ([2, 1, 1, 1, 1, 1], missing, "the lengths of rows cannot be read"),
            // The lengths of the last row are cut off: it counts as short.
            ([1, 2, 1, 2, 2, 3, 3, 0x81], nil, "the lengths of rows cannot be read"),
        ]
        for (bytes, ranked, changed) in cases {
            let text = try Self.fixture()
            try Self.damage(text, [(Self.lengthKey(1), bytes)])
            if let ranked {
                #expect(reason { _ = try search(text, "steam", ranked: true) } == ranked)
            } else {
                #expect(try search(text, "steam", ranked: true).count == 3)
            }
            #expect(try search(text, "steam").count == 3)
            func change() throws {
                try self.change(text) { table, row, changes, tx in
                    row.set(0, .text("one two three"))
                    _ = try table.update(&row, key: .rowID(1), in: tx, changes: &changes)
                }
            }
            if let changed { #expect(reason { try change() } == changed) } else { try change() }
            #expect(try findings(text).isEmpty == false)
        }
    }

    // MARK: Numbers of rows with other keys

    @Test func rowsThatTheIndexDoesNotKnowAreErrors() throws {
        let number = FullTextIndex.rowKey(Self.keyBytes(1))
        for (bytes, words) in [(nil, "it does not know row"), ([1, 2, 3], "a row's number has 3 bytes")]
            as [([UInt8]?, String)]
        {
            let text = try Self.fixture(keyed: true)
            try Self.damage(text, [(number, bytes)])
            let deleting = reason {
                try change(text) { table, _, changes, tx in
                    _ = try table.delete(Self.key(1), in: tx, changes: &changes)
                }
            }
            #expect(deleting?.contains(words) == true, "\(String(describing: deleting))")
            let updating = reason {
                try change(text) { table, row, changes, tx in
                    row.set(1, .text("other"))
                    _ = try table.update(&row, key: Self.key(1), in: tx, changes: &changes)
                }
            }
            #expect(updating?.contains(words) == true, "\(String(describing: updating))")
            #expect(try findings(text).contains { $0.contains(bytes == nil ? "does not know row" : words) })
            // Tested row by row, a row that the index does not know has no words.
            if bytes == nil {
                #expect(try text.search("NOT Note MATCH ?", "steam") == [Self.key(1)])
            }
            try expectMended(text)
        }
    }

    private static func keyBytes(_ number: Int) -> [UInt8] {
        if case .bytes(let bytes) = key(number) { bytes } else { [] }
    }

    @Test func numbersWithoutARowAreErrors() throws {
        let text = try Self.fixture(keyed: true)
        try Self.damage(text, [(FullTextIndex.numberKey(FullTextIndex.firstBase), nil)])
        let first = FullTextIndex.firstBase
        #expect(reason { _ = try search(text, "steam") } == "it names row number \(first), which it does not know")
        #expect(try findings(text) == ["Note: index words knows 2 rows, not 3"])
        try expectMended(text)
    }

    /// The number behind the last one there can be.
    @Test func rowNumbersEnd() throws {
        let text = try Self.fixture(keyed: true)
        var totals = KeyBuffer([FullTextIndex.format])
        totals.append(varint: 3)
        totals.append(varint: FullTextIndex.firstBase - 1)
        for count in [5, 8] { totals.append(varint: UInt64(count)) }
        try Self.damage(text, [([0], totals.bytes)])
        let inserting = reason {
            try change(text) { table, row, changes, tx in
                row.set(0, .text("z"))
                row.set(1, .text("word"))
                _ = try table.insert(&row, in: tx, changes: &changes)
            }
        }
        #expect(inserting == "it has given out every number of rows")
        try expectMended(text)
    }

    // MARK: What only a check notices

    private static let quiet: [(changes: [(key: [UInt8], value: [UInt8]?)], findings: [String])] = [
        ([([2] + Array("ghost".utf8), [1, 1])], ["Note: index words has words that no row has"]),
        ([([2] + Array("ghost".utf8), [0x80])], ["Note: index words has postings of ghost that cannot be read"]),
        ([(lengthKey(1000), [1, 1, 1])], ["Note: index words has the lengths of 4 rows, not of 3"]),
        ([(lengthKey(1000), [99])], ["Note: index words has lengths of rows that cannot be read"]),
        ([([9], [])], ["Note: index words has a key that is of no kind"]),
        (
            [(FullTextIndex.rowKey([7]), [UInt8](repeating: 0, count: 8))],
            ["Note: index words knows the numbers of 1 rows, not of 0"]
        ),
        ([(FullTextIndex.numberKey(7), [7])], ["Note: index words knows 1 rows, not 0"]),
        ([([0], [1, 4, 0, 5, 8])], ["Note: index words counts 4 rows with [5, 8] words, not 3 with [5, 7]"]),
        (
            [(term("rope"), [1, 1])],
            [
                "Note: index words has not the word rope of row 1 as it is there",
                "Note: index words has not the word rope of row 2 as it is there",
            ]
        ),
        ([(term("sail"), [2, 1, 1, 1])], ["Note: index words has words that no row has"]),
        ([(term("sail"), nil)], ["Note: index words has not the word sail of row 2 as it is there"]),
        ([(lengthKey(1), [1, 2, 1, 2, 2, 9, 3, 1, 3])], ["Note: index words has another length of row 2"]),
    ]

    @Test(arguments: quiet.indices) func verifyFindsDamageThatNoQueryReads(number: Int) throws {
        let text = try Self.fixture()
        let (changes, wanted) = Self.quiet[number]
        try Self.damage(text, changes)
        #expect(try findings(text) == wanted)
        try expectMended(text)
    }

    /// `verify` reports at most 50 findings.
    @Test func findingsAreLimited() throws {
        let text = try Self.fixture()
        try text.fixture.insert("Note", [.text((0..<100).map { "w\($0)" }.joined(separator: " "))])
        try Self.damage(text, (0..<100).map { (Self.term("w\($0)"), nil) })
        #expect(try findings(text).count == 50)
        try expectMended(text)
    }
}
