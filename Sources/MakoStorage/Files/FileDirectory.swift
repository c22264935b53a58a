/// An open directory.
public protocol FileDirectory: AnyObject, Sendable {
    /// Makes the creations, renames and removals in the directory durable.
    func sync() throws(FileError)

    /// Closes the handle. Closing twice does nothing.
    func close()
}

/// A directory that is opened for each sync.
final class DirectoryByPath: FileDirectory {
    private let fileSystem: any FileSystem
    private let path: String

    init(fileSystem: any FileSystem, path: String) {
        self.fileSystem = fileSystem
        self.path = path
    }

    func sync() throws(FileError) { try fileSystem.syncDirectory(path) }

    func close() {}
}
