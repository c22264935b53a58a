import Foundation
import MakoStorage
import MakoTestSupport

/// The expected content, outside the store: from the acknowledgements of killed writers, and from what was read since.
struct Referee {
    /// The kind of a death, which decides what is left.
    enum Death {
        /// Writes are still in the machine's cache.
        case ofProcess
        /// Only what was synced is certain.
        case ofMachine
    }

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// How far each thread came by what was last found, and what its tree held then.
    private var reached = [UInt64](repeating: 0, count: Workload.threads)
    private var content = [[UInt64: [UInt8]]](repeating: [:], count: Workload.threads)
    private(set) var commits: UInt64 = 0

    /// Opens the store as a reader does and compares everything. Returns a digest of the content.
    ///
    /// - Parameter acknowledged: for each thread the last transaction that it reported.
    mutating func check(_ path: String, acknowledged: [UInt64], after death: Death) throws -> UInt64 {
        guard let store = try Referee.open(path) else {
            guard commits == 0, acknowledged.allSatisfy({ $0 == 0 }) else {
                throw Failure(description: "the store is gone")
            }
            return 0
        }
        defer { try? store.close() }
        let report = try store.verify()
        guard report.isClean else { throw Failure(description: "verify: \(report.findings)") }
        let model = try store.read { try ModelStore(reading: $0) }
        guard case .integers(let counters)? = model.trees[Workload.counters] else {
            guard commits == 0, acknowledged.allSatisfy({ $0 == 0 }) else {
                throw Failure(description: "the trees are gone")
            }
            return Digest.of(model)
        }
        let found = (0..<Workload.threads).map { Workload.number(counters[UInt64($0)]) }
        for thread in 0..<Workload.threads {
            try checkReach(thread, found[thread], acknowledged[thread], death)
            for number in reached[thread]..<found[thread] {
                for (key, value) in Workload.changes(thread: thread, number: number + 1) {
                    content[thread][key] = value
                }
            }
            guard Referee.holds(model.trees[Workload.tree(of: thread)], content[thread]) else {
                throw Failure(description: "thread \(thread) does not hold what \(found[thread]) transactions leave")
            }
        }
        try checkJournal(model, found)
        reached = found
        commits = found.reduce(0, +)
        return Digest.of(model)
    }

    /// Nil where there is no store.
    private static func open(_ path: String) throws(StorageError) -> Store? {
        do throws(StorageError) { return try Store(at: path, options: Workload.options(readOnly: true)) } catch {
            if case .notFound = error { return nil }
            throw error
        }
    }

    private func checkReach(_ thread: Int, _ found: UInt64, _ acknowledged: UInt64, _ death: Death) throws {
        let lasts: Bool
        switch Workload.durabilities[thread] {
        case .full, .barrier: lasts = true
        case .ordered: lasts = death == .ofProcess
        case .async, .asyncWithin: lasts = false
        }
        let least = max(reached[thread], lasts ? acknowledged : 0)
        // One more may have been in progress.
        guard found >= least, found <= max(reached[thread], acknowledged) + 1 else {
            throw Failure(
                description: "thread \(thread) had reported transaction \(acknowledged), of \(reached[thread]) before, "
                    + "and \(found) are there")
        }
    }

    private static func holds(_ tree: ModelTree?, _ content: [UInt64: [UInt8]]) -> Bool {
        switch tree {
        case .integers(let map)?:
            map.count == content.count && zip(map.keys, map.values).allSatisfy { content[$0] == $1 }
        case .bytes(let map)?:
            map.count == content.count
                && zip(map.keys, map.values).allSatisfy { content[Workload.number($0.bytes)] == $1 }
        case nil: content.isEmpty
        }
    }

    /// The journal has no gaps, ends where the counters say, and holds each thread's transactions in order: no commit is
    /// there without all that came before it.
    private func checkJournal(_ model: ModelStore, _ found: [UInt64]) throws {
        guard case .integers(let counters)? = model.trees[Workload.counters],
            case .integers(let journal)? = model.trees[Workload.journal]
        else { throw Failure(description: "the journal is gone") }
        let head = Workload.number(counters[Workload.head])
        guard head == found.reduce(0, +), journal.keys.last ?? 0 == head,
            UInt64(journal.count) == min(head, Workload.journalLength)
        else { throw Failure(description: "the journal does not end at \(head)") }
        var next = found
        for entry in journal.values.reversed() {
            let word = Workload.number(entry)
            let thread = Int(word >> 56)
            guard thread < next.count, word & (1 << 56 - 1) == next[thread] else {
                throw Failure(description: "the journal's entries are not in the order of the commits")
            }
            next[thread] -= 1
        }
    }
}

/// A digest of the content, the same in every process.
enum Digest {
    static func of(_ model: ModelStore) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func add(_ bytes: some Sequence<UInt8>) {
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            hash = (hash ^ 0xff) &* 0x100_0000_01b3
        }
        for (name, tree) in model.trees.sorted(by: { $0.key < $1.key }) {
            add(name.utf8)
            switch tree {
            case .integers(let map):
                for (key, value) in zip(map.keys, map.values) {
                    add(Workload.word(key))
                    add(value)
                }
            case .bytes(let map):
                for (key, value) in zip(map.keys, map.values) {
                    add(key.bytes)
                    add(value)
                }
            }
        }
        return hash
    }
}
