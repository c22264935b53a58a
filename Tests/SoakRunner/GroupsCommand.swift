import Foundation
import MakoRecords
import MakoStorage

/// Groups of which memory holds a small part: how long it takes to count and add up the rows of each, and how much memory, beside the limit of a query.
///
/// The rows are the pairs of those of two small tables, each pair in a group of its own, in no order.
struct GroupsCommand {
    /// At most so many bytes of memory for each byte of the limit, beside the memory for pages.
    private static let mostMemory = 1.5
    private static let cacheBytes = 8 << 20

    let count: Int
    let memoryBytes: Int

    /// - Parameter words: how many groups, and the limit in MiB.
    init?(_ words: [String]) {
        guard words.count == 2, let count = Int(words[0]), let memory = Int(words[1]), count > 0, count < 1 << 40,
            memory > 0, memory <= 1 << 10
        else { return nil }
        self.count = count
        memoryBytes = memory << 20
    }

    /// Answers whether the groups are right and the memory stays within its limit.
    func run() throws -> Bool {
        let folder = NSTemporaryDirectory() + "mako-groups-\(ProcessInfo.processInfo.processIdentifier)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var options = StoreOptions()
        options.cacheBytes = Self.cacheBytes
        options.queryMemoryBytes = memoryBytes
        let store = try Store(at: folder + "/groups.mako", options: options)
        let columns = max(1, Int(Double(count).squareRoot()))
        let rows = (count + columns - 1) / columns
        try fill(store, "a", rows)
        try fill(store, "b", columns)

        let view = try store.snapshot()
        let modulus = Self.prime(from: count)
        let text = """
            SELECT (a.n * \(columns) + b.n) * 7919 % \(modulus) AS k, count(*), sum(b.n) FROM a, b
            WHERE a.n * \(columns) + b.n < \(count) GROUP BY (a.n * \(columns) + b.n) * 7919 % \(modulus)
            """
        let query = try CachedStatement(text).planned(try Catalogue.load(view: view), view: view)
        let start = ContinuousClock.now
        let meter = MemoryMeter()
        let found = Groups()
        try query.give(in: view, rows: 256, bytes: 64 << 10) { rows in
            for row in rows { found.take(Array(row)) }
            return true
        }
        let memory = meter.end()
        let duration = ContinuousClock.now - start
        view.close()
        try store.close()
        return report(found, memory, duration)
    }

    /// Collects the groups in order.
    private final class Groups {
        var count = 0
        var rows: Int64 = 0
        var isAscending = true
        private var last = Int64.min

        func take(_ row: [Value]) {
            guard case .integer(let key) = row[0], case .integer(let size) = row[1] else { return isAscending = false }
            count += 1
            rows += size
            isAscending = isAscending && key > last
            last = key
        }
    }

    private func report(_ found: Groups, _ memory: Int?, _ duration: Duration) -> Bool {
        print(
            "\(found.count) groups of \(found.rows) rows with \(memoryBytes >> 20) MiB, \(duration.components.seconds) s"
        )
        let isRight = found.count == count && found.rows == Int64(count) && found.isAscending
        if !isRight { print("    they are not the ones that were made") }
        guard let memory else {
            print("    memory is not measured on this system")
            return isRight
        }
        let share = Double(max(0, memory - Self.cacheBytes)) / Double(memoryBytes)
        print(
            "    memory \(String(format: "%.1f", Double(memory) / 1e6)) MB, of which pages at most "
                + "\(Self.cacheBytes >> 20) MiB; the rest by the limit: \(String(format: "%.2f", share)) of at most "
                + "\(Self.mostMemory)")
        return isRight && share <= Self.mostMemory
    }

    private func fill(_ store: Store, _ table: String, _ count: Int) throws {
        try store.write { tx in
            var changes = ChangeSet()
            let create = try Statement.parse("CREATE TABLE \(table) (n INTEGER PRIMARY KEY)")
            _ = try create.run(try Catalogue.load(view: tx.view), in: tx, changes: &changes)
            let catalogue = try Catalogue.load(view: tx.view)
            let insert = try CachedStatement("INSERT INTO \(table) (n) VALUES (?)")
            for number in 0..<count {
                _ = try insert.run(catalogue, in: tx, changes: &changes, parameters: [.integer(Int64(number))])
                changes.removeAll()
            }
        }
    }

    /// The first prime that is not less than a number, and other than the factor: products modulo it are all different.
    private static func prime(from number: Int) -> Int {
        var candidate = max(number, 7927) | 1
        while stride(from: 3, through: Int(Double(candidate).squareRoot()), by: 2).contains(where: {
            candidate % $0 == 0
        }) {
            candidate += 2
        }
        return candidate
    }
}
