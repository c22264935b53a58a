import MakoStorage
import MakoTestSupport
import Testing

@testable import MakoRecords

/// Entries that are sorted outside of memory.
@Suite struct SortedRunsTests {
    private struct Entry: Equatable {
        var key: [UInt8]
        var value: [UInt8]
    }

    /// Entries with keys that are long, short, empty and equal.
    private static func entries(_ count: Int, _ random: inout Seeded, longest: Int) -> [Entry] {
        (0..<count).map { number in
            let length =
                random.chance(2) ? Int.random(in: 0...longest, using: &random) : Int.random(in: 0...9, using: &random)
            return Entry(
                key: (0..<length).map { _ in UInt8.random(in: 0...3, using: &random) },
                value: Array("\(number)".utf8) + [UInt8](repeating: 7, count: random.chance(1) ? longest : 0))
        }
    }

    private static func sorted(_ entries: [Entry]) -> [Entry] {
        entries.enumerated().sorted { a, b in
            a.element.key == b.element.key ? a.offset < b.offset : KeyOrder.precedes(a.element.key, b.element.key)
        }.map(\.element)
    }

    /// More runs than are merged at a time, so that some are merged twice; records that are longer than blocks.
    @Test(arguments: [0, 1, 2, 7, 8, 9, 70], [10, 50_000]) func runsAreMergedInOrder(runs: Int, longest: Int) throws {
        var random = Seeded(UInt64(runs + longest))
        let store = try Store.inMemory()
        try store.write { tx in
            // Eight at a time.
            let sorted = SortedRuns(try tx.makeSpillFile(), memory: 1)
            var all: [Entry] = []
            for _ in 0..<runs {
                let entries = Self.entries(Int.random(in: 0...60, using: &random), &random, longest: longest)
                all += entries
                var run = sorted.begin()
                for entry in Self.sorted(entries) {
                    try entry.key.withUnsafeBytes { key in try entry.value.withUnsafeBytes { try run.append(key, $0) } }
                }
                try sorted.end(&run)
            }
            var merged: [Entry] = []
            var merge = try sorted.merge()
            while try merge.next() { merged.append(Entry(key: Array(merge.key), value: Array(merge.value))) }
            #expect(merged == Self.sorted(all))
            let isMore = try merge.next()
            #expect(!isMore)
        }
    }

    @Test(arguments: [1 << 10, 1 << 20]) func spilledEntriesAreThoseThatWereAdded(memory: Int) throws {
        var random = Seeded(UInt64(memory))
        let store = try Store.inMemory()
        try store.write { tx in
            let entries = Self.entries(3000, &random, longest: 600)
            let spilled = SpilledEntries(memory: memory)
            for entry in entries { try spilled.add(entry.key, entry.value, tx) }
            #expect(spilled.count == 3000)
            var found: [Entry] = []
            try spilled.forEach { key, value in found.append(Entry(key: Array(key), value: Array(value))) }
            #expect(found == Self.sorted(entries))
        }
    }
}
