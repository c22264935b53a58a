import MakoTestSupport
import Testing

@testable import MakoStorage

/// The durability of each kind of commit.
@Suite struct DurabilityTests {
    private static let path = "d/s.mako"

    private func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.logSegmentBytes = 64 << 10
        options.cacheBytes = 1 << 20
        return options
    }

    private func keys(_ image: DiskImage) throws -> [UInt64] {
        let store = try Store(at: DurabilityTests.path, options: options(SimulatedDisk(image)))
        defer { try? store.close() }
        return try store.read { snapshot throws in
            guard let tree = snapshot.tree(named: "t"),
                case .integers(let map) = try ModelTree(reading: tree, of: snapshot)
            else { return [] }
            return map.keys
        }
    }

    /// A store with one tree; the bodies commit keys 1, 2, 3… one by one.
    private func prepare() throws -> (SimulatedDisk, Store, Tree) {
        let disk = SimulatedDisk(seed: 3)
        let store = try Store(at: DurabilityTests.path, options: options(disk))
        return (disk, store, try store.write { try $0.createTree(named: "t", keys: .integer) })
    }

    @Test func aFullCommitSurvivesAPowerCut() throws {
        let (disk, store, tree) = try prepare()
        for key in UInt64(1)...5 {
            try store.write { try $0.put([1], for: key, in: tree) }
            #expect(try keys(disk.crashState().image([])) == Array(1...key))
        }
        disk.cutPower()
        withExtendedLifetime(store) {}
    }

    /// The power went while a segment was made: it has its header, but not its size, and the data file does not name it yet.
    @Test func aSegmentThatWasNeverFinishedIsMadeAnew() throws {
        let (disk, store, tree) = try prepare()
        let second = LogFile.segmentPath(DurabilityTests.path, 2)
        var expected: [UInt64] = []
        var image = disk.crashState().image([])
        while true {
            let key = UInt64(expected.count + 1)
            try store.write { try $0.put([1], for: key, in: tree) }
            let after = disk.crashState().image([])
            if let begun = after.files[second] {
                let block = SegmentHeader.blockBytes
                let zeros = [UInt8](repeating: 0, count: block)
                image.files[second] = ByteImage(begun.bytes(at: 0, count: block) + zeros)
                break
            }
            expected.append(key)
            image = after
        }
        disk.cutPower()
        withExtendedLifetime(store) {}
        for _ in 0..<3 {
            let disk = SimulatedDisk(image)
            let store = try Store(at: DurabilityTests.path, options: options(disk))
            for _ in 0..<9 {
                let key = UInt64(expected.count + 1)
                try store.write { try $0.put([1], for: key, in: tree) }
                expected.append(key)
            }
            image = disk.crashState().image([])
            disk.cutPower()
            withExtendedLifetime(store) {}
            #expect(try keys(image) == expected)
        }
    }

    @Test func aFullCommitNeedsOneWriteAndOneSync() throws {
        let (disk, store, tree) = try prepare()
        try store.write { try $0.put([1], for: 1, in: tree) }
        let before = disk.callCount
        for key in UInt64(2)...6 { try store.write { try $0.put([1], for: key, in: tree) } }
        #expect(Array(disk.callLog[before...]) == (0..<5).flatMap { _ in [CallKind.write, .sync] })
        try store.close()
    }

    @Test func anOrderedCommitSurvivesTheProcess() throws {
        let (disk, store, tree) = try prepare()
        for key in UInt64(1)...5 {
            try store.write(durability: .ordered) { try $0.put([1], for: key, in: tree) }
            #expect(try keys(disk.settledImage()) == Array(1...key))
        }
        // A power cut may take the newest, never an older one without them.
        for image in disk.crashState().images(CrashChoice()) {
            let found = try keys(image)
            #expect(found == Array([1, 2, 3, 4, 5].prefix(found.count)))
        }
        disk.cutPower()
        withExtendedLifetime(store) {}
    }

    /// Sectors hold what was written last, or garbage where the write broke off; others are as they were.
    @Test(arguments: [512, 4096]) func aWriteThatBreaksOffCostsNoDurableCommit(sectorBytes: Int) throws {
        let disk = SimulatedDisk(seed: 3, sectorBytes: sectorBytes)
        let store = try Store(at: DurabilityTests.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in UInt64(1)...3 {
            try store.write { try $0.put([1], for: key, in: tree) }
            for written in UInt64(1)...2 {
                try store.write(durability: .ordered) { try $0.put([2], for: 100 * written + key, in: tree) }
            }
            for image in disk.crashState().images(CrashChoice(exhaustiveBits: 4, sampled: 8, torn: 48)) {
                #expect(Set(1...key).isSubset(of: try keys(image)))
            }
        }
        disk.cutPower()
        withExtendedLifetime(store) {}
    }

    /// A durable commit may be written past the cache; those before it that are in the cache must not stay behind.
    @Test func aFullCommitMakesTheWrittenOnesBeforeItDurable() throws {
        let (disk, store, tree) = try prepare()
        var random = SplitMix(seed: 9)
        var last: UInt64 = 0
        for _ in 0..<12 {
            for _ in 0..<random.below(4) {
                last += 1
                let key = last
                let value = (0..<random.below(3000)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                try store.write(durability: random.chance(70) ? .ordered : .async) {
                    try $0.put(value, for: key, in: tree)
                }
            }
            last += 1
            let key = last
            try store.write { try $0.put([1], for: key, in: tree) }
            #expect(try keys(disk.crashState().image([])) == Array(1...last))
        }
        disk.cutPower()
        withExtendedLifetime(store) {}
    }

    /// From one log segment to the next without a sync of one's own: a crash leaves a beginning of the commits.
    @Test func writtenCommitsAreLostFromTheEndOnly() throws {
        let (disk, store, tree) = try prepare()
        var random = SplitMix(seed: 8)
        for key in UInt64(1)...60 {
            let value = (0..<3000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            try store.write(durability: .ordered) { try $0.put(value, for: key, in: tree) }
            for image in disk.crashState().images(
                CrashChoice(exhaustiveBits: 0, structuredUnits: 3, sampled: 2, torn: 2))
            {
                let found = try keys(image)
                #expect(found == Array((1...key).prefix(found.count)))
            }
        }
        #expect(store.pipeline.log.newestSegment > 2)
        disk.cutPower()
        withExtendedLifetime(store) {}
    }

    @Test func anAsyncCommitIsSeenAtOnceAndKeptInOrder() throws {
        let (disk, store, tree) = try prepare()
        for key in UInt64(1)...8 {
            try store.write(durability: key == 6 ? .full : .async) { try $0.put([1], for: key, in: tree) }
            #expect(try store.read { try $0.count(of: tree) } == key)
            for image in disk.crashState().images(CrashChoice()) {
                let found = try keys(image)
                #expect(found == Array((1...8).prefix(found.count)))
                #expect(found.count >= (key >= 6 ? 6 : 0))
            }
        }
        while try store.step() {}
        #expect(try keys(disk.crashState().image([])) == Array(1...8))
        disk.cutPower()
        withExtendedLifetime(store) {}
    }

    /// Nothing is written before half of the delay, and everything is durable when all of it is over.
    @Test func anAsyncCommitIsDurableWhenItsDelayIsOver() throws {
        let disk = SimulatedDisk(seed: 3)
        let clock = TestClock()
        var timed = options(disk)
        timed.clock = clock
        timed.durability = .async(maxDelay: .milliseconds(400))
        let store = try Store(at: DurabilityTests.path, options: timed)
        let tree = try store.write(durability: .full) { try $0.createTree(named: "t", keys: .integer) }
        func kept() throws -> [UInt64] { try keys(disk.crashState().image([])) }
        func put(_ key: UInt64, _ durability: Durability?) throws {
            try store.write(durability: durability) { try $0.put([1], for: key, in: tree) }
        }
        try put(1, nil)
        clock.advance(by: .milliseconds(150))
        try put(2, nil)
        _ = try store.step()
        #expect(try kept() == [])
        clock.advance(by: .milliseconds(60))
        _ = try store.step()
        #expect(try kept() == [1, 2])

        // A shorter delay of one transaction counts for those before it.
        try put(3, nil)
        try put(4, .async(maxDelay: .milliseconds(20)))
        _ = try store.step()
        #expect(try kept() == [1, 2])
        clock.advance(by: .milliseconds(10))
        _ = try store.step()
        #expect(try kept() == [1, 2, 3, 4])

        // A commit that was written along with others, and not synced, must still become durable.
        try put(5, nil)
        try put(6, .ordered)
        #expect(try kept() == [1, 2, 3, 4])
        clock.advance(by: .milliseconds(200))
        _ = try store.step()
        #expect(try kept() == [1, 2, 3, 4, 5, 6])

        // The delay without a name is a tenth of a second.
        try put(7, .async)
        clock.advance(by: .milliseconds(49))
        _ = try store.step()
        #expect(try kept().last == 6)
        clock.advance(by: .milliseconds(1))
        _ = try store.step()
        #expect(try kept().last == 7)
        disk.cutPower()
        withExtendedLifetime(store) {}
    }

    /// The store's own thread keeps the time.
    @Test func theFlusherKeepsTheDelay() throws {
        let disk = SimulatedDisk(seed: 3)
        var threaded = options(disk)
        threaded.background = .threads
        let store = try Store(at: DurabilityTests.path, options: threaded)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in UInt64(1)...3 {
            try store.write(durability: .async(maxDelay: .milliseconds(10))) { try $0.put([1], for: key, in: tree) }
            // Generous, because machines are busy; without the flusher it would be for ever.
            let limit = ContinuousClock.now.advanced(by: .seconds(120))
            while try keys(disk.crashState().image([])).last != key, ContinuousClock.now < limit { yieldThread() }
            #expect(try keys(disk.crashState().image([])) == Array(1...key))
        }
        try store.close()
    }

    @Test func closingMakesEverythingDurableAndLeavesNoLog() throws {
        let (disk, store, tree) = try prepare()
        for key in UInt64(1)...3 { try store.write(durability: .async) { try $0.put([1], for: key, in: tree) } }
        try store.close()
        #expect(disk.crashState().isSettled)
        #expect(Array(disk.settledImage().files.keys) == [DurabilityTests.path])
        #expect(try keys(disk.settledImage()) == [1, 2, 3])
    }

    @Test func aFailedSyncOfTheLogMakesTheStoreReadOnly() throws {
        for failure in [SyncFailure.keepsNewContent, .restoresOldContent] {
            let (disk, store, tree) = try prepare()
            try store.write { try $0.put([1], for: 1, in: tree) }
            disk.inject(.syncFails(failure), atCall: disk.callCount + 1)
            #expect(throws: StorageError.self) { try store.write { try $0.put([1], for: 2, in: tree) } }
            // Readers continue at the last durable state; writers get an error.
            #expect(try store.read { try $0.count(of: tree) } == 1)
            do throws(StorageError) {
                _ = try store.beginWrite()
                Issue.record("a read-only store began to write")
            } catch {
                guard case .readOnly(let reason) = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(!reason.isEmpty)
            }
            #expect(store.stats.readOnlyReason != nil)
            let found = try keys(disk.crashState().image([]))
            #expect(found == [1] || found == [1, 2])
            try? store.close()
        }
    }

    /// After a failed sync the content of the device is unknown: a later sync that succeeds proves nothing.
    @Test func aFailedSyncOfANewSegmentMakesTheStoreReadOnly() throws {
        /// Commits until the second segment is there; the calls of the commit that made it.
        func fill(_ disk: SimulatedDisk, _ store: Store, _ tree: Tree) throws -> Range<Int> {
            for key in UInt64(1)... {
                let before = disk.callCount
                try store.write { try $0.put([UInt8](repeating: 1, count: 1000), for: key, in: tree) }
                let names = disk.settledImage().files.keys
                if names.contains(LogFile.segmentPath(DurabilityTests.path, 2)) { return before..<disk.callCount }
            }
            return 0..<0
        }
        let (disk, store, tree) = try prepare()
        let calls = try fill(disk, store, tree)
        try store.close()
        var failed = 0
        for call in calls {
            for failure in [SyncFailure.keepsNewContent, .restoresOldContent] {
                let (disk, store, tree) = try prepare()
                disk.inject(.syncFails(failure), atCall: call)
                do { _ = try fill(disk, store, tree) } catch {
                    failed += 1
                    #expect(
                        store.stats.readOnlyReason != nil, "call \(call - calls.lowerBound) of \(calls.count): \(error)"
                    )
                }
                try? store.close()
            }
        }
        #expect(failed >= 6)
    }

    @Test func aSegmentUnfinishedOnAFullDiskIsNotLeftBehind() throws {
        let disk = SimulatedDisk(seed: 3)
        let clock = TestClock()
        var options = options(disk)
        options.clock = clock
        let store = try Store(at: DurabilityTests.path, options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        var key: UInt64 = 0
        while !store.pipeline.log.wantsSpare {
            key += 1
            try store.write { try $0.put(ValueShape(bytes: 3000).value(seed: key), for: key, in: tree) }
        }
        // The file is created, and there is no space for its content.
        disk.inject(.persistentError(28), atCall: disk.callCount + 2)
        #expect(throws: StorageError.self) { while try store.step() {} }
        disk.clearFaults()
        let spare = LogFile.sparePath(DurabilityTests.path)
        #expect(!disk.exists(spare))
        clock.advance(by: .seconds(3))
        while try store.step() {}
        #expect(disk.exists(spare))
        try store.close()
    }

    @Test func aFullDiskFailsTheTransactionAloneAndLater() throws {
        let (disk, store, tree) = try prepare()
        disk.inject(.persistentError(28), atCall: disk.callCount)
        var failed = 0
        var kept: [UInt64] = []
        for key in UInt64(1)...40 {
            do {
                try store.write { try $0.put(ValueShape(bytes: 3000).value(seed: key), for: key, in: tree) }
                kept.append(key)
            } catch let error as StorageError {
                failed += 1
                switch error {
                case .diskFull, .readOnly: break
                default: Issue.record("\(error)")
                }
            }
        }
        #expect(failed > 0)
        disk.clearFaults()
        #expect(try keys(disk.crashState().image([])) == kept)
        try? store.close()
    }

    @Test func theNextStoreGoesOnWithWriteIDsAndCommits() throws {
        let (disk, first, tree) = try prepare()
        try first.write { try $0.put([1], for: 1, in: tree) }
        let number = try first.read { $0.commitNumber }
        try first.close()
        let second = try Store(at: DurabilityTests.path, options: options(disk))
        #expect(try second.read { $0.commitNumber } == number)
        try second.write { try $0.put([1], for: 2, in: tree) }
        #expect(try second.read { $0.commitNumber } == number + 1)
        try second.close()
    }

    /// A small durable commit takes a whole block of the log: it is blocks that must stay bounded.
    @Test func theLogOfManySmallCommitsStaysBounded() throws {
        let files = MemoryFileSystem()
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.logSegmentBytes = 1 << 20
        options.checkpointBytes = 1 << 20
        let store = try Store(at: "small.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        var most: UInt64 = 0
        for row in 0..<1_500 {
            try store.write { try $0.put([1], for: UInt64(row), in: tree) }
            while try store.step() {}
            let logs = try files.list(directory: ".").filter { $0.contains("-wal-") }
            most = max(most, try logs.reduce(0) { try $0 + files.open($1, .readOnly).size() })
        }
        #expect(store.stats.checkpoints >= 4)
        #expect(most <= 5 << 20)
    }

    /// The memory of a closed store serves the next one: none of it may get into another file.
    @Test func aStoreWritesNothingOfTheOneBefore() throws {
        let secret = Array("never to be seen elsewhere ".utf8)
        func load(_ files: MemoryFileSystem, _ value: [UInt8], rows: Int) throws {
            var options = StoreOptions()
            options.fileSystem = files
            options.background = .manual
            options.cacheBytes = 3 << 20
            let store = try Store(at: "a.mako", options: options)
            try store.write { transaction in
                let numbers = try transaction.createTree(named: "numbers", keys: .integer)
                let texts = try transaction.createTree(named: "texts", keys: .bytes)
                for row in 0..<rows {
                    try transaction.put(value, for: UInt64(row * 7), in: numbers)
                    try transaction.put(value, for: Array("key \(row * 3)".utf8), in: texts)
                }
                try transaction.put([UInt8](repeating: 1, count: 9_001), for: UInt64(1), in: numbers)
            }
            try store.close()
        }
        func holdsSecret(_ files: MemoryFileSystem) throws -> Bool {
            let file = try files.open("a.mako", .readOnly)
            var bytes = [UInt8](repeating: 0, count: Int(try file.size()))
            _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            return bytes.indices.contains { bytes[$0...].starts(with: secret) }
        }
        let first = MemoryFileSystem()
        try load(first, secret, rows: 500)
        #expect(try holdsSecret(first))
        let second = MemoryFileSystem()
        try load(second, [1, 2, 3], rows: 500)
        #expect(try !holdsSecret(second))
    }

    /// A failed sync may lose anything that was written to that file before, and the next one does not report it: here
    /// pages of a checkpoint, and then the header that names a new log segment.
    @Test(arguments: SyncFailure.allCases) func aFailedSyncOfTheHeaderLosesNoPage(failure: SyncFailure) throws {
        let probe = SimulatedDisk(seed: 5)
        let (begin, _) = try growsASegmentWithinACheckpoint(probe, fault: nil)
        let name = try #require(probe.callLog[begin...].firstIndex(of: .syncDirectory))
        let sync = try #require(probe.callLog[name...].firstIndex(of: .sync))
        let disk = SimulatedDisk(seed: 5)
        let (_, last) = try growsASegmentWithinACheckpoint(disk, fault: (.syncFails(failure), sync))
        // Whatever the store still took, what it acknowledged is there after a crash.
        #expect(Set(1...last).isSubset(of: try keys(disk.crashState().image([]))))
    }

    /// Answers the call at which the checkpoint had written its pages, and the last key that was acknowledged.
    private func growsASegmentWithinACheckpoint(
        _ disk: SimulatedDisk, fault: (Fault, Int)?
    ) throws -> (begin: Int, last: UInt64) {
        let store = try Store(at: DurabilityTests.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in UInt64(1)...60 {
            try store.write(durability: .ordered) { try $0.put([UInt8](repeating: 1, count: 400), for: key, in: tree) }
        }
        try store.flush(.durable)
        let checkpointer = store.checkpointer
        _ = try checkpointer.lock.withLock { try checkpointer.begin(store) }
        for _ in 0..<2 { _ = try checkpointer.lock.withLock { try checkpointer.step(store) } }
        let begin = disk.callCount
        if let (fault, call) = fault { disk.inject(fault, atCall: call) }
        var last: UInt64 = 60
        do throws(StorageError) {
            while last < 90 {
                let value = [UInt8](repeating: 2, count: 400)
                let transaction = try store.beginWrite()
                try transaction.put(value, for: last + 1, in: tree)
                try transaction.commit()
                last += 1
            }
        } catch {}
        #expect((last < 90) == (fault != nil))
        try? checkpointer.lock.withLock { try checkpointer.runToEnd(store) }
        try? store.checkpoint()
        disk.cutPower()
        withExtendedLifetime(store) {}
        return (begin, last)
    }
}
