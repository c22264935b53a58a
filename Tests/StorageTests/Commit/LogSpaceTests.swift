import MakoTestSupport
import Testing

@testable import MakoStorage

/// The space of log segments: allocated whole, written as it is needed.
@Suite struct LogSpaceTests {
    private static func options(_ files: any FileSystem, segmentBytes: Int? = nil) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        if let segmentBytes { options.logSegmentBytes = segmentBytes }
        return options
    }

    /// One commit does not write a segment, which has its full size all the same.
    @Test func aShortSessionWritesLittle() throws {
        let files = CountingFiles()
        let store = try Store(at: "d/s.mako", options: Self.options(files))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in 0..<100 as Range<UInt64> { try store.write { try $0.put([1], for: key, in: tree) } }
        let size = try files.open("d/s.mako-wal-1", .readOnly).size()
        #expect(size == 16 << 20)
        #expect(files.logBytes > 100 * 4096 && files.logBytes < 2 << 20, "\(files.logBytes) bytes")
        try store.close()
    }

    /// The log of much content is about as long as the content.
    @Test func muchContentIsWrittenOnce() throws {
        let files = CountingFiles()
        let store = try Store(at: "d/s.mako", options: Self.options(files))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for commit in 0..<12 as Range<UInt64> {
            try store.write { tx in
                for key in 0..<100 as Range<UInt64> {
                    let key = commit * 100 + key
                    try tx.put(ValueShape(bytes: 9000).value(seed: key), for: key, in: tree)
                }
            }
        }
        let content = 12 * 100 * 9000
        #expect(files.logBytes > content && files.logBytes < content * 13 / 10 + (1 << 20), "\(files.logBytes) bytes")
        try store.close()
    }

    /// Space that a file system promised and does not have is no matter for zeros that are written ahead.
    @Test func zerosAheadNeedNoSpace() throws {
        let files = FilesWithoutZeros()
        let options = Self.options(files)
        let store = try Store(at: "d/s.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in 0..<100 as Range<UInt64> { try store.write { try $0.put([1], for: key, in: tree) } }
        #expect(files.refusals.withLock { $0 } > 0)
        #expect(try store.verify().isClean)
        try store.close()
        #expect(try Store(at: "d/s.mako", options: options).read { try $0.count(of: tree) } == 100)
    }

    /// A store with some segments of log, and the keys that it has.
    private static func filled(_ files: any FileSystem, commits: Range<UInt64> = 0..<100) throws -> (Store, Tree) {
        let store = try Store(at: "d/s.mako", options: options(files, segmentBytes: 32 << 10))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try fill(store, tree, commits)
        return (store, tree)
    }

    private static func fill(_ store: Store, _ tree: Tree, _ commits: Range<UInt64>) throws {
        for key in commits {
            try store.write { try $0.put(ValueShape(bytes: 900).value(seed: key), for: key, in: tree) }
        }
    }

    private static func logs(_ files: any FileSystem) throws -> [String] {
        try files.list(directory: "d").filter { $0.hasPrefix("s.mako-wal-") }
    }

    /// Another program has removed the files of the log: the checkpoint at the end needs none of them.
    @Test(arguments: ["close", "suspend"]) func aLogFileThatIsGoneIsNotMissedAtTheEnd(how: String) throws {
        let disk = SimulatedDisk(seed: 1)
        let (store, tree) = try Self.filled(disk)
        for name in try Self.logs(disk) { try disk.remove("d/" + name) }
        if how == "close" { try store.close() } else { try store.suspend() }
        #expect(try Self.logs(disk).isEmpty)
        let again = try Store(at: "d/s.mako", options: Self.options(disk))
        #expect(try again.read { try $0.count(of: tree) } == 100)
        #expect(try again.verify().isClean)
        try again.close()
    }

    /// A file that was kept for the next segment and is gone is made anew.
    @Test func aSpareFileThatIsGoneIsMadeAgain() throws {
        let disk = SimulatedDisk(seed: 1)
        let (store, tree) = try Self.filled(disk)
        // Segments before the older of two checkpoints are needed no more.
        try store.checkpoint()
        try Self.fill(store, tree, 100..<101)
        try store.checkpoint()
        let spare = store.pipeline.lock.withLock { store.pipeline.log.spare }
        #expect(!spare.isEmpty)
        for path in spare { try disk.remove(path) }
        try Self.fill(store, tree, 100..<200)
        try store.close()
        let again = try Store(at: "d/s.mako", options: Self.options(disk))
        #expect(try again.read { try $0.count(of: tree) } == 200)
        try again.close()
        #expect(try Self.logs(disk).isEmpty)
    }

    /// A file that has the name of the next segment already, when it cannot be opened, stays a spare one.
    @Test func noSpareFileIsLostWhenASegmentCannotBeOpened() throws {
        let disk = SimulatedDisk(seed: 1)
        let files = MeddledDisk(disk)
        let (store, tree) = try Self.filled(files)
        // Segments before the older of two checkpoints are needed no more.
        try store.checkpoint()
        try Self.fill(store, tree, 100..<101)
        try store.checkpoint()
        #expect(!store.pipeline.lock.withLock { store.pipeline.log.spare }.isEmpty)
        files.meddle { (call, path, _) throws(FileError) in
            guard call == .open, path.hasPrefix("d/s.mako-wal-") else { return }
            throw FileError(operation: "open", path: path, code: 24)
        }
        var refused = 0
        for key in 100..<200 as Range<UInt64> {
            do { try Self.fill(store, tree, key..<key + 1) } catch StorageError.io { refused += 1 }
        }
        #expect(refused > 0)
        files.meddle(nil)
        try Self.fill(store, tree, 100..<200)
        try store.close()
        #expect(try Self.logs(disk).isEmpty)
        let again = try Store(at: "d/s.mako", options: Self.options(disk))
        #expect(try again.read { try $0.count(of: tree) } == 200)
        try again.close()
    }

    /// A file with a number that no segment gets, or the highest one, is not where the log goes on.
    @Test(arguments: ["1073741823", "1073741824", "99999999999999999999"])
    func filesOfOthersGiveNoNumbers(number: String) throws {
        let disk = SimulatedDisk(seed: 1)
        var options = Self.options(disk, segmentBytes: 32 << 10)
        try Store(at: "d/s.mako", options: options).close()
        try disk.open("d/s.mako-wal-\(number)", .create).write([1, 2, 3], at: 0)
        let store = try Store(at: "d/s.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in 0..<100 as Range<UInt64> {
            try store.write { try $0.put(ValueShape(bytes: 900).value(seed: key), for: key, in: tree) }
        }
        #expect(store.pipeline.log.newestSegment < 100)
        options.fileSystem = SimulatedDisk(disk.settledImage())
        let again = try Store(at: "d/s.mako", options: options)
        #expect(try again.read { try $0.count(of: tree) } == 100)
    }

    /// A frame ends where its segment ends, so that the position behind it is the next one's first byte. A checkpoint there
    /// needs the segment before.
    @Test func aSegmentThatIsFullToItsEndIsKept() throws {
        let disk = SimulatedDisk(seed: 1)
        var options = Self.options(disk, segmentBytes: 32 << 10)
        let store = try Store(at: "d/s.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let log = store.pipeline.log
        var random = SplitMix(seed: 1)
        func start() -> UInt64 { (log.position.lsn + 4095) / 4096 * 4096 }
        func put(_ bytes: Int) throws -> UInt64 {
            let begin = start()
            let value = (0..<bytes).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            try store.write { try $0.put(value, for: 1, in: tree) }
            return log.position.lsn - begin
        }
        _ = try put(3000)
        // What a frame takes beside a value of this length.
        let overhead = try Int(put(3000)) - 3000
        for _ in 0..<40 where log.position.lsn % (32 << 10) != 0 {
            let room = (log.newestSegment + 1) << 15 - start()
            _ = try put(room == 4096 ? Int(room) - overhead : 3000)
        }
        try #require(log.position.lsn % (32 << 10) == 0)
        let full = log.newestSegment
        try store.checkpoint()
        try store.pipeline.lock.withLock { () throws in try log.addSegment() }
        try store.checkpointer.lock.withLock { () throws(StorageError) in
            for _ in 0..<3 {
                _ = try store.checkpointer.begin(store, anyway: true)
                try store.checkpointer.runToEnd(store)
            }
        }
        #expect(log.segments.contains { $0.number == full })
        #expect(disk.exists("d/s.mako-wal-\(full)"))
        options.fileSystem = SimulatedDisk(disk.settledImage())
        let again = try Store(at: "d/s.mako", options: options)
        #expect(try again.verify().isClean)
    }

    /// A segment that a power failure left short before the header named it lies there until its file is needed. When later
    /// ones are named, it is still none of the log.
    @Test func aShortSegmentOfBeforeIsNoDamage() throws {
        let disk = SimulatedDisk(seed: 1)
        var options = Self.options(disk, segmentBytes: 32 << 10)
        let store = try Store(at: "d/s.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        func fill(_ count: UInt64) throws {
            for _ in 0..<count {
                let key = store.pipeline.log.position.lsn
                try store.write { try $0.put(ValueShape(bytes: 900).value(seed: key), for: key, in: tree) }
            }
        }
        try fill(5)
        let first = try #require(disk.contents(of: "d/s.mako-wal-1"))
        try fill(50)
        try store.checkpoint()
        try fill(50)
        let rows = try store.read { try $0.count(of: tree) }
        let image = SimulatedDisk(disk.settledImage())
        let short = try image.open("d/s.mako-wal-1", .create)
        try short.resize(to: 0)
        try short.write(Array(first.prefix(5000)), at: 0)
        options.fileSystem = image
        let again = try Store(at: "d/s.mako", options: options)
        #expect(try again.read { try $0.count(of: tree) } == rows)
    }

    /// A group that was the last one of its segment when it was refused is not collected again, because the next
    /// segment has begun.
    @Test func theLastGroupOfASegmentIsNotPutBack() throws {
        let store = try Store(at: "d/s.mako", options: Self.options(CountingFiles()))
        _ = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let isPutBack = try store.pipeline.lock.withLock { () throws in
            let log = store.pipeline.log
            _ = log.appendBarrier(commit: 2)
            let group = try #require(log.takeGroup(.durable))
            try log.addSegment()
            return log.putBack(group)
        }
        #expect(!isPutBack)
    }
}

/// Files in memory that count the bytes written to the log.
private final class CountingFiles: PassingFileSystem, @unchecked Sendable {
    let inner: any FileSystem = MemoryFileSystem()
    private let lock = Lock()
    private var count = 0

    var logBytes: Int { lock.withLock { count } }

    fileprivate func note(_ bytes: Int, _ path: String) {
        if path.contains("-wal-") { lock.withLock { count += bytes } }
    }

    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        CountingFile(files: self, inner: try inner.open(path, mode))
    }
}

private final class CountingFile: PassingFile {
    let files: CountingFiles
    let inner: any File

    init(files: CountingFiles, inner: any File) { (self.files, self.inner) = (files, inner) }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        files.note(buffer.count, path)
        try inner.write(buffer, at: offset)
    }

    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        files.note(buffer.count, path)
        try inner.writeDurably(buffer, at: offset)
    }
}

/// Files of a device without room for large writes of zeros.
private final class FilesWithoutZeros: PassingFileSystem, Sendable {
    let inner: any FileSystem = SimulatedDisk(seed: 1)
    let refusals = Guarded(0)

    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any MakoStorage.File {
        ZerolessFile(inner: try inner.open(path, mode), refusals: refusals)
    }
}

private final class ZerolessFile: PassingFile {
    let inner: any MakoStorage.File
    private let refusals: Guarded<Int>

    init(inner: any MakoStorage.File, refusals: Guarded<Int>) { (self.inner, self.refusals) = (inner, refusals) }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        if buffer.count > 4096, buffer.allSatisfy({ $0 == 0 }) {
            refusals.withLock { $0 += 1 }
            throw FileError(operation: "write", path: path, code: 28)
        }
        try inner.write(buffer, at: offset)
    }
}
