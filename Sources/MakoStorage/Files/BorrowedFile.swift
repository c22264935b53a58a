/// An open and locked file of another store. Closing it leaves the other store's handle and lock alone.
final class BorrowedFile: File {
    private let inner: any File

    init(_ inner: any File) { self.inner = inner }

    var path: String { inner.path }
    func size() throws(FileError) -> UInt64 { try inner.size() }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        try inner.read(into: buffer, at: offset)
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try inner.write(buffer, at: offset)
    }

    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try inner.writeDurably(buffer, at: offset)
    }

    func resize(to size: UInt64) throws(FileError) { try inner.resize(to: size) }
    func allocate(_ range: Range<UInt64>) throws(FileError) { try inner.allocate(range) }
    func sync() throws(FileError) { try inner.sync() }
    func barrier() throws(FileError) { try inner.barrier() }
    func startWriting(at offset: UInt64, count: Int) { inner.startWriting(at: offset, count: count) }
    func startReading(at offset: UInt64, count: Int) { inner.startReading(at: offset, count: count) }

    /// True: the other store holds the lock.
    func lock(exclusive: Bool) throws(FileError) -> Bool { true }

    func isNamed(_ path: String) throws(FileError) -> Bool { try inner.isNamed(path) }
    func access() throws(FileError) -> FileAccess? { try inner.access() }
    func adopt(_ access: FileAccess) { inner.adopt(access) }
    func pins() throws(FileError) -> [UInt64] { try inner.pins() }

    /// Does nothing.
    func close() {}
}
