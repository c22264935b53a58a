import MakoStorage
import MakoTestSupport

/// A file system over another one with a callback before each call, which may throw an error or do something meanwhile.
final class MeddledDisk: PassingFileSystem, @unchecked Sendable {
    enum Call { case open, remove, list, syncDirectory, read, write, sync, pin, pins }

    /// Gets the call, the path, and the range of the bytes that are read or written.
    typealias Hand = (_ call: Call, _ path: String, _ bytes: Range<UInt64>) throws(FileError) -> Void

    let inner: any FileSystem
    private let lock = Lock()
    // Guarded by `lock`.
    private var hand: Hand?
    private var more: [String] = []

    init(_ files: any FileSystem) { inner = files }

    /// Sets the callback, which runs on the thread of each call.
    func meddle(_ hand: Hand?) { lock.withLock { self.hand = hand } }

    /// Lists names that are not there.
    func pretend(_ names: [String]) { lock.withLock { more = names } }

    fileprivate func before(_ call: Call, _ path: String, _ bytes: Range<UInt64> = 0..<0) throws(FileError) {
        try lock.withLock { hand }?(call, path, bytes)
    }

    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        try before(.open, path)
        return MeddledFile(try inner.open(path, mode), self)
    }
    func remove(_ path: String) throws(FileError) {
        try before(.remove, path)
        try inner.remove(path)
    }
    func list(directory: String) throws(FileError) -> [String] {
        try before(.list, directory)
        return (try inner.list(directory: directory) + lock.withLock { more }).sorted()
    }
    func syncDirectory(_ path: String) throws(FileError) {
        try before(.syncDirectory, path)
        try inner.syncDirectory(path)
    }
}

private final class MeddledFile: PassingFile {
    let inner: any File
    private let disk: MeddledDisk

    init(_ file: any File, _ disk: MeddledDisk) { (inner, self.disk) = (file, disk) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        try disk.before(.read, path, offset..<offset + UInt64(buffer.count))
        return try inner.read(into: buffer, at: offset)
    }
    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try disk.before(.write, path, offset..<offset + UInt64(buffer.count))
        try inner.write(buffer, at: offset)
    }
    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try disk.before(.write, path, offset..<offset + UInt64(buffer.count))
        try inner.writeDurably(buffer, at: offset)
    }
    func sync() throws(FileError) {
        try disk.before(.sync, path)
        try inner.sync()
    }
    func pin(_ number: UInt64) throws(FileError) -> Bool {
        try disk.before(.pin, path)
        return try inner.pin(number)
    }
    func pins() throws(FileError) -> [UInt64] {
        try disk.before(.pins, path)
        return try inner.pins()
    }
}
