import MakoRecords
import MakoStorage
import Testing

/// The history records of commits that change very many rows.
@Suite struct HistoryRecordTests {
    private static func schema(_ name: String) -> EntitySchema {
        EntitySchema(
            name: name, columns: [ColumnSchema("code", .text), ColumnSchema("people", .integer)],
            key: .columns(["code"]))
    }

    private let fixture: Fixture

    init() throws {
        fixture = try Fixture(Self.schema("Small"), Self.schema("Large"), Self.schema("Middle"))
        try fixture.store.write { tx in
            try HistoryWriter(SystemEntropy()).begin(HistoryLimits(), date: 0, in: tx)
        }
    }

    /// Puts rows into tables in one commit, of which the history is to keep so many bytes.
    private func put(_ rows: [(table: String, count: Int)], keyBytes: Int, rowBytes: Int?) throws {
        let history = HistoryWriter(SystemEntropy(), rowBytes: rowBytes)
        let padding = String(repeating: "x", count: keyBytes - 8)
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var writer = RowWriter()
            for (name, count) in rows {
                let table = try fixture.table(name)
                for number in 0..<count {
                    writer.begin(table.layout)
                    writer.set(0, .text("\(10_000_000 + number)\(padding)"))
                    writer.set(1, .integer(Int64(number)))
                    _ = try table.insert(&writer, key: nil, in: tx, changes: &changes)
                }
            }
            try history.append(changes, fixture.catalogue, date: 0, in: tx)
        }
    }

    /// The newest record: for each table the number of rows, or that it must be read again as a whole.
    private func notified() throws -> [String] {
        let page = try fixture.store.read { try HistoryPage(after: nil, limit: .max, in: $0) }
        let record = try #require(page?.records.last)
        return record.tables.enumerated().map { place, table in
            let rows = record.spans.filter { $0.table == place }.count
            return "\(table.name) \(table.isRewritten ? "anew" : "\(rows)")"
        }.sorted()
    }

    @Test func tooLargeChangesAreRecordedAsARewrite() throws {
        let rows = [("Small", 10), ("Large", 200), ("Middle", 100)]
        try put(rows, keyBytes: 20, rowBytes: 10_000)
        #expect(try notified() == ["Large 200", "Middle 100", "Small 10"])
    }

    @Test func thoseThatTakeMostGoFirst() throws {
        let rows = [("Small", 10), ("Large", 200), ("Middle", 100)]
        try put(rows, keyBytes: 20, rowBytes: 5_000)
        #expect(try notified() == ["Large anew", "Middle 100", "Small 10"])
    }

    @Test func allOfThemGoWhereNoneFits() throws {
        try put([("Small", 10), ("Large", 200)], keyBytes: 20, rowBytes: 10)
        #expect(try notified() == ["Large anew", "Small anew"])
        try put([], keyBytes: 20, rowBytes: 10)
        #expect(try notified() == [])
    }

    @Test func aCommitIsNeverTooLargeForItsRecord() throws {
        try put([("Small", 10), ("Large", 80_000)], keyBytes: 880, rowBytes: nil)
        #expect(try notified() == ["Large anew", "Small 10"])
    }
}
