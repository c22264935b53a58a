import MakoReplication
import MakoStorage
import MakoTestSupport
import Testing

/// The end of a follower's process, and power cuts, at every call to the disk.
@Suite struct FollowerCrashTests {
    private func ledger(_ seed: UInt64, selfContained: Bool) throws -> Ledger {
        let ledger = try Ledger(seed: seed)
        try ledger.commit(.small)
        let replicator = try ledger.replicator(objectBytes: 8000)
        try replicator.ship()
        for _ in 0..<6 {
            // Several commits in an object, each of which was durable before the next at the origin.
            for _ in 0..<3 { try ledger.commitAtRandom(selfContained: selfContained) }
            try replicator.ship()
        }
        return ledger
    }

    private func options(_ ledger: Ledger, _ disk: SimulatedDisk) -> Follower.Options {
        var options = Follower.Options()
        options.store = Ledger.options(disk, seed: 7)
        options.checkpointBytes = 5000
        return options
    }

    /// Reads the file that a crash left, and follows on from it.
    ///
    /// - Parameter acknowledged: the commit that was followed before the crash.
    private func check(
        _ ledger: Ledger, _ image: DiskImage, _ acknowledged: UInt64, _ comment: Comment
    ) throws {
        let disk = SimulatedDisk(image)
        let options = options(ledger, disk)
        if disk.contents(of: FollowerBench.path) != nil {
            let reader = try FollowerBench.open(disk, options.store)
            let commit = try reader.read { $0.commitNumber }
            #expect(commit >= acknowledged, comment)
            #expect(try LedgerState(reading: reader) == ledger.states[commit], comment)
            try reader.close()
        } else {
            #expect(acknowledged == 0, comment)
        }
        let follower = try Follower(ledger.place, at: FollowerBench.path, options: options)
        try follower.follow()
        follower.close()
        let reader = try FollowerBench.open(disk, options.store)
        #expect(try LedgerState(reading: reader) == ledger.state, comment)
        #expect(try reader.verify().findings == [], comment)
        try reader.close()
        #expect(try !disk.list(directory: ".").contains { $0.contains("-new-") }, comment)
    }

    @Test(arguments: [true, false]) func aPowerCutAtAnyCallLosesNothingThatWasFollowed(selfContained: Bool) throws {
        let ledger = try ledger(selfContained ? 71 : 72, selfContained: selfContained)
        let disk = SimulatedDisk(sectorBytes: 512)
        disk.startRecording()
        let follower = try Follower(ledger.place, at: FollowerBench.path, options: options(ledger, disk))
        disk.tag = Int(follower.commit)
        disk.tag = Int(try follower.follow().commit)
        follower.close()
        var choice = CrashChoice.structured
        choice.structuredUnits = 3
        choice.sampled = 1
        choice.torn = 1
        let points = disk.crashPoints()
        #expect(points.count > 40)
        for point in points {
            for image in point.state.images(choice) {
                try check(ledger, image, UInt64(point.tag), "before call \(point.call)")
            }
        }
    }

    @Test func theEndOfTheProcessAtAnyCallLosesNothing() throws {
        let ledger = try ledger(73, selfContained: false)
        var index = 0
        while true {
            let disk = SimulatedDisk()
            disk.inject(.crashBefore, atCall: index)
            var followed: UInt64 = 0
            do {
                let follower = try Follower(ledger.place, at: FollowerBench.path, options: options(ledger, disk))
                followed = follower.commit
                followed = try follower.follow().commit
                follower.close()
            } catch {}
            let hasEnded = disk.hasCrashed
            // What the process wrote stays.
            try check(ledger, disk.settledImage(), followed, "at call \(index)")
            if !hasEnded { break }
            index += 3
        }
        #expect(index > 100)
    }

    @Test(arguments: [Fault.inputOutput, .noSpace, .syncFails(.keepsNewContent), .refused, .short(100)])
    func aFaultAtAnyCallIsOvercomeByTheNextStep(_ fault: Fault) throws {
        let ledger = try ledger(74, selfContained: false)
        var index = 0
        var calls = Int.max
        while index < calls {
            let disk = SimulatedDisk()
            let bench = FollowerBench(ledger, disk: disk)
            bench.options.checkpointBytes = 5000
            disk.inject(fault, atCall: index)
            for _ in 0..<4 {
                do {
                    try bench.current().follow()
                    break
                } catch is ReplicationError { continue }
            }
            calls = disk.callCount
            disk.clearFaults()
            try bench.check(try ledger.commitNumber())
            index += 5
        }
        #expect(index > 100)
    }
}
