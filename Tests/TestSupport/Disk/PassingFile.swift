import MakoStorage

/// Files that forward every call to others. A conforming type implements only the calls that it changes.
public protocol PassingFileSystem: FileSystem {
    var inner: any FileSystem { get }
}

extension PassingFileSystem {
    public func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File { try inner.open(path, mode) }
    public func remove(_ path: String) throws(FileError) { try inner.remove(path) }
    public func rename(_ from: String, to: String) throws(FileError) { try inner.rename(from, to: to) }
    public func renameExclusively(_ from: String, to: String) throws(FileError) {
        try inner.renameExclusively(from, to: to)
    }

    public func target(of path: String) throws(FileError) -> String { try inner.target(of: path) }
    public func list(directory: String) throws(FileError) -> [String] { try inner.list(directory: directory) }
    public func syncDirectory(_ path: String) throws(FileError) { try inner.syncDirectory(path) }
    public func isDirectory(_ path: String) -> Bool { inner.isDirectory(path) }
    public func exists(_ path: String) -> Bool { inner.exists(path) }
}

/// The same for an open file.
public protocol PassingFile: File {
    var inner: any File { get }
}

extension PassingFile {
    public var path: String { inner.path }
    public func size() throws(FileError) -> UInt64 { try inner.size() }

    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        try inner.read(into: buffer, at: offset)
    }

    public func startReading(at offset: UInt64, count: Int) { inner.startReading(at: offset, count: count) }

    public func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try inner.write(buffer, at: offset)
    }

    public func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try inner.writeDurably(buffer, at: offset)
    }

    public func startWriting(at offset: UInt64, count: Int) { inner.startWriting(at: offset, count: count) }
    public func resize(to size: UInt64) throws(FileError) { try inner.resize(to: size) }
    public func allocate(_ range: Range<UInt64>) throws(FileError) { try inner.allocate(range) }
    public func sync() throws(FileError) { try inner.sync() }
    public func lock(exclusive: Bool) throws(FileError) -> Bool { try inner.lock(exclusive: exclusive) }
    public func takePlaceInLine() throws(FileError) -> Bool { try inner.takePlaceInLine() }
    public func leaveLine() { inner.leaveLine() }
    public func unlock() throws(FileError) { try inner.unlock() }
    public func isNamed(_ path: String) throws(FileError) -> Bool { try inner.isNamed(path) }
    public func access() throws(FileError) -> FileAccess? { try inner.access() }
    public func adopt(_ access: FileAccess) { inner.adopt(access) }
    public func pin(_ number: UInt64) throws(FileError) -> Bool { try inner.pin(number) }
    public func pins() throws(FileError) -> [UInt64] { try inner.pins() }
    public func close() { inner.close() }
}
