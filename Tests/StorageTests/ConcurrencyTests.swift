import MakoStorage
import MakoTestSupport
import Synchronization
import Testing

/// Tests of concurrent threads; run them under the thread sanitizer too.
///
/// Each read is compared with the state of its commit number.
@Suite(.serialized) struct ConcurrencyTests {
    /// The faults that threads found, for the test to check.
    private final class Findings: Sendable {
        private let lock = Lock()
        nonisolated(unsafe) private var list: [String] = []

        func add(_ finding: String) { lock.withLock { list.append(finding) } }

        var all: [String] { lock.withLock { list } }
    }

    private static let keys: UInt64 = 1500

    /// Commit `number` writes these keys.
    private static func written(by number: UInt64) -> [UInt64] {
        (0..<8).map { (number &* 37 &+ $0 &* 211) % keys }
    }

    private static func value(_ number: UInt64) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 60)
            + withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    private static func number(_ value: [UInt8]) -> UInt64 {
        value.suffix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The commit that each key was last written by, at commit `number`.
    private static func state(at number: UInt64) -> [UInt64] {
        var state = [UInt64](repeating: 0, count: Int(keys))
        for commit in 0..<number + 1 where commit > 0 {
            for key in written(by: commit) { state[Int(key)] = commit }
        }
        return state
    }

    private func options(_ fileSystem: any FileSystem, cacheBytes: Int) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = fileSystem
        options.cacheBytes = cacheBytes
        options.logSegmentBytes = 128 << 10
        options.checkpointBytes = 96 << 10
        // The vacuum commits, too, and here the commit numbers determine the expected state.
        options.shrinksWhenIdle = false
        return options
    }

    @Test func everyReadIsTheStateOfItsCommit() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: "d/s.mako", options: options(disk, cacheBytes: 128 << 10))
        let tree = try store.write { transaction throws -> Tree in
            let tree = try transaction.createTree(named: "t", keys: .integer)
            for key in 0..<ConcurrencyTests.keys { try transaction.put(ConcurrencyTests.value(0), for: key, in: tree) }
            return tree
        }
        let base = try store.read { $0.commitNumber }
        let findings = Findings()
        let isDone = Atomic<Bool>(false)
        let commits: UInt64 = 250

        let writer = try startThread(name: "writer") {
            defer { isDone.store(true, ordering: .releasing) }
            do {
                for number in 1...commits {
                    try store.write(durability: number % 5 == 0 ? .full : .async) { transaction throws in
                        for key in ConcurrencyTests.written(by: number) {
                            try transaction.put(ConcurrencyTests.value(number), for: key, in: tree)
                        }
                    }
                }
            } catch { findings.add("writer: \(error)") }
        }
        let readers = try (0..<3).map { reader throws in
            try startThread(name: "reader \(reader)") {
                var random = SplitMix(seed: UInt64(reader))
                var rounds = 0
                while !isDone.load(ordering: .acquiring) || rounds < 3 {
                    rounds += 1
                    do {
                        let snapshot = try store.snapshot()
                        let state = ConcurrencyTests.state(at: snapshot.commitNumber - base)
                        if reader == 0 {
                            var cursor = try snapshot.cursor(in: tree)
                            var isThere = try cursor.first()
                            var count = 0
                            while isThere {
                                let found = ConcurrencyTests.number(try cursor.value())
                                if found != state[Int(cursor.integerKey)] {
                                    findings.add("scan at \(snapshot.commitNumber): key \(cursor.integerKey)")
                                }
                                count += 1
                                isThere = try cursor.next()
                            }
                            if count != state.count { findings.add("scan at \(snapshot.commitNumber): \(count) keys") }
                        } else if reader == 1 {
                            for _ in 0..<100 {
                                let key = UInt64(random.below(state.count))
                                let found = try snapshot.get(key, in: tree).map(ConcurrencyTests.number)
                                if found != state[Int(key)] {
                                    findings.add("get at \(snapshot.commitNumber): key \(key)")
                                }
                            }
                        } else {
                            let keys = (0..<100).map { _ in UInt64(random.below(state.count)) }
                            try snapshot.withValues(of: keys, in: tree) { index, value in
                                let found = value.map { ConcurrencyTests.number([UInt8]($0)) }
                                if found != state[Int(keys[index])] {
                                    findings.add("multi-get at \(snapshot.commitNumber): key \(keys[index])")
                                }
                            }
                        }
                        if random.chance(50) { snapshot.close() }
                    } catch { findings.add("reader: \(error)") }
                }
            }
        }
        writer.join()
        for reader in readers { reader.join() }
        #expect(findings.all.prefix(5).isEmpty)
        #expect(try store.read { $0.commitNumber } == base + commits)
        let report = try store.verify()
        #expect(report.isClean, "\(report.findings)")
        try store.close()

        let again = try Store(
            at: "d/s.mako", options: options(SimulatedDisk(disk.settledImage()), cacheBytes: 1 << 20))
        let found = try again.read { try ModelTree(reading: tree, of: $0) }
        guard case .integers(let map) = found else { return }
        #expect(map.values.map(ConcurrencyTests.number) == ConcurrencyTests.state(at: commits))
        try again.close()
    }

    @Test func eightThreadsCommitTogether() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: "d/s.mako", options: options(disk, cacheBytes: 512 << 10))
        let tree = try store.write { try $0.createTree(named: "t", keys: .bytes) }
        let findings = Findings()
        let perThread = 40
        @Sendable func key(_ thread: Int, _ number: Int) -> [UInt8] { Array("\(number)/\(thread)".utf8) }
        let threads = try (0..<8).map { thread throws in
            try startThread(name: "committer \(thread)") {
                for number in 0..<perThread {
                    do {
                        try store.write { try $0.put([UInt8(thread)], for: key(thread, number), in: tree) }
                        let seen = try store.read { try $0.get(key(thread, number), in: tree) }
                        if seen != [UInt8(thread)] { findings.add("thread \(thread) misses its commit \(number)") }
                    } catch { findings.add("thread \(thread): \(error)") }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(findings.all.prefix(5).isEmpty)
        // Acknowledged commits need nothing that is still pending.
        let durable = SimulatedDisk(disk.crashState().image([]))
        let after = try Store(at: "d/s.mako", options: options(durable, cacheBytes: 512 << 10))
        #expect(try after.read { try $0.count(of: tree) } == UInt64(8 * perThread))
        #expect(try after.verify().isClean)
        try after.close()
        try store.close()
    }

    @Test func checkpointsRunBesideWritersAndReaders() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: "d/s.mako", options: options(disk, cacheBytes: 256 << 10))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let findings = Findings()
        let writers = try (0..<2).map { writer throws in
            try startThread(name: "writer \(writer)") {
                for number in UInt64(0)..<60 {
                    do {
                        try store.write { transaction throws in
                            for key in 0..<10 {
                                try transaction.put(
                                    ConcurrencyTests.value(number),
                                    for: UInt64(writer) << 32 | number * 10 + UInt64(key),
                                    in: tree)
                            }
                        }
                    } catch { findings.add("writer \(writer): \(error)") }
                }
            }
        }
        let checkpointer = try startThread(name: "checkpoints") {
            for _ in 0..<12 {
                do { try store.checkpoint() } catch { findings.add("checkpoint: \(error)") }
            }
        }
        let verifier = try startThread(name: "verifier") {
            for _ in 0..<5 {
                do {
                    let count = try store.read { try ModelTree(reading: tree, of: $0).count }
                    if count % 10 != 0 { findings.add("half a transaction is to be seen: \(count)") }
                    let report = try store.verify()
                    if !report.isClean { findings.add("verify: \(report.findings)") }
                } catch { findings.add("verifier: \(error)") }
            }
        }
        for thread in writers + [checkpointer, verifier] { thread.join() }
        #expect(findings.all.prefix(5).isEmpty)
        #expect(try store.read { try $0.count(of: tree) } == 1200)
        try store.close()
        let again = try Store(
            at: "d/s.mako", options: options(SimulatedDisk(disk.crashState().image([])), cacheBytes: 1 << 20))
        #expect(try again.read { try $0.count(of: tree) } == 1200)
        #expect(try again.verify().isClean)
        try again.close()
    }

    /// The file shrinks and is copied while others read and write: each copy and each read is the state of its commit.
    @Test func shrinkingAndBackupsRunBesideWritersAndReaders() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: "d/s.mako", options: options(disk, cacheBytes: 1 << 20))
        let tree = try store.write { transaction throws -> Tree in
            let tree = try transaction.createTree(named: "t", keys: .integer)
            for key in 0..<ConcurrencyTests.keys { try transaction.put(ConcurrencyTests.value(0), for: key, in: tree) }
            // Free pages for the vacuum.
            let filler = try transaction.createTree(named: "filler", keys: .integer)
            for key in 0..<UInt64(6000) { try transaction.put(ConcurrencyTests.value(key), for: key, in: filler) }
            return tree
        }
        try store.write { transaction in
            if let filler = transaction.view.tree(named: "filler") { try transaction.deleteAll(in: filler) }
        }
        // Vacuum commits have numbers of their own: the content identifies the writer's commit.
        let commits: UInt64 = 150
        let findings = Findings()
        let isDone = Atomic<Bool>(false)
        let writer = try startThread(name: "writer") {
            defer { isDone.store(true, ordering: .releasing) }
            do {
                for number in 1...commits {
                    try store.write(durability: number % 5 == 0 ? .full : .async) { transaction in
                        for key in ConcurrencyTests.written(by: number) {
                            try transaction.put(ConcurrencyTests.value(number), for: key, in: tree)
                        }
                    }
                }
            } catch { findings.add("writer: \(error)") }
        }
        let reader = try startThread(name: "reader") {
            do {
                while !isDone.load(ordering: .acquiring) {
                    let view = try store.snapshot()
                    if let finding = try ConcurrencyTests.disorder(view, tree) { findings.add(finding) }
                }
            } catch { findings.add("reader: \(error)") }
        }
        var copies: [String] = []
        while !isDone.load(ordering: .acquiring) {
            try store.shrink()
            let path = "d/copy\(copies.count).mako"
            if copies.count < 8 {
                if copies.count % 2 == 0 { try store.backup(to: path) } else { try store.copy(to: path) }
                copies.append(path)
            }
        }
        writer.join()
        reader.join()
        #expect(findings.all == [])
        for path in copies {
            let copy = try Store(at: path, options: options(disk, cacheBytes: 1 << 20))
            #expect(try ConcurrencyTests.disorder(copy.snapshot(), tree) == nil)
            #expect(try copy.verify().findings == [])
            try copy.close()
        }
        #expect(try store.verify().findings == [])
        try store.close()
    }

    /// A transaction that begins reads the free space of the file, which the vacuum truncates without the writer lock.
    @Test func aTransactionBeginsBehindACutOfTheFile() throws {
        let store = try Store.inMemory()
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { transaction in
            for key in UInt64(0)..<1000 { try transaction.put(ConcurrencyTests.value(key), for: key, in: tree) }
        }
        try store.checkpoint()
        let before = store.stats.filePages
        try store.write { try $0.deleteAll(in: tree) }
        let findings = Findings()
        // Relaxed, so that nothing but the store itself puts the two threads in order.
        let isCut = Atomic<Bool>(false)
        let vacuum = try startThread(name: "vacuum") {
            do { try store.shrink() } catch { findings.add("\(error)") }
            isCut.store(true, ordering: .relaxed)
        }
        while !isCut.load(ordering: .relaxed) { yieldThread() }
        try store.write { try $0.put(ConcurrencyTests.value(1), for: 1, in: tree) }
        vacuum.join()
        #expect(findings.all == [])
        #expect(store.stats.filePages < before)
        #expect(try store.verify().findings == [])
        try store.close()
    }

    /// Writers that wait no longer than `writerTimeout` get the writer lock in the order of arrival.
    @Test func waitingWritersGetTheirTurnInTime() throws {
        var options = StoreOptions()
        options.writerTimeout = .seconds(60)
        let store = try Store.inMemory(options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let findings = Findings()
        let first = try store.beginWrite()
        let threads = try (0..<4).map { number in
            try startThread(name: "writer \(number)") {
                for round in UInt64(0)..<50 {
                    do { try store.write { try $0.put([1], for: UInt64(number) << 32 | round, in: tree) } } catch {
                        findings.add("\(error)")
                    }
                }
            }
        }
        // Time enough for them to come and wait.
        let enough = ContinuousClock.now.advanced(by: .milliseconds(50))
        while ContinuousClock.now < enough { yieldThread() }
        first.rollback()
        for thread in threads { thread.join() }
        #expect(findings.all == [])
        #expect(try store.read { try $0.count(of: tree) } == 200)
        try store.close()
    }

    /// The difference between a view and the commits of the writer: its keys must be those of one of them.
    private static func disorder(_ view: Snapshot, _ tree: Tree) throws -> String? {
        let found = try (0..<keys).map { key in try view.get(key, in: tree).map(number) ?? .max }
        let newest = found.max() ?? 0
        return found == state(at: newest) ? nil : "commit \(view.commitNumber) mixes states up to \(newest)"
    }
}
