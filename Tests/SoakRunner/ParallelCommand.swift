import Foundation
import MakoRecords
import MakoStorage

/// Measures how much faster several threads run queries of a large table than one, by the median of five, and whether
/// the results are the same to the bit.
struct ParallelCommand {
    private static let repeats = 5
    private static let queries = [
        "SELECT count(*) FROM t WHERE s LIKE '%7%'", "SELECT count(*) FROM t WHERE k > 30",
        "SELECT sum(k), avg(d) FROM t",
        "SELECT sum(d * 2), max(k) FROM t WHERE k > 3", "SELECT k, count(*), sum(d) FROM t GROUP BY k",
        "SELECT s, sum(k), max(d) FROM t GROUP BY s",
        "SELECT u.kind, count(*), sum(t.d) FROM t JOIN u ON u.name = t.s GROUP BY u.kind",
    ]

    let rows: Int
    let threads: Int

    /// - Parameter words: how many rows, and how many threads.
    init?(_ words: [String]) {
        guard words.count == 2, let rows = Int(words[0]), let threads = Int(words[1]), rows > 0, rows < 1 << 32,
            threads > 1,
            threads <= 64
        else { return nil }
        (self.rows, self.threads) = (rows, threads)
    }

    /// Answers whether the results are the same.
    func run() throws -> Bool {
        let folder = NSTemporaryDirectory() + "mako-parallel-\(ProcessInfo.processInfo.processIdentifier)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let filled = try open(folder, threads: 1)
        try fill(filled)
        try filled.close()
        // One is closed before the other is opened: a file has one store in a process.
        let alone = try measure(folder, threads: 1)
        let together = try measure(folder, threads: threads)
        var isSame = true
        for (place, query) in Self.queries.enumerated() {
            let (one, several) = (alone[place], together[place])
            if one.rows != several.rows {
                isSame = false
                print("    not the same: \(query)")
            }
            print(
                String(
                    format: "%8.2f ms with 1 thread, %8.2f ms with %d: %.2f times  ", one.seconds * 1000,
                    several.seconds * 1000, threads, one.seconds / max(several.seconds, 1e-9)) + query)
        }
        return isSame
    }

    private func open(_ folder: String, threads: Int) throws -> Store {
        var options = StoreOptions()
        options.cacheBytes = 1 << 30
        options.queryThreads = threads
        return try Store(at: folder + "/parallel.mako", options: options)
    }

    /// The result of each query, and its time.
    private func measure(_ folder: String, threads: Int) throws -> [(rows: [String], seconds: Double)] {
        let store = try open(folder, threads: threads)
        defer { try? store.close() }
        let view = try store.snapshot()
        defer { view.close() }
        let catalogue = try Catalogue.load(view: view)
        return try Self.queries.map { query in
            let statement = try SelectStatement.parse(query)
            var found: [String] = []
            var times: [Double] = []
            // The first run reads the pages.
            for number in 0...Self.repeats {
                let start = ContinuousClock.now
                let rows = try statement.run(catalogue, view: view).rows
                let duration = (ContinuousClock.now - start).components
                if number > 0 { times.append(Double(duration.seconds) + Double(duration.attoseconds) * 1e-18) }
                found = rows.map { row in
                    row.map { if case .double(let number) = $0 { "\(number.bitPattern)" } else { "\($0)" } }
                        .joined(separator: "|")
                }
            }
            return (found, times.sorted()[Self.repeats / 2])
        }
    }

    private func fill(_ store: Store) throws {
        try store.write { tx in
            var changes = ChangeSet()
            for text in [
                "CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, d REAL, s TEXT)",
                "CREATE TABLE u (id INTEGER PRIMARY KEY, kind INTEGER, name TEXT)",
            ] {
                _ = try Statement.parse(text).run(try Catalogue.load(view: tx.view), in: tx, changes: &changes)
            }
            let catalogue = try Catalogue.load(view: tx.view)
            let insert = try CachedStatement("INSERT INTO t (id, k, d, s) VALUES (?, ?, ?, ?)")
            let other = try CachedStatement("INSERT INTO u (id, kind, name) VALUES (?, ?, ?)")
            for number in 0..<5000 {
                let name = Value.text("text number \(number)")
                _ = try other.run(
                    catalogue, in: tx, changes: &changes,
                    parameters: [.integer(Int64(number)), .integer(Int64(number % 50)), name])
            }
            for number in 0..<rows {
                let mixed = number &* 7919 % 1_000_003
                _ = try insert.run(
                    catalogue, in: tx, changes: &changes,
                    parameters: [
                        .integer(Int64(number)), .integer(Int64(mixed % 100)), .double(Double(mixed) / 7),
                        .text("text number \(mixed % 5000)"),
                    ])
                changes.removeAll()
            }
        }
    }
}
