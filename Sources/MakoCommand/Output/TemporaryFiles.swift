import Foundation
import MakoStorage

/// Temporary files and directories that this run has created. A failure or a signal that ends the run removes them, and
/// a signal also removes unfinished files of the engine; nothing else is removed.
enum TemporaryFiles {
    private static let lock = Lock()
    nonisolated(unsafe) private static var paths: Set<String> = []

    /// Makes SIGINT, SIGTERM and SIGHUP remove the files before they end the program.
    static func removeAtSignals() {
        Signals.handle { signal in
            // The lock stays held, so that no more files are created.
            lock.lock()
            for path in paths { erase(path) }
            UnfinishedFiles.removeAtEnd()
            Signals.end(by: signal)
        }
    }

    /// Creates an empty file beside a path, for reading and writing. The caller closes the descriptor.
    static func makeFile(beside place: String, mode: mode_t) throws -> (path: String, descriptor: Int32) {
        try make(beside: place) { open($0, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode) }
    }

    /// Creates a directory beside a path, readable by its owner only.
    static func makeDirectory(beside place: String) throws -> String {
        try make(beside: place) { mkdir($0, 0o700) }.path
    }

    private static func make(beside place: String, _ create: (String) -> Int32) throws -> (
        path: String, descriptor: Int32
    ) {
        let folder = FilePath.directory(of: place)
        let prefix = folder == "/" ? "/.mako-" : folder + "/.mako-"
        while true {
            let path = prefix + String(UInt64.random(in: .min ... .max), radix: 16)
            let result = lock.withLock {
                let result = create(path)
                if result >= 0 { paths.insert(path) }
                return result
            }
            if result >= 0 { return (path, result) }
            guard errno == EEXIST || errno == EINTR else {
                throw StorageError.io(FileError(operation: "create", path: place, code: errno))
            }
        }
    }

    /// Gives a file its final name, which must be free.
    ///
    /// - Parameter directory: the temporary directory of the file, which is then removed; nil for a temporary file.
    /// - Returns: false when the name exists.
    static func publish(_ path: String, as name: String, from directory: String? = nil) throws -> Bool {
        try lock.withLock {
            if link(path, name) != 0 {
                if errno == EEXIST { return false }
                // The file system has no hard links.
                guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno), rename(path, free: name) else {
                    throw Failure("\(name) cannot be created: \(systemMessage())", .inputOutput)
                }
            }
            forget(directory ?? path)
            syncDirectory(of: name)
            return true
        }
    }

    /// Gives a file the name of another one, which it replaces.
    static func publish(_ path: String, replacing name: String) throws {
        try lock.withLock {
            guard rename(path, name) == 0 else {
                throw Failure("\(name) cannot be replaced: \(systemMessage())", .inputOutput)
            }
            paths.remove(path)
            syncDirectory(of: name)
        }
    }

    /// Removes a file, or a directory with its content.
    static func remove(_ path: String) { lock.withLock { forget(path) } }

    private static func forget(_ path: String) {
        erase(path)
        paths.remove(path)
    }

    private static func erase(_ path: String) {
        if unlink(path) == 0 || errno == ENOENT { return }
        // Another thread may be creating a file.
        for _ in 0..<100 {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] { unlink("\(path)/\(name)") }
            if rmdir(path) == 0 || errno != ENOTEMPTY { return }
        }
    }

    private static func rename(_ path: String, free name: String) -> Bool {
        var information = stat()
        guard lstat(name, &information) != 0 else {
            errno = EEXIST
            return false
        }
        return rename(path, name) == 0
    }

    private static func rename(_ path: String, _ name: String) -> Int32 { Foundation.rename(path, name) }

    /// Makes the name durable, if the file system supports it.
    private static func syncDirectory(of path: String) {
        let descriptor = open(FilePath.directory(of: path), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
