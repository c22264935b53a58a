import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

@testable import MakoReplication

/// Damaged, missing and late objects, and objects that retention removed.
@Suite struct FollowerDamageTests {
    /// A ledger that shipped some commits, and a follower that has the first of them.
    private func shipped(
        _ seed: UInt64, commits: Int = 6, backupAtEnd: Bool = false
    ) throws -> (Ledger, FollowerBench, UInt64) {
        let ledger = try Ledger(seed: seed)
        try ledger.commit(.small)
        let replicator = try ledger.replicator(objectBytes: 1)
        try replicator.ship()
        let bench = FollowerBench(ledger)
        let first = try ledger.commitNumber()
        try bench.check(first)
        for _ in 0..<commits { try ledger.commit(.small) }
        try replicator.ship()
        if backupAtEnd {
            try ledger.commit(.many)
            try replicator.ship()
            try ledger.commit(.small)
            try replicator.ship()
        }
        return (ledger, bench, first)
    }

    private func name(_ ledger: Ledger, _ number: UInt64) throws -> String {
        try #require(ledger.objects.names.first { $0.hasSuffix("/seq/" + ObjectName.padded(number, 12)) })
    }

    @Test func noFlippedBitIsApplied() throws {
        let (ledger, bench, first) = try shipped(61)
        let name = try name(ledger, 4)
        let bytes = try #require(ledger.objects.objects[name])
        _ = try bench.current()
        for bit in stride(from: 0, to: bytes.count * 8, by: 13) {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            ledger.objects.objects[name] = damaged
            #expect {
                try bench.current().follow()
            } throws: { error in
                if case ReplicationError.damaged(name, _) = error { true } else { false }
            }
            if bit % 403 == 0 { try bench.checkReaders(first + 2) }
        }
        ledger.objects.objects[name] = bytes
        try bench.check(try ledger.commitNumber())
    }

    /// Forged objects have right checksums, but frames that do not continue the chain.
    @Test func framesOfAnotherHistoryAreNotApplied() throws {
        let (ledger, bench, first) = try shipped(62)
        let name = try name(ledger, 3)
        let bytes = try #require(ledger.objects.objects[name])
        let header = try #require(SequenceHeader(Array(bytes.prefix(SequenceHeader.bytes))))
        for byte in [100, 140, 200] {
            var content = Array(bytes.dropFirst(SequenceHeader.bytes))
            content[byte % content.count] ^= 1
            var forged = header
            forged.digest = Digest.of(content)
            ledger.objects.objects[name] = forged.encoded + content
            #expect {
                try bench.current().follow()
            } throws: { error in
                if case ReplicationError.damaged(name, _) = error { true } else { false }
            }
            try bench.checkReaders(first + 1)
        }
        // A header of another object before it.
        var forged = header
        forged.previous ^= 1
        ledger.objects.objects[name] = forged.encoded + bytes.dropFirst(SequenceHeader.bytes)
        #expect(throws: ReplicationError.self) { try bench.current().follow() }
        try bench.checkReaders(first + 1)
        // An object in the place of another.
        ledger.objects.objects[name] = ledger.objects.objects[try self.name(ledger, 5)]
        #expect(throws: ReplicationError.self) { try bench.current().follow() }
        try bench.checkReaders(first + 1)
    }

    @Test func aMissingObjectIsAnErrorUntilItIsThere() throws {
        let (ledger, bench, first) = try shipped(63)
        let name = try name(ledger, 3)
        let bytes = ledger.objects.objects[name]
        ledger.objects.objects[name] = nil
        bench.end()
        #expect {
            try bench.current().follow()
        } throws: { error in
            if case ReplicationError.damaged(name, "it is missing") = error { true } else { false }
        }
        try bench.checkReaders(first + 1)
        ledger.objects.objects[name] = bytes
        try bench.check(try ledger.commitNumber())
    }

    @Test(arguments: [false, true]) func aBackupLeadsPastAnObject(isMissing: Bool) throws {
        let (ledger, bench, _) = try shipped(64, backupAtEnd: true)
        let name = try name(ledger, 4)
        if isMissing {
            ledger.objects.objects[name] = nil
            bench.end()
        } else {
            ledger.objects.objects[name]?[300] ^= 1
        }
        let report = try bench.check(try ledger.commitNumber())
        switch report.restart {
        case .gone(let object): #expect(isMissing && object == name)
        case .damaged(let object, _): #expect(!isMissing && object == name)
        default: Issue.record("\(report)")
        }
        #expect(try bench.current().follow().objects == 0)
    }

    /// The newest backups are missing, or damaged in their headers or contents, before the follower has a file.
    @Test(arguments: [nil, 20, 2000] as [Int?], [1, 2])
    func aNewFollowerBeginsWithAnEarlierBackup(byte: Int?, count: Int) throws {
        let ledger = try Ledger.withBackups(seed: 69)
        let backups = try ledger.backups(byte: byte)
        try #require(backups.count == 3)
        ledger.damage(backups.suffix(count), byte: byte)
        let bench = FollowerBench(ledger)
        let report = try bench.check(try ledger.commitNumber())
        #expect(try bench.current().firstRestart == .newFile)
        // Of a backup whose header is whole, nothing is read.
        #expect(report.passed == (byte == 2000 ? [] : backups.suffix(count)))
    }

    @Test func aNewFollowerReportsTheNewestBackupWhenNoneIsWhole() throws {
        let ledger = try Ledger(seed: 70)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        let full = try #require(ledger.objects.names.first { $0.contains("/full/") })
        ledger.objects.objects[full]?[2000] ^= 1
        #expect {
            _ = try FollowerBench(ledger).current()
        } throws: { error in
            if case ReplicationError.damaged(full, _) = error { true } else { false }
        }
    }

    /// An object store may put its own prefix before the name in its error.
    @Test func aMissingBackupEndsANewFollowerWhateverItsNameIs() throws {
        let ledger = try Ledger(seed: 71)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        let full = try #require(ledger.objects.names.first { $0.contains("/full/") })
        ledger.objects.objects[full] = nil
        let objects = InterposedObjectStore(ledger.objects) { "bucket/" + $0 }
        // Ends attempts that are repeated for ever.
        objects.inject(atCall: 200) { ledger.objects.isDown = true }
        let bench = FollowerBench(ledger)
        #expect(throws: ReplicationError.objects(.notFound(name: "bucket/" + full))) {
            _ = try Follower(objects, at: FollowerBench.path, options: bench.options)
        }
        #expect(!objects.hasRun)
    }

    /// Retention has removed everything before a full backup.
    @Test(arguments: [false, true]) func retentionStartsAFollowerAnew(isRunning: Bool) throws {
        let (ledger, bench, _) = try shipped(65)
        // A backup in full: incremental ones have exceeded half of the last full one.
        let replicator = try ledger.replicator()
        var number: UInt64?
        for _ in 0..<12 where number == nil {
            try ledger.commit(.many)
            try replicator.ship()
            number = try newestFull(ledger)
        }
        let full = try #require(number)
        try ledger.commit(.small)
        try replicator.ship()
        if !isRunning { bench.end() }
        for name in ledger.objects.names {
            guard let digits = name.split(separator: "/").last, let found = UInt64(digits), found < full else {
                continue
            }
            ledger.objects.objects[name] = nil
        }
        var restarts: [Follower.Restart] = []
        if let first = try bench.current().firstRestart, !isRunning { restarts.append(first) }
        // A running follower searches after some steps.
        for _ in 0..<17 { if let restart = try bench.current().follow().restart { restarts.append(restart) } }
        try bench.checkReaders(try ledger.commitNumber())
        #expect(restarts.count == 1)
        if case .gone = restarts.first {} else { Issue.record("\(restarts)") }
    }

    /// The number of a full backup behind the first one.
    private func newestFull(_ ledger: Ledger) throws -> UInt64? {
        for name in ledger.objects.names.reversed() where name.contains("/seq/") {
            let bytes = try #require(ledger.objects.objects[name])
            if let header = SequenceHeader(Array(bytes.prefix(SequenceHeader.bytes))), header.kind == .full {
                return header.number > 1 ? header.number : nil
            }
        }
        return nil
    }

    @Test func lateListingsDelayNothing() throws {
        let (ledger, bench, _) = try shipped(66)
        ledger.objects.lateNames = 4
        bench.end()
        try bench.check(try ledger.commitNumber())
    }

    @Test func anObjectStoreThatIsDownIsReadLater() throws {
        let (ledger, bench, first) = try shipped(67)
        ledger.objects.isDown = true
        #expect(throws: ReplicationError.self) { try bench.current().follow() }
        try bench.checkReaders(first)
        ledger.objects.isDown = false
        try bench.check(try ledger.commitNumber())
    }

    @Test(arguments: [SimulatedObjectStore.Fault.unavailable, .answerLost, .endBefore, .endAfter])
    func aFaultAtAnyCallOfTheObjectStoreLosesNothing(_ fault: SimulatedObjectStore.Fault) throws {
        let ledger = try Ledger(seed: 68)
        try ledger.commit(.small)
        let replicator = try ledger.replicator(objectBytes: 2000)
        try replicator.ship()
        for _ in 0..<6 { try ledger.commitAtRandom() }
        try replicator.ship()
        let newest = try ledger.commitNumber()
        for index in 0..<200 {
            let bench = FollowerBench(ledger)
            let before = ledger.objects.calls
            ledger.objects.inject(fault, atCall: before + index)
            for _ in 0..<3 {
                do { try bench.current().follow() } catch ReplicationError.objects(.unavailable) {
                    guard ledger.objects.hasEnded else { continue }
                    ledger.objects.restart()
                    bench.end()
                    bench.disk.endProcess()
                }
            }
            let calls = ledger.objects.calls - before
            ledger.objects.clearFaults()
            try bench.check(newest)
            if index >= calls {
                #expect(index > 5)
                return
            }
        }
        Issue.record("the runs did not end")
    }
}
