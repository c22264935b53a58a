import Foundation
import MakoTestSupport
import Synchronization
import Testing

import MakoStorage

/// Closing a snapshot that another thread reads.
@Suite(.serialized) struct SnapshotCloseConcurrencyTests {
    private var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(Int(time.tv_sec)) + .nanoseconds(Int(time.tv_nsec))
    }

    /// The borrower may keep its value for any time, so the closing thread must not spend that time on a processor.
    @Test func closingWaitsForABorrowedValueWithoutUsingAProcessor() throws {
        let store = try Store.inMemory()
        let tree = try store.write { tx throws -> Tree in
            let tree = try tx.createTree(named: "t", keys: .integer)
            try tx.put([7, 8, 9], for: 1, in: tree)
            return tree
        }
        let snapshot = try store.snapshot()
        let isBorrowed = Atomic<Bool>(false)
        let isGivenBack = Atomic<Bool>(false)
        let reader = try startThread(name: "reader") {
            do {
                try snapshot.withValue(of: 1, in: tree) { value in
                    isBorrowed.store(true, ordering: .releasing)
                    let (lock, never) = (Lock(), ConditionVariable())
                    let end = ContinuousClock.now.advanced(by: .milliseconds(400))
                    lock.withLock {
                        while ContinuousClock.now < end { _ = never.wait(lock, timeout: .milliseconds(400)) }
                    }
                    #expect(Array(value) == [7, 8, 9])
                    isGivenBack.store(true, ordering: .releasing)
                }
            } catch {
                Issue.record(error)
                isBorrowed.store(true, ordering: .releasing)
            }
        }
        while !isBorrowed.load(ordering: .acquiring) { yieldThread() }
        let before = processorTime
        snapshot.close()
        let hasEnded = isGivenBack.load(ordering: .acquiring)
        let used = processorTime - before
        #expect(hasEnded)
        #expect(used < .milliseconds(100))
        reader.join()
        #expect(throws: StorageError.self) { try snapshot.get(1, in: tree) }
        #expect(store.stats.openSnapshots == 0)
        try store.close()
    }
}
