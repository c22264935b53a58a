import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// Changes of a table that outgrow the cache take little more of the file than what was there and what they leave.
@Suite struct LargeChangeTests {
    private static let rows = 12_000
    private static let table = EntitySchema(
        name: "Note",
        columns: [ColumnSchema("code", .integer), ColumnSchema("size", .text), ColumnSchema("body", .text)],
        key: .rowID(column: "id"))

    private static func body(_ number: Int) -> String {
        var random = SplitMix(seed: UInt64(number))
        return (0..<12).map { _ in "word\(random.below(3000))" }.joined(separator: " ")
    }

    private static func filled() throws -> Store {
        var options = StoreOptions()
        options.background = .manual
        options.cacheBytes = 512 << 10
        let store = try Store.inMemory(options: options)
        try store.write { tx in
            _ = try Catalogue.migrate(to: table, in: tx)
            let handle = try Catalogue.load(view: tx.view).requireTable("Note")
            var changes = ChangeSet()
            var row = RowWriter()
            for number in 0..<rows {
                row.begin(handle.layout)
                row.set(0, .integer(Int64(number &* 7919 % rows)))
                row.set(1, .text("\(number)"))
                row.set(2, .text(body(number)))
                try handle.insert(&row, key: nil, in: tx, changes: &changes)
                changes.removeAll()
            }
        }
        return store
    }

    private static func expectSmallFile(
        _ sourceLocation: SourceLocation = #_sourceLocation, _ body: (borrowing WriteTransaction) throws -> Void
    ) throws {
        let store = try filled()
        let before = store.stats.livePages
        try store.write { tx in try body(tx) }
        let stats = store.stats
        let data = before + stats.livePages
        #expect(
            Int(stats.filePages) * 2 <= data * 3, "\(stats.filePages) pages for \(data)", sourceLocation: sourceLocation
        )
        #expect(try store.verify().findings == [], sourceLocation: sourceLocation)
        try store.read { view in
            for handle in try Catalogue.load(view: view).handles {
                #expect(try handle.verify(in: view) == [], sourceLocation: sourceLocation)
            }
        }
        try store.close()
    }

    private static func run(_ text: String, _ catalogue: Catalogue, _ tx: borrowing WriteTransaction) throws {
        var changes = ChangeSet()
        _ = try Statement.parse(text).run(catalogue, in: tx, changes: &changes)
    }

    @Test func anUpdateOfAllRows() throws {
        try Self.expectSmallFile { tx in
            try Self.run("UPDATE Note SET body = body || ' end'", try Catalogue.load(view: tx.view), tx)
        }
    }

    @Test func manyStatementsInOneTransaction() throws {
        try Self.expectSmallFile { tx in
            let catalogue = try Catalogue.load(view: tx.view)
            for number in 0..<1500 {
                let key = number &* 7919 % Self.rows + 1
                try Self.run("UPDATE Note SET body = 'changed \(number)' WHERE id = \(key)", catalogue, tx)
                if number % 50 == 0 { try Self.run("DELETE FROM Note WHERE id = \(key + 1)", catalogue, tx) }
            }
        }
    }

    @Test func anIndexThatIsBuilt() throws {
        var wanted = Self.table
        wanted.indexes = [
            IndexSchema("Note.code", [IndexColumn("code")], isUnique: true),
            IndexSchema("Note.body", [IndexColumn("body"), IndexColumn("code")]),
        ]
        try Self.expectSmallFile { tx in _ = try Catalogue.migrate(to: wanted, in: tx) }
    }

    @Test func aFullTextIndexThatIsBuilt() throws {
        var wanted = Self.table
        wanted.indexes = [IndexSchema("Note.words", [IndexColumn("body")], fullText: FullTextOptions())]
        try Self.expectSmallFile { tx in _ = try Catalogue.migrate(to: wanted, in: tx) }
    }

    @Test(arguments: [1, Int.max]) func aColumnThatIsConverted(loadedFrom fewest: Int) throws {
        var wanted = Self.table
        wanted.columns[1].type = .integer
        wanted.columns.append(ColumnSchema("place", .text, default: .text("here")))
        try Self.expectSmallFile { tx in
            _ = try Catalogue.migrate([TableMigration(wanted)], loadingFrom: fewest, in: tx)
        }
    }
}
