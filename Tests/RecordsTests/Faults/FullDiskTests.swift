import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// The advice in the error of a full disk works: deleting rows a few at a time, and dropping whole tables.
@Suite struct FullDiskTests {
    private let disk = SimulatedDisk()
    private let session: StatementSession

    init() throws {
        var options = StoreOptions()
        options.background = .manual
        options.fileSystem = disk
        options.logSegmentBytes = 64 << 10
        session = StatementSession(store: try Store(at: "d/full", options: options))
    }

    /// The error's words when the disk was too full for a statement; nil when it was not.
    private func fullness(_ text: String) throws -> String? {
        do { try session.run(text) } catch {
            switch error {
            case RecordError.storage(let cause), let cause as StorageError:
                guard case .diskFull = cause else { throw error }
                return "\(cause)"
            default: throw error
            }
        }
        return nil
    }

    private func count() throws -> Int { try session.table("t").count(in: try session.store.snapshot()) }

    private func makeTable(indexes: Int) throws {
        try session.run("CREATE TABLE t (id INTEGER PRIMARY KEY, mark TEXT, note TEXT)")
        if indexes > 0 { try session.run("CREATE INDEX marks ON t (mark)") }
        if indexes > 1 { try session.run("CREATE INDEX notes ON t (note)") }
    }

    /// Inserts rows until the disk is full. Returns the error's message.
    private func fill(noteBytes: Int = 40) throws -> String {
        let note = String(repeating: "n", count: noteBytes)
        var next = 1
        if try count() > 0, case .integer(let last)? = try session.rows("SELECT max(id) FROM t").first?.first {
            next = Int(last) + 1
        }
        while true {
            let rows = (next..<next + 40).map {
                "(\($0), 'mark \($0 &* 7919 % 1000)', '\($0 &* 104_729 % 99_991) \(note)')"
            }
            if let message = try fullness("INSERT INTO t VALUES \(rows.joined(separator: ", "))") { return message }
            next += 40
        }
    }

    /// Deletes rows all over the table: fewer at a time whenever it was too many.
    ///
    /// - Returns: the most that went at a time behind the first that were too many.
    private func deleteFewAtATime(_ ids: [Int], from first: Int) throws -> Int {
        var (next, size, most) = (0, first, 0)
        while next < ids.count {
            let batch = ids[next..<min(next + size, ids.count)]
            let text = "DELETE FROM t WHERE id IN (\(batch.map { "\($0)" }.joined(separator: ", ")))"
            if let message = try fullness(text) {
                if size == 1 {
                    Issue.record("\(next) rows of \(ids.count) are gone: \(message)")
                    return 0
                }
                size = max(1, size / 2)
            } else {
                next += batch.count
                if size < first { most = max(most, size) }
            }
        }
        return most
    }

    private func check(_ message: String) {
        #expect(message.contains("drop or empty a table, or delete rows a few at a time, at worst one by one"))
    }

    @Test(arguments: 0...2) func rowsDeletedAFewAtATimeFreeSpace(indexes: Int) throws {
        try makeTable(indexes: indexes)
        disk.capacity = 1 << 20
        check(try fill())
        let count = try count()
        // All over the table: each leaf is copied, and nothing is free before the commit.
        check(try fullness("DELETE FROM t WHERE id % 3 = 0") ?? "")
        #expect(try self.count() == count)
        let most = try deleteFewAtATime((0..<count).map { $0 &* 7919 % count + 1 }, from: 64)
        #expect(most > 1)
        #expect(try self.count() == 0)
        try session.store.shrink()
        _ = try fill()
        #expect(try self.count() > count / 2)
        #expect(try session.store.verify().findings == [] && session.faults() == [])
        try session.store.close()
    }

    /// Whole trees are cut off, also where a condition is true of each row.
    @Test(
        arguments: 0...2,
        ["DROP TABLE t", "DELETE FROM t", "DELETE FROM t WHERE id > 0", "DELETE FROM t WHERE length(note) > 1"])
    func aDroppedTableFreesSpace(
        indexes: Int, statement: String
    ) throws {
        try makeTable(indexes: indexes)
        disk.capacity = 1 << 20
        check(try fill())
        let count = try count()
        // The reserve after some deletions have failed, and some have not.
        for size in [300, 30, 3] {
            _ = try fullness("DELETE FROM t WHERE id % \(count / size) = 0")
        }
        try session.run(statement)
        if statement.hasPrefix("DROP") { try makeTable(indexes: indexes) }
        _ = try fill()
        #expect(try self.count() > count / 2)
        #expect(try session.store.verify().findings == [] && session.faults() == [])
        try session.store.close()
    }

    /// Neighbours leave whole pages, which are given back while the statement runs: no index has entries elsewhere.
    @Test(arguments: [50, 90]) func neighbouringRowsOfATableWithoutIndexesGoAtOnce(percent: Int) throws {
        try makeTable(indexes: 0)
        disk.capacity = 6 << 20
        check(try fill())
        let count = try count()
        try session.run("DELETE FROM t WHERE id BETWEEN \(count / 20) AND \(count / 20 + count * percent / 100 - 1)")
        #expect(try self.count() == count - count * percent / 100)
        _ = try fill()
        #expect(try self.count() > count / 2)
        #expect(try session.store.verify().findings == [] && session.faults() == [])
        try session.store.close()
    }

    @Test func aLargeTableOfAFullDiskGetsSmaller() throws {
        try makeTable(indexes: 1)
        disk.capacity = 12 << 20
        check(try fill(noteBytes: 1500))
        let count = try count()
        // Each note has a page of its own, which goes without a copy: a deletion of many rows may do.
        if let message = try fullness("DELETE FROM t WHERE id % 2 = 0") { check(message) }
        let ids = (0..<count / 4).map { $0 &* 7919 % count + 1 }
        _ = try deleteFewAtATime(ids, from: 256)
        try session.run("INSERT INTO t (mark, note) VALUES ('new', 'row')")
        try session.run("DROP TABLE t")
        try session.store.shrink()
        #expect(disk.usedBytes < 2 << 20)
        try session.store.close()
    }
}
