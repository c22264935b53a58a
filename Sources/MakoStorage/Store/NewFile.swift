/// The place of a file that is to come into being, whole or not at all.
struct NewFile {
    let fileSystem: any FileSystem
    /// Where a symbolic link leads, if the caller's path is one.
    let path: String

    init(at path: String, on fileSystem: any FileSystem) throws(StorageError) {
        self.fileSystem = fileSystem
        self.path = try fileSystem.databasePath(path)
    }

    /// What a file that has the name already means.
    var taken: StorageError { .invalidArgument("\(path) exists already; choose another name, or move it away") }

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
                reason: "\(LogFile.segmentPath(path, number)) is there without the database it belongs to; "
                    + "put the database back, or move the log away")
        }
    }

    /// Refuses a place where a file or a log is.
    func refuseExisting() throws(StorageError) {
        if fileSystem.exists(path) { throw taken }
        try refuseOrphans()
    }

    /// Begins the file under a name of its own.
    ///
    /// - Parameter access: that of the database it is made from.
    func begin(access: FileAccess?) throws(StorageError) -> TemporaryFile {
        try TemporaryFile.make(for: path, on: fileSystem, access: access)
    }

    /// Writes the file and gives it its name.
    ///
    /// - Parameters:
    ///   - replacing: whether it takes the place of a file that the caller has locked.
    ///   - body: writes the content into an empty file, which no other process writes to.
    /// - Returns: false when another file got the name meanwhile; nothing is left of this one then.
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
            throw error
        }
        new.discard()
        return false
    }
}

extension FileSystem {
    /// Where a database's file is: where the symbolic link leads that the caller's path may be. Its log lies beside it there.
    func databasePath(_ path: String) throws(StorageError) -> String {
        guard !path.isEmpty else {
            throw .invalidArgument("the path of a database file is empty; give the file a name")
        }
        return try storage { () throws(FileError) in try target(of: path) }
    }
}
