#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The operating system's files.
public struct POSIXFileSystem: FileSystem {
    public init() {}

    public func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        var flags = O_CLOEXEC
        switch mode {
        case .readOnly: flags |= O_RDONLY
        case .readWrite: flags |= O_RDWR
        case .create: flags |= O_RDWR | O_CREAT
        case .createNew: flags |= O_RDWR | O_CREAT | O_EXCL
        }
        let descriptor = try posix("open", path) { openDescriptor(path, flags) }
        let file = POSIXFile(path: path, descriptor: descriptor)
        // A directory can be opened for reading: refuse it here, so that every mode answers alike.
        guard try !file.isDirectory() else { throw FileError(operation: "open", path: path, code: EISDIR) }
        return file
    }

    public func remove(_ path: String) throws(FileError) {
        _ = try posix("remove", path) { unlink(path) }
    }

    public func rename(_ from: String, to: String) throws(FileError) {
        _ = try posix("rename", from) { renamePath(from, to) }
    }

    public func list(directory: String) throws(FileError) -> [String] {
        guard let stream = opendir(directory) else {
            throw FileError(operation: "list", path: directory, code: errno)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = nameOf(entry)
            if name != "." && name != ".." { names.append(name) }
        }
        // The end and an error look alike but for errno.
        guard errno == 0 else { throw FileError(operation: "list", path: directory, code: errno) }
        return names.sorted()
    }

    public func syncDirectory(_ path: String) throws(FileError) {
        let descriptor = try posix("sync directory", path) {
            openDescriptor(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        defer { _ = closeDescriptor(descriptor) }
        try flushDirectory(descriptor, path)
    }

    public func isDirectory(_ path: String) -> Bool {
        var information = stat()
        return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
    }

    public func exists(_ path: String) -> Bool {
        var information = stat()
        return stat(path, &information) == 0
    }
}

/// Calls the system, again when a signal interrupted it, and gives a failure its name and path.
@inline(__always)
func posix(_ operation: String, _ path: String, _ call: () -> Int32) throws(FileError) -> Int32 {
    while true {
        let result = call()
        if result >= 0 { return result }
        let code = errno
        if code != EINTR { throw FileError(operation: operation, path: path, code: code) }
    }
}

// Free functions, so that methods of the same name do not hide the system's.

private func openDescriptor(_ path: String, _ flags: Int32) -> Int32 { open(path, flags, 0o644) }

private func closeDescriptor(_ descriptor: Int32) -> Int32 { close(descriptor) }

private func renamePath(_ from: String, _ to: String) -> Int32 { rename(from, to) }

private func nameOf(_ entry: UnsafeMutablePointer<dirent>) -> String {
    // The record is only as long as its name, so the field is read in place and never copied whole.
    guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return "" }
    return String(cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
}

private func flushDirectory(_ descriptor: Int32, _ path: String) throws(FileError) {
    #if canImport(Darwin)
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    _ = try posix("sync directory", path) { fsync(descriptor) }
}
