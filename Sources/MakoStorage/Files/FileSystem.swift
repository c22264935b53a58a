/// How to open a file.
public enum OpenMode: Sendable {
    /// For reading; the file must exist.
    case readOnly
    /// For reading and writing; the file must exist.
    case readWrite
    /// For reading and writing; created empty if it does not exist.
    case create
    /// For reading and writing; fails with `EEXIST` if it exists.
    case createNew
}

/// The file operations of the engine. Every byte that it stores goes through this protocol.
///
/// `POSIXFileSystem` is the operating system, `MemoryFileSystem` is in memory, and tests use simulated disks with power
/// failures, torn writes and errors.
///
/// Durability has two parts, which the engine requests separately: `File.sync()` makes a file's contents durable,
/// `syncDirectory(_:)` its name.
public protocol FileSystem: Sendable {
    /// Opens a file. Fails with `EISDIR` for a directory, in every mode.
    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File

    /// Opens a file. A file that this call creates has `access` before its first byte; nil for the default access.
    func open(_ path: String, _ mode: OpenMode, access: FileAccess?) throws(FileError) -> any File

    /// Removes a file's name. Open handles stay usable.
    func remove(_ path: String) throws(FileError)

    /// Renames a file, atomically replacing a file of that name.
    func rename(_ from: String, to: String) throws(FileError)

    /// Renames a file atomically; fails with `EEXIST` if the name is taken.
    func renameExclusively(_ from: String, to: String) throws(FileError)

    /// Returns the target of the symbolic links at the end of a path; the path itself if it is no link. The file need
    /// not exist.
    func target(of path: String) throws(FileError) -> String

    /// Returns the names in a directory, sorted, without `.` and `..`.
    func list(directory: String) throws(FileError) -> [String]

    /// Makes the creations, renames and removals in a directory durable.
    func syncDirectory(_ path: String) throws(FileError)

    /// Opens a directory for repeated syncs, which then need no other descriptor.
    func openDirectory(_ path: String) throws(FileError) -> any FileDirectory

    func isDirectory(_ path: String) -> Bool

    func exists(_ path: String) -> Bool

    /// Returns this file system with attributes for every file that is opened for writing.
    func with(_ attributes: FileAttributes) -> any FileSystem

    /// Whether `File.barrier()` is cheaper than `File.sync()`.
    var hasBarriers: Bool { get }
}

// The defaults, for a file system without permissions, symbolic links and descriptors.
extension FileSystem {
    /// Opens a file, and ignores `access`.
    public func open(_ path: String, _ mode: OpenMode, access: FileAccess?) throws(FileError) -> any File {
        try open(path, mode)
    }

    /// Checks the name and then renames: not atomic, so only for a file system that one process uses.
    public func renameExclusively(_ from: String, to: String) throws(FileError) {
        guard !exists(to) else { throw .taken(to) }
        try rename(from, to: to)
    }

    /// Returns the path itself.
    public func target(of path: String) throws(FileError) -> String { path }

    /// Returns the same file system, because no attributes are supported.
    public func with(_ attributes: FileAttributes) -> any FileSystem { self }

    /// False: `File.barrier()` is a sync.
    public var hasBarriers: Bool { false }

    /// Returns a directory that is opened for each sync.
    public func openDirectory(_ path: String) throws(FileError) -> any FileDirectory {
        DirectoryByPath(fileSystem: self, path: path)
    }
}

/// An open file. Reads and writes have an explicit offset, so threads may share a handle.
public protocol File: AnyObject, Sendable {
    /// The path by which the file was opened.
    var path: String { get }

    /// Returns the size in bytes.
    func size() throws(FileError) -> UInt64

    /// Fills the buffer from `offset` on, and returns the number of bytes read: fewer than requested only at the end of
    /// the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int

    /// Writes the whole buffer at `offset`. Extends the file if necessary.
    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError)

    /// Truncates the file, or extends it with zeros.
    func resize(to size: UInt64) throws(FileError)

    /// Allocates space on the device for a range of bytes, so that later writes there do not fail for lack of space.
    /// Extends a shorter file with zeros; keeps its contents.
    func allocate(_ range: Range<UInt64>) throws(FileError)

    /// Makes all earlier writes durable, with the file size needed to read them.
    func sync() throws(FileError)

    /// Orders all earlier writes before all later writes to any file. They may be lost in a power failure until a sync
    /// of any file, but then all later writes are lost too.
    func barrier() throws(FileError)

    /// Writes the whole buffer at `offset` and makes these bytes durable, in one operation if the system has one. Other
    /// writes need not become durable.
    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError)

    /// Starts the writing of a range to the device, so that a later `sync()` has less to do. A hint: it makes nothing
    /// durable and does not fail.
    func startWriting(at offset: UInt64, count: Int)

    /// Starts the reading of a range from the device, so that several reads overlap. A hint: it does not wait and does not
    /// fail.
    func startReading(at offset: UInt64, count: Int)

    /// Acquires the file's advisory lock without waiting; `false` if another handle holds it. `close()` releases it.
    func lock(exclusive: Bool) throws(FileError) -> Bool

    /// Acquires the right to be the next that gets the lock, without waiting; `false` if another handle has it. `close()`
    /// releases it.
    func takePlaceInLine() throws(FileError) -> Bool

    /// Releases that right.
    func leaveLine()

    /// Releases the lock and the pins of this handle, which stays open and can acquire them again.
    func unlock() throws(FileError)

    /// Whether a path leads to this file: false if another file has taken the name since the opening, or none has it.
    func isNamed(_ path: String) throws(FileError) -> Bool

    /// Returns the access rights of the file; nil if they are unknown.
    func access() throws(FileError) -> FileAccess?

    /// Sets the access rights of another file, as far as this process may. Rights that cannot be set are given to the
    /// owner only.
    func adopt(_ access: FileAccess)

    /// Publishes a number that other handles of the file, in any process, can read until this handle is closed or its
    /// process ends. Works with a read-only handle; the contents of the file do not change. `false` if the file does
    /// not support it.
    ///
    /// - Parameter number: below 2^62.
    func pin(_ number: UInt64) throws(FileError) -> Bool

    /// Returns the numbers that other handles of the file have pinned, in ascending order. Fails with `EBUSY` while
    /// another program has a lock of the whole file, which may hide them.
    func pins() throws(FileError) -> [UInt64]

    /// Makes this file share all blocks of another file of the file system, until either is written. `false` if that is
    /// not possible; nothing has changed then.
    func shareBlocks(of other: any File) throws(FileError) -> Bool

    /// Closes the handle; later calls fail with `EBADF`. A second close has no effect.
    func close()
}

extension File {
    /// Reads so many bytes, or those that there are.
    package func bytes(from offset: UInt64, count: Int) throws(FileError) -> [UInt8] {
        var failure: FileError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            do throws(FileError) {
                initialized = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch { failure = error }
        }
        if let failure { throw failure }
        return bytes
    }

    package func write(_ bytes: [UInt8], at offset: UInt64) throws(FileError) {
        try writeBytes(self, bytes, count: bytes.count, at: offset)
    }

    /// Returns false: blocks cannot be shared.
    public func shareBlocks(of other: any File) throws(FileError) -> Bool { false }

    /// Waits for the exclusive lock. The handle that waits first gets it before one that has had it meanwhile.
    ///
    /// - Returns: false after the timeout. Without time to wait, the lock is tried once, out of line.
    func lock(within timeout: Duration) throws(FileError) -> Bool {
        guard timeout > .zero else { return try lock(exclusive: true) }
        let deadline = ContinuousClock.now.advanced(by: timeout)
        guard try wait(until: deadline, for: { () throws(FileError) in try takePlaceInLine() }) else { return false }
        defer { leaveLine() }
        return try wait(until: deadline, for: { () throws(FileError) in try lock(exclusive: true) })
    }

    private func wait(
        until deadline: ContinuousClock.Instant, for attempt: () throws(FileError) -> Bool
    ) throws(FileError) -> Bool {
        let (pause, never) = (Lock(), ConditionVariable())
        while !(try attempt()) {
            guard ContinuousClock.now < deadline else { return false }
            // The system has no wait for a lock that ends after a time.
            pause.withLock { _ = never.wait(pause, timeout: .milliseconds(1)) }
        }
        return true
    }

    /// Returns true: there is no line.
    public func takePlaceInLine() throws(FileError) -> Bool { true }

    /// Does nothing.
    public func leaveLine() {}

    /// Throws, because only `close()` releases the lock: a store with such files cannot be suspended.
    public func unlock() throws(FileError) { throw .noUnlock(path) }

    /// Returns true: renames of other files are not known.
    public func isNamed(_ path: String) throws(FileError) -> Bool { true }

    /// Returns nil: there are no access rights.
    public func access() throws(FileError) -> FileAccess? { nil }

    /// Does nothing: there are no access rights.
    public func adopt(_ access: FileAccess) {}

    /// Returns false: pins are not supported.
    public func pin(_ number: UInt64) throws(FileError) -> Bool { false }

    /// Returns no pins.
    public func pins() throws(FileError) -> [UInt64] { [] }

    /// Syncs the file, which orders writes too.
    public func barrier() throws(FileError) { try sync() }

    /// Does nothing.
    public func startWriting(at offset: UInt64, count: Int) {}

    /// Does nothing.
    public func startReading(at offset: UInt64, count: Int) {}

    /// Writes zeros after the end of the file. Holes before the end are not filled.
    public func allocate(_ range: Range<UInt64>) throws(FileError) { try writeZeros(upTo: range.upperBound) }

    /// Writes zeros from the end of the file to its new end.
    func writeZeros(upTo size: UInt64) throws(FileError) {
        let end = try self.size()
        if end < size { try writeZeros(end..<size) }
    }

    /// Writes zeros to a range, 64 KiB at a time: after larger writes the system's cache has larger pieces, of which each
    /// direct write of a block must drop one.
    func writeZeros(_ range: Range<UInt64>) throws(FileError) {
        let zeros = [UInt8](
            repeating: 0, count: ByteCount.step(range.upperBound - range.lowerBound, most: 1 << 16))
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = ByteCount.step(range.upperBound - offset, most: zeros.count)
            try writeBytes(self, zeros, count: count, at: offset)
            offset += UInt64(count)
        }
    }

    /// Writes the buffer and syncs the file.
    public func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try write(buffer, at: offset)
        try sync()
    }
}

/// Path operations of the engine: they split at the last slash only.
package enum FilePath {
    /// Returns the directory of `path`: `"."` for a path without a slash.
    package static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns the path of another name in the directory of `path`.
    package static func sibling(_ name: String, of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return name }
        return String(path[...slash]) + name
    }

    /// Returns the last component of `path`.
    package static func name(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }
}

/// Reads `count` bytes, or fewer at the end of the file.
func readBytes(_ file: any File, count: Int, at offset: UInt64) throws(FileError) -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { (buffer, initialized) throws(FileError) in
        initialized = try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
    }
}

func writeBytes(_ file: any File, _ bytes: [UInt8], count: Int, at offset: UInt64) throws(FileError) {
    let outcome: Result<Void, FileError> = bytes.withUnsafeBytes { buffer in
        do throws(FileError) {
            return .success(try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset))
        } catch { return .failure(error) }
    }
    try outcome.get()
}
