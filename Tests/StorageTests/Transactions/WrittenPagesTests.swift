import MakoStorage
import MakoTestSupport
import Testing

/// Transactions that continue after a failed write of their pages.
@Suite struct WrittenPagesTests {
    private static let path = "d/store.mako"

    private static func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.cacheBytes = 256 << 10
        options.logSegmentBytes = 16 << 10
        return options
    }

    /// Each write of a large transaction fails once. What was put before and after is there, or nothing is.
    @Test func aTransactionGoesOnAfterAFailedWrite() throws {
        var failed = 0
        for call in stride(from: 1, to: 60, by: 1) {
            let disk = SimulatedDisk()
            let store = try Store(at: Self.path, options: Self.options(disk))
            try store.write { _ = try $0.createTree(named: "t", keys: .integer) }
            try store.checkpoint()
            var expected: [UInt64: [UInt8]] = [:]
            disk.inject(.inputOutput, atCall: disk.callCount + call)
            var random = SplitMix(seed: UInt64(call))
            do {
                try store.write { tx in
                    let tree = try #require(tx.view.tree(named: "t"))
                    for _ in 0..<3000 {
                        let key = random.next() % 2000
                        let value = ValueShape(bytes: 150).value(seed: random.next())
                        // A transaction that continues after a failed put commits the other puts.
                        if (try? tx.put(value, for: key, in: tree)) != nil {
                            expected[key] = value
                        } else {
                            failed += 1
                        }
                    }
                }
            } catch is StorageError { expected = [:] }
            disk.clearFaults()
            guard let view = try? store.snapshot(), let tree = view.tree(named: "t") else { continue }
            let findings = try store.verify().findings
            // A header that could not be written is one until it is written again.
            #expect(findings.allSatisfy { $0.hasPrefix("the header block") }, "call \(call)")
            if try view.count(of: tree) == 0 { continue }
            for (key, value) in expected where try view.get(key, in: tree) != value {
                Issue.record("call \(call): key \(key)")
                break
            }
            view.close()
            try? store.close()
            let again = try Store(at: Self.path, options: Self.options(SimulatedDisk(disk.settledImage())))
            #expect(try again.verify().isClean, "call \(call), opened again")
            let shown = try again.snapshot()
            for (key, value) in expected where try shown.get(key, in: tree) != value {
                Issue.record("call \(call), opened again: key \(key)")
                break
            }
        }
        #expect(failed > 0)
    }

    /// A transaction that catches the error and continues must not store a value with missing bytes.
    @Test func aValueWhoseWritingFailedIsNotEntered() throws {
        var failed = 0
        for call in 1..<12 {
            let disk = SimulatedDisk()
            let store = try Store(at: Self.path, options: Self.options(disk))
            try store.write { _ = try $0.createTree(named: "t", keys: .integer) }
            disk.inject(.inputOutput, atCall: disk.callCount + call)
            let value = ValueShape(bytes: 900_000).value(seed: 5)
            do {
                try store.write { tx in
                    let tree = try #require(tx.view.tree(named: "t"))
                    try tx.putBlob(for: 1, in: tree) { blob in
                        for start in stride(from: 0, to: value.count, by: 4001) {
                            let piece = Array(value[start..<min(start + 4001, value.count)])
                            do { try blob.append(piece) } catch {
                                failed += 1
                                try? blob.append(piece)
                            }
                        }
                    }
                }
            } catch is StorageError {}
            disk.clearFaults()
            // Later calls are those of the commit: where one of them fails, the store takes no more writes.
            guard (try? store.write { _ in }) != nil else { continue }
            let findings = try store.verify().findings
            // A header that could not be written is one until it is written again.
            #expect(findings.allSatisfy { $0.hasPrefix("the header block") }, "call \(call)")
            let view = try store.snapshot()
            let tree = try #require(view.tree(named: "t"))
            let found = try view.get(1, in: tree)
            #expect(found == nil || found == value, "call \(call): \(found?.count ?? 0) bytes")
        }
        #expect(failed > 0)
    }
}
