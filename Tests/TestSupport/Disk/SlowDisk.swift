import MakoStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Files in memory whose pages come as slowly as from a device, unless they were asked for before they were read.
public final class SlowDisk: FileSystem, @unchecked Sendable {
    private static let pageBytes: UInt64 = 4096
    private static let microseconds: UInt32 = 200

    private let files = MemoryFileSystem()
    private let lock = Lock()
    // Guarded by `lock`.
    private var isSlow = false
    private var started: Set<UInt64> = []
    private var counted = Counts()

    /// What became of the pages that were read since the disk is slow.
    public struct Counts: Sendable {
        /// Pages that were read.
        public var read = 0
        /// Those that had to be waited for.
        public var waited = 0
        /// Pages that were asked for ahead of time, and in how many calls.
        public var asked = 0
        public var calls = 0
    }

    public init() {}

    /// From now on pages are slow; what was counted is forgotten.
    public func becomeSlow() {
        lock.withLock {
            isSlow = true
            started = []
            counted = Counts()
        }
    }

    public var counts: Counts { lock.withLock { counted } }

    /// Pages that were asked for and not read since.
    public var unused: Int { lock.withLock { started.count } }

    fileprivate func start(_ offset: UInt64, _ count: Int) {
        lock.withLock {
            guard isSlow else { return }
            let first = offset / SlowDisk.pageBytes
            let pages = first..<first + UInt64(count) / SlowDisk.pageBytes
            started.formUnion(pages)
            counted.asked += pages.count
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

    public func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        SlowFile(disk: self, file: try files.open(path, mode))
    }

    public func remove(_ path: String) throws(FileError) { try files.remove(path) }
    public func rename(_ from: String, to: String) throws(FileError) { try files.rename(from, to: to) }
    public func list(directory: String) throws(FileError) -> [String] { try files.list(directory: directory) }
    public func syncDirectory(_ path: String) throws(FileError) { try files.syncDirectory(path) }
    public func isDirectory(_ path: String) -> Bool { files.isDirectory(path) }
    public func exists(_ path: String) -> Bool { files.exists(path) }
}

private final class SlowFile: File {
    private let disk: SlowDisk
    private let file: any File

    init(disk: SlowDisk, file: any File) {
        self.disk = disk
        self.file = file
    }

    var path: String { file.path }

    func size() throws(FileError) -> UInt64 { try file.size() }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        if !path.contains("-wal-") { disk.wait(offset) }
        return try file.read(into: buffer, at: offset)
    }

    func startReading(at offset: UInt64, count: Int) { disk.start(offset, count) }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try file.write(buffer, at: offset)
    }

    func resize(to size: UInt64) throws(FileError) { try file.resize(to: size) }
    func allocate(_ range: Range<UInt64>) throws(FileError) { try file.allocate(range) }
    func sync() throws(FileError) { try file.sync() }
    func lock(exclusive: Bool) throws(FileError) -> Bool { try file.lock(exclusive: exclusive) }
    func close() { file.close() }
}
