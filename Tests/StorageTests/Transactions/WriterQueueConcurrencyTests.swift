import MakoTestSupport
import Synchronization
import Testing

@testable import MakoStorage

/// The queue of waiting writers: it is fair, a writer that gives up leaves it at once, and the lock is never lost.
@Suite(.serialized) struct WriterQueueConcurrencyTests {
    private func prepare() throws -> (store: Store, tree: Tree) {
        let store = try Store.inMemory()
        return (store, try store.write { try $0.createTree(named: "t", keys: .integer) })
    }

    /// A store whose log writes can be stopped at a gate.
    private func prepareGated(_ durability: Durability) throws -> (disk: GatedDisk, store: Store, tree: Tree) {
        let disk = GatedDisk()
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.durability = durability
        let store = try Store(at: "s.mako", options: options)
        return (disk, store, try store.write { try $0.createTree(named: "t", keys: .integer) })
    }

    private func waitFor(_ condition: () -> Bool) {
        let limit = ContinuousClock.now.advanced(by: .seconds(120))
        while !condition(), ContinuousClock.now < limit { yieldThread() }
    }

    private func number(_ tree: Tree, in store: Store) throws -> UInt64 { try store.read { try $0.count(of: tree) } }

    /// Waits without blocking a thread: the condition may need one of the pool's, and other tests may hold the rest.
    private func until(_ condition: @Sendable () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(1)) }
    }

    /// Waits until so many are in the queue.
    private func waiters(_ count: Int, of store: Store) async throws {
        try await until { store.writerLock.waiting >= count }
    }

    /// The results of a set of calls.
    private final class Outcomes: Sendable {
        private let list = Guarded<[String]>([])
        func add(_ outcome: String) { list.withLock { $0.append(outcome) } }
        var all: [String] { list.withLock { $0 } }
    }

    private final class Count: Sendable {
        private let count = Atomic<Int>(0)
        func add() { count.add(1, ordering: .acquiringAndReleasing) }
        var value: Int { count.load(ordering: .acquiring) }
    }

    @Test func threadsAndTasksAreServedInTheOrderOfTheirArrival() async throws {
        let (store, tree) = try prepare()
        let order = Outcomes()
        let first = try store.beginWrite()
        var threads: [JoinableThread] = []
        var tasks: [Task<Void, any Error>] = []
        for place in 0..<12 {
            if place % 3 == 0 {
                threads.append(
                    try startThread(name: "writer \(place)") {
                        try? store.write { transaction in
                            order.add("\(place)")
                            try transaction.put([], for: UInt64(place), in: tree)
                        }
                    })
            } else {
                tasks.append(
                    Task.detached {
                        try await store.write { transaction in
                            order.add("\(place)")
                            try transaction.put([], for: UInt64(place), in: tree)
                        }
                    })
            }
            try await waiters(place + 1, of: store)
        }
        first.rollback()
        for task in tasks { try await task.value }
        for thread in threads { thread.join() }
        #expect(order.all == (0..<12).map(String.init))
        #expect(try number(tree, in: store) == 12)
        try store.close()
    }

    /// A thread that has slept for a while is not overtaken by a new one when the lock is released.
    @Test func waitingWritersAreNotStarved() throws {
        let writerLock = WriterLock()
        #expect(writerLock.tryTake())
        for _ in 0..<20 {
            let isThere = Atomic(false)
            let mayGo = Atomic(false)
            let sleeper = try startThread(name: "sleeper") {
                _ = writerLock.take(timeout: nil)
                isThere.store(true, ordering: .releasing)
                while !mayGo.load(ordering: .acquiring) { yieldThread() }
                writerLock.release()
            }
            while writerLock.waiting == 0 { yieldThread() }
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .milliseconds(2) { yieldThread() }
            writerLock.release()
            let hasOvertaken = writerLock.tryTake()
            #expect(!hasOvertaken)
            mayGo.store(true, ordering: .releasing)
            if !hasOvertaken { #expect(writerLock.take(timeout: nil)) }
            writerLock.release()
            sleeper.join()
            let wasThere = isThere.load(ordering: .acquiring)
            #expect(wasThere)
            #expect(writerLock.tryTake())
        }
    }

    /// Threads that wait forever, threads that give up at any moment, and calls: one holds the lock at a time, all end,
    /// and it is free then.
    @Test func noTurnIsLostAndNoneIsHadTwice() throws {
        let writerLock = WriterLock()
        let holders = Count()
        let left = Count()
        let ended = Count()
        let both = Count()
        let had = Atomic(0)
        @Sendable func hold() {
            if had.add(1, ordering: .acquiringAndReleasing).newValue != 1 { both.add() }
            holders.add()
            had.subtract(1, ordering: .acquiringAndReleasing)
            writerLock.release()
        }
        let threads = try (0..<6).map { number in
            try startThread(name: "taker \(number)") {
                var random = SplitMix(seed: UInt64(number))
                for _ in 0..<1500 {
                    switch number {
                    case 0, 1, 2:
                        _ = writerLock.take(timeout: nil)
                        hold()
                    case 3, 4:
                        if writerLock.take(timeout: .microseconds(random.below(150))) { hold() } else { left.add() }
                    default:
                        if let ticket = writerLock.wait(hold), random.chance(50), writerLock.leave(ticket) {
                            left.add()
                        }
                    }
                }
                ended.add()
            }
        }
        let limit = ContinuousClock.now.advanced(by: .seconds(120))
        while ended.value < threads.count || holders.value + left.value < 6 * 1500, ContinuousClock.now < limit {
            yieldThread()
        }
        try #require(ended.value == threads.count, "a wakeup was lost: \(writerLock.waiting) wait")
        for thread in threads { thread.join() }
        #expect(holders.value + left.value == 6 * 1500)
        #expect(both.value == 0)
        #expect(writerLock.waiting == 0)
        #expect(writerLock.tryTake())
    }

    @Test func aCallHasATimeOfItsOwn() async throws {
        let (store, tree) = try prepare()
        let first = try store.beginWrite()
        #expect(throws: StorageError.writerTimeout(seconds: 0)) { try store.write(timeout: .zero) { _ in } }
        #expect(throws: StorageError.writerTimeout(seconds: 0.02)) {
            try store.write(timeout: .milliseconds(20)) { _ in }
        }
        do {
            try await store.write(timeout: .milliseconds(20)) { try $0.put([], for: 1, in: tree) }
            Issue.record("two threads had the writer lock")
        } catch { #expect(error as? StorageError == .writerTimeout(seconds: 0.02)) }
        #expect(store.writerLock.waiting == 0)
        first.rollback()
        try await store.write(timeout: .seconds(600)) { try $0.put([], for: 2, in: tree) }
        #expect(try await store.read { try ModelTree(reading: tree, of: $0).count } == 1)
        try store.close()
    }

    @Test func aCancelledTaskLeavesTheQueueAtOnce() async throws {
        let (store, tree) = try prepare()
        let first = try store.beginWrite()
        let task = Task.detached { try await store.write { try $0.put([], for: 1, in: tree) } }
        let other = Task.detached { try await store.write { try $0.put([], for: 2, in: tree) } }
        try await waiters(2, of: store)
        task.cancel()
        // The lock is still held: only the cancellation can end this.
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(store.writerLock.waiting == 1)
        first.rollback()
        try await other.value
        #expect(try await store.read { try $0.get(1, in: tree) } == nil)
        #expect(try await store.read { try $0.get(2, in: tree) } == [])
        try store.close()
    }

    @Test func aTaskThatWasCancelledBeforeBeginsNothing() async throws {
        let (store, tree) = try prepare()
        let gate = Outcomes()
        let task = Task.detached {
            while !Task.isCancelled { await Task.yield() }
            do { try await store.write { try $0.put([], for: 1, in: tree) } } catch is CancellationError {
                gate.add("write")
            }
            do { _ = try await store.read { $0.commitNumber } } catch is CancellationError { gate.add("read") }
        }
        task.cancel()
        try await task.value
        #expect(gate.all == ["write", "read"])
        #expect(try number(tree, in: store) == 0)
        try store.close()
    }

    /// A read that waits for a thread is cancelled like a write that waits for the lock.
    @Test func aReadThatWaitsForAThreadCanBeCancelled() async throws {
        let (store, _) = try prepare()
        let released = Count()
        let begun = Count()
        let holders = (0..<16).map { _ in
            Task.detached {
                try await store.read { _ in
                    begun.add()
                    while released.value == 0 { yieldThread() }
                }
            }
        }
        try await until { begun.value == 16 }
        let late = Task.detached { try await store.read { $0.commitNumber } }
        try await until { store.readerThreads.waiting > 0 }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
        released.add()
        for holder in holders { try await holder.value }
        #expect(try await store.read { $0.commitNumber } == 1)
        try store.close()
    }

    /// A body that throws rolls its transaction back and releases the lock.
    @Test func aBodyThatThrowsIsRolledBack() async throws {
        struct Stop: Error {}
        let (store, tree) = try prepare()
        await #expect(throws: Stop.self) {
            try await store.write { transaction in
                try transaction.put([], for: 1, in: tree)
                throw Stop()
            }
        }
        #expect(try await store.write { try $0.view.count(of: tree) } == 0)
        try store.close()
        await #expect(throws: StorageError.closed(path: store.path)) { try await store.write { _ in } }
        await #expect(throws: StorageError.closed(path: store.path)) { try await store.read { _ in } }
    }

    /// Timeouts and cancellations at the moment in which the lock is handed over: each call ends once, and in the end
    /// the lock is free.
    @Test func aWriterThatGivesUpReleasesTheLock() async throws {
        let (store, tree) = try prepare()
        let done = Count()
        let outcomes = Outcomes()
        let threads = try (0..<3).map { thread in
            try startThread(name: "writer \(thread)") {
                var random = SplitMix(seed: UInt64(thread))
                for round in 0..<400 {
                    do {
                        try store.write(durability: .async, timeout: .microseconds(random.below(120))) { transaction in
                            try transaction.put([1], for: UInt64(thread) << 32 | UInt64(round), in: tree)
                        }
                        done.add()
                    } catch StorageError.writerTimeout {} catch { outcomes.add("\(error)") }
                }
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for task in 3..<6 {
                group.addTask {
                    var random = SplitMix(seed: UInt64(task))
                    for round in 0..<150 {
                        let call = Task.detached {
                            // Fails, instead of waiting forever, when a wake-up was lost. The owner of the lock may
                            // wait long for a processor.
                            try await store.write(durability: .async, timeout: .seconds(600)) { transaction in
                                try transaction.put([1], for: UInt64(task) << 32 | UInt64(round), in: tree)
                            }
                        }
                        for _ in 0..<random.below(6) { await Task.yield() }
                        if random.chance(60) { call.cancel() }
                        switch await call.result {
                        case .success: done.add()
                        case .failure(let error) where error is CancellationError: break
                        case .failure(let error): Issue.record(error)
                        }
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(outcomes.all == [])
        try await store.write(timeout: .seconds(600)) { try $0.put([], for: .max, in: tree) }
        #expect(try number(tree, in: store) == UInt64(done.value) + 1)
        #expect(try store.verify().isClean)
        try store.close()
    }

    /// More tasks than there are threads for them.
    @Test func ofManyTasksEachOneCommits() async throws {
        let (store, tree) = try prepare()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for key in UInt64(0)..<400 {
                group.addTask { try await store.write { try $0.put([1], for: key, in: tree) } }
            }
            // Unlike `waitForAll`, this cancels the other tasks at the first error.
            for try await _ in group {}
        }
        #expect(try await store.read { try $0.count(of: tree) } == 400)
        try store.close()
    }

    /// A commit that waits for nothing is shown as soon as those before it are, and not before a durable one that still waits.
    @Test func anAsyncCommitIsShownBehindTheDurableOnesBeforeIt() throws {
        let (disk, store, tree) = try prepareGated(.full)
        func seen() throws -> UInt64 { try store.read { try $0.count(of: tree) } }
        func startWriter(_ key: UInt64, _ durability: Durability) throws -> JoinableThread {
            try startThread(name: "writer \(key)") {
                do { try store.write(durability: durability) { try $0.put([], for: key, in: tree) } } catch {
                    Issue.record(error)
                }
            }
        }
        disk.close()
        let first = try startWriter(1, .full)
        waitFor { disk.waiting == 1 }
        try store.write(durability: .async) { try $0.put([], for: 2, in: tree) }
        let second = try startWriter(3, .full)
        waitFor { store.pipeline.lock.withLock { store.pipeline.pending.count } == 2 }
        try store.write(durability: .async) { try $0.put([], for: 4, in: tree) }
        #expect(try seen() == 0)
        disk.letOneThrough()
        first.join()
        // Commits 1 and 2 are there; 3 waits for the device, and 4 for 3.
        waitFor { disk.waiting == 1 }
        #expect(try seen() == 2)
        disk.open()
        second.join()
        waitFor { (try? seen()) == 4 }
        #expect(try seen() == 4)
        try store.close()
    }

    /// A commit with `async` durability is visible to its thread, also while earlier `async` commits are being written.
    @Test func anAsyncCommitIsSeenWhileOthersAreWritten() throws {
        let (disk, store, tree) = try prepareGated(.async)
        try store.write { try $0.put([], for: 1, in: tree) }
        disk.close()
        let flushing = try startThread(name: "flush") {
            do { try store.flush(.durable) } catch { Issue.record(error) }
        }
        waitFor { disk.waiting == 1 }
        for key in UInt64(2)...4 {
            try store.write { try $0.put([], for: key, in: tree) }
            #expect(try store.read { try $0.count(of: tree) } == key)
        }
        disk.open()
        flushing.join()
        #expect(try store.read { try $0.count(of: tree) } == 4)
        #expect(try store.verify().isClean)
        try store.close()
    }

    /// A flush waits for the commits before it, and not for as long as others commit.
    @Test func aFlushEndsWhileOthersCommit() throws {
        let (disk, store, tree) = try prepareGated(.async)
        let hasEnded = Atomic(false)
        disk.close()
        let flushing = try startThread(name: "flush") {
            do { try store.checkpoint() } catch { Issue.record(error) }
            hasEnded.store(true, ordering: .releasing)
        }
        waitFor { disk.waiting == 1 }
        try store.write { try $0.put([], for: 1, in: tree) }
        // The tree's flush; what the checkpoint then takes up is the second commit as well, which it makes durable: two in all.
        let flushes = store.stats.flushes
        disk.letOneThrough()
        waitFor { store.stats.flushes == flushes + 1 }
        waitFor { disk.waiting == 1 }
        try store.write { try $0.put([], for: 2, in: tree) }
        disk.letOneThrough()
        waitFor { hasEnded.load(ordering: .acquiring) }
        // Nor do the statistics wait for a checkpoint: it was at the gate when they were read above.
        let isDone = hasEnded.load(ordering: .acquiring)
        #expect(isDone)
        disk.open()
        flushing.join()
        try store.close()
    }

    /// The end of a segment is not left in memory for as long as its commits might be.
    @Test func theFlusherWritesTheEndOfASegmentAtOnce() throws {
        var options = StoreOptions()
        options.fileSystem = MemoryFileSystem()
        options.durability = .async(maxDelay: .seconds(3600))
        options.logSegmentBytes = 32 << 10
        let store = try Store(at: "s.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let segment = { store.pipeline.lock.withLock { store.pipeline.log.newestSegment } }
        var end: UInt64 = 0
        for key in UInt64(0)... {
            end = store.pipeline.lock.withLock { store.pipeline.log.position.lsn }
            try store.write { try $0.put(ValueShape(bytes: 900).value(seed: key), for: key, in: tree) }
            if segment() == 2 { break }
        }
        // The flusher takes the end of the segment before it writes it: only `durable` shows that the write is done.
        waitFor { store.pipeline.lock.withLock { store.pipeline.log.durable >= end } }
        #expect(store.pipeline.lock.withLock { store.pipeline.log.durable } >= end)
        try store.close()
    }

    /// Small log segments, so that commits and flushes often reach an end together.
    @Test func whateverIsFlushedMeanwhileEachCommitIsInTheLog() throws {
        let disk = SimulatedDisk()
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.logSegmentBytes = SegmentHeader.smallestSegment
        let store = try Store(at: "s.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let hasEnded = Atomic(false)
        let flushing = try startThread(name: "flush") {
            while !hasEnded.load(ordering: .acquiring) {
                do { try store.flush(.durable) } catch { Issue.record(error) }
            }
        }
        let count = UInt64(3000)
        for key in 0..<count {
            let value = [UInt8](repeating: 1, count: Int(key % 700))
            try store.write(durability: .async) { try $0.put(value, for: key, in: tree) }
        }
        try store.flush(.durable)
        hasEnded.store(true, ordering: .releasing)
        flushing.join()
        options.fileSystem = SimulatedDisk(disk.settledImage())
        disk.cutPower()
        let reopened = try Store(at: "s.mako", options: options)
        #expect(try number(tree, in: reopened) == count)
        try reopened.close()
    }
}
