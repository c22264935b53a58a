/// The place of a new file, which is created completely or not at all.
struct NewFile {
    let fileSystem: any FileSystem
    /// The path; the target if the caller's path is a symbolic link.
    let path: String

    init(at path: String, on fileSystem: any FileSystem) throws(StorageError) {
        self.fileSystem = fileSystem
        self.path = try fileSystem.databasePath(path)
    }

    /// The error for a name that a file has already.
    var taken: StorageError { .invalidArgument("\(path) exists already; choose another name, or move it away") }

    /// Throws if the place has the log of a database without its data file, because a new database must not overwrite
    /// that log.
    func refuseOrphans() throws(StorageError) {
        let reader = LogReader(
            fileSystem: fileSystem, path: path, database: DatabaseID(high: 0, low: 0), readOnly: true, required: 0)
        let numbers: [UInt64]
        do throws(FileError) { numbers = try reader.segmentNumbers() } catch {
            // The directory could not be listed; report the requested file in it.
            throw StorageError(
                error.isNotFound ? FileError(operation: "create", path: path, code: error.code) : error)
        }
        if let number = numbers.first {
            throw .logDamaged(
                path: path,
                reason: "\(LogFile.segmentPath(path, number)) is there without the database it belongs to; "
                    + "put the database back, or move the log away")
        }
    }

    /// Throws if the place has a file or a log.
    func refuseExisting() throws(StorageError) {
        if fileSystem.exists(path) { throw taken }
        try refuseOrphans()
    }

    /// Creates the file under a temporary name.
    ///
    /// - Parameter access: the access rights of the database that it is made from.
    func begin(access: FileAccess?) throws(StorageError) -> TemporaryFile {
        try TemporaryFile.make(for: path, on: fileSystem, access: access)
    }

    /// Writes the file and gives it its name.
    ///
    /// - Parameters:
    ///   - replacing: whether it replaces a file that the caller has locked.
    ///   - body: writes the contents to an empty file, which no other process writes.
    /// - Returns: false if another file has got the name meanwhile; this one is removed then.
    func make(
        access: FileAccess?, replacing: Bool = false, _ body: (any File) throws(StorageError) -> Void
    ) throws(StorageError) -> Bool {
        let new = try begin(access: access)
        do throws(StorageError) {
            try body(new.file)
            if try new.publish(as: path, replacing: replacing) {
                new.file.close()
                return true
            }
        } catch {
            new.discard()
            throw new.named(error)
        }
        new.discard()
        return false
    }
}

extension FileSystem {
    /// Returns the path of a database's file: the target if the caller's path is a symbolic link. The log is next to
    /// the target.
    func databasePath(_ path: String) throws(StorageError) -> String {
        guard !path.isEmpty else {
            throw .invalidArgument("the path of a database file is empty; give the file a name")
        }
        // The system would end the path there, and open or create another file.
        guard !path.utf8.contains(0) else {
            throw .invalidArgument("the path of a database file has a zero byte; give a path without it")
        }
        return try storage { () throws(FileError) in try target(of: path) }
    }
}
