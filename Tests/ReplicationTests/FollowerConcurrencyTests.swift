import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Synchronization
import Testing

@testable import MakoReplication

/// A writer, a replicator, the thread of a follower, and readers at the same time.
@Suite struct FollowerConcurrencyTests {
    @Test func readersOfARunningFollowerSeeCommitsInOrder() async throws {
        let objects = SimulatedObjectStore()
        var writing = Ledger.options(SimulatedDisk(), seed: 91)
        writing.logArchiveBytes = 1 << 20
        let store = try Store(at: "writer.mako", options: writing)
        try count(1, in: store)
        let replicator = try Replicator(store, to: objects)
        try replicator.ship()
        var options = Follower.Options()
        options.store = Ledger.options(SimulatedDisk(), seed: 92)
        options.checkpointBytes = 4000
        let follower = try Follower(objects, at: "replica.mako", options: options)
        let failures = Failures()
        try follower.start(interval: .milliseconds(1)) { result in
            if case .failure(let error) = result { failures.add("\(error)") }
        }
        let last: UInt64 = 150
        var reading = options.store
        reading.readOnly = true
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 2...last {
                    try self.count(number, in: store)
                    if number % 3 == 0 { try replicator.ship() }
                    if number % 40 == 0 { try self.fill(store) }
                }
                try replicator.ship()
            }
            for _ in 0..<3 {
                group.addTask { [reading] in try await self.read(to: last, reading) }
            }
            while try await group.next() != nil {}
        }
        follower.stop()
        #expect(failures.all == [])
        // It is started again, and stopped at its release.
        try follower.start(interval: .milliseconds(1))
        follower.close()
        #expect(throws: ReplicationError.storage(.closed(path: "replica.mako"))) { try follower.follow() }
    }

    /// As the refresh of a replica does, which fails twice, while nothing else is shipped.
    @Test func aReportThatIsNotHandledComesAgain() async throws {
        let ledger = try Ledger(seed: 94)
        let replicator = try Replicator(ledger.store, to: ledger.objects)
        try ledger.commit(.small)
        try replicator.ship()
        let bench = FollowerBench(ledger)
        let follower = try bench.current()
        try follower.follow()
        try ledger.commit(.small)
        try replicator.ship()
        let reports = Guarded<[Follower.Report]>([])
        try follower.keepFollowing(interval: .milliseconds(1)) { result in
            guard case .success(let report) = result else { return false }
            return reports.withLock { reports in
                reports.append(report)
                return reports.count == 3
            }
        }
        for _ in 0..<3000 where reports.withLock({ $0.count }) < 3 {
            try await Task.sleep(for: .milliseconds(10))
        }
        // Each has the commit; none comes behind the one that was handled.
        try await Task.sleep(for: .milliseconds(50))
        follower.stop()
        let commit = try ledger.commitNumber()
        #expect(reports.withLock { $0.map(\.commit) } == [commit, commit, commit])
        #expect(reports.withLock { $0.map(\.commits) } == [1, 1, 1])
        bench.end()
    }

    /// Reads until the last number is seen. Each commit puts the same number into both trees.
    private func read(to last: UInt64, _ options: StoreOptions) async throws {
        let reader = try Store(at: "replica.mako", options: options)
        var seen: UInt64 = 0
        while seen < last {
            try reader.refresh()
            let state = try LedgerState(reading: reader)
            let number = UInt64(state.numbers[1].map { String(decoding: $0, as: UTF8.self) } ?? "") ?? 0
            #expect(state.words[Array("last".utf8)] == Array(String(number).utf8))
            #expect(number >= seen)
            seen = number
            try await Task.sleep(for: .milliseconds(1))
        }
        try reader.close()
    }

    private func count(_ number: UInt64, in store: Store) throws {
        try store.write { tx in
            let numbers = try tx.view.tree(named: "numbers") ?? tx.createTree(named: "numbers", keys: .integer)
            let words = try tx.view.tree(named: "words") ?? tx.createTree(named: "words", keys: .bytes)
            try tx.put(Array(String(number).utf8), for: 1, in: numbers)
            try tx.put(Array(String(number).utf8), for: Array("last".utf8), in: words)
        }
    }

    /// A transaction that is too large for the log.
    private func fill(_ store: Store) throws {
        try store.write { tx in
            guard let numbers = tx.view.tree(named: "numbers") else { return }
            for key in UInt64(100)..<200 { try tx.put([UInt8](repeating: 1, count: 500), for: key, in: numbers) }
        }
    }

    private final class Failures: @unchecked Sendable {
        private let lock = Lock()
        // Guarded by `lock`.
        private var found: [String] = []

        var all: [String] { lock.withLock { found } }

        func add(_ text: String) { lock.withLock { found.append(text) } }
    }

    /// A stop waits for a step; before the step ends, another thread starts the loop again.
    @Test func aStopEndsThoughTheLoopIsStartedAgain() async throws {
        let loop = FollowerLoop()
        let isInside = Atomic(false)
        let isOpen = Atomic(false)
        let isStopped = Atomic(false)
        try loop.start {
            isInside.store(true, ordering: .relaxed)
            while !isOpen.load(ordering: .relaxed) { yieldThread() }
            return .milliseconds(1)
        }
        while !isInside.load(ordering: .relaxed) { yieldThread() }
        let stopper = try startThread(name: "stopper") {
            loop.stop()
            isStopped.store(true, ordering: .relaxed)
        }
        // For the stop to wait for the step. In the other order the start waits for it.
        try await Task.sleep(for: .milliseconds(50))
        let starter = try startThread(name: "starter") { try? loop.start { .milliseconds(1) } }
        try await Task.sleep(for: .milliseconds(50))
        isOpen.store(true, ordering: .relaxed)
        for _ in 0..<1000 where !isStopped.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(5)) }
        let hasStopped = isStopped.load(ordering: .relaxed)
        #expect(hasStopped)
        starter.join()
        loop.stop()
        stopper.join()
    }

    @Test func aStopEndsEachThreadOfStartsAtOnce() async throws {
        for _ in 0..<50 {
            let loop = FollowerLoop()
            let steps = Atomic(0)
            let starters = try (0..<4).map { _ in
                try startThread(name: "starter") {
                    try? loop.start {
                        steps.add(1, ordering: .relaxed)
                        return .milliseconds(1)
                    }
                }
            }
            for starter in starters { starter.join() }
            loop.stop()
            let count = steps.load(ordering: .relaxed)
            try await Task.sleep(for: .milliseconds(10))
            let later = steps.load(ordering: .relaxed)
            #expect(later == count)
        }
    }

    @Test func theLoopWaitsLongerAfterErrors() async throws {
        let objects = SimulatedObjectStore()
        let ledger = try Ledger(seed: 93, objects: objects)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        let bench = FollowerBench(ledger)
        let follower = try bench.current()
        objects.isDown = true
        let before = objects.calls
        let failures = Failures()
        let began = ContinuousClock.now
        try follower.start(interval: .milliseconds(5)) { result in
            if case .failure(let error) = result { failures.add("\(error)") }
        }
        try await Task.sleep(for: .milliseconds(400))
        // 5, 10, 20, … milliseconds instead of 5 each time, however long the sleep took.
        let calls = objects.calls - before
        #expect(calls < Int((ContinuousClock.now - began) / .milliseconds(5)) / 4)
        #expect(failures.all.count > 1)
        objects.isDown = false
        try ledger.commit(.small)
        try ledger.replicator().ship()
        let newest = try ledger.commitNumber()
        // The next step comes within a minute, which it takes only where the sleep above took that long.
        let end = ContinuousClock.now + .seconds(100)
        while follower.commit < newest, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(5)) }
        follower.stop()
        try bench.checkReaders(newest)
    }
}
