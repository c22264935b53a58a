import MakoTestSupport

import MakoStorage

/// The files of a process that ends before a change of the disk: its locks are released, and what it has written stays
/// in the cache of the machine.
final class MortalProcess: PassingFileSystem, @unchecked Sendable {
    let inner: any FileSystem
    private let lock = Lock()
    // Guarded by `lock`.
    private var files: [any MakoStorage.File] = []
    private var changes: Int
    private var isOver = false

    init(_ inner: any FileSystem, changes: Int = .max) {
        self.inner = inner
        self.changes = changes
    }

    /// Ends the process before so many more changes.
    func live(changes: Int) { lock.withLock { self.changes = changes } }

    var isDead: Bool { lock.withLock { isOver } }

    func die() {
        lock.withLock {
            isOver = true
            for file in files { file.close() }
            files = []
        }
    }

    func change(_ path: String) throws(FileError) {
        let isLast = lock.withLock {
            changes -= 1
            return changes < 0
        }
        if isLast { die() }
        if isDead { throw FileError(operation: "write", path: path, code: 5) }
    }

    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any MakoStorage.File {
        if isDead { throw FileError(operation: "open", path: path, code: 5) }
        let file = try inner.open(path, mode)
        lock.withLock { files.append(file) }
        return MortalFile(inner: file, process: self)
    }

    func remove(_ path: String) throws(FileError) {
        try change(path)
        try inner.remove(path)
    }

    func rename(_ from: String, to: String) throws(FileError) {
        try change(from)
        try inner.rename(from, to: to)
    }

    func syncDirectory(_ path: String) throws(FileError) {
        try change(path)
        try inner.syncDirectory(path)
    }
}

private final class MortalFile: PassingFile {
    let inner: any MakoStorage.File
    private let process: MortalProcess

    init(inner: any MakoStorage.File, process: MortalProcess) {
        self.inner = inner
        self.process = process
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try process.change(path)
        try inner.write(buffer, at: offset)
    }

    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try write(buffer, at: offset)
        try sync()
    }

    func resize(to size: UInt64) throws(FileError) {
        try process.change(path)
        try inner.resize(to: size)
    }

    func sync() throws(FileError) {
        try process.change(path)
        try inner.sync()
    }
}
