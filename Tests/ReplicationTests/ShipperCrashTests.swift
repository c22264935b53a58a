import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// Crashes of the shipper and lost answers, at every call of the object store.
@Suite struct ShipperCrashTests {
    /// Commits and ships with a fault at one call, and checks that no commit is missing.
    ///
    /// - Parameters:
    ///   - call: the index of the faulty call.
    ///   - kills: whether the writing process ends, too.
    /// - Returns: whether the run made that many calls.
    private func run(
        _ fault: SimulatedObjectStore.Fault, atCall call: Int, selfContained: Bool, kills: Bool
    ) throws -> Bool {
        let disk = SimulatedDisk()
        let objects = SimulatedObjectStore { if kills { disk.endProcess() } }
        let ledger = try Ledger(seed: 21, disk: disk, objects: objects)
        objects.inject(fault, atCall: call)
        var replicator: Replicator?
        var shipped: UInt64 = 0
        func ship() throws {
            while true {
                do throws(ReplicationError) {
                    if replicator == nil { replicator = try ledger.replicator(objectBytes: 3000) }
                    if let replicator { shipped = try replicator.ship().commit }
                    return
                } catch {
                    guard case .objects(.unavailable) = error else { throw error }
                    guard objects.hasEnded else { continue }
                    objects.restart()
                    replicator = nil
                    if kills { try? ledger.kill() }
                }
            }
        }
        for _ in 0..<8 {
            try ledger.commitAtRandom(selfContained: selfContained)
            try ledger.commitAtRandom(selfContained: selfContained)
            try ship()
        }
        let calls = objects.calls
        objects.clearFaults()
        #expect(shipped == (try ledger.commitNumber()))
        let points = try ledger.replica.restorePoints()
        #expect(points.count == 1)
        #expect(points[0].newest == shipped)
        if selfContained { #expect(points[0].gaps == []) }
        // Restoring all commits for each call takes minutes: every fifth run restores all.
        if call % 5 == 0 { try ledger.checkAll() } else { #expect(try ledger.restored(shipped) == ledger.state) }
        return call < calls
    }

    @Test(arguments: [SimulatedObjectStore.Fault.endBefore, .endAfter], [false, true])
    func aShipperThatEndsAtAnyCallLosesNothing(_ fault: SimulatedObjectStore.Fault, kills: Bool) throws {
        var call = 0
        while try run(fault, atCall: call, selfContained: true, kills: kills) { call += 1 }
        #expect(call > 15)
    }

    @Test(arguments: [SimulatedObjectStore.Fault.endBefore, .endAfter])
    func aShipperOfBackupsThatEndsAtAnyCallLosesNothing(_ fault: SimulatedObjectStore.Fault) throws {
        var call = 0
        while try run(fault, atCall: call, selfContained: false, kills: call % 2 == 0) { call += 1 }
        #expect(call > 15)
    }

    @Test(arguments: [SimulatedObjectStore.Fault.unavailable, .answerLost, .doubled])
    func lostAndDoubledAnswersAtAnyCallLoseNothing(_ fault: SimulatedObjectStore.Fault) throws {
        var call = 0
        while try run(fault, atCall: call, selfContained: call % 2 == 0, kills: false) { call += 1 }
        #expect(call > 15)
    }
}
