import Dispatch
import Foundation
import MakoStorage
import Testing

@testable import MakoCore

/// The turns of a file, of which an owner of the test's own says what happens when it is locked and released.
@Suite struct FileTurnConcurrencyTests {
    private final class Owner: FileOwner {
        struct Script {
            var taken = 0
            var released = 0
            /// The outcomes of locking the file, then always success.
            var takes: [MakoError] = []
            var releases: StorageError?
            var opens: (@Sendable () -> Void)?
            var isInside = false
            var isAwaited = false
        }
        let script = Guarded(Script())
        let turns = FileTurns<Owner>()
        let path = "x.mako"

        init() { FileTurn(of: turns, self).end() }

        var isInherited: Bool { false }
        var isInsideScope: Bool { script.withLock { $0.isInside } }
        var isFileAwaited: Bool { script.withLock { $0.isAwaited } }
        func requireOpen() throws(MakoError) { script.withLock { $0.opens }?() }
        func deliverEvents() {}

        func takeFile(within timeout: Duration) -> TakenFile {
            script.withLock { script in
                if script.takes.isEmpty {
                    script.taken += 1
                    return TakenFile()
                }
                let failure = script.takes.removeFirst()
                return TakenFile(failure: failure) { () throws(MakoError) in throw failure }
            }
        }

        func releaseFile() throws(StorageError) {
            let error = script.withLock { script in
                script.released += 1
                return script.releases
            }
            if let error { throw error }
        }

        func turn(_ timeout: Duration? = .zero) throws -> FileTurn<Owner> {
            try turns.take(self, timeout: timeout).turn
        }

        /// Suspends it, for which it waits.
        func stop(_ body: () throws(MakoError) -> Void = {}) throws(MakoError) { try turns.stop(self, body) }
    }

    private let suspended = MakoError.storage(.suspended(path: "x.mako"))

    @Test func theFirstTurnTakesAndTheLastOneReleases() throws {
        let owner = Owner()
        #expect(owner.script.withLock { $0.taken } == 0 && owner.script.withLock { $0.released } == 1)
        let (first, second) = (try owner.turn(), try owner.turn())
        first.end()
        first.end()
        #expect(owner.script.withLock { $0.taken } == 1 && owner.script.withLock { $0.released } == 1)
        second.end()
        #expect(owner.script.withLock { $0.released } == 2)
        owner.script.withLock { $0.takes = [.closed(path: "x.mako")] }
        #expect(throws: MakoError.closed(path: "x.mako")) { try owner.turn() }
        try owner.turn().end()
        #expect(owner.script.withLock { $0.released } == 3)
    }

    /// One attempt at a time is repeated, however many turns have failed to release the file.
    @Test func aReleaseThatFailsIsTriedAgainOnce() throws {
        let owner = Owner()
        owner.script.withLock { $0.releases = .writerTimeout(seconds: 0) }
        for _ in 0..<50 { try owner.turn().end() }
        Thread.sleep(forTimeInterval: 0.2)
        let released = owner.script.withLock { $0.released }
        #expect((51...53).contains(released), "\(released)")
        owner.script.withLock { $0.releases = nil }
        try owner.turn().end()
        #expect(owner.script.withLock { $0.taken } == 1)
        try owner.turn().end()
        #expect(owner.script.withLock { $0.taken } == 2)
    }

    @Test func aResumptionDoesNotUndoALaterSuspension() throws {
        let owner = Owner()
        try owner.stop()
        let calls = Guarded(0)
        owner.script.withLock { script in
            script.takes = [.alreadyOpen(path: "x.mako"), .alreadyOpen(path: "x.mako")]
            // Between two attempts to get the file.
            script.opens = {
                let call = calls.withLock { count in
                    count += 1
                    return count
                }
                if call == 2 { do { try owner.stop() } catch { Issue.record(error) } }
            }
        }
        #expect(throws: suspended) { try owner.turns.start(owner, timeout: .seconds(10)) }
        #expect(owner.turns.isStopped)
        #expect(throws: suspended) { try owner.turn() }
        owner.script.withLock { ($0.takes, $0.opens) = ([.alreadyOpen(path: "x.mako")], nil) }
        #expect(throws: MakoError.alreadyOpen(path: "x.mako")) { try owner.turns.start(owner, timeout: .zero) }
        #expect(owner.turns.isStopped)
        #expect(try !owner.turns.start(owner, timeout: .zero))
        #expect(!owner.turns.isStopped)
        try owner.turn().end()
    }

    /// The first of two suspensions fails, and the other one does not.
    @Test func ofTwoSuspensionsTheOneThatSucceedsCounts() throws {
        let owner = Owner()
        let turn = try owner.turn()
        let second = DispatchSemaphore(value: 0)
        #expect(throws: MakoError.writerTimeout(seconds: 1)) {
            try owner.stop { () throws(MakoError) in
                Thread.detachNewThread {
                    do { try owner.stop() } catch { Issue.record(error) }
                    second.signal()
                }
                Thread.sleep(forTimeInterval: 0.05)
                throw .writerTimeout(seconds: 1)
            }
        }
        second.wait()
        #expect(owner.turns.isStopped)
        #expect(throws: suspended) { try owner.turn() }
        turn.end()
        #expect(try !owner.turns.start(owner, timeout: .zero))
    }

    /// A transaction for which a suspension waits may begin turns of its own.
    @Test func aTransactionGoesOnWhileASuspensionWaitsForIt() throws {
        let owner = Owner()
        let transaction = try owner.turn()
        owner.script.withLock { $0.isInside = true }
        try owner.stop { () throws(MakoError) in
            do {
                let inner = try owner.turn()
                inner.end()
                transaction.end()
            } catch { Issue.record(error) }
        }
        #expect(throws: suspended) { try owner.turn() }
        #expect(try !owner.turns.start(owner, timeout: .zero))
    }

    /// New turns wait for those that run when another process waits, but not for ever.
    @Test func turnsYieldForAWhile() throws {
        let owner = Owner()
        let long = try owner.turn()
        owner.script.withLock { $0.isAwaited = true }
        Thread.sleep(forTimeInterval: 0.06)
        let start = ContinuousClock.now
        let other = try owner.turn(.seconds(10))
        #expect(ContinuousClock.now - start >= .milliseconds(100))
        other.end()
        long.end()
        #expect(owner.script.withLock { $0.released } == 2)
    }
}
