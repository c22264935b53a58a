import CPlatform

/// What the operating system refused: which operation, on which path, with which `errno`.
///
///     do {
///         let file = try fileSystem.open("zones.mako", .readOnly)
///     } catch where error.isNotFound {
///         print(error)   // open zones.mako: No such file or directory (errno 2)
///     }
public struct FileError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The operation by name: `open`, `read`, `write`, `sync`, …
    public let operation: String
    public let path: String
    /// The platform's `errno`.
    public let code: Int32

    public init(operation: String, path: String, code: Int32) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    /// The platform's sentence for the code.
    public var message: String {
        guard let text = strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }

    /// The device or the user's quota is full.
    public var isNoSpace: Bool { code == ENOSPC || code == EDQUOT }

    /// The file, or a directory on the way to it, does not exist.
    public var isNotFound: Bool { code == ENOENT || code == ENOTDIR }

    /// A file system that takes no writes may know no sync either.
    var isForReadOnlyMedium: Bool { code == EROFS || code == EINVAL }

    public var isExists: Bool { code == EEXIST }

    /// What was to be opened is a device, a pipe or a socket.
    var isOfNoFile: Bool { operation == "open" && code == ENXIO }

    /// Something else has the name already.
    static func taken(_ path: String) -> FileError { FileError(operation: "rename", path: path, code: EEXIST) }

    /// The system does not let this process at the file's content, and has changed nothing of it: on Apple systems that is a file with
    /// ``FileProtection`` on a device that is locked, for as long as it is.
    public var isRefusal: Bool {
        code == EPERM && ["read", "write", "resize", "allocate"].contains(operation)
    }

    /// The same behind other writes of its kind: something has been changed.
    var ofRest: FileError {
        isRefusal && operation == "write" ? FileError(operation: FileError.restOfWrite, path: path, code: code) : self
    }

    /// What was written to a file of this process's own does not come back.
    static func lostBlock(of path: String) -> FileError { FileError(operation: "read", path: path, code: EIO) }

    /// The process is about to end, and makes no files any more.
    static func ended(_ path: String) -> FileError { FileError(operation: "create", path: path, code: ECANCELED) }

    /// The same of another file.
    func inFile(_ path: String) -> FileError { FileError(operation: operation, path: path, code: code) }

    static func refusedRead(_ path: String) -> FileError { FileError(operation: "read", path: path, code: EPERM) }

    /// The operation of a write that was refused after a part of it was made.
    static let restOfWrite = "finish writing"

    /// A sync failed: what had been written before it may or may not be on the device.
    public var isSyncFailure: Bool { operation == "sync" }

    public var description: String { "\(operation) \(path): \(message) (errno \(code))" }
}
