import Foundation
import MakoStorage

/// A file written sequentially. It gets its name when it is complete; an aborted one leaves nothing.
///
/// Devices and pipes are written directly, and so are `/dev/stdout` and the like: at the position of that descriptor,
/// which may be the end of a file.
final class OutputFile {
    private let path: String
    private let descriptor: Int32
    /// nil for a device or a pipe.
    private let temporary: String?
    private let isReplacing: Bool
    /// The path with symbolic links resolved.
    private var place = ""
    private var isFinished = false

    /// Creates the file under a temporary name.
    ///
    /// - Parameter replaces: whether to replace an existing file at the end; otherwise an existing file is an error.
    init(path: String, replaces: Bool) throws {
        self.path = path
        if path.isEmpty { throw Failure("'' is not the name of a file", .usage) }
        var information = stat()
        let exists = lstat(path, &information) == 0
        let inherited = Self.inherited(path)
        if inherited != nil || (exists && stat(path, &information) == 0 && !Self.isReplaceable(information)) {
            descriptor = inherited.map { fcntl($0, F_DUPFD_CLOEXEC, 0) } ?? open(path, O_WRONLY | O_CLOEXEC)
            temporary = nil
            isReplacing = false
            guard descriptor >= 0 else { throw Failure("\(path) cannot be written: \(systemMessage())", .inputOutput) }
            return
        }
        guard !exists || replaces else {
            throw Failure("\(path) exists already; choose another name, or replace it with --overwrite", .usage)
        }
        // A symbolic link stays; its target is replaced.
        let place = try exists ? FilePlace.followed(path) : path
        isReplacing = exists && stat(place, &information) == 0
        let mode = isReplacing ? information.st_mode & 0o7777 : 0o644
        let (name, opened) = try TemporaryFiles.makeFile(beside: place, mode: isReplacing ? 0o600 : mode)
        if isReplacing { fchmod(opened, mode) }
        temporary = name
        descriptor = opened
        self.place = place
    }

    deinit {
        guard !isFinished else { return }
        close(descriptor)
        if let temporary { TemporaryFiles.remove(temporary) }
    }

    /// The descriptor that a path names. On Linux, opening the path would give a file another position, its start.
    private static func inherited(_ path: String) -> Int32? {
        switch path {
        case "/dev/stdout": return 1
        case "/dev/stderr": return 2
        default:
            let prefix = "/dev/fd/"
            return path.hasPrefix(prefix) ? Int32(path.dropFirst(prefix.count)).flatMap { $0 < 0 ? nil : $0 } : nil
        }
    }

    private static func isReplaceable(_ information: stat) -> Bool {
        information.st_mode & S_IFMT == S_IFREG || information.st_mode & S_IFMT == S_IFDIR
    }

    func write(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = Foundation.write(descriptor, Array(rest), rest.count)
            if written < 0, errno == EINTR { continue }
            guard written >= 0 else { throw failure() }
            rest = rest.dropFirst(written)
        }
    }

    /// Makes the file durable and gives it its name.
    func finish() throws {
        guard let temporary else { return }
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure() }
        isFinished = true
        guard close(descriptor) == 0 else {
            let failure = failure()
            TemporaryFiles.remove(temporary)
            throw failure
        }
        do {
            if isReplacing {
                try TemporaryFiles.publish(temporary, replacing: place)
            } else if try !TemporaryFiles.publish(temporary, as: place) {
                throw Failure("\(path) was created by another program meanwhile; choose another name", .inputOutput)
            }
        } catch {
            TemporaryFiles.remove(temporary)
            throw error
        }
    }

    private func failure() -> Failure { Failure("\(path) cannot be written: \(systemMessage())", .inputOutput) }
}

/// Resolves symbolic links.
enum FilePlace {
    /// Resolves the symbolic links of a path, whose target need not exist.
    static func followed(_ path: String) throws -> String {
        var place = path
        for _ in 0..<40 {
            var information = stat()
            guard lstat(place, &information) == 0, information.st_mode & S_IFMT == S_IFLNK else { return place }
            let target: String
            do { target = try FileManager.default.destinationOfSymbolicLink(atPath: place) } catch {
                throw Failure("the symbolic link \(place) cannot be read: \(error.localizedDescription)", .inputOutput)
            }
            place = target.hasPrefix("/") ? target : FilePath.directory(of: place) + "/" + target
        }
        throw Failure("\(path) is a symbolic link that leads round in a circle", .badInput)
    }
}
