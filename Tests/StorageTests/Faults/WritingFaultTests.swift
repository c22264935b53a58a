import MakoTestSupport
import Testing

@testable import MakoStorage

/// Writing beside what fails: checkpoints that come to nothing, syncs that fail on a thread of their own, a memory that is full.
@Suite struct WritingFaultTests {
    private static let path = "d/s.mako"

    private func options(_ files: any FileSystem, log: Int = 1 << 20) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.logSegmentBytes = log
        options.cacheBytes = 1
        options.entropy = SeededEntropy(seed: 7)
        return options
    }

    private func put(_ store: Store, _ keys: Range<UInt64>, bytes: Int = 300) throws {
        try store.write { transaction in
            let tree = try transaction.view.tree(named: "t") ?? transaction.createTree(named: "t", keys: .integer)
            for key in keys { try transaction.put(ValueShape(bytes: bytes).value(seed: key), for: key, in: tree) }
        }
    }

    private func content(_ store: Store) throws -> ModelStore { try store.read { try ModelStore(reading: $0) } }

    private static func failure(_ path: String, _ operation: String = "sync") -> FileError {
        FileError(operation: operation, path: path, code: 5)
    }

    // MARK: Memory

    /// A writer that is faster than any checkpoint writes pages itself, whether one is running or not; on a disk that fails it goes on.
    @Test(arguments: [true, false]) func aFullMemoryIsRelieved(fails: Bool) throws {
        let disk = MeddledDisk(SimulatedDisk())
        let store = try Store(at: Self.path, options: options(disk, log: 8 << 20))
        var refused = 0
        for start in stride(from: UInt64(0), to: 3000, by: 12) {
            // Only the writer itself starts writing pages.
            let isAhead = store.frames.dirtyFrames > store.frames.budgetFrames / 2
            if fails && isAhead {
                disk.meddle { (call, path, _) throws(FileError) in
                    guard call == .write, path == Self.path else { return }
                    throw Self.failure(path, "write")
                }
                refused += 1
                let transaction = try store.beginWrite()
                disk.meddle(nil)
                transaction.rollback()
            }
            try put(store, start..<start + 12)
        }
        #expect(store.frames.dirtyFrames <= store.frames.budgetFrames)
        #expect(!fails || refused > 0)
        #expect(try content(store).trees["t"]?.count == 3000)
        #expect(try store.verify().isClean)
        try store.close()
    }

    // MARK: Checkpoints

    /// One of two checkpoints is damaged, and the next one fails: there is still the one that was good.
    @Test func aCheckpointThatFailsBesideADamagedOneLosesNothing() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        for key in 0..<5 as Range<UInt64> {
            try put(store, key..<key + 1)
            try store.checkpoint()
        }
        let expected = try content(store)
        try store.close()
        for slot in [2, 4] {
            var image = disk.settledImage()
            for page in [slot, slot + 1] {
                image.files[Self.path]?.replace(at: UInt64(page * pageBytes + 60), with: [0xa5, 0x5a, 0xa5])
            }
            let damaged = SimulatedDisk(image)
            let again = try Store(at: Self.path, options: options(damaged))
            #expect(again.recovery.findings.isEmpty == false)
            #expect(try content(again) == expected)
            try put(again, 100..<140)
            damaged.inject(.noSpace, atCall: damaged.callCount + 2)
            do throws(StorageError) { try again.checkpoint() } catch {}
            damaged.clearFaults()
            try put(again, 200..<240)
            try again.checkpoint()
            #expect(try again.verify().isClean)
            #expect(try content(again).trees["t"]?.count == 85)
            try again.close()
        }
    }

    /// The pins of other processes cannot be read: pins that were known count as still set.
    @Test func pinsOfUnknownReadersAreKept() throws {
        let disk = SimulatedDisk()
        let files = MeddledDisk(disk)
        let writer = try Store(at: Self.path, options: options(files))
        try put(writer, 0..<300)
        try writer.checkpoint()
        var reading = options(disk)
        reading.readOnly = true
        let reader = try Store(at: Self.path, options: reading)
        let snapshot = try reader.snapshot()
        let expected = try ModelStore(reading: snapshot)
        try put(writer, 0..<1)
        try writer.checkpoint()
        nonisolated(unsafe) var requests = 0
        files.meddle { (call, path, _) throws(FileError) in
            guard call == .pins else { return }
            requests += 1
            throw Self.failure(path, "pins")
        }
        for round in 1...8 as ClosedRange<UInt64> {
            try put(writer, 0..<300, bytes: 300 + Int(round))
            try writer.checkpoint()
        }
        #expect(requests > 4)
        #expect(try ModelStore(reading: snapshot) == expected)
        files.meddle(nil)
        #expect(try writer.verify().isClean)
        snapshot.close()
        try reader.close()
    }

    /// With threads the data file is synced on a thread of its own: its failure is reported all the same, and the store
    /// becomes read-only.
    @Test func aSyncThatFailsOnItsThreadMakesTheStoreReadOnly() throws {
        let files = MeddledDisk(MemoryFileSystem())
        var options = options(files)
        options.background = .threads
        let store = try Store(at: Self.path, options: options)
        try put(store, 0..<20)
        files.meddle { (call, path, _) throws(FileError) in
            if call == .sync && path == Self.path { throw Self.failure(path) }
        }
        let error = #expect(throws: StorageError.self) { try store.checkpoint() }
        if case .io? = error {} else { Issue.record("\(String(describing: error))") }
        files.meddle(nil)
        let refusal = #expect(throws: StorageError.self) { try self.put(store, 20..<21) }
        if case .readOnly? = refusal {} else { Issue.record("\(String(describing: refusal))") }
        #expect(try content(store).trees["t"]?.count == 20)
        try store.close()
        let again = try Store(at: Self.path, options: self.options(files))
        #expect(try content(again).trees["t"]?.count == 20)
    }

    /// The store reports the first failure as the reason.
    @Test func theFirstFailureIsTheReason() throws {
        let store = try Store(at: Self.path, options: options(SimulatedDisk()))
        try put(store, 0..<2)
        store.pipeline.fail("the first", Self.failure("a"))
        store.pipeline.fail("the second", Self.failure("b"))
        #expect(store.stats.readOnlyReason == "the first")
        #expect(throws: StorageError.readOnly(reason: "the first")) { try self.put(store, 2..<3) }
        try store.close()
    }

    /// A read-only store is closed while a commit is still being written: its file stays open until then.
    @Test func closingWaitsForTheLastWrite() throws {
        let disk = GatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        try put(store, 0..<2)
        disk.close()
        let ends = Guarded<[String]>([])
        let commit = try startThread(name: "commit") {
            do { try self.put(store, 2..<3) } catch is StorageError {} catch { Issue.record(error) }
            ends.withLock { $0.append("commit") }
        }
        while disk.waiting == 0 { Self.rest() }
        store.pipeline.fail("a test says so", Self.failure("a"))
        let close = try startThread(name: "close") {
            do { try store.close() } catch { Issue.record(error) }
            ends.withLock { $0.append("close") }
        }
        for _ in 0..<20 { Self.rest() }
        let isEarly = ends.withLock { $0.contains("close") }
        #expect(!isEarly)
        disk.open()
        commit.join()
        close.join()
        let again = try Store(at: Self.path, options: options(disk))
        let count = try #require(try content(again).trees["t"]?.count)
        #expect(count == 2 || count == 3)
    }

    private static func rest() {
        let (lock, change) = (Lock(), ConditionVariable())
        lock.withLock { _ = change.wait(lock, timeout: .milliseconds(2)) }
    }

    // MARK: Delays

    /// A commit with a shorter delay is due later all the same when it comes late enough.
    @Test func aLaterDelayChangesNothing() throws {
        let (disk, clock) = (SimulatedDisk(), TestClock())
        var options = options(disk)
        options.clock = clock
        let store = try Store(at: Self.path, options: options)
        try put(store, 0..<1)
        let tree = try #require(try store.read { $0.tree(named: "t") })
        func kept() throws -> Int? {
            let left = SimulatedDisk(disk.crashState().image([]))
            return try content(Store(at: Self.path, options: self.options(left))).trees["t"]?.count
        }
        try store.write(durability: .async(maxDelay: .milliseconds(1000))) { try $0.put([1], for: 1, in: tree) }
        clock.advance(by: .milliseconds(400))
        try store.write(durability: .async(maxDelay: .milliseconds(900))) { try $0.put([1], for: 2, in: tree) }
        clock.advance(by: .milliseconds(99))
        _ = try store.step()
        #expect(try kept() == 1)
        clock.advance(by: .milliseconds(1))
        _ = try store.step()
        #expect(try kept() == 3)
        disk.cutPower()
        withExtendedLifetime(store) {}
    }

    // MARK: A full disk

    /// On a full disk a transaction begins with the checkpoints that free space; when these fail, it fails itself, and
    /// later there is space.
    @Test func spaceThatCannotBeReservedIsReservedLater() throws {
        let disk = SimulatedDisk()
        disk.capacity = 3 << 20
        let files = MeddledDisk(disk)
        var options = options(files, log: 32 << 10)
        options.cacheBytes = 1 << 20
        let store = try Store(at: Self.path, options: options)
        var count: UInt64 = 0
        do {
            while true {
                try put(store, count..<count + 20)
                count += 20
            }
        } catch StorageError.diskFull {}
        let tree = try #require(try store.read { $0.tree(named: "t") })
        for start in stride(from: UInt64(0), to: count / 2, by: 40) {
            try store.write { _ = try $0.deleteRange(start...min(start + 40, count / 2) - 1, in: tree) }
        }
        var failures = 0
        for round in 0..<12 as Range<UInt64> {
            files.meddle { (call, path, _) throws(FileError) in
                guard round < 6, call == .write, path == Self.path else { return }
                failures += 1
                throw FileError(operation: "write", path: path, code: 28)
            }
            do { try put(store, count..<count + 5) } catch StorageError.diskFull { continue }
            count += 5
        }
        files.meddle(nil)
        try put(store, count..<count + 5)
        #expect(failures > 0)
        #expect(try store.verify().isClean)
        try store.close()
    }

    // MARK: Threads

    /// Threads that had nothing to do for a while end, and come again when there is work.
    @Test func threadsComeAgain() async throws {
        let threads = WorkerThreads(limit: 2)
        for _ in 0..<2 {
            let done = Guarded(0)
            for _ in 0..<3 { _ = try threads.run { done.withLock { $0 += 1 } } }
            while done.withLock({ $0 }) < 3 { try await Task.sleep(for: .milliseconds(1)) }
            try await Task.sleep(for: .milliseconds(5600))
        }
        #expect(threads.waiting == 0)
        threads.stop()
    }

    // MARK: The log

    /// A transaction whose new names alone are more than the log takes.
    @Test func moreNamesThanTheLogTakesAreKept() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk, log: 1))
        try put(store, 0..<3)
        let last = String(repeating: "n", count: 240) + "last"
        try store.write { transaction in
            let tree = try #require(transaction.view.tree(named: "t"))
            for number in 0..<400 {
                try transaction.renameTree(tree, to: String(repeating: "n", count: 240) + "\(number)")
            }
            try transaction.renameTree(tree, to: last)
        }
        let left = SimulatedDisk(disk.crashState().image([]))
        disk.cutPower()
        withExtendedLifetime(store) {}
        #expect(try content(Store(at: Self.path, options: options(left))).trees.keys.sorted() == [last])
    }

    /// The data file was restored from an older copy; the log is newer, and builds on a commit that only the newer file
    /// had.
    @Test func anOlderCopyIsNotTakenForWhatFollowedALargeCommit() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        try put(store, 0..<3)
        try store.checkpoint()
        try put(store, 3..<4)
        let older = try #require(disk.contents(of: Self.path))
        try put(store, 10..<2000)
        try put(store, 3000..<3003)
        let image = disk.settledImage()
        disk.cutPower()
        withExtendedLifetime(store) {}
        #expect(try content(Store(at: Self.path, options: options(SimulatedDisk(image)))).trees["t"]?.count == 1997)
        let mixed = SimulatedDisk(image)
        mixed.setContents(of: Self.path, to: older)
        let error = #expect(throws: StorageError.self) { _ = try Store(at: Self.path, options: self.options(mixed)) }
        guard case .logDamaged? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
