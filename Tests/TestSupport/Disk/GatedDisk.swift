import MakoStorage

/// Files in memory at some of whose calls stands a gate: while it is closed they wait until they are let through.
public final class GatedDisk: FileSystem, @unchecked Sendable {
    public enum Gate: Sendable {
        /// What makes some of the log durable.
        case log
        /// Syncs of the whole data file.
        case dataSyncs
    }

    private let gate: Gate
    private let files = MemoryFileSystem()
    private let lock = Lock()
    private let change = ConditionVariable()
    private var isClosed = false
    private var passes = 0
    private var held = 0

    public init(gate: Gate = .log) { self.gate = gate }

    /// What comes to the gate waits from now on.
    public func close() { lock.withLock { isClosed = true } }

    /// Lets one through.
    public func letOneThrough() {
        lock.withLock {
            passes += 1
            change.broadcast()
        }
    }

    /// Lets all through from now on.
    public func open() {
        lock.withLock {
            isClosed = false
            change.broadcast()
        }
    }

    /// How many wait at the gate.
    public var waiting: Int { lock.withLock { held } }

    fileprivate func pass(_ path: String, isWholeSync: Bool) {
        let isLog = path.contains("-wal-")
        guard gate == .log ? isLog : !isLog && isWholeSync else { return }
        lock.withLock {
            held += 1
            while isClosed && passes == 0 { change.wait(lock) }
            held -= 1
            if isClosed { passes -= 1 }
        }
    }

    public func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        GatedFile(disk: self, file: try files.open(path, mode))
    }

    public func remove(_ path: String) throws(FileError) { try files.remove(path) }
    public func rename(_ from: String, to: String) throws(FileError) { try files.rename(from, to: to) }
    public func list(directory: String) throws(FileError) -> [String] { try files.list(directory: directory) }
    public func syncDirectory(_ path: String) throws(FileError) { try files.syncDirectory(path) }
    public func isDirectory(_ path: String) -> Bool { files.isDirectory(path) }
    public func exists(_ path: String) -> Bool { files.exists(path) }
}

private final class GatedFile: File {
    private let disk: GatedDisk
    private let file: any File

    init(disk: GatedDisk, file: any File) {
        self.disk = disk
        self.file = file
    }

    var path: String { file.path }

    func size() throws(FileError) -> UInt64 { try file.size() }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try file.write(buffer, at: offset)
    }

    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        disk.pass(path, isWholeSync: false)
        try file.writeDurably(buffer, at: offset)
    }

    func resize(to size: UInt64) throws(FileError) { try file.resize(to: size) }
    func allocate(_ range: Range<UInt64>) throws(FileError) { try file.allocate(range) }
    func sync() throws(FileError) {
        disk.pass(path, isWholeSync: true)
        try file.sync()
    }

    func lock(exclusive: Bool) throws(FileError) -> Bool { try file.lock(exclusive: exclusive) }
    func close() { file.close() }
}
