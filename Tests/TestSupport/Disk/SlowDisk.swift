import CPlatform
import MakoStorage

/// Files in memory whose pages are as slow to read as from a device, unless they were prefetched.
package final class SlowDisk: PassingFileSystem, @unchecked Sendable {
    private static let pageBytes: UInt64 = 4096
    private static let microseconds: UInt32 = 200

    package let inner: any FileSystem = MemoryFileSystem()
    private let lock = Lock()
    // Guarded by `lock`.
    private var isSlow = false
    private var started: Set<UInt64> = []
    private var counted = Counts()

    /// Counts of the pages that were read since the disk is slow.
    package struct Counts: Sendable {
        /// Pages that were read.
        package var read = 0
        /// Those that had to be waited for.
        package var waited = 0
        /// Pages that were prefetched.
        package var requested = 0
        /// Calls that prefetched pages.
        package var calls = 0
    }

    package init() {}

    /// From now on pages are slow; what was counted is forgotten.
    package func becomeSlow() {
        lock.withLock {
            isSlow = true
            started = []
            counted = Counts()
        }
    }

    /// The counts since the disk is slow.
    package var counts: Counts { lock.withLock { counted } }

    /// Pages that were prefetched and not read since.
    package var unused: Int { lock.withLock { started.count } }

    fileprivate func start(_ offset: UInt64, _ count: Int) {
        lock.withLock {
            guard isSlow else { return }
            let first = offset / SlowDisk.pageBytes
            let pages = first..<first + UInt64(count) / SlowDisk.pageBytes
            started.formUnion(pages)
            counted.requested += pages.count
            counted.calls += 1
        }
    }

    fileprivate func wait(_ offset: UInt64) {
        let waits = lock.withLock {
            guard isSlow else { return false }
            counted.read += 1
            if started.remove(offset / SlowDisk.pageBytes) != nil { return false }
            counted.waited += 1
            return true
        }
        if waits { usleep(SlowDisk.microseconds) }
    }

    package func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        SlowFile(disk: self, inner: try inner.open(path, mode))
    }
}

private final class SlowFile: PassingFile {
    private let disk: SlowDisk
    let inner: any File

    init(disk: SlowDisk, inner: any File) {
        self.disk = disk
        self.inner = inner
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        if !path.contains("-wal-") { disk.wait(offset) }
        return try inner.read(into: buffer, at: offset)
    }

    func startReading(at offset: UInt64, count: Int) { disk.start(offset, count) }
}
