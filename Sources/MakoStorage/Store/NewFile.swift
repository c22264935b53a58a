/// A file that comes into being whole: it is written under another name, made durable and then renamed.
struct NewFile {
    let fileSystem: any FileSystem
    let path: String

    /// The name under which it is written. A crash leaves it behind; the next attempt writes over it.
    var temporaryPath: String { path + "-new" }

    /// Refuses a place where a database's log lies without its data file: that is somebody's data, which a new database must not take over.
    func refuseOrphans() throws(StorageError) {
        let reader = LogReader(
            fileSystem: fileSystem, path: path, database: DatabaseID(high: 0, low: 0), readOnly: true, required: 0)
        let numbers: [UInt64]
        do throws(FileError) { numbers = try reader.segmentNumbers() } catch {
            // The directory could not be listed; what the caller asked for was a file in it.
            throw StorageError(
                error.isNotFound ? FileError(operation: "create", path: path, code: error.code) : error)
        }
        if let number = numbers.first {
            throw .logDamaged(
                path: path,
                reason: "\(Log.segmentPath(path, number)) is there without the database it belongs to; "
                    + "put the database back, or move the log away")
        }
    }

    /// Refuses a place where a file or a log is.
    func refuseExisting() throws(StorageError) {
        if fileSystem.exists(path) {
            throw .invalidArgument("\(path) exists already; choose another name, or move it away")
        }
        try refuseOrphans()
    }

    /// Writes the file and gives it its name.
    ///
    /// - Parameters:
    ///   - isWanted: asked when everything is written; false leaves the name to whoever has taken it meanwhile.
    ///   - body: writes the content into an empty file, which nobody else can write to.
    func make(
        if isWanted: () -> Bool = { true }, _ body: (any File) throws(StorageError) -> Void
    ) throws(StorageError) {
        let file = try storage { () throws(FileError) in try fileSystem.open(temporaryPath, .create) }
        defer { file.close() }
        let isFree = try storage { () throws(FileError) in try file.lock(exclusive: true) }
        guard isFree else { throw .alreadyOpen(path: path) }
        do throws(StorageError) {
            try storage { () throws(FileError) in try file.resize(to: 0) }
            try body(file)
            try storage { () throws(FileError) in try file.sync() }
        } catch {
            // What is there of it takes up space that may be what was missing.
            try? fileSystem.remove(temporaryPath)
            throw error
        }
        guard isWanted() else { return }
        try storage { () throws(FileError) in
            try NewFile(fileSystem: fileSystem, path: temporaryPath).rename(to: path)
        }
    }

    /// Gives the file its last name, durably.
    func rename(to path: String) throws(FileError) {
        try fileSystem.rename(self.path, to: path)
        if !sabotaged("newFileNameNotSynced") { try fileSystem.syncDirectory(FilePath.directory(of: path)) }
    }

    /// Removes what an earlier attempt that broke off has left under this name, but not under one that is running.
    ///
    /// - Throws: ``StorageError/alreadyOpen(path:)`` then.
    func clear() throws(StorageError) {
        if fileSystem.exists(path) {
            let file = try storage { () throws(FileError) in try fileSystem.open(path, .readWrite) }
            defer { file.close() }
            let isFree = try storage { () throws(FileError) in try file.lock(exclusive: true) }
            guard isFree else { throw .alreadyOpen(path: path) }
        }
        remove()
    }

    /// Removes the database with its log. What cannot be removed stays.
    func remove() {
        let directory = FilePath.directory(of: path)
        let prefix = directory == "." && !path.hasPrefix("./") ? "" : directory == "/" ? "/" : directory + "/"
        let name = FilePath.name(of: path)
        for file in (try? fileSystem.list(directory: directory)) ?? []
        where file == name || file.hasPrefix(name + "-wal-") || file == name + "-new" {
            try? fileSystem.remove(prefix + file)
        }
    }
}
