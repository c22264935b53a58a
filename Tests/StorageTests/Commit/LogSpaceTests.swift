import MakoTestSupport
import Testing

@testable import MakoStorage

/// The space of log segments: allocated whole, written as it is needed.
@Suite struct LogSpaceTests {
    private static func options(_ files: CountingFiles) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
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
