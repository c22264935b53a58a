/// A file while it is written, under a name that no other file has had: it gets its own name when it is whole and durable.
///
/// The name is drawn at random and the file created exclusively, so that nothing that was there before is written to. The lock is held from
/// the creation until after the renaming, which tells other processes this file from one that a crash has left behind.
final class TemporaryFile {
    let fileSystem: any FileSystem
    /// Where it is until it is published.
    let path: String
    let file: any File

    private static let infix = "-new-"
    private static let digits = 16
    private static let mostNames = 1000

    private init(_ fileSystem: any FileSystem, _ path: String, _ file: any File) {
        self.fileSystem = fileSystem
        self.path = path
        self.file = file
    }

    /// Creates a file beside the one that it is to become, and removes what crashes have left of earlier ones.
    ///
    /// - Parameter access: what the file gets before its first byte; nil: what new files have.
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
                // Until it is locked another process takes it for a file that a crash has left, and may remove it.
                if try file.lock(exclusive: true), try file.isNamed(name) {
                    return TemporaryFile(fileSystem, name, file)
                }
                UnfinishedFiles.forget(name)
                file.close()
            } catch {
                UnfinishedFiles.forget(name)
                file.close()
                try? fileSystem.remove(name)
                throw StorageError(error)
            }
        }
        throw .alreadyOpen(path: path)
    }

    deinit { UnfinishedFiles.forget(path) }

    /// Makes what was written durable and gives the file its last name, durably as well. It stays open, and locked.
    ///
    /// - Parameter replacing: whether it takes the place of a file of that name.
    /// - Returns: false when another file has the name, which it keeps.
    func publish(as path: String, replacing: Bool) throws(StorageError) -> Bool {
        do throws(FileError) {
            // A store that was never written to has not taken the checkpoint that would have done it.
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

    /// Gives up: what is there of the file, and of a log beside it, is removed, since it takes up space that may be what was missing.
    func discard() {
        TemporaryFile.remove(path, on: fileSystem)
        UnfinishedFiles.forget(path)
        file.close()
    }

    fileprivate static func remove(_ path: String, on fileSystem: any FileSystem) {
        let names = (try? fileSystem.list(directory: FilePath.directory(of: path))) ?? []
        // The log first: without its data file it would be taken for an orphan.
        let log = FilePath.name(of: path) + LogFile.infix
        for name in names where name.hasPrefix(log) { try? fileSystem.remove(FilePath.sibling(name, of: path)) }
        try? fileSystem.remove(path)
    }

    /// Removes what processes that have ended left under such names. What a running process writes is locked.
    private static func removeAbandoned(for path: String, on fileSystem: any FileSystem) {
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

    /// The name of the temporary data file that a name is, or belongs to as a file of its log. Nil for all other names.
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

/// The temporary files of this process that have not got their last name yet.
///
/// A program that a signal ends removes them, since a copy of a large database takes up space until the same file is made again. No call of
/// a file system happens under the lock: those that give files their names are counted, and their end is waited for.
package enum UnfinishedFiles {
    private static let lock = Lock()
    // Guarded by `lock`.
    nonisolated(unsafe) private static var files: [(path: String, fileSystem: any FileSystem)] = []
    nonisolated(unsafe) private static var hasEnded = false
    nonisolated(unsafe) private static var underWay = 0

    /// Before the file is there: its name is one that no other file has.
    fileprivate static func add(_ path: String, on fileSystem: any FileSystem) {
        lock.withLock { files.append((path, fileSystem)) }
    }

    fileprivate static func forget(_ path: String) {
        lock.withLock { files.removeAll { $0.path.utf8.elementsEqual(path.utf8) } }
    }

    /// Gives a file its name: one that belongs to an unfinished one, as the files of its log do, only until they are removed.
    static func whileUnfinished<R>(_ path: String, _ create: () throws(FileError) -> R) throws(FileError) -> R {
        let isOne = try lock.withLock { () throws(FileError) in
            let isOne = files.contains { path.utf8.starts(with: $0.path.utf8) }
            if isOne && hasEnded { throw .ended(path) }
            if isOne { underWay += 1 }
            return isOne
        }
        defer { if isOne { lock.withLock { underWay -= 1 } } }
        return try create()
    }

    /// Removes all of them, at the end of the process. What writes them fails from then on.
    package static func removeAtEnd() {
        let left = lock.withLock {
            hasEnded = true
            return files
        }
        // A device may keep one of the calls for longer than whoever ends the program wants to wait.
        let deadline = ContinuousClock.now + .seconds(1)
        while lock.withLock({ underWay > 0 }), ContinuousClock.now < deadline { yieldThread() }
        for (path, fileSystem) in left { TemporaryFile.remove(path, on: fileSystem) }
    }
}
