import Testing

@testable import MakoStorage

/// Invariants of the engine that show in what it does to its files; the numbers are those of `docs/architecture.md`.
struct InvariantTests {
    /// A mixed workload with checkpoints, a reopening, snapshots, spills and a transaction too large for the log.
    private static func run(on fileSystem: any FileSystem, seed: UInt64, cachePages: Int = 64) throws {
        let random = SeededEntropy(seed: seed)
        var options = StoreOptions()
        options.background = .manual
        options.fileSystem = fileSystem
        options.entropy = SeededEntropy(seed: seed &+ 1)
        options.logSegmentBytes = 1 << 16
        options.cacheBytes = cachePages * pageBytes
        var store = try Store(at: "i.mako", options: options)
        let (numbers, words) = try store.write { transaction in
            (
                try transaction.createTree(named: "numbers", keys: .integer),
                try transaction.createTree(named: "words", keys: .bytes)
            )
        }
        var held: [Snapshot] = []
        for round in 0..<60 {
            try store.write { transaction in
                for _ in 0..<(round % 20 == 7 ? 1500 : 40) {
                    let key = random.next() % 3000
                    let value = [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: Int(random.next() % 300))
                    try transaction.put(value, for: key, in: numbers)
                    try transaction.put(value, for: Array("word \(key % 700)".utf8), in: words)
                    if key % 3 == 0 { _ = try transaction.delete(random.next() % 3000, in: numbers) }
                }
                if round % 9 == 4 { try transaction.put([UInt8](repeating: 1, count: 30_000), for: 1, in: numbers) }
            }
            if round % 5 == 0 { held.append(try store.snapshot()) }
            if round % 11 == 0 { held.removeAll() }
            if round % 7 == 3 { try store.checkpoint() }
            if round % 25 == 24 {
                held = []
                try store.close()
                store = try Store(at: "i.mako", options: options)
            }
            _ = try store.step()
        }
        held = []
        #expect(try store.verify().findings == [])
        try store.close()
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func slotsAreWrittenOncePerAllocationAndWriteIDsAscend(seed: UInt64) throws {
        let recorder = RecordingFileSystem()
        try InvariantTests.run(on: recorder, seed: seed)
        var newest: [UInt64: UInt64] = [:]
        var pages = 0
        for case .page(let number, let type, let writeID) in recorder.events {
            guard let kind = PageType(rawValue: type), kind != .header, kind != .meta, kind != .bitmap else { continue }
            pages += 1
            #expect(writeID > newest[number] ?? 0, "page \(number) written again with write id \(writeID)")
            newest[number] = writeID
        }
        #expect(pages > 300)
    }

    @Test(arguments: [4, 5] as [UInt64])
    func metasAreWrittenAfterDataAndLogWereSynced(seed: UInt64) throws {
        let recorder = RecordingFileSystem()
        // With enough memory nothing is spilled: all writes belong to a checkpoint.
        try InvariantTests.run(on: recorder, seed: seed, cachePages: 8192)
        #expect(InvariantTests.metasOverDurableThings(recorder) > 10)
    }

    /// Commits that are written and not synced are in the log before their checkpoint refers to it.
    @Test func aCheckpointOfWrittenCommitsSyncsTheirLog() throws {
        let recorder = RecordingFileSystem()
        var options = StoreOptions()
        options.background = .manual
        options.fileSystem = recorder
        options.checkpointBytes = 1 << 14
        let store = try Store(at: "i.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for round in UInt64(0)..<6 {
            for key in 0..<UInt64(20) {
                try store.write(durability: .ordered) {
                    try $0.put([UInt8](repeating: UInt8(round), count: 500), for: key * 7 + round, in: tree)
                }
            }
            while try store.step() {}
        }
        #expect(InvariantTests.metasOverDurableThings(recorder) > 4)
        try store.close()
    }

    /// Counts the metas that were written, each after data and log were synced.
    private static func metasOverDurableThings(_ recorder: RecordingFileSystem) -> Int {
        var isDataSynced = true
        var isLogSynced = true
        var metas = 0
        for event in recorder.events {
            switch event {
            case .page(_, PageType.meta.rawValue, _):
                metas += 1
                #expect(isDataSynced, "meta written before its data was synced")
                #expect(isLogSynced, "meta written before its log was synced")
            case .page(_, PageType.header.rawValue, _): break
            case .page: isDataSynced = false
            case .dataSync: isDataSynced = true
            case .log: isLogSynced = false
            case .logSync: isLogSynced = true
            }
        }
        return metas
    }

    #if os(Linux) || os(macOS)
        /// In a process of its own: frames are reused once every reader of the process has moved on, those of other
        /// tests too, and evictions depend on that.
        @Test func sameSeedSameBytes() async {
            await #expect(processExitsWith: .success) {
                let first = RecordingFileSystem()
                let second = RecordingFileSystem()
                try InvariantTests.run(on: first, seed: 6)
                try InvariantTests.run(on: second, seed: 6)
                #expect(first.digest == second.digest)
                #expect(first.events.count == second.events.count)
                let other = RecordingFileSystem()
                try InvariantTests.run(on: other, seed: 7)
                #expect(first.digest != other.digest)
            }
        }
    #endif

    @Test func pageThatDiesBetweenTwoReadersIsUsedAgain() throws {
        let space = SpaceMap()
        let page = space.allocate()
        let dead = PackedList([SpaceMap.DeadPage(page: page, bornAt: 10)])
        // Born at 10, dead at 20; readers at 5 and 30 do not see it, one at 15 does.
        space.bury(dead, freedAt: 20, points: [5, 30])
        #expect(space.allocate() == page)
        space.bury(dead, freedAt: 20, points: [5, 15, 30])
        #expect(space.waitingCount == 1)
        #expect(space.allocate() != page)
        space.release(points: [5, 30])
        #expect(space.waitingCount == 0)
        #expect(space.allocate() == page)
        // The newest of several keeps it as well.
        space.bury(dead, freedAt: 20, points: [5, 15])
        #expect(space.waitingCount == 1)
        space.release(points: [5])
        #expect(space.allocate() == page)
        // The boundaries: a snapshot of the commit that frees it does not see the page, nor one taken when it was born.
        space.bury(dead, freedAt: 20, points: [10, 20])
        #expect(space.allocate() == page)
    }

    /// A file whose content does not grow does not grow, whatever comes and goes.
    @Test(arguments: ["overwrites", "snapshots", "rollbacks", "savepoints"])
    func spaceIsUsedAgain(kind: String) throws {
        var options = StoreOptions()
        options.background = .manual
        options.fileSystem = MemoryFileSystem()
        let store = try Store(at: "i.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        var extents: [UInt64] = []
        for round in 0..<90 {
            let held = kind == "snapshots" ? try store.snapshot() : nil
            let transaction = try store.beginWrite()
            let savepoint = transaction.savepoint()
            for key in 0..<UInt64(60) {
                let value = [UInt8](repeating: UInt8(round), count: key == 7 ? 12_000 : 300)
                try transaction.put(value, for: key, in: tree)
            }
            if kind == "savepoints" { try transaction.rollback(to: savepoint) }
            if kind == "rollbacks" && round % 10 != 0 { transaction.rollback() } else { try transaction.commit() }
            if round % 10 == 9 {
                held?.close()
                try store.checkpoint()
                // Page numbers reserved for the next transaction are not in use.
                store.returnIdleNumbers()
                extents.append(
                    store.versions.lock.withLock {
                        store.versions.space.settle()
                        return store.versions.space.extent
                    })
            }
            withExtendedLifetime(held) {}
        }
        #expect(extents[8] <= extents[2] + 8, "\(extents)")
        #expect(try store.verify().isClean)
        try store.close()
    }

    @Test func framesAreReusedOnlyAfterTheirReadersLeft() {
        let entry = Epochs.enter()
        #expect(entry != nil)
        #expect(Epochs.enter() == nil)
        let epoch = Epochs.retire()
        #expect(!Epochs.hasPassed(epoch))
        Epochs.leave(entry)
        while !Epochs.hasPassed(epoch) { yieldThread() }
        #expect(!Epochs.isInside)
    }

    @Test func writeIDsContinueAboveTheHighWaterMarkAfterReopening() throws {
        var options = StoreOptions()
        options.background = .manual
        options.fileSystem = MemoryFileSystem()
        var highest: UInt64 = 0
        for _ in 0..<3 {
            let store = try Store(at: "s.mako", options: options)
            #expect(store.nextWriteID >= highest)
            try store.write { _ = try $0.createTree(named: "t\(highest)", keys: .integer) }
            highest = store.nextWriteID
            #expect(highest <= store.dataFile.header.highWaterMark)
            try store.close()
        }
    }
}

/// Passes everything on to memory, and remembers what was written to which kind of page, and the syncs.
private final class RecordingFileSystem: FileSystem, @unchecked Sendable {
    enum Event: Equatable {
        case page(UInt64, UInt8, UInt64)
        case dataSync
        case log
        case logSync
    }

    private let inner = MemoryFileSystem()
    private let lock = Lock()
    private var recorded: [Event] = []
    private var running: UInt64 = 0

    var events: [Event] { lock.withLock { recorded } }
    /// A checksum over all bytes written, with their places.
    var digest: UInt64 { lock.withLock { running } }

    func note(_ event: Event) { lock.withLock { recorded.append(event) } }
    func digest(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) {
        guard let base = bytes.baseAddress else { return }
        lock.withLock { running = Checksum.hash(base, count: bytes.count, seed: running ^ offset) }
    }

    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        RecordingFile(try inner.open(path, mode), self)
    }
    func remove(_ path: String) throws(FileError) { try inner.remove(path) }
    func rename(_ from: String, to: String) throws(FileError) { try inner.rename(from, to: to) }
    func list(directory: String) throws(FileError) -> [String] { try inner.list(directory: directory) }
    func syncDirectory(_ path: String) throws(FileError) { try inner.syncDirectory(path) }
    func isDirectory(_ path: String) -> Bool { inner.isDirectory(path) }
    func exists(_ path: String) -> Bool { inner.exists(path) }
}

private final class RecordingFile: File, @unchecked Sendable {
    private let inner: any File
    private let owner: RecordingFileSystem
    private var isLog: Bool { inner.path.contains("-wal-") }
    private var isNew: Bool { inner.path.contains("-new-") }

    init(_ inner: any File, _ owner: RecordingFileSystem) {
        self.inner = inner
        self.owner = owner
    }

    var path: String { inner.path }
    func size() throws(FileError) -> UInt64 { try inner.size() }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        try inner.read(into: buffer, at: offset)
    }
    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        owner.digest(buffer, at: offset)
        if isLog {
            owner.note(.log)
        } else if !isNew {
            for start in stride(from: 0, to: buffer.count, by: pageBytes) {
                let identity = buffer.loadUnaligned(fromByteOffset: start + Page.identityOffset, as: UInt64.self)
                let writeID = buffer.loadUnaligned(fromByteOffset: start + Page.writeIDOffset, as: UInt64.self)
                owner.note(
                    .page(
                        (offset + UInt64(start)) / UInt64(pageBytes), UInt8(truncatingIfNeeded: identity >> 40), writeID
                    )
                )
            }
        }
        try inner.write(buffer, at: offset)
    }
    func resize(to size: UInt64) throws(FileError) { try inner.resize(to: size) }
    func sync() throws(FileError) {
        owner.note(isLog ? .logSync : .dataSync)
        try inner.sync()
    }
    func lock(exclusive: Bool) throws(FileError) -> Bool { try inner.lock(exclusive: exclusive) }
    func close() { inner.close() }
}
