import Foundation
import MakoStorage
import MakoTestSupport
import Testing

@Suite struct StatsTests {
    private func store(_ disk: SimulatedDisk, readOnly: Bool = false) throws -> Store {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.readOnly = readOnly
        return try Store(at: "d/s.mako", options: options)
    }

    /// Monitoring relies on these names: a field may be added, none may be removed or renamed.
    @Test func theNamesInJSONStay() throws {
        let store = try store(SimulatedDisk())
        _ = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let stats = store.stats
        let encoded = try JSONEncoder().encode(stats)
        let fields = try #require(try JSONSerialization.jsonObject(with: encoded) as? [String: Any])
        let names: Set = [
            "commitNumber", "pageBytes", "livePages", "filePages", "waitingPages", "cacheBudgetBytes", "cacheUsedBytes",
            "cacheMappedBytes", "pageLoads", "evictions", "overBudget", "openSnapshots", "oldestSnapshotAge",
            "pinnedCheckpoints",
            "logBytes", "flushes", "compression", "checkpoints", "recovery",
        ]
        #expect(names.subtracting(fields.keys).isEmpty, "\(fields.keys.sorted())")
        #expect(fields["commitNumber"] as? Int == 1 && fields["pageBytes"] as? Int == 4096)
        let recovery = try #require(fields["recovery"] as? [String: Any])
        #expect(recovery["replayedCommits"] as? Int == 0 && recovery["findings"] as? [String] == [])
        #expect(try JSONDecoder().decode(StoreStats.self, from: encoded) == stats)
    }

    @Test func whatFailedComesThroughJSON() throws {
        var stats = try store(SimulatedDisk()).stats
        stats.checkpointError = .io(FileError(operation: "write", path: "a", code: 5))
        stats.readOnlyReason = "a sync failed"
        let encoded = try JSONEncoder().encode(stats)
        let fields = try #require(try JSONSerialization.jsonObject(with: encoded) as? [String: Any])
        #expect(fields["latch"] as? String == "a sync failed")
        #expect(try JSONDecoder().decode(StoreStats.self, from: encoded) == stats)
    }

    @Test func whatCompressionSavesIsCounted() throws {
        let store = try store(SimulatedDisk())
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let before = store.stats.compression
        try store.write { tx in
            try tx.put([UInt8](repeating: 7, count: 40_000), for: 1, in: tree)
            try tx.put(ValueShape(bytes: 20_000).value(seed: 3), for: 2, in: tree)
            // Past the log.
            try tx.put([UInt8](repeating: 7, count: 1_000_000), for: 3, in: tree)
        }
        let after = store.stats.compression
        #expect(after.valueBytes - before.valueBytes == 1_060_000)
        // The first packs into a page, the second not at all, the third into two.
        let stored = after.storedValueBytes - before.storedValueBytes
        #expect(stored > 20_000 && stored < 32_288)
        #expect(after.logContentBytes - before.logContentBytes > 60_000)
        #expect(after.storedLogContentBytes < after.logContentBytes - 30_000)
    }

    @Test func readersInOtherProcessesAreCounted() throws {
        let disk = SimulatedDisk()
        let writer = try store(disk)
        #expect(writer.stats.pinnedCheckpoints == 0)
        let reader = try store(disk, readOnly: true)
        for number in 0..<3 as Range<Int> {
            _ = try writer.write { try $0.createTree(named: "t\(number)", keys: .integer) }
            try writer.checkpoint()
        }
        #expect(writer.stats.pinnedCheckpoints == 1)
        try reader.close()
        _ = try writer.write { try $0.createTree(named: "more", keys: .integer) }
        try writer.checkpoint()
        #expect(writer.stats.pinnedCheckpoints == 0)
    }
}
