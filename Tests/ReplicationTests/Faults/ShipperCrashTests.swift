import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// Crashes of the shipper and lost answers, at every call of the object store.
@Suite struct ShipperCrashTests {
    typealias Fault = SimulatedObjectStore.Fault

    /// Commits and ships with faults at some calls, and checks that no commit is missing.
    ///
    /// - Parameters:
    ///   - kills: whether the writing process ends, too.
    ///   - restoresAll: whether to restore all commits, or only the newest.
    /// - Returns: the number of calls.
    private func run(
        _ faults: [(call: Int, fault: Fault)], selfContained: Bool, kills: Bool, restoresAll: Bool
    ) throws -> Int {
        let disk = SimulatedDisk()
        let objects = SimulatedObjectStore { if kills { disk.endProcess() } }
        let ledger = try Ledger(seed: 21, disk: disk, objects: objects)
        for (call, fault) in faults { objects.inject(fault, atCall: call) }
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
        if restoresAll { try ledger.checkAll() } else { #expect(try ledger.restored(shipped) == ledger.state) }
        return calls
    }

    /// Expects that a fault at each call in turn loses no shipped commit.
    private func expectNothingLost(
        _ fault: Fault, selfContained: (_ call: Int) -> Bool, kills: (_ call: Int) -> Bool
    ) throws {
        var (call, calls) = (0, 1)
        while call < calls {
            // Restoring all commits for each call takes minutes: every fifth run restores all.
            calls = try run(
                [(call, fault)], selfContained: selfContained(call), kills: kills(call), restoresAll: call % 5 == 0)
            call += 1
        }
        #expect(call > 15)
    }

    @Test(arguments: [Fault.endBefore, .endAfter], [false, true])
    func aShipperThatEndsAtAnyCallLosesNothing(_ fault: Fault, kills: Bool) throws {
        try expectNothingLost(fault, selfContained: { _ in true }, kills: { _ in kills })
    }

    @Test(arguments: [Fault.endBefore, .endAfter])
    func aShipperOfBackupsThatEndsAtAnyCallLosesNothing(_ fault: Fault) throws {
        try expectNothingLost(fault, selfContained: { _ in false }, kills: { $0 % 2 == 0 })
    }

    @Test(arguments: [Fault.unavailable, .answerLost, .doubled])
    func lostAndDoubledAnswersAtAnyCallLoseNothing(_ fault: Fault) throws {
        try expectNothingLost(fault, selfContained: { $0 % 2 == 0 }, kills: { _ in false })
    }

    /// The second fault hits what follows the first: attaching again, adopting an object, shipping the rest.
    @Test(arguments: [Fault.endBefore, .endAfter, .answerLost], [Fault.endBefore, .endAfter, .answerLost])
    func faultsAtAnyTwoCallsLoseNothing(_ first: Fault, _ second: Fault) throws {
        var reached = 0
        for (kills, selfContained) in [(true, true), (false, true), (true, false), (false, false)] {
            let pairs = try CallPairs.forEach(sample: 4, seed: kills ? 211 : 212) { call in
                try run(
                    call.map { [($0, first)] } ?? [], selfContained: selfContained, kills: kills, restoresAll: false)
            } _: { one, other in
                try run(
                    [(one, first), (other, second)], selfContained: selfContained, kills: kills,
                    restoresAll: (one + other) % 16 == 0)
            }
            #expect(pairs.runs >= 4)
            reached += pairs.reached
        }
        #expect(reached >= 10)
    }
}
