/// A file under a unique temporary name until it is complete and durable.
///
/// The name is random and the file is created exclusively, so nothing that existed before is written. Its lock is held
/// from the creation until after the rename, by which other processes know that it is not left over from a crash.
final class TemporaryFile {
    let fileSystem: any FileSystem
    /// The temporary path.
    let path: String
    /// The path that the file is made for: its final one or, where it gets none, that of its database.
    private let place: String
    let file: any File

    private static let infix = "-new-"
    private static let digits = 16
    private static let mostNames = 1000

    private init(_ fileSystem: any FileSystem, _ path: String, for place: String, _ file: any File) {
        self.fileSystem = fileSystem
        self.path = path
        self.place = place
        self.file = file
    }

    /// Creates a file next to its final path, and removes temporary files of earlier crashes.
    ///
    /// - Parameter access: the access rights of the file; nil for those of new files.
    static func make(
        for path: String, on fileSystem: any FileSystem, access: FileAccess?
    ) throws(StorageError) -> TemporaryFile {
        removeAbandoned(for: path, on: fileSystem)
        for _ in 0..<mostNames {
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            let name = path + infix + String(repeating: "0", count: TemporaryFile.digits - digits.count) + digits
            let file: any File
            UnfinishedFiles.add(name, on: fileSystem)
            do throws(FileError) {
                file = try UnfinishedFiles.whileUnfinished(name) { () throws(FileError) in
                    try fileSystem.open(name, .createNew, access: access?.forNewFile)
                }
            } catch {
                UnfinishedFiles.forget(name)
                if error.isExists { continue }
                throw StorageError(FileError(operation: "create", path: path, code: error.code))
            }
            do throws(FileError) {
                // Before it is locked, another process may take it for a left-over file and remove it.
                if try file.lock(exclusive: true), try file.isNamed(name) {
                    return TemporaryFile(fileSystem, name, for: path, file)
                }
                UnfinishedFiles.forget(name)
                file.close()
            } catch {
                UnfinishedFiles.forget(name)
                file.close()
                try? fileSystem.remove(name)
                throw StorageError(FileError(operation: error.operation, path: path, code: error.code))
            }
        }
        throw .alreadyOpen(path: path)
    }

    deinit { UnfinishedFiles.forget(path) }

    /// Syncs the file, renames it to its final path, and syncs the name. It stays open and locked.
    ///
    /// - Parameter replacing: whether to replace a file of that name.
    /// - Returns: false if another file has the name, and keeps it.
    func publish(as path: String, replacing: Bool) throws(StorageError) -> Bool {
        do throws(FileError) {
            // Sync here, because a store that was never written to took no checkpoint with a sync.
            try file.sync()
            if replacing {
                try fileSystem.rename(self.path, to: path)
            } else {
                do throws(FileError) { try fileSystem.renameExclusively(self.path, to: path) } catch {
                    if error.isExists { return false }
                    throw error
                }
            }
            UnfinishedFiles.forget(self.path)
            try fileSystem.syncDirectory(FilePath.directory(of: path))
            return true
        } catch { throw StorageError(error) }
    }

    /// Removes the file and a log next to it, to free their disk space.
    func discard() {
        TemporaryFile.remove(path, on: fileSystem)
        UnfinishedFiles.forget(path)
        file.close()
    }

    /// Returns an error with the path that the file is made for in place of the temporary one, also in the paths of its
    /// log: the temporary name says nothing to the caller, and the file is removed after the error.
    func named(_ error: StorageError) -> StorageError {
        error.mappingTexts { $0.replacing(path, with: place) }
    }

    fileprivate static func remove(_ path: String, on fileSystem: any FileSystem) {
        let names = (try? fileSystem.list(directory: FilePath.directory(of: path))) ?? []
        // Remove the log first, because without its data file it would look like an orphan.
        let log = FilePath.name(of: path) + LogFile.infix
        for name in names where name.hasPrefix(log) { try? fileSystem.remove(FilePath.sibling(name, of: path)) }
        try? fileSystem.remove(path)
    }

    /// Removes temporary files of processes that have ended. Files of running processes are locked.
    static func removeAbandoned(for path: String, on fileSystem: any FileSystem) {
        let names = (try? fileSystem.list(directory: FilePath.directory(of: path))) ?? []
        for name in names {
            guard let main = dataFile(of: name, for: FilePath.name(of: path)) else { continue }
            let place = FilePath.sibling(main, of: path)
            if main != name, !fileSystem.exists(place) {
                try? fileSystem.remove(FilePath.sibling(name, of: path))
            } else if main == name, let file = try? fileSystem.open(place, .readWrite) {
                defer { file.close() }
                let isFree = (try? file.lock(exclusive: true)) ?? false
                guard isFree, (try? file.isNamed(place)) == true else { continue }
                remove(place, on: fileSystem)
            }
        }
    }

    /// Returns the name of the temporary data file that a name is, or whose log it belongs to; nil for all other names.
    private static func dataFile(of name: String, for base: String) -> String? {
        guard name.hasPrefix(base + infix) else { return nil }
        let rest = name.dropFirst((base + infix).count)
        let number = rest.prefix(digits)
        guard number.count == digits, number.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }) else {
            return nil
        }
        let end = rest.dropFirst(digits)
        return end.isEmpty || end.hasPrefix(LogFile.infix) ? base + infix + number : nil
    }
}

extension StorageError {
    /// Changes the paths, and the reasons, which may contain a path.
    fileprivate func mappingTexts(_ map: (String) -> String) -> StorageError {
        switch self {
        case .notFound(let path): .notFound(path: map(path))
        case .notADatabase(let path, let reason): .notADatabase(path: map(path), reason: map(reason))
        case .unsupportedVersion(let path, let found, let supported):
            .unsupportedVersion(path: map(path), found: found, supported: supported)
        case .unsupportedFeatures(let path, let bits): .unsupportedFeatures(path: map(path), bits: bits)
        case .alreadyOpen(let path): .alreadyOpen(path: map(path))
        case .encrypted(let path): .encrypted(path: map(path))
        case .wrongKey(let path, let reason): .wrongKey(path: map(path), reason: map(reason))
        case .notEncrypted(let path): .notEncrypted(path: map(path))
        case .encryptionUnavailable(let path): .encryptionUnavailable(path: map(path))
        case .identityLost(let path): .identityLost(path: map(path))
        case .logDamaged(let path, let reason): .logDamaged(path: map(path), reason: map(reason))
        case .wrongBase(let path, let reason): .wrongBase(path: map(path), reason: map(reason))
        case .io(let error): .io(FileError(operation: error.operation, path: map(error.path), code: error.code))
        case .diskFull(let path): .diskFull(path: map(path))
        case .protected(let path): .protected(path: map(path))
        case .readOnly(let reason): .readOnly(reason: map(reason))
        case .suspended(let path): .suspended(path: map(path))
        case .replaced(let path): .replaced(path: map(path))
        case .inherited(let path): .inherited(path: map(path))
        case .invalidArgument(let what): .invalidArgument(map(what))
        case .corrupted(let page, let reason): .corrupted(page: page, reason: map(reason))
        case .closed(let path): .closed(path: map(path))
        case .unconfirmed, .unconfirmedLimit, .keyTooLong, .valueTooLarge, .treeNotFound, .treeExists, .wrongKeyKind,
            .writerTimeout, .snapshotExpired:
            self
        }
    }
}

/// The temporary files of this process that do not have their final name yet.
///
/// A program that ends by a signal removes them, because a copy of a large database would take space until the same
/// file is made again. No file system call is made under the lock: running renames are counted, and the removal waits
/// for them.
package enum UnfinishedFiles {
    private static let lock = Lock.forProcess()
    /// Signalled by each call that ends after `removeAtEnd` has begun.
    private static let callEnded = ConditionVariable()
    // Guarded by `lock`.
    nonisolated(unsafe) private static var files: [(path: String, fileSystem: any FileSystem)] = []
    nonisolated(unsafe) private static var hasEnded = false
    nonisolated(unsafe) private static var inProgress = 0

    /// Registers a unique name before the file is created.
    fileprivate static func add(_ path: String, on fileSystem: any FileSystem) {
        lock.withLock { files.append((path, fileSystem)) }
    }

    fileprivate static func forget(_ path: String) {
        lock.withLock { files.removeAll { $0.path.utf8.elementsEqual(path.utf8) } }
    }

    /// Creates or renames a file. If its name belongs to an unfinished file, as the names of its log do, fails after
    /// `removeAtEnd`.
    static func whileUnfinished<R>(_ path: String, _ create: () throws(FileError) -> R) throws(FileError) -> R {
        let isOne = try lock.withLock { () throws(FileError) in
            let isOne = files.contains { path.utf8.starts(with: $0.path.utf8) }
            if isOne && hasEnded { throw .ended(path) }
            if isOne { inProgress += 1 }
            return isOne
        }
        defer {
            if isOne {
                lock.withLock {
                    inProgress -= 1
                    if hasEnded { callEnded.broadcast() }
                }
            }
        }
        return try create()
    }

    /// Removes all of them at the end of the process. Writing them fails from then on.
    package static func removeAtEnd() {
        let left = lock.withLock {
            hasEnded = true
            return files
        }
        // Wait at most a second, because a device may delay a call for long.
        let deadline = ContinuousClock.now + .seconds(1)
        lock.withLock {
            while inProgress > 0, callEnded.wait(lock, timeout: deadline - ContinuousClock.now) {}
        }
        for (path, fileSystem) in left { TemporaryFile.remove(path, on: fileSystem) }
    }
}
