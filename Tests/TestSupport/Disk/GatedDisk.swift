import MakoStorage

/// Files in memory with a gate at some of their calls: while it is closed, these calls wait.
package final class GatedDisk: PassingFileSystem, @unchecked Sendable {
    /// The calls that the gate stops.
    package enum Gate: Sendable {
        /// What makes some of the log durable.
        case log
        /// Syncs of the whole data file.
        case dataSyncs
    }

    private let gate: Gate
    package let inner: any FileSystem = MemoryFileSystem()
    private let lock = Lock()
    private let change = ConditionVariable()
    private var isClosed = false
    private var passes = 0
    private var held = 0

    package init(gate: Gate = .log) { self.gate = gate }

    /// What comes to the gate waits from now on.
    package func close() { lock.withLock { isClosed = true } }

    /// Lets one through.
    package func letOneThrough() {
        lock.withLock {
            passes += 1
            change.broadcast()
        }
    }

    /// Lets all through from now on.
    package func open() {
        lock.withLock {
            isClosed = false
            change.broadcast()
        }
    }

    /// How many wait at the gate.
    package var waiting: Int { lock.withLock { held } }

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

    package func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        GatedFile(disk: self, inner: try inner.open(path, mode))
    }
}

private final class GatedFile: PassingFile {
    private let disk: GatedDisk
    let inner: any File

    init(disk: GatedDisk, inner: any File) {
        self.disk = disk
        self.inner = inner
    }

    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        disk.pass(path, isWholeSync: false)
        try inner.writeDurably(buffer, at: offset)
    }

    func sync() throws(FileError) {
        disk.pass(path, isWholeSync: true)
        try inner.sync()
    }
}
