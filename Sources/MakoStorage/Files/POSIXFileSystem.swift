import CPlatform

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The files of the operating system.
public struct POSIXFileSystem: FileSystem {
    private let attributes: FileAttributes

    /// Creates the file system, without attributes.
    public init() { attributes = FileAttributes() }

    private init(_ attributes: FileAttributes) { self.attributes = attributes }

    /// Returns the file system with attributes for files opened for writing.
    public func with(_ attributes: FileAttributes) -> any FileSystem { POSIXFileSystem(attributes) }

    /// Whether the system has barriers: on Apple platforms.
    public var hasBarriers: Bool {
        #if canImport(Darwin)
            true
        #else
            false
        #endif
    }

    /// Opens a file. New files have mode 0644, as the process's mask allows.
    public func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        var flags = O_CLOEXEC
        switch mode {
        case .readOnly: flags |= O_RDONLY
        case .readWrite: flags |= O_RDWR
        case .create: flags |= O_RDWR | O_CREAT
        case .createNew: flags |= O_RDWR | O_CREAT | O_EXCL
        }
        return try open(path, flags, permissions: 0o644)
    }

    /// Opens a file. A new file has `access` before its first byte.
    public func open(_ path: String, _ mode: OpenMode, access: FileAccess?) throws(FileError) -> any File {
        guard let access, mode == .create || mode == .createNew else { return try open(path, mode) }
        while true {
            do throws(FileError) {
                // Create it for its owner only, until it has its access rights.
                let file = try open(path, O_CLOEXEC | O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
                file.adopt(access)
                return file
            } catch { if !error.isExists || mode == .createNew { throw error } }
            do throws(FileError) { return try open(path, .readWrite) } catch {
                // It was removed in between.
                if !error.isNotFound { throw error }
            }
        }
    }

    private func open(_ path: String, _ flags: Int32, permissions: mode_t) throws(FileError) -> POSIXFile {
        // Do not block on the other end of a pipe. The flag has no effect on files.
        let descriptor = try posix("open", path) { openDescriptor(path, flags | O_NONBLOCK, permissions) }
        let file = POSIXFile(path: path, descriptor: descriptor, attributes: attributes)
        try file.requireFile()
        if flags & (O_WRONLY | O_RDWR) != 0 { try file.applyAttributes() }
        return file
    }

    /// Removes a file's name.
    public func remove(_ path: String) throws(FileError) {
        _ = try posix("remove", path) { unlink(path) }
    }

    /// Renames a file, atomically replacing a file of that name.
    public func rename(_ from: String, to: String) throws(FileError) {
        _ = try posix("rename", from) { renamePath(from, to) }
    }

    /// Renames a file atomically, unless the name is taken.
    public func renameExclusively(_ from: String, to: String) throws(FileError) {
        let result = mako_rename_exclusively(from, to)
        if result == 0 { return }
        guard result == MAKO_NO_SUCH_RENAMING else { throw FileError(operation: "rename", path: from, code: errno) }
        // Without an exclusive rename and without hard links, check the name first.
        guard !isTaken(to) else { throw .taken(to) }
        try rename(from, to: to)
    }

    /// Whether a name is taken, a dangling symbolic link included.
    private func isTaken(_ path: String) -> Bool {
        var information = stat()
        return uninterrupted { lstat(path, &information) } == 0
    }

    /// The largest number of symbolic links that are followed, as on Linux.
    private static let mostLinks = 40

    /// Returns the target of the symbolic links at the end of a path, from the root on: the files of a log are created
    /// later, when the process may have another working directory.
    public func target(of path: String) throws(FileError) -> String {
        var path = absolute(path)
        for _ in 0..<POSIXFileSystem.mostLinks {
            guard let link = try contents(ofLink: path) else { return path }
            path = link.hasPrefix("/") ? link : FilePath.sibling(link, of: path)
        }
        throw FileError(operation: "open", path: path, code: ELOOP)
    }

    /// Leaves the path as it is where the working directory cannot be named.
    private func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let isKnown = bytes.withUnsafeMutableBytes { buffer in
            buffer.baseAddress.map { getcwd($0.assumingMemoryBound(to: CChar.self), buffer.count) != nil } ?? false
        }
        guard isKnown, let directory = String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self) else { return path }
        return directory + "/" + path
    }

    /// Returns the path of a file, which need not exist, with its directory's path free of links, `.` and `..`; the path
    /// itself where the directory cannot be found.
    package func canonical(_ path: String) -> String {
        guard let pointer = realpath(FilePath.directory(of: path), nil) else { return path }
        defer { free(pointer) }
        guard let directory = String(validatingCString: pointer) else { return path }
        return directory + (directory.hasSuffix("/") ? "" : "/") + FilePath.name(of: path)
    }

    /// Returns the target of a symbolic link; nil for anything else.
    private func contents(ofLink path: String) throws(FileError) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = bytes.withUnsafeMutableBytes { buffer in
            buffer.baseAddress.map { base in
                uninterrupted { readlink(path, base.assumingMemoryBound(to: CChar.self), buffer.count) }
            } ?? -1
        }
        if count >= 0 {
            // Repaired text would be the name of another file.
            guard let target = String(validating: bytes[..<count], as: UTF8.self) else {
                throw FileError(operation: "open", path: path, code: EILSEQ)
            }
            return target
        }
        let code = errno
        if code == EINVAL || code == ENOENT || code == ENOTDIR { return nil }
        throw FileError(operation: "open", path: path, code: code)
    }

    /// Returns the names in a directory, sorted. Leaves out names that are not UTF-8, which no path can have.
    public func list(directory: String) throws(FileError) -> [String] {
        let stream = try openStream(directory)
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            guard let name = nameOf(entry) else { continue }
            if name != "." && name != ".." { names.append(name) }
        }
        // The end and an error differ only in errno.
        guard errno == 0 else { throw FileError(operation: "list", path: directory, code: errno) }
        return names.sorted()
    }

    private func openStream(_ directory: String) throws(FileError) -> DirectoryStream {
        while true {
            if let stream = opendir(directory) { return stream }
            let code = errno
            if code != EINTR { throw FileError(operation: "list", path: directory, code: code) }
        }
    }

    /// Makes the names in a directory durable.
    public func syncDirectory(_ path: String) throws(FileError) {
        let directory = try openDirectory(path)
        defer { directory.close() }
        try directory.sync()
    }

    /// Opens a directory for syncs.
    public func openDirectory(_ path: String) throws(FileError) -> any FileDirectory {
        let descriptor = try posix("sync directory", path) {
            openDescriptor(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        }
        return POSIXDirectory(path: path, descriptor: descriptor)
    }

    /// Makes a directory, unless there is one of that name. Its own directory must exist.
    ///
    /// - Returns: whether it was made. Its name is not durable yet.
    package func makeDirectory(_ path: String) throws(FileError) -> Bool {
        do throws(FileError) { _ = try posix("create directory", path) { mkdir(path, 0o777) } } catch {
            if error.isExists && isDirectory(path) { return false }
            throw error
        }
        return true
    }

    /// Whether a path is a directory.
    public func isDirectory(_ path: String) -> Bool {
        var information = stat()
        return uninterrupted { stat(path, &information) } == 0 && information.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether a path exists.
    public func exists(_ path: String) -> Bool {
        var information = stat()
        return uninterrupted { stat(path, &information) } == 0
    }
}

#if canImport(Darwin)
    private typealias DirectoryStream = UnsafeMutablePointer<DIR>
#else
    private typealias DirectoryStream = OpaquePointer
#endif

// Free functions, because methods of the same name hide the system's.

private func openDescriptor(_ path: String, _ flags: Int32, _ permissions: mode_t) -> Int32 {
    open(path, flags, permissions)
}

private func closeDescriptor(_ descriptor: Int32) -> Int32 { close(descriptor) }

private func renamePath(_ from: String, _ to: String) -> Int32 { rename(from, to) }

/// Returns the name of an entry; nil if it is not UTF-8.
private func nameOf(_ entry: UnsafeMutablePointer<dirent>) -> String? {
    // Read the field in place, because the record is only as long as its name.
    guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return nil }
    return String(validatingCString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
}

/// An open directory of the operating system.
private final class POSIXDirectory: FileDirectory, @unchecked Sendable {
    private let path: String
    // -1 after the close, during which no other thread may be inside a call.
    private var descriptor: Int32

    init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close() }

    func sync() throws(FileError) {
        let descriptor = descriptor
        #if canImport(Darwin)
            try Transfer.sync(
                path, operation: "sync directory", { fcntl(descriptor, F_FULLFSYNC) },
                else: [{ fcntl(descriptor, F_BARRIERFSYNC) }, { fsync(descriptor) }])
        #else
            try Transfer.sync(path, operation: "sync directory", { fsync(descriptor) })
        #endif
    }

    func close() {
        if descriptor >= 0 { _ = closeDescriptor(descriptor) }
        descriptor = -1
    }
}
