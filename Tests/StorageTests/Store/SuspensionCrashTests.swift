import MakoTestSupport
import Testing

import MakoStorage

/// Ends of processes and power failures while two processes take turns.
@Suite struct SuspensionCrashTests: RoundValues {
    private static let path = "d/s.mako"

    private func open(_ files: any FileSystem) throws -> Store {
        var options = options(files)
        options.logSegmentBytes = 32 << 10
        return try Store(at: Self.path, options: options)
    }

    /// How the other process comes to its turn, and what it has committed when it ends.
    struct Turn: Sendable {
        var count: UInt64
        var durability = Durability.full
        /// Whether it has written in an earlier turn, so that its first page may need no change of the header.
        var isResumed = false
        /// Whether turns leave a short log.
        var leavesLog = false

        func suspend(_ store: Store) throws { try store.suspendSilently(timeout: nil, leavingLog: leavesLog) }
    }

    /// The other process ends before each of its changes of the disk, from the beginning of its turn to its suspension.
    /// Large transactions commit by checkpoint, small ones by the log.
    @Test(arguments: [
        Turn(count: 20), Turn(count: 100), Turn(count: 20, isResumed: true),
        Turn(count: 20, durability: .ordered, isResumed: true), Turn(count: 100, durability: .ordered, isResumed: true),
        Turn(count: 20, leavesLog: true), Turn(count: 100, leavesLog: true),
        Turn(count: 20, isResumed: true, leavesLog: true), Turn(count: 100, isResumed: true, leavesLog: true),
        Turn(count: 20, durability: .ordered, isResumed: true, leavesLog: true),
    ]) func theOtherProcessMayEndAnywhere(turn: Turn) throws {
        let count = turn.count
        let blank = SimulatedDisk()
        let made = try open(blank)
        try fill(made, round: 1, count: count)
        try made.close()
        let image = blank.settledImage()
        var results = Set<UInt8>()
        for changes in 0..<1000 {
            let disk = SimulatedDisk(image, seed: UInt64(changes))
            let store = try open(disk)
            try fill(store, round: 2, count: count)
            try turn.suspend(store)
            let process = MortalProcess(disk)
            var acknowledged: UInt8 = 2
            var other: Store?
            if turn.isResumed {
                let opened = try open(process)
                try fill(opened, round: 2, count: count)
                try turn.suspend(opened)
                other = opened
                // To the same state of the file.
                try store.resume()
                try turn.suspend(store)
            }
            process.live(changes: changes)
            do {
                if turn.isResumed { try other?.resume() } else { other = try open(process) }
                guard let opened = other else { break }
                for round in 3...5 as ClosedRange<UInt8> {
                    try fill(opened, round: round, count: count, turn.durability)
                    acknowledged = round
                    if round == 4 { try opened.checkpoint() }
                    if turn.leavesLog {
                        try turn.suspend(opened)
                        #expect(try !opened.resume(), "change \(changes)")
                    }
                }
                try turn.suspend(opened)
            } catch is StorageError {}
            let isOver = !process.isDead
            process.die()

            let hasNews = try store.resume()
            let seen = try round(store)
            #expect(seen == [acknowledged] || seen == [acknowledged + 1], "change \(changes)")
            #expect(hasNews == (seen != [2]), "change \(changes)")
            #expect(try store.verify().isClean, "change \(changes)")
            results.formUnion(seen)
            try fill(store, round: 9, count: count)
            try turn.suspend(store)
            let next = try open(disk)
            #expect(try round(next) == [9], "change \(changes)")
            #expect(try next.verify().isClean, "change \(changes)")
            try next.close()
            withExtendedLifetime(other) {}
            if isOver { break }
        }
        #expect(results == [2, 3, 4, 5])
    }

    /// What is acknowledged survives a power failure at each call of a suspension, of the work of another process, and of
    /// the resumption that replays its log.
    @Test(arguments: [false, true]) func thePowerMayFailAnywhere(leavesLog: Bool) throws {
        let turn = Turn(count: 20, leavesLog: leavesLog)
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1, count: 20)
        try fill(store, round: 2, count: 20)
        disk.tag = 2
        disk.startRecording()
        try turn.suspend(store)
        let process = MortalProcess(disk)
        let other = try open(process)
        try fill(other, round: 3, count: 20)
        disk.tag = 3
        process.die()
        #expect(try store.resume())
        try fill(store, round: 4, count: 20)
        disk.tag = 4
        try turn.suspend(store)
        #expect(try !store.resume())
        let points = disk.crashPoints()
        #expect(Set(points.map(\.tag)) == [2, 3, 4])
        let choice = CrashChoice(exhaustiveBits: 2, structuredUnits: 4, sampled: TestEffort.isFull ? 32 : 2, torn: 2)
        for point in points {
            for image in point.state.images(choice) {
                let after = try open(SimulatedDisk(image))
                let seen = try round(after)
                let allowed = [UInt8(point.tag), UInt8(point.tag + 1)].map { Set([$0]) }
                #expect(allowed.contains(seen), "call \(point.call)")
                try after.close()
            }
        }
        withExtendedLifetime(other) {}
    }

    /// A suspended store does not hinder or harm others when its process ends.
    @Test func aSuspendedProcessMayEnd() throws {
        let disk = SimulatedDisk()
        let process = MortalProcess(disk)
        let store = try open(process)
        try fill(store, round: 1, count: 20)
        try store.suspend()
        process.die()
        let image = disk.settledImage()
        #expect(try disk.list(directory: "d") == ["s.mako"])
        let next = try open(SimulatedDisk(image))
        #expect(next.recovery.replayedCommits == 0)
        #expect(try round(next) == [1])
        withExtendedLifetime(store) {}
    }

    /// An error of the disk at any call of `resume()` leaves the store suspended and the file unlocked, and the next
    /// attempt takes the commits.
    @Test func afterAnErrorResumingCanBeRepeated() throws {
        for call in 0..<400 {
            let disk = SimulatedDisk(seed: UInt64(call))
            let store = try open(disk)
            try fill(store, round: 1, count: 20)
            try store.suspend()
            let process = MortalProcess(disk)
            let other = try open(process)
            try fill(other, round: 2, count: 20)
            process.die()
            let place = disk.callCount + call
            disk.inject(.inputOutput, atCall: place)
            var isOver = false
            do {
                #expect(try store.resume())
                isOver = disk.callCount <= place
            } catch {
                #expect(store.isSuspended, "call \(call)")
                #expect(throws: StorageError.suspended(path: Self.path)) { try store.snapshot() }
                let file = try disk.open(Self.path, .readWrite)
                #expect(try file.lock(exclusive: true), "call \(call)")
                file.close()
                disk.clearFaults()
                #expect(try store.resume(), "call \(call)")
            }
            disk.clearFaults()
            #expect(try round(store) == [2], "call \(call)")
            #expect(try store.verify().isClean, "call \(call)")
            withExtendedLifetime(other) {}
            if isOver { break }
        }
    }
}
