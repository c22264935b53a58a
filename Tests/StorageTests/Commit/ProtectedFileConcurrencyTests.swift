import Foundation
import MakoStorage
import MakoTestSupport
import Synchronization
import Testing

/// Committers of several threads while writes are refused again and again.
@Suite struct ProtectedFileConcurrencyTests {
    /// Several times, because it takes chance that a committer begins to wait for its flush late.
    @Test(arguments: [Durability.full, .ordered], 0..<8)
    func whatWasAcknowledgedIsThereAndWhatFailedIsNot(durability: Durability, round: Int) throws {
        let files = RefusingFiles()
        var options = StoreOptions()
        options.fileSystem = files
        options.durability = durability
        options.checkpointBytes = 256 << 10
        let store = try Store(at: "d/b", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let lock = Lock()
        nonisolated(unsafe) var acknowledged: Set<UInt64> = []
        nonisolated(unsafe) var failed: Set<UInt64> = []
        nonisolated(unsafe) var unexpected: [String] = []
        files.isRefusing.store(true, ordering: .relaxed)
        let threads = try (0..<4 as Range<UInt64>).map { thread in
            try startThread(name: "committer") {
                for number in 0..<300 as Range<UInt64> {
                    let key = thread << 32 | number
                    do {
                        try store.write { try $0.put([UInt8](repeating: 1, count: Int(number)), for: key, in: tree) }
                        lock.withLock { _ = acknowledged.insert(key) }
                    } catch StorageError.protected {
                        lock.withLock { _ = failed.insert(key) }
                    } catch { lock.withLock { unexpected.append("\(error)") } }
                }
            }
        }
        for thread in threads { thread.join() }
        files.isRefusing.store(false, ordering: .relaxed)
        #expect(unexpected.isEmpty, "\(unexpected.prefix(3))")
        #expect(store.stats.readOnlyReason == nil && acknowledged.count + failed.count == 1200)
        try store.write { try $0.put([1], for: .max, in: tree) }
        let report = try store.verify()
        #expect(report.isClean)
        try store.close()
        let again = try Store(at: "d/b", options: options)
        let view = try again.snapshot()
        var (lost, returned) = (0, 0)
        for key in acknowledged where try view.get(key, in: tree) == nil { lost += 1 }
        for key in failed where try view.get(key, in: tree) != nil { returned += 1 }
        #expect(lost == 0 && returned == 0, "\(lost) are lost, \(returned) have come back")
        #expect(!failed.isEmpty)
        view.close()
        try again.close()
    }
}

/// Files in memory that refuse each third write to the log while a switch is on.
private final class RefusingFiles: PassingFileSystem, Sendable {
    let inner: any FileSystem = MemoryFileSystem()
    let isRefusing = Atomic(false)
    let writes = Atomic(0)

    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        RefusingFile(files: self, inner: try inner.open(path, mode))
    }
}

private final class RefusingFile: PassingFile {
    private let files: RefusingFiles
    let inner: any File

    init(files: RefusingFiles, inner: any File) {
        self.files = files
        self.inner = inner
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        if files.isRefusing.load(ordering: .relaxed), path.contains("-wal-"), !path.hasSuffix("spare"),
            files.writes.add(1, ordering: .relaxed).oldValue % 3 == 2
        {
            throw .refusedWrite(path)
        }
        try inner.write(buffer, at: offset)
    }

    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try write(buffer, at: offset)
        try sync()
    }
}

extension FileError {
    fileprivate static func refusedWrite(_ path: String) -> FileError {
        FileError(operation: "write", path: path, code: EPERM)
    }
}
