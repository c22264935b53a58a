import CPlatform

/// A failed operation of the operating system, with its path and `errno`.
///
///     do {
///         let file = try fileSystem.open("zones.mako", .readOnly)
///     } catch where error.isNotFound {
///         print(error)   // open zones.mako: No such file or directory (errno 2)
///     }
public struct FileError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The name of the operation: `open`, `read`, `write`, `sync`, …
    public let operation: String
    /// The path of the file.
    public let path: String
    /// The platform's `errno`.
    public let code: Int32

    /// Creates the error of an operation.
    public init(operation: String, path: String, code: Int32) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    /// The platform's text for the code.
    public var message: String {
        guard let text = strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }

    /// Whether the device, or the user's quota, is full.
    public var isNoSpace: Bool { code == ENOSPC || code == EDQUOT }

    /// Whether the file, or a directory in its path, does not exist.
    public var isNotFound: Bool { code == ENOENT || code == ENOTDIR }

    /// Whether a component of the path begins as the home directory does in shells.
    var hasTilde: Bool { path.split(separator: "/").contains { $0.hasPrefix("~") } }

    /// Whether the code may come from a read-only file system, which may not support syncs.
    var isForReadOnlyMedium: Bool { code == EROFS || code == EINVAL }

    /// Whether the user may not open or create the file this way.
    var isDenied: Bool { (code == EACCES || code == EROFS) && (operation == "open" || operation == "create") }

    /// Whether the file exists already.
    public var isExists: Bool { code == EEXIST }

    /// Whether another program has locked the whole file.
    var isBusy: Bool { code == EBUSY }

    /// Whether the path is a device, a pipe or a socket.
    var isOfNoFile: Bool { operation == "open" && code == ENXIO }

    /// The error for a log whose files have had all numbers.
    static func noNumberLeft(_ path: String) -> FileError {
        FileError(operation: "create", path: path, code: EOVERFLOW)
    }

    /// The error for a name that is taken.
    static func taken(_ path: String) -> FileError { FileError(operation: "rename", path: path, code: EEXIST) }

    /// Whether the system refused access to the file's contents without changing them: on Apple platforms, a file with
    /// ``FileProtection`` on a locked device.
    public var isRefusal: Bool {
        code == EPERM && ["read", "write", "resize", "allocate"].contains(operation)
    }

    /// The same error after other writes of the operation, so that the file has changed.
    var ofRest: FileError {
        isRefusal && operation == "write" ? FileError(operation: FileError.restOfWrite, path: path, code: code) : self
    }

    /// The error for a file system that releases locks by closing files only.
    static func noUnlock(_ path: String) -> FileError { FileError(operation: "unlock", path: path, code: ENOTSUP) }

    /// The error for a write to a file whose lock was released.
    static func released(_ path: String) -> FileError { FileError(operation: "write", path: path, code: EBADF) }

    /// The error for a private file whose contents are not what was written.
    static func lostBlock(of path: String) -> FileError { FileError(operation: "read", path: path, code: EIO) }

    /// The error for a file created while the process ends.
    static func ended(_ path: String) -> FileError { FileError(operation: "create", path: path, code: ECANCELED) }

    /// The same error for another file.
    func inFile(_ path: String) -> FileError { FileError(operation: operation, path: path, code: code) }

    static func refusedRead(_ path: String) -> FileError { FileError(operation: "read", path: path, code: EPERM) }

    /// The operation of a write that was refused after a part of it was written.
    static let restOfWrite = "finish writing"

    /// Whether a sync failed, so that earlier writes may or may not be on the device.
    public var isSyncFailure: Bool { operation == "sync" }

    public var description: String { "\(operation) \(path): \(message) (errno \(code))" }
}
