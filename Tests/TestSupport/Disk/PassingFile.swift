import MakoStorage

/// Files that forward every call to others. A conforming type implements only the calls that it changes.
package protocol PassingFileSystem: FileSystem {
    var inner: any FileSystem { get }
}

extension PassingFileSystem {
    package func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File { try inner.open(path, mode) }
    package func remove(_ path: String) throws(FileError) { try inner.remove(path) }
    package func rename(_ from: String, to: String) throws(FileError) { try inner.rename(from, to: to) }
    package func renameExclusively(_ from: String, to: String) throws(FileError) {
        try inner.renameExclusively(from, to: to)
    }

    package func target(of path: String) throws(FileError) -> String { try inner.target(of: path) }
    package func list(directory: String) throws(FileError) -> [String] { try inner.list(directory: directory) }
    package func syncDirectory(_ path: String) throws(FileError) { try inner.syncDirectory(path) }
    package func isDirectory(_ path: String) -> Bool { inner.isDirectory(path) }
    package func exists(_ path: String) -> Bool { inner.exists(path) }
}

/// The same for an open file.
package protocol PassingFile: File {
    var inner: any File { get }
}

extension PassingFile {
    package var path: String { inner.path }
    package func size() throws(FileError) -> UInt64 { try inner.size() }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        try inner.read(into: buffer, at: offset)
    }

    package func startReading(at offset: UInt64, count: Int) { inner.startReading(at: offset, count: count) }

    package func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try inner.write(buffer, at: offset)
    }

    package func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try inner.writeDurably(buffer, at: offset)
    }

    package func startWriting(at offset: UInt64, count: Int) { inner.startWriting(at: offset, count: count) }
    package func resize(to size: UInt64) throws(FileError) { try inner.resize(to: size) }
    package func allocate(_ range: Range<UInt64>) throws(FileError) { try inner.allocate(range) }
    package func sync() throws(FileError) { try inner.sync() }
    package func lock(exclusive: Bool) throws(FileError) -> Bool { try inner.lock(exclusive: exclusive) }
    package func takePlaceInLine() throws(FileError) -> Bool { try inner.takePlaceInLine() }
    package func leaveLine() { inner.leaveLine() }
    package func unlock() throws(FileError) { try inner.unlock() }
    package func isNamed(_ path: String) throws(FileError) -> Bool { try inner.isNamed(path) }
    package func access() throws(FileError) -> FileAccess? { try inner.access() }
    package func adopt(_ access: FileAccess) { inner.adopt(access) }
    package func pin(_ number: UInt64) throws(FileError) -> Bool { try inner.pin(number) }
    package func pins() throws(FileError) -> [UInt64] { try inner.pins() }
    package func close() { inner.close() }
}
