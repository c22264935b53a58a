import MakoStorage
import Testing

@testable import MakoRecords

/// Histories whose records are damaged, are not there, or were hardly begun.
@Suite struct DamagedHistoryTests {
    private static let table = EntitySchema(
        name: "T", columns: [ColumnSchema("code", .text), ColumnSchema("n", .integer)], key: .columns(["code"]),
        indexes: [])
    private let fixture: Fixture
    private let history = HistoryWriter(SystemEntropy())

    init() throws {
        fixture = try Fixture(Self.table, EntitySchema(name: "U", columns: [ColumnSchema("n", .integer)]))
    }

    private func begin(_ limits: HistoryLimits = HistoryLimits()) throws {
        try fixture.store.write { tx in try history.begin(limits, date: 0, in: tx) }
    }

    /// A commit with a row of each table.
    private func commit(_ number: Int) throws {
        try fixture.store.write { tx in try commit(number, tx) }
    }

    private func commit(_ number: Int, _ tx: borrowing WriteTransaction) throws {
        var changes = ChangeSet()
        var row = RowWriter()
        for (name, values) in [("T", [Value.text("\(number)"), .integer(1)]), ("U", [.integer(1)])] {
            let table = try fixture.table(name)
            row.begin(table.layout)
            for (place, value) in values.enumerated() { row.set(place, value) }
            _ = try table.insert(&row, in: tx, changes: &changes)
        }
        try history.append(changes, fixture.catalogue, date: Double(number), in: tx)
    }

    private func tree(_ view: Snapshot) throws -> Tree { try #require(view.tree(named: StoredHistory.treeName)) }

    private func page(after point: HistoryPoint? = nil) throws -> HistoryPage? {
        try fixture.store.read { view in try HistoryPage(after: point, limit: 100, in: view) }
    }

    private func record(_ number: UInt64) throws -> [UInt8] {
        let view = try fixture.store.snapshot()
        return try #require(try view.get(number, in: tree(view)))
    }

    private func put(_ bytes: [UInt8], _ number: UInt64) throws {
        try fixture.store.write { tx in try tx.put(bytes, for: number, in: tree(tx.view)) }
    }

    private func reason(_ error: RecordError?) -> String? {
        if case .catalogueDamaged(let reason) = error { reason } else { nil }
    }

    // MARK: Damage

    /// No byte of a record can be changed such that reading traps; the form of a group is checked in each of its parts.
    @Test func damagedRecordsAreErrors() throws {
        try begin()
        try commit(1)
        let number = try #require(try page()).end.number
        let bytes = try record(number)
        func refusal(_ bytes: [UInt8]) throws -> String? {
            try put(bytes, number)
            return reason(Fixture.error { _ = try page() })
        }
        #expect(try refusal([99] + bytes.dropFirst()) == "the history's record of commit \(number) has another format")
        #expect(try refusal(bytes + [0]) != nil)
        for count in bytes.indices { #expect(try refusal(Array(bytes[..<count])) != nil, "\(count)") }
        // Behind the column lists stand the groups: the number of the table, the kind, the list, the form, the count.
        var notified = 0
        for place in bytes.indices.dropFirst(41) {
            for value in [0xFF, 0, 7] as [UInt8] {
                var damaged = bytes
                damaged[place] = value
                try put(damaged, number)
                do throws(RecordError) { _ = try HistoryRecord(number: number, bytes: damaged) } catch {
                    #expect(reason(error) != nil)
                    notified += 1
                }
            }
        }
        #expect(notified > 30)
        // No rows at all, and more rows than there are ids.
        let table = Array(bytes.suffix(12))
        #expect(table.suffix(4) == [1, 0, 0, 0])
        #expect(try refusal(bytes.dropLast(4) + [0, 0, 0, 0]) != nil)
        #expect(try refusal(bytes.dropLast(12) + [255, 255, 255, 255, 255, 255, 255, 127, 2, 0, 0, 0]) != nil)
        try put(bytes, number)
        #expect(try page()?.records.count == 2)
    }

    @Test func aDamagedHeadIsAnError() throws {
        try begin()
        try commit(1)
        let head = try record(0)
        for bytes in [[99] + head.dropFirst(), head + [0], Array(head.dropLast()), []] {
            try put(bytes, 0)
            #expect(reason(Fixture.error { _ = try page() })?.contains("the head of the history") == true)
            #expect(reason(Fixture.error { try commit(2) })?.contains("the head of the history") == true)
        }
        // What takes its place does not need it.
        try fixture.store.write { tx in
            let isThere = try history.beginAnew(in: tx)
            #expect(isThere)
        }
        #expect(try page()?.records.count == 1)
        try commit(2)
        #expect(try page()?.records.count == 2)
    }

    /// The tree exists, but not the head, which says whether a history is kept.
    @Test func aHistoryWithoutAHeadIsNone() throws {
        try begin()
        try commit(1)
        try fixture.store.write { tx in _ = try tx.delete(0, in: tree(tx.view)) }
        #expect(try page() == nil)
        try commit(2)
        #expect(try page() == nil)
        try fixture.store.write { tx in try history.end(in: tx) }
        #expect(try page() == nil)
    }

    /// A number behind which none can come.
    @Test func theLastNumberOfAllEndsThePage() throws {
        try begin()
        try commit(1)
        let before = try #require(try page())
        var sink = ByteSink()
        sink.byte(HistoryRecord.format)
        for number in [7, before.end.number, before.end.mark, 0, 0] { sink.number(UInt64(number)) }
        for _ in 0..<3 { sink.number(UInt32(0)) }
        try put(sink.bytes, .max)
        let page = try #require(try page())
        #expect(page.records.map(\.number) == before.records.map(\.number) + [.max])
        #expect(page.isLast && !page.isMissed && page.end.number == .max)
    }

    // MARK: Beginnings and ends

    @Test func withoutAHistoryNothingIsKept() throws {
        try commit(1)
        try fixture.store.write { tx in
            try history.end(in: tx)
            try history.forget(before: 5, in: tx)
            let isThere = try history.beginAnew(in: tx)
            #expect(!isThere)
        }
        #expect(try page() == nil)
        #expect(try fixture.store.read { view in try StoredHistory.end(in: view) } == nil)
    }

    @Test func anEndedHistoryStaysEnded() throws {
        try begin()
        try commit(1)
        try fixture.store.write { tx in try history.end(in: tx) }
        #expect(try page() == nil)
        try fixture.store.write { tx in
            let isThere = try history.beginAnew(in: tx)
            #expect(isThere)
        }
        #expect(try page() == nil)
        try commit(2)
        #expect(try page() == nil)
    }

    /// The transaction that switches the history on is its first record, whatever the limits.
    @Test(arguments: [nil, 1] as [UInt64?]) func theFirstCommitIsKept(bytes: UInt64?) throws {
        try fixture.store.write { tx in
            try history.begin(HistoryLimits(bytes: bytes), date: 0, in: tx)
            try commit(1, tx)
        }
        let first = try #require(try page())
        #expect(first.records.count == 1 && first.records[0].spans.count == 2)
        // Nothing is before it that could be forgotten.
        try fixture.store.write { tx in
            try history.forget(before: 0, in: tx)
            try history.forget(before: 1, in: tx)
        }
        #expect(try page()?.records.count == 1)
        try commit(2)
        #expect(try page()?.records.count == (bytes == nil ? 2 : 1))
        #expect(try page().map { $0.end.number > first.end.number } == true)
    }
}
