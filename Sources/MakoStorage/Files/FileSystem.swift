/// How a file is opened.
public enum OpenMode: Sendable {
    /// For reading; the file must exist.
    case readOnly
    /// For reading and writing; the file must exist.
    case readWrite
    /// For reading and writing; created empty when it does not exist.
    case create
    /// For reading and writing; fails with `EEXIST` when it exists.
    case createNew
}

/// The engine's only door to the outside world: every byte that the engine keeps goes through here.
///
/// `POSIXFileSystem` is the operating system, `MemoryFileSystem` lives in memory, and tests put a disk in its place
/// that loses power, tears writes and fails on command.
///
/// Durability has two halves, and the engine asks for each: `File.sync()` makes a file's content durable,
/// `syncDirectory(_:)` makes its name durable.
public protocol FileSystem: Sendable {
    /// Opens a file. A directory is refused with `EISDIR` in every mode.
    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File

    /// Opens a file; one that this call creates has `access` before it has a byte. Nil: what new files have here.
    func open(_ path: String, _ mode: OpenMode, access: FileAccess?) throws(FileError) -> any File

    /// Removes a file's name. Handles that are open on it stay usable.
    func remove(_ path: String) throws(FileError)

    /// Gives a file another name, replacing a file of that name in one step.
    func rename(_ from: String, to: String) throws(FileError)

    /// Gives a file another name in one step, unless something has that name: `EEXIST` then.
    func renameExclusively(_ from: String, to: String) throws(FileError)

    /// Where the symbolic links at the end of a path lead; the path itself when it is none. The file need not exist.
    func target(of path: String) throws(FileError) -> String

    /// The names in a directory, sorted, without `.` and `..`.
    func list(directory: String) throws(FileError) -> [String]

    /// Makes the creations, renames and removals in a directory durable.
    func syncDirectory(_ path: String) throws(FileError)

    /// A directory that stays open, to be synced again and again without another descriptor.
    func openDirectory(_ path: String) throws(FileError) -> any FileDirectory

    func isDirectory(_ path: String) -> Bool

    func exists(_ path: String) -> Bool

    /// These files, with attributes that every file gets which is opened for writing.
    func with(_ attributes: FileAttributes) -> any FileSystem

    /// Whether `File.barrier()` is anything less than `File.sync()`.
    var hasBarriers: Bool { get }
}

// What a file system says that knows no permissions, no symbolic links and no descriptors.
extension FileSystem {
    public func open(_ path: String, _ mode: OpenMode, access: FileAccess?) throws(FileError) -> any File {
        try open(path, mode)
    }

    /// Looks first and renames then: two steps, which suits a file system that one process uses.
    public func renameExclusively(_ from: String, to: String) throws(FileError) {
        guard !exists(to) else { throw .taken(to) }
        try rename(from, to: to)
    }

    public func target(of path: String) throws(FileError) -> String { path }

    /// No attributes are known.
    public func with(_ attributes: FileAttributes) -> any FileSystem { self }

    public var hasBarriers: Bool { false }

    public func openDirectory(_ path: String) throws(FileError) -> any FileDirectory {
        DirectoryByPath(fileSystem: self, path: path)
    }
}

/// An open file. Reads and writes carry their position, so any number of threads may use one handle.
public protocol File: AnyObject, Sendable {
    /// The path the file was opened by.
    var path: String { get }

    /// The size in bytes.
    func size() throws(FileError) -> UInt64

    /// Fills the buffer from `offset` on and returns the number of bytes read: fewer than asked for only where the
    /// file ends.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int

    /// Writes the whole buffer at `offset`, extending the file when it reaches past the end.
    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError)

    /// Cuts the file, or extends it with zeros.
    func resize(to size: UInt64) throws(FileError)

    /// Sees to it that the device has room for a range of bytes: writing there does not fail for want of it later. Extends the file with
    /// zeros when it is shorter; what is in it stays.
    func allocate(_ range: Range<UInt64>) throws(FileError)

    /// Makes everything written so far durable, with the size that is needed to read it.
    func sync() throws(FileError)

    /// Has everything written so far reach the device before anything that is written later, to any file. It may be lost in a power cut
    /// until a sync, of any file, but then everything that was written after it is lost, too.
    func barrier() throws(FileError)

    /// Writes the whole buffer at `offset` and makes these bytes durable, in one step where the system has one. Nothing is said of other
    /// writes: what was not durable before may still not be.
    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError)

    /// Asks the device to begin with a range that was written, so that a later `sync()` finds less to do. A hint: it
    /// makes nothing durable and does not fail.
    func startWriting(at offset: UInt64, count: Int)

    /// Asks the device for a range that will be read soon, so that several such reads are under way at a time. A hint: it does not wait for
    /// the bytes and does not fail.
    func startReading(at offset: UInt64, count: Int)

    /// Takes the file's advisory lock without waiting; `false`: another handle holds it. It ends with `close()`.
    func lock(exclusive: Bool) throws(FileError) -> Bool

    /// Whether a path leads to this very file: not when another file has taken the name since it was opened, or none has it.
    func isNamed(_ path: String) throws(FileError) -> Bool

    /// Who may open the file; nil where files do not say.
    func access() throws(FileError) -> FileAccess?

    /// Gives the file the access of another one, as far as this process may. What it may not stays with the owner alone.
    func adopt(_ access: FileAccess)

    /// Notes a number for other handles of the file to find, in this process or another, until this one is closed or its process ends. A
    /// handle opened for reading can do this; the content of the file does not change. `false`: this file cannot keep such notes.
    ///
    /// - Parameter number: below 2^62.
    func pin(_ number: UInt64) throws(FileError) -> Bool

    /// The numbers that other handles of the file have pinned, ascending.
    func pins() throws(FileError) -> [UInt64]

    /// Makes this file share all its content with another one of the file system, until either is written to. `false`: that cannot be done
    /// here, and nothing has happened.
    func shareBlocks(of other: any File) throws(FileError) -> Bool

    /// Closes the handle; later calls fail with `EBADF`. Closing twice does nothing.
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

    public func shareBlocks(of other: any File) throws(FileError) -> Bool { false }

    /// Nothing is known of other files that take the name.
    public func isNamed(_ path: String) throws(FileError) -> Bool { true }

    public func access() throws(FileError) -> FileAccess? { nil }

    public func adopt(_ access: FileAccess) {}

    public func pin(_ number: UInt64) throws(FileError) -> Bool { false }

    public func pins() throws(FileError) -> [UInt64] { [] }

    public func barrier() throws(FileError) { try sync() }

    public func startWriting(at offset: UInt64, count: Int) {}

    public func startReading(at offset: UInt64, count: Int) {}

    /// Writes zeros behind the end, which takes room everywhere. Of holes before it nothing is known here.
    public func allocate(_ range: Range<UInt64>) throws(FileError) { try writeZeros(upTo: range.upperBound) }

    /// Writes zeros from the end of the file to where it is to end.
    func writeZeros(upTo size: UInt64) throws(FileError) {
        var end = try self.size()
        let zeros = [UInt8](repeating: 0, count: ByteCount.step(size > end ? size - end : 0, most: 1 << 20))
        while end < size {
            let count = ByteCount.step(size - end, most: zeros.count)
            try writeBytes(self, zeros, count: count, at: end)
            end += UInt64(count)
        }
    }

    public func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try write(buffer, at: offset)
        try sync()
    }
}

/// Paths as the engine takes them apart: by the last slash, nothing more.
package enum FilePath {
    /// The directory that holds `path`: `"."` when the path has no slash.
    package static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    /// The path of another name in the directory that holds `path`.
    package static func sibling(_ name: String, of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return name }
        return String(path[...slash]) + name
    }

    /// The name in its directory.
    package static func name(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }
}
